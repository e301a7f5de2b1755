"""Approximate message passing: a third way to the minimum, whose every step the theory predicts.   (sections 2, 3)

Gaussian-equivalent data make training a matrix-sensing problem: the indices of a sample per unit are omega = <a_k, S>/sqrt(d)
with independent Gaussian a_k.  One step passes from the map S to the indices and back:

    omega = indices(S) - V f                          f the messages of the step before
    h*    = argmin sum_k (h_k - omega_k)^2/(2V) + loss(h),  f = (h* - omega)/V
    Vh    = -sum_{samples, k} df_k/domega_k / d^2
    Y     = S + adjoint(f)/(Vh d),  S = (Y - lambda sqrt(kappa)/Vh)_+ on the eigenvalues
    V     = (divergence of S by Y)/(Vh d^2)

At a fixed point f is minus the slope of the loss, whatever V and Vh are, and S is stationary for the risk with the
trace penalty.  The theory's V, Vh are the limits of these; m, q and the errors those of S.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch

from numeric.maths.domain import NoAnswer
from verify.training.data import GaussianEquivalent, contrasts_of, packed, packed_slope, slope_by_indices, unpacked
from verify.training.minimise import DescentStatus
from verify.training.risk import contrast_loss, losses

#: Newton steps of the inner problem; from either start a dozen suffice, more only where a step has to be cut.
NEWTON_STEPS = 100
#: Largest step left in the inner problem, of indices of order one: below it Newton's steps are rounding errors.
INNER_TOLERANCE = 1e-10
#: A shorter step is taken whole: its change of the energy, its square, is lost in rounding, and Newton's error is smaller still.
SHORT = 1e-6


@dataclass(frozen=True)
class Passed:
    """Where message passing ended: the map S (d, d), V, Vh, the last relative change of S, steps and status."""

    s: torch.Tensor
    V: float
    Vh: float
    change: float
    steps: int
    status: DescentStatus


@dataclass(frozen=True)
class LabelChannel:
    """Output side: labels (n, T, T) and inverse temperature of the student."""

    labels: torch.Tensor
    beta: float

    def energy(self, units: torch.Tensor) -> torch.Tensor:
        """Loss of each sample, (n,), at its indices per unit (n, K)."""
        return losses(self._contrasts(units), self.labels, self.beta)

    def slope(self, units: torch.Tensor) -> torch.Tensor:
        """Gradient of the loss of each sample, (n, K)."""
        return packed_slope(slope_by_indices(contrast_loss(self._contrasts(units), self.labels, self.beta)[1]))

    def _contrasts(self, units: torch.Tensor) -> torch.Tensor:
        return contrasts_of(unpacked(units, self.labels.shape[-1]))

    def slope_and_curvature(self, units: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """`slope` and the Hessian of the loss of each sample, (n, K, K): samples do not mix, so one pass back per index."""
        units = units.detach().requires_grad_()
        slope = self.slope(units)
        rows = [torch.autograd.grad(column.sum(), units, retain_graph=True)[0] for column in slope.unbind(-1)]
        return slope.detach(), torch.stack(rows, 1)

    def proximal(self, omega: torch.Tensor, V: float) -> torch.Tensor:
        """The lower of the minima reached from omega and from the labels' own indices, (n, K).

        Raises NoAnswer if a descent does not end.
        """
        tokens = self.labels.shape[-1]
        near, far = (self.descend(start, omega, V) for start in (omega, self._inverse_labels(omega, tokens)))
        lower = self.moreau(near, omega, V) <= self.moreau(far, omega, V)
        return torch.where(lower[:, None], near, far)

    def _inverse_labels(self, omega: torch.Tensor, tokens: int) -> torch.Tensor:
        """Indices that give the labels, up to noise, with the constant that a softmax does not see taken from omega."""
        logarithms = self.labels.log()
        rows = (logarithms.transpose(1, 2) - logarithms).mean(
            -1, keepdim=True
        )  # makes h symmetric where labels allow it
        h = (logarithms + rows) / self.beta
        h = (h + h.transpose(1, 2)) / 2
        constant = (unpacked(omega, tokens) - h).mean((1, 2), keepdim=True)
        return packed(h + constant)

    def moreau(self, units: torch.Tensor, omega: torch.Tensor, V: float) -> torch.Tensor:
        """What the proximal map minimises, (n,)."""
        return (units - omega).square().sum(-1) / (2 * V) + self.energy(units)

    def descend(self, units: torch.Tensor, omega: torch.Tensor, V: float) -> torch.Tensor:
        """Newton's method from `units` (n, K), with the curvature's absolute value, each sample with its own step length.

        Raises NoAnswer if it does not end.
        """
        unit = torch.eye(units.shape[1]).to(units) / V
        for _ in range(NEWTON_STEPS):
            slope, curvature = self.slope_and_curvature(units)
            values, vectors = torch.linalg.eigh(unit + curvature)
            along = vectors.transpose(1, 2) @ ((omega - units) / V - slope)[..., None] / values.abs()[..., None]
            move = (vectors @ along).squeeze(-1)
            if float(move.abs().max()) <= INNER_TOLERANCE:
                return units
            units = units + self._length(units, move, omega, V)[:, None] * move
        raise NoAnswer(f"the inner minimisation did not end in {NEWTON_STEPS} steps at V = {V:.3g}")

    def _length(self, units: torch.Tensor, move: torch.Tensor, omega: torch.Tensor, V: float) -> torch.Tensor:
        """Step length of each sample: halved from 1 until the energy falls or the step is short."""
        before = self.moreau(units, omega, V)
        length, reach = torch.ones_like(before), move.abs().amax(-1)
        while True:
            rises = self.moreau(units + length[:, None] * move, omega, V) >= before
            rises &= length * reach > SHORT
            if not bool(rises.any()):
                return length
            length = torch.where(rises, length / 2, length)


def pass_messages(
    inputs: GaussianEquivalent,
    labels: torch.Tensor,
    penalty: float,
    beta: float,
    tolerance: float = 1e-8,
    max_steps: int = 300,
) -> Passed:
    """Iterate from S = 0 until S changes by `tolerance` relatively.

    Minimises sum ||y - softmax(beta h)||_F^2 + `penalty` d tr S over positive S; for factors of width kappa >= 1
    `penalty` is lambda sqrt(kappa).  Raises NoAnswer if an inner minimisation fails.
    """
    dim, channel = inputs.dim, LabelChannel(labels, beta)
    s = labels.new_zeros(dim, dim)
    f = labels.new_zeros(len(labels), labels.shape[-1] * (labels.shape[-1] + 1) // 2)
    V, Vh, change = 1.0, 0.0, float("inf")  # any V > 0 will do: the fixed point does not know where it came from
    for step in range(1, max_steps + 1):
        omega = packed(inputs.indices(s)) - V * f
        units = channel.proximal(omega, V)
        f = (units - omega) / V
        Vh = _response(channel.slope_and_curvature(units)[1], V) / dim**2
        if not 0 < Vh < float("inf"):
            return Passed(s, V, Vh, change, step, DescentStatus.DIVERGED)
        before = s
        s, divergence = soft_threshold(s + inputs.packed_adjoint(f) / (Vh * dim), penalty / Vh)
        V = divergence / (Vh * dim**2)
        change = float((s - before).norm()) / max(float(s.norm()), float(before.norm()))
        if change <= tolerance:
            return Passed(s, V, Vh, change, step, DescentStatus.CONVERGED)
    return Passed(s, V, Vh, change, max_steps, DescentStatus.MAX_STEPS)


def _response(curvature: torch.Tensor, V: float) -> float:
    """-sum df_k/domega_k = sum tr (1 - (1 + V H)^-1)/V, of Hessians H (n, K, K) of the loss at the minimum."""
    values = torch.linalg.eigvalsh(curvature)
    return float((values / (1 + V * values)).sum())


def soft_threshold(y: torch.Tensor, b: float) -> tuple[torch.Tensor, float]:
    """Return (Y - b)_+ on the eigenvalues of a symmetric Y (d, d), and its divergence over symmetric matrices.

    The divergence is sum_{i <= j} of the divided differences [(y_i - b)_+ - (y_j - b)_+]/(y_i - y_j), slopes where i = j.
    """
    values, vectors = torch.linalg.eigh(y)
    kept = (values - b).clamp_min(0)
    gaps = values[:, None] - values[None, :]
    slopes = (values > b).to(values)
    # where two eigenvalues coincide the difference quotient is the slope between them
    quotients = torch.where(gaps == 0, slopes[:, None].expand_as(gaps), (kept[:, None] - kept[None, :]) / gaps)
    return (vectors * kept) @ vectors.T, float(quotients.triu().sum())
