"""`python -m verify covariance`: heads trained on tokens with a covariance."""

from __future__ import annotations

import argparse

from verify.core.controls import ControlledPlan, covariance_plan, study_controls
from verify.core.controls_section import controls_section
from verify.core.study import Study
from verify.core.training_options import add_campaign, base_and_campaign, given

DEFAULT_COVARIANCE = "atoms:1/10:1/2,19/10:1/2"  #: default: half of the directions 19 times as long


def _add_options(parser: argparse.ArgumentParser) -> None:
    add_campaign(parser, "0.2,0.8", covariance=DEFAULT_COVARIANCE)


def _plan(arguments: argparse.Namespace) -> ControlledPlan:
    return covariance_plan(*base_and_campaign(arguments))


STUDY = Study(
    name="covariance",
    help="heads trained on tokens with a covariance against the theory",
    description="Train heads on tokens with a covariance that is independent of the target, and "
    "compare with the theory of this covariance. The theory of isotropic tokens is the control: a "
    "strong covariance rejects it. With --norms fixed all tokens have one norm, as after RMS "
    "normalisation, and the theory of Gaussian norms is a second control.",
    example="python -m verify covariance --alpha 0.2 --dim 24,40 --runs 8 --json",
    add_options=_add_options,
    plan=_plan,
    steps=study_controls,
    show=controls_section,
    parameters=lambda arguments: {"parameters": given(arguments)},
)
