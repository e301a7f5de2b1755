"""Averaged Moreau envelope of a quadratic loss in closed form: minimised over the index, averaged
over the fields.

See the theory note, section 3.
"""

from functools import cache

import sympy as sp

from derive.language.model import Model
from derive.language.notation import family, sym
from derive.language.step import Function, factored, other_symbols, outputs, scalar
from derive.passes.channel.block import elastic_energy, label_numbers, loss
from derive.passes.channel.token_norms import deficit, has_norms, t, t0
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
    if block.draws:  # the fields of one class of labels are not Gaussian
        return False
    u, y = family("u", block.size), family("y", len(block.label))
    numbers = label_numbers(block, model)
    joint = loss(block, model).subs(dict(zip(y, numbers, strict=True)), simultaneous=True)
    variables = (*u, *family("z", block.size))
    return bool(joint.is_polynomial(*variables)) and sp.Poly(joint, *variables).total_degree() <= 2


@cache
def closed_losses(block: Block, model: Model) -> dict[str, sp.Expr]:
    """Return M of a quadratic loss, and the loss of a training sample.

    Both are minimised over u and averaged over the fields and the label noise. Per unit of Sigma,
    the fields have E w w^T = q, E w z^T = m and E z z^T = rho, less a part of the scores of a token
    with itself if norms are not Gaussian (step `token_norms`).

    Args:
        block: block of visible indices.
        model: the model.
    """
    u, w, z = (sp.Matrix(family(letter, block.size)) for letter in "uwz")
    noises = sp.symbols(f"xi1:{len(block.label) + 1}")
    numbers = [
        number + noise for number, noise in zip(label_numbers(block, model), noises, strict=True)
    ]
    cost = loss(block, model).subs(
        dict(zip(family("y", len(numbers)), numbers, strict=True)), simultaneous=True
    )
    energy = elastic_energy(block) + cost
    least = minimiser(energy, u)
    variables = [*w, *z, *noises]
    second = sp.diag(_field_covariance(block), model.channel.noise_on_label * sp.eye(len(noises)))
    return {
        "M": average(energy.subs(least), variables, second),
        "train": average(cost.subs(least), variables, second),
        "test": average(cost.subs(dict(zip(u, w, strict=True))), variables, second),
    }


def average(quadratic: sp.Expr, variables: list[sp.Symbol], second: sp.Matrix) -> sp.Expr:
    """Return the mean of a quadratic form.

    Args:
        quadratic: polynomial of degree two in the variables.
        variables: Gaussian variables of mean zero.
        second: their covariance.
    """
    polynomial = sp.Poly(sp.expand(sp.cancel(quadratic)), *variables)
    hessian = sp.hessian(polynomial.as_expr(), variables)
    return factored(
        polynomial.as_expr().subs(dict.fromkeys(variables, 0)) + (hessian * second).trace() / 2
    )


def _field_covariance(block: Block) -> sp.Matrix:
    """Return the covariance of the fields w and z, with the norms of the tokens."""
    sigma, own = block.covariance, deficit * block.norms
    return sp.Matrix(
        [
            [q * sigma - t**2 * own, m * sigma - t * t0 * own],
            [m * sigma - t * t0 * own, rho * sigma - t0**2 * own],
        ]
    )


def minimiser(energy: sp.Expr, u: sp.Matrix) -> dict[sp.Symbol, sp.Expr]:
    """Return the indices of least energy.

    Args:
        energy: polynomial of degree two in the indices.
        u: the indices.
    """
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
    least = minimiser(elastic_energy(block) + loss(block, model), u)
    dual = sp.Matrix([-sp.diff(elastic_energy(block), one) for one in w]).subs(least)
    turned = block.covariance * dual.jacobian(w)
    return factored((turned * turned).trace())


def all_quadratic(model: Model) -> bool:
    """Return whether M has a closed form, because the loss of every block is quadratic."""
    return all(is_quadratic(block, model) for block in blocks(model))


def averages(model: Model) -> dict[str, sp.Expr]:
    """Return M, training error and test error of Gaussian tokens, summed over all blocks."""
    return {name: factored(part.subs(deficit, 0)) for name, part in with_norms(model).items()}


@cache
def with_norms(model: Model) -> dict[str, sp.Expr]:
    """Return M, training error and test error for any norms of tokens, summed over all blocks."""
    parts = [(block.copies, closed_losses(block, model)) for block in blocks(model)]
    return {
        name: factored(sum(copies * part[name] for copies, part in parts))
        for name in ("M", "train", "test")
    }


def functions(model: Model) -> tuple[Function, ...]:
    """Return the functions for M and its derivatives, and for the errors."""
    answer = factored(sum(block.copies * response(block, model) for block in blocks(model)))
    known = (m, q, V, rho, t, t0, deficit)
    norms = (
        [_envelope("closed_envelope_norms", with_norms(model), known, (m, q, V, t))]
        if has_norms(model.index)
        else []
    )
    return (
        _envelope("closed_envelope", averages(model), (m, q, V, rho), (m, q, V)),
        *norms,
        scalar(
            "closed_response",
            "mean square response of the dual field",
            (V, *other_symbols(answer, known=[V])),
            "F",
            answer,
        ),
    )


def _envelope(
    name: str,
    total: dict[str, sp.Expr],
    known: tuple[sp.Symbol, ...],
    orders: tuple[sp.Symbol, ...],
) -> Function:
    """Return the function for M, its derivatives in the order parameters, and both errors."""
    derivatives = {f"M_{by}": factored(sp.diff(total["M"], by)) for by in orders}
    values = {"M": total["M"], **derivatives, "train": total["train"], "test": total["test"]}
    norms = " with norms of tokens" if t in known else ""
    return Function(
        name,
        f"M of the quadratic loss with its derivatives, training and test error{norms}",
        (*known, *other_symbols(*values.values(), known=known)),
        outputs(values),
    )
