"""Power-law targets s_k = sqrt(d) k^-gamma: scaling of each part of the saddle point, and the
resulting balances.

All quantities are orders of magnitude at large d, from the closed forms. The channel is in the
quadratic approximation of its Moreau envelope (labels and their curvature are of order one, for any
V). Features are outliers, and the noise bulk is a semicircle. (Theory note, section 8; arXiv
2509.24914, section 5.)
"""

from dataclasses import dataclass
from functools import cache, partial
from typing import NamedTuple

import sympy as sp

from derive.language.errors import DerivationError
from derive.language.model import Model
from derive.language.notation import sym
from derive.language.step import require_zero
from derive.passes.free_entropy.prior import denoiser
from derive.passes.free_entropy.saddle_point import conjugates_at, reduced
from derive.passes.spectral_function.semicircle import (
    edge_mass,
    edge_powers,
    energy_above,
    open_bulk,
)
from derive.scaling.balance import Balance, Regime, Solution, System, monomials
from derive.scaling.learned_feature import learned_feature

alpha, D, Delta, kappa, lambda_, n, d, gamma = sym("alpha D Delta kappa lambda_ n d gamma")
m, q, V, q0, rho, v, b, c, mh, Vh = sym("m q V q0 rho v b c mh Vh")
J, J_v, J_b = sym("J J_v J_b")
s, transform, spread = sym("s transform spread")
delta, eta, risk = sym("delta eta risk")
detuning, size = sp.symbols("detuning size", positive=True)

threshold = sp.Symbol("b", positive=True)  #: scale of b, positive

LEAST_GAMMA = sp.Rational(1, 2)
TOP, BOTTOM = (
    sp.sqrt(d),
    d ** (sp.Rational(1, 2) - gamma),
)  #: eigenvalues of the first and of the last feature


def envelope() -> sp.Expr:
    """Return M for a loss of unit curvature around the label: D directions of min_x (x - w)^2/(2V)
    + (x - y)^2/2.
    """
    x, w, y = sp.symbols("x w y")
    energy = (x - w) ** 2 / (2 * V) + (x - y) ** 2 / 2
    least = sp.factor(energy.subs(x, sp.solve(sp.diff(energy, x), x)[0]))
    squares = sp.Poly(sp.expand(least), w, y)
    return D * sum(value * {2: q, 1: m, 0: rho}[power] for (power, _), value in squares.terms())


class ChannelScales(NamedTuple):
    """Noise variance v, threshold b and V Vh of the quadratic channel; `risk` is tr(S - S0)^2/d."""

    v: sp.Expr
    b: sp.Expr
    stiffness: sp.Expr


def _noise(model: Model) -> sp.Expr:
    """Return the variance of the noise per unit of the label's index, up to a constant.

    Where the loss has unit curvature, noise on the label alone acts like noise on its index.
    """
    on_label_alone = model.channel.noise == 0 and model.channel.noise_on_label != 0
    return Delta if on_label_alone else model.channel.noise


@cache
def channel_scales(model: Model) -> ChannelScales:
    """Return the reduced variables in terms of the risk and V."""
    prior, conjugates = denoiser(model), conjugates_at(model, envelope())
    known_risk = {q: risk - q0 + 2 * m, rho: q0 + _noise(model)}
    variance = sp.factor(prior.variance.subs(conjugates).subs(known_risk))
    return ChannelScales(
        sp.simplify(variance),
        sp.cancel(prior.threshold.subs(conjugates)),
        sp.cancel(V * conjugates[Vh]),
    )


def power_sum(summand: sp.Expr, low: sp.Expr, high: sp.Expr) -> sp.Expr:
    """Return (1/d) times the sum of a nonnegative summand over features low < s_k < high, up to
    constants.

    With k = (sqrt(d)/s)^(1/gamma), s^j becomes the integral of s^(j - 1/gamma - 1). One end
    dominates: the upper end for j >= 2, because gamma > 1/2, and the lower end for j <= 0.

    Args:
        summand: sum of powers of s.
        low: smallest feature.
        high: largest feature.

    Raises:
        DerivationError: a power is in between, so that the dominant end depends on gamma.
    """
    total = sp.Integer(0)
    for term in sp.Add.make_args(sp.expand(summand)):
        coefficient, rest = term.as_independent(s, as_Add=False)
        power = sp.degree(rest, s) if rest.is_polynomial(s) else -sp.degree(1 / rest, s)
        if power == 1:
            raise DerivationError(f"{term}: which features dominate its sum depends on gamma")
        if not coefficient.could_extract_minus_sign():
            end = high if power >= 2 else low
            total += sp.powsimp(
                coefficient * end ** sp.expand(power - 1 / gamma) * TOP ** (1 / gamma) / d
            )
    return total


def subdominant_end(power: int, low: sp.Expr, high: sp.Expr) -> sp.Expr:
    """Return the relative size of the smaller end of the sum of s^power over low < s < high, and of
    its steps for power <= 0.

    Args:
        power: the exponent.
        low: smallest feature.
        high: largest feature.
    """
    exponent = power - 1 / gamma
    return (low / high) ** (exponent if power >= 2 else -exponent)


def _require_noise_only(model: Model) -> None:
    """Check that the bulk overlaps with no feature, so that its part of the risk is J."""
    order = reduced(model)
    f = sp.Function("f")
    energy = v * f(b / sp.sqrt(v))  # like J of any semicircle
    own = {J: energy, J_v: sp.diff(energy, v), J_b: sp.diff(energy, b), c: 1}
    require_zero(order[m].subs(own).doit(), "noise has no overlap with the target")
    require_zero(order[q].subs(own).doit() - energy, "the norm of what is fitted to noise is J")


@dataclass(frozen=True)
class Part:
    """Contribution of a part of the spectrum to the risk, to J_v, and to the fraction `mass` of
    learned eigenvalues.

    `ends` are relative sizes of neglected terms of its sums.
    """

    risk: sp.Expr
    J_v: sp.Expr = sp.S.Zero
    mass: sp.Expr = sp.S.Zero
    ends: tuple[sp.Expr, ...] = ()

    def __add__(self, other: "Part") -> "Part":
        return Part(
            self.risk + other.risk,
            self.J_v + other.J_v,
            self.mass + other.mass,
            self.ends + other.ends,
        )


Condition = tuple[sp.Expr, sp.Expr]  #: condition first <= second


@dataclass(frozen=True)
class SaddlePoint:
    """Saddle point of a model as balances between scales; the width ratio of the student is a power
    of them.
    """

    model: Model
    width: sp.Expr = sp.S.One

    def regime(
        self, id: str, name: str, part: Part, *conditions: Condition, tie: Condition | None = None
    ) -> Regime:
        """Return the balances of a regime.

        Args:
            id: identifier of one word.
            name: name for readers.
            part: contribution of the spectrum.
            *conditions: pairs of monomials, the first at most the second.
            tie: two equal monomials where the threshold is at an edge.
        """
        constants = {D: 1, kappa: self.width, Delta: 1, alpha: n / d**2}
        scales, stiffness = channel_scales(self.model), reduced(self.model)[V] * Vh
        level = scales.b.subs(constants)
        balances = [
            Balance("noise", delta**2, as_powers(scales.v.subs(constants))),
            Balance(
                "threshold", threshold, as_powers(level if part.J_v != 0 else level.subs(V, 0))
            ),
            Balance("risk", risk, as_powers(_in_scales(part.risk))),
        ]
        if part.J_v != 0:
            response = stiffness.subs(J_v, part.J_v) / scales.stiffness.subs(constants)
            numerator, denominator = sp.fraction(sp.together(response))
            balances.append(
                Balance("response", as_powers(denominator), as_powers(_in_scales(numerator)))
            )
        if tie is not None:
            balances.append(Balance("edge", *tie))
        return Regime(id, tuple(balances), conditions, part.ends, name)


@cache
def features(model: Model, lowest: sp.Expr) -> Part:
    """Return the contribution of the spectrum if all features above `lowest` are learned and
    all below are not.
    """
    error, response = (
        power_sum(_in_scales(summand), lowest, TOP) for summand in learned_feature(model)
    )
    mass = power_sum(sp.Integer(1), lowest, TOP)
    above = Part(error, response, mass, (subdominant_end(0, lowest, TOP),))
    if lowest == BOTTOM:
        return above
    return Part(power_sum(s**2, BOTTOM, lowest), ends=(subdominant_end(2, BOTTOM, lowest),)) + above


def as_powers(expression: sp.Expr) -> sp.Expr:
    """Return a sum of positive terms without their coefficients.

    Models differ in these coefficients only, so that all models have one system, which is solved
    once.
    """
    return sp.Add(*monomials(expression))


def _in_scales(expression: sp.Expr) -> sp.Expr:
    return sp.expand(expression.subs({v: delta**2, b: threshold}))


UNLEARNED, ONE = Part(sp.Integer(1)), sp.Integer(1)
LEARNED, HIDDEN = (delta, TOP), (BOTTOM, delta)
EDGE = (threshold, delta)  #: threshold at the edge of the bulk of isotropic tokens


@cache
def whole_spectrum(point: SaddlePoint) -> tuple[tuple[Regime, Part], ...]:
    """Return the regimes of the noisy spectrum without a rank limit, each with its part."""
    edge, full, learned = edge_powers(), open_bulk(), partial(features, point.model)
    slit = Part(delta**2 * edge.J, edge.J_v, edge_mass())
    open_ = Part(delta**2 * full.J, full.J_v, sp.Integer(1))

    def regime(
        id: str, name: str, part: Part, *conditions: Condition, tie: Condition | None = None
    ) -> tuple[Regime, Part]:
        return point.regime(id, name, part, *conditions, tie=tie), part

    return (
        regime(
            "nothing",
            "nothing above the threshold",
            UNLEARNED,
            (delta, threshold),
            (TOP, threshold),
        ),
        regime(
            *("spikes", "spikes above the bulk", learned(threshold)),
            *((delta, threshold), (threshold, TOP), (BOTTOM, threshold)),
        ),
        regime(
            "slit", "bulk just open, no spike", UNLEARNED + slit, (eta, ONE), (TOP, delta), tie=EDGE
        ),
        regime(
            "spikes_and_slit",
            "bulk just open",
            learned(delta) + slit,
            (eta, ONE),
            LEARNED,
            HIDDEN,
            tie=EDGE,
        ),
        regime(
            "bulk", "bulk fully open, no spike", UNLEARNED + open_, (threshold, delta), (TOP, delta)
        ),
        regime(
            "spikes_and_bulk",
            "bulk fully open",
            learned(delta) + open_,
            (threshold, delta),
            LEARNED,
            HIDDEN,
        ),
        regime(
            "all", "every feature resolved", learned(BOTTOM), (delta, BOTTOM), (threshold, BOTTOM)
        ),
    )


UNKNOWNS = (delta, threshold, V, risk, eta)


@cache
def system(model: Model) -> System:
    """Return the saddle point of a power-law target as balances between scales, for each regime of
    its noisy spectrum.
    """
    _require_noise_only(model)
    regimes = tuple(regime for regime, _ in whole_spectrum(SaddlePoint(model)))
    return System((n, lambda_, d), UNKNOWNS, regimes, gamma, LEAST_GAMMA)


def limit(solution: Solution) -> str:
    """Return the origin of the risk of a balance, from its dominant term.

    The origin is "target" (the whole target), "width" (the part of the target that the rank leaves
    out), "overfitting" (noise that enters S through an open bulk, a fraction of delta^2, while
    powers of learned features depend on gamma), or "decay" or "noise" of features.
    """
    ((_, term),) = (pair for pair in solution.dominant if pair[0] == risk)
    is_open = solution.regime.id.endswith(("slit", "bulk"))
    if not term.has(*UNKNOWNS):
        return "width" if term.free_symbols else "target"
    if is_open and sp.cancel(delta * sp.diff(term, delta) / term) == 2:
        return "overfitting"
    return "decay" if term.has(threshold) and not is_open else "noise"


def peak(model: Model, side: int) -> System:
    """Return the interpolation peak of an unlearned target: alpha at a distance `detuning` above
    (side = 1) or below (-1) its threshold.

    At V -> infinity and b -> 0 two pairs of terms cancel: v - J/(2 D alpha) and 1 - J_v/(2 D
    alpha). They leave the detuning and the first order in y = b/delta.

    Args:
        model: the model.
        side: 1 or -1.
    """
    (phi,) = energy_above().J.free_symbols
    y = sp.Symbol("y", positive=True)
    angle = sp.acos(y / 2)
    constants = [form.subs(phi, angle.subs(y, 0)) for form in energy_above()]
    slopes = [
        (sp.diff(form, phi) * sp.diff(angle, y)).subs({phi: angle.subs(y, 0), y: 0})
        for form in energy_above()
    ]
    require_zero(
        constants[0] - constants[1], "noise and response become critical at one sample ratio"
    )
    one = sp.Integer(1)
    if not all(slope.is_negative for slope in slopes):
        raise DerivationError(f"first orders {slopes} at the peak must be negative")
    strength = V * channel_scales(model).b.subs({D: 1, alpha: 1, kappa: 1}).coeff(V)
    if side > 0:
        missing = [-slope * y + detuning for slope in slopes]
        noise, response = (
            Balance("noise", delta**2 * missing[0], one),
            Balance("response", V * missing[1], one),
        )
    else:  # both y equal the detuning at leading order; eliminate y, so that nothing cancels
        edge = sp.solve(V * (-slopes[1] * y - detuning) - 1, y)[0]
        rest = sp.expand(delta**2 * (-slopes[0] * edge - detuning))
        noise, response = Balance("noise", rest, one), Balance("response", y, sp.expand(edge))
    balances = (
        noise,
        response,
        Balance("threshold", y * delta, strength),
        Balance("risk", risk, delta**2),
    )
    where = "above" if side > 0 else "below"
    regime = Regime(f"peak_{where}", balances, ((one, V),), name=f"interpolation peak, {where}")
    # gamma does not enter; any range is valid.
    return System(
        (detuning, lambda_, size),
        (delta, y, V, risk),
        (regime,),
        gamma,
        LEAST_GAMMA,
        ((detuning, one), (lambda_, one)),
    )
