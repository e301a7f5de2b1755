"""Training on real tokens as a section of a report: verdict, gap by statistic, all ratios."""

from __future__ import annotations

import math
from typing import Any

from attention_erm.runtime.text_table import table_text
from numeric.problem.problem import Problem
from verify.core.intervals import Interval
from verify.core.minimise import DescentStatus
from verify.core.section import Claim, Section, ShownFigure
from verify.core.spectrum_panel import trained_spectrum_figure
from verify.core.text import excluded_lines, spectrum_line
from verify.studies.tokens.figure import tokens_figure
from verify.studies.tokens.study import (
    COVARIANCE_ALONE,
    FULL,
    ISOTROPIC,
    NEW_TOKENS,
    Tokens,
    TokensOutcome,
)


def tokens_section(outcome: TokensOutcome) -> Section:
    """Return the verdict in words, the parts of the gap, moments of the scores, and all ratios.

    Args:
        outcome: comparison with the theories.
    """
    plan, problem = outcome.plan, _settings(outcome)
    dims = [dim for dim, _ in plan.sizes]
    verdicts = [_verdict(outcome, dim) for dim in dims]
    measured, moments = [_measured(outcome, dim) for dim in dims], _moment_rows(outcome)
    gap = [row for dim in dims for row in gap_rows(outcome, dim)]
    excluded = [
        one
        for results in outcome.results.values()
        for one in results
        if one.status is not DescentStatus.CONVERGED
    ]
    lines = (
        "tokens of the file:\n",
        table_text(measured),
        "scores of the target, moments beyond the variance (0 for Gaussian scores):\n",
        table_text(moments),
        "parts of the gap in the test error, trained over isotropic theory, per cent:\n",
        table_text(gap),
        spectrum_line("spectrum, real tokens", outcome.spectrum),
        *excluded_lines(excluded),
        *(f"{words}\n" for words in verdicts),
    )
    rows = [
        {
            "dim": one.dim,
            "alpha": "all" if one.alpha is None else one.alpha,
            "tokens": str(one.tokens),
            "theory": one.theory,
            "quantity": one.quantity,
            "ratio": one.ratio.value,
            "low": one.ratio.low,
            "high": one.ratio.high,
        }
        for one in outcome.ratios
    ]
    captions = "Learning curve of heads trained on real tokens", "Spectrum learned from real tokens"
    return Section(
        "Real tokens",
        outcome.agrees,
        lines,
        {
            "file": {"path": plan.file.path, "tensor": plan.file.name},
            "tokens": measured,
            "moments": moments,
            "ratios": rows,
            "gap": gap,
            "spectrum": {
                "distance": outcome.spectrum.distance,
                "p_value": outcome.spectrum.p_value,
            },
            "verdict": verdicts,
        },
        tuple(_claim(outcome, dim) for dim in dims),
        {
            "tokens": ShownFigure(captions[0], lambda: tokens_figure(outcome, problem)),
            "tokens-spectrum": ShownFigure(
                captions[1], lambda: trained_spectrum_figure([outcome.spectrum], problem)
            ),
        },
        points=(table_text([row for row in rows if row["alpha"] == "all"]),),
        rows=rows,
    )


def _settings(outcome: TokensOutcome) -> Problem:
    """Return the problem of the largest size, for captions."""
    dim = outcome.plan.sizes[-1][0]
    return outcome.plan.run(Tokens.REAL, dim, outcome.plan.alphas[0], 0).problem


def _measured(outcome: TokensOutcome, dim: int) -> dict[str, Any]:
    """Return what is measured of the tokens at one size."""
    table = outcome.plan.file_at(dim).table
    return {
        "dim": dim,
        "vectors": len(table.vectors),
        "vectors_per_square": table.ratio,
        "largest_variance": float(table.covariance[0]),
        "least_variance": float(table.covariance[-1]),
        "covariance_square": table.covariance_square,
        "norms": table.norms,
    }


def _moment_rows(outcome: TokensOutcome) -> list[dict[str, Any]]:
    return [
        {
            "dim": one.dim,
            "tokens": str(one.tokens),
            "own_skewness": one.own.skewness,
            "own_kurtosis": one.own.kurtosis,
            "pair_skewness": one.pair.skewness,
            "pair_kurtosis": one.pair.kurtosis,
        }
        for one in outcome.moments
    ]


def gap_rows(outcome: TokensOutcome, dim: int) -> list[dict[str, Any]]:
    """Return the parts of log(trained / isotropic theory) of the test error by statistic.

    Theories of the same runs differ without scatter. Finite size is that of the control of as many
    vectors with the same covariance and norms.

    Args:
        outcome: comparison with the theories.
        dim: dimension d.
    """
    names = FULL, NEW_TOKENS, COVARIANCE_ALONE, ISOTROPIC
    full, new_tokens, covariance, isotropic = (
        _log(outcome.mean(dim, Tokens.REAL, name)) for name in names
    )
    control = _log(outcome.mean(dim, Tokens.AS_MANY, FULL))
    error = math.hypot(full.half_width, control.half_width)
    rest = full.value - control.value
    parts = (
        ("covariance", isotropic.value - covariance.value, 0.0),
        ("norms", covariance.value - new_tokens.value, 0.0),
        ("number of vectors", new_tokens.value - full.value, 0.0),
        ("finite size (control)", control.value, control.half_width),
        ("higher moments", rest, error),
        ("sum", isotropic.value, isotropic.half_width),
    )
    return [
        {"dim": dim, "part": name, "per_cent": 100 * value, "interval": 100 * width}
        for name, value, width in parts
    ]


def _log(ratio: Interval) -> Interval:
    return Interval(*(math.log(max(end, 1e-9)) for end in ratio))


def _verdict(outcome: TokensOutcome, dim: int) -> str:
    """Return the verdict on the test error at one size, in words."""
    names = FULL, NEW_TOKENS, COVARIANCE_ALONE, ISOTROPIC
    full, new, alone, plain = (_off(outcome.mean(dim, Tokens.REAL, name)) for name in names)
    control = _off(outcome.mean(dim, Tokens.AS_MANY, FULL))
    return (
        f"d = {dim}, test error: theory with {FULL}: {full}; theory of new tokens in every sample: "
        f"{new}; theory with covariance alone: {alone}; isotropic theory: {plain}; control "
        f"({Tokens.AS_MANY}): {control}"
    )


def _off(ratio: Interval) -> str:
    return f"{100 * (ratio.value - 1):+.1f} % +- {100 * ratio.half_width:.1f} %"


def _claim(outcome: TokensOutcome, dim: int) -> Claim:
    full, plain = (outcome.mean(dim, Tokens.REAL, name) for name in (FULL, ISOTROPIC))
    return Claim(
        f"real tokens, test error at d = {dim}: nearer to the theory with {FULL} than to the "
        "isotropic one",
        "",
        f"{_off(full)}; isotropic {_off(plain)}",
        "",
        outcome.is_nearer(dim),
    )
