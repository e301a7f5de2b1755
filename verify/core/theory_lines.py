"""Theory lines as tasks with stored results, so that an interrupted figure does not solve them
again.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

from numeric.engines.task import Task
from numeric.problem.problem import Parametrisation, Problem, SampleMinimum
from numeric.problem.solution import Solution
from numeric.saddle.curve import learning_curve
from numeric.studies.optimal_decay import optimal_lambda
from verify.core.minimise import DescentStatus
from verify.core.pool import Steps
from verify.core.realised_problem import Predictor, TrainedHead, problems_to_solve
from verify.core.store import Store
from verify.core.theory import ACCURACY, POINT_SECONDS, families_of, select_predictions

#: Tolerance of log lambda in a search of the weight decay. The test error is flat at its minimum
#: and changes by 0.1 % or less.
DECAY_TOLERANCE = 0.1
#: Seconds per point: rays on the fitted branch, sampled channels, points of a search of the weight
#: decay.
_FITTED, _SAMPLED, _SEARCH = 4.0, 4.0, 12

#: Number of pieces of a line on the fitted branch, and least number of points of a piece: each
#: piece needs a cold start.
_PIECES, _LEAST_PIECE = 4, 4


@dataclass(frozen=True)
class TheoryLine:
    """Solutions of `problem` at the sample ratios `alphas`, to a relative `accuracy`.

    `chosen` optimises the weight decay at each alpha; the decay of the problem is then ignored.
    """

    problem: Problem
    alphas: tuple[float, ...]
    accuracy: float
    chosen: bool = False

    @property
    def fitted(self) -> bool:
        """Return whether the line is on the fitted branch."""
        return self.problem.sample_minimum is SampleMinimum.FITTED

    @property
    def key(self) -> str:
        """Return the key of the stored result."""
        return hashlib.sha256(repr(self).encode()).hexdigest()[:32]

    @property
    def cost(self) -> float:
        """Return the estimated number of seconds."""
        sampled = self.problem.tokens > 2 or self.problem.parametrisation is Parametrisation.GENERAL
        point = _SAMPLED if sampled else _FITTED if self.fitted else POINT_SECONDS
        return point * len(self.alphas) * (_SEARCH if self.chosen else 1)


@dataclass(frozen=True)
class SolvedLine:
    """Solutions along a line; the status of each states whether it is solved."""

    run: TheoryLine
    solutions: tuple[Solution, ...]

    def to_json(self) -> dict[str, Any]:
        """Return the numbers as JSON values; the problem is that of the line. `from_json` is the
        inverse.
        """
        return {
            "line": repr(self.run),
            "solutions": [solution.to_json() for solution in self.solutions],
        }

    @classmethod
    def from_json(cls, run: TheoryLine, record: dict[str, Any]) -> SolvedLine:
        """Return the line stored as `record`.

        Args:
            run: the line.
            record: JSON values.

        Raises:
            KeyError, TypeError, ValueError: the record is invalid.
        """
        return cls(
            run, tuple(Solution.from_json(run.problem, numbers) for numbers in record["solutions"])
        )


LineStore = Store[SolvedLine]


def line_store(folder: Path) -> LineStore:
    """Return the store of solved lines in `folder`. Raises OSError if it is not writable."""
    return Store(folder, SolvedLine, "lines.jsonl")


def line_tasks(line: TheoryLine, store: LineStore) -> list[Task]:
    """Return the tasks that solve a line; on the fitted branch several, because a point takes up to
    minutes there.

    Args:
        line: the line.
        store: store of the results.
    """
    whole = max(1, len(line.alphas))
    step = max(_LEAST_PIECE, math.ceil(whole / _PIECES)) if line.fitted else whole
    pieces = [
        replace(line, alphas=line.alphas[first : first + step]) for first in range(0, whole, step)
    ]
    label = f"theory line at lambda {line.problem.lambda_:g}, {line.problem.tokens} tokens"
    return [
        Task(solve_line, (piece,), piece.cost, label, "theory lines", store=store)
        for piece in pieces
    ]


def line_solutions(
    lines: Sequence[TheoryLine], store: LineStore
) -> Steps[list[tuple[Solution, ...]]]:
    """Solve lines together and return the solutions along each.

    Args:
        lines: the lines.
        store: store of the results.
    """
    asked = [line_tasks(line, store) for line in lines]
    pieces = iter((yield [job for jobs in asked for job in jobs]))
    return [
        tuple(solution for piece in islice(pieces, len(jobs)) for solution in piece.solutions)
        for jobs in asked
    ]


def solve_line(line: TheoryLine) -> SolvedLine:
    """Solve a line along its sample ratios, each point from its neighbours."""
    if line.chosen:
        found = [
            optimal_lambda(line.problem.at(a), DECAY_TOLERANCE, line.accuracy).solution
            for a in line.alphas
        ]
    else:
        found = learning_curve(line.problem, line.alphas, accuracy=line.accuracy)
    return SolvedLine(line, tuple(found))


def stored_predictions(results: Iterable[TrainedHead], store: LineStore) -> Steps[Predictor]:
    """Solve the theory of `results`, one stored task per curve, and return a predictor for them.

    The predictor returns NaN where the theory has no answer. It knows the converged runs among
    `results` only.

    Args:
        results: trained heads.
        store: store of the results.
    """
    asked = problems_to_solve(r for r in results if r.status is DescentStatus.CONVERGED)
    families = families_of(asked)
    lines = [
        TheoryLine(family, tuple(sorted(alphas)), ACCURACY) for family, alphas in families.items()
    ]
    solved = yield from line_solutions(lines, store)
    along = [{s.problem.alpha: s for s in solutions} for solutions in solved]
    return lambda problems: select_predictions(problems, families, along)
