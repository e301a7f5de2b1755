"""The shape of a model as data: what a solver has to know besides the generated functions."""

import sympy as sp

from derive.language.model import Model
from derive.language.notation import BY_NAME
from derive.passes.channel.quadratic import all_quadratic
from derive.passes.channel.visible import blocks
from derive.pipeline import is_tied_softmax, missing_thresholds


def record(model: Model) -> dict[str, object]:
    """Class of the matrix, settings of the penalty, noise and target in the order of the generated functions, and the channel."""
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
        "settings": {str(symbol): _described(symbol) for symbol in _settings(model)},
        "temperatures": [str(heat) for heat in (channel.beta, channel.beta0) if heat.is_Symbol],
        "variances": [int(model.index.variance(entry)) for entry in model.index.entries],
        "channel": "tied softmax" if is_tied_softmax(model) else "closed" if all_quadratic(model) else "blocks",
        "without": missing_thresholds(model),
        "blocks": [{"copies": block.copies, "indices": block.size} for block in blocks(model)],
    }


def _settings(model: Model) -> list[sp.Symbol]:
    """All that a user of the model may set."""
    symbols = {*model.matrix.settings, *model.target.settings, *model.channel.noise_settings}
    symbols |= {heat for heat in (model.channel.beta, model.channel.beta0) if heat.is_Symbol}
    return sorted(symbols, key=str)


def _described(symbol: sp.Symbol) -> dict[str, str]:
    entry = BY_NAME[str(symbol)]
    return {"glyph": entry.glyph, "meaning": entry.meaning, "domain": entry.domain}
