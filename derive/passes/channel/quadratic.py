"""Averaged Moreau envelope of a quadratic loss in closed form: minimised over the index, averaged
over the fields.

See the theory note, section 3.
"""

from functools import cache

import sympy as sp

from derive.language.model import Model
from derive.language.notation import family, sym
from derive.language.step import Function, other_symbols, outputs, scalar
from derive.passes.channel.block import elastic_energy, label_numbers, loss
from derive.passes.channel.visible import Block, blocks

m, q, V, rho = sym("m q V rho")


@cache
def is_quadratic(block: Block, model: Model) -> bool:
    """Return whether the loss is a polynomial of degree two or less in the indices of student and
    label.

    Args:
        block: block of visible indices.
        model: the model.
    """
    u, y = family("u", block.size), family("y", len(block.output))
    numbers = label_numbers(block, model)
    joint = loss(block, model).subs(dict(zip(y, numbers, strict=True)), simultaneous=True)
    variables = (*u, *family("z", block.size))
    return bool(joint.is_polynomial(*variables)) and sp.Poly(joint, *variables).total_degree() <= 2


@cache
def closed_losses(block: Block, model: Model) -> dict[str, sp.Expr]:
    """Return M of a quadratic loss, and the loss of a training sample.

    Both are minimised over u and averaged over the fields and the label noise. Per unit of Sigma,
    the fields have E w w^T = q, E w z^T = m and E z z^T = rho.

    Args:
        block: block of visible indices.
        model: the model.
    """
    u, w, z = (sp.Matrix(family(letter, block.size)) for letter in "uwz")
    noises = sp.symbols(f"xi1:{len(block.output) + 1}")
    numbers = [
        number + noise for number, noise in zip(label_numbers(block, model), noises, strict=True)
    ]
    cost = loss(block, model).subs(
        dict(zip(family("y", len(numbers)), numbers, strict=True)), simultaneous=True
    )
    energy = elastic_energy(block) + cost
    least = _minimiser(energy, u)
    sigma, spread = block.covariance, model.channel.noise_on_label
    variables = [*w, *z, *noises]
    second = sp.diag(
        sp.Matrix([[q * sigma, m * sigma], [m * sigma, rho * sigma]]), spread * sp.eye(len(noises))
    )

    def average(quadratic: sp.Expr) -> sp.Expr:
        polynomial = sp.Poly(sp.expand(sp.cancel(quadratic)), *variables)
        hessian = sp.hessian(polynomial.as_expr(), variables)
        return sp.factor(
            polynomial.as_expr().subs(dict.fromkeys(variables, 0)) + (hessian * second).trace() / 2
        )

    return {
        "M": average(energy.subs(least)),
        "train": average(cost.subs(least)),
        "test": average(cost.subs(dict(zip(u, w, strict=True)))),
    }


def _minimiser(energy: sp.Expr, u: sp.Matrix) -> dict[sp.Symbol, sp.Expr]:
    (least,) = sp.solve([sp.diff(energy, one) for one in u], list(u), dict=True)
    return dict(least)


def response(block: Block, model: Model) -> sp.Expr:
    """Return F of the replicon, E ||Sigma^1/2 df/dw Sigma^1/2||^2; the dual field of a quadratic
    loss is linear in w.

    Args:
        block: block of visible indices.
        model: the model.
    """
    u, w = (sp.Matrix(family(letter, block.size)) for letter in "uw")
    least = _minimiser(elastic_energy(block) + loss(block, model), u)
    dual = sp.Matrix([-sp.diff(elastic_energy(block), one) for one in w]).subs(least)
    turned = block.covariance * dual.jacobian(w)
    return sp.factor((turned * turned).trace())


def all_quadratic(model: Model) -> bool:
    """Return whether M has a closed form, because the loss of every block is quadratic."""
    return all(is_quadratic(block, model) for block in blocks(model))


@cache
def averages(model: Model) -> dict[str, sp.Expr]:
    """Return M, training error and test error, summed over all blocks."""
    parts = [(block.copies, closed_losses(block, model)) for block in blocks(model)]
    return {
        name: sp.factor(sum(copies * part[name] for copies, part in parts))
        for name in ("M", "train", "test")
    }


def functions(model: Model) -> tuple[Function, ...]:
    """Return the functions for M and its derivatives, and for the errors."""
    total = averages(model)
    derivatives = {f"M_{by}": sp.factor(sp.diff(total["M"], by)) for by in (m, q, V)}
    values = {"M": total["M"], **derivatives, "train": total["train"], "test": total["test"]}
    known = (m, q, V, rho)
    answer = sp.factor(sum(block.copies * response(block, model) for block in blocks(model)))
    return (
        Function(
            "closed_envelope",
            "M of the quadratic loss with its derivatives, training and test error",
            (*known, *other_symbols(*values.values(), known=known)),
            outputs(values),
        ),
        scalar(
            "closed_response",
            "mean square response of the dual field",
            (V, *other_symbols(answer, known=[V])),
            "F",
            answer,
        ),
    )
