"""Spectra as a section of a report."""

from __future__ import annotations

from functools import partial

from verify.core.documents import spectrum_summary
from verify.core.section import Claim, Section, ShownFigure
from verify.core.spectrum_panel import trained_spectrum_figure
from verify.core.text import spectrum_line
from verify.studies.spectra.study import SpectrumOutcome

_CAPTION = (
    "Singular values of the learned map S at full width. Blue: theory. Grey: trained heads. "
    "Red dashed: the target."
)


def spectrum_section(outcome: SpectrumOutcome) -> Section:
    """Return the spectra: one line and one claim each, and the figure."""
    claims = tuple(
        Claim(
            f"spectrum at alpha {one.alpha:g}", f"{one.theory.zero_mass:.3f} at 0",
            f"distance {one.distance:.4f}", f"p {one.p_value:.3f}", one.agrees,
        )
        for one in outcome.spectra
    )  # fmt: skip
    document = [
        {
            **spectrum_summary(one),
            "second_moment": one.theory.second_moment,
            "trained_second_moment": float((one.values**2).mean()),
        }
        for one in outcome.spectra
    ]
    draw = partial(trained_spectrum_figure, outcome.spectra, outcome.plan.base.problem)
    return Section(
        "Spectra of trained heads",
        outcome.agrees,
        tuple(spectrum_line("spectrum", one) for one in outcome.spectra),
        {"spectra": document},
        claims,
        {"spectra": ShownFigure(_CAPTION, draw)},
    )
