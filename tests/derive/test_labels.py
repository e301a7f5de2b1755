"""Labels of their own: draws, their classes, and the pieces of functions with kinks."""

from dataclasses import replace

import pytest
import sympy as sp

from derive.language.channel import (
    Channel,
    hard_attention,
    hinge_loss,
    identity,
    logistic_loss,
    row_softmax,
    sign,
)
from derive.language.elementary import Sign
from derive.language.index import CrossScores, SymmetricScores
from derive.language.pieces import in_signs, pieces
from derive.language.setting import setting
from derive.models.cross_attention_cross_entropy import MODEL as CROSS
from derive.models.quadratic_network import MODEL as QUADRATIC
from derive.models.tied_attention_cross_entropy import MODEL as TIED
from derive.passes.channel import block, draws
from derive.passes.channel.visible import blocks

x, y = sp.symbols("x y", real=True)
p = setting("p", "share of flipped labels", "1/10 1/5 3/10", "(0, 1)")


def of(base, **channel):
    return replace(base, name="tried", title="tried", channel=replace(base.channel, **channel))


@pytest.mark.parametrize(
    ("function", "at", "value"),
    [
        (sp.Abs(x - 1), -2, 3),
        (sp.Max(x, 1 - x), 2, 2),
        (sp.Max(x, 1, -x), sp.Rational(1, 2), 1),
        (sp.Min(x, 3), 5, 3),
        (sp.Heaviside(x), -1, 0),
        (sp.sign(x) * x, -4, 4),
        (sp.Abs(x) ** 2, -3, 9),
        (sp.Max(0, 1 - sp.Abs(x - 1)), sp.Rational(1, 2), sp.Rational(1, 2)),
        (sp.Piecewise((x**2, sp.Abs(x) < 1), (2 * sp.Abs(x) - 1, True)), -3, 5),
        (
            sp.Piecewise((1, x < 0), (x, (x >= 0) & (x < 2)), (7, True)),
            sp.Rational(3, 2),
            sp.Rational(3, 2),
        ),
        (sp.Piecewise((1, x < 0), (x, (x >= 0) & (x < 2)), (7, True)), 3, 7),
        (sp.Piecewise((1, (x < -1) | (x > 1)), (0, True)), 2, 1),
    ],
)
def test_functions_with_kinks_are_written_with_signs(function, at, value):
    found = in_signs("test", function)
    assert found.atoms(sp.Function) <= found.atoms(Sign)
    assert found.subs(x, at) == value


def test_a_slope_is_that_of_the_piece():
    assert sp.simplify(in_signs("test", sp.Abs(x)).diff(x) - Sign(x)) == 0
    assert Sign(-2 * x) == -Sign(x)
    assert [value for _, value in pieces(in_signs("test", sp.Max(0, x)))] == [0, x]


def test_signs_are_one_draw_for_each_score():
    model = of(QUADRATIC, label=sign, loss=logistic_loss)
    (one,) = model.draws
    assert one.values == ((-1,), (1,))
    h = model.symbols[0]
    assert [chance.subs(h, -1) for chance in one.probabilities] == [1, 0]


def test_the_largest_score_of_each_row_is_one_draw():
    model = of(TIED, label=hard_attention)
    assert [one.numbers for one in model.draws] == [(0, 1), (2, 3)]
    three = of(replace(TIED, index=SymmetricScores(3)), label=hard_attention)
    assert [one.numbers for one in three.draws] == [(0, 1, 2), (3, 4, 5), (6, 7, 8)]
    at = dict(zip(three.symbols, (3, 1, 2, 5, 4, 6), strict=True))  # h11 h12 h13 h22 h23 h33
    assert [[chance.subs(at) for chance in one.probabilities] for one in three.draws] == [
        [1, 0, 0],
        [0, 1, 0],
        [0, 0, 1],
    ]


def test_flips_go_to_each_other_class_alike():
    clean = of(CROSS, label=hard_attention)
    flipped = of(CROSS, label=hard_attention, flips=p)
    for one, other in zip(clean.draws, flipped.draws, strict=True):
        for chance, changed in zip(one.probabilities, other.probabilities, strict=True):
            assert sp.expand(changed - (1 - p) * chance - p * (1 - chance)) == 0
    wide = of(replace(CROSS, index=CrossScores(1, 3)), drawn=row_softmax, flips=p)
    (draw,) = wide.draws
    assert sp.simplify(sum(draw.probabilities) - 1).subs(dict.fromkeys(wide.symbols, 1)) == 0


def test_blocks_have_the_draws_of_their_terms():
    """Rows of cross attention are independent: two copies of one index with one draw."""
    (one,) = blocks(of(CROSS, drawn=row_softmax))
    assert (one.copies, one.size, len(one.draws)) == (2, 1, 1)
    (both,) = blocks(of(TIED, drawn=row_softmax))
    assert (both.copies, both.size, len(both.draws)) == (1, 2, 2)
    assert len(block.classes(both, of(TIED, drawn=row_softmax))) == 4


def test_which_losses_state_probabilities_is_derived():
    assert draws.is_log_likelihood(of(QUADRATIC, label=sign, loss=logistic_loss))
    assert not draws.is_log_likelihood(of(QUADRATIC, label=sign, loss=hinge_loss))
    assert draws.is_log_likelihood(of(TIED, drawn=row_softmax))


def test_a_draw_is_predicted_along_its_own_direction():
    assert draws.directions(of(TIED, drawn=row_softmax)) == [[["1", "-1", "0"]], [["0", "1", "-1"]]]


def test_a_label_that_is_the_output_changes_nothing():
    """Stated or not: the same label, the same draws (none), another specification."""
    stated = replace(QUADRATIC, channel=replace(QUADRATIC.channel, label=identity))
    assert stated.label_of_index == QUADRATIC.label_of_index
    assert blocks(stated) == blocks(QUADRATIC)
    assert isinstance(stated.channel, Channel) and not stated.draws
