"""Text of published numbers compared with the theory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from verify.studies.published.study import PublishedCurve


def published_lines(curves: Sequence[PublishedCurve]) -> Iterator[str]:
    """Yield each released number with the theory, their ratio, the score, and the verdicts."""
    for curve in curves:
        kappa = len({point.published.problem.width for point in curve.points}) > 1
        yield (
            f"{curve.label}\n{'width' if kappa else 'alpha':>10} {'released':>10} {'theory':>10} "
            f"{'ratio':>7} {'score':>6}  status\n"
        )
        for point in curve.points:
            problem, score = (
                point.published.problem,
                f"{point.score:+.1f}" if point.published.trained else "-",
            )
            value = point.solution.value(point.published.quantity)
            beyond = "" if point.agrees else f", beyond {point.published.allowed:.1%}"
            yield (
                f"{problem.width if kappa else problem.alpha:>10.5g} "
                f"{point.published.value:>10.5f} "
                f"{'-' if value is None else f'{value:.5f}':>10} {point.ratio:>7.4f} {score:>6}  "
                f"{point.solution.status.name.lower()}{beyond}\n"
            )
        yield f"  {'met' if curve.agrees else 'NOT met'}; mean ratio {curve.mean_ratio:.4f}\n"
