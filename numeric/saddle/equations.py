"""The saddle-point equations as a map of the conjugates (theory note, section 3)."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from numeric.channel.averages import Averages
from numeric.channel.interfaces import ChannelRule
from numeric.maths.domain import OutsideDomain
from numeric.maths.fixed_point import Vector
from numeric.model import float64 as generated
from numeric.problem.conjugates import AntisymmetricConjugates, Conjugates
from numeric.problem.overlaps import Overlaps
from numeric.problem.problem import Parametrisation, Problem
from numeric.problem.solution import quantities_of
from numeric.saddle.estimator import DenoisingSolution, estimator_of


@lru_cache(maxsize=4)  # the last average of an iteration is needed again for the quantities
def _average(rule: ChannelRule, overlaps: Overlaps, problem: Problem) -> Averages:
    return rule.average(overlaps, problem)


@lru_cache(maxsize=4)  # needed for the start of a search and for the scale of losses
def _unlearned(rule: ChannelRule, problem: Problem) -> Averages:
    return rule.unlearned(problem)


@dataclass(frozen=True)
class SaddleMap:
    """Map F of the logarithms of the conjugates, whose fixed points are solutions."""

    problem: Problem
    rule: ChannelRule

    def averages(self, at: DenoisingSolution) -> Averages:
        """Return the channel averages at the overlaps of a denoising solution."""
        if at.overlaps.q == 0:
            return self.unlearned_averages()
        return _average(self.rule, at.overlaps, self.problem)

    def conjugates(self, averages: Averages) -> Conjugates:
        """Return the conjugates of channel averages, columns of shape (replicates,).

        They are not positive if an average has the wrong sign.
        """
        alpha = self.problem.alpha
        mh, qh, Vh = generated.conjugates(alpha, averages.dM_dm, averages.dM_dq, averages.dM_dV)
        antisymmetric = None
        if self.problem.parametrisation is Parametrisation.GENERAL:
            _, *others = generated.conjugates(
                alpha, 0.0, averages.dM_dq_antisymmetric, averages.dM_dV_antisymmetric
            )
            antisymmetric = AntisymmetricConjugates(*others)
        th = None
        if self.problem.has_norms:
            th = self.problem.generated.norm_conjugate(alpha, averages.dM_dt)
        return Conjugates(mh, qh, Vh, antisymmetric, tuple(averages.strengths.T), th)

    def unlearned_averages(self) -> Averages:
        """Return the channel averages at S = 0."""
        return _unlearned(self.rule, self.problem)

    def unlearned(self) -> Vector:
        """Return the logarithms of the conjugates at S = 0, from which a search starts.

        If the loss is even in the index, as in phase retrieval, S = 0 tells nothing about the sign
        of the target: the conjugates are those of a student that knows half of it.
        """
        averages = self.unlearned_averages().mean()
        if self.is_even:
            half = self.problem.q0 / 2
            V = self.problem.q0 / float(averages.test_error[0])
            averages = _average(self.rule, Overlaps(half, half, V), self.problem).mean()
        return self.start(averages)

    def start(self, averages: Averages) -> Vector:
        """Return the logarithms of the conjugates of averages at S = 0, with Vh of unit gain if the
        loss is linear there.
        """
        found = self.conjugates(averages)
        if np.all(found.Vh == 0):
            found = found._replace(Vh=found.mh)
        return found.pack()[0]

    @property
    def is_even(self) -> bool:
        """True if the loss is even in the index of the student: S and -S fit alike."""
        return bool(np.all(self.unlearned_averages().dM_dm == 0))

    def image(self, at: DenoisingSolution) -> Vector:
        """Return the logarithms of the conjugates after one application of the map."""
        return self.conjugates(self.averages(at).mean()).pack()[0]

    def denoised(self, x: Vector) -> DenoisingSolution:
        """Solve the denoising problem at conjugates exp(x)."""
        return estimator_of(self.problem).denoised(Conjugates.unpack(x, self.problem))

    def __call__(self, x: Vector) -> Vector:
        """Apply the map; NaN if the channel average does not exist or is not resolved."""
        try:
            return self.image(self.denoised(x))
        except OutsideDomain:
            return np.full_like(x, np.nan)

    def quantities(self, at: DenoisingSolution, averages: Averages) -> Vector:
        """Return the values of `quantities_of` the problem, shape (replicates, quantities).

        Args:
            at: denoising solution.
            averages: channel averages at its overlaps.
        """
        estimator = estimator_of(self.problem)
        conjugates, denoising, overlaps = at.conjugates, at.denoising, at.overlaps
        fixed = (
            *(overlaps.m, overlaps.q, overlaps.V, conjugates.mh, conjugates.qh, conjugates.Vh),
            *(np.sqrt(denoising.v), np.nan if denoising.b is None else denoising.b, denoising.c),
        )
        estimation = generated.estimation_error(
            self.problem.q0, overlaps.m, overlaps.q + overlaps.q_antisymmetric
        )
        unit_gain = estimator.denoising_error(at).value
        rows = [
            [*fixed, train, test, estimation, unit_gain, estimator.free_entropy(at, M)]
            for M, train, test in zip(
                averages.M, averages.train_error, averages.test_error, strict=True
            )
        ]
        if self.problem.has_vocabulary:
            of_vocabulary = averages.vocabulary_test_error
            rows = [[*row, error] for row, error in zip(rows, of_vocabulary, strict=True)]
        if names := self.problem.label_quantities:
            # Models without classes do not load this module.
            from numeric.channel.classification import classification

            figures = classification(self.problem, overlaps)
            rows = [[*row, *(getattr(figures, name) for name in names)] for row in rows]
        return np.array(rows, dtype=float)

    def sampling_errors(self, at: DenoisingSolution) -> Vector:
        """Return errors of the figures of classification by sampling, shape (quantities,); 0 for
        the other quantities.

        Args:
            at: denoising solution.
        """
        errors = dict.fromkeys(quantities_of(self.problem), 0.0)
        if names := self.problem.label_quantities:
            from numeric.channel.classification import sampling_errors

            found = sampling_errors(self.problem, at.overlaps)
            errors |= {name: getattr(found, name) for name in names}
        return np.array(list(errors.values()))
