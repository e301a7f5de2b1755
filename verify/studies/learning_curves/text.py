"""Text and JSON values of learning curves."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from attention_erm.runtime.text_table import table_text
from numeric.plotting.numbers import without_mathtext
from verify.core.documents import comparison_document, line_document, spectrum_summary
from verify.core.realised_problem import COMPARED_QUANTITIES
from verify.core.text import excluded_lines, missing_theory_lines, spectrum_line, verdict_lines
from verify.studies.learning_curves.study import LearningCurveOutcome


def learning_curve_document(name: str, outcome: LearningCurveOutcome) -> dict[str, Any]:
    """Return the outcome as JSON values; NaN becomes null.

    Args:
        name: name of the figure.
        outcome: the outcome.
    """
    return {
        "figure": name,
        "title": outcome.preset.title,
        "agrees": outcome.agrees,
        "curves": [
            {
                "label": curve.name,
                "theory": line_document(curve.solutions),
            }
            for curve in outcome.curves
        ],
        "comparison": comparison_document(outcome.comparison),
        "spectra": [
            {"label": label, **spectrum_summary(spectrum)} for label, spectrum in outcome.spectra
        ],
        "training_order": list(outcome.training_order),
        "theory_order": list(outcome.theory_order),
        "starts": [effect._asdict() for effect in outcome.starts],
    }


def learning_curve_lines(outcome: LearningCurveOutcome) -> Iterator[str]:
    """Yield the scores of every curve at every sample ratio, the excluded runs, the comparison of
    direct training with factors, and the verdict.
    """
    if rows := list(_score_rows(outcome)):
        yield table_text(rows)
    for curve in outcome.curves:
        yield from missing_theory_lines(without_mathtext(curve.name), curve.solutions)
    yield from excluded_lines(outcome.comparison.excluded)
    for label, spectrum in outcome.spectra:
        yield spectrum_line(f"spectrum, {without_mathtext(label)},", spectrum)
    for item in outcome.training_order:
        yield (
            f"trained {item['parametrisation']} minus factors, alpha {item['alpha']:g}, d "
            f"{item['dim']}: test error "
            f"{item['excess_test_error']:+.5f} +- {item['standard_error']:.5f}, "
            f"{_never_better(item)}\n"
        )
    for item in outcome.theory_order:
        least = f"{item['least_excess_test_error']:+.5f}"
        yield (
            f"theory, {without_mathtext(item['curve'])} minus factors: test error {least} or more "
            "from alpha "
            f"{item['from_alpha']:g} on, {_never_better(item)}\n"
        )
        for place in item["better"]:
            yield (
                f"  at alpha {place['alpha']:.3g} {place['excess_test_error']:+.5f}: better than "
                "factors\n"
            )
    for effect in outcome.starts:
        yield (
            f"started at the target, {without_mathtext(effect.family)}, d {effect.dim}: q changes "
            f"by {100 * effect.mean:+.2f} +- "
            f"{100 * effect.standard_error:.2f} %, at most by {100 * effect.largest:.2f} % in "
            f"{effect.runs} runs\n"
        )
    yield from verdict_lines(outcome.comparison)


def _score_rows(outcome: LearningCurveOutcome) -> Iterator[dict[str, object]]:
    for curve in outcome.curves:
        for alpha in sorted({score.problem.alpha for score in curve.scores}):
            scores = {
                score.quantity: score for score in curve.scores if score.problem.alpha == alpha
            }
            z = {f"z {name}": f"{scores[name].z:+.2f}" for name in COMPARED_QUANTITIES}
            yield {"curve": without_mathtext(curve.name), "alpha": alpha, **z}


def _never_better(item: Mapping[str, Any]) -> str:
    return "not better" if item["agrees"] else "BETTER than factors"
