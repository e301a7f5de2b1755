"""Thresholds along the rank of the target, theory alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from itertools import pairwise

from attention_erm.runtime.text_table import table_text
from numeric.thresholds.along_rank import (
    RankThresholds,
    direct_interpolation,
    thresholds_along_rank,
)
from verify.core.drawing import styled
from verify.core.paper_figure import DrawnFigure, Request, Sizes
from verify.core.pool import Pool
from verify.studies.rank_thresholds.figure import along_rank_figure

NOISES = tuple(map(Fraction, ("1/20", "1/2", "1", "100")))
_STEPS = 50  #: of kappa0 from 0 to 1
_LEAST = tuple(Fraction(k, 1000) for k in (1, 4, 10))  #: where recovery turns up from 0
_LINES = (
    Fraction(1, 50),
    Fraction(1, 5),
    Fraction(1, 2),
    Fraction(4, 5),
    Fraction(1),
)  #: rank ratios that are told in text


@dataclass(frozen=True)
class ThresholdFigure:
    """Every threshold in units of D alpha, which do not depend on the number of tokens."""

    title: str = "thresholds along the rank of the target: recovery, interpolation, direct training"

    def sizes(self, paper: bool) -> Sizes:
        """Nothing is trained."""
        return ()

    def draw(self, request: Request, pool: Pool) -> DrawnFigure:
        """As `PaperFigure.draw`."""
        rows = thresholds_along_rank(
            [*_LEAST, *(Fraction(k, _STEPS) for k in range(1, _STEPS + 1))], NOISES
        )
        symmetric, general = (
            direct_interpolation(model) for model in ("direct_symmetric", "direct_general")
        )
        document = {
            "unit": "D alpha, D = T(T + 1)/2 - 1",
            "noises": [float(noise) for noise in NOISES],
            "rows": [{**row._asdict(), "kappa0": float(row.kappa0)} for row in rows],
            "direct": {"symmetric": symmetric, "general, two tokens": general},
        }
        images = styled(partial(along_rank_figure, rows, NOISES, symmetric, general))
        return DrawnFigure(
            "thresholds_along_rank", images, document, tuple(_lines(rows)), all(map(ordered, rows))
        )


def ordered(row: RankThresholds) -> bool:
    """Whether no estimator recovers before the optimum, noise lets fewer labels be fitted, and fewer yet fix S0 by themselves."""
    fitted = (row.interpolation_limit, *row.interpolation)
    return row.bayes <= row.recovery <= row.interpolation_limit and all(
        more > less for more, less in pairwise(fitted)
    )


def _lines(rows: Sequence[RankThresholds]) -> Iterator[str]:
    yield "D alpha\n"
    yield table_text([_record(row) for row in rows if row.kappa0 in _LINES])


def _record(row: RankThresholds) -> dict[str, object]:
    noisy = {
        f"Delta {float(noise):g}": value
        for noise, value in zip(NOISES, row.interpolation, strict=True)
    }
    return {
        "kappa0": float(row.kappa0),
        "Bayes": row.bayes,
        "recovery": row.recovery,
        "Delta 0+": row.interpolation_limit,
        **noisy,
    }
