"""Training on tokens of a finite vocabulary against the theory, and the control of new tokens."""

import dataclasses

import pytest

from numeric.laws.marchenko_pastur import MarchenkoPastur
from numeric.problem.problem import Problem
from verify.__main__ import build_parser
from verify.core.campaign import Campaign
from verify.core.controls import (
    CONTROLS,
    WITHOUT_VOCABULARY,
    study_controls,
    vocabulary_plan,
)
from verify.core.controls_section import controls_section
from verify.core.data import DataKind
from verify.core.pool import Pool
from verify.core.run import Run
from verify.studies import study_of

pytestmark = pytest.mark.usefixtures("no_workers")

CAMPAIGN = Campaign(DataKind.SEQUENCES, ((48, 16), (96, 8)), (0.6,), (1.0,))
BASE = Run(Problem(0.6, MarchenkoPastur(0.5), 0.01, 0.5, vocabulary=0.2), 48)


@pytest.mark.slow
def test_trained_heads_agree_and_the_theory_of_new_tokens_is_rejected(tmp_path):
    shuffled = dataclasses.replace(BASE, shuffle_labels=True)
    with Pool(1, progress=False) as pool:
        outcome, control = (
            pool.run(study_controls(vocabulary_plan(run, CAMPAIGN, must_reject=True), tmp_path))
            for run in (BASE, shuffled)
        )
    assert outcome.agrees and outcome.rejects(WITHOUT_VOCABULARY)
    assert [verdict.quantity for verdict in outcome.comparison.verdicts] == [
        *("m", "q", "train_error", "test_error", "vocabulary_test_error")
    ]
    assert len(outcome.controls[WITHOUT_VOCABULARY].verdicts) == 4
    assert not control.agrees
    section = controls_section(outcome)
    assert section.document["rejects_new_tokens"]
    assert "theory of new tokens in every sample: rejected" in section.text


def test_the_command_states_a_plan():
    study = study_of("vocabulary")
    arguments = build_parser().parse_args(["vocabulary", "--dim", "40,60", "--norms", "fixed"])
    plan = study.plan(arguments)
    assert plan.base.problem.vocabulary == 0.2
    found = [one.key for one in CONTROLS if one.applies(plan.base.problem)]
    assert found == ["gaussian_norms", "new_tokens"]
