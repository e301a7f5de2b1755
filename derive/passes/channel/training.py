"""Functions for training: label, loss and slope at all indices of a sample, including invisible
directions.

Training shares only the expressions of the model with the theory.
"""

import sympy as sp

from derive.language.model import Model
from derive.language.notation import family
from derive.language.step import Function, Step, other_symbols, outputs, scalar
from derive.passes.channel.block import probabilities_function, values_function

NAME = "training"


def step(model: Model) -> Step:
    """Return the step for training samples."""
    indices = model.symbols
    cost = model.loss_of_index
    y = family("y", model.label_count)
    given = (*indices, *y, *other_symbols(cost, known=(*indices, *y)))
    spread = model.channel.noise_on_label
    own_noise = scalar(
        "noise_on_label",
        "variance of the noise added to each number of the label",
        other_symbols(spread),
        r"\Delta_y",
        spread,
    )
    return Step(
        NAME,
        "Samples as they are trained on",
        r"The output at inverse temperature $\beta$ is compared with the label, which has "
        r"$\beta_0$ and the noise; the slope is "
        r"that in each independent index.",
        (),
        (
            *([own_noise] if spread != 0 else []),
            *_label_functions(model),
            scalar("index_loss", "loss of one sample", given, r"\ell", cost),
            Function(
                "index_slope",
                "its slope in each index",
                given,
                outputs({x: sp.diff(cost, x) for x in indices}, r"\partial_{{{}}}", "d_{}"),
            ),
        ),
    )


def _label_functions(model: Model) -> tuple[Function, ...]:
    """Return the label of a noisy target index; or the values that each draw may have, and their
    probabilities.
    """
    indices, label = model.symbols, model.label_of_index
    if not model.draws:
        y = family("y", len(label))
        number = Function(
            "index_label",
            "numbers of the label without the noise on the label, at the noisy target index",
            (*indices, *other_symbols(*label, known=indices)),
            outputs(dict(zip(y, label, strict=True))),
        )
        return (number,)
    found = []
    for k, draw in enumerate(model.draws, 1):
        found += [
            values_function(f"draw{k}_values", draw.numbers, draw.values),
            probabilities_function(f"draw{k}_probabilities", indices, draw.probabilities),
        ]
    return tuple(found)
