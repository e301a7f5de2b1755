"""The verdict on exponents and its negative controls; the narrow risk; a real run."""

import dataclasses
import math
from fractions import Fraction

import numpy as np
import pytest
import torch
from devices import DEVICES

from attention_erm.runtime.errors import InvalidParameter, NoAnswer
from numeric.studies.scaling import scaling_curve
from verify.core.data import Sequences, row_softmax
from verify.core.minimise import DescentStatus
from verify.core.paper import figure_one
from verify.core.pool import Pool
from verify.core.risk import Risk
from verify.core.store import Store
from verify.core.theory_perturbation import TheoryPerturbation
from verify.main_job.plan import preset
from verify.studies.exponents.measure import StudentResult, train_student
from verify.studies.exponents.plan import DECAY_PATH, NOISE_PATH, PATHS, ExponentPlan
from verify.studies.exponents.risk import NarrowRisk
from verify.studies.exponents.run import StudentRun
from verify.studies.exponents.section import exponent_section, theory_exponent_section
from verify.studies.exponents.sequences import DRAWN_BLOCK, RedrawnSequences, StoredSequences
from verify.studies.exponents.study import ExponentOutcome, judge_exponents, study_exponents
from verify.studies.exponents.text import exponent_document, exponent_lines, near_words, slopes_text
from verify.studies.exponents.theory import Approach

pytestmark = pytest.mark.usefixtures("no_workers")

GAMMA = Fraction(3, 4)
PLAN = ExponentPlan((("decay", GAMMA, 200, 6), ("noise", GAMMA, 200, 6)))


@pytest.mark.parametrize("tokens", [2, 3])
def test_the_narrow_risk_is_that_of_the_map(tokens):
    rng = torch.Generator().manual_seed(0)
    x, scores, w = (
        torch.randn(*shape, dtype=torch.float64, generator=rng)
        for shape in ((700, tokens, 12), (700, tokens, tokens), (12, 5))
    )
    y = row_softmax(1.0, scores)
    value, gradient = NarrowRisk(StoredSequences(x), y, 0.3, 1.2).value_and_gradient(w)
    expected, slope = Risk(Sequences(x), y, 0.3, 1.2).value_and_gradient(w)
    torch.testing.assert_close(value, expected, rtol=1e-13, atol=0)
    torch.testing.assert_close(gradient, slope, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("device", DEVICES)
def test_sequences_drawn_again_are_those_in_memory(device):
    redrawn = RedrawnSequences(np.random.SeedSequence(3), (DRAWN_BLOCK + 90, 2, 5), device)
    stored, count = redrawn.stored(), DRAWN_BLOCK + 10
    fewer = torch.cat([tokens for _, tokens in redrawn.first(count).blocks()])
    assert torch.equal(fewer, stored.first(count).tokens)
    assert not torch.equal(fewer[:10], fewer[DRAWN_BLOCK:])  # each block has its own seed
    labels = row_softmax(1.0, torch.zeros(count, 2, 2, dtype=torch.float64, device=device))
    weights = torch.ones(5, 3, dtype=torch.float64, device=device)
    points = [
        NarrowRisk(sequences.first(count), labels, 0.3, 1.2).value_and_gradient(weights)
        for sequences in (redrawn, stored)
    ]
    torch.testing.assert_close(*points, rtol=1e-12, atol=0)


def gaussian_points(plan):
    """The theory of Gaussian indices at the samples of every path: a fraction of a second each."""
    return {
        (path, gamma, dim): scaling_curve(plan.gaussian_problem(path, gamma, dim), path.octave(dim))
        for path, gamma, dims in plan.sequences()
        for dim in dims
    }


def synthetic(plan, points, scatter=0.01):
    """Runs whose errors are those of the theory with the scatter of real ones, one per cent at each
    number of samples.
    """
    results = {}
    for (path, gamma, dim), along in points.items():
        rng = np.random.default_rng(dim)
        group = []
        for run in plan.runs(path, gamma, dim):
            factor = 1 + scatter * rng.standard_normal(2)
            excess = tuple(float(p.excess_error * f) for p, f in zip(along, factor, strict=True))
            m = tuple(
                (1 - float(p.solution.estimation_error * f)) / 2
                for p, f in zip(along, factor, strict=True)
            )
            group.append(
                StudentResult(
                    run, m, (0.0, 0.0), 1.0, excess, (2, 5), (20, 40), DescentStatus.CONVERGED, 1.0
                )
            )
        results[path, gamma, dim] = group
    return results


@pytest.fixture(scope="module")
def trained():
    """Synthetic runs of the plan."""
    return synthetic(PLAN, gaussian_points(PLAN))


def test_runs_that_follow_the_theory_agree(trained):
    outcome = judge_exponents(PLAN, trained, gaussian_points(PLAN))
    assert outcome.agrees
    for one in outcome.exponents:
        assert float(one.exponent) in one.estimate
        assert one.estimate.half_width < 0.04
    assert [one.exponent for one in outcome.exponents] == [Fraction(-2, 3), Fraction(-1, 3)]
    assert exponent_document(outcome)["agrees"]
    assert list(exponent_lines(outcome))[-1] == "exponents: agree\n"


def test_slopes_far_beyond_training_say_how_slowly_they_settle(trained):
    """-.382 at d = 1e4 and -.391 at 1e8, on their way to -1/3, stood there without a word."""
    plan = ExponentPlan((("noise", GAMMA, 200, 6),), dims=(10**4,))
    beyond = dataclasses.replace(plan, counts=(("noise", GAMMA, 10**4, 2),))
    (one,) = judge_exponents(
        plan, trained, gaussian_points(plan) | gaussian_points(beyond)
    ).exponents
    ((_, slope),) = one.approach
    assert abs(slope / float(one.exponent) - 1) > 0.1 and one.near > 4
    lines = "".join(exponent_lines(ExponentOutcome(plan, (one,))))
    near = f"within 10 % from d = 1e{math.ceil(one.near)} on (extrapolated)"
    assert f"  theory beyond: {slopes_text(one.approach)}\n" in lines
    assert f"corrections go as d^-{one.correction:.3g}; {near}\n" in lines


@pytest.mark.parametrize(
    "wrong",
    [
        *(
            pytest.param(TheoryPerturbation(gamma=Fraction(off, 10)), marks=pytest.mark.slow)
            for off in (1, -1)
        ),
        TheoryPerturbation(noise=2.0),  # Delta/2 is Delta
        pytest.param(TheoryPerturbation(noise=0.5), marks=pytest.mark.slow),
    ],
)
def test_a_wrong_theory_turns_both_verdicts_negative(trained, wrong):
    plan = dataclasses.replace(PLAN, perturbation=wrong)
    outcome = judge_exponents(plan, trained, gaussian_points(plan))
    assert [one.agrees for one in outcome.exponents] == [False, False]
    assert list(exponent_lines(outcome))[-1] == "exponents: DISAGREE\n"
    if wrong.gamma:  # seen in the slope itself, not in the prefactor alone
        assert [slope.slope_agrees for one in outcome.exponents for slope in one.slopes] == [
            False,
            False,
        ]


@pytest.mark.slow
def test_shuffled_labels_turn_the_verdict_negative(tmp_path):
    """A real run: with its labels next to nothing is learned, and the errors do not fall."""
    plan = ExponentPlan((("decay", GAMMA, 100, 3),), hidden=16)
    found = {
        shuffled: dataclasses.replace(plan, shuffle_labels=shuffled) for shuffled in (False, True)
    }
    points = gaussian_points(plan)
    outcomes = {
        shuffled: judge_exponents(
            broken,
            {key: [train_student(run) for run in broken.runs(*key)] for key in points},
            points,
        )
        for shuffled, broken in found.items()
    }
    slopes = {shuffled: outcome.exponents[0].slopes[0] for shuffled, outcome in outcomes.items()}
    assert slopes[False].trained.value < -0.3
    assert not outcomes[True].agrees
    assert not slopes[True].slope_agrees


def test_a_run_is_the_same_at_any_width_and_stored_whole(tmp_path):
    """What is learned has rank 5 or less: 16 and 32 columns hold it alike, at equal penalty on
    S.
    """
    run = StudentRun(GAMMA, 100, (1000, 2000), 0.5, 16, 0.5, index=3)
    narrow, wide = train_student(run), train_student(dataclasses.replace(run, hidden=32))
    assert narrow.status is wide.status is DescentStatus.CONVERGED
    assert narrow.excess_errors == pytest.approx(
        wide.excess_errors, rel=1e-3
    )  # both descents end at a gradient of 1e-4
    assert narrow.estimation_errors == pytest.approx(wide.estimation_errors, rel=1e-3)
    store = Store(tmp_path, StudentResult, "students.jsonl")
    store.append(narrow)
    assert store.load([run]) == {run: narrow}
    assert train_student(run).excess_errors == narrow.excess_errors


def test_samples_are_nested_and_widths_see_the_same_data():
    run = StudentRun(GAMMA, 100, (1000, 2000), 0.5, 16, 0.5)
    other = dataclasses.replace(run, samples=(500, 1000), hidden=32)
    drawn = [np.random.default_rng(r.seeds()["inputs"]).standard_normal(4) for r in (run, other)]
    assert (drawn[0] == drawn[1]).all()
    next_run = np.random.default_rng(
        dataclasses.replace(run, index=1).seeds()["inputs"]
    ).standard_normal(4)
    assert (drawn[0] != next_run).all()


@pytest.mark.parametrize(
    ("changed", "name"),
    [
        ({"hidden": 0}, "hidden"),
        ({"hidden": 101}, "hidden"),
        ({"samples": (2000, 1000)}, "samples"),
        ({"samples": ()}, "samples"),
        ({"dim": 1600, "samples": (400_000,)}, "dim"),
    ],
)
def test_runs_outside_their_domain_are_refused(changed, name):
    run = StudentRun(GAMMA, 100, (1000, 2000), 0.5, 16, 0.5)
    with pytest.raises(InvalidParameter) as caught:
        dataclasses.replace(run, **changed)
    assert caught.value.name == name


def test_students_narrower_than_what_is_learned_are_refused(trained):
    plan = dataclasses.replace(PLAN, hidden=8)
    points = gaussian_points(plan)
    with pytest.raises(InvalidParameter, match="directions that are learned"):
        judge_exponents(plan, synthetic(plan, points), points)


def test_too_few_converged_runs_have_no_slope(trained):
    stopped = {
        key: [dataclasses.replace(result, status=DescentStatus.MAX_STEPS) for result in group]
        for key, group in trained.items()
    }
    with pytest.raises(NoAnswer, match="0 runs converged"):
        judge_exponents(PLAN, stopped, gaussian_points(PLAN))


def test_paths_run_inside_their_cells_at_every_gamma():
    """Far enough out every condition holds: its power of d along the path is positive."""
    for gamma in (Fraction(3, 5), GAMMA, Fraction(1), Fraction(3, 2)):
        for path in PATHS.values():
            logs = (path.samples.power, path.decay.power, 1.0)
            assert path.cell(gamma).margin(*logs) > 0.01
            assert 0 < path.slowest_correction(gamma) < 0.5
        assert DECAY_PATH.cell(gamma).risk[0] == -(2 - 1 / gamma)
        assert NOISE_PATH.cell(gamma).risk[0] == -(1 - 1 / (2 * gamma))


def test_the_theory_beyond_training_counts():
    """A theory that ends farther from the exponent than where it was trained turns the verdict."""
    plan = dataclasses.replace(PLAN, counts=PLAN.counts[:1], dims=(10**4,))
    points = gaussian_points(dataclasses.replace(plan, dims=()))
    results = synthetic(plan, points)
    key = next(iter(points))
    far = (DECAY_PATH, GAMMA, 10**4)
    ahead = scaling_curve(plan.gaussian_problem(*far), DECAY_PATH.octave(10**4))
    assert judge_exponents(plan, results, {**points, far: ahead}).agrees
    behind = judge_exponents(
        plan,
        results,
        {
            **points,
            far: [ahead[0], dataclasses.replace(ahead[1], excess_error=ahead[0].excess_error)],
        },
    )
    assert not behind.agrees
    assert behind.exponents[0].slopes[0].agrees
    assert math.isclose(behind.exponents[0].approach[0][1], 0.0, abs_tol=1e-12)
    assert key[2] == 200


@pytest.mark.slow
def test_the_study_trains_what_is_missing(tmp_path, monkeypatch):
    """Through pool and store, on the theory of sequences with leading features; small and loose."""
    plan = ExponentPlan((("decay", GAMMA, 100, 2),), hidden=16)
    store = Store(tmp_path, StudentResult, "students.jsonl")
    with Pool(2, progress=False) as pool:
        outcome = pool.run(study_exponents(plan, tmp_path))
    assert len(store.path.read_text().splitlines()) == 2
    assert outcome.exponents[0].slopes[0].level_agrees
    assert isinstance(outcome.agrees, bool)


def test_the_main_job_is_judged_by_both_legs(trained):
    """Trained slopes on the theory's way to the exponent, and the theory on its own."""
    outcome = judge_exponents(PLAN, trained, gaussian_points(PLAN))
    leg = Approach(
        "noise", Fraction(-1, 3), ((10**4, -0.38, 1e-4), (10**8, -0.35, 1e-4)), 0.12, 9.3, 11.2
    )
    assert exponent_section(outcome).agrees
    section = theory_exponent_section((leg,))
    assert section.agrees
    assert section.lines[-1].endswith("within 10 % from d = 1e12 on (extrapolated)\n")
    assert near_words(math.nan) == "one slope cannot show from which d on it is near"
    away = dataclasses.replace(leg, slopes=leg.slopes[::-1])
    assert not theory_exponent_section((away,)).agrees
    wrong = dataclasses.replace(PLAN, perturbation=TheoryPerturbation(noise=2.0))
    assert not exponent_section(judge_exponents(wrong, trained, gaussian_points(wrong))).agrees


def test_the_main_job_trains_students_as_it_is_told():
    plan = dataclasses.replace(
        preset("main", figure_one().varied(shuffle_labels=True)),
        perturbation=TheoryPerturbation(noise=2.0),
    )
    asked = plan.exponent_plan()
    assert asked.shuffle_labels
    assert asked.perturbation.noise == 2.0
    assert {path for path, *_ in asked.counts} == set(PATHS)
