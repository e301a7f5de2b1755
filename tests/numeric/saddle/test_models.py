"""Every generated model solved: check values, derivatives of the free entropy, samples by brute
force, laws of either sign.
"""

import json
import pickle
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy.integrate import quad
from strategies import examples, log_uniform

from attention_erm.runtime.errors import InvalidParameter
from numeric import model as models
from numeric.channel import block_average
from numeric.channel.block_minima import lowest_minimiser
from numeric.channel.block_sample import BlockSample
from numeric.laws.marchenko_pastur import MarchenkoPastur
from numeric.laws.rational_target import RationalTarget
from numeric.problem.fields import Fields
from numeric.problem.problem import Problem
from numeric.problem.solution import Status
from numeric.saddle.estimator import spectral_energy
from numeric.saddle.solve import solve

ROWS = json.loads((Path(__file__).parents[2] / "check_values_models.json").read_text())
NAMES = {
    "quadratic network": "quadratic_network",
    "signed quadratic network": "signed_quadratic_network",
    "linear attention, T=2": "linear_attention",
    "cross attention, 2 queries, 2 keys": "cross_attention",
    "cross attention, cross-entropy": "cross_attention_cross_entropy",
    "first row of tied attention, T=2": "first_row_attention",
    "tied attention, cross-entropy, T=2": "tied_attention_cross_entropy",
}
KEYS = {"train": "train_error", "test": "test_error", "e": "free_entropy"}
WRITTEN = 2e-6  # relative: the independent solver states about six digits
BLOCKS = [name for name in models.available() if models.structure(name).channel == "blocks"]


def target(name, kappa0):
    if not models.structure(name).has_negative_eigenvalues:
        return MarchenkoPastur(kappa0)
    return RationalTarget.of(name, kappa0=kappa0, positive=0.5, scale=1.0)


def problem(name, alpha=1.0, kappa0=0.5, lambda_=0.05, noise=0.5, **others):
    return Problem(alpha, target(name, kappa0), lambda_, noise, model=name, **others)


def named(row):
    """Its model and alpha; two points of one channel that takes seconds are one in a quick run."""
    name = f"{row['model']} {row['alpha']}"
    return pytest.param(
        row,
        marks=[pytest.mark.slow] if name == "tied attention, cross-entropy, T=2 0.2" else [],
        id=name,
    )


@pytest.mark.parametrize("row", [named(row) for row in ROWS])
def test_check_values(row):
    name, temperatures = (
        NAMES[row["model"]],
        {key: row[key] for key in ("beta", "beta0") if key in row},
    )
    asked = problem(
        name, row["alpha"], row["kappa0"], row["lambda_"], 2 * row["noise_per_unit"], **temperatures
    )
    found = solve(asked).unwrap()
    for key in ("m", "q", "V", "mh", "qh", "Vh", "b", "c", "train", "test", "e"):
        quantity = KEYS.get(key, key)
        value, bar = getattr(found, quantity), found.errors[quantity]
        assert abs(value - row[key]) < WRITTEN * abs(row[key]) + 2 * bar, key
    assert found.delta**2 == pytest.approx(
        row["v"], rel=WRITTEN + 4 * found.relative_error(("delta",))
    )


def test_every_shipped_model_has_been_tried():
    others = {
        "tied_attention",
        "tied_attention_two_bulks",
        "elastic_attention",
        "label_noise_attention",
        "direct_symmetric",
        "direct_general",
        "untied_attention",
        "sign_quadratic_logistic",
        "sign_quadratic_hinge",
        "hard_attention_cross_entropy",
        "drawn_attention_cross_entropy",
        "phase_retrieval",
        "signed_phase_retrieval",
    }  # below, and elsewhere
    assert set(models.available()) == others | set(NAMES.values())


def slope(of, at, step):
    """Central difference of the free entropy."""
    high, low = (solve(of(at + side * step)).unwrap().free_entropy for side in (1, -1))
    return (high - low) / (2 * step)


def test_the_free_entropy_falls_with_a_frobenius_penalty_by_the_norm():
    """It is stationary: de/dmu is the cost of unit weight, tr S^2/d."""
    at = problem("elastic_attention", extra=(("mu", 0.05),))
    assert slope(lambda mu: replace(at, extra=(("mu", mu),)), 0.05, 1e-3) == pytest.approx(
        solve(at).q, rel=1e-4
    )
    direct = problem("direct_symmetric")
    assert slope(lambda decay: replace(direct, lambda_=decay), 0.05, 1e-3) == pytest.approx(
        solve(direct).q, rel=1e-4
    )


@pytest.mark.parametrize("name", ["quadratic_network", "signed_quadratic_network"])
def test_the_free_entropy_grows_with_the_samples_by_the_envelope(name):
    """De/dalpha = M, for one number of variance two M = 2 (q - 2 m + rho)/(1 + 4 V)."""
    at = problem(name, 0.5)
    found = solve(at).unwrap()
    M = 2 * (found.q - 2 * found.m + at.rho) / (1 + 4 * found.V)
    assert slope(lambda alpha: replace(at, alpha=alpha), 0.5, 1e-3) == pytest.approx(M, rel=1e-5)


def test_no_frobenius_penalty_is_tied_attention():
    alone = solve(Problem(1.0, MarchenkoPastur(0.5), 0.05, 0.5)).unwrap()
    elastic = solve(problem("elastic_attention", extra=(("mu", 0.0),))).unwrap()
    assert (elastic.m, elastic.q, elastic.V) == pytest.approx((alone.m, alone.q, alone.V), rel=1e-9)


def test_direct_training_as_a_model_is_that_of_the_parametrisation():
    alone = solve(
        Problem(1.0, MarchenkoPastur(0.5), 0.05, 0.5, parametrisation="symmetric")
    ).unwrap()
    model = solve(problem("direct_symmetric")).unwrap()
    assert (model.m, model.q, model.free_entropy) == pytest.approx(
        (alone.m, alone.q, alone.free_entropy), rel=1e-7
    )


@pytest.mark.parametrize("name", BLOCKS)
def test_slopes_are_differences_of_the_loss(name):
    sample, rng = BlockSample(name, 1, (("beta", 1.3), ("beta0", 0.8))), np.random.default_rng(1)
    u, z = rng.normal(size=(2, sample.indices, 50))
    if sample.classes:
        y = sample.class_labels.T[:, rng.integers(sample.classes, size=50)]
    else:
        y = sample.label(z)
    for k in range(sample.indices):
        step = 1e-5 * np.eye(sample.indices)[k][:, None]
        by_loss = (sample.loss(u + step, y) - sample.loss(u - step, y)) / 2e-5
        by_slope = (sample.gradient(u + step, y) - sample.gradient(u - step, y)) / 2e-5
        assert sample.gradient(u, y)[k] == pytest.approx(by_loss, abs=1e-8)
        assert sample.hessian(u, y)[k] == pytest.approx(by_slope, abs=1e-8)


@pytest.mark.parametrize("name", ["first_row_attention", "cross_attention"])
@pytest.mark.parametrize(
    "V",
    [pytest.param(1.0, marks=pytest.mark.slow), 20.0, pytest.param(300.0, marks=pytest.mark.slow)],
)
@pytest.mark.parametrize(
    "overlaps",
    [(0.3, 5.0), pytest.param((0.9, 0.8), marks=pytest.mark.slow)],
    ids=["jumps", "none"],
)
def test_one_visible_index_by_brute_force(name, V, overlaps):
    """The minimum over a fine grid of u at 250 x 250 fields: the jumps are where they are found.

    The least of a grid of step h is above the minimum by h^2/24 times the curvature on average,
    which is below 1/2.
    """
    sample, fields = (
        BlockSample(name, 1, (("beta", 1.0), ("beta0", 1.0))),
        Fields.of(*overlaps, 1.4),
    )
    x = np.linspace(-6, 6, 250)
    weights = np.exp(-(x**2) / 2) / np.exp(-(x**2) / 2).sum()
    C, u = float(sample.covariance[0, 0]), np.linspace(-25, 25, 5001)
    total = 0.0
    for one, share in zip(x, weights, strict=True):
        y = sample.label(np.array([[fields.target * np.sqrt(C) * one]]))
        w = np.sqrt(C) * (fields.teacher * one + fields.independent * x)
        energy = sample.loss(u[None, :], np.repeat(y, len(u), axis=1)) + (u - w[:, None]) ** 2 / (
            2 * V * C
        )
        total += share * weights @ energy.min(axis=1)
    found = block_average.block_means(sample, fields, V, block_average.Nodes(80))
    excess = sample.copies * total - (found.train + found.R / (2 * V))
    assert -1e-4 * found.train < excess < sample.copies * 0.01**2 / 48 + 1e-4 * found.train


@pytest.mark.parametrize("name", ["first_row_attention", "cross_attention"])
def test_pieces_end_where_two_minima_tie(name):
    """To rounding: bisection alone would leave a hundredth of the scan, over which the energies
    part.
    """
    sample, fields, V = (
        BlockSample(name, 1, (("beta", 1.0), ("beta0", 1.0))),
        Fields.of(0.3, 5.0, 1.4),
        20.0,
    )
    labels, gaps = np.linspace(-2, 2, 9), []
    ends = block_average._jumps(sample, fields, V, labels)[1:-1]
    for label, place in (
        (label, place) for label, column in zip(labels, ends.T, strict=True) for place in column
    ):

        def at(unseen, label=label):
            return block_average._fields(sample, fields, *map(np.atleast_2d, (label, unseen)))

        below, above = (lowest_minimiser(sample, *at(place + side), V) for side in (-1e-4, 1e-4))
        if abs(above - below).max() > 0.5:
            w, y, _ = at(place)
            one, other = (sample.minimiser(start, w, y, V) for start in (below, above))
            gaps.append(abs(sample.energy(one, w, y, V) - sample.energy(other, w, y, V)).max())
    assert len(gaps) >= len(labels) and max(gaps) < 1e-12


def test_a_minimum_neither_at_rest_nor_at_the_fit_is_found():
    """Where an output saturates before the index of the label the loss is low on the way: two
    starts alone missed it.
    """

    class Saturating(BlockSample):
        indices, copies, covariance = 1, 1, np.array([[2.0]])

        def label(self, z):
            return np.tanh(z)

        def loss(self, u, y):
            return np.sqrt(1 + (np.tanh(u[0]) - y[0]) ** 2) - 1

        def gradient(self, u, y):
            gap = np.tanh(u) - y
            return gap / np.sqrt(1 + gap**2) / np.cosh(u) ** 2

        def hessian(self, u, y):
            up, down = (self.gradient(u + side * 1e-6, y) for side in (1, -1))
            return ((up - down) / 2e-6)[None]

    sample, V, u = Saturating("tied_attention", 1, ()), 2.0, np.linspace(-25, 25, 5001)
    rng = np.random.default_rng(4)
    w, z = 2 * rng.normal(size=(2, 1, 400))
    found = lowest_minimiser(sample, w, sample.label(z), z, V)
    least = [
        np.min(sample.loss(u[None, :], sample.label(z)[:, [k]]) + (u - w[0, k]) ** 2 / (4 * V))
        for k in range(400)
    ]
    assert np.all(sample.energy(found, w, sample.label(z), V) < np.array(least) + 1e-6)


def test_a_solved_problem_can_be_sent_to_another_process():
    """Workers could not be given a problem that the theory had been solved at before: its target
    held a module.
    """
    asked = problem("linear_attention")
    found = solve(asked)
    assert pickle.loads(pickle.dumps(asked)) == asked
    assert pickle.loads(pickle.dumps(found)).m == found.m


LAWS = st.one_of(
    st.builds(
        lambda k, p: RationalTarget("signed_quadratic_network", (k, p, 1.0)),
        st.floats(0.1, 1.5),
        st.floats(0.05, 0.95),
    ),
    st.builds(lambda k: RationalTarget("cross_attention", (k, 1.0)), st.floats(0.1, 1.5)),
    st.builds(
        lambda k: RationalTarget("tied_attention_two_bulks", (k, 0.2, 1.0, 2.0)),
        st.floats(0.1, 0.7),
    ),
)


@pytest.mark.identity
@examples(6)
@given(law=LAWS, v=log_uniform(1e-2, 3.0), place=st.floats(0, 1), reflected=st.booleans())
def test_closed_forms_of_jumps_of_either_sign_are_integrals_of_the_density(
    law, v, place, reflected
):
    law = law.mirrored if reflected else law
    support = law.support(v)
    b = support[0][0] + place * 0.95 * (support[-1][1] - support[0][0])

    def integral(weight):
        pieces = [(max(low, b), high) for low, high in support if high > b]
        return sum(
            quad(
                lambda x: weight(x) * float(law.density(v, np.array([x]))[0]), low, high, limit=200
            )[0]
            for low, high in pieces
        )

    found = law.values(v, b)
    assert found.mass == pytest.approx(integral(lambda x: 1.0), abs=1e-6)
    assert pytest.approx(integral(lambda x: (x - b) ** 2), abs=1e-6) == found.J
    assert found.J_b == pytest.approx(integral(lambda x: 2 * (b - x)), abs=1e-6)


@pytest.mark.identity
@examples(30)
@given(
    kappa0=st.floats(0.1, 1.5),
    positive=st.floats(0.02, 0.98),
    v=log_uniform(1e-3, 3),
    depth=log_uniform(1e-5, 0.9),
)
@example(kappa0=0.1, positive=0.84, v=8.2e-3, depth=1e-3)
def test_a_mirrored_law_is_that_of_the_other_signs(kappa0, positive, v, depth):
    """Near its upper edge it was all of the law less what lies below, and J lost all digits: 1e-2
    at 1e-4 of the support.
    """
    mirrored = RationalTarget("signed_quadratic_network", (kappa0, positive, 1.0)).mirrored
    other = RationalTarget("signed_quadratic_network", (kappa0, 1 - positive, 1.0))
    (low, _), (_, high) = other.support(v)[0], other.support(v)[-1]
    x = high - depth * (high - low)
    assert list(mirrored.values(v, x)) == pytest.approx(list(other.values(v, x)), rel=4e-9)


@pytest.mark.identity
@examples(20)
@given(
    law=LAWS,
    v=log_uniform(1e-2, 3.0),
    place=st.floats(0.05, 0.9),
    s=log_uniform(0.3, 3.0),
    reflected=st.booleans(),
)
def test_the_energy_of_any_law_scales_with_the_target(law, v, place, s, reflected):
    """Of degree two in s, b and the root of v; parts of a target are scaled together, which they
    were not.
    """
    law = law.mirrored if reflected else law
    support = law.support(v)
    b = support[0][0] + place * (support[-1][1] - support[0][0])
    here, there = law.values(v, b), law.scaled(s).values(s**2 * v, s * b)
    assert list(there) == pytest.approx(
        [s**2 * here.J, here.J_v, s * here.J_b, here.J_bv / s, here.mass], rel=1e-7, abs=1e-9
    )


@pytest.mark.identity
@examples(20)
@given(law=LAWS, v=log_uniform(5e-2, 3.0), place=st.floats(0.05, 0.85), reflected=st.booleans())
def test_the_energy_of_any_law_obeys_its_differential_equation(law, v, place, reflected):
    """J_v, J_b, J_bv and the mass, 2 of which is J_bb, are each other's derivatives: Burgers'
    equation for the law.
    """
    law = law.mirrored if reflected else law
    support = law.support(v)
    b, h = support[0][0] + place * (support[-1][1] - support[0][0]), 1e-4
    here = law.values(v, b)
    later, sooner = law.values(v * (1 + h), b), law.values(v * (1 - h), b)
    above, below = law.values(v, b + h), law.values(v, b - h)
    size = b**2 + v + law.q0

    def by_v(name):
        return (getattr(later, name) - getattr(sooner, name)) / (2 * h * v)

    def by_b(name):
        return (getattr(above, name) - getattr(below, name)) / (2 * h)

    assert here.J_v == pytest.approx(by_v("J"), abs=2e-3 * size / v)
    assert here.J_b == pytest.approx(by_b("J"), abs=2e-3 * size)
    assert here.J_bv == pytest.approx(
        by_b("J_v"), abs=2e-2 * size / v
    )  # a square root at edges inside
    assert here.J_bv == pytest.approx(by_v("J_b"), abs=2e-2 * size / v)
    assert here.mass == pytest.approx(by_b("J_b") / 2, abs=2e-2 * size)


@pytest.mark.identity
@examples(20)
@given(law=LAWS, v=log_uniform(1e-2, 3.0), reflected=st.booleans())
def test_left_of_any_law_the_energy_is_that_of_moments(law, v, reflected):
    """Means add and variances add, as free cumulants do."""
    law = law.mirrored if reflected else law
    b = law.support(v)[0][0] - 0.5
    found = law.values(v, b)
    expected = (law.q0 + v - 2 * b * law.t0 + b**2, 1.0, -2 * (law.t0 - b), 0.0, 1.0)
    assert list(found) == pytest.approx(list(expected), abs=1e-8 * (b**2 + v + law.q0) / v)


@pytest.mark.identity
@given(kappa0=st.floats(0.1, 1.5), v=log_uniform(1e-3, 10))
@examples(20)
def test_without_a_threshold_both_ends_hold_the_second_moment(kappa0, v):
    asked = problem("cross_attention", kappa0=kappa0)
    nearly = spectral_energy(asked, v, 1e-12)
    assert pytest.approx(asked.q0 + v, rel=1e-8) == nearly.J
    assert nearly.J_v == pytest.approx(1.0, rel=1e-8)


@pytest.mark.parametrize("other", [(1.0, 1.0, 1.0, 1.0), (0.25, 1.0, 0.5, 1.0 + 1e-13)])
def test_two_parts_of_one_size_are_refused(other):
    """A division by zero before, and a support that went to -10^8 close to it: they are one of the
    sum of their ranks.
    """
    with pytest.raises(InvalidParameter, match="two parts of one size"):
        RationalTarget("tied_attention_two_bulks", other)
    near = RationalTarget("tied_attention_two_bulks", (0.25, 1.0, 0.5, 1.0 + 1e-6))
    alone = MarchenkoPastur(1.25, 1.25**0.5)
    for v, x in ((0.3, 0.7), (1.0, 3.0)):
        assert list(near.values(v, x)) == pytest.approx(list(alone.values(v, x)), rel=1e-5)


def test_the_symmetrised_law_is_that_of_random_matrices():
    """Singular values of S0 + sqrt(v) G, S0 a product of factors, d = 400: energies scatter by
    1/d.
    """
    dim, kappa0, v, b, rng = 400, 0.5, 0.3, 0.4, np.random.default_rng(3)
    rank = int(kappa0 * dim)
    energies = []
    for _ in range(4):
        s0 = rng.normal(size=(dim, rank)) @ rng.normal(size=(rank, dim)) / np.sqrt(rank * dim)
        noisy = s0 + np.sqrt(v / dim) * rng.normal(size=(dim, dim))
        energies.append(
            np.sum(np.maximum(np.linalg.svd(noisy, compute_uv=False) - b, 0) ** 2) / dim
        )
    expected = spectral_energy(problem("cross_attention", kappa0=kappa0), v, b).J
    assert abs(np.mean(energies) - expected) < 4 * np.std(energies, ddof=1) / 2 + 2 / dim


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"model": "nowhere"}, "not a generated model"),
        ({"model": "elastic_attention"}, "must state mu"),
        ({"model": "quadratic_network", "extra": (("mu", 1.0),)}, "must state nothing"),
        ({"model": "cross_attention"}, "either sign"),
        ({"model": "quadratic_network", "beta": 2.0}, "not a setting"),
        ({"model": "quadratic_network", "tokens": 3}, "not a setting"),
        ({"model": "quadratic_network", "parametrisation": "symmetric"}, "not a setting"),
        ({"model": "direct_symmetric", "width": 0.5}, "not a setting"),
        ({"model": "direct_symmetric", "lambda_": 0.0}, "no limit"),
    ],
)
def test_a_model_with_other_settings_is_refused(changes, words):
    with pytest.raises(InvalidParameter, match=words):
        Problem(
            **{
                "alpha": 1.0,
                "target": MarchenkoPastur(0.5),
                "lambda_": 0.1,
                "noise": 0.5,
                **changes,
            }
        )


def test_a_rank_limit_at_both_ends_is_refused():
    """Each end was cut on its own before, to a plausible number."""
    with pytest.raises(InvalidParameter, match="cuts both ends"):
        problem("cross_attention", width=0.5)


@examples(40)
@given(
    name=st.sampled_from(
        ["quadratic_network", "signed_quadratic_network", "linear_attention", "cross_attention"]
    ),
    alpha=log_uniform(1e-2, 50),
    kappa0=st.floats(0.05, 2),
    decay=log_uniform(1e-3, 10),
    noise=log_uniform(1e-2, 5),
)
def test_anywhere_the_equations_hold_or_the_status_says_why_not(name, alpha, kappa0, decay, noise):
    found = solve(problem(name, alpha, kappa0, decay, noise))
    if found.trusted:
        assert found.m**2 <= found.q * found.problem.q0 * (1 + 1e-9)
        assert 0 <= found.train_error <= found.test_error * (1 + 1e-9)
        assert found.status is not Status.CONVERGED or found.residual < 1e-6
    else:
        assert found.status is not Status.CONVERGED
