"""Estimator of the equivalent denoising problem: order parameters from conjugates.

See sections 3, 4, 6 and 10 of the theory note; every formula is generated.
"""

import math
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np

from numeric.laws.covariance.target import CovarianceTarget
from numeric.laws.eigenvalue_list import Eigenvalues
from numeric.laws.law import ROUNDING, BoundedDifference, Energy, Target, denoising_error_of
from numeric.laws.lifted import LiftedTarget
from numeric.maths.domain import OutsideDomain
from numeric.model import float64 as generated
from numeric.problem.conjugates import Conjugates, Vector
from numeric.problem.overlaps import Overlaps
from numeric.problem.problem import Parametrisation, Problem


class ReducedVariables(NamedTuple):
    """Parameters of the denoising problem with a trace penalty.

    Attributes:
        v: noise variance (eigenvalue^2).
        b: eigenvalue threshold.
        c: gain.
        shift: coefficient of the covariance that is added to the target, eigenvalue; 0 if tokens
            have Gaussian norms.
    """

    v: float
    b: float
    c: float
    shift: float = 0.0


class DenoisingProblem(NamedTuple):
    """Equivalent denoising problem.

    Attributes:
        v: noise variance (eigenvalue^2).
        b: eigenvalue threshold, None without a trace penalty.
        c: gain.
        energy: spectral energy above the threshold, None without a trace penalty.
        target: law of the target, with its shift.
    """

    v: float
    b: float | None
    c: float
    energy: Energy | None
    target: Target


class DenoisingSolution(NamedTuple):
    """Solution of the denoising problem: its conjugates, its parameters and its overlaps."""

    conjugates: Conjugates
    denoising: DenoisingProblem
    overlaps: Overlaps


def reduced_variables(conjugates: Conjugates, problem: Problem) -> ReducedVariables:
    """Return the parameters of the denoising problem with a trace penalty.

    Args:
        conjugates: conjugates of the order parameters.
        problem: defines the penalty.

    Raises:
        OutsideDomain: a parameter is outside the range of double precision.
    """
    mh, qh, Vh = conjugates.mh, conjugates.qh, conjugates.Vh
    v, b, c = map(float, problem.generated.reduced_variables(mh, qh, Vh, *problem.penalty))
    if not (0 < v < np.inf and b < np.inf and 0 < c < np.inf):
        at = f"mh = {mh:g}, qh = {qh:g}, Vh = {Vh:g}"
        raise OutsideDomain(f"no denoising problem at {at}: outside the range of double precision")
    if conjugates.th is None:
        return ReducedVariables(v, b, c)
    square = problem.covariance_square
    return ReducedVariables(v, b, c, float(problem.generated.norm_shift(conjugates.th, mh, square)))


def thresholded_solution(
    problem: Problem, conjugates: Conjugates, at: ReducedVariables, energy: Energy
) -> DenoisingSolution:
    """Return the solution of a denoising problem with a trace penalty.

    Args:
        problem: defines the target and the penalty.
        conjugates: conjugates of the order parameters.
        at: parameters of the denoising problem at these conjugates.
        energy: spectral energy above the threshold.
    """
    v, b, c, shift = at
    slopes = energy.J, energy.J_v, energy.J_b
    if conjugates.th is None:
        order = problem.generated.overlaps(*slopes, v, b, c, conjugates.Vh, *problem.frobenius)
        m, q, V = map(float, order)
        overlaps = Overlaps(m, q, V)
    else:
        m, q, V, t = map(
            float,
            problem.generated.overlaps_with_norms(
                *(*slopes, energy.J_shift, v, b, shift, c, conjugates.Vh),
                *(problem.covariance_square, *problem.frobenius),
            ),
        )
        overlaps = Overlaps(m, q, V, t=t)
    denoising = DenoisingProblem(v, b, c, energy, shifted_target(problem, shift))
    return DenoisingSolution(conjugates, denoising, overlaps)


def shifted_target(problem: Problem, shift: float) -> Target:
    """Return the target with a multiple of the covariance added.

    Args:
        problem: the problem.
        shift: coefficient of the covariance, eigenvalue; it has no effect for Gaussian norms.
    """
    return LiftedTarget(problem.target, shift) if problem.has_norms else problem.target


@dataclass(frozen=True)
class FactorisedTraining:
    """Training of factors W, S = W W^T/sqrt(m d), with weight decay.

    Weight decay is a trace penalty on a positive S of rank at most kappa d.
    """

    problem: Problem

    def denoised(self, conjugates: Conjugates) -> DenoisingSolution:
        """Solve the denoising problem at given conjugates."""
        at = reduced_variables(conjugates, self.problem)
        energy = spectral_energy(self.problem, at.v, at.b, at.shift)
        return thresholded_solution(self.problem, conjugates, at, energy)

    def free_entropy(self, at: DenoisingSolution, M: float) -> float:
        """Return (min L)/d^2.

        Args:
            at: denoising solution.
            M: averaged Moreau envelope (loss).
        """
        assert at.denoising.energy is not None
        J, problem = at.denoising.energy.J, self.problem
        total = float(
            problem.generated.free_entropy(problem.alpha, M, *_symmetric(at), J, *problem.frobenius)
        )
        if at.conjugates.th is None:
            return total
        return total + float(problem.generated.norm_coupling(at.overlaps.t, at.conjugates.th))

    def denoising_error(self, at: DenoisingSolution) -> BoundedDifference:
        """Return ||S/c - S0||^2/d (eigenvalue^2) from the spectral function."""
        v, b, _, energy, target = at.denoising
        assert energy is not None and b is not None
        return denoising_error_at(self.problem, target, v, b, energy)

    def vanishes(self, conjugates: Conjugates) -> bool:
        """Return whether S = 0 is a solution, given its conjugates."""
        at = reduced_variables(conjugates, self.problem)
        return at.b > 0 and at.b >= upper_edge(self.problem, at.v, at.shift)


def denoising_error_at(
    problem: Problem, target: Target, v: float, b: float, energy: Energy
) -> BoundedDifference:
    """Return ||S/c - S0||^2/d (eigenvalue^2) for a trace penalty.

    Args:
        problem: defines the class of matrices.
        target: law of the target, with its shift.
        v: noise variance (eigenvalue^2).
        b: eigenvalue threshold.
        energy: spectral energy above the threshold.
    """
    if problem.is_indefinite:
        return denoising_error_of(energy, problem.q0, v, b)
    return target.denoising_error(v, b, energy)


def learned_overlaps(
    problem: Problem, energy: Energy, v: float, b: float, c: float
) -> tuple[float, float]:
    """Return the contribution of a spectral energy to m and q (eigenvalue^2).

    Args:
        problem: defines the penalty.
        energy: spectral energy above the threshold.
        v: noise variance (eigenvalue^2).
        b: eigenvalue threshold.
        c: gain.
    """
    stiffness = 1.0  # it affects only V
    m, q, _ = problem.generated.overlaps(
        energy.J, energy.J_v, energy.J_b, v, b, c, stiffness, *problem.frobenius
    )
    return float(m), float(q)


def fitted_ratio(problem: Problem, v: float, b: float) -> float:
    """Return the sample ratio at which the labels are as many as the free directions.

    Args:
        problem: defines the target and the labels.
        v: noise variance (eigenvalue^2).
        b: eigenvalue threshold; directions above it are free.
    """
    free = spectral_energy(problem, v, b).J_v
    return float(problem.generated.interpolation_ratio(free, problem.label_numbers))


def upper_edge(problem: Problem, v: float, shift: float = 0.0) -> float:
    """Return the upper edge of the noisy law, of either sign.

    Args:
        problem: defines the target.
        v: noise variance (eigenvalue^2).
        shift: coefficient of the covariance that is added to the target, eigenvalue.
    """
    laws = problem.signed_targets(shifted_target(problem, shift))
    return max(law.upper_edge(v) for law in laws)


def spectral_energy(problem: Problem, v: float, b: float, shift: float = 0.0) -> Energy:
    """Return the spectral energy above b, and below -b if eigenvalues of either sign are learned.

    Args:
        problem: defines the target, the width and the class of matrices.
        v: noise variance (eigenvalue^2).
        b: eigenvalue threshold; 0 gives the whole law for matrices of either sign.
        shift: coefficient of the covariance that is added to the target, eigenvalue.
    """
    if problem.is_indefinite and b == 0:
        return Energy(problem.q0 + v, 1.0, 0.0, 1.0, None)
    laws = problem.signed_targets(shifted_target(problem, shift))
    ends = [law.energy(v, b, problem.width) for law in laws]
    if len(ends) == 1:
        return ends[0]
    J, J_v, J_b, mass = (sum(part) for part in list(zip(*ends, strict=True))[:4])
    return Energy(J, J_v, J_b, mass, None)


def law_accuracy(problem: Problem, v: float, b: float, quantile: float | None) -> float:
    """Return the relative error of each value of `spectral_energy`, 0 for the whole law.

    Args:
        problem: defines the target and the class of matrices.
        v: noise variance (eigenvalue^2).
        b: eigenvalue threshold; 0 gives the whole law.
        quantile: eigenvalue at which the rank limit cuts the law; None if it does not act.
    """
    ends = problem.signed_targets(problem.target) if b > 0 else ()
    laws = (end.at_threshold(b) for end in ends)
    errors = (law.accuracy(v, at if quantile is None else quantile) for law, at in laws)
    return max(errors, default=0.0)


class EntryAverages(NamedTuple):
    """Averages over the entries of a matrix that is trained directly.

    Attributes:
        m: overlap with the target (eigenvalue^2).
        q: second moment (eigenvalue^2).
        V: response.
        V_squared: mean square of the response of an entry.
        prior: prior part of the free entropy.
    """

    m: float
    q: float
    V: float
    V_squared: float
    prior: float


@dataclass(frozen=True)
class DirectTraining:
    """Training of a symmetric or general matrix with a Frobenius penalty.

    The estimator is a linear shrinkage of each entry, without a threshold.
    """

    problem: Problem

    def denoised(self, conjugates: Conjugates) -> DenoisingSolution:
        """Solve the denoising problem; the target of the antisymmetric part is zero."""
        mh, qh, Vh = conjugates.mh, conjugates.qh, conjugates.Vh
        found = self.averages(mh, qh, Vh)
        overlaps = Overlaps(found.m, found.q, found.V)
        v, c = map(float, generated.direct_denoising(mh, qh, found.V))
        if antisymmetric := conjugates.antisymmetric:
            found = self.averages(0.0, *antisymmetric)
            overlaps = overlaps._replace(q_antisymmetric=found.q, V_antisymmetric=found.V)
        return DenoisingSolution(
            conjugates, DenoisingProblem(v, None, c, None, self.problem.target), overlaps
        )

    def averages(self, mh: float, qh: float, Vh: float) -> EntryAverages:
        """Return averages over the entries of the matrix, of its symmetric or antisymmetric part.

        Args:
            mh: conjugate of m, 0 for the antisymmetric part.
            qh: conjugate of q.
            Vh: conjugate of V.
        """
        target, lambda_ = self.problem.target, self.problem.lambda_
        entry = partial(generated.direct_overlaps, mh, qh, Vh)
        if not isinstance(target, CovarianceTarget):
            return EntryAverages(*map(float, entry(lambda_, target.q0)))
        products, shares, squares = target.entries
        noise, noisy = (entry(lambda_ / products, square) for square in (0.0, 1.0))
        return EntryAverages(  # each is linear in the square of the target
            *(
                float(np.sum(shares * one + squares * (other - one)))
                for one, other in zip(noise, noisy, strict=True)
            )
        )

    def free_entropy(self, at: DenoisingSolution, M: float) -> float:
        """Return (min L)/d^2, a sum over the symmetric and the antisymmetric part.

        Args:
            at: denoising solution.
            M: averaged Moreau envelope (loss).
        """
        parts = [(self.problem.alpha, M, *_symmetric(at))]
        if at.conjugates.antisymmetric:
            q, V = at.overlaps.q_antisymmetric, at.overlaps.V_antisymmetric
            parts.append((0.0, 0.0, 0.0, q, V, 0.0, *at.conjugates.antisymmetric))
        return sum(
            float(generated.direct_free_entropy(*part)) - self.averages(*part[5:]).prior
            for part in parts
        )

    def root_mean_squares(self, conjugates: Conjugates) -> tuple[float, float]:
        """Return the responses of entries of both parts, each the root of the mean square.

        Args:
            conjugates: conjugates of the order parameters.
        """
        parts = conjugates.antisymmetric
        symmetric = self.averages(conjugates.mh, conjugates.qh, conjugates.Vh)
        other = self.averages(0.0, *parts).V_squared if parts else 0.0
        return math.sqrt(symmetric.V_squared), math.sqrt(other)

    def denoising_error(self, at: DenoisingSolution) -> BoundedDifference:
        """Return ||S/c - S0||^2/d (eigenvalue^2) from the overlaps."""
        return _error_of_overlaps(self.problem.q0, at)

    def vanishes(self, conjugates: Conjugates) -> bool:
        """Return False: without a threshold, every signal is learned to some extent."""
        return False


@dataclass(frozen=True)
class LeadingFeatures:
    """Training of factors if leading features of the target are treated exactly.

    The estimator sees these features with effective eigenvalues, the strengths.
    """

    problem: Problem

    def denoised(self, conjugates: Conjugates) -> DenoisingSolution:
        """Solve the denoising problem for the effective target."""
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
        """Return (min L)/d^2, with the overlap of the effective target.

        Args:
            at: denoising solution.
            M: averaged Moreau envelope (loss).
        """
        s, weight = self.problem.features
        learned, strengths = np.array(at.overlaps.learned), np.array(at.conjugates.strengths)
        unseen = generated.unseen_overlap(learned, s, strengths, weight)
        overlaps = at.overlaps._replace(m=at.overlaps.m - float(np.sum(unseen)))
        return FactorisedTraining(self.problem).free_entropy(at._replace(overlaps=overlaps), M)

    def denoising_error(self, at: DenoisingSolution) -> BoundedDifference:
        """Return ||S/c - S0||^2/d (eigenvalue^2) from the overlaps with the true target."""
        return _error_of_overlaps(self.problem.q0, at)

    def vanishes(self, conjugates: Conjugates) -> bool:
        """Return whether S = 0 is a solution, given its conjugates."""
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


def estimator_of(problem: Problem) -> FactorisedTraining | DirectTraining | LeadingFeatures:
    """Return the estimator of a problem."""
    if problem.leading:
        return LeadingFeatures(problem)
    factorised = problem.parametrisation is Parametrisation.FACTORISED
    return FactorisedTraining(problem) if factorised else DirectTraining(problem)
