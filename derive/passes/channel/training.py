"""What training evaluates: label, loss and slope at the indices of a sample, all of them, invisible directions too.

It shares with the theory the model's own expressions and nothing else.
"""

import sympy as sp

from derive.language.channel import log_probability
from derive.language.model import Model
from derive.language.notation import family
from derive.language.step import Function, Output, Step, scalar

NAME = "training"


def _at(model: Model, temperature: sp.Expr) -> tuple[sp.Expr, ...]:
    return tuple(sp.sympify(number) for number in model.output(tuple(temperature * symbol for symbol in model.symbols)))


def loss(model: Model) -> sp.Expr:
    """Of one sample in its indices h and the numbers of its label y."""
    numbers = _at(model, model.channel.beta)
    put_out = family("o", len(numbers))
    return model.loss_of_numbers.subs(dict(zip(put_out, numbers, strict=True)), simultaneous=True).replace(
        sp.log, log_probability
    )


def functions(model: Model) -> tuple[Function, ...]:
    """Label, loss and slope."""
    label, cost, indices = _at(model, model.channel.beta0), loss(model), model.symbols
    y = family("y", len(label))
    heat = tuple(sorted(model.channel.beta0.free_symbols, key=str))
    extra = tuple(sorted(cost.free_symbols - {*indices, *y}, key=str))
    return (
        Function(
            "index_label",
            "numbers of the label without their own noise, at the noisy target index",
            (*indices, *heat),
            tuple(Output(str(name), sp.latex(name), value) for name, value in zip(y, label, strict=True)),
        ),
        scalar("index_loss", "loss of one sample", (*indices, *y, *extra), r"\ell", cost),
        Function(
            "index_slope",
            "its slope in each index",
            (*indices, *y, *extra),
            tuple(
                Output(f"d_{symbol}", rf"\partial_{{{sp.latex(symbol)}}}", sp.diff(cost, symbol)) for symbol in indices
            ),
        ),
    )


def steps(model: Model) -> tuple[Step, ...]:
    """Samples as they are trained on."""
    return (
        Step(
            NAME,
            "Samples as they are trained on",
            r"The output at inverse temperature $\beta$ is compared with the label, which has $\beta_0$ and the noise; the slope is "
            r"that in each independent index.",
            (),
            functions(model),
        ),
    )
