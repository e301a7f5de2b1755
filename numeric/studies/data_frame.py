"""Solutions as a pandas table."""

from collections.abc import Iterable
from dataclasses import fields

import pandas as pd

from attention_erm.runtime import provenance
from numeric.laws.marchenko_pastur import MarchenkoPastur
from numeric.maths.domain import require_list
from numeric.problem.problem import Problem
from numeric.problem.solution import Solution, require_solution


def to_frame(solutions: Iterable[Solution]) -> pd.DataFrame:
    """Return a table with one row per solution, indexed by the sample ratio alpha.

    The first columns are the quantities of `Solution` and their error bars (`m`, `m_error_bar`, ...
    as in the Dataset of a sweep; both are missing for a point that was not solved), `replicon`,
    `residual`, and the name of the `status`. All parameters of the problem follow: `lambda`,
    `noise`, `width`, ..., the `target` itself and its `kappa0` if it has one. `attrs` has version
    and commit.

    >>> from attention_erm import MarchenkoPastur, Problem, learning_curve, to_frame
    >>> problem = Problem(alpha=1, target=MarchenkoPastur(0.5), lambda_=0.01, noise=0.5)
    >>> to_frame(learning_curve(problem, [0.5, 1, 2]))["test_error"].round(4).to_dict()
    {0.5: 0.136, 1.0: 0.102, 2.0: 0.0871}

    Raises:
        InvalidParameter: the argument is not a list, or an element is not a Solution.
    """
    require_list("solutions", solutions)
    rows = []
    for solution in solutions:
        require_solution(solution)
        parameters = _parameters(solution.problem)
        rows.append({"alpha": parameters.pop("alpha"), **solution.row(), **parameters})
    frame = pd.DataFrame(rows or {"alpha": []}).set_index("alpha")
    frame.attrs.update(provenance.current().columns())
    return frame


def _parameters(problem: Problem) -> dict[str, object]:
    """Return all parameters by name, including the model-specific ones."""
    values = {field.name.rstrip("_"): getattr(problem, field.name) for field in fields(problem)}
    del values["extra"]
    if isinstance(problem.target, MarchenkoPastur):
        values["kappa0"] = problem.target.kappa0
    return values | dict(problem.extra)
