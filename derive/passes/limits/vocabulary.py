"""Independent equations of noise-free labels if tokens come from a finite vocabulary (theory note,
section 14).

N = nu d^2 token vectors are drawn once; sequences draw their tokens from them. Scores of a token
with itself are N numbers in all, whatever the number of samples; pairs of tokens hardly repeat. The
samples are hyperedges of a random graph with T vertices each, of mean degree c = T alpha/nu. If a
label shows all scores up to one constant, the scores of a connected component are known up to one
constant. If it shows all scores, those of all tokens that occur are known.
"""

from functools import cache

import sympy as sp

from derive.language.index import Index
from derive.language.model import Model
from derive.language.notation import sym
from derive.language.step import (
    Display,
    Function,
    Step,
    other_symbols,
    outputs,
    require_zero,
    scalar,
)
from derive.passes.channel import token_graph
from derive.passes.channel.visible import visible_map
from derive.passes.softmax.label_numbers import difference_map

branch_log, branch_tokens, T = sym("branch_log branch_tokens T")
_CHECKED = (2, 3, 4)  # numbers of tokens of a sample


def missing(model: Model) -> str | None:
    """Return why a vocabulary is not derived for a model, None if it is."""
    if reason := token_graph.missing(model):
        return reason
    if _open_directions(model) is None:
        return "is not derived: labels leave more open than one constant for all scores"
    return None


@cache
def _open_directions(model: Model) -> int | None:
    """Return 0 if labels show all scores, 1 if all up to one constant; None otherwise."""
    (hidden, *others) = sp.Matrix(visible_map(model)).nullspace() or (None,)
    if hidden is None:
        return 0
    return 1 if not others and len(set(hidden)) == 1 else None


def check_components() -> None:
    """Check the number of components per token, as a function of the mean degree c.

    A vertex has a finite branch with the probability s, the smallest root of
    s = exp(-c (1 - s^(T-1))). One more sample joins T vertices: each of those in finite components
    is one component less, and if all are finite, their union stays. The change with c is therefore
    -(T s - s^T)/T; without samples every token is a component.
    """
    s, c = sp.symbols("s c", positive=True)
    for tokens in _CHECKED:
        root = sp.exp(-c * (1 - s ** (tokens - 1)))
        slope = sp.diff(root, c) / (1 - sp.diff(root, s))
        count = s - c * sp.Rational(tokens - 1, tokens) * s**tokens
        change = sp.diff(count, c) + sp.diff(count, s) * slope
        lost = (tokens * s - s**tokens) / tokens
        require_zero(sp.simplify((change + lost).subs(root, s)), "components of the samples")
        require_zero(count.subs({c: 0, s: 1}) - 1, "components without samples")


def branch_precision(index: Index, tokens: sp.Expr) -> sp.Expr:
    """Return the precision of the constant of a tree of samples with a number of tokens.

    The labels leave one constant open for all its scores, and each score measures it with its
    variance. A tree of samples has one sample for each T - 1 tokens beyond the first.

    Args:
        index: geometry of the indices, for T = 2.
        tokens: T.
    """
    own, pair = (
        index.variance(next(e for e in index.entries if index.is_of_one_token(e) is of_one))
        for of_one in (True, False)
    )
    samples = (branch_tokens - 1) / (tokens - 1)
    return sp.expand(branch_tokens / own + samples * tokens * (tokens - 1) / 2 / pair)


def check_noise() -> None:
    """Check the energy of the noise of a sample whose tokens have other samples.

    The equations A h of a sample, given all others, have the covariance A P^-1 A^T with P the
    precisions of its scores: those of the branches of its tokens, and of its pairs. So
    tr (A P^-1 A^T)^-1 A S A^T is its part of tr(K^-1 K_new), with S the variances of the scores.
    Only a constant is invisible: A^T (A P^-1 A^T)^-1 A = P - P 1 1^T P/(1^T P 1).
    """
    for count in (2, 3):
        pairs = count * (count - 1) // 2
        of_branches = sp.symbols(f"p1:{count + 1}", positive=True)
        P = sp.diag(*of_branches, *([1] * pairs))
        S = sp.diag(*([2] * count), *([1] * pairs))
        ones = sp.ones(count + pairs, 1)
        A = sp.eye(count + pairs - 1).row_join(-ones[1:, :])
        whole = sp.simplify((ones.T * P * ones)[0])
        projected = P - P * ones * ones.T * P / whole
        for slope in (A * P.inv() * projected - A, projected * ones):
            require_zero(sp.simplify(slope).norm(), "visible equations")
        found = sp.simplify((projected * S).trace())
        squares = sum(2 * p**2 for p in of_branches) + pairs
        expected = 2 * (whole - pairs) + pairs - squares / whole
        require_zero(sp.simplify(found - expected), "energy of the noise of a sample")


def step(model: Model, tied: bool) -> Step:
    """Return the step.

    Args:
        model: a model for which `missing` is None.
        tied: whether T is a setting.
    """
    tokens = T if tied else sp.Integer(model.index.shape[0])
    if tied:
        for count in _CHECKED:  # all lengths leave one constant open
            (hidden,) = difference_map(count).nullspace()
            require_zero(sp.Integer(len(set(hidden)) - 1), "one constant for all scores")
    if _open_directions(model):
        check_components()
        check_noise()
        # The condition for s = e^-y gives the degree at which it holds.
        degree = branch_log / (1 - sp.exp((1 - tokens) * branch_log))
        both = degree * (tokens - 1) / tokens * sp.exp(-tokens * branch_log)
        lost = sp.exp(-branch_log) - both
        onset = 1 / (tokens * (tokens - 1))
        reason = (
            r"Samples that share tokens share their scores $h_{aa}$. Labels fix all scores of a "
            r"connected component of samples up to one constant, so that as many equations are "
            r"independent as there are scores less components. $s$ is the probability that a "
            r"branch of the graph is finite, $s = e^{-y} = e^{-c (1 - s^{T-1})}$. The constant of "
            r"a tree of samples with $m_b$ tokens has the precision $\pi(m_b)$."
        )
        precision = branch_precision(model.index, tokens)
        of_noise = [
            scalar(
                "branch_precision",
                "precision of the constant of a tree of samples",
                (branch_tokens, *other_symbols(precision, known=(branch_tokens,))),
                r"\pi",
                precision,
            )
        ]
    else:
        degree, lost, onset = branch_log, sp.exp(-branch_log), sp.Integer(0)
        of_noise = []
        reason = (
            r"Labels show all scores, and a token that occurs twice shows $h_{aa}$ twice. "
            r"$e^{-y} = e^{-c}$ is the share of tokens that do not occur."
        )
    # Per token of the vocabulary: scores of tokens and of pairs, less what stays open.
    equations = 1 + degree * (tokens - 1) / 2 - lost
    slope = sp.diff(equations, branch_log)
    return Step(
        "vocabulary",
        "Equations of a finite vocabulary",
        reason,
        (Display("c", degree), Display("r/N", equations)),
        (
            Function(
                "vocabulary_onset",
                "samples per token of the vocabulary below which all equations are independent",
                other_symbols(onset),
                outputs(dict(zip(("numerator", "denominator"), sp.fraction(onset), strict=True))),
            ),
            Function(
                "vocabulary_samples",
                "samples per token of the vocabulary, n/N",
                (branch_log, *other_symbols(degree, known=(branch_log,))),
                outputs({"samples": degree / tokens}),
            ),
            Function(
                "vocabulary_equations",
                "independent equations per token of the vocabulary, and their slope",
                (branch_log, *other_symbols(equations, slope, known=(branch_log,))),
                outputs({"equations": equations, "slope": slope}),
            ),
            *of_noise,
        ),
    )
