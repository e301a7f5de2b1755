"""Solutions as a pandas table."""

from collections.abc import Iterable

import pandas as pd

from numeric.problem.solution import QUANTITIES, Solution


def to_frame(solutions: Iterable[Solution]) -> pd.DataFrame:
    """One row per solution, indexed by the sample ratio alpha.

    Columns are the quantities of `Solution` with their error bars (`m`, `m_error`, ...; both missing where a point was not solved),
    `replicon`, `residual`, and the name of the `status`.
    """
    rows = [{"alpha": solution.problem.alpha, **_row(solution)} for solution in solutions]
    return pd.DataFrame(rows).set_index("alpha")


def _row(solution: Solution) -> dict[str, object]:
    row: dict[str, object] = {}
    for name in QUANTITIES:
        row[name] = solution.value(name) if solution.trusted else None
        row[f"{name}_error"] = solution.errors.get(name) if solution.trusted else None
    return {**row, "replicon": solution.replicon, "residual": solution.residual, "status": solution.status.name.lower()}
