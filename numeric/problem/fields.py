"""The fields of a sample: what of its index the student and the label see."""

from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from numeric.model import float64 as physics
from numeric.problem.overlaps import Overlaps
from numeric.problem.problem import Problem

Array = NDArray[np.float64]
NOTHING = np.zeros(0)


class Fields(NamedTuple):
    """Student field teacher gamma1 + independent gamma2, target field target gamma1, antisymmetric field odd gamma_odd.

    To these a leading feature kept exactly adds its products z_a z_b - delta_ab of one Gaussian per token, times its share in the
    student and in the target, each of shape (features,).
    """

    teacher: float
    independent: float
    target: float
    odd: float
    student_features: Array = NOTHING
    target_features: Array = NOTHING

    @classmethod
    def of(cls, m: float, q: float, rho: float, q_odd: float = 0.0) -> Self:
        """Fields of these overlaps; rho is the second moment of the target with its label noise."""
        teacher, independent, target = map(float, physics.field_coefficients(m, q, rho))
        return cls(teacher, independent, target, float(np.sqrt(q_odd)))


class Split(NamedTuple):
    """Overlaps (m, q, rho) of all but the leading features, and the shares that these have in the indices, shape (features,)."""

    m: float
    q: float
    rho: float
    student: Array
    target: Array

    def fields(self, q_odd: float = 0.0) -> Fields:
        """The fields of a sample."""
        gaussian = Fields.of(self.m, self.q, self.rho, q_odd)
        return gaussian._replace(student_features=self.student, target_features=self.target)


def split(overlaps: Overlaps, problem: Problem) -> Split:
    """What is Gaussian and what is not; rho with the label noise."""
    (s, weight), learned = problem.features, np.array(overlaps.learned)
    parts = physics.leading_parts(learned, s, weight)
    m, q, rho = (
        float(whole - np.sum(part))
        for whole, part in zip((overlaps.m, overlaps.q, problem.rho), parts, strict=True)
    )
    return Split(
        m, q, rho, physics.leading_share(learned, weight), physics.leading_share(s, weight)
    )
