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
    """One row per solution, indexed by the sample ratio alpha.

    Columns are the quantities of `Solution` with their error bars (`m`, `m_error_bar`, ... as in the Dataset of a sweep; both missing
    where a point was not solved), `replicon`, `residual`, the name of the `status`, then every parameter of the problem, whatever was
    swept: `lambda`, `noise`, `width`, ..., the `target` itself and its `kappa0` where it has one. `attrs` has version and commit.

    >>> from attention_erm import MarchenkoPastur, Problem, learning_curve, to_frame
    >>> problem = Problem(alpha=1, target=MarchenkoPastur(0.5), lambda_=0.01, noise=0.5)
    >>> to_frame(learning_curve(problem, [0.5, 1, 2]))["test_error"].round(4).to_dict()
    {0.5: 0.136, 1.0: 0.102, 2.0: 0.0871}

    Raises:
        InvalidParameter: there is one in place of a list, or another kind in it.
    """
    require_list("solutions", solutions)
    rows = []
    for solution in solutions:
        require_solution(solution)
        rows.append(
            {"alpha": solution.problem.alpha, **solution.row(), **_parameters(solution.problem)}
        )
    frame = pd.DataFrame(rows or {"alpha": []}).set_index("alpha")
    frame.attrs.update(provenance.current().columns())
    return frame


def _parameters(problem: Problem) -> dict[str, object]:
    """All but alpha, settings of the model's own by their names; names as text."""
    values = {field.name.rstrip("_"): getattr(problem, field.name) for field in fields(problem)}
    own = dict(values.pop("extra"))
    del values["alpha"]
    rank = {"kappa0": problem.target.kappa0} if isinstance(problem.target, MarchenkoPastur) else {}
    return {**values, **rank, **own}
