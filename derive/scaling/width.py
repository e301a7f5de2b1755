"""Power-law targets and students with m hidden units: the rank of S as a third axis, besides
samples and weight decay.

S consists of at most the m largest eigenvalues of Y. If fewer lie above the threshold, the width
acts only through the weight decay lambda sqrt(m/d) of S. Otherwise the rank cuts the spectrum:
either among the features, and the part of the target that is left out is the risk, or within the
noise bulk. (docs/explanation/width.md.)
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache, partial

import sympy as sp

from derive.language.matrix import Kind
from derive.language.model import Model
from derive.language.notation import sym
from derive.passes.spectral_function.semicircle import cut_powers, edge_mass
from derive.scaling.balance import Form, Regime, Solution, System, monomials
from derive.scaling.phase_diagram import Cell, phase_diagram
from derive.scaling.power_law import (
    EDGE,
    HIDDEN,
    LEARNED,
    LEAST_GAMMA,
    ONE,
    TOP,
    UNKNOWNS,
    UNLEARNED,
    Part,
    SaddlePoint,
    features,
    limit,
    power_sum,
    risk,
    whole_spectrum,
)

delta, eta, gamma, kappa, lambda_, n, d = sym("delta eta gamma kappa lambda_ n d")
threshold = UNKNOWNS[1]
hidden = sp.Symbol("m_", positive=True)  #: number m of hidden units; another m is the overlap


def applies(model: Model) -> bool:
    """Return whether the rank of the model's students is kappa d and cuts one end of the spectrum:
    S is positive.
    """
    return bool(model.matrix.rank_ratio == kappa) and model.matrix.kind is Kind.POSITIVE


@cache
def width_system(model: Model) -> System:
    """Return the balances of a student with m >= 1 hidden units, with and without a cut by the
    rank.
    """
    point = SaddlePoint(model, hidden / d)
    spared = (
        replace(
            regime,
            conditions=(*regime.conditions, *((term, hidden) for term in _learned_counts(part))),
        )
        for regime, part in whole_spectrum(point)
    )
    regimes = (*spared, *_cut_regimes(point))
    return System((n, lambda_, hidden, d), UNKNOWNS, regimes, gamma, LEAST_GAMMA, ((ONE, hidden),))


def _learned_counts(part: Part) -> tuple[sp.Expr, ...]:
    """Return the numbers of eigenvalues whose sum is the number that a part of the spectrum
    learns.
    """
    return monomials(d * part.mass) if part.mass != 0 else ()


def _cut_regimes(point: SaddlePoint) -> tuple[Regime, ...]:
    """Return the regimes in which more eigenvalues lie above the threshold than the rank allows."""
    last = TOP * hidden**-gamma  # smallest feature with a hidden unit
    bulk, share = cut_powers(), hidden / d
    reach = sp.Symbol("reach", positive=True)
    depth = sp.solve(edge_mass().subs(eta, reach) - share, reach)[
        0
    ]  # depth of the cut below the edge
    near = Part(delta**2 * share * bulk.J, share * bulk.J_v, ends=(depth / eta,))
    far = Part(delta**2 * share * bulk.J.subs(eta, 1), share * bulk.J_v.subs(eta, 1), ends=(depth,))
    beyond = (
        *monomials(d * edge_mass()),
        d,
    )  # eigenvalues of the bulk above the threshold: near its edge, and far below
    room = ((d * power_sum(ONE, delta, TOP), hidden), LEARNED, HIDDEN)
    tied, below = ((hidden, beyond[0]), (eta, ONE)), ((hidden, d), (threshold, delta))
    learned = partial(features, point.model)
    return (
        point.regime(
            *("cut_spikes", "rank cuts the spikes", learned(last)),
            *((hidden, d), (delta, last), (threshold, last)),
        ),
        point.regime(
            "cut_slit",
            "rank cuts the bulk, just open, no spike",
            UNLEARNED + near,
            *tied,
            (TOP, delta),
            tie=EDGE,
        ),
        point.regime(
            "spikes_and_cut_slit",
            "rank cuts the bulk, just open",
            learned(delta) + near,
            *tied,
            *room,
            tie=EDGE,
        ),
        point.regime(
            "cut_bulk", "rank cuts the bulk, no spike", UNLEARNED + far, *below, (TOP, delta)
        ),
        point.regime(
            "spikes_and_cut_bulk",
            "rank cuts the bulk, fully open",
            learned(delta) + far,
            *below,
            *room,
        ),
    )


@dataclass(frozen=True)
class Optimum:
    """Width of least risk for given samples and weight decay; the cell `beyond` begins there.

    `width` and `risk` are forms in (n, lambda, d), and `conditions` are those of the cells on both
    sides. If n m is given instead, the least risk is its power `computation`.
    """

    beyond: Solution
    width: Form
    risk: Form
    conditions: tuple[Form, ...]
    computation: sp.Expr


def optima(model: Model) -> Iterator[Optimum]:
    """Yield the transitions from a student that is limited by its width to one whose risk increases
    with the width.
    """
    of = width_system(model)
    (phase,) = phase_diagram(of).phases  # cells and signs of exponents are the same for every gamma
    axis, at = of.parameters.index(hidden), {gamma: LEAST_GAMMA + 1}
    (narrow,) = (cell for cell in phase.cells if limit(cell.solution) == "width")
    for wide in phase.cells:
        opposite = {tuple(sp.expand(-value) for value in margin) for margin in wide.margins}
        rises = wide.solution.exponents[risk][axis].subs(at) > 0
        yield from (
            _optimum(narrow, wide, face, axis)
            for face in narrow.margins
            if rises and face in opposite
        )


def _optimum(narrow: Cell, wide: Cell, face: Form, axis: int) -> Optimum:
    width = tuple(sp.factor(-value / face[axis]) for value in _without(face, axis))

    def there(form: Form) -> Form:
        return tuple(
            sp.factor(a + form[axis] * b) for a, b in zip(_without(form, axis), width, strict=True)
        )

    least = there(
        wide.solution.exponents[risk]
    )  # smaller by a power where the last feature gets a hidden unit
    margins = (there(margin) for cell in (narrow, wide) for margin in cell.margins)
    conditions = tuple(dict.fromkeys(margin for margin in margins if any(margin)))
    return Optimum(wide.solution, width, least, conditions, sp.factor(least[0] / (1 + width[0])))


def _without(form: Form, axis: int) -> Form:
    return (*form[:axis], *form[axis + 1 :])
