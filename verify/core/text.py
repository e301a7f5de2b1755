"""Text that several studies print."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Protocol

from numeric.problem.solution import Solution
from verify.core.minimise import DescentStatus
from verify.core.run import Run
from verify.core.scores import Comparison
from verify.core.spectra import TrainedSpectrum

#: names of compared quantities in text
LABELS = {
    "m": "m",
    "q": "q",
    "train_error": "train error",
    "test_error": "test error",
    "vocabulary_test_error": "test error, same vocabulary",
    "free_entropy": "least risk e",
    "misclassification": "wrong labels",
    "calibration": "stated minus true accuracy",
    "agreement": "agreement with the target",
}

BROKEN_SYMMETRY_LINE = "replica symmetry is broken: the theory is an approximation"


class Excluded(Protocol):
    """Result that is listed but not compared."""

    @property
    def run(self) -> Run:
        """Return the run of the result."""

    @property
    def status(self) -> DescentStatus:
        """Return the reason."""


def spectrum_line(name: str, spectrum: TrainedSpectrum) -> str:
    """Return one line that states whether a spectrum agrees with its law.

    Args:
        name: name of the spectrum.
        spectrum: the spectrum.
    """
    word = "agrees" if spectrum.agrees else "disagrees"
    sizes = " and ".join(str(values.shape[1]) for values in (*spectrum.smaller, spectrum.values))
    extrapolated = " extrapolated" if spectrum.smaller else ""
    return (
        f"{name} at alpha {spectrum.alpha:g}, d {sizes}: {word}; distance{extrapolated} "
        f"{spectrum.distance:.4f}, "
        f"p {spectrum.p_value:.3f}\n"
    )


def comparison_lines(kind: str, comparison: Comparison) -> Iterator[str]:
    """Return one line for each quantity, with the mean over points in percent, and one for each
    excluded run.

    Args:
        kind: kind of data, the first word of a line.
        comparison: the scores.
    """
    for verdict in comparison.verdicts:
        mean = (
            f"{100 * verdict.pooled.relative:+.2f} +- {100 * verdict.pooled.standard_error:.2f} %"
        )
        yield (
            f"{kind} {verdict.quantity}: {verdict.advice}; worst z {verdict.worst.z:+.2f}; mean "
            f"{mean}\n"
        )
    if broken := sorted({score.problem.alpha for score in comparison.scores if score.broken}):
        yield f"at alpha {', '.join(f'{alpha:g}' for alpha in broken)} {BROKEN_SYMMETRY_LINE}\n"
    for line in excluded_lines(comparison.excluded):
        yield f"{kind}: {line}"


def verdict_lines(comparison: Comparison) -> Iterator[str]:
    """Return one line for each quantity: verdict, worst score, and score of the mean."""
    for verdict in comparison.verdicts:
        yield (
            f"{verdict.quantity}: {verdict.advice}; worst z {verdict.worst.z:+.2f}; mean z "
            f"{verdict.pooled.z:+.2f}\n"
        )


def excluded_lines(excluded: Iterable[Excluded]) -> Iterator[str]:
    """Return one line for each run that did not converge."""
    for result in excluded:
        yield f"left out {result.run.label}: {result.status.value}\n"


def missing_theory_lines(name: str, line: Iterable[Solution]) -> Iterator[str]:
    """Return lines that list where the theory has no value.

    Args:
        name: name of the line.
        line: solutions of the theory.
    """
    for solution in line:
        if not solution.trusted:
            yield f"no theory of {name} at alpha {solution.problem.alpha:g}: {solution.advice}\n"
