"""Sections of learning curves: the table of the theory, then trained heads."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial

import numpy as np

from attention_erm.runtime.text_table import table_text
from numeric.problem.solution import Solution
from verify.core.curve_panel import Curve, trained_figure
from verify.core.data import DataKind
from verify.core.documents import comparison_document, line_document, score_rows
from verify.core.realised_problem import COMPARED_QUANTITIES
from verify.core.scores import BAND, Verdict, largest_score, worst_verdict
from verify.core.section import Claim, Section, ShownFigure, verdict_claim
from verify.core.text import LABELS, comparison_lines
from verify.report.html import score_table
from verify.studies.learning_curves.campaign_figures import campaign_figure, score_figure
from verify.studies.learning_curves.campaigns import CampaignOutcome, CurveOutcome, TheoryCurves
from verify.studies.learning_curves.figure import preset_figure
from verify.studies.learning_curves.study import LearningCurveOutcome
from verify.studies.learning_curves.text import learning_curve_document, learning_curve_lines

TABLE_ROWS = 8  #: rows of the table of the theory on the terminal

CURVE_CAPTION = (
    "Error against the sample ratio. Lines: replica theory. Points: trained heads at the largest "
    "d, with standard errors, "
    "without finite-size correction. Vertical lines: thresholds at width 1 or more (recovery: the "
    "same target without label noise)."
)
SCORE_CAPTION = (
    "Scores after finite-size extrapolation, by sample ratio and width (G: Gaussian-equivalent "
    "data). "
    f"Grey: the band |z| < {BAND:g}."
)


def theory_section(theory: TheoryCurves) -> Section:
    """Return the learning curve of the theory as a table with error bars."""
    width, curve = max(theory.curves.items())
    places = np.linspace(0, len(curve) - 1, min(TABLE_ROWS, len(curve))).round().astype(int)
    rows = [_theory_row(curve[place]) for place in places]
    lines = (
        f"width {width:g}, value +- error bar of the solver:\n",
        *table_text(rows).splitlines(keepends=True),
    )
    document = [
        {"width": width, "theory": line_document(line)} for width, line in theory.curves.items()
    ]
    return Section("Learning curve of the theory (Figure 1)", True, lines, {"curves": document})


def _theory_row(solution: Solution) -> dict[str, object]:
    def shown(name: str) -> str:
        return f"{getattr(solution, name):.6f} +- {solution.errors.get(name, 0.0):.1e}"

    return {
        "alpha": f"{solution.problem.alpha:.4g}",
        **{name: shown(name) for name in COMPARED_QUANTITIES},
    }


def training_section(outcome: CampaignOutcome, thresholds: dict[str, float]) -> Section:
    """Return trained heads compared with the theory.

    Args:
        outcome: comparison of every campaign.
        thresholds: sample ratios that the figure marks, by name.
    """
    claims = [
        claim
        for kind, comparison in outcome.comparisons.items()
        for claim in _claims(kind, comparison.verdicts)
    ]
    text = [
        line
        for kind, comparison in outcome.comparisons.items()
        for line in comparison_lines(str(kind), comparison)
    ]
    scores = [score for comparison in outcome.comparisons.values() for score in comparison.scores]
    tables = tuple(
        score_table(f"Every point: {kind}", comparison.scores, COMPARED_QUANTITIES)
        for kind, comparison in outcome.comparisons.items()
    )
    figures = {"scores": ShownFigure(SCORE_CAPTION, partial(score_figure, outcome))}
    if DataKind.SEQUENCES in outcome.comparisons:
        figures = {
            "curve": ShownFigure(CURVE_CAPTION, partial(campaign_figure, outcome, thresholds)),
            **figures,
        }
    document = {
        "comparisons": {
            str(kind): comparison_document(comparison)
            for kind, comparison in outcome.comparisons.items()
        },
        "run_seconds": math.fsum(result.seconds for result in outcome.results.values()),
    }
    return Section(
        "Trained heads along the sample ratio",
        outcome.agrees,
        tuple(text),
        document,
        tuple(claims),
        figures,
        note=largest_score(scores),
        tables=tables,
    )


def curve_section(outcome: CurveOutcome) -> Section:
    """Return one learning curve: a row per quantity, point and size, then the verdicts."""
    plan, scores = outcome.plan, outcome.comparison.scores
    rows = score_rows(scores)
    shown = [
        {name: value for name, value in row.items() if name != "theory_status"} for row in rows
    ]
    document = dict(comparison_document(outcome.comparison))
    if plan.line:
        document["line"] = line_document(outcome.line)
    curve = Curve(rf"$\kappa = {plan.base.problem.width:g}$", outcome.line, scores)
    return Section(
        "Learning curve",
        outcome.agrees,
        tuple(comparison_lines(str(plan.campaign.data), outcome.comparison)),
        document,
        figures={"curve": ShownFigure(CURVE_CAPTION, partial(trained_figure, curve))},
        points=(
            f"{plan.settings}\n",
            table_text(shown),
            f"{_residual_line([dim for dim, _ in plan.campaign.sizes])}\n",
        ),
        rows=rows,
    )


def preset_section(name: str, outcome: LearningCurveOutcome) -> Section:
    """Return a figure of the paper, with the scores of every curve.

    Args:
        name: name of the figure.
        outcome: its curves.
    """
    title = outcome.preset.title
    return Section(
        title,
        outcome.agrees,
        tuple(learning_curve_lines(outcome)),
        learning_curve_document(name, outcome),
        figures={f"figure_{name}": ShownFigure(title, partial(preset_figure, outcome))},
    )


def _residual_line(dims: Sequence[int]) -> str:
    """Return a line that explains z and mean for these sizes."""
    if len(dims) == 1:
        return (
            f"z and mean refer to the residual of a point at d = {dims[0]}, which includes the "
            "finite-size effect"
        )
    terms = "a + c/d" if len(dims) == 2 else "a + c/d + e/d^2"
    return f"z and mean refer to the residual of a point, extrapolated to infinite d by {terms}"


def _claims(kind: DataKind, verdicts: tuple[Verdict, ...]) -> list[Claim]:
    """One claim per quantity on sequences, and one for all quantities on Gaussian-equivalent
    data.
    """
    if kind is DataKind.SEQUENCES:
        return [
            verdict_claim(f"{LABELS[verdict.quantity]}, {kind}", verdict) for verdict in verdicts
        ]
    worst = worst_verdict(verdicts)
    claim = verdict_claim(f"{LABELS[worst.quantity]}, {kind}", worst)
    return [claim._replace(agrees=all(verdict.agrees for verdict in verdicts))]
