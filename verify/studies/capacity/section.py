"""Capacities in training as a section of a report."""

from __future__ import annotations

from functools import partial

from verify.core.section import Claim, Section, ShownFigure
from verify.studies.capacity.figure import capacity_figure
from verify.studies.capacity.study import CapacityOutcome
from verify.studies.capacity.text import capacity_document, capacity_lines

_CAPTION = (
    "Sample ratio up to which some S predicts the labels of all training samples. Circles: mean of "
    "the runs of a size. Square: extrapolated to infinite d, with its interval of 95 %. Line: "
    "theory."
)


def capacity_section(outcome: CapacityOutcome) -> Section:
    """Return every capacity found in training with its value in theory."""
    return Section(
        "Capacity in training",
        outcome.agrees,
        tuple(capacity_lines(outcome)),
        capacity_document(outcome),
        tuple(
            Claim(
                f"capacity, {one.case.setting}",
                f"{one.theory.alpha:.5f}",
                f"{one.interval:.3f}",
                f"z {one.infinite.z:+.1f}",
                one.agrees,
            )
            for one in outcome.estimates
        ),
        {"capacity": ShownFigure(_CAPTION, partial(capacity_figure, outcome.estimates))},
    )
