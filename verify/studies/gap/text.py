"""Text of the universality gap."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from verify.studies.gap.study import GapTrend


def gap_lines(trends: Sequence[GapTrend]) -> Iterator[str]:
    """Yield the ratios and the limit of each target."""
    for trend in trends:
        ratios = ", ".join(
            f"{gap.ratio:.4f}({gap.error:.4f}) at d = {gap.dim}" for gap in trend.gaps
        )
        word = (
            ("vanishes" if trend.agrees else "DOES NOT VANISH") if trend.must_vanish else "remains"
        )
        yield (
            f"gamma {trend.gamma:g}{trend.features_kept}: trained over theory {ratios}; limit "
            f"{trend.limit:.4f} +- {trend.error:.4f}, "
            f"{trend.z:+.1f} standard errors from one: the gap {word}\n"
        )
