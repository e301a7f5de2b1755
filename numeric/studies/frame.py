"""Solutions as a pandas table."""

from collections.abc import Iterable

import pandas as pd

from numeric.problem.solution import QUANTITIES, Solution


def to_frame(solutions: Iterable[Solution]) -> pd.DataFrame:
    """One row per solution, indexed by the sample ratio alpha.

    Columns are the quantities of `Solution` with their error bars (`m`, `m_error`, ...; both missing where a point was not solved),
    `replicon`, `residual`, and the name of the `status`.

    >>> from attention_erm import MarchenkoPastur, Problem, learning_curve, to_frame
    >>> problem = Problem(alpha=1, target=MarchenkoPastur(0.5), lambda_=0.01, noise=0.5)
    >>> to_frame(learning_curve(problem, [0.5, 1, 2]))["test_error"].round(4).to_dict()
    {0.5: 0.136, 1.0: 0.102, 2.0: 0.0871}
    """
    rows = [{"alpha": solution.problem.alpha, **_row(solution)} for solution in solutions]
    return pd.DataFrame(rows).set_index("alpha")


def _row(solution: Solution) -> dict[str, object]:
    row: dict[str, object] = {}
    for name in QUANTITIES:
        row[name] = solution.value(name) if solution.trusted else None
        row[f"{name}_error"] = solution.errors.get(name) if solution.trusted else None
    return {**row, "replicon": solution.replicon, "residual": solution.residual, "status": solution.status.name.lower()}
