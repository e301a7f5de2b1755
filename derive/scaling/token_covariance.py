"""Scaling with a power-law covariance of the tokens on the eigenvectors of a power-law target.

The target is s_k ~ k^-gamma and the covariance c_k ~ k^-a with trace d, so that c_d is of order
one for 0 < a < 1. The whitened target is c_k s_k = sqrt(d) k^-(gamma + a), of second moment one,
and the denoising problem takes b/c_k = b (k/d)^a from direction k. All quantities are orders of
magnitude (theory note, sections 8 and 13).

Decay. Feature k is learned if c_k s_k > b/c_k, up to k_c. Its error is b/c_k, and that of k_c
dominates.

Leak. The eigenvector of a learned feature of size x = c_k s_k - b/c_k mixes with the noise of
direction j, of threshold b_j, with weight (x/(x + b_j))^2. The mean over j is one for x > b, and
(x/b)^min(2, 1/a) below. Features with c_k s_k > b, up to k_b, dominate the sum over k, because
2 (gamma + a) > 1.

Noise. The noise of the other directions lifts the diagonal by v E_c[c]/b = v/b at second order. It
exceeds the thresholds of the first k_n = d (v/b^2)^(1/a) directions: noise enters S there, although
the bulk is closed (v < b^2). The noise within these directions, sqrt(v k_n/d), is smaller for
a < 1. If the labels are fewer than one direction fits, k_n stays one, and `eta` is the eigenvalue
learned in it.
"""

from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from itertools import product
from typing import NamedTuple

import sympy as sp

from derive.language.errors import DerivationError
from derive.language.model import Model
from derive.language.step import require_zero
from derive.passes.free_entropy.saddle_point import reduced
from derive.scaling.balance import (
    Balance,
    Form,
    Regime,
    Solution,
    System,
    logarithm,
    monomials,
    solve,
)
from derive.scaling.phase_diagram import polytope
from derive.scaling.power_law import (
    ONE,
    TOP,
    UNKNOWNS,
    Condition,
    D,
    Delta,
    J_v,
    Part,
    V,
    Vh,
    alpha,
    as_powers,
    channel_scales,
    d,
    delta,
    eta,
    gamma,
    kappa,
    lambda_,
    n,
    risk,
    threshold,
)

#: Least exponent gamma of the target. The whitened target has a second moment dominated by its
#: first features if gamma + a > 1/2.
LEAST_SUM = sp.Rational(1, 2)
_GIVEN = (n, lambda_, d)
_SCALES = (*_GIVEN, *UNKNOWNS)
#: Exponent of the covariance, and min(2, 1/a), the power of the leak, where they are symbolic.
exponent, leak_power = sp.symbols("a p", positive=True)
#: Exponents (gamma, a) at which balances are searched that are valid somewhere: on both sides of
#: a = 1/2, where the power of the leak changes, and of gamma + a = 1.
SEARCHED = {
    sp.Rational(a): (Fraction(9, 20), Fraction(3, 4), Fraction(3, 2)) for a in ("1/4", "3/4")
}


class ChannelBalances(NamedTuple):
    """Balances of the channel, the same for all models up to constants.

    Attributes:
        noise: size of delta^2.
        threshold: size of b.
        left, right: the equation of V is left = right J_v.
    """

    noise: sp.Expr
    threshold: sp.Expr
    left: sp.Expr
    right: sp.Expr


@cache
def channel_balances(model: Model) -> ChannelBalances:
    """Return the balances of the channel of a model.

    Args:
        model: the model.
    """
    constants = {D: 1, kappa: 1, Delta: 1, alpha: n / d**2}
    found = channel_scales(model)
    response = reduced(model)[V] * Vh / found.stiffness.subs(constants)
    numerator, denominator = sp.fraction(sp.together(response))
    require_zero(sp.diff(numerator, J_v, 2), "the response is linear in J_v")
    return ChannelBalances(
        as_powers(found.v.subs(constants)),
        as_powers(found.b.subs(constants)),
        as_powers(denominator),
        as_powers(sp.expand(sp.diff(numerator, J_v))),
    )


class Scales(NamedTuple):
    """Sizes of the whitened target at some features, as monomials.

    Attributes:
        decay: at the last feature that is not removed by the decay.
        noise: at the last direction into which noise is lifted.
        bottom: at the last feature.
        sum: gamma + a, the exponent of the whitened target.
    """

    decay: sp.Expr
    noise: sp.Expr
    bottom: sp.Expr
    sum: sp.Expr

    def count(self, size: sp.Expr) -> sp.Expr:
        """Return the number of features above a size."""
        return sp.powsimp((TOP / size) ** (1 / self.sum), force=True)

    def energy_below(self, size: sp.Expr) -> sp.Expr:
        """Return the second moment per dimension of the features below a size."""
        return _monomial(size**2 * self.count(size) / d)


def _monomial(expression: sp.Expr) -> sp.Expr:
    return sp.powsimp(sp.expand_power_base(sp.powdenest(expression, force=True), force=True))


def scales(a: sp.Expr) -> Scales:
    """Return the sizes of the whitened target at the ends of its sums.

    Args:
        a: exponent of the covariance.
    """
    total = gamma + a
    # c_k s_k = b (k/d)^a with k = (sqrt(d)/size)^(1/total)
    decay = (threshold * d ** (a / (2 * total) - a)) ** (total / (total + a))
    # k_n = d (delta/b)^(2/a)
    noise = d ** (sp.Rational(1, 2) - total) * (threshold / delta) ** (2 * total / a)
    return Scales(_monomial(decay), _monomial(noise), d ** (sp.Rational(1, 2) - total), total)


def lifted_noise(a: sp.Expr) -> Part:
    """Return the noise in the directions into which it is lifted: v/b in each of k_n.

    Args:
        a: exponent of the covariance.
    """
    share = (delta / threshold) ** (2 / a)
    energy = _monomial((delta**2 / threshold) ** 2 * share)
    return Part(energy, _monomial(energy / delta**2))


@cache
def regimes(channel: ChannelBalances, a: sp.Expr) -> tuple[Regime, ...]:
    """Return the regimes of a power-law target with a power-law covariance.

    Args:
        channel: balances of the channel.
        a: exponent of the covariance, between 0 and 1.
    """

    def regime(
        id: str, name: str, part: Part, *conditions: Condition, tie: Condition | None = None
    ) -> Regime:
        level = channel.threshold if part.J_v != 0 else channel.threshold.subs(V, 0)
        balances = [
            Balance("noise", delta**2, channel.noise),
            Balance("threshold", threshold, level),
            Balance("risk", risk, part.risk),
        ]
        if part.J_v != 0:
            pairs = product(monomials(channel.right), sp.Add.make_args(part.J_v))
            right = sp.Add(*(_monomial(one * of) for one, of in pairs))
            balances.append(Balance("response", channel.left, right))
        if tie is not None:
            balances.append(Balance("edge", *tie))
        return Regime(id, tuple(balances), conditions, (), name)

    found = scales(a)
    closed: Condition = (delta, threshold)
    noise = lifted_noise(a)
    power = sp.Min(2, 1 / a) if a.is_number else leak_power
    weak = (threshold, TOP)
    # J is a power of v above one, so that v J_v exceeds J: noise that feeds on its own error alone
    # would need J_v above its bound at V -> infinity.
    supported: Condition = (noise.risk, ONE)

    def features(lowest: sp.Expr, learned_by_decay: bool, strong: bool) -> Part:
        """Part of the features above a size; `strong` if thresholds exceed every feature."""
        top = _monomial(TOP / threshold) if strong else ONE
        leak = top**power if strong else found.count(threshold)
        response = top if strong else found.count(threshold)
        part = Part(
            found.energy_below(lowest) + _monomial(delta**2 * leak / d), _monomial(response / d)
        )
        if learned_by_decay:
            last = found.count(lowest) * lowest / (threshold * d)
            part = part + Part(sp.S.Zero, _monomial(last))
        return part + noise

    def pair(
        id: str, name: str, lowest: sp.Expr, by_decay: bool, *conditions: Condition
    ) -> Iterator[Regime]:
        for strong in (False, True):
            yield regime(
                f"{id}_strong" if strong else id,
                f"strong decay, {name}" if strong else name,
                features(lowest, by_decay, strong),
                *conditions,
                closed,
                supported,
                weak[::-1] if strong else weak,
            )

    open_bulk = Part(delta**2, ONE)
    hidden = found.energy_below(delta)
    return (
        regime(
            "nothing",
            "nothing above the threshold",
            Part(ONE),
            closed,
            (TOP, found.decay),
            (TOP, found.noise),
        ),
        regime(
            "first_direction",
            "noise in the first direction, no feature",
            Part(ONE + eta**2 / d, eta / (threshold * d)),
            (TOP, found.decay),
            (eta, delta**2 / threshold),
            (eta**2 / d, ONE),
            tie=(threshold**2 * d**-a, delta**2),
        ),
        *pair(
            *("spikes", "features up to the decay", found.decay, True),
            *((found.decay, TOP), (found.bottom, found.decay), (found.decay, found.noise)),
        ),
        *pair(
            *("lifted", "features up to the lifted noise", found.noise, False),
            *((found.noise, TOP), (found.noise, found.decay)),
        ),
        regime(
            "bulk",
            "bulk fully open, no spike",
            Part(ONE) + open_bulk,
            (threshold, delta),
            (TOP, delta),
        ),
        regime(
            "spikes_and_bulk",
            "bulk fully open",
            Part(hidden) + open_bulk,
            (threshold, delta),
            (delta, TOP),
            (found.bottom, delta),
        ),
        regime(
            "all",
            "every feature resolved",
            Part(threshold**2 + delta**2, ONE),
            (found.decay, found.bottom),
            (delta, found.bottom),
        ),
    )


@cache
def covariance_system(model: Model, a: sp.Rational) -> System:
    """Return the balances of a power-law target with a power-law covariance.

    Args:
        model: the model.
        a: exponent of the covariance, between 0 and 1.

    Raises:
        DerivationError: `a` is not between 0 and 1. At a = 1 the leading directions dominate the
            trace, and the noise within them exceeds the lift.
    """
    if not 0 < a < 1:
        raise DerivationError(f"a = {a}: scales are derived between 0 and 1, exclusive")
    least = max(sp.S.Zero, LEAST_SUM - a)
    return System(_GIVEN, UNKNOWNS, regimes(channel_balances(model), a), gamma, least)


def symbolic_solutions(model: Model) -> tuple[Solution, ...]:
    """Return the balances that are valid somewhere, with exponents in gamma, a and `leak_power`.

    They are found at the exponents of `SEARCHED`, where exact polytopes are not empty, and solved
    again with symbols.

    Args:
        model: the model.
    """
    return _symbolic_solutions(
        regimes(channel_balances(model), exponent),
        tuple((a, covariance_system(model, a)) for a in SEARCHED),
    )


@cache
def _symbolic_solutions(
    regimes: tuple[Regime, ...], systems: tuple[tuple[sp.Rational, System], ...]
) -> tuple[Solution, ...]:
    symbolic = {regime.id: regime for regime in regimes}
    found: dict[tuple[str, tuple[tuple[sp.Expr, sp.Expr], ...]], None] = {}
    for a, of in systems:
        values = {exponent: a, leak_power: sp.Min(2, 1 / a)}
        for solution in solve(of):
            if any(polytope(solution.margins, of, value).corners for value in SEARCHED[a]):
                regime = symbolic[solution.regime.id]
                found.setdefault((regime.id, _dominant(regime, solution, values)))
    return tuple(_solution(symbolic[id], dominant) for id, dominant in found)


def _dominant(
    regime: Regime, solution: Solution, values: dict[sp.Symbol, sp.Expr]
) -> tuple[tuple[sp.Expr, sp.Expr], ...]:
    """Return the dominant terms of a solution as monomials with symbolic exponents.

    Terms are compared by their ratio, because common factors of both sides may be divided out.
    """

    def ratio(left: sp.Expr, right: sp.Expr) -> tuple[sp.Expr, ...]:
        sides = (logarithm(side.subs(values), _SCALES) for side in (left, right))
        return tuple(sp.cancel(a - b) for a, b in zip(*sides, strict=True))

    found = []
    for balance, pair in zip(regime.balances, solution.dominant, strict=True):
        choices = product(monomials(balance.left), monomials(balance.right))
        found.append(next(choice for choice in choices if ratio(*choice) == ratio(*pair)))
    return tuple(found)


def _solution(regime: Regime, dominant: tuple[tuple[sp.Expr, sp.Expr], ...]) -> Solution:
    """Return the exponents of the unknowns and the conditions of one choice of dominant terms."""

    def difference(larger: sp.Expr, smaller: sp.Expr) -> list[sp.Expr]:
        sides = (logarithm(side, _SCALES) for side in (larger, smaller))
        return [a - b for a, b in zip(*sides, strict=True)]

    count = len(_GIVEN)
    rows = sp.Matrix([difference(*pair) for pair in dominant])
    present = [k for k in range(count, len(_SCALES)) if any(rows[:, k])]
    inverse = rows[:, present].inv()
    values = (-inverse * rows[:, :count]).applyfunc(sp.cancel)  # of the unknowns, by the given

    def powers(row: list[sp.Expr]) -> Form:
        moved = sp.Matrix([[row[k] for k in present]]) * values
        return tuple(sp.cancel(row[k] + moved[k]) for k in range(count))

    margins = [
        difference(top, other)
        for balance, pair in zip(regime.balances, dominant, strict=True)
        for top, side in zip(pair, (balance.left, balance.right), strict=True)
        for other in monomials(side)
        if other != top
    ]
    margins += [difference(larger, smaller) for smaller, larger in regime.conditions]
    return Solution(
        regime,
        dominant,
        {_SCALES[k]: tuple(values[row, :]) for row, k in enumerate(present)},
        tuple(dict.fromkeys(one for one in map(powers, margins) if any(one))),
        (),
    )


def limit(solution: Solution) -> str:
    """Return the origin of the risk of a symbolic balance: "target", "decay", "noise" of features
    or of directions into which noise is lifted, or "overfitting".
    """
    ((_, term),) = (pair for pair in solution.dominant if pair[0] == risk)
    if not term.has(*UNKNOWNS):
        return "target"
    found = scales(exponent)
    if term == delta**2:
        return "noise" if solution.regime.id == "all" else "overfitting"
    if _same(term, lifted_noise(exponent).risk):
        return "overfitting"
    by_decay = _same(term, found.energy_below(found.decay)) or term == threshold**2
    return "decay" if by_decay else "noise"


def _same(left: sp.Expr, right: sp.Expr) -> bool:
    logs = (logarithm(side, _SCALES) for side in (left, right))
    return all(sp.cancel(a - b) == 0 for a, b in zip(*logs, strict=True))
