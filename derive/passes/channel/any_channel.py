"""Channel of any model: its visible blocks, in closed form for a quadratic loss, otherwise sample
by sample.

See the theory note, sections 1 and 3.
"""

from functools import cache

import sympy as sp

from derive.language.model import Model
from derive.language.notation import sym
from derive.language.step import Display, Step, scalar
from derive.passes.channel import block, envelope_derivatives, quadratic
from derive.passes.channel.injective import is_injective
from derive.passes.channel.visible import blocks, numbers, visible_map

(q0,) = sym("q0")


@cache
def label_determines_index(model: Model) -> bool:
    """Return whether a label determines the visible index.

    This requires two things for every label: the loss is least where the visible index equals that
    of the label, in units of the temperatures, and no other index has the same label. Only then do
    labels fix everything visible, and the limit of vanishing decay does not depend on the loss.
    """
    if model.channel.has_own_label or model.draws:
        return False
    ratio = model.channel.beta0 / model.channel.beta
    stationary = (
        all(block.is_stationary(one, model, ratio) for one in blocks(model))
        and model.channel.noise_on_label == 0
    )
    return stationary and all(is_injective(one, model) for one in blocks(model))


def step(model: Model) -> Step:
    """Return the step of the channel."""
    closed = quadratic.all_quadratic(model)
    how = (
        "The loss is quadratic in the indices, so that the envelope is averaged in closed form."
        if closed
        else "The envelope is averaged sample by sample over the fields of each block."
    )
    samples = (
        () if closed else (block.functions(k, one, model) for k, one in enumerate(blocks(model), 1))
    )
    return Step(
        "channel_blocks",
        "Visible blocks of the channel",
        r"Directions along which the output does not change are minimised out; the visible indices "
        r"$u=Ah$ fall into blocks that "
        rf"never meet in one term of the loss, of covariance $\Sigma$ per unit. {how}",
        (
            Display("A", visible_map(model)),
            *(
                Display(rf"\Sigma_{{{k}}}", one.covariance)
                for k, one in enumerate(blocks(model), 1)
            ),
            *(
                Display(rf"{one.copies}\times\ell_{{{k}}}", block.loss(one, model))
                for k, one in enumerate(blocks(model), 1)
            ),
        ),
        (
            scalar(
                "label_numbers",
                "numbers that one label carries",
                (),
                "D",
                sp.Integer(numbers(model)),
            ),
            scalar(
                "noisy_variance",
                "variance per unit of the noisy target index",
                (q0, *model.channel.noise_settings),
                r"\rho",
                q0 + model.channel.noise_inside,
            ),
            *(quadratic.functions(model) if closed else envelope_derivatives.functions()),
            *(function for group in samples for function in group),
        ),
    )
