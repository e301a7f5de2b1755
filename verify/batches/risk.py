"""Empirical risks of the runs of a batch and their gradients, as `verify.core.risk` has them for one run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch

from verify.batches.stack import Stack
from verify.core.data import Output
from verify.core.parametrisation import WEIGHTS, Weights
from verify.core.risk import contrast_loss
from verify.core.run import Run


class BatchPoint(NamedTuple):
    """Weights (B, d, m) of B runs, their maps (B, d, d), and the risk there.

    `fit`, shape (B,), is the risk without decay and `slope` its slope by the map, both as `Risk.fit` has them; `loss`, shape (B,),
    is L/d^2 and `gradient` its gradient, shape of the weights. Losses and fits are float64 whatever the rest is.
    """

    weights: torch.Tensor
    maps: torch.Tensor
    fit: torch.Tensor
    slope: torch.Tensor
    loss: torch.Tensor
    gradient: torch.Tensor

    def select(self, places: torch.Tensor) -> BatchPoint:
        """That of these runs alone."""
        return BatchPoint(*(value[places] for value in self))


@dataclass
class StackedRisk:
    """Risks of the runs of a `stack`, as functions of weights (B, d, m) or (B, d, d); `decays` and `betas` have shape (B,)."""

    stack: Stack
    decays: torch.Tensor
    betas: torch.Tensor
    weights: Weights
    output: Output

    @classmethod
    def of(cls, runs: Sequence[Run], stack: Stack) -> StackedRisk:
        """The risks of these runs, whose data are in `stack`."""
        problems = [run.problem for run in runs]
        decays, betas = (
            torch.tensor(values, dtype=torch.float64, device=stack.shape.device)
            for values in ([p.lambda_ for p in problems], [p.beta for p in problems])
        )
        return cls(stack, decays, betas, WEIGHTS[stack.shape.parametrisation], stack.shape.output)

    def rounded(self, dtype: torch.dtype) -> StackedRisk:
        """The same risks in other numbers."""
        stack = self.stack.rounded(dtype)
        return StackedRisk(
            stack, self.decays.to(dtype), self.betas.to(dtype), self.weights, self.output
        )

    def keep(self, places: Sequence[int]) -> None:
        """Forget all runs but those at `places`, increasing."""
        self.stack.keep(places)
        self.decays, self.betas = self.decays[list(places)], self.betas[list(places)]

    def at(self, weights: torch.Tensor) -> BatchPoint:
        """The risks at these weights."""
        maps, dim = self.weights.attention_map(weights), weights.shape[-2]
        fit, slope = self._fit(maps)
        decay = self.decays * self.weights.decay_unit(dim)
        loss = (fit + decay * weights.square().sum((1, 2))) / dim**2
        gradient = self.weights.gradient(weights, slope) + 2 * decay[:, None, None] * weights
        return BatchPoint(weights, maps, fit, slope, loss, gradient / dim**2)

    def _fit(self, maps: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Risks without weight decay, (B,), and their admissible slopes by S, (B, d, d)."""
        fit = torch.zeros(len(maps), dtype=torch.float64, device=maps.device)
        slope, betas = torch.zeros_like(maps), self.betas[:, None, None, None]
        for inputs, labels in self.stack.blocks():
            metric = inputs.output_metric() if self.output is Output.SEQUENCES else None
            loss, by_contrast = contrast_loss(inputs.contrasts(maps), labels, betas, metric)
            fit += loss
            slope += inputs.contrast_adjoint(by_contrast)
        return fit, self.weights.admissible(slope)
