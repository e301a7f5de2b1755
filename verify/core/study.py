"""Definition of a study: options, plan, computation, and presentation of its outcome."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

from verify.core.pool import Steps
from verify.core.section import Section

_Plan = TypeVar("_Plan")
_Outcome = TypeVar("_Outcome")


def no_parameters(arguments: Namespace) -> dict[str, Any]:
    """Return nothing: the document of the study states its parameters itself."""
    return {}


@dataclass(frozen=True)
class Study(Generic[_Plan, _Outcome]):
    """One study of training, as a frozen value; `python -m verify` has a command for each.

    Attributes:
        name: name of the command, and of the JSON document in the output folder.
        help: one line for the list of commands.
        description: what the command prints and writes.
        example: a command line.
        add_options: adds the options that state a plan.
        plan: reads the plan from the options; raises InvalidParameter where they make no sense
            together.
        steps: computes the outcome: yields jobs and receives their results. Finished runs are kept
            in the folder.
        show: returns the section of an outcome.
        parameters: the options as JSON values, where the document does not state them itself.
        writes: whether figures and document go into the output folder without being requested.
        delegate: name of the study that computes what the options state, where it is another one.
    """

    name: str
    help: str
    description: str
    example: str
    add_options: Callable[[ArgumentParser], None]
    plan: Callable[[Namespace], _Plan]
    steps: Callable[[_Plan, Path], Steps[_Outcome]]
    show: Callable[[_Outcome], Section]
    parameters: Callable[[Namespace], Mapping[str, Any]] = no_parameters
    writes: bool = True
    delegate: Callable[[Namespace], str | None] | None = None
