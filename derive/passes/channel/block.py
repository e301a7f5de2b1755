"""One block of visible indices: loss, slope and curvature of a sample, and its envelope where that is quadratic (theory note, section 3).

Everything follows from the model's output and loss by differentiation.
"""

from functools import cache

import sympy as sp

from derive.language.model import Model
from derive.language.notation import family, sym
from derive.language.step import require_zero
from derive.passes.channel.visible import Block
from derive.passes.free_entropy.replicas import envelope_energy

m, q, V, rho = sym("m q V rho")


def settings(expression: sp.Expr) -> tuple[sp.Symbol, ...]:
    """Symbols of an expression that are settings of the model, in alphabetical order."""
    return tuple(sorted(expression.free_symbols, key=str))


def student_numbers(block: Block, model: Model) -> tuple[sp.Expr, ...]:
    """Numbers put out at the student's temperature."""
    return tuple(_heated(number, "u", "u", block, model.channel.beta) for number in block.output)


def label_numbers(block: Block, model: Model) -> tuple[sp.Expr, ...]:
    """Numbers of the label in the noisy target index z, without noise of their own."""
    return tuple(_heated(number, "u", "z", block, model.channel.beta0) for number in block.output)


def _heated(number: sp.Expr, old: str, new: str, block: Block, temperature: sp.Expr) -> sp.Expr:
    pairs = zip(family(old, block.size), family(new, block.size), strict=True)
    return sp.sympify(number).subs({one: temperature * other for one, other in pairs}, simultaneous=True)


def loss(block: Block, model: Model) -> sp.Expr:
    """The loss of one sample in the visible indices u and the numbers of the label y."""
    numbers = student_numbers(block, model)
    return block.loss.subs(dict(zip(family("o", len(numbers)), numbers, strict=True)), simultaneous=True)


def elastic_energy(block: Block) -> sp.Expr:
    """(u - w)^T Sigma^-1 (u - w)/(2 V): what it costs to leave the field w."""
    away = sp.Matrix(family("u", block.size)) - sp.Matrix(family("w", block.size))
    per_unit = envelope_energy(sp.Integer(1))
    require_zero(per_unit - 1 / (2 * V), "stiffness of the Moreau energy")
    return sp.expand(per_unit * (away.T * block.covariance.inv() * away)[0])


@cache
def is_quadratic(block: Block, model: Model) -> bool:
    """Whether the loss is a polynomial of degree two or less in the indices of student and label."""
    u, y = family("u", block.size), family("y", len(block.output))
    numbers = label_numbers(block, model)
    joint = loss(block, model).subs(dict(zip(y, numbers, strict=True)), simultaneous=True)
    variables = (*u, *family("z", block.size))
    return bool(joint.is_polynomial(*variables)) and sp.Poly(joint, *variables).total_degree() <= 2


def closed_losses(block: Block, model: Model) -> dict[str, sp.Expr]:
    """M of a quadratic loss and the loss of a training sample, minimised over u and averaged over the fields and the label's noise.

    Per unit of Sigma the fields have E w w^T = q, E w z^T = m and E z z^T = rho.
    """
    u, w, z = (sp.Matrix(family(letter, block.size)) for letter in "uwz")
    noises = sp.symbols(f"xi1:{len(block.output) + 1}")
    numbers = [number + noise for number, noise in zip(label_numbers(block, model), noises, strict=True)]
    cost = loss(block, model).subs(dict(zip(family("y", len(numbers)), numbers, strict=True)), simultaneous=True)
    energy = elastic_energy(block) + cost
    least = sp.solve([sp.diff(energy, one) for one in u], list(u), dict=True)[0]
    sigma, spread = block.covariance, model.channel.noise_on_label
    variables = [*w, *z, *noises]
    second = sp.diag(sp.Matrix([[q * sigma, m * sigma], [m * sigma, rho * sigma]]), spread * sp.eye(len(noises)))

    def average(quadratic: sp.Expr) -> sp.Expr:
        polynomial = sp.Poly(sp.expand(sp.cancel(quadratic)), *variables)
        hessian = sp.hessian(polynomial.as_expr(), variables)
        return sp.factor(polynomial.as_expr().subs(dict.fromkeys(variables, 0)) + (hessian * second).trace() / 2)

    return {"M": average(energy.subs(least)), "train": average(cost.subs(least)), "test": average(cost.subs(dict(zip(u, w, strict=True))))}
