"""Captions: the settings of a figure, so that it can stand alone."""

import re
from collections.abc import Sequence
from dataclasses import fields
from weakref import WeakKeyDictionary

import matplotlib
import numpy as np
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.textpath import text_to_path

from attention_erm.commandline import interrupts
from numeric.journal.numbers import in_mathtext
from numeric.journal.style import Sheet
from numeric.laws.eigenvalue_list import Eigenvalues
from numeric.laws.marchenko_pastur import MarchenkoPastur
from numeric.laws.power_law import PowerLaw
from numeric.laws.rational_target import RationalTarget
from numeric.model import DEFAULT, structure
from numeric.problem.decay_law import DecayLaw
from numeric.problem.problem import Problem

_MARGINS = 0.1  # inches beside a caption
_LISTED = 4  # eigenvalues that are told one by one
_ROUNDED = 1e-9  # relative, of eigenvalues and weights that were read from a list
_GLYPHS = {
    "alpha": r"\alpha", "lambda_": r"\lambda", "noise": r"\Delta", "width": r"\kappa", "tokens": "T", "beta": r"\beta",
    "beta0": r"\beta_0",
}  # fmt: skip
_TARGET = {"kappa0": r"$\kappa_0$", "kappa1": r"$\kappa_1$", "kappa2": r"$\kappa_2$"}
_NEUTRAL = {"width": 1, "beta": 1, "beta0": 1}  # are told where they are another


_captions: WeakKeyDictionary[Figure, list[str]] = WeakKeyDictionary()


def caption_of(figure: Figure) -> str:
    r"""What was said of a figure, in a line for each that was drawn on it and says something else; of one that is not ours, for its
    owner to put where it belongs.

    >>> from attention_erm import MarchenkoPastur, Problem, solve
    >>> from matplotlib.figure import Figure
    >>> from numeric.plots import curve_figure
    >>> axes = Figure().subplots()
    >>> caption_of(curve_figure([solve(Problem(1, MarchenkoPastur(0.5), 0.1, 0.5))], ax=axes))
    '$\\kappa_0 = 0.5$, $\\lambda = 0.1$, $\\Delta = 0.5$, $T = 2$'
    """
    return "\n".join(_captions.get(figure, ()))


def add_caption(figure: Figure, *parts: str) -> None:
    """Below all panels of a sheet, in lines of its width. A figure that is not ours is captioned by its owner: `caption_of`."""
    cut = "interrupted before it had finished" if interrupts.interrupted() else ""
    text = "; ".join(filter(None, (*parts, cut)))
    if isinstance(figure, Sheet):
        _captions[figure] = [text]
        figure.supxlabel("\n".join(_lines(text, 72 * (figure.get_figwidth() - _MARGINS))), color="0.3")
    else:
        _captions[figure] = list(dict.fromkeys([*_captions.get(figure, ()), text]))


def _lines(text: str, wide: float) -> list[str]:
    """A text in lines of so many points, none of which breaks an equation."""
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
    """In points, in the text of captions."""
    font = FontProperties(size=matplotlib.rcParams["figure.labelsize"])
    return float(text_to_path.get_text_width_height_descent(word, font, ismath=True)[0])


def settings(problem: Problem, *varied: str) -> str:
    """All settings of a problem but those that the figure varies."""
    told = [] if "target" in varied else [_target(problem)]
    for name, glyph in _GLYPHS.items():
        value = getattr(problem, name)
        if (
            name not in varied
            and value != _NEUTRAL.get(name)
            and (name != "tokens" or structure(problem.model).takes_tokens)
        ):
            told.append(f"${glyph} = {in_mathtext(value)}$")
    told += [f"{name.replace('_', ' ')} = {value:.4g}" for name, value in problem.extra if name not in varied]
    if named := model_named(problem.model):
        told.append(named)
    if "parametrisation" not in varied and problem.parametrisation != "factorised":
        told.append(f"{problem.parametrisation} matrix trained")
    if problem.leading:
        told.append(f"{problem.leading} features exact")
    if problem.follows_label:
        told.append("fitted minimum of each sample")
    return ", ".join(told)


def model_named(model: str) -> str:
    """A model by its name, unless it is the one that is meant where none is named."""
    return "" if model == DEFAULT else f"model {model.replace('_', ' ')}"


def common_settings(problems: Sequence[Problem], *varied: str) -> str:
    """Those that all these problems have, without what the figure varies."""
    first, *others = problems
    names = [field.name for field in fields(Problem)]
    different = (name for name in names if any(getattr(one, name) != getattr(first, name) for one in others))
    return settings(first, *varied, *different)


def _target(problem: Problem) -> str:
    match problem.target:
        case MarchenkoPastur(kappa0, scale):
            return rf"$\kappa_0 = {kappa0:.4g}$" + (f", scale {scale:.4g}" if scale != 1 else "")
        case PowerLaw() as law:
            return _power_law(law.gamma, law.dim, law.second_moment)
        case Eigenvalues() as law:
            if gamma := _listed_power(law):
                return _power_law(gamma, int(np.sum(law.arrays[0] > 0)), law.q0)
            return _listed(list(zip(*law.arrays, strict=True))[::-1])
        case RationalTarget() as law:
            names = structure(law.model).target_settings
            told = zip((_TARGET.get(name, name) for name in names), law.settings, strict=True)
            return ", ".join(f"{name} = {value:.4g}" for name, value in told)
        case _:
            return ""


def _listed(eigenvalues: Sequence[tuple[float, float]]) -> str:
    """The first ones with their shares, and zero, which most of them may be."""
    told = [*eigenvalues[:_LISTED], *(one for one in eigenvalues[_LISTED:] if one[0] == 0)]
    left_out = len(eigenvalues) - len(told)
    rest = f" and {left_out} more" if left_out else ""
    return f"eigenvalues (and shares) {', '.join(f'{value:.4g} ({share:.3g})' for value, share in told)}{rest}"


def _power_law(gamma: float, dim: int, second_moment: float) -> str:
    second = f", $q_0 = {in_mathtext(second_moment)}$" if f"{second_moment:.4g}" != "1" else ""
    return rf"$\gamma = {gamma:.4g}$, $d = {in_mathtext(dim)}${second}"


def _listed_power(law: Eigenvalues) -> float:
    """The gamma of eigenvalues k^-gamma that were listed one by one, 0 of others; singular values stand with either sign."""
    values, weights = law.arrays
    sizes = np.sort(values[values > 0])[::-1]
    alike = np.ptp(weights) <= _ROUNDED * weights[0] and np.sum(values < 0) in (0, len(sizes)) and 0 not in values
    if len(sizes) <= _LISTED or not alike:
        return 0.0
    gamma = float(np.log2(sizes[0] / sizes[1]))
    powers = sizes[0] * np.arange(1, len(sizes) + 1) ** -gamma
    return gamma if np.allclose(sizes, powers, rtol=_ROUNDED, atol=0) else 0.0


def decay_in_mathtext(decay: DecayLaw) -> str:
    """A law of weight decay as it was named, in mathematics."""
    return re.sub(r"\^\(?([-+0-9./]+)\)?", r"^{\1}", decay.name.replace("sqrt(d)", r"\sqrt{d}"))
