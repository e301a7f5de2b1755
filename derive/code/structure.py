"""Structure of a model as data: what a solver needs besides the generated functions."""

from derive.language.model import Model
from derive.language.pieces import signs_of
from derive.language.setting import notation_of
from derive.passes.channel import draws
from derive.passes.channel.block import borders, classes, kinks, label_numbers, straight_borders
from derive.passes.channel.quadratic import all_quadratic
from derive.passes.channel.token_norms import has_norms
from derive.passes.channel.visible import Block, blocks
from derive.passes.limits import vocabulary
from derive.passes.limits.weak_recovery import hides_sign
from derive.pipeline import is_tied_softmax, missing_thresholds
from derive.scaling import exponent_tables


def _channel(model: Model) -> str:
    """Return how sample averages are computed."""
    if is_tied_softmax(model):
        return "tied softmax"
    if all_quadratic(model):
        return "closed"
    found = blocks(model)
    if model.channel.noise_on_label != 0 or max(one.size for one in found) > 2:
        return "sampled blocks"
    return "sampled blocks" if any(_is_irregular(one, model) for one in found) else "blocks"


def _is_irregular(block: Block, model: Model) -> bool:
    """Return whether no quadrature rule knows the jumps and kinks of a label."""
    if block.draws:
        return _probabilities(block, model) is None
    count = _label_borders(block, model)
    return count is None or (block.size > 1 and count > 0)


def _label_borders(block: Block, model: Model) -> int | None:
    """Return how many borders a label without classes has, None if one is not straight."""
    lines = straight_borders(block, label_numbers(block, model))
    return None if lines is None else int(lines[0].rows)


def _probabilities(block: Block, model: Model) -> str | None:
    """Return how the probabilities of classes change with the index: "cells" or "smooth", None if
    they have jumps and change between them.
    """
    if borders(block, model) is not None:
        return "cells"
    return None if signs_of(*(p for _, p in classes(block, model))) else "smooth"


def _block(block: Block, model: Model) -> dict[str, object]:
    shape = {"copies": block.copies, "indices": block.size, "kinks": len(kinks(block, model))}
    if not block.draws:
        has_borders = bool(_label_borders(block, model))
        return {**shape, "classes": 0, "probabilities": None, "borders": has_borders}
    how = _probabilities(block, model)
    count = len(classes(block, model))
    return {**shape, "classes": count, "probabilities": how, "borders": how == "cells"}


def _draws(model: Model) -> list[dict[str, object]]:
    if not (model.draws and draws.is_separable(model)):
        return [{"numbers": list(draw.numbers), "directions": []} for draw in model.draws]
    seen = zip(model.draws, draws.directions(model), strict=True)
    return [{"numbers": list(draw.numbers), "directions": rows} for draw, rows in seen]


def record(model: Model) -> dict[str, object]:
    """Return the class of the matrix, the settings of each part in the order of the generated
    functions, their notation, and the channel.
    """
    channel = model.channel
    notation = {str(symbol): notation_of(symbol) for symbol in model.settings}
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
        "settings": {
            name: {"glyph": row.glyph, "meaning": row.meaning, "domain": row.domain}
            for name, row in notation.items()
        },
        "variances": [int(model.index.variance(entry)) for entry in model.index.entries],
        "tokens_of_scores": [list(model.index.tokens_of(entry)) for entry in model.index.entries],
        "norms": has_norms(model.index),
        "channel": _channel(model),
        "without": missing_thresholds(model),
        "without_vocabulary": vocabulary.missing(model),
        "exponents": exponent_tables.axes(model),
        "blocks": [_block(block, model) for block in blocks(model)],
        "draws": _draws(model),
        "log_likelihood": bool(model.draws) and draws.is_log_likelihood(model),
        "hidden_sign": hides_sign(model),
    }
