"""Scaling laws as a section of a report."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from verify.core.intervals import STANDARD_ERRORS
from verify.core.section import Claim, Section, ShownFigure
from verify.studies.scaling.figure import excess_figure
from verify.studies.scaling.presets import DRAWINGS
from verify.studies.scaling.study import ScalingOutcome, Slope
from verify.studies.scaling.text import scaling_document, scaling_point_lines, scaling_result_lines

_CAPTION = (
    "A power-law target, Gaussian-equivalent data. Left: excess test error above the best multiple "
    "of the target, and its ratio "
    "to the theory at the same d. Right: eigenvalues of S by rank."
)


def scaling_section(outcome: ScalingOutcome) -> Section:
    """Return excess errors and slopes of trained heads compared with the theory at the same d."""
    worst = max(outcome.places, key=lambda place: abs(place.z))
    points = Claim(
        f"excess error, worst of {len(outcome.places)} points",
        f"{worst.theory:.4g}",
        f"{worst.mean:.4g}",
        f"z {worst.z:+.1f}",
        outcome.agrees,
    )
    return Section(
        "Scaling laws of trained heads",
        outcome.agrees,
        tuple(scaling_result_lines(outcome)),
        scaling_document(outcome),
        (points, *map(_claim, outcome.slopes)),
        {"scaling": ShownFigure(_CAPTION, partial(excess_figure, outcome))},
        points=tuple(scaling_point_lines(outcome)),
    )


def scaling_command_section(outcome: ScalingOutcome) -> Section:
    """Return the same with all figures."""
    figures = {
        name: ShownFigure(_CAPTION, partial(draw, outcome)) for name, draw in DRAWINGS.items()
    }
    return replace(scaling_section(outcome), figures=figures)


def _claim(slope: Slope) -> Claim:
    z = (slope.trained.value - slope.theory) / slope.trained.half_width * STANDARD_ERRORS
    return Claim(
        f"slope, n {slope.samples[0]} to {slope.samples[1]}, d {slope.dim}, lambda {slope.decay}",
        f"{slope.theory:.3f}",
        f"{slope.trained:.3f}",
        f"z {z:+.1f}",
        slope.agrees or not slope.judged,
    )
