"""Any model: what its samples show, what is closed, and what is refused, against results by
hand.
"""

from dataclasses import replace

import flint
import pytest
import sympy as sp
from hypothesis import given
from hypothesis import strategies as st
from strategies import examples

from derive.code.check import failed_proofs
from derive.code.files import build
from derive.code.proofs.generated_module import load as generated_module
from derive.language.channel import (
    Channel,
    cross_entropy,
    first_row_softmax,
    identity,
    row_softmax,
    square_loss,
)
from derive.language.elementary import Logistic, Softplus, expand_custom_functions
from derive.language.errors import DerivationError, ModelError
from derive.language.index import CrossScores, MaskedScores, SymmetricScores
from derive.language.matrix import Kind, Matrix
from derive.language.notation import sym
from derive.language.setting import setting
from derive.language.stable_forms import stable_form
from derive.models import available, load
from derive.passes.channel import any_channel, block, quadratic, visible
from derive.passes.channel.injective import is_injective
from derive.passes.channel.token_norms import deficit
from derive.passes.free_entropy.saddle_point import reduced
from derive.passes.limits.interpolation import interpolation
from derive.passes.softmax import label_numbers, two_tokens
from derive.pipeline import missing_thresholds, skipped_steps
from derive.scaling import exponent_tables

TIED, CROSS = load("tied_attention"), load("cross_attention")
m, q, V, rho, beta, beta0, lambda_, kappa, T = sym("m q V rho beta beta0 lambda_ kappa T")


def shown(index, output=row_softmax, base=TIED):
    return replace(base, index=index, channel=replace(base.channel, output=output))


def untied(index, output=row_softmax):
    return shown(index, output, CROSS)


@pytest.mark.parametrize(
    ("model", "numbers", "blocks"),
    [
        (shown(SymmetricScores(2)), 2, [(1, 2)]),
        (shown(SymmetricScores(3)), 5, [(1, 5)]),
        (shown(SymmetricScores(1), identity), 1, [(1, 1)]),
        (shown(SymmetricScores(2), identity), 3, [(2, 1), (1, 1)]),
        (shown(SymmetricScores(3), first_row_softmax), 2, [(1, 2)]),
        (untied(CrossScores(2, 2)), 2, [(2, 1)]),
        (untied(CrossScores(3, 2)), 3, [(3, 1)]),
        (untied(CrossScores(2, 3)), 4, [(2, 2)]),
        (untied(CrossScores(2, 2), identity), 4, [(4, 1)]),
        (untied(CrossScores(1, 6)), 5, [(1, 5)]),
        (untied(MaskedScores(3)), 3, [(3, 1)]),
    ],
)
def test_what_a_sample_shows(model, numbers, blocks):
    assert visible.numbers(model) == numbers
    assert [(one.copies, one.size) for one in visible.blocks(model)] == blocks


@pytest.mark.parametrize("tokens", [2, 3])
def test_numbers_of_a_label_are_those_of_tied_rows(tokens):
    assert visible.numbers(shown(SymmetricScores(tokens))) == label_numbers.label_numbers().subs(
        T, tokens
    )


def test_two_tokens_are_one_block_of_the_general_derivation():
    (one,) = visible.blocks(TIED)
    flip = sp.diag(1, -1)  # the other sign of the second visible index
    assert flip * one.covariance * flip == two_tokens.visible_covariance(TIED.index)
    at = dict(zip(sym("u1 u2"), (sp.Rational(2, 3), sp.Rational(-1, 5)), strict=True)) | {
        beta: sp.Rational(3, 2)
    }
    labels = dict(
        zip(sym("y1 y2 y3 y4"), map(sp.Rational, ("1/3", "2/3", "4/5", "1/5")), strict=True)
    )
    general = block.loss(one, TIED).subs(at).subs(labels).evalf(30)
    _, u2, p1, p2 = sym("u1 u2 p1 p2")
    tied = two_tokens.in_indices(two_tokens.compact_loss()).subs(at | {u2: -at[u2]})
    tied = tied.subs({p1: labels[sym("y1")[0]], p2: labels[sym("y4")[0]]})
    assert abs(general - tied.evalf(30)) < 1e-25


def test_a_quadratic_loss_is_averaged_in_closed_form():
    """A loss a (y - h)^2 of a number of variance C per unit: M = a C (q - 2 m + rho)/(1 + 2 a C
    V).
    """
    a = setting("a", "weight of the loss")
    weighted = replace(
        TIED,
        index=SymmetricScores(1),
        channel=Channel(identity, lambda o, y: a * square_loss(o, y)),
    )
    (one,) = visible.blocks(weighted)
    expected = 2 * a * (q - 2 * m + rho) / (1 + 4 * a * V)
    found = quadratic.closed_losses(one, weighted)["M"].subs(deficit, 0)
    assert sp.simplify(found - expected) == 0


def test_noise_on_the_label_adds_to_a_closed_average():
    (Delta,) = sym("Delta")
    noisy = replace(
        TIED, index=SymmetricScores(1), channel=Channel(identity, square_loss, noise_on_label=Delta)
    )
    (one,) = visible.blocks(noisy)
    found = quadratic.closed_losses(one, noisy)["M"].subs(deficit, 0)
    assert sp.simplify(found - (2 * (q - 2 * m + rho) + Delta) / (1 + 4 * V)) == 0


def test_noise_on_the_label_of_a_quadratic_network_is_noise_inside_its_index():
    """One number of variance two per unit: Delta on the label is Delta/2 per unit of the index, to
    every digit.
    """
    (Delta,) = sym("Delta")
    inside, outside = (
        replace(
            TIED,
            index=SymmetricScores(1),
            channel=Channel(identity, square_loss, **{kind: variance}),
        )
        for kind, variance in (("noise_inside", Delta / 2), ("noise_on_label", Delta))
    )
    found = [quadratic.averages(model) for model in (inside, outside)]
    for name in ("M", "train", "test"):
        assert sp.simplify(found[0][name].subs(rho, rho + Delta / 2) - found[1][name]) == 0


@pytest.mark.parametrize(
    ("loss", "determined"),
    [(square_loss, True), (cross_entropy, True), (lambda o, y: o[0] ** 2 - o[0] * y[0], False)],
)
def test_which_labels_determine_the_index(loss, determined):
    """Square loss and cross-entropy are least where the student's index is that of the label:
    thresholds are theirs alike.
    """
    model = replace(TIED, channel=Channel(row_softmax, loss, beta, beta0))
    assert any_channel.label_determines_index(model) is determined


def test_interpolation_does_not_depend_on_the_loss():
    assert interpolation(load("tied_attention_cross_entropy")) == interpolation(TIED)


@pytest.mark.parametrize("name", available())
def test_slope_and_curvature_of_each_block_are_differences_of_its_loss(name):
    model = load(name)
    for one in visible.blocks(model):
        cost = block.loss(one, model)
        values = {
            symbol: sp.Rational(1 + k, 7)
            for k, symbol in enumerate(sorted(cost.free_symbols, key=str))
        }
        (u,) = sym("u1")
        derivative = sp.diff(cost, u).subs(values).evalf(20)
        step = sp.Rational(1, 10**6)
        difference = (
            cost.subs(values | {u: values[u] + step}) - cost.subs(values | {u: values[u] - step})
        ) / (2 * step)
        assert abs(derivative - difference.evalf(20)) < 1e-9


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda: Matrix(Kind.POSITIVE), "no penalty"),
        (lambda: Matrix(Kind.POSITIVE, linear=sp.Float(0.5)), "floats"),
        (lambda: Matrix(Kind.POSITIVE, linear=-lambda_), "negative"),
        (lambda: Matrix(Kind.POSITIVE, quadratic=lambda_, rank_ratio=kappa), "rank_ratio"),
        (
            lambda: Matrix(Kind.POSITIVE, linear=1),
            "linear = 1 does not vanish with the weight decay lambda_",
        ),
        (
            lambda: Matrix(Kind.POSITIVE, linear=1 + lambda_),
            "does not vanish with the weight decay",
        ),
        (
            lambda: Matrix(Kind.POSITIVE, linear=kappa, quadratic=kappa),
            "have no weight decay lambda_",
        ),
        (lambda: Matrix(Kind.POSITIVE, quadratic=lambda_), "gives positive matrices no threshold"),
        (lambda: SymmetricScores(0), "tokens = 0"),
        (lambda: CrossScores(2, 1.5), "keys = 1.5"),
        (lambda: Channel(identity, square_loss, beta=sp.Integer(0)), "beta = 0"),
        (lambda: replace(TIED, target=CROSS.target), "negative eigenvalues"),
        (lambda: replace(CROSS, target=TIED.target), "z(-g)"),
        (lambda: replace(CROSS, index=SymmetricScores(2)), "unequal noise"),
        (
            lambda: replace(TIED, channel=Channel(lambda h: [sp.Integer(1)], square_loss)),
            "does not depend",
        ),
    ],
)
def test_what_is_no_theory_is_refused_in_one_line(build, words):
    with pytest.raises(
        ModelError, match="(?s)" + words.replace("(", r"\(").replace(")", r"\)")
    ) as refused:
        build()
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    "linear", [1, sp.sqrt(kappa), kappa * lambda_, setting("aa", "share") * sp.sqrt(kappa)]
)
def test_the_threshold_takes_the_place_of_any_linear_penalty(linear):
    """It took that of one setting, and what had none, or the last one by name elsewhere too, was
    said to be an untaken limit.
    """
    orders = [
        reduced(
            replace(TIED, matrix=Matrix(Kind.POSITIVE, one, quadratic=lambda_, rank_ratio=kappa))
        )
        for one in (linear, setting("own", "the whole"))
    ]
    assert dict(orders[0]) == dict(orders[1])


def test_directions_that_are_no_rational_ones_are_refused():
    odd = shown(SymmetricScores(2), lambda h: [sp.tanh(h[0, 0] + sp.sqrt(2) * h[1, 1])])
    with pytest.raises(DerivationError, match="sums of indices"):
        visible.visible_map(odd)


def test_coefficients_are_recognised_or_refused():
    assert visible._rational(sp.Rational(3, 7).evalf(40)) == sp.Rational(3, 7)
    with pytest.raises(DerivationError):
        visible._rational(sp.pi.evalf(40))


def test_a_constant_in_the_loss_is_kept_once():
    """It was dropped, being in no block, and training errors were off by it."""

    def huber(o, y):
        return sum(sp.sqrt(1 + (one - other) ** 2) - 1 for one, other in zip(o, y, strict=True))

    model = replace(TIED, index=SymmetricScores(2), channel=Channel(identity, huber))
    fitted = {
        one: [block.loss(one, model).subs(dict(zip(sym("u1 y1 y2"), (1, 1, 1), strict=True)))]
        for one in visible.blocks(model)
    }
    assert sum(one.copies * value for one, (value,) in fitted.items()) == 0


def test_an_output_that_loses_the_sign_determines_no_index():
    """Its thresholds were printed as if it did: the slope of the loss vanishes at the label's own
    index, but also at minus it.
    """
    base = load("quadratic_network")
    for output, determines in (
        (lambda h: [h[0, 0] ** 2], False),
        (lambda h: [sp.tanh(h[0, 0])], True),
    ):
        model = replace(base, name="other", channel=replace(base.channel, output=output))
        assert any_channel.label_determines_index(model) is determines
        assert bool(missing_thresholds(model)) is not determines


@pytest.mark.parametrize(
    "name", ["tied_attention", "cross_attention", "untied_attention", "linear_attention"]
)
def test_shipped_outputs_determine_the_index(name):
    assert all(is_injective(one, load(name)) for one in visible.blocks(load(name)))


def test_a_setting_may_stand_in_the_output():
    """Visible directions are found at its reference values, and it is an argument of label and
    loss.
    """
    gain = setting("gain", "slope of the output")
    base = load("quadratic_network")
    model = replace(
        base,
        name="other",
        channel=replace(base.channel, output=lambda h: [sp.tanh(gain * h[0, 0])]),
    )
    (only,) = visible.blocks(model)
    assert model.channel_settings == (gain,)
    label = next(one for one in block.functions(1, only, model) if one.name == "block1_label")
    assert gain in label.inputs


@pytest.mark.identity
@given(queries=st.integers(1, 3), keys=st.integers(2, 3))
@examples(2)
def test_every_query_of_cross_attention_is_a_block_of_its_keys(queries, keys):
    """As many copies as queries, of one number less than keys, correlated as differences to one of
    them are.
    """
    model = untied(CrossScores(queries, keys))
    (one,) = visible.blocks(model)
    assert (one.copies, one.size, visible.numbers(model)) == (
        queries,
        keys - 1,
        queries * (keys - 1),
    )
    assert one.covariance.is_symmetric() and one.covariance.det() != 0
    (alone,) = visible.blocks(untied(CrossScores(1, keys)))
    assert alone.covariance == one.covariance


@pytest.mark.identity
@given(queries=st.integers(1, 4), keys=st.integers(1, 4))
@examples(4)
def test_scores_of_other_tokens_are_one_problem_each_under_a_linear_output(queries, keys):
    """M is a sum over blocks: queries times keys that of one score, C = 1."""
    model = untied(CrossScores(queries, keys), identity)
    (one,) = visible.blocks(model)
    assert (one.copies, one.size) == (queries * keys, 1)
    found = quadratic.averages(replace(model, channel=Channel(identity, square_loss)))["M"]
    assert sp.simplify(found - queries * keys * (q - 2 * m + rho) / (1 + 2 * V)) == 0


@pytest.mark.identity
@given(tokens=st.integers(1, 4))
@examples(3)
def test_tied_scores_under_a_linear_output_are_a_sum_over_entries(tokens):
    """T of variance two on the diagonal, T (T - 1)/2 of variance one that are shown twice: a = 1
    and a = 2.
    """
    found = quadratic.averages(
        replace(shown(SymmetricScores(tokens), identity), channel=Channel(identity, square_loss))
    )
    distance, others = q - 2 * m + rho, tokens * (tokens - 1) // 2
    expected = distance * (2 * tokens / (1 + 4 * V) + others * 2 / (1 + 4 * V))
    assert sp.simplify(found["M"] - expected) == 0


@pytest.mark.identity
@given(tokens=st.integers(2, 3))
@examples(2)
def test_tied_scores_of_any_tokens_have_diagonal_and_other_entries(tokens):
    """T of variance two and T (T - 1)/2 of variance one; softmax rows lose one number in all."""
    linear = visible.blocks(shown(SymmetricScores(tokens), identity))
    variances = sorted((int(one.covariance[0]), one.copies) for one in linear)
    assert variances == [(1, tokens * (tokens - 1) // 2), (2, tokens)]
    assert visible.numbers(shown(SymmetricScores(tokens))) == tokens * (tokens + 1) // 2 - 1
    assert visible.numbers(shown(SymmetricScores(tokens), first_row_softmax)) == tokens - 1


h, g, k, y = sp.symbols("h g k y", real=True)
X = h - y


@pytest.mark.parametrize(
    ("written", "stable"),
    [
        (1 / (1 + sp.exp(-h)), Logistic(h)),
        (sp.exp(h) / (1 + sp.exp(h)), Logistic(h)),
        (2 / (1 + sp.exp(-2 * h)) - 1, 2 * Logistic(2 * h) - 1),
        (sp.exp(beta * h) / (sp.exp(beta * h) + sp.exp(beta * g)), Logistic(beta * (h - g))),
        (sp.exp(h) / (sp.exp(h) + sp.exp(g) + sp.exp(k)), 1 / (1 + sp.exp(g - h) + sp.exp(k - h))),
        (sp.log((sp.exp(X) + sp.exp(-X)) / 2), Softplus(2 * X) - X - sp.log(2)),
        (sp.log(sp.cosh(X)), Softplus(2 * X) - X - sp.log(2)),
        (sp.log(sp.exp(h) + sp.exp(g)), g + Softplus(h - g)),
        (sp.log(1 - Logistic(h)), -Softplus(h)),
        (-sp.log(1 / (1 + sp.exp(-h))), Softplus(-h)),
        (sp.sinh(h) / sp.cosh(h), sp.tanh(h)),
        (1 - sp.exp(-(h**2)), (1 + sp.exp(-(h**2))) * sp.tanh(h**2 / 2)),
        ((h - y) ** 2 + sp.log(1 + h**2), (h - y) ** 2 + sp.log(1 + h**2)),
    ],
    ids=str,
)
def test_sums_of_exponentials_get_forms_that_do_not_overflow(written, stable):
    found = stable_form(written)
    assert sp.expand(found - stable) == 0 or sp.expand(found - stable.xreplace({h: g, g: h})) == 0


@given(
    st.lists(st.tuples(st.integers(1, 5), st.integers(-3, 3)), min_size=2, max_size=4),
    st.integers(-6, 6),
)
@examples(25)
def test_a_stable_form_is_the_logarithm_of_any_sum_of_exponentials(terms, point):
    written = sp.log(sp.Add(*(c * sp.exp(u * h) for c, u in terms)))
    value = expand_custom_functions(stable_form(written)).subs(h, sp.Rational(point, 2))
    assert abs(sp.N(value - written.subs(h, sp.Rational(point, 2)), 30)) < 1e-25


def test_constants_are_generated_in_every_language():
    """`log(2)` called the logarithm of an integer, and 1/3 was refused."""
    constant = (
        sp.log(2) + sp.pi / 3 + sp.sqrt(3) + sp.E + sp.Rational(1, 3) + sp.log(sp.Rational(3, 4))
    )
    plain = load("quadratic_network")
    model = replace(
        plain,
        name="constants",
        channel=replace(plain.channel, output=lambda at: [constant + sp.tanh(at[0])]),
    )
    files = dict(build(model))
    problems = [problem for _, problem in failed_proofs(model, files)]
    assert not [one for one in problems if "no value" not in one]  # none are stored
    (expected,) = model.output_of_index.subs(model.symbols[0], sp.Rational(1, 2))
    for language, number in (("balls", flint.arb("0.5")), ("float64", 0.5)):
        module = generated_module(files[f"{language}.py"])
        assert float(module.index_label(number)) == pytest.approx(float(expected), rel=1e-14)


def test_noise_on_the_label_alone_has_the_exponents_of_noise_on_the_index():
    plain = load("quadratic_network")
    eta = setting("eta_y", "variance of the noise on the label", samples="1/20 1/10 1/2")
    alone = replace(plain.channel, noise_inside=sp.S.Zero, noise_on_label=eta)
    model = replace(plain, name="label_noise", channel=alone)
    assert exponent_tables.record(model) == exponent_tables.record(plain)


def test_a_model_whose_balances_are_degenerate_says_so_and_is_derived():
    plain = load("quadratic_network")
    model = replace(plain, name="quiet", channel=replace(plain.channel, noise_inside=sp.S.Zero))
    assert "balances are degenerate: gamma" in exponent_tables.missing(model)
    assert exponent_tables.axes(model) == []
    assert any("degenerate" in reason for _, reason in skipped_steps(model))
