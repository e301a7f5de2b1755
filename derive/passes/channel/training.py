"""Functions for training: label, loss and slope at all indices of a sample, including invisible
directions.

Training shares only the expressions of the model with the theory.
"""

import sympy as sp

from derive.language.channel import log_probability
from derive.language.model import Model
from derive.language.notation import family
from derive.language.step import Function, Output, Step, scalar

NAME = "training"


def step(model: Model) -> Step:
    """Return the step for training samples."""
    label, indices = model.label_of_index, model.symbols
    cost = model.loss_of_index.replace(sp.log, log_probability)
    y = family("y", len(label))
    heat = tuple(sorted(sp.Tuple(*label).free_symbols - {*indices}, key=str))
    extra = tuple(sorted(cost.free_symbols - {*indices, *y}, key=str))
    spread = model.channel.noise_on_label
    own_noise = (
        scalar(
            "noise_on_label",
            "variance of the noise added to each number of the label",
            tuple(sorted(spread.free_symbols, key=str)),
            r"\Delta_y",
            spread,
        ),
    )
    return Step(
        NAME,
        "Samples as they are trained on",
        r"The output at inverse temperature $\beta$ is compared with the label, which has $\beta_0$ and the noise; the slope is "
        r"that in each independent index.",
        (),
        (
            *(own_noise if spread != 0 else ()),
            Function(
                "index_label",
                "numbers of the label without their own noise, at the noisy target index",
                (*indices, *heat),
                tuple(
                    Output(str(name), sp.latex(name), value)
                    for name, value in zip(y, label, strict=True)
                ),
            ),
            scalar("index_loss", "loss of one sample", (*indices, *y, *extra), r"\ell", cost),
            Function(
                "index_slope",
                "its slope in each index",
                (*indices, *y, *extra),
                tuple(
                    Output(
                        f"d_{symbol}", rf"\partial_{{{sp.latex(symbol)}}}", sp.diff(cost, symbol)
                    )
                    for symbol in indices
                ),
            ),
        ),
    )
