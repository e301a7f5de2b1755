"""How a student predicts a label with a few values: the directions of the index that each draw and
its prediction depend on, and whether the loss states probabilities.

The prediction of a draw is its class with the least loss. If exp(-loss) of all classes adds up to
one, the loss is minus the logarithm of the probability that the student states for a class.
"""

import sympy as sp

from derive.language.elementary import Sign
from derive.language.label import add_up_to_one
from derive.language.model import Model
from derive.language.notation import family
from derive.passes.channel.visible import gradient_span


def is_separable(model: Model) -> bool:
    """Return whether every term of the loss has the label of one draw at most, so that each draw is
    predicted by itself.
    """
    return all(len(_draws_in(term, model)) <= 1 for term in _terms(model))


def directions(model: Model) -> list[list[list[str]]]:
    """Return for each draw the directions of the index, as rows of exact numbers, that its
    probabilities and its terms of the loss depend on.
    """
    found = []
    for k, draw in enumerate(model.draws):
        of_draw = [term for term in _terms(model) if k in _draws_in(term, model)]
        numbers = sp.Matrix([*draw.probabilities, sum(of_draw)]).replace(Sign, sp.tanh)
        y = dict.fromkeys(family("y", model.label_count), sp.Rational(3, 7))
        slopes = sp.Matrix(numbers).jacobian(model.symbols).subs(y)
        basis = gradient_span(slopes, model.symbols)
        found.append([[str(one) for one in basis.row(i)] for i in range(basis.rows)])
    return found


def is_log_likelihood(model: Model) -> bool:
    """Return whether exp(-loss) of all classes of a draw adds up to one at any index."""
    y = family("y", model.label_count)
    for k, draw in enumerate(model.draws):
        of_draw = sum(term for term in _terms(model) if k in _draws_in(term, model))
        stated = [
            sp.exp(-of_draw.subs({y[n]: v for n, v in zip(draw.numbers, row, strict=True)}))
            for row in draw.values
        ]
        if not add_up_to_one(stated, model.symbols):
            return False
    return True


def _terms(model: Model) -> tuple[sp.Expr, ...]:
    return sp.Add.make_args(sp.expand(model.loss_of_index))


def _draws_in(term: sp.Expr, model: Model) -> set[int]:
    """Return which draws have numbers of the label in a term of the loss."""
    y = family("y", model.label_count)
    return {
        k
        for k, draw in enumerate(model.draws)
        if any(term.has(y[number]) for number in draw.numbers)
    }
