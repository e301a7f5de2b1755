"""The shape of a model as data: what a solver has to know besides the generated functions."""

import sympy as sp

from derive.language.model import Model
from derive.language.setting import notation_of
from derive.passes.channel.quadratic import all_quadratic
from derive.passes.channel.visible import blocks
from derive.pipeline import is_tied_softmax, missing_thresholds
from derive.scaling import exponent_tables


def _described(symbol: sp.Symbol) -> dict[str, str]:
    return {part: getattr(notation_of(symbol), part) for part in ("glyph", "meaning", "domain")}


def _channel(model: Model) -> str:
    """How its samples are averaged."""
    if is_tied_softmax(model):
        return "tied softmax"
    if all_quadratic(model):
        return "closed"
    return "noisy blocks" if model.channel.noise_on_label != 0 else "blocks"


def record(model: Model) -> dict[str, object]:
    """Class of the matrix, settings of each part in the order of the generated functions and what they are, and the channel."""
    channel = model.channel
    return {
        "title": model.title,
        "matrix": model.matrix.kind.value,
        "threshold": model.matrix.linear != 0,
        "penalty": [str(symbol) for symbol in model.matrix.settings],
        "frobenius": sorted(str(symbol) for symbol in model.matrix.quadratic.free_symbols),
        "target": [str(symbol) for symbol in model.target.settings],
        "negative_eigenvalues": model.target.has_negative_eigenvalues,
        "noise": [str(symbol) for symbol in channel.noise_settings],
        "noise_on_label": channel.noise_on_label != 0,
        "channel_settings": [str(symbol) for symbol in model.channel_settings],
        "settings": {str(symbol): _described(symbol) for symbol in model.settings},
        "variances": [
            int(model.index.variance(notation_of)) for notation_of in model.index.entries
        ],
        "channel": _channel(model),
        "without": missing_thresholds(model),
        "exponents": exponent_tables.axes(model),
        "blocks": [{"copies": block.copies, "indices": block.size} for block in blocks(model)],
    }
