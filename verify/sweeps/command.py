"""Command `python -m verify sweep`: training and theory over any parameters of a study file."""

from __future__ import annotations

import argparse

import torch

from attention_erm.runtime.errors import InvalidParameter
from numeric.cli.command import Command, Result
from numeric.cli.commands.sweep import add_sweep, run_sweep, study_attributes
from numeric.cli.study.file import StudyFile, read_study
from numeric.cli.study.points import errors_name_keys, labelled_axes, study_problems
from numeric.cli.study.values import Reader, one_of, switch, whole_number, whole_numbers
from numeric.model import DEFAULT
from verify.core.data import DataKind
from verify.core.minimise import MINIMISERS
from verify.core.run import MINIMUM_DIM, Start
from verify.core.target import TargetKind
from verify.sweeps.training import TrainingSettings, training_plan


def _add_options(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(device="cpu")
    add_sweep(parser)


def _compute(arguments: argparse.Namespace) -> Result | int:
    study = read_study(arguments.study, ("training", "slurm"))
    trained = TrainingSettings(**study.table("training", _KEYS))
    _require_device(
        study, trained.device, elsewhere=arguments.on == "slurm" or bool(arguments.scheduler)
    )
    problems = study_problems(study)
    _require_trained(study, {problem.model for problem in problems.flat})
    with errors_name_keys(study, study.fixed):
        plan = training_plan(problems, labelled_axes(study), trained, study_attributes(study))
    return run_sweep(arguments, study, plan)


def _require_trained(study: StudyFile, models: set[str]) -> None:
    for model in models - {DEFAULT}:
        way_out = f"use {DEFAULT}; verify models trains others point by point"
        raise InvalidParameter(f"{study.path}: model", model, "is not trained by sweeps", way_out)


def _require_device(study: StudyFile, device: str, elsewhere: bool) -> None:
    """Check the device on this machine; on other machines their workers check it."""
    if device == "cuda" and not elsewhere and not torch.cuda.is_available():
        raise study.error(
            "[training] device",
            device,
            "is not available on this machine",
            'leave it out, or use "cpu"',
        )


_KEYS: dict[str, Reader] = {
    "dims": whole_numbers(MINIMUM_DIM),
    "runs": whole_number(1),
    "data": one_of(list(DataKind), DataKind),
    "target": one_of(list(TargetKind), TargetKind),
    "minimiser": one_of(list(MINIMISERS)),
    "start": one_of(list(Start), Start),
    "device": one_of(["cpu", "cuda"]),
    "entropy": whole_number(0),
    "theory": switch,
}

COMMAND = Command(
    "sweep",
    help="training and theory over any parameters, written to a store",
    description="Train heads at all points of a study file, with the sizes and seeds of its table "
    "[training], and solve the theory for the data they were trained on. Results are written to a "
    "Zarr store, which xarray opens as a Dataset; variables of the theory begin with theory_. The "
    "same command continues an interrupted sweep. No verdict is given: training is at finite d.",
    example="python -m verify sweep study.toml --out sweep.zarr --dry-run",
    add_options=_add_options,
    compute=_compute,
)
