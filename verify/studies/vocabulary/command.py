"""`python -m verify vocabulary`: heads trained on tokens of a finite vocabulary."""

from __future__ import annotations

import argparse

from verify.core.controls import ControlledPlan, study_controls, vocabulary_plan
from verify.core.controls_section import controls_section
from verify.core.study import Study
from verify.core.training_options import add_campaign, base_and_campaign, given

DEFAULT_VOCABULARY = "1/5"  #: that of a small sentence encoder


def _add_options(parser: argparse.ArgumentParser) -> None:
    add_campaign(parser, "0.6", vocabulary=DEFAULT_VOCABULARY)


def _plan(arguments: argparse.Namespace) -> ControlledPlan:
    return vocabulary_plan(*base_and_campaign(arguments))


STUDY = Study(
    name="vocabulary",
    help="heads trained on tokens of a finite vocabulary against the theory",
    description="Train heads on sequences that draw their tokens from N = NU d^2 vectors, and "
    "compare with the theory of this vocabulary: overlaps, training error, and the test errors on "
    "new tokens and on new sequences of the same tokens. The theory of new tokens in every sample "
    "is the control: a vocabulary of less than d^2 tokens rejects it.",
    example="python -m verify vocabulary --vocabulary 1/5 --alpha 0.6 --dim 40,60 --runs 8",
    add_options=_add_options,
    plan=_plan,
    steps=study_controls,
    show=controls_section,
    parameters=lambda arguments: {"parameters": given(arguments)},
)
