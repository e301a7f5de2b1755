"""The points of a study file: each read by the arguments and rules of `python -m numeric curve`."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from fractions import Fraction
from typing import NoReturn

import numpy as np

from attention_erm.cli.parser import ValueParser
from attention_erm.runtime.errors import InvalidParameter
from numeric.cli.arguments import positive
from numeric.cli.model_arguments import add_own_settings
from numeric.cli.problem_arguments import (
    add_parametrisation,
    add_problem,
    add_sample_minimum,
    problem_of,
)
from numeric.cli.study.file import StudyFile
from numeric.problem.problem import Problem
from numeric.sweeps.axes import Axis, grid_points, points_of, shape_of

MOST_POINTS = 1_000_000  #: of a study: each is a Problem in memory


def study_axes(study: StudyFile) -> tuple[Axis, ...]:
    """Its axes, values as texts. Raises InvalidParameter for too many points."""
    axes = tuple(Axis(tuple(varied), tuple(varied.values())) for varied in study.varied)
    if points_of(axes) > MOST_POINTS:
        raise study.error(
            "points", points_of(axes), f"must be at most {MOST_POINTS}", "split the study"
        )
    return axes


def study_problems(study: StudyFile) -> np.ndarray:
    """The problem at each place of its axes.

    Raises:
        InvalidParameter: a parameter that no problem has, lacks, or outside its domain, with the
            place where.
    """
    axes = study_axes(study)
    parser = _PointParser(study)
    problems = np.empty(shape_of(axes), dtype=object)
    for index, texts in grid_points(axes):
        problems[index] = parser.problem({**study.fixed, **texts})
    return problems


def labelled_axes(study: StudyFile) -> tuple[Axis, ...]:
    """Its axes as coordinates: numbers where texts are some, under the names in data."""
    return tuple(
        Axis(
            tuple(varied),
            tuple(tuple(map(_label, values)) for values in varied.values()),
        )
        for varied in study.varied
    )


def _label(text: str) -> float | str:
    try:
        return float(Fraction(text))
    except (ValueError, ZeroDivisionError):
        return text


class _PointParser:
    """Reads the problem of one point from texts."""

    def __init__(self, study: StudyFile) -> None:
        self._study, self._parser = study, _RaisingParser(add_help=False, allow_abbrev=False)
        self._parser.add_argument(
            "--alpha", type=positive("--alpha", "give n/d^2, e.g. 1"), required=True
        )
        add_problem(self._parser)
        add_parametrisation(self._parser)
        add_sample_minimum(self._parser)
        add_own_settings(self._parser)

    def problem(self, texts: Mapping[str, str]) -> Problem:
        """The problem that the texts state."""
        known = self._parser._option_string_actions
        for name, text in texts.items():
            if _flag(name) not in known:
                names = ", ".join(option.removeprefix("--") for option in known)
                raise self._study.error(name, text, "unknown parameter", f"use one of {names}")
        with errors_name_keys(self._study, texts):
            arguments = self._parser.parse_args(
                [f"{_flag(name)}={text}" for name, text in texts.items()]
            )
            return problem_of(arguments, arguments.alpha)[0]


@contextmanager
def errors_name_keys(study: StudyFile, texts: Mapping[str, str]) -> Iterator[None]:
    """Say what is wrong with an argument of the key of the file that stated it, and at which
    texts.
    """
    try:
        yield
    except InvalidParameter as error:
        line = error.as_option()
        key = f"{study.path}: {line.name.removeprefix('--')}".rstrip(": ")
        where = ", ".join(f"{name} = {text}" for name, text in texts.items())
        raise InvalidParameter(
            key, line.value, line.rule, line.hint + (f" (at {where})" if where else "")
        ) from None


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"


class _RaisingParser(ValueParser):
    """Raises where a parser of the command line would print and exit."""

    def error(self, message: str) -> NoReturn:
        """Raise what is wrong."""
        raise InvalidParameter("", "", " ".join(message.split()), "state it in the file")
