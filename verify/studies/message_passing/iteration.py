"""Approximate message passing: an iteration to the minimum whose steps the theory predicts.

Training is a matrix-sensing problem: the indices of a sample per unit are omega = <a_k, S>/sqrt(d),
with independent Gaussian a_k for Gaussian-equivalent data and products of tokens for sequences.
One step passes from the map S to the indices and back:

    omega = indices(S) - V f                          f: messages of the previous step
    h*    = argmin sum_k (h_k - omega_k)^2/(2V) + loss(h)
    f     = (h* - omega)/V                            minus the slope of the loss at h*
    Vh    = -sum_{samples, k} df_k/domega_k / d^2
    Y     = S + adjoint(f)/(Vh d),  S = (Y - lambda sqrt(kappa)/Vh)_+ on the eigenvalues
    V     = (divergence of S by Y)/(Vh d^2)

At a fixed point h* are the indices of S, whatever V and Vh are, and S is stationary for the risk
with the trace penalty.  The theory's V, Vh are the limits of these; m, q and the errors those of S.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple

import torch

from attention_erm.runtime.errors import NoAnswer
from numeric.messages.stages import first_response
from verify.core.data import Inputs, contrasts_of, packed, packed_slope, slope_by_indices, unpacked
from verify.core.minimise import DescentStatus
from verify.core.risk import contrast_loss, losses
from verify.core.run import Run

#: Newton steps of the inner problem; a dozen suffice from either start, more if steps are
#: shortened.
NEWTON_STEPS = 100
#: Largest final step of the inner problem; indices are of order one. Smaller Newton steps are
#: rounding errors.
INNER_TOLERANCE = 1e-10
#: A shorter step is not halved: its change of the energy, quadratic in the step, is below rounding,
#: and the Newton error is smaller still.
SHORT = 1e-6


@dataclass(frozen=True)
class MessagesEnd:
    """End of message passing: map S (d, d), V, Vh, last relative change of S, steps and status."""

    s: torch.Tensor
    V: float
    Vh: float
    change: float
    steps: int
    status: DescentStatus


@dataclass(frozen=True)
class LabelChannel:
    """Output channel: labels (n, T, T) and inverse temperature of the student."""

    labels: torch.Tensor
    beta: float

    def energy(self, units: torch.Tensor) -> torch.Tensor:
        """Return the loss of each sample, (n,), at its indices per unit (n, K)."""
        return losses(self._contrasts(units), self.labels, self.beta)

    def slope(self, units: torch.Tensor) -> torch.Tensor:
        """Return the gradient of the loss of each sample, (n, K)."""
        return packed_slope(
            slope_by_indices(contrast_loss(self._contrasts(units), self.labels, self.beta)[1])
        )

    def _contrasts(self, units: torch.Tensor) -> torch.Tensor:
        return contrasts_of(unpacked(units, self.labels.shape[-1]))

    def slope_and_curvature(self, units: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return `slope` and the Hessian of the loss of each sample, (n, K, K). Samples are
        independent: one backward pass per index suffices.
        """
        units = units.detach().requires_grad_()
        slope = self.slope(units)
        rows = [
            torch.autograd.grad(column.sum(), units, retain_graph=True)[0]
            for column in slope.unbind(-1)
        ]
        return slope.detach(), torch.stack(rows, 1)

    def proximal(self, omega: torch.Tensor, V: float) -> torch.Tensor:
        """Return the lower of the minima reached from omega and from the indices of the labels, (n,
        K).

        Args:
            omega: centre, shape (n, K).
            V: variance of the indices.

        Raises:
            NoAnswer: a descent does not end.
        """
        tokens = self.labels.shape[-1]
        near, far = (
            self.descend(start, omega, V) for start in (omega, self._inverse_labels(omega, tokens))
        )
        lower = self.moreau(near, omega, V) <= self.moreau(far, omega, V)
        return torch.where(lower[:, None], near, far)

    def _inverse_labels(self, omega: torch.Tensor, tokens: int) -> torch.Tensor:
        """Return indices that give the labels, up to noise; the constant that a softmax does not
        see is that of omega.
        """
        h = visible_index(self.labels, self.beta)
        constant = (unpacked(omega, tokens) - h).mean((1, 2), keepdim=True)
        return packed(h + constant)

    def moreau(self, units: torch.Tensor, omega: torch.Tensor, V: float) -> torch.Tensor:
        """Return the energy minimised by the proximal map, shape (n,).

        Args:
            units: indices per unit, shape (n, K).
            omega: centre of the proximal map, shape (n, K).
            V: variance of the indices.
        """
        return (units - omega).square().sum(-1) / (2 * V) + self.energy(units)

    def descend(self, units: torch.Tensor, omega: torch.Tensor, V: float) -> torch.Tensor:
        """Minimise by Newton's method with the absolute value of the curvature and a step length
        for each sample.

        Args:
            units: start, shape (n, K).
            omega: centre, shape (n, K).
            V: variance of the indices.

        Raises:
            NoAnswer: it does not end.
        """
        unit = torch.eye(units.shape[1]).to(units) / V
        for _ in range(NEWTON_STEPS):
            slope, curvature = self.slope_and_curvature(units)
            values, vectors = torch.linalg.eigh(unit + curvature)
            along = (
                vectors.transpose(1, 2)
                @ ((omega - units) / V - slope)[..., None]
                / values.abs()[..., None]
            )
            move = (vectors @ along).squeeze(-1)
            if float(move.abs().max()) <= INNER_TOLERANCE:
                return units
            units = units + self._length(units, move, omega, V)[:, None] * move
        raise NoAnswer(f"the inner minimisation did not end in {NEWTON_STEPS} steps at V = {V:.3g}")

    def _length(
        self, units: torch.Tensor, move: torch.Tensor, omega: torch.Tensor, V: float
    ) -> torch.Tensor:
        """Step length of each sample: halved from 1 until the energy falls or the step is short."""
        before = self.moreau(units, omega, V)
        length, reach = torch.ones_like(before), move.abs().amax(-1)
        while True:
            rises = self.moreau(units + length[:, None] * move, omega, V) >= before
            rises &= length * reach > SHORT
            if not bool(rises.any()):
                return length
            length = torch.where(rises, length / 2, length)


def visible_index(labels: torch.Tensor, beta: float) -> torch.Tensor:
    """Return symmetric indices (n, T, T) whose softmax by rows is the labels, if the labels allow
    it; a constant per sample is arbitrary.

    Args:
        labels: shape (n, T, T).
        beta: inverse temperature.
    """
    logarithms = labels.log()
    rows = (logarithms.transpose(1, 2) - logarithms).mean(
        -1, keepdim=True
    )  # makes h symmetric if the labels allow it
    h = (logarithms + rows) / beta
    return (h + h.transpose(1, 2)) / 2


def trace_penalty(run: Run) -> float:
    """Return the weight of d tr S in the risk of factors."""
    return float(run.problem.lambda_ * (run.columns / run.dim) ** 0.5)


class Step(NamedTuple):
    """Result of one step: the map S (d, d), V, Vh and the relative change of S."""

    s: torch.Tensor
    V: float
    Vh: float
    change: float

    @property
    def has_next(self) -> bool:
        """Return whether there is a next step: it divides by the curvature Vh."""
        return 0 < self.Vh < float("inf")


def pass_messages(
    inputs: Inputs,
    labels: torch.Tensor,
    penalty: float,
    beta: float,
    start: torch.Tensor,
    tolerance: float = 1e-8,
    max_steps: int = 300,
) -> MessagesEnd:
    """Iterate until S changes by less than `tolerance` relatively.

    The iteration minimises sum ||y - softmax(beta h)||_F^2 + `penalty` d tr S over positive S.

    Args:
        inputs: samples.
        labels: shape (n, T, T).
        penalty: lambda sqrt(kappa) for factors of width kappa >= 1.
        beta: inverse temperature.
        start: initial map, shape (d, d).
        tolerance: relative change of S at the end.
        max_steps: maximum number of steps.

    Raises:
        NoAnswer: an inner minimisation fails.
    """
    steps = message_steps(inputs, labels, penalty, beta, start)
    for count, step in enumerate(islice(steps, max_steps), 1):
        if not step.has_next:
            return MessagesEnd(*step, count, DescentStatus.DIVERGED)
        if step.change <= tolerance:
            return MessagesEnd(*step, count, DescentStatus.CONVERGED)
    return MessagesEnd(*step, max_steps, DescentStatus.MAX_STEPS)


def message_steps(
    inputs: Inputs, labels: torch.Tensor, penalty: float, beta: float, start: torch.Tensor
) -> Iterator[Step]:
    """Yield steps until there is no next one.

    Args:
        inputs: samples.
        labels: shape (n, T, T).
        penalty: weight of d tr S.
        beta: inverse temperature.
        start: initial map (d, d), independent of the inputs.
    """
    (samples, tokens, _), dim = labels.shape, len(start)
    channel, s = LabelChannel(labels, beta), start
    f = labels.new_zeros(samples, tokens * (tokens + 1) // 2)
    V, change = first_response(beta), float("inf")
    while True:
        omega = packed(inputs.indices(s)) - V * f
        units = channel.proximal(omega, V) if V > 0 else omega
        slope, curvature = channel.slope_and_curvature(units)
        f, Vh = -slope, _response(curvature, V) / dim**2
        if not 0 < Vh < float("inf"):
            yield Step(s, V, Vh, change)
            return
        before, V_before = s, V
        s, divergence = soft_threshold(
            s + adjoint_per_unit(inputs, f, tokens) / (Vh * dim), penalty / Vh
        )
        V = divergence / (Vh * dim**2)
        scale = max(float(s.norm()), float(before.norm()))
        if scale:
            change = float((s - before).norm()) / scale
        else:  # strong decay gives S = 0 at once, but this step's Vh belongs to the previous V
            change = 0.0 if V_before == V else float("inf")
        yield Step(s, V, Vh, change)


def adjoint_per_unit(inputs: Inputs, f: torch.Tensor, tokens: int) -> torch.Tensor:
    """Return d/dS of sum_n <f, indices per unit>, symmetric (d, d).

    Args:
        inputs: samples.
        f: shape (n, T(T+1)/2).
        tokens: T.
    """
    return inputs.adjoint(
        unpacked(f, tokens) / 2
    )  # half to h_ab and half to h_ba; h_aa gets all of it, because it is sqrt(2) units


def _response(curvature: torch.Tensor, V: float) -> float:
    """Return -sum df_k/domega_k = sum tr (1 - (1 + V H)^-1)/V for Hessians H (n, K, K) of the loss
    at the minimum.
    """
    values = torch.linalg.eigvalsh(curvature)
    return float((values / (1 + V * values)).sum())


def soft_threshold(y: torch.Tensor, b: float) -> tuple[torch.Tensor, float]:
    """Return (Y - b)_+ on the eigenvalues of a symmetric Y (d, d), and its divergence over
    symmetric matrices.

    The divergence is sum_{i <= j} of the divided differences [(y_i - b)_+ - (y_j - b)_+]/(y_i -
    y_j), slopes where i = j.
    """
    values, vectors = torch.linalg.eigh(y)
    kept = (values - b).clamp_min(0)
    gaps = values[:, None] - values[None, :]
    slopes = (values > b).to(values)
    # limit of the difference quotient for equal eigenvalues
    quotients = torch.where(
        gaps == 0, slopes[:, None].expand_as(gaps), (kept[:, None] - kept[None, :]) / gaps
    )
    return (vectors * kept) @ vectors.T, float(quotients.triu().sum())
