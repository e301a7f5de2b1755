"""Spectral function of a target with a finite list of eigenvalues, or of any law with a known
Stieltjes transform.

With u = z - v g the subordination is g = G(u), where G is the Stieltjes transform of the target. u
+ v G(u) is the eigenvalue of Y that belongs to u; on Biane's curve, u and its conjugate belong to
the same one. Integrate by parts, for F a polynomial in z and K = int_0^g F dg at fixed u:

    int^{g_b} F dg = K(u_b, g_b) - int^{u_b} (dK/du) du,

The last integral is along a path in the upper half-plane that starts on the real axis beyond the
largest eigenvalue, where everything is real. The integrand is a polynomial in u and G(u), without
poles, logarithms or differences of close eigenvalues.

If a gap of the spectrum lies above b, the path may start in the gap. The part above the gap is a
closed contour around the eigenvalues of the target there, which is the sum of their residues, and
no terms cancel.
"""

from functools import cache

import sympy as sp

from derive.language.elementary import ImaginaryPart
from derive.language.notation import sym
from derive.language.step import Display, Function, Output, Step, outputs, require_zero, scalar
from derive.passes.spectral_function.rational_law import Spectral, spectral_integrands

b, g, u, v, t0, q0 = sym("b g u v t0 q0")
J, J_v, J_b, J_vv, J_bv, mass = sym("J J_v J_b J_vv J_bv mass")
s, x, weight, transform, spread = sym("s x weight transform spread")
slope_real, slope_imag = sym("slope_real slope_imag")


def position() -> sp.Expr:
    """Return the eigenvalue of Y that belongs to u: the inverse of the subordination u = z - v g,
    with z(g) and g = G(u).
    """
    z = sp.Symbol("z")
    (found,) = sp.solve(z - v * g - u, z)
    return found


def argument() -> sp.Expr:
    """Return u at an eigenvalue x of Y, by solving `position` for u."""
    (found,) = sp.solve(position() - x, u)
    return found


def position_slope() -> sp.Expr:
    """Return the slope of the position between two points u, u': 1 - v int dmu0/((u - s)(u' - s)).

    It is linear in the law, so that one eigenvalue suffices. For equal points it is dx/du. For
    conjugate points it is Im x/Im u, which vanishes on Biane's curve.
    """
    other, one = sp.Symbol("other"), weight / (u - s)
    at_u = position().subs(g, one)
    rise = (at_u - at_u.subs(u, other)) / (u - other)
    share = weight / ((u - s) * (other - s))
    slope = 1 - v * spread
    require_zero(rise - slope.subs(spread, share), "slope of the position between two points")
    require_zero(
        sp.diff(at_u, u) - slope.subs(spread, share.subs(other, u)), "slope of the position"
    )
    return slope


def curve_speed() -> sp.Expr:
    """Return dx/d Re u along Biane's curve, where x is real: dx = x'(u) (1 + i dy) d Re u
    determines the slope dy of the curve.
    """
    along = sp.Symbol("dy", real=True)
    velocity = sp.expand((slope_real + sp.I * slope_imag) * (1 + sp.I * along))
    (climb,) = sp.solve(sp.im(velocity), along)
    return sp.cancel(sp.re(velocity).subs(along, climb))


@cache
def primitives() -> Spectral:
    """Return K for J, its derivatives and the mass."""
    return Spectral(
        *(
            _over_gap(sp.integrate(sp.expand(F), (g, 0, g)))
            for F in spectral_integrands(position() - b)
        )
    )


@cache
def path_integrands() -> Spectral:
    """Return dK/du for J, its derivatives and the mass."""
    return Spectral(*(_over_gap(sp.diff(K, u)) for K in primitives()))


def strength_integrands() -> tuple[sp.Expr, sp.Expr]:
    """Return the integrands of dJ/ds and dJ_b/ds at fixed v and b, for an eigenvalue s of the
    target with weight `weight`.

    The path integral depends on the law through G(u) only, because F vanishes at the end of the
    path, where z = b.
    """
    pull = sp.diff(weight / (u - s), s)
    J_s, J_bs = (
        sp.factor(sp.diff(integrand, g)) * pull
        for integrand in (path_integrands().J, path_integrands().J_b)
    )
    return J_s, J_bs


def density_integrands() -> Spectral:
    """Return integrands along the real axis, after another integration by parts.

    They have one sign where the density is positive, up to a factor Re g in derivatives by v.
    """
    at_position = (F.subs(u, argument()) for F in spectral_integrands(position() - b))
    return Spectral(
        *(sp.factor(sp.diff(sp.integrate(sp.expand(F), (g, 0, g)), x)) for F in at_position)
    )


def residues() -> Spectral:
    """Return the residues of dK/du at one eigenvalue s of the target, where G is a pole plus the
    Stieltjes transform of the others.

    They are polynomials in weights and in the distance from b of the outlier of vanishing weight,
    s + v g0(s).
    """
    offset, distance = sp.symbols("offset distance")
    near = (
        weight / offset + transform - spread * offset
    )  # higher orders do not contribute to the residue of a cube
    forms = (sp.expand(form.subs({g: near, u: s + offset})) for form in path_integrands())
    inside = (form.coeff(offset, -1).subs(s, distance + b - v * transform) for form in forms)
    collected = (sp.collect(sp.expand(form), (distance, weight)) for form in inside)
    return Spectral(*(form.subs(distance, s + v * transform - b) for form in collected))


def _over_gap(expression: sp.Expr) -> sp.Expr:
    """Return a polynomial in g and the small difference u - b, which is not expanded."""
    gap = sp.Symbol("gap")
    return sp.collect(sp.expand(expression.subs(u, gap + b)), g).subs(gap, u - b)


@cache
def complement() -> Spectral:
    """Return J, its derivatives and the mass as the whole law minus the mirrored law at -b, which
    is the part below b.

    Far below the top of the spectrum this is a sum of fewer and smaller terms.
    """
    whole = sp.expand((t0 - b) ** 2 + (q0 + v - t0**2))  # mean and variance of the noisy law

    def less(mirrored: sp.Expr, *by: sp.Symbol) -> sp.Expr:
        slope = sp.diff(whole, *by) if by else whole
        return slope - (-1) ** by.count(b) * mirrored  # the mirrored law is taken at -b

    return Spectral(
        less(J),
        less(J_v, v),
        less(J_b, b),
        less(J_vv, v, v),
        less(J_bv, b, v),
        less(2 * mass, b, b) / 2,
    )


@cache
def step() -> Step:
    """Return the step for a finite list of eigenvalues."""
    J_s, J_bs = strength_integrands()
    below = complement()._asdict()
    curvature = below.pop("J_vv")
    return Step(
        "finite_spectrum",
        "Spectral function of a finite list of eigenvalues",
        r"With $u=z-vg$ and $g=G(u)$, the Stieltjes transform of the target: "
        r"$\int^{g_b}F\,dg=K(u_b,g_b)-\int^{u_b}\partial_uK\,du$ "
        r"along a path in the upper half-plane from beyond the largest eigenvalue; "
        r"$J=-\tfrac1\pi\operatorname{Im}$ of it with "
        r"$F=(z-b)^3/3$. On Biane's curve, where $x$ is real off the axis, it grows with "
        r"$\operatorname{Re}u$ at the rate "
        r"$\dot x$.",
        (
            Display("x(u)", position()),
            Display("x'(u)", position_slope()),
            Display("K_J", primitives().J),
            Display(r"\partial_uK_J", path_integrands().J),
        ),
        (
            scalar(
                "noisy_position",
                "eigenvalue of Y at the parameter u, g = G(u)",
                (u, g, v),
                "x",
                position(),
            ),
            scalar(
                "subordinate", "argument u of the target's transform", (x, g, v), "u", argument()
            ),
            scalar(
                "noisy_slope",
                "slope of the position between u and u', from the integral of 1/((u - s)(u' - s))",
                (spread, v),
                "x'(u)",
                position_slope(),
            ),
            scalar(
                "curve_speed",
                "dx/d Re u along Biane's curve",
                (slope_real, slope_imag),
                r"\dot x",
                curve_speed(),
            ),
            Function(
                "finite_primitives",
                "K at the physical point u, g = G(u)",
                (u, g, v, b),
                outputs(primitives()._asdict(), "K_{{{}}}"),
            ),
            Function(
                "finite_integrands",
                "dK/du on the path",
                (u, g, v, b),
                outputs(path_integrands()._asdict(), r"\partial_uK_{{{}}}"),
            ),
            Function(
                "strength_integrands",
                "derivatives of J and J_b, differentiated by an eigenvalue of the target",
                (u, g, v, b, s, weight),
                (
                    Output("J_s", r"\partial_{s_0}\partial_uK_{J}", J_s),
                    Output("J_bs", r"\partial_{s_0}\partial_uK_{J_b}", J_bs),
                ),
            ),
            Function(
                "density_integrands",
                "the same along the real axis",
                (x, g, b),
                outputs(density_integrands()._asdict(), r"\partial_xK_{{{}}}"),
            ),
            Function(
                "finite_residues",
                "what a target eigenvalue above a gap adds to J, its derivatives and the mass",
                (weight, s, transform, spread, v, b),
                outputs(residues()._asdict(), r"\operatorname{{Res}}_{{{}}}"),
            ),
            Function(
                "complement",
                "J, its derivatives and the mass above b from the mirrored law at -b",
                (J, J_v, J_b, J_bv, mass, v, b, t0, q0),
                outputs(below),
            ),
            scalar(
                "complement_curvature",
                "J_vv above b from the mirrored law at -b",
                (J_vv,),
                "J_vv",
                curvature,
            ),
            scalar(
                "finite_value",
                "value of K minus its path integral",
                (g,),
                "J",
                -ImaginaryPart(g) / sp.pi,
            ),
        ),
    )
