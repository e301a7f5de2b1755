"""The estimator of the equivalent denoising problem: conjugates to order parameters, for factors and for direct training.

Theory note, sections 3, 4, 6 and 10; every formula is generated.
"""

from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from numeric.laws.eigenvalue_list import Eigenvalues
from numeric.laws.law import ROUNDING, BoundedDifference, Energy, Target, denoising_error_of
from numeric.maths.domain import OutsideDomain
from numeric.model import float64 as generated
from numeric.problem.conjugates import Conjugates, Vector
from numeric.problem.overlaps import Overlaps
from numeric.problem.problem import Parametrisation, Problem


class ReducedVariables(NamedTuple):
    """Noise variance v, eigenvalue threshold b and gain c of the denoising problem, with a trace penalty."""

    v: float
    b: float
    c: float


class DenoisingProblem(NamedTuple):
    """Equivalent denoising problem: noise variance v, gain c, with a trace penalty eigenvalue threshold b and energy, and target."""

    v: float
    b: float | None
    c: float
    energy: Energy | None
    target: Target


class DenoisingSolution(NamedTuple):
    """The matrix denoising problem at these conjugates, and the order parameters of its solution."""

    conjugates: Conjugates
    denoising: DenoisingProblem
    overlaps: Overlaps


class Estimator(Protocol):
    """What is trained, as a map of the conjugates."""

    def denoised(self, conjugates: Conjugates) -> DenoisingSolution:
        """The solved denoising problem at these conjugates."""
        ...

    def free_entropy(self, at: DenoisingSolution, M: float) -> float:
        """(min L)/d^2 there, M the averaged envelope."""
        ...

    def denoising_error(self, at: DenoisingSolution) -> BoundedDifference:
        """||S/c - S0||^2/d there, eigenvalue^2: that of the learned map at unit gain."""
        ...

    def vanishes(self, conjugates: Conjugates) -> bool:
        """Whether these conjugates, those of S = 0, give S = 0 back."""
        ...


def reduced_variables(conjugates: Conjugates, problem: Problem) -> ReducedVariables:
    """Return the denoising problem at these conjugates.

    Raises:
        OutsideDomain: one of them is beyond double precision.
    """
    mh, qh, Vh = conjugates.mh, conjugates.qh, conjugates.Vh
    v, b, c = map(float, problem.generated.reduced_variables(mh, qh, Vh, *problem.penalty))
    if not (0 < v < np.inf and b < np.inf and 0 < c < np.inf):
        raise OutsideDomain(
            f"no denoising problem at mh = {mh:g}, qh = {qh:g}, Vh = {Vh:g}: beyond double precision"
        )
    return ReducedVariables(v, b, c)


@dataclass(frozen=True)
class FactorisedTraining:
    """Factors W of S = W W^T/sqrt(m d) with weight decay: trace penalty on positive S of rank at most kappa d."""

    problem: Problem

    def denoised(self, conjugates: Conjugates) -> DenoisingSolution:
        """The spectral energy above the threshold b."""
        v, b, c = reduced_variables(conjugates, self.problem)
        energy = spectral_energy(self.problem, v, b)
        order = self.problem.generated.overlaps(
            energy.J, energy.J_v, energy.J_b, v, b, c, conjugates.Vh, *self.problem.frobenius
        )
        m, q, V = map(float, order)
        return DenoisingSolution(
            conjugates, DenoisingProblem(v, b, c, energy, self.problem.target), Overlaps(m, q, V)
        )

    def free_entropy(self, at: DenoisingSolution, M: float) -> float:
        """E, with J at the threshold."""
        assert at.denoising.energy is not None
        J, problem = at.denoising.energy.J, self.problem
        return float(
            problem.generated.free_entropy(problem.alpha, M, *_symmetric(at), J, *problem.frobenius)
        )

    def denoising_error(self, at: DenoisingSolution) -> BoundedDifference:
        """From the spectral function: no order parameter cancels where the error is small."""
        denoising = at.denoising
        assert denoising.energy is not None and denoising.b is not None
        return denoising_error_at(self.problem, denoising.v, denoising.b, denoising.energy)

    def vanishes(self, conjugates: Conjugates) -> bool:
        """No eigenvalue of Y exceeds the threshold."""
        at = reduced_variables(conjugates, self.problem)
        return at.b > 0 and at.b >= upper_edge(self.problem, at.v)


def denoising_error_at(problem: Problem, v: float, b: float, energy: Energy) -> BoundedDifference:
    """||S/c - S0||^2/d, eigenvalue^2, where the threshold b leaves `energy`."""
    if problem.is_indefinite:
        return denoising_error_of(energy, problem.q0, v, b)
    return problem.target.denoising_error(v, b, energy)


def learned_overlaps(
    problem: Problem, energy: Energy, v: float, b: float, c: float
) -> tuple[float, float]:
    """What this spectral energy adds to m and q."""
    stiffness = 1.0  # it enters V alone
    m, q, _ = problem.generated.overlaps(
        energy.J, energy.J_v, energy.J_b, v, b, c, stiffness, *problem.frobenius
    )
    return float(m), float(q)


def fitted_ratio(problem: Problem, v: float, b: float) -> float:
    """Sample ratio at which the labels are as many as the directions free above the threshold b."""
    return float(
        problem.generated.interpolation_ratio(
            spectral_energy(problem, v, b).J_v, problem.label_numbers
        )
    )


def upper_edge(problem: Problem, v: float) -> float:
    """Greatest threshold that anything of the noisy law exceeds."""
    return max(target.upper_edge(v) for target in problem.signed_targets(problem.target))


def spectral_energy(problem: Problem, v: float, b: float) -> Energy:
    """Spectral function of the model's class: above b, and below -b for matrices of either sign; all of it without a threshold."""
    if problem.is_indefinite and b == 0:
        return Energy(problem.q0 + v, 1.0, 0.0, 1.0, None)
    ends = [target.energy(v, b, problem.width) for target in problem.signed_targets(problem.target)]
    if len(ends) == 1:
        return ends[0]
    J, J_v, J_b, mass = (sum(part) for part in list(zip(*ends, strict=True))[:4])
    return Energy(J, J_v, J_b, mass, None)


@dataclass(frozen=True)
class DirectTraining:
    """The matrix itself, symmetric or general, with a Frobenius penalty: linear shrinkage, no threshold."""

    problem: Problem

    def denoised(self, conjugates: Conjugates) -> DenoisingSolution:
        """The antisymmetric part meets no target."""
        lambda_, mh, qh, Vh = self.problem.lambda_, conjugates.mh, conjugates.qh, conjugates.Vh
        v, c = map(float, generated.direct_denoising(mh, qh, Vh, lambda_))
        m, q, V = map(float, generated.direct_overlaps(mh, qh, Vh, lambda_, self.problem.q0))
        overlaps = Overlaps(m, q, V)
        if antisymmetric := conjugates.antisymmetric:
            _, q, V = map(
                float,
                generated.direct_overlaps(0.0, antisymmetric.qh, antisymmetric.Vh, lambda_, 0.0),
            )
            overlaps = overlaps._replace(q_antisymmetric=q, V_antisymmetric=V)
        return DenoisingSolution(
            conjugates, DenoisingProblem(v, None, c, None, self.problem.target), overlaps
        )

    def free_entropy(self, at: DenoisingSolution, M: float) -> float:
        """E; the antisymmetric part adds its own."""
        alpha, lambda_ = self.problem.alpha, self.problem.lambda_
        symmetric = generated.direct_free_entropy(
            alpha, M, *_symmetric(at), lambda_, self.problem.q0
        )
        if not (antisymmetric := at.conjugates.antisymmetric):
            return float(symmetric)
        q, V, qh, Vh = (
            at.overlaps.q_antisymmetric,
            at.overlaps.V_antisymmetric,
            antisymmetric.qh,
            antisymmetric.Vh,
        )
        return float(
            symmetric
            + generated.direct_free_entropy(0.0, 0.0, 0.0, q, V, 0.0, qh, Vh, lambda_, 0.0)
        )

    def denoising_error(self, at: DenoisingSolution) -> BoundedDifference:
        """From the overlaps."""
        return _error_of_overlaps(self.problem.q0, at)

    def vanishes(self, conjugates: Conjugates) -> bool:
        """Never: without a threshold every signal is learned a little."""
        return False


@dataclass(frozen=True)
class LeadingFeatures:
    """Factors whose target has leading features kept exactly: the estimator sees these at other strengths."""

    problem: Problem

    def denoised(self, conjugates: Conjugates) -> DenoisingSolution:
        """The spectral energy of the target as it is seen, and what the student has of each leading feature."""
        strengths, (s, weight) = np.array(conjugates.strengths), self.problem.features
        seen = self._seen(strengths).denoised(conjugates)
        denoising = seen.denoising
        assert (
            isinstance(denoising.target, Eigenvalues)
            and denoising.b is not None
            and denoising.energy is not None
        )
        slopes = denoising.target.strength_slopes(
            denoising.v, denoising.b, denoising.energy.quantile, strengths
        )
        learned = np.asarray(generated.leading_overlap(denoising.c, weight * slopes, weight))
        m = seen.overlaps.m + float(np.sum(generated.unseen_overlap(learned, s, strengths, weight)))
        return seen._replace(overlaps=seen.overlaps._replace(m=m, learned=tuple(learned.tolist())))

    def _seen(self, strengths: Vector) -> FactorisedTraining:
        return FactorisedTraining(self.problem.with_strengths(strengths))

    def free_entropy(self, at: DenoisingSolution, M: float) -> float:
        """E, with the target's overlap as the prior sees it."""
        (s, weight), learned, strengths = (
            self.problem.features,
            *map(np.array, (at.overlaps.learned, at.conjugates.strengths)),
        )
        seen = at.overlaps.m - float(
            np.sum(generated.unseen_overlap(learned, s, strengths, weight))
        )
        return FactorisedTraining(self.problem).free_entropy(
            at._replace(overlaps=at.overlaps._replace(m=seen)), M
        )

    def denoising_error(self, at: DenoisingSolution) -> BoundedDifference:
        """From the overlaps: the target that the estimator sees is not the one that counts."""
        return _error_of_overlaps(self.problem.q0, at)

    def vanishes(self, conjugates: Conjugates) -> bool:
        """No eigenvalue of Y exceeds the threshold."""
        return self._seen(np.array(conjugates.strengths)).vanishes(conjugates)


def _error_of_overlaps(q0: float, at: DenoisingSolution) -> BoundedDifference:
    c, q = at.denoising.c, at.overlaps.q + at.overlaps.q_antisymmetric
    return BoundedDifference(
        float(generated.estimation_error(q0, at.overlaps.m / c, q / c**2)), ROUNDING * q0
    )


def _symmetric(at: DenoisingSolution) -> tuple[float, ...]:
    """Return the order parameters (m, q, V) and their conjugates."""
    overlaps, conjugates = at.overlaps, at.conjugates
    return overlaps.m, overlaps.q, overlaps.V, conjugates.mh, conjugates.qh, conjugates.Vh


def estimator_of(problem: Problem) -> Estimator:
    """The estimator of a problem."""
    if problem.leading:
        return LeadingFeatures(problem)
    return (
        FactorisedTraining(problem)
        if problem.parametrisation is Parametrisation.FACTORISED
        else DirectTraining(problem)
    )
