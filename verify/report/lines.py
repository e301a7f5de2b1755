"""Outcomes as lines of text, as commands print them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol

from attention_erm.commandline.table import table_text
from numeric.plotting.numbers import without_mathtext
from numeric.problem.solution import Solution, Status
from verify.judging.realised import COMPARED_QUANTITIES
from verify.judging.scores import Comparison, Score
from verify.judging.sequences import LEADING, LEAST_RATIO
from verify.judging.spectra import TrainedSpectrum
from verify.networks.width import WidthPoint
from verify.published.comparison import PublishedCurve
from verify.report.exponents import exponent_lines, near_words
from verify.report.thresholds import threshold_lines
from verify.studies.cross_validation import ChoiceGroup
from verify.studies.descents import Descents
from verify.studies.exponents import Approach
from verify.studies.gap import GapTrend
from verify.studies.learning_curves import LearningCurveOutcome
from verify.studies.main_job import MainJobOutcome
from verify.studies.message_passing import MessagePassingPoint
from verify.studies.models import ModelOutcome
from verify.studies.scaling import Place, ScalingOutcome, Slope
from verify.training.minimise import DescentStatus
from verify.training.run import Run

_BROKEN = "replica symmetry is broken: the theory is an approximation"


class Excluded(Protocol):
    """A result that is listed and not judged."""

    @property
    def run(self) -> Run:
        """Which run it is of."""

    @property
    def status(self) -> DescentStatus:
        """Why."""


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


def spectrum_line(name: str, spectrum: TrainedSpectrum) -> str:
    """Whether a spectrum agrees with its law."""
    word = "agrees" if spectrum.agrees else "disagrees"
    sizes = " and ".join(str(values.shape[1]) for values in (*spectrum.smaller, spectrum.values))
    extrapolated = " extrapolated" if spectrum.smaller else ""
    return (
        f"{name} at alpha {spectrum.alpha:g}, d {sizes}: {word}; distance{extrapolated} {spectrum.distance:.4f}, "
        f"p {spectrum.p_value:.3f}\n"
    )


def comparison_lines(kind: str, comparison: Comparison) -> Iterator[str]:
    """One line for each quantity, with the mean over points in per cent, and for each run left out; `kind` of data first."""
    for verdict in comparison.verdicts:
        mean = f"{100 * verdict.pooled.relative:+.2f} +- {100 * verdict.pooled.standard_error:.2f} %"
        yield f"{kind} {verdict.quantity}: {verdict.advice}; worst z {verdict.worst.z:+.2f}; mean {mean}\n"
    if broken := sorted({score.problem.alpha for score in comparison.scores if score.broken}):
        yield f"at alpha {', '.join(f'{alpha:g}' for alpha in broken)} {_BROKEN}\n"
    for line in excluded_lines(comparison.excluded):
        yield f"{kind}: {line}"


def verdict_lines(comparison: Comparison) -> Iterator[str]:
    """One line for each quantity: what was found, the worst score and that of the mean."""
    for verdict in comparison.verdicts:
        yield f"{verdict.quantity}: {verdict.advice}; worst z {verdict.worst.z:+.2f}; mean z {verdict.pooled.z:+.2f}\n"


def excluded_lines(excluded: Iterable[Excluded]) -> Iterator[str]:
    """One line for each run that did not converge."""
    for result in excluded:
        yield f"left out {result.run.label}: {result.status.value}\n"


def learning_curve_lines(outcome: LearningCurveOutcome) -> Iterator[str]:
    """The scores of every curve at every sample ratio, the runs left out, what direct training lost to factors, and the verdict."""
    if rows := list(_score_rows(outcome)):
        yield table_text(rows)
    for curve in outcome.curves:
        yield from _gap_lines(without_mathtext(curve.name), curve.solutions)
    yield from excluded_lines(outcome.comparison.excluded)
    for label, spectrum in outcome.spectra:
        yield spectrum_line(f"spectrum, {without_mathtext(label)},", spectrum)
    for item in outcome.training_order:
        yield (
            f"trained {item['parametrisation']} minus factors, alpha {item['alpha']:g}, d {item['dim']}: test error "
            f"{item['excess_test_error']:+.5f} +- {item['standard_error']:.5f}, {_never_better(item)}\n"
        )
    for item in outcome.theory_order:
        least = f"{item['least_excess_test_error']:+.5f}"
        yield (
            f"theory, {without_mathtext(item['curve'])} minus factors: test error {least} or more from alpha "
            f"{item['from_alpha']:g} on, {_never_better(item)}\n"
        )
        for place in item["better"]:
            yield f"  at alpha {place['alpha']:.3g} {place['excess_test_error']:+.5f}: better than factors\n"
    for effect in outcome.starts:
        yield (
            f"started at the target, {without_mathtext(effect.family)}, d {effect.dim}: q changes by {100 * effect.mean:+.2f} +- "
            f"{100 * effect.standard_error:.2f} %, at most by {100 * effect.largest:.2f} % in {effect.runs} runs\n"
        )
    yield from verdict_lines(outcome.comparison)


def _gap_lines(name: str, line: Iterable[Solution]) -> Iterator[str]:
    """Where the theory has no value."""
    for solution in line:
        if not solution.trusted:
            yield f"no theory of {name} at alpha {solution.problem.alpha:g}: {solution.advice}\n"


def _score_rows(outcome: LearningCurveOutcome) -> Iterator[dict[str, object]]:
    for curve in outcome.curves:
        for alpha in sorted({score.problem.alpha for score in curve.scores}):
            scores = {score.quantity: score for score in curve.scores if score.problem.alpha == alpha}
            z = {f"z {name}": f"{scores[name].z:+.2f}" for name in COMPARED_QUANTITIES}
            yield {"curve": without_mathtext(curve.name), "alpha": alpha, **z}


def _never_better(item: Mapping[str, Any]) -> str:
    return "not better" if item["agrees"] else "BETTER than factors"


def scaling_lines(outcome: ScalingOutcome) -> Iterator[str]:
    """The data, every place with its ratio to the theory, every slope beside theory and exponent, spectra, and the verdict."""
    base, gamma = outcome.plan.base, float(outcome.plan.gamma)
    yield f"excess errors of a power law k^-{gamma:g} on {base.data}, noise {base.problem.noise:g}:\n"
    if outcome.places:
        yield table_text([_place_row(place) for place in outcome.places])
    for slope in outcome.slopes:
        yield (
            f"slope, d {slope.dim}, lambda {slope.decay}, n {slope.samples[0]} to {slope.samples[1]}: trained {slope.trained:.3f}, "
            f"theory {slope.theory:.3f}, "
            f"{_word(slope)}; exponent of the regime ({slope.regime}) as d grows {slope.exponent:.3f}\n"
        )
    for (decay, alpha), panel in outcome.panels.items():
        yield (
            f"spectrum, d {panel.dim}, lambda {decay}, n/d^2 {alpha:g}: distance of the distribution functions "
            f"{panel.distance:.4f}, p {panel.p_value:.3f}\n"
        )
    yield from verdict_lines(outcome.comparison)
    yield from excluded_lines(outcome.comparison.excluded)
    yield scaling_verdict_line(outcome)


def _place_row(place: Place) -> dict[str, object]:
    ratio, error = place.ratio
    return {
        "d": place.dim, "lambda": place.decay.name, "n": place.samples, "trained": place.mean, "theory": place.theory,
        "ratio": f"{ratio:.3f}", "+-": f"{error:.3f}", "expected": place.expected, "z": f"{place.z:+.1f}",
        "regime": place.regime.name,
    }  # fmt: skip


def _word(slope: Slope) -> str:
    if not slope.judged:
        return f"{'within' if slope.agrees else 'outside'}, not judged as n < {LEAST_RATIO} d"
    return "agrees" if slope.agrees else "DISAGREES"


def scaling_verdict_line(outcome: ScalingOutcome) -> str:
    """What agrees, and what cannot."""
    *first, last = outcome.judged or ("nothing",)
    judged = f"{', '.join(first)} and {last}" if first else last
    word = "agree" if outcome.agrees else "DISAGREE"
    if outcome.gaussian:
        return f"Gaussian-equivalent data: {judged} {word} with the theory\n"
    if not outcome.judged:
        return (
            f"token sequences: no whole feature is learned where n >= {LEAST_RATIO} d at every size, nothing is judged; "
            "raise --alpha, lower --lambda or leave out small --dim\n"
        )
    return (
        f"token sequences, n >= {LEAST_RATIO} d: {judged} {word} with the theory of their own indices, of which the first {LEADING} "
        "(d/2 at small d) are not Gaussian (ratio: the universality gap of the theory that takes them for Gaussian)\n"
    )


def model_lines(outcomes: Iterable[ModelOutcome]) -> Iterator[str]:
    """A line for each model, setting and quantity, and for each gap in a line of the theory."""
    for outcome in outcomes:
        yield from _gap_lines(outcome.model, outcome.curve)
        for score in outcome.scores:
            yield _model_line(score)


def _model_line(score: Score) -> str:
    problem = score.problem
    trained = ", ".join(f"{group.simulation:.5f} +- {group.standard_error:.5f}" for group in score.groups)
    place = f"{problem.model}, alpha {problem.alpha:g}, lambda {problem.lambda_:g}, noise {problem.noise:g}, {score.quantity}"
    verdict = "" if score.agrees else " DISAGREES"
    return f"{place}: theory {score.groups[-1].theory:.5f}; trained {trained}; z {score.z:+.2f}{verdict}\n"


def width_lines(points: Sequence[WidthPoint]) -> Iterator[str]:
    """A line for each width, and how many agree."""
    for point in points:
        slope = f"; slope {point.slope:+.3f} +- {point.slope_deviation:.3f}, theory {point.slope_theory:+.3f}, z {point.slope_z:+.1f}"
        yield (
            f"m = {point.hidden}: error {point.estimation_error:.5f} +- {point.estimation_deviation:.5f}, theory "
            f"{point.solution.estimation_error:.5f}, ratio {point.ratio:.3f}, z {point.z:+.1f}"
            f"{'' if math.isnan(point.slope) else slope}{'' if point.agrees else ' DISAGREES'}\n"
        )
    if broken := [str(point.hidden) for point in points if point.solution.status is Status.UNSTABLE]:
        yield f"at m = {', '.join(broken)} {_BROKEN}\n"
    yield f"{sum(point.agrees for point in points)} of {len(points)} widths agree\n"


def gap_lines(trends: Sequence[GapTrend]) -> Iterator[str]:
    """Every ratio, and the limit of each target."""
    for trend in trends:
        ratios = ", ".join(f"{gap.ratio:.4f}({gap.error:.4f}) at d = {gap.dim}" for gap in trend.gaps)
        word = ("vanishes" if trend.agrees else "DOES NOT VANISH") if trend.must_vanish else "remains"
        yield (
            f"gamma {trend.gamma:g}{trend.features_kept}: trained over theory {ratios}; limit {trend.limit:.4f} +- {trend.error:.4f}, "
            f"{trend.z:+.1f} standard errors from one: the gap {word}\n"
        )


def choice_line(group: ChoiceGroup) -> str:
    """Test error at the chosen weight decays, and these."""
    document = group.document()
    lambdas = " ".join(f"{value:.3g}" for value in sorted(document["lambdas"]))
    return (
        f"alpha {group.alpha:g}, d {group.dim}, {group.parametrisation}: test error {document['test_error']:.5f} "
        f"+- {document['standard_error']:.5f}, weight decays {lambdas}\n"
    )


def descent_line(descents: Descents) -> str:
    """Where descents over W and over S ended."""
    word = "the same minimum" if descents.agrees else "different minima"
    return (
        f"weight decay on W and trace penalty on S at alpha {descents.alpha:.4f}: {word}; "
        f"loss {descents.factorised:.9g} and {descents.convex:.9g}, distance of the maps {descents.distance:.1e}\n"
    )


def message_passing_lines(point: MessagePassingPoint) -> Iterator[str]:
    """Each order parameter of message passing beside the descent and the theory, how far the two maps are apart, and runs left out."""
    place = f"alpha {point.problem.alpha:g}"
    for score in point.scores:
        largest = score.groups[-1]
        descent = f", descent {point.descent[score.quantity]:.5f}" if score.quantity in point.descent else ""
        yield (
            f"{place} {score.quantity}: messages {largest.simulation:.5f} +- {largest.standard_error:.5f}{descent}, theory "
            f"{largest.theory:.5f} (d = {largest.dim}); z {score.z:+.2f}\n"
        )
    word = "agrees" if point.agrees else "DISAGREES"
    yield (
        f"{place}: {word}; maps of messages and descent differ by {point.distance:.1e} or less, after {point.steps} steps and "
        f"{point.evaluations} evaluations or fewer\n"
    )
    yield from excluded_lines(point.failed)


def published_lines(curves: Sequence[PublishedCurve]) -> Iterator[str]:
    """Each released number beside the theory, with their ratio and the distance in their standard deviations, and the verdicts."""
    for curve in curves:
        kappa = len({point.published.problem.width for point in curve.points}) > 1
        yield f"{curve.label}\n{'width' if kappa else 'alpha':>10} {'released':>10} {'theory':>10} {'ratio':>7} {'score':>6}  status\n"
        for point in curve.points:
            problem, score = point.published.problem, f"{point.score:+.1f}" if point.published.trained else "-"
            value = point.solution.value(point.published.quantity)
            yield (
                f"{problem.width if kappa else problem.alpha:>10.5g} {point.published.value:>10.5f} "
                f"{'-' if value is None else f'{value:.5f}':>10} {point.ratio:>7.4f} {score:>6}  "
                f"{point.solution.status.name.lower()}{'' if point.agrees else ', beyond ' + f'{point.published.allowed:.1%}'}\n"
            )
        yield f"  {'met' if curve.agrees else 'NOT met'}; mean ratio {curve.mean_ratio:.4f}\n"
