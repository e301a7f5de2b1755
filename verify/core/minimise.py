"""Minimisers of the empirical risk: each a frozen configuration with one method.

A descent has converged if ||grad L|| ||W|| <= tolerance * L at the weights W, (d, m) or (d, d).
This criterion does not change when W or L is rescaled. At 1e-4 overlaps and errors are within a
relative 3e-5 of their limit (alpha 0.05 to 4 at d = 100), even below interpolation, where the risk
is flattest; runs scatter by 1e-2.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Protocol

import numpy as np
import torch
from scipy.optimize import minimize

from verify.core.proximal import ProximalSteps
from verify.core.risk import Risk, RiskPoint


class DescentStatus(enum.Enum):
    """End of a minimisation; the value is advice to the user."""

    CONVERGED = "converged"
    MAX_STEPS = (
        "step limit reached before the gradient was small: raise the step limit or the tolerance"
    )
    STALLED = (
        "no lower point found before the gradient was small: raise the tolerance or start elsewhere"
    )
    DIVERGED = "the loss is not finite: lower the step size"


@dataclass(frozen=True)
class Minimum:
    """Best point of a descent: weights, loss per d^2, relative gradient, evaluations, status."""

    weights: np.ndarray
    loss: float
    relative_gradient: float
    evaluations: int
    status: DescentStatus


class Objective(Protocol):
    """Function of weights that can be minimised."""

    def value_and_gradient(self, weights: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the value, a scalar, and its gradient, shape of the weights."""
        ...


class Minimiser(Protocol):
    """Descent from starting weights; a failure to converge is reported in the status."""

    def minimise(self, risk: Risk, start: torch.Tensor) -> Minimum:
        """Return the best point of a descent.

        Args:
            risk: empirical risk.
            start: starting weights, shape (d, m).
        """
        ...


@dataclass(frozen=True)
class Lbfgs:
    """Full-batch L-BFGS on the weights (SciPy). Default.

    A `Risk` whose labels determine S is first minimised by at most `proximal_steps` proximal steps
    on S. Advantage: 20 to 60 evaluations above interpolation, 100 to 300 below; SciPy needs a fifth
    to a half of the evaluations of torch.optim.LBFGS and can stop on the gradient alone.
    Disadvantage: every evaluation needs every sample. A longer `memory` saves no evaluations.
    """

    tolerance: float = 1e-4
    max_steps: int = 3000
    memory: int = 8
    proximal_steps: int = 100

    def minimise(self, risk: Objective, start: torch.Tensor) -> Minimum:
        """Return the best point of a descent; the steps of both stages count towards `max_steps`.

        Args:
            risk: any objective.
            start: starting weights.
        """
        watch = _Watch(self.tolerance, self.max_steps)
        try:
            if isinstance(risk, Risk) and self.proximal_steps:
                samples, tokens = risk.labels.shape[:2]
                if risk.weights.labels_determine_map(samples, tokens, len(start)):
                    _proximal_descent(watch, risk, start, self.proximal_steps)
                    start = watch.best.weights

            def function(flat: np.ndarray) -> tuple[float, np.ndarray]:
                weights = torch.as_tensor(flat).to(start).reshape(start.shape)
                value, gradient = watch.evaluate(risk, weights)
                return float(value), gradient.cpu().numpy().ravel()

            minimize(
                function, start.cpu().numpy().ravel(), jac=True, method="L-BFGS-B",
                # SciPy's own tolerances are out of reach: `watch` ends the descent
                options={"maxcor": self.memory, "maxiter": self.max_steps, "maxfun": self.max_steps,
                         "ftol": 0.0, "gtol": 0.0, "maxls": 40},
            )  # fmt: skip
        except _Finished as finished:
            return watch.minimum(finished.status)
        return watch.minimum(DescentStatus.STALLED)


@dataclass(frozen=True)
class Adam:
    """Full-batch Adam with a step that falls from `step` to `step * final` along half a cosine.

    Advantage: the minimiser of the paper. Disadvantage: thousands of evaluations and a looser
    tolerance, at which it agrees with L-BFGS to 1e-3 in m and q.
    """

    tolerance: float = 1e-3
    max_steps: int = 4000
    step: float = 0.05
    final: float = 1e-3

    def minimise(self, risk: Objective, start: torch.Tensor) -> Minimum:
        """Return the best point of a descent.

        Args:
            risk: any objective.
            start: starting weights.
        """
        weights = start.clone().requires_grad_()
        optimizer = torch.optim.Adam([weights], lr=self.step)
        schedule = torch.optim.lr_scheduler.CosineAnnealingLR(
            optimizer, self.max_steps, self.step * self.final
        )
        watch = _Watch(self.tolerance, self.max_steps)
        try:
            while True:
                weights.grad = watch.evaluate(risk, weights.detach())[1]
                optimizer.step()
                schedule.step()
        except _Finished as finished:
            return watch.minimum(finished.status)


@dataclass(frozen=True)
class Proximal:
    """Proximal gradient on S: for factors, trace penalty and cone of S replace weight decay on W.

    Advantage: no derivative by the factors. Disadvantage: slow if the data leave directions of S
    flat.
    """

    tolerance: float = 1e-5
    max_steps: int = 20_000

    def minimise(self, risk: Risk, start: torch.Tensor) -> Minimum:
        """Return the best point of a descent.

        Args:
            risk: empirical risk.
            start: starting weights, shape (d, m).
        """
        watch = _Watch(self.tolerance, self.max_steps)
        try:
            _proximal_descent(watch, risk, start, self.max_steps)
        except _Finished as finished:
            return watch.minimum(finished.status)
        return watch.minimum(DescentStatus.MAX_STEPS)


#: At weak decay below interpolation the risk is a few millionths and flat: 3000 steps do not reach
#: a relative gradient of 1e-5. At 1e-3, after 2500 to 11000 steps, m, q and losses are within 5e-4
#: of those at 2e-5 (lambda = 1e-5, alpha 0.05 to 0.155, d = 40 and 80).
WEAK_DECAY = partial(Lbfgs, tolerance=1e-3, max_steps=20_000)

MINIMISERS: dict[str, Callable[[], Minimiser]] = {
    "lbfgs": Lbfgs,
    "lbfgs-weak": WEAK_DECAY,
    "adam": Adam,
    "proximal": Proximal,
}


@dataclass(frozen=True)
class _Point:
    relative_gradient: float
    loss: float
    weights: torch.Tensor


class _Finished(Exception):
    """End of a descent, raised inside SciPy's loop; not an error."""

    def __init__(self, status: DescentStatus) -> None:
        self.status = status


class _Watch:
    """Counter of evaluations that stores the point of smallest relative gradient.

    It ends the descent with `_Finished`.
    """

    def __init__(self, tolerance: float, limit: int) -> None:
        self.tolerance, self.limit = tolerance, limit
        self.evaluations = 0
        self.best: _Point

    def evaluate(
        self, objective: Objective, weights: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Return value and gradient at the weights, and record them."""
        value, gradient = objective.value_and_gradient(weights)
        self.record(weights, value, gradient)
        return value, gradient

    def record(self, weights: torch.Tensor, value: torch.Tensor, gradient: torch.Tensor) -> None:
        """Record an evaluation; raise _Finished if it is the last."""
        loss = float(value)
        relative = float(gradient.norm() * weights.norm()) / loss if loss > 0 else 0.0
        if self.evaluations == 0 or relative < self.best.relative_gradient:
            self.best = _Point(relative, loss, weights.clone())
        self.evaluations += 1
        if not math.isfinite(loss):
            raise _Finished(DescentStatus.DIVERGED)
        if relative <= self.tolerance:
            raise _Finished(DescentStatus.CONVERGED)
        if self.evaluations >= self.limit:
            raise _Finished(DescentStatus.MAX_STEPS)

    def minimum(self, status: DescentStatus) -> Minimum:
        """Return the best point."""
        best = self.best
        return Minimum(
            best.weights.cpu().numpy(), best.loss, best.relative_gradient, self.evaluations, status
        )


def _proximal_descent(watch: _Watch, risk: Risk, start: torch.Tensor, steps: int) -> None:
    """Evaluate the risk along proximal steps; they may go uphill, `watch` stores the best point."""

    def evaluate(weights: torch.Tensor) -> RiskPoint:
        point = risk.at(weights)
        watch.record(weights, point.loss, point.gradient)
        return point

    decay = torch.tensor(risk.lambda_, dtype=start.dtype, device=start.device)
    descent = ProximalSteps(evaluate(start), decay, risk.weights, len(risk.labels))
    for _ in range(steps - 1):
        descent.receive(evaluate(descent.trial))
