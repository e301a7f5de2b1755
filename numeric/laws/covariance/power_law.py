"""Power laws of the target and of the covariance of the tokens on common eigenvectors, of any
dimension.
"""

from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, Self

import numpy as np

from numeric.laws.covariance.aligned import AlignedCovariance
from numeric.laws.power_law import PER_OCTAVE, blocks
from numeric.maths.domain import count, positive, require


@dataclass(frozen=True)
class PowerLawCovariance(AlignedCovariance):
    """Target s_k ~ k^-gamma and covariance c_k ~ k^-a, k = 1..dim, in blocks for large k.

    A block has the mean square of the whitened target and the mean of the covariance (see
    `PowerLaw`).

    Args:
        gamma: exponent of the target.
        a: exponent of the covariance.
        dim: number d of directions.
        second_moment: second moment of the whitened target, eigenvalue^2.
        per_octave: number of blocks for each factor 2 in k, beyond the leading directions.

    Raises:
        InvalidParameter: an argument is outside its domain.

    >>> from numeric import PowerLawCovariance
    >>> target = PowerLawCovariance(gamma=0.5, a=0.5, dim=4)
    >>> [round(c, 3) for c in target.covariance], round(target.q0, 12)
    ([1.437, 1.016, 0.829, 0.718], 1.0)
    """

    eigenvalues: tuple[Any, ...] = field(init=False, repr=False, compare=False)
    covariance: tuple[Any, ...] = field(init=False, repr=False, compare=False)
    weights: tuple[Any, ...] = field(init=False, repr=False, compare=False)
    gamma: float
    a: float
    dim: int
    second_moment: float = 1.0
    per_octave: int = PER_OCTAVE

    def __post_init__(self) -> None:
        for name in ("gamma", "a", "second_moment"):
            object.__setattr__(self, name, positive(name, getattr(self, name)))
        for name in ("dim", "per_octave"):
            object.__setattr__(self, name, count(name, getattr(self, name)))
        counts, squares = blocks(self.gamma + self.a, self.dim, self.per_octave)
        weights, covariance = counts / self.dim, blocks(self.a / 2, self.dim, self.per_octave)[1]
        covariance = covariance / (weights @ covariance)
        whitened = np.sqrt(squares * (self.second_moment / (weights @ squares)))
        rule = "must be of moderate size: the covariance leaves double precision"
        require(bool(np.all(covariance > 0)), "a", self.a, rule, "use a smaller exponent")
        shares = [Fraction(int(number), self.dim) for number in counts]
        for name, values in (
            ("eigenvalues", tuple((whitened / covariance).tolist())),
            ("covariance", tuple(covariance.tolist())),
            ("weights", tuple(shares)),
        ):
            object.__setattr__(self, name, values)
        super().__post_init__()

    def scaled(self, factor: float) -> Self:
        """Return the law of `factor` times the target."""
        return replace(self, second_moment=factor**2 * self.second_moment)

    def __repr__(self) -> str:
        """Return the exponents, the dimension and the second moment."""
        parts = f"gamma={self.gamma!r}, a={self.a!r}, dim={self.dim!r}"
        return f"PowerLawCovariance({parts}, second_moment={self.second_moment!r})"
