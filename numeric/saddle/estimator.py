"""The prior side of the saddle point: conjugates to order parameters, for factors with weight decay and for direct training.

Unknowns x are logarithms of the conjugates (mh, qh, Vh), for a general matrix also of (qh, Vh) of its antisymmetric part, or of
the strengths of its leading features: every value is in the domain. Theory note, sections 3, 4, 6 and 10; every formula is generated.
"""

from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from numeric.laws.law import ROUNDING, Energy, Risk, Target
from numeric.model import float64 as generated
from numeric.problem.overlaps import Overlaps
from numeric.problem.problem import Parametrisation, Problem

Vector = NDArray[np.float64]


class Denoising(NamedTuple):
    """Equivalent denoising problem: noise variance v, gain c, with a trace penalty eigenvalue threshold b and energy, and target."""

    v: float
    c: float
    b: float | None
    energy: Energy | None
    target: Target


class Denoised(NamedTuple):
    """The matrix denoising problem at conjugates exp(x), and the order parameters of its solution."""

    x: Vector
    denoising: Denoising
    overlaps: Overlaps


class Prior(Protocol):
    """What is trained, as a map of the logarithms x of the conjugates."""

    def denoised(self, x: Vector) -> Denoised:
        """The solved denoising problem at these conjugates."""
        ...

    def free_entropy(self, at: Denoised, M: float) -> float:
        """(min L)/d^2 there, M the averaged envelope."""
        ...

    def risk(self, at: Denoised) -> Risk:
        """||S/c - S0||^2/d there, eigenvalue^2: that of the learned map at unit gain."""
        ...

    def learns_nothing(self, x: Vector) -> bool:
        """Whether these conjugates, those of S = 0, give S = 0 back."""
        ...


@dataclass(frozen=True)
class Factorised:
    """Factors W of S = W W^T/sqrt(m d) with weight decay: trace penalty on positive S of rank at most kappa d."""

    problem: Problem

    def denoised(self, x: Vector) -> Denoised:
        """The spectral energy above the threshold b."""
        mh, qh, Vh = np.exp(x)
        v, b, c = map(float, generated.reduced_variables(mh, qh, Vh, self.problem.lambda_, self.problem.width))
        energy = self.problem.target.energy(v, b, self.problem.width)
        m, q, V = map(float, generated.overlaps(energy.J, energy.J_v, energy.J_b, v, b, c, Vh))
        return Denoised(x, Denoising(v, c, b, energy, self.problem.target), Overlaps(m, q, V))

    def free_entropy(self, at: Denoised, M: float) -> float:
        """E, with J at the threshold."""
        assert at.denoising.energy is not None
        (m, q, V, *_), (mh, qh, Vh) = at.overlaps, np.exp(at.x)
        return float(generated.free_entropy(self.problem.alpha, M, m, q, V, mh, qh, Vh, at.denoising.energy.J))

    def risk(self, at: Denoised) -> Risk:
        """From the spectral function: no order parameter cancels where the risk is small."""
        _, denoising, _ = at
        assert denoising.energy is not None and denoising.b is not None
        return self.problem.target.risk(denoising.v, denoising.b, denoising.energy)

    def learns_nothing(self, x: Vector) -> bool:
        """No eigenvalue of Y exceeds the threshold."""
        mh, qh, Vh = np.exp(x)
        v, b, _ = generated.reduced_variables(mh, qh, Vh, self.problem.lambda_, self.problem.width)
        return bool(b >= self.problem.target.upper_edge(float(v)))


@dataclass(frozen=True)
class Direct:
    """The matrix itself, symmetric or general, with a Frobenius penalty: linear shrinkage, no threshold."""

    problem: Problem

    def denoised(self, x: Vector) -> Denoised:
        """The antisymmetric part meets no target."""
        lambda_, (mh, qh, Vh) = self.problem.lambda_, np.exp(x[:3])
        v, c = map(float, generated.direct_denoising(mh, qh, Vh, lambda_))
        m, q, V = map(float, generated.direct_overlaps(mh, qh, Vh, lambda_, self.problem.q0))
        overlaps = Overlaps(m, q, V)
        if len(x) > 3:
            qh_odd, Vh_odd = np.exp(x[3:])
            _, q_odd, V_odd = map(float, generated.direct_overlaps(0.0, qh_odd, Vh_odd, lambda_, 0.0))
            overlaps = overlaps._replace(q_odd=q_odd, V_odd=V_odd)
        return Denoised(x, Denoising(v, c, None, None, self.problem.target), overlaps)

    def free_entropy(self, at: Denoised, M: float) -> float:
        """E; the antisymmetric part adds its own."""
        alpha, lambda_ = self.problem.alpha, self.problem.lambda_
        (m, q, V, q_odd, V_odd, _), (mh, qh, Vh) = at.overlaps, np.exp(at.x[:3])
        even = generated.direct_free_entropy(alpha, M, m, q, V, mh, qh, Vh, lambda_, self.problem.q0)
        if len(at.x) == 3:
            return float(even)
        qh_odd, Vh_odd = np.exp(at.x[3:])
        odd = generated.direct_free_entropy(0.0, 0.0, 0.0, q_odd, V_odd, 0.0, qh_odd, Vh_odd, lambda_, 0.0)
        return float(even + odd)

    def risk(self, at: Denoised) -> Risk:
        """From the overlaps."""
        return _risk_of_overlaps(self.problem.q0, at)

    def learns_nothing(self, x: Vector) -> bool:
        """Never: without a threshold every signal is learned a little."""
        return False


# Relative, of an eigenvalue. J is analytic in it: central differences err by the square over that of the distance from the threshold.
DIFFERENCE = 1e-5


@dataclass(frozen=True)
class Leading:
    """Factors whose target has leading features kept exactly: the prior sees these at the strengths exp(x[3:])."""

    problem: Problem

    def denoised(self, x: Vector) -> Denoised:
        """The spectral energy of the target as it is seen, and what the student has of each leading feature."""
        strengths, (s, weight) = np.exp(x[3:]), self.problem.features
        _, denoising, (m, q, V, *_) = self._seen(strengths).denoised(x[:3])
        slopes = [self._slope(denoising, strengths, k) for k in range(len(strengths))]
        learned = np.array([generated.leading_overlap(denoising.c, slope, weight) for slope in slopes])
        m += float(weight * learned @ (s - strengths))
        return Denoised(x, denoising, Overlaps(m, q, V, learned=tuple(learned.tolist())))

    def _seen(self, strengths: Vector) -> Factorised:
        return Factorised(self.problem.with_strengths(strengths))

    def _slope(self, at: Denoising, strengths: Vector, k: int) -> float:
        """dJ/ds of the k-th strength."""
        assert at.b is not None
        step = DIFFERENCE * strengths[k] * np.eye(len(strengths))[k]
        targets = (self.problem.with_strengths(strengths + side * step).target for side in (1, -1))
        up, down = (target.energy(at.v, at.b, self.problem.width).J for target in targets)
        return float((up - down) / (2 * step[k]))

    def free_entropy(self, at: Denoised, M: float) -> float:
        """E, with the target's overlap as the prior sees it."""
        s, weight = self.problem.features
        seen = at.overlaps.m + float(weight * np.array(at.overlaps.learned) @ (np.exp(at.x[3:]) - s))
        return Factorised(self.problem).free_entropy(at._replace(x=at.x[:3], overlaps=at.overlaps._replace(m=seen)), M)

    def risk(self, at: Denoised) -> Risk:
        """From the overlaps: the target that the prior sees is not the one that counts."""
        return _risk_of_overlaps(self.problem.q0, at)

    def learns_nothing(self, x: Vector) -> bool:
        """No eigenvalue of Y exceeds the threshold."""
        return self._seen(np.exp(x[3:])).learns_nothing(x[:3])


def _risk_of_overlaps(q0: float, at: Denoised) -> Risk:
    c, (m, q, _, q_odd, *_) = at.denoising.c, at.overlaps
    return Risk(float(generated.estimation_error(q0, m / c, (q + q_odd) / c**2)), ROUNDING * q0)


def prior_of(problem: Problem) -> Prior:
    """The prior side of a problem."""
    if problem.leading:
        return Leading(problem)
    return Factorised(problem) if problem.parametrisation is Parametrisation.FACTORISED else Direct(problem)
