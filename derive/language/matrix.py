"""Class of the matrices S, and the penalty of one of their eigenvalues."""

import enum
from dataclasses import dataclass

import sympy as sp

from derive.language.errors import ModelError, require_exact
from derive.language.notation import sym


class Kind(enum.Enum):
    """Class of the matrices."""

    POSITIVE = "positive"  #: symmetric, no eigenvalue below zero: S = W W^T
    SYMMETRIC = "symmetric"  #: eigenvalues of either sign: S = W+ W+^T - W- W-^T
    GENERAL = "general"  #: any square matrix, by its singular values: S = Q K^T


@dataclass(frozen=True)
class Matrix:
    """Class of S, penalty of one eigenvalue of size s >= 0 in units of d, and rank of S over d.

    The penalty is `linear` s + `quadratic` s^2: weight decay on factors, a Frobenius term, or both.
    For a general matrix, s is a singular value.
    """

    kind: Kind
    linear: sp.Expr = sp.S.Zero
    quadratic: sp.Expr = sp.S.Zero
    rank_ratio: sp.Expr = sp.S.One

    def __post_init__(self) -> None:
        for name in ("linear", "quadratic", "rank_ratio"):
            value = sp.sympify(getattr(self, name))
            object.__setattr__(self, name, value)
            require_exact(f"matrix: {name}", value)
            if value.is_nonnegative is not True:
                raise ModelError(
                    f"matrix: {name} = {value} may be negative; use symbols of domain (0, inf) and "
                    "positive numbers"
                )
        if self.linear == 0 and self.quadratic == 0:
            raise ModelError(
                "matrix: no penalty, so that many matrices fit alike; give linear or quadratic a "
                "weight decay"
            )
        if self.rank_ratio == 0:
            raise ModelError(
                "matrix: rank_ratio = 0 leaves S = 0 only; give kappa, or 1 for any rank"
            )
        if self.linear == 0 and self.rank_ratio != 1:
            raise ModelError(
                f"matrix: rank_ratio = {self.rank_ratio} with a quadratic penalty alone, which is "
                "not trained by factors; write rank_ratio=1"
            )
        self._require_decay()

    def _require_decay(self) -> None:
        """Check the penalty.

        Raises:
            ModelError: it lacks the weight decay that commands set, or the threshold of positive
                matrices.
        """
        linear, quadratic, (decay,) = self.linear, self.quadratic, sym("lambda_")
        if quadratic == 0 and linear.subs(decay, 0) != 0:
            raise ModelError(
                f"matrix: linear = {linear} does not vanish with the weight decay lambda_; "
                "multiply it by lambda_"
            )
        if linear == 0 and self.kind is Kind.POSITIVE:
            raise ModelError(
                f"matrix: quadratic = {quadratic} without a linear part gives positive matrices "
                "no threshold of eigenvalues, which the derivation requires; "
                "add a linear weight decay, or use matrix kind SYMMETRIC"
            )
        if decay not in linear.free_symbols | quadratic.free_symbols:
            raise ModelError(
                f"matrix: linear = {linear} and quadratic = {quadratic} have no weight decay "
                "lambda_, "
                "which commands state as --lambda; multiply one of them by lambda_"
            )

    @property
    def settings(self) -> tuple[sp.Symbol, ...]:
        """Settings of the penalty and the rank: decays first, then the rank."""
        decays = (
            self.linear.free_symbols | self.quadratic.free_symbols
        ) - self.rank_ratio.free_symbols
        return (*sorted(decays, key=str), *sorted(self.rank_ratio.free_symbols, key=str))

    def cost(self, size: sp.Expr) -> sp.Expr:
        """Return the penalty of one eigenvalue of this size, in units of d."""
        return self.linear * size + self.quadratic * size**2
