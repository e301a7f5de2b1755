"""Message passing as a section."""

from __future__ import annotations

from functools import partial

from verify.core.section import Section, ShownFigure
from verify.studies.message_passing.figure import trajectory_figure
from verify.studies.message_passing.messages import MessageOutcome
from verify.studies.message_passing.text import (
    message_passing_document,
    message_passing_lines,
    optimum_line,
    trajectory_document,
    trajectory_lines,
)

_CAPTION = "Overlaps after each step of message passing, and state evolution."


def message_section(outcome: MessageOutcome) -> Section:
    """Return steps, ends and optima."""
    document = {
        "points": [message_passing_document(point) for point in outcome.points],
        "trajectories": [trajectory_document(point) for point in outcome.trajectories],
        "optima": [point.record() for point in outcome.optima],
    }
    lines = (
        *(line for point in outcome.trajectories for line in trajectory_lines(point)),
        *(line for point in outcome.points for line in message_passing_lines(point)),
        *map(optimum_line, outcome.optima),
    )
    draw = partial(trajectory_figure, outcome.trajectories, outcome.plan.base.data)
    figures = {"steps": ShownFigure(_CAPTION, draw)} if outcome.trajectories else {}
    return Section("Message passing", outcome.agrees, lines, document, figures=figures)
