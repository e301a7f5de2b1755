"""Captions: the settings of a figure, so that it can be read without the text around it."""

import re
from collections.abc import Sequence
from dataclasses import fields
from weakref import WeakKeyDictionary

import matplotlib
import numpy as np
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.textpath import text_to_path

from attention_erm.runtime import interrupts
from numeric.laws.covariance.independent import IndependentCovariance
from numeric.laws.covariance.power_law import PowerLawCovariance
from numeric.laws.covariance.target import CovarianceTarget
from numeric.laws.eigenvalue_list import Eigenvalues
from numeric.laws.marchenko_pastur import MarchenkoPastur
from numeric.laws.norms import NORMS
from numeric.laws.power_law import PowerLaw
from numeric.laws.rational_target import RationalTarget
from numeric.model import DEFAULT, structure
from numeric.plotting.numbers import in_mathtext
from numeric.plotting.style import Sheet, captions_shown, ink
from numeric.problem.decay_law import DecayLaw
from numeric.problem.problem import Problem

_MARGIN = 0.1  # inches, left and right of a caption together
_MAX_LISTED = 4  # maximum number of eigenvalues in a caption
_ROUNDING = 1e-9  # relative rounding error of eigenvalues and weights from a list
_SYMBOLS = {
    "alpha": r"\alpha", "lambda_": r"\lambda", "noise": r"\Delta", "width": r"\kappa",
    "tokens": "T", "beta": r"\beta", "beta0": r"\beta_0",
}  # fmt: skip
_TARGET_SYMBOLS = {"kappa0": r"$\kappa_0$", "kappa1": r"$\kappa_1$", "kappa2": r"$\kappa_2$"}
_DEFAULTS = {"width": 1, "beta": 1, "beta0": 1}  # shown only if not the default


_captions: WeakKeyDictionary[Figure, list[str]] = WeakKeyDictionary()


def caption_of(figure: Figure) -> str:
    r"""Return the caption of a figure, one line for each distinct plot drawn on it.

    If you passed your own axes, place the caption yourself.

    >>> from attention_erm import MarchenkoPastur, Problem, solve
    >>> from matplotlib.figure import Figure
    >>> from numeric.plotting import curve_figure
    >>> axes = Figure().subplots()
    >>> caption_of(curve_figure([solve(Problem(1, MarchenkoPastur(0.5), 0.1, 0.5))], ax=axes))
    '$\\kappa_0 = 0.5$, $\\lambda = 0.1$, $\\Delta = 0.5$, $T = 2$'
    """
    return "\n".join(_captions.get(figure, ()))


def add_caption(figure: Figure, *parts: str) -> None:
    """Write a caption below all panels of a `Sheet`, wrapped to its width.

    In any other figure nothing is drawn; `caption_of` returns the caption.

    Args:
        figure: the figure.
        *parts: parts of the caption; empty ones are left out.
    """
    cut = "interrupted before it had finished" if interrupts.interrupted() else ""
    text = "; ".join(filter(None, (*parts, cut)))
    if isinstance(figure, Sheet):
        _captions[figure] = [text]
        lines = _wrapped(text, 72 * (figure.get_figwidth() - _MARGIN))
        if captions_shown():
            figure.supxlabel("\n".join(lines), color=ink(0.3))
    else:
        _captions[figure] = list(dict.fromkeys([*_captions.get(figure, ()), text]))


def _wrapped(text: str, wide: float) -> list[str]:
    """Wrap a text to lines of `wide` points, without a break inside an equation."""
    lines, left = list[list[str]](), 0.0
    for word in re.findall(r"(?:\$[^$]*\$| = |[^\s$])+", text):
        needed = _width(word)
        if not lines or needed > left:
            lines.append([])
            left = wide
        lines[-1].append(word)
        left -= needed + _width(" ")
    return [" ".join(words) for words in lines]


def _width(word: str) -> float:
    """Return the width of a word in points, in the font of captions."""
    font = FontProperties(size=matplotlib.rcParams["figure.labelsize"])
    return float(text_to_path.get_text_width_height_descent(word, font, ismath=True)[0])


def settings(problem: Problem, *varied: str) -> str:
    """Return the settings of a problem as text, except those that the figure varies.

    Args:
        problem: the problem.
        *varied: names of settings to leave out, such as "alpha".
    """
    parts = [] if "target" in varied else [_target_text(problem)]
    fixed = varied if structure(problem.model).takes_tokens else (*varied, "tokens")
    for name, glyph in _SYMBOLS.items():
        value = getattr(problem, name)
        if name not in fixed and value != _DEFAULTS.get(name):
            parts.append(f"${glyph} = {in_mathtext(value)}$")
    for name, value in problem.extra:
        if name not in varied:
            parts.append(f"{name.replace('_', ' ')} = {value:.4g}")
    if model := model_label(problem.model):
        parts.append(model)
    if "parametrisation" not in varied and problem.parametrisation != "factorised":
        parts.append(f"{problem.parametrisation} matrix trained")
    if problem.has_norms and "norms" not in varied:
        parts.append(norms_label(problem.norms))
    if problem.has_vocabulary and "vocabulary" not in varied:
        parts.append(f"vocabulary of {problem.vocabulary:.4g} $d^2$ tokens")
    if problem.leading:
        parts.append(f"{problem.leading} features exact")
    if problem.follows_label:
        parts.append("fitted minimum of each sample")
    return ", ".join(parts)


def norms_label(norms: float) -> str:
    """Return how random the norms of the tokens are as text.

    Args:
        norms: variance of ||x||^2 over tr C^2.
    """
    if norms == NORMS["fixed"]:
        return "tokens of fixed norm"
    return rf"$\mathrm{{Var}}\,\|x\|^2 = {norms:.4g}\,\mathrm{{tr}}\,C^2$"


def model_label(model: str) -> str:
    """Return "model" and its name, or an empty text for the default model."""
    return "" if model == DEFAULT else f"model {model.replace('_', ' ')}"


def common_settings(problems: Sequence[Problem], *varied: str) -> str:
    """Return the settings that all problems share as text, except those that the figure varies.

    Args:
        problems: one or more problems.
        *varied: names of settings to leave out, such as "alpha".
    """
    names = [field.name for field in fields(Problem)]
    different = (name for name in names if len({getattr(one, name) for one in problems}) > 1)
    return settings(problems[0], *varied, *different)


def _target_text(problem: Problem) -> str:
    match problem.target:
        case MarchenkoPastur(kappa0, scale):
            return rf"$\kappa_0 = {kappa0:.4g}$" + (f", scale {scale:.4g}" if scale != 1 else "")
        case PowerLaw() as law:
            return _power_law_text(law.gamma, law.dim, law.second_moment)
        case Eigenvalues() as law:
            if gamma := _power_law_exponent(law):
                return _power_law_text(gamma, int(np.sum(law.arrays[0] > 0)), law.q0)
            return _eigenvalue_text(list(zip(*law.arrays, strict=True))[::-1])
        case RationalTarget() as law:
            pairs = zip(structure(law.model).target_settings, law.settings, strict=True)
            return ", ".join(
                f"{_TARGET_SYMBOLS.get(name, name)} = {value:.4g}" for name, value in pairs
            )
        case PowerLawCovariance() as law:
            text = _power_law_text(law.gamma, law.dim, law.second_moment)
            return rf"{text}, covariance $k^{{-{law.a:.4g}}}$"
        case IndependentCovariance(MarchenkoPastur(kappa0, scale)) as law:
            factor = f", scale {scale:.4g}" if scale != 1 else ""
            return rf"$\kappa_0 = {kappa0:.4g}${factor}, {_covariance_text(law)}"
        case CovarianceTarget() as law:
            return _covariance_text(law)
        case _:
            return ""


def _covariance_text(law: CovarianceTarget) -> str:
    low, high = law.covariance_range
    return f"covariance {low:.4g} to {high:.4g}"


def _eigenvalue_text(eigenvalues: Sequence[tuple[float, float]]) -> str:
    """Return the first eigenvalues with their weights, and the eigenvalue zero, which often has
    most of the weight.
    """
    shown = [*eigenvalues[:_MAX_LISTED], *(one for one in eigenvalues[_MAX_LISTED:] if one[0] == 0)]
    omitted = len(eigenvalues) - len(shown)
    rest = f" and {omitted} more" if omitted else ""
    listed = ", ".join(f"{value:.4g} ({share:.3g})" for value, share in shown)
    return f"eigenvalues (and shares) {listed}{rest}"


def _power_law_text(gamma: float, dim: int, second_moment: float) -> str:
    second = f", $q_0 = {in_mathtext(second_moment)}$" if f"{second_moment:.4g}" != "1" else ""
    return rf"$\gamma = {gamma:.4g}$, $d = {in_mathtext(dim)}${second}"


def _power_law_exponent(law: Eigenvalues) -> float:
    """Return gamma if the eigenvalues are a list k^-gamma, and 0 otherwise.

    Singular values are listed with both signs.
    """
    values, weights = law.arrays
    sizes = np.sort(values[values > 0])[::-1]
    alike = (
        np.ptp(weights) <= _ROUNDING * weights[0]
        and np.sum(values < 0) in (0, len(sizes))
        and 0 not in values
    )
    if len(sizes) <= _MAX_LISTED or not alike:
        return 0.0
    gamma = float(np.log2(sizes[0] / sizes[1]))
    powers = sizes[0] * np.arange(1, len(sizes) + 1) ** -gamma
    return gamma if np.allclose(sizes, powers, rtol=_ROUNDING, atol=0) else 0.0


def decay_in_mathtext(decay: DecayLaw) -> str:
    """Return the formula of a weight-decay law in mathtext."""
    return re.sub(r"\^\(?([-+0-9./]+)\)?", r"^{\1}", decay.name.replace("sqrt(d)", r"\sqrt{d}"))
