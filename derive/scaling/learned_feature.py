"""Contribution of one learned feature, an outlier of the noisy law, to the risk and to J_v (theory
note, section 8).
"""

from functools import cache
from typing import NamedTuple

import sympy as sp

from derive.language.errors import DerivationError
from derive.language.model import Model
from derive.language.notation import sym
from derive.passes.free_entropy.saddle_point import reduced
from derive.passes.spectral_function.outliers import outlier

m, q, v, b, c, J, J_v, J_b, s, transform = sym("m q v b c J J_v J_b s transform")


class Feature(NamedTuple):
    """Contributions of one learned feature s to the risk and to J_v, per 1/d."""

    risk: sp.Expr
    J_v: sp.Expr


@cache
def learned_feature(model: Model) -> Feature:
    """Return the contributions of a feature that is an outlier of Y at x = s + v/s; all other
    features are far smaller.
    """
    position = outlier()[0].subs(transform, 1 / s)
    energy = (position - b) ** 2
    own = {J: energy, J_v: sp.diff(energy, v), J_b: sp.diff(energy, b), c: 1}
    order = reduced(model)
    excess = sp.expand((s**2 - 2 * order[m] + order[q]).subs(own))
    # The size is that of the positive terms if the sum cannot vanish: it is definite as a quadratic
    # form in b, because s^2 > v.
    discriminant = sp.expand(sp.discriminant(excess, b)).subs(
        s, sp.sqrt(v * (1 + sp.Symbol("x", positive=True)))
    )
    if not sp.simplify(discriminant).is_negative:
        raise DerivationError(f"the error of a learned feature {excess} may vanish")
    return Feature(excess, sp.expand(own[J_v]))
