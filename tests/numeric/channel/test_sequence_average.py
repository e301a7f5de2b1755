"""Channel averages at any number of tokens: against the two-token rule, exhaustive search,
differences, and themselves.
"""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numba import njit
from scipy.optimize import minimize
from strategies import log_uniform

from numeric.channel.softmax import sequence_minimiser
from numeric.channel.softmax.pair_average import COARSE
from numeric.channel.softmax.sequence_average import sample_means
from numeric.channel.softmax.whitened_index import token_index
from numeric.channel.softmax_rules import QuadratureRule, SampledRule
from numeric.laws.marchenko_pastur import MarchenkoPastur
from numeric.maths.domain import OutsideDomain
from numeric.maths.sobol import Sampling
from numeric.model import float64 as physics
from numeric.problem.fields import Fields
from numeric.problem.overlaps import Overlaps
from numeric.problem.problem import Parametrisation, Problem

POINTS = {
    "convex": ((1.2, 1.3, 0.5), {}),
    "stiff": ((1.2, 1.3, 0.01), {}),
    "jumps": ((0.9, 1.1, 20.0), {}),
    "temperatures": ((0.65, 0.30, 0.3), {"beta": 2.0}),
    "no overlap": ((0.0, 1.2, 5.0), {}),
}


def problem(tokens: int, **changed: object) -> Problem:
    return Problem(
        **{
            "alpha": 1.0,
            "target": MarchenkoPastur(0.5),
            "lambda_": 0.01,
            "noise": 0.5,
            "tokens": tokens,
            **changed,
        }
    )


def test_an_average_ends_where_a_start_leads_to_a_step_that_is_not_finite():
    """Sharp labels met by a saturated student: the search for a shorter step once had no end."""
    fields = Fields(1.790289100568929, 5.93328057002907, 5.0146735974956025, 0.0)
    means = sample_means(
        fields, 15.633090147838178, 0.0, 25.175561407191985, 1.5131255162958501, 2, Sampling(256)
    )
    assert all(np.all(np.isfinite(mean)) for mean in means)


@pytest.mark.parametrize("name", POINTS)
def test_two_tokens_agree_with_the_deterministic_rule(name):
    """Two routes that share the generated formulas only: other coordinates, another search, another
    rule.
    """
    overlaps, changed = POINTS[name]
    asked = problem(2, **changed)
    exact = np.array(
        QuadratureRule(COARSE.refined().refined()).average(Overlaps(*overlaps), asked)[:6]
    )[:, 0]
    runs = np.array(SampledRule(Sampling(512, 16)).average(Overlaps(*overlaps), asked)[:6])
    z = (runs.mean(axis=1) - exact) / (runs.std(axis=1, ddof=1) / 4)
    assert np.abs(z).max() < 5.5, (
        f"z = {z}: Student's t with 15 degrees of freedom exceeds 5.5 with probability 6e-5"
    )


def test_two_tokens_at_zero_agree_with_the_deterministic_rule():
    exact, runs = (
        QuadratureRule().unlearned(problem(2)),
        SampledRule(Sampling(512, 16)).unlearned(problem(2)),
    )
    for name, value, sampled in zip(exact._fields[:6], exact, runs, strict=False):
        error = (
            sampled.std(ddof=1) / 4
        )  # none for dM_dq: at S = 0 the curvature does not depend on the label
        assert abs(sampled.mean() - value[0]) < 5.5 * error + 1e-9 * abs(value[0]), name


reals, shares = st.floats(-20.0, 20.0), st.floats(0.0, 1.0)


@pytest.mark.identity
@given(u=st.tuples(reals, reals), labels=st.tuples(shares, shares), beta=log_uniform(0.1, 10.0))
def test_the_loss_of_two_tokens_is_that_of_its_entries(u, labels, beta):
    rows = [(first := physics.label(index, beta), 1 - first) for index in u]
    losses = [
        physics.entry_loss(physics.residual(entry, y))
        for row, label in zip(rows, labels, strict=True)
        for entry, y in zip(row, (label, 1 - label), strict=True)
    ]
    assert sum(losses) == pytest.approx(physics.sample_loss(*u, *labels, beta), abs=1e-14)


@pytest.mark.identity
@given(u=st.tuples(reals, reals), w=st.tuples(reals, reals), V=log_uniform(1e-3, 1e3))
def test_the_elastic_energy_of_two_tokens_is_that_of_components_at_the_best_shift(u, w, V):
    """Components (h11, h12, h22) over their standard deviations; a shift of all three is invisible,
    and costs a parabola.
    """
    scale = np.sqrt(np.array(physics.index_variances(), dtype=float)[[0, 1, 0]])

    def energy(shift: float) -> float:
        x, field = (
            np.array([u[0] + shift, shift, u[1] + shift]) / scale,
            np.array([w[0], 0.0, w[1]]) / scale,
        )
        return float(np.sum(physics.component_energy(x, field, 1 / V)))

    left, middle, right = energy(-1.0), energy(0.0), energy(1.0)
    best = (left - right) / (2 * (left + right - 2 * middle))
    visible = physics.elastic_energy(*u, *w) / (2 * V)
    assert energy(best) == pytest.approx(visible, abs=1e-12 * middle + 1e-12 / V)


@pytest.mark.parametrize(("V", "beta"), [(0.3, 1.0), (20.0, 1.0), (20.0, 5.0)])
def test_at_a_minimiser_the_dual_field_is_minus_the_slope_of_the_loss(V, beta):
    rng, index = np.random.default_rng(7), token_index(3)
    size = len(index.visible)
    work, stiffness = sequence_minimiser.workspace(3, size, 0), np.full(size, 1 / V)
    for _ in range(40):
        gamma1, gamma2 = rng.normal(size=(2, size))
        w = 0.7 * gamma1 + 0.8 * gamma2
        sequence_minimiser.fill_index(1.3 * gamma1, index, work.fit)
        sequence_minimiser.fill_softmax(work.fit, beta, work.y)
        energy, _ = sequence_minimiser.global_minimiser(w, stiffness, index, beta, work)
        loss = sequence_minimiser.loss_of(work.x, index, beta, work)
        sequence_minimiser.fill_loss_gradient(index, beta, work)
        dual = physics.component_dual(work.x, w, stiffness)
        assert dual == pytest.approx(-work.gradient, abs=1e-8 * beta)
        assert physics.component_displacement(dual, stiffness) == pytest.approx(
            work.x - w, abs=1e-13 * (1 + np.abs(w).max())
        )
        assert energy == pytest.approx(
            loss + np.sum(physics.component_energy(work.x, w, stiffness)), rel=1e-12
        )


@pytest.mark.slow
def test_the_most_negative_curvature_of_a_row():
    """The derived extreme of two tokens against minimisation: it is attained, and no number of
    tokens goes below it.
    """
    rng = np.random.default_rng(3)

    def lowest(parameters):
        s, y = (
            np.exp(half - half.max()) / np.exp(half - half.max()).sum()
            for half in np.split(parameters, 2)
        )
        e, size = s - y, len(s)
        se, ss = float(s @ e), float(s @ s)
        H = [
            [physics.row_curvature(s[k], e[k], s[j], e[j], se, ss, 1.0) for j in range(size)]
            for k in range(size)
        ]
        local = np.diag(physics.row_curvature_local(s, e, se, 1.0))
        return float(np.linalg.eigvalsh(np.array(H) + local)[0])

    for tokens in (2, 3, 4):
        starts = 2 * rng.normal(size=(25, 2 * tokens))
        options = {"maxiter": 3000, "maxfev": 3000}
        least = min(
            minimize(lowest, start, method="Nelder-Mead", options=options).fun for start in starts
        )
        assert (
            -1e-12 <= least + sequence_minimiser.ROW_CURVATURE < 1e-3
        )  # the extreme label is saturated: approached, never passed


@njit  # what only kernels call is compiled in kernels alone
def least_energy(w, z, stiffness, index, beta, work):
    sequence_minimiser.fill_index(z, index, work.fit)
    sequence_minimiser.fill_softmax(work.fit, beta, work.y)
    return sequence_minimiser.global_minimiser(w, stiffness, index, beta, work)[0]


@njit
def descended(start, w, stiffness, index, beta, work):
    return sequence_minimiser.descend(start, w, stiffness, index, beta, 1 / beta, work)


@pytest.mark.slow  # the minimisers are compiled for it alone
@pytest.mark.parametrize(
    ("tokens", "V", "beta"),
    [(3, 20.0, 1.0), (3, 20.0, 5.0), (4, 2000.0, 1.0)],
)
def test_minima_are_global(tokens, V, beta):
    """Against descents from every set of fitted rows and from random points."""
    rng, index = np.random.default_rng(5), token_index(tokens)
    size = len(index.visible)
    work, stiffness = sequence_minimiser.workspace(tokens, size, 0), np.full(size, 1 / V)
    for _ in range(60):
        gamma1, gamma2 = rng.normal(size=(2, size))
        w, z = 0.7 * gamma1 + 0.8 * gamma2, 1.3 * gamma1
        found = least_energy(w, z, stiffness, index, beta, work)
        for rows in itertools.product((0.0, 1.0), repeat=tokens):
            start = w + np.mean(rows) * (z - w) + 0.3 * rng.normal(size=size)
            other = descended(start, w, stiffness, index, beta, work)
            assert found <= other + 1e-9, "a lower minimum was missed"


@pytest.mark.parametrize(("tokens", "odd"), [(3, False), (4, False), (3, True)])
def test_derivatives_are_those_of_M(tokens, odd):
    """Differences of M on the same points as its derivatives: what is left is of second order in
    the step and in the rule.
    """
    asked = problem(
        tokens, parametrisation=Parametrisation.GENERAL if odd else Parametrisation.FACTORISED
    )
    rule = SampledRule(Sampling(1024, 8))
    point = [1.1, 1.3, 0.3, *((0.4, 0.2) if odd else ())]
    names = ("dM_dm", "dM_dq", "dM_dV", "dM_dq_antisymmetric", "dM_dV_antisymmetric")
    exact = rule.average(Overlaps(*point), asked)
    for k, name in enumerate(names[: len(point)]):
        step = 0.02 * point[k]
        moved = [
            rule.average(Overlaps(*[*point[:k], point[k] + s, *point[k + 1 :]]), asked).M
            for s in (step, -step)
        ]
        difference, slope = (moved[0] - moved[1]) / (2 * step), getattr(exact, name)
        scatter = (difference - slope).std(ddof=1) / np.sqrt(len(slope))
        assert abs(np.mean(difference - slope)) < 5 * scatter + 2e-3 * abs(np.mean(slope)), name


@pytest.mark.parametrize(
    ("tokens", "V", "V_odd"),
    [
        (3, 0.3, 0.0),
        (3, 0.01, 0.0),
        (3, 5.0, 0.0),
        pytest.param(4, 30.0, 0.0, marks=pytest.mark.slow),
        (3, 0.5, 0.8),
    ],
)
def test_a_control_variate_stands_in_for_minimisers(tokens, V, V_odd):
    """The same points with every sample at its minimiser, as the response needs them: what differs
    must have mean zero.
    """
    asked = (
        Fields.of(1.2, 1.3, 1.75, 0.4 if V_odd else 0.0),
        V,
        V_odd,
        1.0,
        1.2,
        tokens,
        Sampling(2048, 16),
    )
    quick, settled = sample_means(*asked), sample_means(*asked, response=True)
    assert quick.test == pytest.approx(settled.test, rel=1e-9), (
        "both have all points at their fields"
    )
    for name in ("train", "R", "R_odd", "F1", "F2", "F_odd"):
        here, there = getattr(quick, name), getattr(settled, name)
        scatter = (here - there).std(ddof=1) / 4
        assert scatter <= 0.5 * there.std(ddof=1) / 4, (
            f"{name}: the control scatters as much as the mean"
        )
        assert abs(np.mean(here - there)) <= 5.5 * scatter, (
            name
        )  # Student's t with 15 degrees of freedom: 6e-5


def test_where_a_control_variate_does_not_follow_every_sample_is_settled():
    """Sharp student, labels full of noise: most samples have several minima."""
    asked = (Fields.of(1.1, 1.4, 26.5), 3.0, 0.0, 3.0, 1.0, 3, Sampling(1024, 4))
    quick, settled = sample_means(*asked), sample_means(*asked, response=True)
    assert (quick.moved > 0.02).all()
    assert (quick.F2 == settled.F2).all()


def test_equal_input_gives_equal_bits():
    rule = SampledRule(Sampling(64, 4))
    first = rule.average(Overlaps(1.1, 1.3, 5.0), problem(3))
    rule.average(Overlaps(1.0, 1.3, 0.5), problem(4))
    second = rule.average(Overlaps(1.1, 1.3, 5.0), problem(3))
    assert all((a == b).all() for a, b in zip(first, second, strict=True))


def test_invalid_sampling_is_named():
    with pytest.raises(ValueError, match="power of two"):
        Sampling(100)
    with pytest.raises(ValueError, match="replicates"):
        Sampling(64, 2)
    with pytest.raises(OutsideDomain, match="need 0 < V"):
        SampledRule(Sampling(64)).average(Overlaps(1.1, 0.1, 1.0), problem(3))


@pytest.mark.parametrize("tokens", [2, 3])
def test_an_iteration_that_runs_away_leaves_the_domain(tokens):
    """V^2 was too large for a Python float, which is no OutsideDomain: a curve at beta = beta0 = 2
    ended in a traceback.
    """
    rule = SampledRule(Sampling(64)) if tokens > 2 else QuadratureRule()
    with pytest.raises(OutsideDomain, match="V < 1e"):
        rule.average(Overlaps(1.1, 1.3, 1e155), problem(tokens))
