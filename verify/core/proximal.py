"""Proximal gradient on the map S, for one run or for a batch of runs.

In S the risk of Gaussian inputs is nearly isotropic, while in the factors its curvature vanishes
with the eigenvalues of S. Penalty and admissible set of S are taken exactly. Step lengths are those
of Barzilai and Borwein (IMA J. Numer. Anal. 8, 141, 1988), long and short in turn.
"""

from __future__ import annotations

import torch

from verify.core.parametrisation import Weights
from verify.core.risk import RiskPoint


class ProximalSteps:
    """State of a proximal descent; `trial` holds the weights to evaluate next."""

    def __init__(
        self, point: RiskPoint, decays: torch.Tensor, weights: Weights, samples: int
    ) -> None:
        """Start at an evaluated point.

        Args:
            point: risk at the starting weights, of one run or of B runs.
            decays: weight decay lambda, a scalar or (B,).
            weights: parametrisation of the map.
            samples: number of training samples of a run.
        """
        self._decays, self._parametrisation, self._long = decays, weights, False
        self._step = torch.full_like(decays, point.maps.shape[-1] / samples)
        self._point = point
        self.trial = self._next_trial()

    def receive(self, point: RiskPoint) -> torch.Tensor:
        """Process the evaluation of `trial` and return which runs stalled: none, as steps may
        rise.
        """
        moved, changed = point.maps - self._point.maps, point.slope - self._point.slope
        curvature = (moved * changed).sum((-2, -1))
        long, short = (
            moved.square().sum((-2, -1)) / curvature,
            curvature / changed.square().sum((-2, -1)),
        )
        step = long if self._long else short
        self._step = torch.where((curvature > 0) & step.isfinite(), step, self._step)
        self._point, self._long = point, not self._long
        self.trial = self._next_trial()
        return torch.zeros_like(curvature, dtype=torch.bool)

    def keep(self, places: list[int]) -> None:
        """Continue with only the runs at `places` of a batch."""
        self._decays, self._step, self.trial = (
            values[places] for values in (self._decays, self._step, self.trial)
        )
        self._point = self._point.select(torch.tensor(places, device=self._step.device))

    def _next_trial(self) -> torch.Tensor:
        moved = self._point.maps - self._step[..., None, None] * self._point.slope
        # a run that diverged must not spoil the eigenvectors of the others
        finite = moved.isfinite().all(-1).all(-1)[..., None, None]
        moved = torch.where(finite, moved, 0.0)
        return self._parametrisation.proximal(moved, self._step * self._decays, self._point.weights)
