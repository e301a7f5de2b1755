"""Weak recovery: the sample ratio from which labels without the sign of the index tell anything.

The label is even in the index, as in phase retrieval, so that an estimator with overlap 0 learns
nothing: a target of zero mean and its negative fit alike. The best estimator leaves the overlap 0
where this state is unstable (Mondelli and Montanari, arXiv 1708.05932; Maillard et al., arXiv
2006.05228).
"""

from functools import cache

import sympy as sp

from derive.language.matrix import Kind
from derive.language.model import Model
from derive.language.notation import family, sym
from derive.language.step import Display, Step, scalar
from derive.passes.channel.visible import Block, blocks
from derive.passes.limits.bayes_optimal import matrix_noise

alpha, D, rho, q, q0 = sym("alpha D rho q q0")


@cache
def hides_sign(model: Model) -> bool:
    """Return whether labels tell every visible index up to its sign."""
    without_noise = model.channel.noise_on_label == 0 and not model.draws
    return without_noise and all(map(_is_even, blocks(model)))


def applies(model: Model) -> bool:
    """Return whether neither labels nor the class of the matrices tell the sign of the target."""
    return model.matrix.kind is not Kind.POSITIVE and hides_sign(model)


def _is_even(block: Block) -> bool:
    """Return whether a label has equal values at u and -u only.

    For u > 0 a number of it must rise or fall everywhere; SymPy knows the sign of its slope.
    """
    if block.size > 1:
        return False
    (u,), size = family("u", 1), sp.Symbol("u", positive=True)
    outward, inward = ([one.subs(u, side) for one in block.label] for side in (size, -size))
    even = all(sp.simplify(a - b) == 0 for a, b in zip(outward, inward, strict=True))
    slopes = (sp.simplify(sp.diff(one, size)) for one in outward)
    return even and any(slope.is_positive or slope.is_negative for slope in slopes)


def information() -> sp.Expr:
    """Return the mean squared score per unit of a label that hides the sign of the index z, to
    first order in the overlap q.

    The score is the slope of the logarithm of p(z) + p(-z) in the mean w of z, which has the
    variance q; it is odd in w.
    """
    z, w = sp.symbols("z w", real=True)
    density = sum(sp.exp(-((side * z - w) ** 2) / (2 * rho)) for side in (1, -1))
    slope = sp.simplify((sp.diff(density, w, 2) / density).subs(w, 0))  # of the score, at w = 0
    law = sp.exp(-(z**2) / (2 * rho)) / sp.sqrt(2 * sp.pi * rho)
    return sp.simplify(sp.integrate(sp.expand(slope**2) * law, (z, -sp.oo, sp.oo))) * q


def sample_ratio(model: Model) -> sp.Expr:
    """Return the sample ratio at which an infinitesimal overlap grows.

    D numbers with this information are as many linear measurements with the noise 1/information.
    At weak signal the best estimate of the target is linear: q = q0^2/(q0 + v).
    """
    noise = matrix_noise(model, 1 / information())
    learned = sp.limit(sp.cancel(q0**2 / (q0 + noise) / q), q, 0, "+")
    (ratio,) = sp.solve(sp.Eq(learned, 1), alpha)
    return sp.cancel(ratio)


def step(model: Model) -> Step:
    """Return the step of weak recovery."""
    return Step(
        "weak_recovery",
        "Weak recovery",
        r"A label tells the index up to its sign: its information about the target is proportional "
        r"to what is already known. An overlap of 0 is unstable for the best estimator from this "
        r"sample ratio on, for targets of zero mean.",
        (Display(r"\langle s^2\rangle", information()),),
        (
            scalar(
                "weak_recovery_ratio",
                "sample ratio of weak recovery",
                (q0, rho, D),
                r"\alpha_{\rm weak}",
                sample_ratio(model),
            ),
        ),
    )
