"""Limits of the saddle-point equations: weak regularisation, interpolation, perfect recovery (theory note, section 5)."""

import sympy as sp

from derive.channel import difference_map
from derive.derivation import Display, Function, Step, require_zero, scalar
from derive.model import Model
from derive.notation import sym
from derive.saddle import reduced
from derive.spectral import integrate_rational, moments, noisy_inverse

alpha, beta, beta0, T, D, rho, m, q, V, q0 = sym("alpha beta beta0 T D rho m q V q0")
v, b, c, delta, g, theta, kappa0, r = sym("v b c delta g theta kappa0 r")
J, J_v, J_b, J_vv = sym("J J_v J_b J_vv")


def label_numbers() -> sp.Expr:
    """Numbers that one label carries: rank of the within-row differences of a symmetric T x T index.

    Computed for T = 2, 3, 4 and interpolated, checked at 5 and 6; a constant shift of all entries is the one direction
    the rows cannot see.
    """
    ranks = {tokens: difference_map(tokens).rank() for tokens in (2, 3, 4, 5, 6)}
    polynomial = sp.interpolate([(tokens, ranks[tokens]) for tokens in (2, 3, 4)], T)
    for tokens in (5, 6):
        require_zero(polynomial.subs(T, tokens) - ranks[tokens], f"numbers in a label of {tokens} tokens")
    return sp.expand(polynomial)


def interpolating_envelope() -> sp.Expr:
    """M when every label can be fitted (V -> infinity): the elastic cost of reaching h = (beta0/beta) z up to a shift.

    One visible direction of unit variance costs E(h - w)^2/(2V), with (w, z) of covariance [[q, m], [m, rho]];
    there are D of them.
    """
    ratio = beta0 / beta
    per_direction = sp.expand(ratio**2 * rho - 2 * ratio * m + q)
    return D * per_direction / (2 * V)


def weak_regularisation() -> dict[sp.Symbol, sp.Expr]:
    """v, c and V Vh of the reduced problem below interpolation, where lambda -> 0 sends V to infinity as 1/lambda."""
    envelope = interpolating_envelope()
    mh, Vh, qh = -alpha * sp.diff(envelope, m), 2 * alpha * sp.diff(envelope, q), -2 * alpha * sp.diff(envelope, V)
    return {v: sp.cancel(qh / (2 * mh**2)), c: sp.cancel(mh / Vh), V: sp.cancel(V * Vh)}


def interpolation(model: Model) -> tuple[sp.Expr, sp.Expr]:
    """Condition E(v) = J - v J_v = q0 + noise at b -> 0 and the sample ratio there.

    At interpolation V stops growing, so b = lambda sqrt(kappa)/mh -> 0. Returns (residual that vanishes, alpha).
    """
    limit, order = weak_regularisation(), reduced(model)
    (stiffness,) = sym("Vh")
    (ratio,) = sp.solve(sp.Eq(order[V] * stiffness, limit[V]), alpha)  # V Vh = J_v/2 fixes alpha
    at_edge = {b: 0, c: limit[c]}
    overlap, norm = order[m].subs(at_edge), order[q].subs(at_edge)
    balance = sp.expand(v - limit[v].subs({m: overlap, q: norm}).subs(alpha, ratio))
    residual = sp.cancel(balance * J_v)  # J_v > 0: the density above 0 is not zero
    return sp.expand(residual / sp.diff(residual, J)).subs(rho, q0 + model.channel.noise), sp.cancel(ratio)


def interpolation_slope(model: Model) -> sp.Expr:
    """d/dv of the residual along v, from J' = J_v and J_v' = J_vv at fixed b."""
    residual, _ = interpolation(model)
    return sp.expand(sp.diff(residual, v) + sp.diff(residual, J) * J_v + sp.diff(residual, J_v) * J_vv)


def small_noise_energy(model: Model) -> tuple[sp.Expr, sp.Expr, sp.Expr]:
    """Coefficients of delta^0, delta^1, delta^2 of J(delta^2, tau delta) for delta -> 0 at fixed tau = b/delta, kappa0 < 1.

    The zero eigenvalues of the target spread into a semicircle of mass 1 - kappa0: with g = G/delta the physical root obeys
    (1 - kappa0)/G + G = tau, that is G = sqrt(1 - kappa0) exp(-i theta), tau = 2 sqrt(1 - kappa0) cos(theta).
    """
    root_mass = sp.sqrt(model.target.zero_mass)
    phase = sp.Symbol("E")  # exp(-i theta)
    tau = 2 * root_mass * sp.cos(theta)
    tau_phase = root_mass * (phase + 1 / phase)
    scaled = {g: root_mass * phase / delta, v: delta**2, b: tau_phase * delta}
    integral = integrate_rational((noisy_inverse(model.target) - b) ** 3)
    total = integral.rational.subs(scaled)
    angles: sp.Expr = sp.Integer(0)
    for base, coefficient in integral.logarithms.items():
        leading = sp.diff(base, g) * g  # log base = log leading + log(base/leading)
        correction = sp.cancel((base / leading).subs(scaled))
        total += coefficient.subs(scaled) * sp.log(correction)
        constant = 0 if sp.diff(base, g) == 1 else sp.pi  # arg(-g) = arg g + pi in the half-planes of the angles
        angles += coefficient.subs(scaled) * (constant - theta)
    series = sp.expand(sp.series(total, delta, 0, 3).removeO())
    angles = sp.expand(angles)
    return tuple(
        sp.expand(
            -(_imaginary_of_phase(series.coeff(delta, k), phase) + _real_of_phase(angles.coeff(delta, k), phase))
            / (3 * sp.pi)
        ).subs(sp.cos(theta), tau / (2 * root_mass))
        for k in range(3)
    )


def _phase_terms(expression: sp.Expr, phase: sp.Symbol) -> list[tuple[sp.Expr, int]]:
    """(real coefficient, k) for each term coefficient * phase^k."""
    terms = []
    for term in sp.Add.make_args(sp.expand(sp.cancel(expression))):
        coefficient, power = term.as_independent(phase, as_Add=False)
        terms.append((coefficient, int(power.as_base_exp()[1]) if power != 1 else 0))
    return terms


def _imaginary_of_phase(expression: sp.Expr, phase: sp.Symbol) -> sp.Expr:
    return sp.Add(*(-coefficient * sp.sin(k * theta) for coefficient, k in _phase_terms(expression, phase)))


def _real_of_phase(expression: sp.Expr, phase: sp.Symbol) -> sp.Expr:
    return sp.Add(*(coefficient * sp.cos(k * theta) for coefficient, k in _phase_terms(expression, phase)))


def recovery_odds(energy: sp.Expr) -> sp.Expr:
    """kappa0/(1 - kappa0) at which theta makes the delta^2 coefficient of J stationary (hence minimal: alpha is least).

    The stationarity condition is linear in the odds; even powers of the cosine are written in the sine.
    """
    odds, sine, cosine = sp.symbols("odds S C", positive=True)
    slope = sp.diff(energy, theta).subs(kappa0, odds / (1 + odds)) * (1 + odds) ** 2
    slope = sp.expand(sp.cancel(sp.expand_trig(sp.expand(slope)))).subs({sp.sin(theta): sine, sp.cos(theta): cosine})
    slope = sp.rem(slope, sine**2 + cosine**2 - 1, sine)
    polynomial = sp.Poly(slope, cosine)
    even = sum(value * ((1 - sine**2) ** (k // 2) if k % 2 == 0 else cosine**k) for (k,), value in polynomial.terms())
    (solution,) = sp.solve(sp.expand(even), odds)
    return sp.expand(sp.cancel(solution)).subs({sine: sp.sin(theta), cosine: sp.cos(theta)})


def full_rank_energy(model: Model) -> sp.Expr:
    """Least delta^2 coefficient of J when the target has no zero eigenvalue: no eigenvalue is cut, J = E (x - b)^2."""
    mean, second = moments(model.target)
    tau = sp.Symbol("tau", real=True)
    energy = sp.expand((second + v - 2 * b * mean + b**2).subs({v: delta**2, b: tau * delta})).coeff(delta, 2)
    (best,) = sp.solve(sp.diff(energy, tau), tau)
    return energy.subs(tau, best)


def check_recovery_balance(model: Model) -> None:
    """The reduced equations at J = q0 - 2 b t0 + v j2(b/sqrt(v)) and c = 1 ask for 2 alpha D = j2 and dj2/dtau = 0.

    Only j2 and its slope at tau enter, so j2 is replaced by its tangent there.
    """
    tau, slope, second, mean = sp.symbols("tau slope q0 t0")
    expansion = second - 2 * b * mean + v * (2 * alpha * D + slope * (b / sp.sqrt(v) - tau))
    values = {J: expansion, J_v: sp.diff(expansion, v), J_b: sp.diff(expansion, b), c: sp.Integer(1)}

    def at_tau(expression: sp.Expr) -> sp.Expr:
        return sp.expand(expression.xreplace(values).subs(b, tau * sp.sqrt(v)))

    order, limit, (stiffness,) = reduced(model), weak_regularisation(), sym("Vh")
    noise_free = {beta: beta0, rho: second, m: order[m], q: order[q]}
    require_zero(at_tau(v - limit[v].subs(noise_free)), "2 alpha D = j2 balances noise and error at every tau")
    require_zero(at_tau(order[V] * stiffness - limit[V]).subs(slope, 0), "dj2/dtau = 0 solves the equation of V")


def recovery(model: Model) -> dict[str, sp.Expr]:
    """Perfect recovery: noise-free labels, beta = beta0, delta -> 0 at fixed tau = b/delta.

    The expansion J = q0 - 2 b t0 + v j2(b/delta) turns the reduced equations into 2 alpha D = j2 and dj2/dtau = 0.
    """
    constant, linear, quadratic = small_noise_energy(model)
    mean, second = moments(model.target)
    tau = 2 * sp.sqrt(model.target.zero_mass) * sp.cos(theta)
    require_zero(constant - second, "J at delta = 0 is the second moment")
    require_zero(linear + 2 * tau * mean, "J at first order is the trace")
    check_recovery_balance(model)
    return {"energy": quadratic, "odds": recovery_odds(quadratic), "full_rank": full_rank_energy(model)}


def functions(model: Model) -> tuple[Function, ...]:
    """Generated functions of the limits."""
    residual, ratio = interpolation(model)
    given = (J, J_v, v, *sorted(residual.free_symbols - {J, J_v, v}, key=str))
    found = recovery(model)
    odds, alpha_rec = r"\frac{\kappa_0}{1-\kappa_0}", r"\alpha_{\rm rec}"
    slope = sp.diff(found["odds"], theta)
    return (
        scalar("label_numbers", "numbers that one label carries", (T,), "D", label_numbers()),
        scalar("interpolation_residual", "vanishes at interpolation, J and J_v at b = 0", given, "0", residual),
        scalar(
            "interpolation_slope",
            "derivative of the interpolation residual along v",
            (J_vv, v),
            r"\partial_v",
            interpolation_slope(model),
        ),
        scalar(
            "interpolation_ratio",
            "interpolation threshold from J_v at the root",
            (J_v, D),
            r"\alpha_{\rm interp}",
            ratio,
        ),
        scalar(
            "target_odds",
            "odds of an eigenvalue of the target being non-zero",
            (kappa0,),
            odds,
            kappa0 / model.target.zero_mass,
        ),
        scalar("recovery_odds", "odds kappa0/(1 - kappa0) recovered at the angle theta", (theta,), odds, found["odds"]),
        scalar("recovery_odds_slope", "derivative of the odds in theta", (theta,), r"\partial_\theta", slope),
        scalar(
            "recovery_ratio",
            "recovery threshold at the stationary angle",
            (theta, kappa0, D),
            alpha_rec,
            found["energy"] / (2 * D),
        ),
        scalar(
            "recovery_ratio_full_rank",
            "recovery threshold of a full-rank target",
            (D,),
            alpha_rec,
            found["full_rank"] / (2 * D),
        ),
    )


def steps(model: Model) -> tuple[Step, ...]:
    """Weak regularisation, interpolation, recovery."""
    limit = weak_regularisation()
    return (
        Step(
            "weak_regularisation",
            "Weak regularisation below interpolation",
            r"As $\lambda\to0$ every label is fitted, $V$ grows as $1/\lambda$ and the envelope becomes quadratic, with $D$ visible "
            r"directions.",
            (
                Display("M", interpolating_envelope()),
                Display("v", limit[v]),
                Display("c", limit[c]),
                Display(r"V\hat V", limit[V]),
            ),
        ),
        Step(
            "thresholds",
            "Interpolation and recovery thresholds",
            r"At interpolation $V$ is finite again, so $b\to0$. At recovery the noise $\delta$ of the denoising problem vanishes at "
            r"fixed $\tau=b/\delta=2\sqrt{1-\kappa_0}\cos\theta$; $J$ is expanded through the closed form with $g=G/\delta$ and "
            r"$2D\alpha_{\rm rec}$ is the least coefficient of $\delta^2$, shown here.",
            (Display(r"j_2", recovery(model)["energy"]),),
            functions(model),
        ),
    )
