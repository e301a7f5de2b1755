"""The verdict: right scores for known residuals, negative when the data are broken."""

import dataclasses
import math

import numpy as np
import pytest
from scipy.stats import norm

from numeric.laws.marchenko_pastur import MarchenkoPastur
from numeric.laws.power_law import PowerLaw, power_law
from numeric.laws.target_spectrum import target_quantile_means
from numeric.problem.problem import Problem
from verify.core.measure import execute
from verify.core.minimise import DescentStatus
from verify.core.realised_problem import COMPARED_QUANTITIES, TheoryValues
from verify.core.run import Run
from verify.core.scores import BAND, compare_with_theory, intercept_weights, normal_score
from verify.core.target import TargetKind
from verify.core.text import comparison_lines

BASE = Run(Problem(1.0, MarchenkoPastur(0.5), 0.05, 0.5), dim=20)
CONSTANT = TheoryValues(
    dict.fromkeys(COMPARED_QUANTITIES, 1.0), dict.fromkeys(COMPARED_QUANTITIES, 0.0)
)


def gaussian(result):
    """The same result, said to be of a target with a Gaussian factor."""
    return dataclasses.replace(result, run=result.run.varied(target_kind=TargetKind.GAUSSIAN))


def constant_theory(problems):
    return [CONSTANT for _ in problems]


@pytest.fixture(scope="module")
def template():
    return execute(BASE)


def synthetic(template, rng, bias, slope, runs=8):
    """Results whose residuals are bias + slope/d + noise/d, at d = 40 and 80."""
    return [
        dataclasses.replace(
            template,
            run=BASE.varied(dim=dim, index=i),
            **{
                k: 1 + bias + slope / dim + rng.standard_normal() / dim for k in COMPARED_QUANTITIES
            },
        )
        for dim in (40, 80)
        for i in range(runs)
    ]


def test_extrapolation_removes_a_finite_size_effect_of_many_standard_errors(template):
    comparison = compare_with_theory(
        synthetic(template, np.random.default_rng(0), bias=0.0, slope=10.0), constant_theory
    )
    assert comparison.agrees
    assert all(score.raw_in_errors > 4 for score in comparison.scores)  # shown, though not judged


def test_a_bias_is_found(template):
    comparison = compare_with_theory(
        synthetic(template, np.random.default_rng(0), bias=0.2, slope=10.0), constant_theory
    )
    assert not any(verdict.agrees for verdict in comparison.verdicts)


def test_scores_are_standard_normal_when_theory_is_right(template):
    rng = np.random.default_rng(1)
    z = [
        s.z
        for _ in range(100)
        for s in compare_with_theory(synthetic(template, rng, 0.0, 3.0), constant_theory).scores
    ]
    assert np.std(z) == pytest.approx(1.0, abs=0.12)
    assert np.abs(z).max() < 4.5


def test_a_bias_too_small_for_any_point_is_found_in_their_mean(template):
    """A theory off by two per cent once passed at every point of a small job."""
    results = [
        dataclasses.replace(result, run=result.run.varied(alpha=alpha))
        for alpha in range(1, 21)
        for result in synthetic(template, np.random.default_rng(alpha), 0.02, 0.0)
    ]
    verdict = compare_with_theory(results, constant_theory).verdicts[0]
    assert abs(verdict.worst.z) < BAND
    assert not verdict.agrees
    assert "mean over points" in verdict.advice


def mean_scores(template, alphas, runs, times):
    """Of the mean over so many points, under a right theory, one after the other."""
    rng = np.random.default_rng(5)
    for _ in range(times):
        results = [
            dataclasses.replace(result, run=result.run.varied(alpha=alpha))
            for alpha in range(1, alphas + 1)
            for result in synthetic(template, rng, 0.0, 3.0, runs)
        ]
        yield from compare_with_theory(results, constant_theory).verdicts


def test_the_mean_over_one_point_is_that_point(template):
    """Two runs of each size: the point agreed, and its mean, whose error counted as known,
    disagreed.
    """
    for verdict in mean_scores(template, alphas=1, runs=2, times=10):
        assert verdict.pooled.z == pytest.approx(verdict.worst.z, rel=1e-9)


def test_means_over_points_of_few_runs_seldom_look_wrong(template):
    """With errors of a few runs taken for known, z of means over these points scattered by 1.36 and
    reached 8 in 1200 of them.
    """
    z = np.array(
        [verdict.pooled.z for verdict in mean_scores(template, alphas=5, runs=5, times=50)]
    )
    assert np.std(z) < 1.2 and np.abs(z).max() < BAND + 0.5  # 200 of them, the same each time


def test_the_error_of_the_theory_widens_the_band(template):
    def unsure(problems):
        return [
            TheoryValues(CONSTANT.values, dict.fromkeys(COMPARED_QUANTITIES, 0.5)) for _ in problems
        ]

    assert compare_with_theory(
        synthetic(template, np.random.default_rng(0), 0.2, 10.0), unsure
    ).agrees


def test_points_of_a_broken_symmetry_are_told(template):
    def theory(problems):
        return [dataclasses.replace(CONSTANT, broken=problem.alpha > 1.5) for problem in problems]

    results = [
        dataclasses.replace(result, run=result.run.varied(alpha=alpha))
        for alpha in (1.0, 2.0)
        for result in synthetic(template, np.random.default_rng(0), 0.0, 1.0)
    ]
    comparison = compare_with_theory(results, theory)
    assert {(score.problem.alpha, score.broken) for score in comparison.scores} == {
        (1.0, False),
        (2.0, True),
    }
    assert list(comparison_lines("sequences", comparison))[-1] == (
        "at alpha 2 replica symmetry is broken: the theory is an approximation\n"
    )


def test_runs_that_did_not_converge_are_listed_and_left_out(template):
    results = synthetic(template, np.random.default_rng(0), 0.0, 0.0)
    spoiled = dataclasses.replace(results[0], status=DescentStatus.MAX_STEPS, m=1e6)
    comparison = compare_with_theory([spoiled, *results[1:]], constant_theory)
    assert comparison.excluded == (spoiled,)
    assert comparison.agrees
    hopeless = [dataclasses.replace(r, status=DescentStatus.MAX_STEPS) for r in results]
    verdict = compare_with_theory(hopeless, constant_theory).verdicts[0]
    assert not verdict.agrees
    assert "too few runs converged" in verdict.advice


def test_intercept_weights_extrapolate_exactly():
    dims = [40, 60, 100]
    weights = intercept_weights(dims, [8, 8, 4])
    assert weights @ [2 + 7 / d - 90 / d**2 for d in dims] == pytest.approx(2.0)
    assert intercept_weights([50, 100], [8, 8]) @ [2 + 7 / d for d in (50, 100)] == pytest.approx(
        2.0
    )
    assert intercept_weights([40], [8]).tolist() == [1.0]


def test_normal_score_is_the_identity_for_many_runs_and_shrinks_for_few():
    assert normal_score(3.0, math.inf) == pytest.approx(3.0)
    assert normal_score(-4.0, 7.0) == pytest.approx(norm.isf(0.005190 / 2) * -1, rel=1e-3)
    assert normal_score(-math.inf, 7.0) == pytest.approx(-38, abs=0.6)
    assert normal_score(1e9, 1e9) == pytest.approx(38, abs=0.6)
    assert math.isnan(normal_score(math.nan, 7.0))


def test_theory_is_asked_at_the_realised_target(template):
    asked: list[Problem] = []

    def theory(problems):
        asked.extend(problems)
        return constant_theory(problems)

    q0 = 1.5 * 1.1**2
    results = [
        dataclasses.replace(gaussian(r), q0=q0)
        for r in synthetic(template, np.random.default_rng(0), 0, 0)
    ]
    compare_with_theory(results, theory)
    assert [problem.target.scale for problem in asked] == pytest.approx([1.1])


def test_a_deterministic_target_is_asked_for_by_its_eigenvalues(template):
    """At kappa0 d = 1 the law of infinite d is far from the two eigenvalues that the target has."""
    asked: list[Problem] = []

    def theory(problems):
        asked.extend(problems)
        return constant_theory(problems)

    results = synthetic(template, np.random.default_rng(0), 0.0, 0.0)
    compare_with_theory(
        [dataclasses.replace(r, run=r.run.varied(target=MarchenkoPastur(0.025))) for r in results],
        theory,
    )
    assert len(asked) == 2
    for problem, dim in zip(asked, (40, 80), strict=True):
        assert problem.target.q0 == pytest.approx(
            np.square(target_quantile_means(0.025, dim)).mean()
        )


def test_a_listed_target_is_asked_for_by_its_eigenvalues_at_each_size(template):
    asked: list[Problem] = []

    def theory(problems):
        asked.extend(problems)
        return constant_theory(problems)

    results = synthetic(template, np.random.default_rng(0), 0.0, 0.0)
    results += [
        dataclasses.replace(r, run=r.run.varied(target=power_law(0.75, r.run.dim))) for r in results
    ]
    comparison = compare_with_theory(results, theory)
    assert len({score.problem for score in comparison.scores}) == 2
    sizes = {
        problem.target.dim: problem.target
        for problem in asked
        if isinstance(problem.target, PowerLaw)
    }
    assert set(sizes) == {40, 80}
    for dim, target in sizes.items():
        assert len(target.eigenvalues) == dim
        assert sum(s * s for s in target.eigenvalues) / dim == pytest.approx(1.0)


def test_many_scales_are_interpolated(template):
    def square(problems):
        return [
            TheoryValues(dict.fromkeys(COMPARED_QUANTITIES, p.target.scale**2), CONSTANT.errors)
            for p in problems
        ]

    results = synthetic(template, np.random.default_rng(2), 0.0, 0.0)
    results = [
        dataclasses.replace(gaussian(r), q0=1.4 + 0.01 * i, m=(1.4 + 0.01 * i) / 1.5)
        for i, r in enumerate(results)
    ]
    for score in compare_with_theory(results, square).scores[:1]:
        assert score.quantity == "m"
        assert [g.residual for g in score.groups] == pytest.approx([0.0, 0.0], abs=1e-8)
