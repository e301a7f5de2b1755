"""Minimisers of the empirical risk: each a frozen configuration with one method, each reporting how it ended.

Converged means ||grad L|| ||W|| <= tolerance * L at the weights W, (d, m) or (d, d), which does not change under a rescaling
of W or of L.  At 1e-5 the overlaps m and q are within 1e-5 of their limit, relatively, even below interpolation,
where the risk is flattest; runs scatter by a thousand times more.
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

from verify.core.risk import Risk


class DescentStatus(enum.Enum):
    """How a minimisation ended; the value says what to do about it."""

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
    """Where a minimiser stopped: `weights`, loss per d^2, relative gradient, evaluations of the risk."""

    weights: np.ndarray
    loss: float
    relative_gradient: float
    evaluations: int
    status: DescentStatus


class Minimiser(Protocol):
    """A way down from the weights `start`; never raises for a failure to converge, but says so in the status."""

    def minimise(self, risk: Risk, start: torch.Tensor) -> Minimum:
        """Return where the descent stopped."""
        ...


@dataclass(frozen=True)
class Lbfgs:
    """Full-batch L-BFGS on the weights (SciPy's), started by proximal steps on S where these are well conditioned.  Default.

    Pro: 30 to 60 evaluations above interpolation, 200 to 400 below.  SciPy's takes a half to a fifth of the
    evaluations of torch.optim.LBFGS and can be made to stop on the gradient alone.
    Contra: every evaluation needs every sample.
    """

    tolerance: float = 1e-5
    max_steps: int = 3000
    memory: int = 20
    proximal_steps: int = 100

    def minimise(self, risk: Risk, start: torch.Tensor) -> Minimum:
        """Descend from `start`; the steps of both stages count towards `max_steps`."""
        watch = _Watch(risk, self.tolerance, self.max_steps)
        try:
            dim, tokens = len(start), risk.labels.shape[-1]
            if self.proximal_steps and risk.weights.labels_determine_map(
                len(risk.labels), tokens, dim
            ):
                _proximal_descent(watch, start, self.proximal_steps)
                start = watch.best.weights
            minimize(
                watch.flat_function(start), start.cpu().numpy().ravel(), jac=True, method="L-BFGS-B",
                # SciPy's own tolerances are set out of reach: `watch` ends the descent
                options={"maxcor": self.memory, "maxiter": self.max_steps, "maxfun": self.max_steps,
                         "ftol": 0.0, "gtol": 0.0, "maxls": 40},
            )  # fmt: skip
        except _Finished as finished:
            return watch.minimum(finished.status)
        return watch.minimum(DescentStatus.STALLED)


@dataclass(frozen=True)
class Adam:
    """Full-batch Adam with a step that falls from `step` to `step * final` along half a cosine.

    Pro: what the paper trains with.  Contra: thousands of evaluations, and a looser tolerance, at which it agrees
    with L-BFGS to 1e-3 in m and q.
    """

    tolerance: float = 1e-3
    max_steps: int = 4000
    step: float = 0.05
    final: float = 1e-3

    def minimise(self, risk: Risk, start: torch.Tensor) -> Minimum:
        """Descend from `start`."""
        weights = start.clone().requires_grad_()
        optimizer = torch.optim.Adam([weights], lr=self.step)
        schedule = torch.optim.lr_scheduler.CosineAnnealingLR(
            optimizer, self.max_steps, self.step * self.final
        )
        watch = _Watch(risk, self.tolerance, self.max_steps)
        try:
            while True:
                weights.grad = watch.evaluate(weights.detach())[1]
                optimizer.step()
                schedule.step()
        except _Finished as finished:
            return watch.minimum(finished.status)


@dataclass(frozen=True)
class Proximal:
    """Proximal gradient on S alone: for factors, the trace penalty and the cone of S in place of weight decay on W.

    Pro: never differentiates by the factors. Contra: slow where the data leave directions of S flat.
    """

    tolerance: float = 1e-5
    max_steps: int = 20_000

    def minimise(self, risk: Risk, start: torch.Tensor) -> Minimum:
        """Descend from `start`."""
        watch = _Watch(risk, self.tolerance, self.max_steps)
        try:
            _proximal_descent(watch, start, self.max_steps)
        except _Finished as finished:
            return watch.minimum(finished.status)
        return watch.minimum(DescentStatus.MAX_STEPS)


#: At weak decay below interpolation the risk is a few millionths and flat: 3000 steps do not reach a relative gradient of 1e-5, and
#: at 1e-3, after 2500 to 11000, m, q and losses are within 5e-4 of those at 2e-5 (lambda = 1e-5, alpha .05 to .155, d = 40 and 80).
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
    """How the descent is ended from inside SciPy's loop; not an error."""

    def __init__(self, status: DescentStatus) -> None:
        self.status = status


class _Watch:
    """Counts evaluations, remembers the point of smallest relative gradient, ends the descent."""

    def __init__(self, risk: Risk, tolerance: float, limit: int) -> None:
        self.risk, self.tolerance, self.limit = risk, tolerance, limit
        self.evaluations = 0
        self.best: _Point

    def evaluate(self, weights: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return L/d^2 and its gradient at the weights."""
        value, gradient = self.risk.value_and_gradient(weights)
        self.record(weights, value, gradient)
        return value, gradient

    def record(self, weights: torch.Tensor, value: torch.Tensor, gradient: torch.Tensor) -> None:
        """Take note of an evaluation; raises _Finished if it is the last."""
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

    def flat_function(self, like: torch.Tensor) -> Callable[[np.ndarray], tuple[float, np.ndarray]]:
        """The risk as SciPy calls it, on the device and with the shape of `like`."""

        def function(flat: np.ndarray) -> tuple[float, np.ndarray]:
            value, gradient = self.evaluate(torch.as_tensor(flat).to(like).reshape(like.shape))
            return float(value), gradient.cpu().numpy().ravel()

        return function

    def minimum(self, status: DescentStatus) -> Minimum:
        """The best point, with how the descent ended."""
        best = self.best
        return Minimum(
            best.weights.cpu().numpy(), best.loss, best.relative_gradient, self.evaluations, status
        )


def _proximal_descent(watch: _Watch, start: torch.Tensor, steps: int) -> None:
    """Proximal gradient on S, the penalty and the set of admissible S taken exactly.

    In S the risk of Gaussian inputs is nearly isotropic, while in the factors its curvature vanishes with the
    eigenvalues of S.  Steps are those of Barzilai and Borwein, long and short in turn; they may go uphill, and
    `watch` keeps the best.
    """
    risk, weights, before = watch.risk, start, None
    step = len(start) / len(risk.labels)
    for count in range(steps):
        s = risk.weights.attention_map(weights)
        fit, slope = risk.fit(s)
        watch.record(weights, *risk.with_decay(weights, fit, slope))
        if before is not None:
            step = _spectral_step(s - before[0], slope - before[1], count % 2 == 0) or step
        before = (s, slope)
        weights = risk.weights.proximal(s - step * slope, step * risk.lambda_, weights)


def _spectral_step(moved: torch.Tensor, changed: torch.Tensor, long: bool) -> float | None:
    """The inverse curvature along the last step; None where it is not positive."""
    curvature = float((moved * changed).sum())
    if curvature <= 0:
        return None
    return (
        float(moved.square().sum()) / curvature
        if long
        else curvature / float(changed.square().sum())
    )
