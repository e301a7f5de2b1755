"""Heads that are trained on the sequences they put out: risk, terms of the difference, and the
figure on small heads.
"""

import dataclasses
import json
import math

import numpy as np
import pytest
import torch

from attention_erm.runtime.errors import InvalidParameter, NoAnswer
from numeric.laws.marchenko_pastur import MarchenkoPastur
from numeric.prediction.prediction import prediction_of
from numeric.problem.problem import Problem
from verify.cli.figure import write
from verify.cli.paper_figures import FIGURES
from verify.core.data import DataKind, Output, Sequences, draw_labels
from verify.core.draw import draw, empirical_risk
from verify.core.measure import execute, fresh_errors
from verify.core.minimise import DescentStatus
from verify.core.pool import Pool
from verify.core.risk import Risk
from verify.core.run import Run
from verify.core.streams import HostStream
from verify.studies.sequence_output import study as output
from verify.studies.sequence_output.study import (
    OutputPlan,
    Term,
    _residual_term,
    differences_of,
    expected_root,
    fitted_terms,
    study_outputs,
)

pytestmark = pytest.mark.usefixtures("no_workers")

PROBLEM = Problem(1.0, MarchenkoPastur(0.5), 0.01, 0.5)
RUN = Run(PROBLEM, 8, output=Output.SEQUENCES)


def risk_of(tokens, seed=0):
    rng = np.random.default_rng(seed)
    x = torch.as_tensor(rng.standard_normal((40, tokens, 8)))
    s0 = torch.eye(8, dtype=torch.float64)
    labels = draw_labels(Sequences(x).indices(s0), 0.5, 1.0, HostStream(rng))
    return Risk(Sequences(x), labels, 0.05, 1.3, output=Output.SEQUENCES), torch.as_tensor(
        rng.standard_normal((8, 5))
    )


@pytest.mark.parametrize("tokens", [2, 3])
def test_the_loss_is_that_of_what_the_heads_put_out(tokens):
    risk, weights = risk_of(tokens)
    s = risk.weights.attention_map(weights)
    attention = torch.softmax(risk.beta * risk.inputs.indices(s), -1)
    loss = ((risk.labels - attention) @ risk.inputs.tokens).square().sum() / 8
    assert float(risk.fit(s)[0]) == pytest.approx(float(loss), rel=1e-12)
    assert risk.train_error(s) == pytest.approx(float(loss) / 40, rel=1e-12)


@pytest.mark.parametrize("tokens", [2, 3])
def test_gradient_equals_central_differences(tokens):
    risk, weights = risk_of(tokens)
    direction = torch.as_tensor(np.random.default_rng(1).standard_normal((8, 5)))
    step = 1e-5  # truncation step^2 and rounding eps/step are both near 1e-10
    above, below = (
        risk.value_and_gradient(weights + sign * step * direction)[0] for sign in (1, -1)
    )
    slope = float((risk.value_and_gradient(weights)[1] * direction).sum())
    assert float(above - below) / (2 * step) == pytest.approx(slope, rel=1e-7)


def test_orthogonal_tokens_of_norm_sqrt_d_make_both_outputs_one():
    risk, weights = risk_of(3)
    orthogonal = math.sqrt(8) * torch.linalg.qr(risk.inputs.tokens.transpose(1, 2))[0].transpose(
        1, 2
    )
    whole = dataclasses.replace(risk, inputs=Sequences(orthogonal))
    labelled = dataclasses.replace(whole, output=Output.LABELS)
    for a, b in zip(
        whole.value_and_gradient(weights), labelled.value_and_gradient(weights), strict=True
    ):
        torch.testing.assert_close(a, b, rtol=1e-12, atol=1e-14)


def test_outputs_share_their_data_and_are_stored_apart():
    labelled = dataclasses.replace(RUN, output=Output.LABELS)
    assert torch.equal(draw(RUN).labels, draw(labelled).labels)
    assert RUN.key != labelled.key
    assert empirical_risk(RUN, draw(RUN)).output is Output.SEQUENCES


def test_sensing_matrices_put_nothing_out():
    with pytest.raises(InvalidParameter, match="output = 'sequences': needs tokens"):
        dataclasses.replace(RUN, data=DataKind.GAUSSIAN_EQUIVALENT)


def test_fresh_errors_are_of_the_output():
    """Of a wrong map both losses have one mean up to the spread of X X^T/d, 30 per cent at d = 8,
    and samples of it.
    """
    drawn = draw(RUN)
    errors = [
        fresh_errors(
            dataclasses.replace(RUN, output=kind),
            3 * drawn.s0,
            drawn.s0,
            HostStream(np.random.default_rng(3)),
            None,
        ).test
        for kind in Output
    ]
    assert errors[0] != errors[1]
    assert errors[1] == pytest.approx(errors[0], rel=0.3)


def test_the_first_term_of_the_difference_by_drawing_the_index_of_the_identity(monkeypatch):
    """E tr r e r^T with e drawn beside h0, of covariance t0; the study projects e on h0."""
    monkeypatch.setattr(output, "_BATCH", 10_000)
    problem = dataclasses.replace(PROBLEM, tokens=3)
    c, target = prediction_of(problem).best_multiple().c, problem.target
    rng = np.random.default_rng(0)
    g, e, xi = (x + x.swapaxes(1, 2) for x in rng.standard_normal((3, 200_000, 3, 3)))
    h0 = math.sqrt(target.q0 / 2) * g
    along = target.t0 / math.sqrt(target.q0)
    e = (along * g + math.sqrt(1 - along**2) * e) / math.sqrt(2)
    y, p = (
        torch.softmax(torch.as_tensor(x), -1).numpy()
        for x in (h0 + math.sqrt(problem.noise) * xi / 2, c * h0)
    )
    terms = (((y - p) @ e) * (y - p)).sum((1, 2))
    drawn = Term(float(terms.mean()), float(terms.std()) / math.sqrt(len(terms)))
    expected = expected_root(problem, "best_error")
    assert expected.value < -20 * expected.error  # not zero, as it is for two tokens
    assert abs(drawn.against(expected)) < 4


def test_two_tokens_have_no_first_term():
    assert expected_root(PROBLEM, "q") == Term(0.0, 0.0)
    means = [_residual_term(PROBLEM, 0.9, 1.2, np.random.default_rng(seed)) for seed in range(20)]
    assert abs(np.mean(means)) < 4 * np.std(means, ddof=1) / math.sqrt(20)
    assert expected_root(dataclasses.replace(PROBLEM, tokens=3), "q") is None


def test_terms_are_found_where_there_is_no_noise():
    dims = np.array([20.0, 40.0, 80.0])
    values, runs = 0.3 * dims**-0.5 - 2 / dims, np.array([4, 4, 4])
    root, inverse = fitted_terms(dims, (-0.5, -1.0), values, np.array([0.1, 0.05, 0.2]), runs)
    assert (root.value, inverse.value) == pytest.approx((0.3, -2.0), rel=1e-10)


def test_scores_of_terms_are_standard_normal():
    """Four runs a size have heavy tails, which the degrees of freedom account for."""
    dims, rng = np.array([20, 30, 40, 60]), np.random.default_rng(0)
    scores = []
    for _ in range(400):
        drawn = rng.standard_normal((4, 4)) * dims**-1.5
        errors = drawn.std(0, ddof=1) / 2
        scores.append(
            fitted_terms(dims, (-0.5, -1.0), drawn.mean(0), errors, np.full(4, 4))[0].against(
                Term(0, 0)
            )
        )
    assert np.std(scores) == pytest.approx(1, abs=4 / math.sqrt(2 * 400))
    assert np.max(np.abs(scores)) < 5


@pytest.fixture(scope="module")
def outcome(tmp_path_factory):
    plan = OutputPlan(Run(PROBLEM, 10), (1.0,), 3, ((10, 3), (16, 3)), (0.5, 1.0))
    with Pool(1, progress=False) as pool, pytest.MonkeyPatch.context() as patched:
        patched.setattr(
            output, "_BATCH", 2000
        )  # a rough expected term: it is not what these tests are about
        return pool.run(study_outputs(plan, tmp_path_factory.mktemp("runs")))


@pytest.mark.slow
def test_small_heads_of_either_output(outcome):
    assert set(outcome.comparisons) == set(Output)
    assert {(d.problem.tokens, d.quantity) for d in outcome.differences} >= {
        (2, "q"),
        (3, "best_error"),
    }
    best = next(
        d for d in outcome.differences if d.quantity == "best_error" and d.problem.tokens == 2
    )
    assert (
        best.means[0] < best.means[1] < 0
    )  # at small d sequences are easier: the sign is that of every size tried


def test_one_size_is_refused_before_any_run(tmp_path):
    plan = OutputPlan(Run(PROBLEM, 10), (1.0,), 3, ((10, 4),), (0.5, 1.0))
    with pytest.raises(InvalidParameter, match="dim = 10: is one size"):
        next(study_outputs(plan, tmp_path))


def test_runs_that_do_not_converge_leave_no_difference():
    result = execute(Run(PROBLEM, 10))
    failed = [dataclasses.replace(result, status=DescentStatus.STALLED)] * 4
    with pytest.raises(NoAnswer, match="alpha 1, dim 10: fewer than 2 pairs"):
        list(differences_of(failed, failed))


@pytest.mark.slow
def test_a_difference_that_stays_is_seen(outcome):
    first = outcome.differences[0]
    wrong = dataclasses.replace(first, root=Term(1.0, 0.1), expected_root=Term(0.0, 0.0))
    assert not dataclasses.replace(outcome, differences=(wrong,)).agrees


@pytest.mark.slow
def test_the_figure_and_its_document(outcome, tmp_path):
    section = FIGURES["sequence-output"].show(outcome)
    files = write(section, tmp_path)
    assert set(files) == {f"sequence_output.{suffix}" for suffix in ("png", "pdf", "json")}
    document = json.loads(files["sequence_output.json"])
    assert document["differences"][0]["expected_root"]["value"] == 0
    assert sum("theory a" in line for line in section.lines) == sum(
        d["z"] is not None for d in document["differences"]
    )
