"""One sample of a block of visible indices: label, loss, slope and curvature, by differentiating
the expressions of the model.

See the theory note, section 3.
"""

from collections.abc import Sequence
from itertools import product

import sympy as sp

from derive.language.elementary import Sign
from derive.language.errors import DerivationError
from derive.language.model import Model
from derive.language.notation import family, sym
from derive.language.pieces import signs_of
from derive.language.stable_forms import stable_form
from derive.language.step import Function, other_symbols, outputs, require_zero, scalar
from derive.passes.channel.token_norms import has_norms
from derive.passes.channel.visible import Block
from derive.passes.free_entropy.replicas import envelope_energy

(V,) = sym("V")


def student_numbers(block: Block, model: Model) -> tuple[sp.Expr, ...]:
    """Return the outputs at the student's temperature.

    Args:
        block: block of visible indices.
        model: the model.
    """
    return tuple(
        _at_temperature(number, "u", "u", block, model.channel.beta) for number in block.output
    )


def label_numbers(block: Block, model: Model) -> tuple[sp.Expr, ...]:
    """Return the label as a function of the noisy target index z, without label noise.

    Args:
        block: block of visible indices.
        model: the model.
    """
    return tuple(
        _at_temperature(number, "u", "z", block, model.channel.beta0) for number in block.label
    )


def _at_temperature(
    number: sp.Expr, old: str, new: str, block: Block, temperature: sp.Expr
) -> sp.Expr:
    pairs = zip(family(old, block.size), family(new, block.size), strict=True)
    return sp.sympify(number).subs(
        {one: temperature * other for one, other in pairs}, simultaneous=True
    )


def loss(block: Block, model: Model) -> sp.Expr:
    """Return the loss of one sample as a function of the visible indices u and the label y.

    Args:
        block: block of visible indices.
        model: the model.
    """
    numbers = student_numbers(block, model)
    cost = block.loss.subs(
        dict(zip(family("o", len(numbers)), numbers, strict=True)), simultaneous=True
    )
    return stable_form(cost)


def kinks(block: Block, model: Model) -> tuple[tuple[Sign, sp.Expr, sp.Expr], ...]:
    """Return (sign, a, b) of each kink or jump of the loss, which is where a u + b = 0.

    Args:
        block: block of visible indices.
        model: the model.

    Raises:
        DerivationError: the block has several visible indices, or a kink is not at a zero of a
            linear function of the index.
    """
    u, found = family("u", block.size), []
    for sign in signs_of(loss(block, model)):
        inside = sp.expand(sign.args[0])
        if block.size > 1:
            raise DerivationError(
                f"the loss has a kink where {inside} = 0 in a block of {block.size} visible "
                "indices; kinks are derived for one visible index, as of one token"
            )
        if not (inside.is_polynomial(*u) and sp.degree(inside, *u) <= 1):
            raise DerivationError(
                f"the loss has a kink where {inside} = 0, which is not linear in the index; give "
                "an output that is linear in the index, such as identity"
            )
        found.append((sign, inside.coeff(u[0], 1), inside.coeff(u[0], 0)))
    return tuple(found)


def elastic_energy(block: Block) -> sp.Expr:
    """Return (u - w)^T Sigma^-1 (u - w)/(2 V), the cost of an index u away from the field w."""
    away = sp.Matrix(family("u", block.size)) - sp.Matrix(family("w", block.size))
    per_unit = envelope_energy(sp.Integer(1))
    require_zero(per_unit - 1 / (2 * V), "stiffness of the Moreau energy")
    return sp.expand(per_unit * (away.T * block.covariance.inv() * away)[0])


def is_stationary(block: Block, model: Model, ratio: sp.Expr) -> bool:
    """Return whether the slope of the loss vanishes at u = ratio z, the index that the label was
    generated from.

    Args:
        block: block of visible indices.
        model: the model.
        ratio: ratio of the temperatures.
    """
    u, z, y = _symbols(block)
    known = dict(zip(y, label_numbers(block, model), strict=True))
    at_label = {one: ratio * other for one, other in zip(u, z, strict=True)}
    cost = loss(block, model)
    return all(sp.simplify(sp.diff(cost, one).subs(known).subs(at_label)) == 0 for one in u)


def _symbols(block: Block) -> tuple[tuple[sp.Symbol, ...], ...]:
    """Return the symbols of student index, target index and label."""
    return family("u", block.size), family("z", block.size), family("y", len(block.label))


def functions(number: int, block: Block, model: Model) -> tuple[Function, ...]:
    """Return the functions that a channel rule evaluates at each sample of a block.

    Args:
        number: number of the block.
        block: the block.
        model: the model.
    """
    u, z, y = _symbols(block)
    cost, label = loss(block, model), label_numbers(block, model)
    labels = (
        class_functions(number, block, model)
        if block.draws
        else (
            Function(
                f"block{number}_label",
                "numbers of the label without the noise on the label, at the noisy target index",
                (*z, *other_symbols(*label, known=z)),
                outputs(dict(zip(y, label, strict=True))),
            ),
            *_border_functions(number, straight_borders(block, label)),
        )
    )
    beta, corners = other_symbols(model.channel.beta), kinks(block, model)
    sides = family("s", len(corners))
    cost = cost.xreplace({sign: side for (sign, _, _), side in zip(corners, sides, strict=True)})
    given = (*u, *y, *sides, *beta)
    given += other_symbols(cost, known=given)
    pairs = {f"{i + 1}{j + 1}": (i, j) for i in range(block.size) for j in range(i, block.size)}
    gradient = {str(i): sp.diff(cost, one) for i, one in enumerate(u, 1)}
    hessian = {name: sp.diff(cost, u[i], u[j]) for name, (i, j) in pairs.items()}
    covariance = {name: block.covariance[pair] for name, pair in pairs.items()}
    norms = {name: block.norms[pair] for name, pair in pairs.items()}
    own = Function(
        f"block{number}_norms",
        "their covariance if only scores of a token with itself vary, by one each",
        (),
        outputs(norms, "D_{{{}}}", "d{}"),
    )
    return (
        *labels,
        scalar(f"block{number}_loss", "loss of one sample", given, r"\ell", cost),
        Function(
            f"block{number}_gradient",
            "its slope in the visible indices",
            given,
            outputs(gradient, r"\partial_{{{}}}", "d{}"),
        ),
        Function(
            f"block{number}_hessian",
            "its curvature",
            given,
            outputs(hessian, r"\partial_{{{}}}", "d{}"),
        ),
        Function(
            f"block{number}_covariance",
            "covariance of the visible indices per unit of overlap",
            (),
            outputs(covariance, r"\Sigma_{{{}}}", "c{}"),
        ),
        *([own] if has_norms(model.index) else []),
        *([kink_function(number, block, model)] if corners else []),
    )


def kink_function(number: int, block: Block, model: Model) -> Function:
    """Return the function of the places where the loss has kinks.

    Args:
        number: number of the block.
        block: the block.
        model: the model.
    """
    y = family("y", len(block.label))
    values = {
        f"{letter}{k}": value
        for k, (_, a, b) in enumerate(kinks(block, model), 1)
        for letter, value in (("a", a), ("b", b))
    }
    return Function(
        f"block{number}_kinks",
        "coefficients of the functions a u + b whose signs tell the pieces of the loss apart",
        (*y, *other_symbols(*values.values(), known=y)),
        outputs(values),
    )


def classes(block: Block, model: Model) -> tuple[tuple[tuple[sp.Expr, ...], sp.Expr], ...]:
    """Return the values of the label in each class of a block, and its probability at the noisy
    target index z.

    Args:
        block: block whose label has finitely many values.
        model: the model.
    """
    found = []
    for chosen in product(*(range(len(draw.values)) for draw in block.draws)):
        label: dict[int, sp.Expr] = {}
        for draw, k in zip(block.draws, chosen, strict=True):
            label |= dict(zip(draw.numbers, draw.values[k], strict=True))
        parts = (draw.probabilities[k] for draw, k in zip(block.draws, chosen, strict=True))
        probability = _at_temperature(sp.Mul(*parts), "u", "z", block, model.channel.beta0)
        found.append((tuple(label[k] for k in sorted(label)), probability))
    return tuple(found)


def borders(block: Block, model: Model) -> tuple[sp.Matrix, sp.Matrix] | None:
    """Return A and b of the borders A z + b = 0 between the cells of a label.

    Within a cell the probabilities of all classes are constant. None if they are not, if a border
    is not straight, or if several indices have borders other than one, or two that cross.

    Args:
        block: block whose label has finitely many values.
        model: the model.
    """
    z, probabilities = family("z", block.size), [p for _, p in classes(block, model)]
    within = sp.Tuple(*probabilities).subs({one: sp.Dummy() for one in signs_of(*probabilities)})
    found = straight_borders(block, probabilities)
    if found is None or not found[0].rows or within.free_symbols & {*z}:
        return None
    slopes, _ = found
    crossing = slopes.rows <= 2 and slopes.rank() == slopes.rows
    return found if block.size == 1 or crossing else None


def straight_borders(
    block: Block, numbers: Sequence[sp.Expr]
) -> tuple[sp.Matrix, sp.Matrix] | None:
    """Return A and b of the borders A z + b = 0 across which a label has kinks or jumps, None if a
    border is not straight.

    Args:
        block: block of visible indices.
        numbers: functions of the noisy target index z.
    """
    z, signs = family("z", block.size), signs_of(*numbers)
    sides = sp.Matrix([one.args[0] for one in signs])
    if any(not sp.expand(side).is_polynomial(*z) for side in sides):
        return None
    slopes = sides.jacobian(z) if signs else sp.zeros(0, len(z))
    if slopes.free_symbols & {*z}:
        return None
    return slopes, sides.subs(dict.fromkeys(z, 0)) if signs else sides


def class_functions(number: int, block: Block, model: Model) -> tuple[Function, ...]:
    """Return the functions of a label with finitely many values.

    Args:
        number: number of the block.
        block: the block.
        model: the model.
    """
    labels, probabilities = zip(*classes(block, model), strict=True)
    of_label = tuple(range(len(block.label)))
    z = family("z", block.size)
    return (
        values_function(f"block{number}_classes", of_label, labels),
        probabilities_function(f"block{number}_probabilities", z, probabilities),
        *_border_functions(number, borders(block, model)),
    )


def values_function(
    name: str, numbers: tuple[int, ...], labels: Sequence[tuple[sp.Expr, ...]]
) -> Function:
    """Return the function of the values that numbers of a label have in each class.

    Args:
        name: name of the function.
        numbers: which numbers of the label, from 0.
        labels: their values, a row for each class.
    """
    values = {
        f"{c}_{number + 1}": value
        for c, row in enumerate(labels, 1)
        for number, value in zip(numbers, row, strict=True)
    }
    return Function(
        name,
        "numbers of the label in each class",
        other_symbols(*values.values()),
        outputs(values, "y_{{{}}}", "y{}"),
    )


def probabilities_function(
    name: str, index: tuple[sp.Symbol, ...], probabilities: Sequence[sp.Expr]
) -> Function:
    """Return the function of the probabilities of the classes.

    Args:
        name: name of the function.
        index: symbols of the noisy target index.
        probabilities: probability of each class.
    """
    return Function(
        name,
        "probability of each class at the noisy target index",
        (*index, *other_symbols(*probabilities, known=index)),
        outputs({str(c): p for c, p in enumerate(probabilities, 1)}, "p_{{{}}}", "p{}"),
    )


def _border_functions(
    number: int, lines: tuple[sp.Matrix, sp.Matrix] | None
) -> tuple[Function, ...]:
    """Return the function of the borders, none if there are no straight ones."""
    if lines is None or not lines[0].rows:
        return ()
    sides = {
        f"{i + 1}_{j + 1}": value
        for i, row in enumerate(sp.Matrix.hstack(*lines).tolist())
        for j, value in enumerate(row)
    }
    found = Function(
        f"block{number}_borders",
        "rows A, b of the borders A z + b = 0 between the pieces of the label",
        other_symbols(*sides.values()),
        outputs(sides, "a_{{{}}}", "a{}"),
    )
    return (found,)
