"""Order parameters of the student, by name."""

from typing import NamedTuple


class Overlaps(NamedTuple):
    """Order parameters of the student; `antisymmetric` ones are those of the antisymmetric part of a general matrix.

    `learned` are the parts u^T S u along the leading features that are kept exactly, ascending in the target's eigenvalues.
    """

    m: float
    q: float
    V: float
    q_antisymmetric: float = 0.0
    V_antisymmetric: float = 0.0
    learned: tuple[float, ...] = ()
