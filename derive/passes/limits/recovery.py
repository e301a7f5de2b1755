"""Perfect recovery of the target from noise-free labels at lambda -> 0 (theory note, section 5)."""

from collections.abc import Iterable, Iterator
from functools import cache
from typing import NamedTuple

import sympy as sp

from derive.language.errors import DerivationError
from derive.language.matrix import Kind
from derive.language.model import Model
from derive.language.notation import sym
from derive.language.step import Display, Step, require_zero, scalar
from derive.language.target import Target
from derive.passes.free_entropy.saddle_point import reduced
from derive.passes.limits.zero_decay import weak_regularisation
from derive.passes.spectral_function.rank_limit import rank_limited
from derive.passes.spectral_function.rational_law import Antiderivative, antiderivatives, moments
from derive.passes.spectral_function.semicircle import energy_above

alpha, beta, beta0, D, rho, m, q, V, kappa = sym("alpha beta beta0 D rho m q V kappa")
v, b, c, delta, g, theta, zero_mass, Q = sym("v b c delta g theta zero_mass Q")
J, J_v, J_b, j2, j2_slope = sym("J J_v J_b j2 j2_slope")


def learned_energy(model: Model) -> tuple[sp.Expr, ...]:
    """Return `small_noise_energy` of all learned eigenvalues: above b, and below -b if eigenvalues
    have either sign.
    """
    target = model.target
    ends = (target,) if model.matrix.kind is Kind.POSITIVE else (target, target.mirrored())
    return tuple(sp.Add(*orders) for orders in zip(*map(small_noise_energy, ends), strict=True))


def small_noise_energy(target: Target) -> tuple[sp.Expr, ...]:
    """Return the coefficients of delta^0, delta^1, delta^2 of J(delta^2, tau delta) for delta -> 0
    at fixed tau = b/delta, in theta.

    The zero eigenvalues of the target, of mass z0 > 0, spread into a semicircle. With g = G/delta
    the physical root obeys z0/G + G = tau, that is G = sqrt(z0) exp(-i theta), tau = 2 sqrt(z0)
    cos(theta).
    """
    integral, *_ = antiderivatives(target)  # of J
    waves = _coefficients_by_order(_expanded_parts(integral))
    # arg(-g) = arg g + pi in the half-planes of the angles
    angles = [(0 if sp.diff(base, g) == 1 else sp.pi) - theta for base in integral.logarithms]
    turns = [
        _coefficients_by_order([(coefficient, sp.Integer(1))])
        for coefficient in integral.logarithms.values()
    ]

    def imaginary(order: int) -> sp.Expr:
        of_waves = (-value * sp.sin(k * theta) for k, value in waves[order].items())
        of_turns = (
            angle * value * sp.cos(k * theta)
            for angle, orders in zip(angles, turns, strict=True)
            for k, value in orders[order].items()
        )
        return sp.Add(*of_waves, *of_turns)

    return tuple(
        sp.expand(-imaginary(order) / sp.pi).subs(_ROOT, sp.sqrt(zero_mass)) for order in range(3)
    )


_ROOT = sp.Symbol("root_mass", positive=True)  # sqrt(z0)
_PHASE, _BACK = sp.symbols("phase back")  # exp(-i theta) and its inverse
_LARGE = sp.Symbol("large", positive=True)  # 1/delta
_INVERSE_G = _BACK * delta / _ROOT
_SCALED = {g: _ROOT * _PHASE * _LARGE, v: delta**2, b: _ROOT * (_PHASE + _BACK) * delta}


def _relative_remainder(base: sp.Expr) -> sp.Expr:
    """Return 1 - base/(the part of base that is linear in g), of order delta."""
    return -base.subs(g, 0) / sp.diff(base, g) * _INVERSE_G


def _inverse(base: sp.Expr) -> sp.Expr:
    """Return 1/base up to terms of order delta^4."""
    return (
        _INVERSE_G
        / sp.diff(base, g)
        * (1 + _relative_remainder(base) + _relative_remainder(base) ** 2)
    )


def _expanded_parts(integral: Antiderivative) -> Iterator[tuple[sp.Expr, sp.Expr]]:
    """Yield products whose sum is the antiderivative minus the logarithms of the linear parts, up
    to terms of order delta^3.
    """
    for term in sp.Add.make_args(integral.rational):
        coefficient, power = term.as_independent(g, as_Add=False)
        base, exponent = power.as_base_exp()
        yield coefficient, base**exponent if exponent > 0 else _inverse(base) ** -exponent
    for base, coefficient in integral.logarithms.items():
        yield (
            coefficient,
            -_relative_remainder(base) - _relative_remainder(base) ** 2 / 2,
        )  # log(1 - rest)


def _coefficients_by_order(
    products: Iterable[tuple[sp.Expr, sp.Expr]],
) -> dict[int, dict[int, sp.Expr]]:
    """Return the coefficients of a sum of products, by power of delta up to the second, then by
    power of the phase.

    First factors are polynomials in b and v. Their coefficients, functions of the law, are not
    expanded.
    """
    found: dict[int, dict[int, sp.Expr]] = {order: {} for order in range(3)}
    for coefficient, factor in products:
        for (i, j), value in sp.Poly(coefficient, b, v).terms():
            scaled = sp.Poly((b**i * v**j * factor).subs(_SCALED), _PHASE, _BACK, delta, _LARGE)
            for (phase, back, small, large), part in scaled.terms():
                if small - large <= 2:
                    terms = found[small - large]
                    terms[phase - back] = terms.get(phase - back, 0) + value * part
    return {
        order: {k: sp.cancel(value) for k, value in terms.items()} for order, terms in found.items()
    }


def threshold_in_noise() -> sp.Expr:
    """Return tau = b/delta in terms of the angle at which it cuts the semicircle of the zero
    eigenvalues.
    """
    return 2 * sp.sqrt(zero_mass) * sp.cos(theta)


def in_zero_mass(model: Model, expression: sp.Expr) -> sp.Expr:
    """Return an expression that depends on the target law through its zero mass only, in terms of
    the zero mass.

    Args:
        model: the model.
        expression: the expression.
    """
    parameter = min(model.target.zero_mass.free_symbols, key=str)
    (solution,) = sp.solve(model.target.zero_mass - zero_mass, parameter)
    result = sp.expand(sp.cancel(sp.expand(expression.subs(parameter, solution))))
    if stray := result.free_symbols & set(model.target.parameters):
        raise DerivationError(
            f"recovery depends on {sorted(map(str, stray))}, not on the zero mass alone"
        )
    return result


def in_sine_and_cosine(expression: sp.Expr) -> sp.Expr:
    """Return a trigonometric polynomial in theta with sines of at most first power."""
    sine, cosine = sp.symbols("S C", positive=True)
    plain = sp.expand(sp.expand_trig(sp.expand(expression))).subs(
        {sp.sin(theta): sine, sp.cos(theta): cosine}
    )
    return sp.expand(sp.rem(plain, sine**2 + cosine**2 - 1, sine)).subs(
        {sine: sp.sin(theta), cosine: sp.cos(theta)}
    )


def derivative_in_tau(expression: sp.Expr) -> sp.Expr:
    """Return d expression/d tau = (d expression/d theta)/(d tau/d theta), with the sine of d tau/d
    theta divided out.
    """
    sine, cosine = sp.symbols("S C", positive=True)
    slope = in_sine_and_cosine(sp.diff(expression, theta)).subs(
        {sp.sin(theta): sine, sp.cos(theta): cosine}
    )
    even, odd = slope.coeff(sine, 0), slope.coeff(sine, 1)
    quotient, rest = sp.div(even, 1 - cosine**2, cosine)  # even = sin^2 quotient
    require_zero(rest, "d/dtheta vanishes with the sine at the ends of the semicircle")
    divided = (odd + sine * quotient).subs({sine: sp.sin(theta), cosine: sp.cos(theta)})
    return sp.expand(-divided / (2 * sp.sqrt(zero_mass)))


def recovery_odds(slope: sp.Expr) -> sp.Expr:
    """Return the value of (1 - z0)/z0 at which theta makes the delta^2 coefficient of J stationary
    (a minimum, so that alpha is least).

    The derivative in tau is linear in these odds, up to a factor.
    """
    odds = sp.Symbol("odds", positive=True)
    sine, cosine = sp.symbols("S C", positive=True)
    linear = sp.expand(slope / sp.sqrt(zero_mass)).subs(
        {sp.sin(theta): sine, sp.cos(theta): cosine}
    )
    (solution,) = sp.solve(linear.subs(zero_mass, 1 / (1 + odds)), odds)
    return sp.cancel(solution).subs({sine: sp.sin(theta), cosine: sp.cos(theta)})


def full_rank_energy(model: Model) -> sp.Expr:
    """Return the least delta^2 coefficient if the target has no zero eigenvalue: no eigenvalue is
    cut, J = E (|x| - b)^2.
    """
    size, (_, second) = (
        sp.Symbol("size"),
        moments(model.target),
    )  # E |x|, which the noise changes at order delta^2
    tau = sp.Symbol("tau", real=True)
    energy = sp.expand(
        (second + v - 2 * b * size + b**2).subs({v: delta**2, b: tau * delta})
    ).coeff(delta, 2)
    (best,) = sp.solve(sp.diff(energy, tau), tau)
    return energy.subs(tau, best)


def recovery_ratio(model: Model) -> sp.Expr:
    """Return alpha at which the reduced equations hold for J = q0 - 2 b t0 + v j2(b/sqrt(v)), c = 1
    and dj2/dtau = 0.

    Only j2 and its slope at tau enter, so that j2 is replaced by its tangent there.
    """
    tau, slope, second, size = sp.symbols("tau slope q0 t0")
    order, limit, (stiffness,) = reduced(model), weak_regularisation(model), sym("Vh")
    noise_free = {beta: beta0, rho: second, m: order[m], q: order[q]}

    def at_tau(expression: sp.Expr) -> sp.Expr:
        expansion = second - 2 * b * size + v * (j2 + slope * (b / sp.sqrt(v) - tau))
        values = {
            J: expansion,
            J_v: sp.diff(expansion, v),
            J_b: sp.diff(expansion, b),
            c: sp.Integer(1),
        }
        return sp.expand(expression.xreplace(values).subs(b, tau * sp.sqrt(v)))

    (ratio,) = sp.solve(at_tau(v - limit[v].subs(noise_free)), alpha)
    require_zero(sp.diff(ratio, slope), "noise and error balance at every tau")
    stiff = at_tau(order[V] * stiffness - limit[V]).subs(alpha, ratio)
    require_zero(stiff.subs(slope, 0), "dj2/dtau = 0 solves the equation of V")
    return ratio


def check_against_semicircle(energy: sp.Expr, ends: int) -> None:
    """Check that j2 is (1 - z0)(1 + z0 + tau^2) from the features, plus z0^2 N from each learned
    end of the semicircle of the zero eigenvalues.

    N, the energy of the unit semicircle above 2 cos(theta), is derived independently
    (passes/spectral_function/semicircle.py).

    Args:
        energy: j2.
        ends: number of learned ends.
    """
    above, tau = energy_above().J, threshold_in_noise()
    (angle,) = above.free_symbols
    features = (1 - zero_mass) * (1 + zero_mass + tau**2)
    rest = in_sine_and_cosine(energy - features - ends * zero_mass**2 * above.subs(angle, theta))
    require_zero(sp.simplify(rest), "energy at recovery by features and semicircle")


class Recovery(NamedTuple):
    """Perfect recovery in theta, the angle at which tau = b/delta cuts the semicircle of the zero
    eigenvalues.
    """

    energy: sp.Expr  # j2; its minimum over tau gives alpha_rec
    slope: sp.Expr  # dj2/dtau
    mass: sp.Expr  # fraction of the eigenvalues above tau, (1/2) d^2 j2/dtau^2
    odds: sp.Expr  # (1 - z0)/z0 for which theta is stationary
    ratio: sp.Expr  # alpha_rec in terms of the least j2
    full_rank: sp.Expr  # least j2 without zero eigenvalues


@cache
def recovery(model: Model) -> Recovery:
    """Return perfect recovery: noise-free labels, beta = beta0, delta -> 0 at fixed tau = b/delta.

    The expansion J = q0 - 2 b t0 + v j2(b/delta), with t0 the mean absolute eigenvalue, turns the
    reduced equations into dj2/dtau = 0 and a ratio proportional to j2.
    """
    constant, linear, quadratic = learned_energy(model)
    (mean, second), positive = moments(model.target), model.matrix.kind is Kind.POSITIVE
    size = sp.cancel(-linear / (2 * threshold_in_noise()))
    require_zero(constant - second, "J at delta = 0 is the second moment")
    require_zero(
        size - mean if positive else sp.diff(size, theta),
        "J at first order is the mean size of an eigenvalue",
    )
    energy = in_zero_mass(model, quadratic)
    check_against_semicircle(energy, ends=1 if positive else 2)
    slope = derivative_in_tau(energy)
    return Recovery(
        energy=energy,
        slope=slope,
        mass=sp.expand(derivative_in_tau(slope) / 2),
        odds=recovery_odds(slope),
        ratio=recovery_ratio(model),
        full_rank=full_rank_energy(model),
    )


def rank_limited_recovery() -> sp.Expr:
    """Return the least j2 over tau if the rank limit cuts the noise above the minimum of j2, from
    j2 and its slope at the cut.

    Below the cut tau_Q, the rank-limited j2 is j2 - x dj2/dtau + x^2 kappa with x = tau_Q - tau
    (step `rank_limit`).
    """
    gap = sp.Symbol("gap", positive=True)
    energy = rank_limited().J.subs({J_b: j2_slope, J: j2, Q: b + gap})
    (best,) = sp.solve(sp.diff(energy, gap), gap)
    return sp.expand(energy.subs(gap, best))


def step(model: Model) -> Step:
    """Return the step of perfect recovery."""
    found = recovery(model)
    odds, alpha_rec = r"\frac{1-\mu_0}{\mu_0}", r"\alpha_{\rm rec}"
    rank_limited_energy = scalar(
        "rank_limited_energy",
        "least j2 of a student whose rank cuts the noise, from j2 and its slope at the cut",
        (j2, j2_slope, kappa),
        "j_2",
        rank_limited_recovery(),
    )
    return Step(
        "recovery",
        "Recovery threshold",
        r"At recovery the noise $\delta$ of the denoising problem vanishes at fixed "
        r"$\tau=b/\delta=2\sqrt{\mu_0}\cos\theta$, $\mu_0$ "
        r"the share of zero eigenvalues; $J$ is expanded through the closed form with $g=G/\delta$ "
        r"and $\alpha_{\rm rec}$ is "
        r"proportional to the least coefficient $j_2$ of $\delta^2$, shown here.",
        (
            Display(r"j_2", recovery(model).energy),
            Display(r"\alpha_{\rm rec}", recovery(model).ratio),
        ),
        (
            scalar(
                "target_odds",
                "odds of an eigenvalue of the target being non-zero",
                (zero_mass,),
                odds,
                sp.expand((1 - zero_mass) / zero_mass),
            ),
            scalar(
                "recovery_odds", "odds recovered at the angle theta", (theta,), odds, found.odds
            ),
            scalar(
                "recovery_odds_slope",
                "derivative of the odds in theta",
                (theta,),
                r"\partial_\theta",
                sp.diff(found.odds, theta),
            ),
            scalar(
                "recovery_energy", "j2 at the angle theta", (theta, zero_mass), "j_2", found.energy
            ),
            scalar(
                "recovery_slope",
                "dj2/dtau at the angle theta",
                (theta, zero_mass),
                r"\partial_\tau j_2",
                found.slope,
            ),
            scalar(
                "recovery_mass",
                "eigenvalues of the learned S above zero",
                (theta, zero_mass),
                r"\mu(x>b)",
                found.mass,
            ),
            scalar(
                "recovery_mass_slope",
                "derivative of that mass in theta",
                (theta, zero_mass),
                r"\partial_\theta\mu",
                sp.diff(found.mass, theta),
            ),
            scalar(
                "recovery_ratio",
                "recovery threshold from the least j2",
                (j2, D),
                alpha_rec,
                found.ratio,
            ),
            *([rank_limited_energy] if model.matrix.kind is Kind.POSITIVE else []),
            scalar(
                "full_rank_energy",
                "least j2 of a target without zero eigenvalues",
                (),
                "j_2",
                found.full_rank,
            ),
        ),
    )
