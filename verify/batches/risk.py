"""Empirical risks of the runs of a batch and their gradients."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from verify.batches.stack import Stack
from verify.core.data import Output
from verify.core.parametrisation import Weights, weights_of
from verify.core.risk import RiskPoint, add_decay, sum_blocks
from verify.core.run import Run


@dataclass
class StackedRisk:
    """Risks of the runs of a `stack`, functions of weights (B, d, m); `decays` and `betas` are
    (B,).
    """

    stack: Stack
    decays: torch.Tensor
    betas: torch.Tensor
    weights: Weights
    output: Output

    @classmethod
    def of(cls, runs: Sequence[Run], stack: Stack) -> StackedRisk:
        """Return the risks of some runs.

        Args:
            runs: runs of one shape.
            stack: their data.
        """
        problems = [run.problem for run in runs]
        decays, betas = (
            torch.tensor(values, dtype=torch.float64, device=stack.shape.device)
            for values in ([p.lambda_ for p in problems], [p.beta for p in problems])
        )
        shape = stack.shape
        weights = weights_of(shape.parametrisation, shape.covariance_roots)
        return cls(stack, decays, betas, weights, shape.output)

    def keep(self, places: Sequence[int]) -> None:
        """Drop all runs except those at `places`, increasing."""
        self.stack.keep(places)
        self.decays, self.betas = self.decays[list(places)], self.betas[list(places)]

    def at(self, weights: torch.Tensor) -> RiskPoint:
        """Return the risks and their derivatives at weights (B, d, m)."""
        maps = self.weights.attention_map(weights)
        betas = self.betas[:, None, None, None]
        fit, slope = sum_blocks(self.stack.blocks(), maps, betas, self.output)
        return add_decay(
            self.weights, weights, maps, (fit, self.weights.admissible(slope)), self.decays
        )
