"""Thresholds in training as a section of a report."""

from __future__ import annotations

from functools import partial

from verify.core.intervals import STANDARD_ERRORS, Interval
from verify.core.section import Claim, Section, ShownFigure
from verify.studies.thresholds.figure import threshold_figure
from verify.studies.thresholds.study import ThresholdEstimate, ThresholdOutcome
from verify.studies.thresholds.text import descent_line, threshold_document, threshold_lines

_CAPTION = (
    "Thresholds located in training at vanishing weight decay. Points: root of the training loss (above) and of the estimation "
    "error without label noise (below), open beyond the threshold. Line: theory. Dotted: proven value. Band: 95 % interval of the "
    "trained threshold, extrapolated in d."
)


def threshold_section(outcome: ThresholdOutcome) -> Section:
    """Return every threshold located in training with its proven value."""
    ratios = (
        Claim(
            f"{name} threshold, all settings",
            "ratio 1",
            f"{ratio:.4f}",
            _z(ratio, 1.0),
            1.0 in ratio,
        )
        for name, ratio in outcome.pooled.items()
    )
    document = threshold_document(outcome)
    if outcome.descents:
        document["parametrisations"] = [item.document() for item in outcome.descents]
    return Section(
        "Thresholds located in training", outcome.agrees,
        (*threshold_lines(outcome), *map(descent_line, outcome.descents)), document,
        (*map(_claim, outcome.estimates), *ratios),
        {"thresholds": ShownFigure(_CAPTION, partial(threshold_figure, outcome.estimates))},
    )  # fmt: skip


def _claim(one: ThresholdEstimate) -> Claim:
    proven, seen = float(one.proven), one.crossing.infinite
    return Claim(
        f"{one.case.kind.name} threshold, {one.case.setting}",
        f"{proven:.6f}",
        f"{seen:.4f}",
        _z(seen, proven),
        one.agrees,
    )


def _z(interval: Interval, value: float) -> str:
    return f"z {(interval.value - value) / interval.half_width * STANDARD_ERRORS:+.1f}"
