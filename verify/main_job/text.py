"""The main job as lines of text."""

from __future__ import annotations

from collections.abc import Iterator

from verify.core.text import comparison_lines, spectrum_line
from verify.main_job.study import MainJobOutcome
from verify.studies.exponents.text import exponent_lines, near_words
from verify.studies.exponents.theory import Approach
from verify.studies.scaling.text import scaling_lines
from verify.studies.thresholds.text import threshold_lines


def main_job_lines(outcome: MainJobOutcome) -> Iterator[str]:
    """Every verdict of the main job: quantities, scaling laws, exponents, thresholds, spectra."""
    for kind, comparison in outcome.comparisons.items():
        yield from comparison_lines(str(kind), comparison)
    if outcome.laws:
        yield from scaling_lines(outcome.laws)
    for approach in outcome.exponents:
        yield _approach_line(approach)
    if outcome.trained:
        yield from exponent_lines(outcome.trained)
    if outcome.sighted:
        yield from threshold_lines(outcome.sighted)
    for panel in outcome.panels:
        yield spectrum_line("spectrum", panel)


def _approach_line(approach: Approach) -> str:
    """Slopes of the theory at growing d, and how slowly they come to the exponent."""
    slopes = ", ".join(f"{slope:.3f} at d = {dim:.0e}" for dim, slope, _ in approach.slopes)
    word = "reached" if approach.reached else "approached" if approach.closes_in else "NOT APPROACHED"
    return f"exponent {approach.exponent} ({approach.regime}): {word} by the theory, {slopes}; {near_words(approach.near)}\n"
