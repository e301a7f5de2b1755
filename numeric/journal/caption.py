"""Captions: the settings of a figure, so that it can stand alone."""

import re

from matplotlib.figure import Figure

from numeric.journal.style import COLUMN, Sheet
from numeric.laws.eigenvalue_list import Eigenvalues
from numeric.laws.marchenko_pastur import MarchenkoPastur
from numeric.laws.power_law import PowerLaw
from numeric.laws.rational_target import RationalTarget
from numeric.model import DEFAULT, structure
from numeric.problem.problem import Problem

_WIDE = 74  # characters of small text across a column
_LISTED = 4  # eigenvalues that are told one by one
_GLYPHS = {
    "alpha": r"\alpha", "lambda_": r"\lambda", "noise": r"\Delta", "width": r"\kappa", "tokens": "T", "beta": r"\beta",
    "beta0": r"\beta_0",
}  # fmt: skip
_NEUTRAL = {"width": 1, "beta": 1, "beta0": 1}  # are told where they are another


def add_caption(figure: Figure, *parts: str) -> None:
    """Below all panels of a sheet, in lines of its width. A figure that is not ours is captioned by its owner."""
    if not isinstance(figure, Sheet):
        return
    wide, lines = _WIDE * figure.get_figwidth() / COLUMN, [""]
    for part in "; ".join(filter(None, parts)).replace(" = ", "~=~").split(" "):
        if lines[-1] and len(_shown(f"{lines[-1]} {part}")) > wide:
            lines.append("")
        lines[-1] = f"{lines[-1]} {part}".strip()
    figure.supxlabel("\n".join(lines).replace("~=~", " = "), color="0.3")


def settings(problem: Problem, *varied: str) -> str:
    """All settings of a problem but those that the figure varies."""
    told = [] if "target" in varied else [_target(problem)]
    for name, glyph in _GLYPHS.items():
        value = getattr(problem, name)
        if name not in varied and value != _NEUTRAL.get(name):
            told.append(f"${glyph} = {in_mathtext(value)}$")
    told += [f"{name.replace('_', ' ')} = {value:.4g}" for name, value in problem.extra if name not in varied]
    if problem.model != DEFAULT:
        told.append(f"model {problem.model.replace('_', ' ')}")
    if problem.parametrisation != "factorised":
        told.append(f"{problem.parametrisation} matrix trained")
    if problem.leading:
        told.append(f"{problem.leading} features exact")
    if problem.follows_label:
        told.append("fitted minimum of each sample")
    return ", ".join(told)


def _target(problem: Problem) -> str:
    match problem.target:
        case MarchenkoPastur(kappa0, scale):
            return rf"$\kappa_0 = {kappa0:.4g}$" + (f", scale {scale:.4g}" if scale != 1 else "")
        case PowerLaw() as law:
            second = f", $q_0 = {law.second_moment:.4g}$" if law.second_moment != 1 else ""
            return rf"$\gamma = {law.gamma:.4g}$, $d = {law.dim:g}${second}"
        case Eigenvalues() as law:
            largest = law.eigenvalues[::-1][:_LISTED]
            rest = f" and {len(law.eigenvalues) - _LISTED} more" if len(law.eigenvalues) > _LISTED else ""
            return f"eigenvalues {', '.join(f'{value:.4g}' for value in largest)}{rest}"
        case RationalTarget() as law:
            names = structure(law.model)["target"]
            return ", ".join(f"{name} = {value:.4g}" for name, value in zip(names, law.settings, strict=True))
        case _:
            return ""


def in_mathtext(value: float) -> str:
    """A number to four digits, with its power of ten as one."""
    mantissa, _, exponent = f"{value:.4g}".partition("e")
    power = rf"10^{{{int(exponent)}}}" if exponent else ""
    return power if power and mantissa == "1" else rf"{mantissa} \times {power}" if power else mantissa


def _shown(text: str) -> str:
    """About what is seen of a text with mathtext: a command is a letter."""
    return re.sub(r"\\[a-zA-Z]+", "x", text).translate(str.maketrans("", "", "${}_^"))
