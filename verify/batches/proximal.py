"""Proximal gradient on the maps of every run of a batch at once, as `verify.core.minimise` has it for one run."""

from __future__ import annotations

import torch

from verify.batches.risk import BatchPoint
from verify.core.parametrisation import Weights


class ProximalSteps:
    """Where B runs stand after steps of Barzilai and Borwein, long and short in turn; `trial` is what to evaluate next."""

    def __init__(
        self, point: BatchPoint, decays: torch.Tensor, weights: Weights, samples: int
    ) -> None:
        """Begin at a point that has been evaluated, of risks with these decays (B,) over so many samples."""
        self._decays, self._parametrisation, self._long = decays, weights, False
        self._step = torch.full_like(decays, point.maps.shape[-1] / samples)
        self._point = point
        self.trial = self._next()

    def receive(self, point: BatchPoint) -> torch.Tensor:
        """Take note of the evaluation of `trial`; return which runs find no lower point, (B,): none, as steps may go uphill."""
        moved, changed = (
            (point.maps - self._point.maps).flatten(1),
            (point.slope - self._point.slope).flatten(1),
        )
        curvature = (moved * changed).sum(1)
        size, change = moved.square().sum(1), changed.square().sum(1)
        step = size / curvature if self._long else curvature / change
        self._step = torch.where((curvature > 0) & step.isfinite(), step, self._step)
        self._point, self._long = point, not self._long
        self.trial = self._next()
        return torch.zeros_like(curvature, dtype=torch.bool)

    def keep(self, places: list[int]) -> None:
        """Go on with those at `places` alone."""
        kept = torch.tensor(places, device=self._step.device)
        self._decays, self._step, self.trial = (
            self._decays[kept],
            self._step[kept],
            self.trial[kept],
        )
        self._point = self._point.select(kept)

    def _next(self) -> torch.Tensor:
        """Weights (B, d, m) after a step."""
        moved = self._point.maps - self._step[:, None, None] * self._point.slope
        finite = (
            moved.isfinite().all(-1).all(-1)[:, None, None]
        )  # eigenvectors of others are none of those that diverged
        moved = torch.where(finite, moved, 0.0)
        return self._parametrisation.proximal(moved, self._step * self._decays, self._point.weights)
