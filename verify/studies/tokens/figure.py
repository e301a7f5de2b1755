"""Figure of heads trained on real tokens: learning curve, and trained over theory."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from numeric.plotting.caption import add_caption, settings
from numeric.plotting.log_axes import logarithmic
from numeric.plotting.style import COLOURS, Sheet, ink, legend_above, paper
from numeric.problem.problem import Problem
from verify.core.intervals import mean_with_error
from verify.studies.tokens.study import FULL, THEORIES, Tokens, TokensOutcome, value_of

_MARKERS = dict(zip(Tokens, ("o", "D", "s", "^"), strict=True))
_LINES = dict(zip(THEORIES, ("-", "-.", "--", ":"), strict=True))
_ASIDE = 1.02  # factor between the positions of kinds of tokens


def tokens_figure(outcome: TokensOutcome, problem: Problem) -> Figure:
    """Draw the test error against the sample ratio at the largest size, and its ratio to theory.

    Args:
        outcome: comparison with the theories.
        problem: settings of all runs.
    """
    figure = Sheet(2, 3.0)
    left, right = figure.subplots(1, 2)
    _learning_curve(left, outcome)
    _ratios(right, outcome)
    for axes in (left, right):
        logarithmic(axes.xaxis)
        axes.set_xlabel(r"sample ratio $\alpha = n/d^2$")
        legend_above(axes, 1)
    add_caption(figure, settings(problem, "alpha"))
    return figure


def _learning_curve(axes: Axes, outcome: TokensOutcome) -> None:
    dim = outcome.plan.sizes[-1][0]
    for colour, curve in zip(COLOURS, outcome.curves, strict=False):
        shown = [one for one in curve.solutions if one.trusted]
        axes.plot(
            [one.problem.alpha for one in shown],
            [value_of(one, "test_error") for one in shown],
            color=colour,
            ls=_LINES[curve.theory],
            label=f"theory: {curve.theory}",
        )
    for place, (tokens, results) in enumerate(outcome.results.items()):
        found = [
            [
                value_of(one, "test_error")
                for one in results
                if (one.run.dim, one.run.problem.alpha) == (dim, alpha)
            ]
            for alpha in outcome.plan.alphas
        ]
        means, errors = np.transpose([mean_with_error(values) for values in found])
        axes.errorbar(
            np.array(outcome.plan.alphas) * _ASIDE**place,
            means,
            errors,
            fmt=_MARKERS[tokens],
            ms=4,
            mfc=paper(),
            capsize=2,
            color=ink(0.2) if tokens is Tokens.REAL else ink(0.6),
            label=f"trained, {tokens}",
        )
    logarithmic(axes.yaxis)
    axes.set_ylabel(f"test error, $d = {dim}$")


def _ratios(axes: Axes, outcome: TokensOutcome) -> None:
    dim = outcome.plan.sizes[-1][0]
    pairs = [(Tokens.REAL, name) for name in THEORIES] + [(Tokens.AS_MANY, FULL)]
    for place, (colour, (tokens, theory)) in enumerate(zip(COLOURS, pairs, strict=False)):
        shown = [
            one
            for one in outcome.ratios
            if one[:1] == (dim,)
            and one.alpha is not None
            and one[2:5] == (tokens, theory, "test_error")
        ]
        axes.errorbar(
            [one.alpha * _ASIDE**place for one in shown if one.alpha is not None],
            [one.ratio.value for one in shown],
            [one.ratio.half_width for one in shown],
            fmt=_MARKERS[tokens],
            ms=4,
            mfc=paper(),
            capsize=2,
            color=colour,
            label=f"{tokens} / {theory}",
        )
    axes.axhline(1, color=ink(0.4), lw=0.8)
    axes.set_ylabel("test error, trained / theory")
