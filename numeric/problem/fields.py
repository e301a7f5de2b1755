"""Gaussian fields of a sample: the parts of its index seen by the student and by the label."""

from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from numeric.model import float64 as physics
from numeric.problem.overlaps import Overlaps
from numeric.problem.problem import Problem

Array = NDArray[np.float64]
NO_FEATURES = np.zeros(0)


class Fields(NamedTuple):
    """Coefficients of the fields of a sample in independent Gaussians gamma.

    They are numbers, or of shape (axes,) for directions of the visible index of which each has its
    own.

    The student field is teacher gamma1 + independent gamma2, the target field is target gamma1,
    and the antisymmetric field is odd gamma_odd. A leading feature treated exactly adds the
    products z_a z_b - delta_ab of one Gaussian per token, multiplied by its share in the student
    and in the target; both shares have shape (features,).
    """

    teacher: float | Array
    independent: float | Array
    target: float | Array
    odd: float
    student_features: Array = NO_FEATURES
    target_features: Array = NO_FEATURES

    @classmethod
    def of(cls, m: float | Array, q: float | Array, rho: float | Array, q_odd: float = 0.0) -> Self:
        """Return the fields at given overlaps.

        Args:
            m: overlap with the target (eigenvalue^2).
            q: self-overlap of the student (eigenvalue^2).
            rho: second moment of the target including label noise (eigenvalue^2).
            q_odd: self-overlap of the antisymmetric part (eigenvalue^2).
        """
        teacher, independent, target = physics.field_coefficients(m, q, rho)
        return cls(teacher, independent, target, float(np.sqrt(q_odd)))


class Split(NamedTuple):
    """Overlaps (m, q, rho) without the leading features, and the shares of these features.

    The shares in the student and target indices have shape (features,).
    """

    m: float
    q: float
    rho: float
    student: Array
    target: Array

    def fields(self, q_odd: float = 0.0) -> Fields:
        """Return the fields of a sample; `q_odd` is the antisymmetric self-overlap."""
        gaussian = Fields.of(self.m, self.q, self.rho, q_odd)
        return gaussian._replace(student_features=self.student, target_features=self.target)


def split(overlaps: Overlaps, problem: Problem) -> Split:
    """Split the overlaps into the Gaussian part and the leading features.

    Args:
        overlaps: order parameters of the student.
        problem: its target defines the leading features, its noise enters rho.
    """
    (s, weight), learned = problem.features, np.array(overlaps.learned)
    parts = physics.leading_parts(learned, s, weight)
    m, q, rho = (
        float(whole - np.sum(part))
        for whole, part in zip((overlaps.m, overlaps.q, problem.rho), parts, strict=True)
    )
    return Split(
        m, q, rho, physics.leading_share(learned, weight), physics.leading_share(s, weight)
    )
