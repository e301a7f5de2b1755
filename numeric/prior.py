"""The prior side of the saddle point: conjugates to order parameters, for factors with weight decay and for direct training.

Unknowns x are logarithms of the conjugates (mh, qh, Vh), for a general matrix also of (qh, Vh) of its antisymmetric part: every value
is in the domain. Theory note, sections 3, 4 and 6; every formula is generated.
"""

from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from generated.tied_attention import float64 as generated
from numeric.problem import Parametrisation, Problem
from numeric.target_law import ROUNDING, Energy, Risk

Vector = NDArray[np.float64]


class Overlaps(NamedTuple):
    """Order parameters of the student; `odd` ones are those of the antisymmetric part of a general matrix."""

    m: float
    q: float
    V: float
    q_odd: float = 0.0
    V_odd: float = 0.0


class Denoising(NamedTuple):
    """Equivalent denoising problem: noise variance v, gain c, and, with a trace penalty, eigenvalue threshold b and energy."""

    v: float
    c: float
    b: float | None
    energy: Energy | None


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
        overlaps = map(float, generated.overlaps(energy.J, energy.J_v, energy.J_b, v, b, c, Vh))
        return Denoised(x, Denoising(v, c, b, energy), Overlaps(*overlaps))

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
        overlaps = Overlaps(*map(float, generated.direct_overlaps(mh, qh, Vh, lambda_, self.problem.q0)))
        if len(x) > 3:
            qh_odd, Vh_odd = np.exp(x[3:])
            _, q_odd, V_odd = map(float, generated.direct_overlaps(0.0, qh_odd, Vh_odd, lambda_, 0.0))
            overlaps = overlaps._replace(q_odd=q_odd, V_odd=V_odd)
        return Denoised(x, Denoising(v, c, None, None), overlaps)

    def free_entropy(self, at: Denoised, M: float) -> float:
        """E; the antisymmetric part adds its own."""
        alpha, lambda_ = self.problem.alpha, self.problem.lambda_
        (m, q, V, q_odd, V_odd), (mh, qh, Vh) = at.overlaps, np.exp(at.x[:3])
        even = generated.direct_free_entropy(alpha, M, m, q, V, mh, qh, Vh, lambda_, self.problem.q0)
        if len(at.x) == 3:
            return float(even)
        qh_odd, Vh_odd = np.exp(at.x[3:])
        odd = generated.direct_free_entropy(0.0, 0.0, 0.0, q_odd, V_odd, 0.0, qh_odd, Vh_odd, lambda_, 0.0)
        return float(even + odd)

    def risk(self, at: Denoised) -> Risk:
        """From the overlaps."""
        q0, c, (m, q, _, q_odd, _) = self.problem.q0, at.denoising.c, at.overlaps
        value = generated.estimation_error(q0, m / c, (q + q_odd) / c**2)
        return Risk(float(value), ROUNDING * q0)

    def learns_nothing(self, x: Vector) -> bool:
        """Never: without a threshold every signal is learned a little."""
        return False


def prior_of(problem: Problem) -> Prior:
    """The prior side of a problem."""
    return Factorised(problem) if problem.parametrisation is Parametrisation.FACTORISED else Direct(problem)
