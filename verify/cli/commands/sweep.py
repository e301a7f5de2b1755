"""Command `python -m verify sweep`: training, and the theory beside it, over any parameters of a study file."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

from numeric.cli.arguments import BadInput
from numeric.cli.commands.sweep import add_sweep, carry_out_study, study_attributes
from numeric.cli.study_file import StudyFile, read_study
from numeric.cli.study_points import labelled, naming_keys, study_problems
from numeric.model import DEFAULT
from verify.sweeps.training import Heads, training_plan
from verify.training.data import DataKind
from verify.training.minimise import MINIMISERS
from verify.training.run import MINIMUM_DIM, Start
from verify.training.target import TargetKind


def add(commands) -> None:  # type: ignore[no-untyped-def]  # argparse hides the type
    """Add the command and its arguments."""
    parser = commands.add_parser(
        "sweep",
        help="training and theory over any parameters, kept in a store",
        description="Train heads at all points of a study file, of several sizes and seeds as its table [training] says, and "
        "solve the theory of what they really had beside them. Results go to a Zarr store, which xarray opens as a Dataset; "
        "variables of the theory begin with theory_. The same command goes on where it was stopped. Nothing is judged: "
        "training is at finite d.",
        epilog="example: python -m verify sweep study.toml --out sweep.zarr --dry-run",
    )
    parser.set_defaults(run=run, device="cpu")
    add_sweep(parser)


def run(arguments: argparse.Namespace) -> int:
    """Train and solve what the store lacks and say how points ended."""
    study = read_study(arguments.study, ("training", "slurm"))
    trained = Heads(**study.table("training", _KEYS))
    problems = study_problems(study)
    _require_trained(study, {problem.model for problem in problems.flat})
    with naming_keys(study, study.fixed):
        plan = training_plan(problems, labelled(study), trained, study_attributes(study))
    return carry_out_study(arguments, study, plan)


def _require_trained(study: StudyFile, models: set[str]) -> None:
    for model in models - {DEFAULT}:
        raise BadInput(f"{study.path}: model", model, "is not trained by sweeps", f"use {DEFAULT}, or verify models")


def _integers(least: int) -> Callable[[Any], tuple[int, ...]]:
    def read(value: Any) -> tuple[int, ...]:
        values = value if isinstance(value, list) else [value]
        whole = all(isinstance(entry, int) and not isinstance(entry, bool) for entry in values)
        if not values or not whole or min(values) < least or len(set(values)) < len(values):
            raise ValueError(f"must be a whole number from {least} on, or a list of such, each once")
        return tuple(values)

    return read


def _integer(least: int) -> Callable[[Any], int]:
    def read(value: Any) -> int:
        if not isinstance(value, int) or isinstance(value, bool) or value < least:
            raise ValueError(f"must be a whole number from {least} on")
        return value

    return read


def _one_of(names: list[str], make: Callable[[str], Any]) -> Callable[[Any], Any]:
    def read(value: Any) -> Any:
        if value not in names:
            raise ValueError(f"must be one of {', '.join(names)}")
        return make(value)

    return read


def _switch(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError("must be true or false")
    return value


_KEYS: dict[str, Callable[[Any], Any]] = {
    "dims": _integers(MINIMUM_DIM),
    "runs": _integer(1),
    "data": _one_of([str(kind) for kind in DataKind], DataKind),
    "target": _one_of([str(kind) for kind in TargetKind], TargetKind),
    "minimiser": _one_of(list(MINIMISERS), str),
    "start": _one_of([str(start) for start in Start], Start),
    "entropy": _integer(0),
    "theory": _switch,
}
