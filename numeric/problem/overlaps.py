"""Order parameters of the student as named values."""

from typing import NamedTuple


class Overlaps(NamedTuple):
    """Order parameters of the student.

    Attributes:
        m: overlap tr(S S0)/d with the target (eigenvalue^2).
        q: self-overlap tr(S^2)/d (eigenvalue^2).
        V: variance (eigenvalue^2/loss).
        q_antisymmetric: self-overlap of the antisymmetric part of a general matrix.
        V_antisymmetric: variance of this part.
        learned: components u^T S u along leading features treated exactly, in ascending order of
            their target eigenvalues.
        t: overlap tr(C S)/tr(C^2) with the covariance of tokens (eigenvalue), 0 if it is not needed
            because tokens have Gaussian norms.
    """

    m: float
    q: float
    V: float
    q_antisymmetric: float = 0.0
    V_antisymmetric: float = 0.0
    learned: tuple[float, ...] = ()
    t: float = 0.0
