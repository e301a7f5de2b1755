"""Thresholds in training as a section of a report."""

from __future__ import annotations

from functools import partial

from verify.core.section import Claim, Section, ShownFigure
from verify.studies.thresholds.figure import threshold_figure
from verify.studies.thresholds.study import ThresholdOutcome
from verify.studies.thresholds.text import descent_line, threshold_document, threshold_lines

_CAPTION = (
    "Thresholds located in training at vanishing weight decay. Points: root of the training loss "
    "(above) and of the estimation "
    "error without label noise (below), open beyond the threshold. Line: theory. Dotted: proven "
    "value. Band: 95 % interval of the "
    "trained threshold, extrapolated in d."
)


def threshold_section(outcome: ThresholdOutcome) -> Section:
    """Return every threshold located in training with its proven value."""
    claims = (
        *(
            Claim(
                f"{one.case.kind.name}, {one.case.setting}",
                f"{float(one.proven):.6f}",
                f"{one.crossing.infinite:.4f}",
                f"z {one.crossing.infinite.z(float(one.proven)):+.1f}",
                one.agrees,
            )
            for one in outcome.estimates
        ),
        *(
            Claim(
                f"{name}, all settings",
                "ratio 1",
                f"{ratio:.4f}",
                f"z {ratio.z(1.0):+.1f}",
                1.0 in ratio,
            )
            for name, ratio in outcome.pooled.items()
        ),
    )
    document = threshold_document(outcome)
    if outcome.descents:
        document["parametrisations"] = [item.document() for item in outcome.descents]
    return Section(
        "Thresholds located in training",
        outcome.agrees,
        (*threshold_lines(outcome), *map(descent_line, outcome.descents)),
        document,
        claims,
        {"thresholds": ShownFigure(_CAPTION, partial(threshold_figure, outcome.estimates))},
    )
