"""Thresholds along the rank of the target as a section of a report."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import partial

from attention_erm.runtime.text_table import table_text
from numeric.thresholds.along_rank import RankThresholds
from verify.core.section import Section, ShownFigure
from verify.studies.rank_thresholds.figure import along_rank_figure
from verify.studies.rank_thresholds.study import RankThresholdOutcome

_TITLE = "Thresholds along the rank of the target"
#: Rank ratios in the text; the document has all of them.
_LINES = (Fraction(1, 50), Fraction(1, 5), Fraction(1, 2), Fraction(4, 5), Fraction(1))


def rank_threshold_section(outcome: RankThresholdOutcome) -> Section:
    """Return the thresholds as a table, a figure and a document."""
    document = {
        "unit": "D alpha, D = T(T + 1)/2 - 1",
        "noises": [float(noise) for noise in outcome.noises],
        "rows": [{**row._asdict(), "kappa0": float(row.kappa0)} for row in outcome.rows],
        "direct": {"symmetric": outcome.symmetric, "general, two tokens": outcome.general},
    }
    draw = partial(
        along_rank_figure, outcome.rows, outcome.noises, outcome.symmetric, outcome.general
    )
    records = [_record(row, outcome.noises) for row in outcome.rows if row.kappa0 in _LINES]
    return Section(
        _TITLE, outcome.agrees, ("D alpha\n", table_text(records)), document,
        figures={"thresholds_along_rank": ShownFigure(_TITLE, draw)},
    )  # fmt: skip


def _record(row: RankThresholds, noises: Sequence[Fraction]) -> dict[str, object]:
    noisy = {
        f"Delta {float(noise):g}": value
        for noise, value in zip(noises, row.interpolation, strict=True)
    }
    return {
        "kappa0": float(row.kappa0),
        "Bayes": row.bayes,
        "recovery": row.recovery,
        "Delta 0+": row.interpolation_limit,
        **noisy,
    }
