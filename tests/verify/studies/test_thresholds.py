"""Crossings from made-up data, training at vanishing decay, both parametrisations, and the
command's refusals.
"""

import dataclasses
import json

import numpy as np
import pytest
import torch

from attention_erm.runtime.errors import InvalidParameter
from numeric.laws.marchenko_pastur import MarchenkoPastur
from numeric.problem.problem import Parametrisation, Problem
from verify.__main__ import build_parser, main
from verify.core.draw import draw, empirical_risk
from verify.core.intervals import Interval
from verify.core.minimise import DescentStatus, Lbfgs
from verify.core.pool import Pool
from verify.core.run import Run
from verify.core.store import Store
from verify.studies.thresholds.command import threshold_plan
from verify.studies.thresholds.crossing import (
    SizePoints,
    TheoryCurve,
    crossing_of,
    find_crossing,
    pooled_ratio,
)
from verify.studies.thresholds.descents import compare_descents
from verify.studies.thresholds.study import (
    ThresholdPlan,
    study_thresholds,
    theory_roots,
    vanishing_store,
)
from verify.studies.thresholds.text import estimate_verdict, threshold_document, threshold_lines
from verify.studies.thresholds.vanishing_decay import (
    NestedRun,
    VanishingResult,
    train_at_vanishing_decay,
)

pytestmark = pytest.mark.usefixtures("no_workers")

THRESHOLD, ALPHAS = 0.2, np.array([0.24, 0.28, 0.32, 0.36])
SIZES = ((20, 30), (60, 20))
TINY = Run(Problem(0.4, MarchenkoPastur(0.5), 1e-3, 0.25), dim=12)


def root(alphas, threshold):
    return 1.3 * (alphas - threshold) - 0.8 * (alphas - threshold) ** 2


def made_up(shift, seed=1, scatter=0.01, runs=20):
    """Runs whose crossing at size d is at THRESHOLD + shift + 0.5/d."""
    rng = np.random.default_rng(seed)
    return [
        SizePoints(
            d,
            ALPHAS,
            rng.normal(root(ALPHAS, THRESHOLD + shift + 0.5 / d), scatter, (runs, len(ALPHAS))),
        )
        for d in (20, 30, 40)
    ]


def test_a_straight_line_crosses_where_it_crosses():
    assert crossing_of(ALPHAS, 2 * (ALPHAS - 0.17)) == pytest.approx(0.17)


def test_lines_are_those_of_weighted_least_squares():
    rng = np.random.default_rng(0)
    roots, weights = rng.random((3, 4)), rng.random(4)
    expected = [np.polynomial.polynomial.polyfit(row, ALPHAS, 1, w=weights)[0] for row in roots]
    assert crossing_of(ALPHAS, roots, weights) == pytest.approx(expected)


def test_the_crossing_is_extrapolated_and_freed_of_the_bend():
    found = find_crossing(
        made_up(0.0), TheoryCurve(ALPHAS, root(ALPHAS, THRESHOLD), np.zeros(4)), THRESHOLD, 0
    )
    assert THRESHOLD in found.infinite
    assert found.by_size[20].value - found.by_size[40].value == pytest.approx(0.0125, abs=0.008)
    assert abs(found.fit_bias) > 1e-3


def test_a_shifted_crossing_is_seen():
    found = find_crossing(
        made_up(0.05), TheoryCurve(ALPHAS, root(ALPHAS, THRESHOLD), np.zeros(4)), THRESHOLD, 0
    )
    assert THRESHOLD not in found.infinite
    assert found.infinite.value == pytest.approx(
        THRESHOLD + 0.05, abs=0.01
    )  # the bend subtracted is that of the theory


@pytest.mark.parametrize("runs", [4, pytest.param(20, marks=pytest.mark.slow)])
def test_intervals_cover_as_often_as_they_say(runs):
    theory = TheoryCurve(ALPHAS, root(ALPHAS, THRESHOLD), np.zeros(4))
    found = [
        find_crossing(made_up(0.0, seed, 0.003, runs), theory, THRESHOLD, seed, 10)
        for seed in range(120)
    ]
    assert (
        0.87 < np.mean([THRESHOLD in one.infinite for one in found]) < 1
    )  # 95 % and four deviations of the mean of 120 below
    assert np.mean([THRESHOLD in one.judged for one in found]) > 0.97  # 99.5 %, likewise


def test_ratios_are_pooled_by_their_widths():
    narrow, wide = Interval(1.0, 0.99, 1.01), Interval(1.3, 1.0, 1.6)
    pooled = pooled_ratio([narrow, wide])
    assert (pooled.value - 1, pooled.half_width) == (
        pytest.approx(0.3 / 901),
        pytest.approx(0.01, rel=1e-3),
    )
    assert pooled_ratio([narrow, wide], 2).half_width == pytest.approx(
        0.01 * 2.2414 / 1.95996, rel=1e-3
    )  # two of 95 % together


@pytest.fixture(scope="module")
def followed():
    return train_at_vanishing_decay(NestedRun(TINY, (1.0, 0.8)))


def test_the_loss_falls_with_the_decay_and_extrapolates(followed):
    assert followed.status is DescentStatus.CONVERGED
    for (larger, smaller), limit in zip(
        followed.train_error, followed.limits("train_error"), strict=True
    ):
        assert 0 < limit**2 < smaller < larger


def test_fewer_samples_are_those_of_the_run(followed):
    """Whether the minimum is followed there or sought there from the start: above interpolation it
    is the only one.
    """
    n = followed.run.samples[1]
    drawn = draw(TINY)
    risk = empirical_risk(TINY, drawn)
    kept = dataclasses.replace(risk, inputs=risk.inputs.select(slice(n)), labels=risk.labels[:n])
    alone = Lbfgs(tolerance=1e-4).minimise(kept, drawn.start)
    loss = kept.train_error(kept.weights.attention_map(torch.as_tensor(alone.weights)))
    assert followed.train_error[1][1] == pytest.approx(
        loss, rel=0.02
    )  # descents at a relative gradient of 1e-2


def test_results_survive_the_store(followed, tmp_path):
    Store(tmp_path, VanishingResult, "vanishing.jsonl").append(followed)
    assert Store(tmp_path, VanishingResult, "vanishing.jsonl").load([followed.run]) == {
        followed.run: followed
    }
    assert (
        Store(tmp_path, VanishingResult, "vanishing.jsonl", depends_on="other").load([followed.run])
        == {}
    )


def test_noise_below_the_dimension_count_is_fitted_and_above_it_is_not():
    """Width below 1: above (kappa - kappa^2/2)/D labels outnumber the parameters of S, whatever the
    replica-symmetric value.
    """
    # the count gives 0.109 for kappa = 1/4 at large d, 0.126 at d = 16
    run = Run(Problem(0.16, MarchenkoPastur(0.25), 1e-5, 0.2, width=0.25), dim=16)
    above, below = train_at_vanishing_decay(NestedRun(run, (1.0, 0.05 / 0.16))).limits(
        "train_error"
    )
    assert below < 0.02 * above


def plan_of(**fields):
    return ThresholdPlan(
        (Run(Problem(1.0, MarchenkoPastur(0.5), 1.0, 0.1), dim=12, **fields),), SIZES
    )


def made_up_results(plan):
    """What runs of every threshold would give whose roots are the theory's at a true threshold that
    is .4/d too high.
    """
    rng = np.random.default_rng(3)
    for case in plan.cases():
        multiples = np.array(case.kind.all_multiples())
        fitted = theory_roots(
            case.base.problem,
            case.kind.quantity,
            tuple(case.alphas(case.kind.multiples).tolist()),
        )
        known = dict(zip(case.kind.multiples, fitted.roots.tolist(), strict=True))
        roots = np.array([known.get(multiple, 0.0) for multiple in multiples.tolist()])
        slopes = np.gradient(roots, multiples)
        for run in plan.runs(case):
            shift = 0.4 / run.run.dim + 0.3 / run.run.dim * rng.standard_normal()
            squares = np.maximum(roots - slopes * shift * (roots > 0), 0) ** 2
            values = tuple((value, value) for value in squares.tolist())
            yield VanishingResult(run, values, values, DescentStatus.CONVERGED, 1, 0.0)


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """Made-up results, which are found and not trained."""
    found = vanishing_store(tmp_path_factory.mktemp("made_up"))
    for result in made_up_results(plan_of()):
        found.append(result)
    return found


def studied(plan, store):
    with Pool(1, progress=False) as pool:
        return pool.run(study_thresholds(plan, store.path.parent))


@pytest.fixture(scope="module")
def outcome(store):
    return studied(plan_of(), store)


@pytest.mark.slow
def test_thresholds_are_seen(outcome):
    assert outcome.agrees
    document = json.loads(json.dumps(threshold_document(outcome), allow_nan=False))
    assert [(one["kind"], len(one["sizes"])) for one in document["thresholds"]] == [
        ("interpolation", 2),
        ("recovery", 2),
    ]
    assert "".join(threshold_lines(outcome)).count(" agrees\n") == 2


@pytest.mark.slow
def test_a_wrong_noise_in_theory_is_seen_at_interpolation_alone(store):
    interpolation, recovery = studied(
        dataclasses.replace(plan_of(), noise_factor=2.0), store
    ).estimates
    assert (interpolation.decides, interpolation.rises, interpolation.agrees) == (
        True,
        False,
        False,
    )
    assert recovery.agrees


@pytest.mark.slow
def test_what_does_not_vanish_beyond_has_no_threshold(outcome):
    for one in outcome.estimates:
        left = tuple(
            dataclasses.replace(item, values=item.values + min(item.means())) for item in one.points
        )
        spoilt = dataclasses.replace(one, beyond=left)
        assert not spoilt.agrees
        assert "does not vanish" in estimate_verdict(spoilt)


@pytest.mark.slow
def test_a_wide_interval_decides_nothing(outcome):
    for one in outcome.estimates:
        wide = dataclasses.replace(
            one.crossing, infinite=one.crossing.infinite.widened(0.2 * float(one.proven))
        )
        assert not dataclasses.replace(one, crossing=wide).agrees


def test_nothing_is_recovered_where_labels_are_shuffled():
    """Beyond recovery the estimation error stays; labels of other samples are noise that does not
    fit the last samples.
    """
    plan = dataclasses.replace(plan_of(shuffle_labels=True), sizes=((16, 1),))
    for case, largest in zip(plan.cases(), (0.03, 0.5), strict=True):
        (run,) = plan.runs(case)
        assert max(train_at_vanishing_decay(run).limits(case.kind.quantity)[:1]) > largest


def test_a_wrong_noise_in_theory_moves_what_is_proven_and_not_where_one_trains():
    right = plan_of()
    wrong = dataclasses.replace(right, noise_factor=2.0)
    assert [wrong.runs(one) for one in wrong.cases()] == [right.runs(one) for one in right.cases()]
    shifts = [
        float(perturbed.threshold()) / float(true.threshold())
        for perturbed, true in zip(wrong.cases(), right.cases(), strict=True)
    ]
    assert shifts[0] < 0.96
    assert shifts[1] == 1


@pytest.mark.parametrize(
    "what, proven", [(Parametrisation.SYMMETRIC, "0.25"), (Parametrisation.GENERAL, "0.5")]
)
def test_direct_training_has_one_threshold_that_counts(what, proven):
    plan = ThresholdPlan((TINY.varied(parametrisation=what),), SIZES)
    (case,) = plan.cases()
    assert case.threshold().value.startswith(proven)


@pytest.mark.parametrize("alpha", [pytest.param(0.12, marks=pytest.mark.slow), 0.4])
def test_weight_decay_on_factors_is_a_trace_penalty(alpha):
    found = compare_descents(Run(Problem(alpha, MarchenkoPastur(0.5), 0.01, 0.25), dim=20))
    assert found.agrees, found


def test_settings_are_read_one_by_one():
    """One value for all or one for each; rank ratios and noise stay exact until they are of a
    run.
    """
    arguments = [
        "thresholds",
        "--kappa0",
        "1/2,1/5",
        "--tokens",
        "2,3",
        "--noise",
        "1/4",
        "--width",
        "1,3/10",
    ]
    plan = threshold_plan(build_parser().parse_args(arguments))
    found = [
        (run.target_eigenvalues().size, run.problem.tokens, run.problem.noise, run.problem.width)
        for run in plan.bases
    ]
    assert found == [(30, 2, 0.25, 1.0), (30, 3, 0.25, 0.3)]
    assert [run.problem.target for run in plan.bases] == [
        MarchenkoPastur(0.5),
        MarchenkoPastur(0.2),
    ]


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["--dim", "24"], "--dim"),
        (["--noise", "0"], "--noise"),
        (["--width", "1/10"], "--width"),
        (["--beta", "2"], "--beta"),
        (["--vocabulary", "1/5", "--parametrisation", "symmetric"], "--vocabulary"),
        (["--vocabulary", "1/100"], "must state more than 30 tokens at d = 30"),
        (
            ["--kappa0", "1/2,1/5", "--tokens", "2,3,4", "--noise", "1", "--width", "1"],
            "--kappa0 1/2,1/5: must be one number or 3",
        ),
    ],
)
def test_bad_input_is_refused_before_any_work(arguments, named, tmp_path):
    with pytest.raises(InvalidParameter, match=named):
        main(["thresholds", "--out", str(tmp_path / "out"), *arguments])


def test_with_a_vocabulary_recovery_alone_is_located():
    arguments = ["thresholds", "--vocabulary", "1/10", "--kappa0", ".5", "--tokens", "2,3"]
    plan = threshold_plan(build_parser().parse_args(arguments))
    cases = list(plan.cases())
    assert [case.kind.name for case in cases] == ["recovery", "recovery"]
    assert [case.base.problem.tokens for case in cases] == [2, 3]
    for case in cases:
        assert float(case.threshold()) > 1.2 * float(case.of_new_tokens())
        assert "vocabulary 0.1" in case.setting


def test_repeated_pairs_are_told(caplog):
    arguments = ["thresholds", "--vocabulary", "1/10", "--kappa0", ".5", "--tokens", "2"]
    parser = build_parser()
    threshold_plan(parser.parse_args([*arguments, "--dim", "60,90", "--runs", "2"]))
    assert not caplog.records
    plan = threshold_plan(parser.parse_args(arguments))
    (record,) = caplog.records
    assert "4.4 % of the pairs of tokens occur again at d = 30" in record.getMessage()
    (case,) = plan.cases()
    inputs = draw(plan.runs(case)[0].run).inputs
    _, names = np.unique(inputs.tokens.flatten(0, 1).numpy(), axis=0, return_inverse=True)
    pairs = np.sort(names.reshape(-1, 2), axis=1)
    repeated = 1 - len(np.unique(pairs, axis=0)) / len(pairs)
    # 363 samples: the share of repeated ones scatters by about 1 %.
    assert repeated == pytest.approx(0.044, abs=0.04)


@pytest.mark.slow
def test_recovery_from_a_vocabulary_is_seen(tmp_path):
    arguments = ["thresholds", "--vocabulary", "1/10", "--kappa0", ".5", "--tokens", "2"]
    sizes = ["--dim", "60,90", "--runs", "16,8"]
    plan = threshold_plan(build_parser().parse_args([*arguments, *sizes]))
    with Pool(2, progress=False) as pool:
        outcome = pool.run(study_thresholds(plan, tmp_path))
    assert outcome.agrees
    (one,) = outcome.estimates
    assert one.excludes_new_tokens
    document = json.loads(json.dumps(threshold_document(outcome), allow_nan=False))
    assert document["thresholds"][0]["new_tokens_excluded"]
    assert "0.2110875 is excluded" in "".join(threshold_lines(outcome))


@pytest.mark.slow
def test_noisy_labels_of_a_giant_component_are_not_fitted():
    """nu = 0.1: the giant component appears at alpha = 0.05, and new tokens are fitted to 0.15."""
    problem = Problem(0.1, MarchenkoPastur(0.5), 1e-4, 0.5, vocabulary=0.1)
    shares = (1.0, 0.3)
    with_vocabulary, new = (
        np.mean(
            [
                train_at_vanishing_decay(NestedRun(Run(one, 60, index=index), shares)).limits(
                    "train_error"
                )
                for index in range(3)
            ],
            axis=0,
        )
        for one in (problem, problem.of_new_tokens)
    )
    above, below = with_vocabulary
    assert above > 0.02
    assert max(below, *new) < 0.2 * above  # what the weight decay leaves
