"""Visible part of the index of a sample, and its decomposition into independent blocks (theory
note, section 1).

Directions n of the index with output(h + t n) = output(h) are invisible and are minimised out. The
rest splits into blocks that never appear in one term of the loss; each block is a problem of its
own.
"""

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from itertools import count

import sympy as sp

from derive.language.elementary import Sign
from derive.language.errors import DerivationError
from derive.language.index import Index
from derive.language.label import Draw
from derive.language.model import Model
from derive.language.notation import family
from derive.language.setting import notation_of
from derive.language.step import require_zero

_DIGITS, _SMALL = 40, sp.Rational(1, 10**20)
_DENOMINATOR = (
    1000  # largest denominator of coefficients of a direction; in practice they are small integers
)


@dataclass(frozen=True)
class Block:
    """Visible indices that belong together: `copies` independent blocks of equal law in each
    sample.

    Attributes:
        copies: number of blocks.
        covariance: covariance of the visible indices u per unit of overlap.
        norms: their covariance if only scores of a token with itself vary, by one each.
        output: outputs as functions of u at inverse temperature one.
        loss: loss as a function of outputs o1, o2, ... and labels y1, y2, ...
        label: numbers of the label as functions of u at inverse temperature one; the probabilities
            of its classes if it is drawn.
        draws: draws of a label with finitely many values, as functions of u.
    """

    copies: int
    covariance: sp.ImmutableMatrix
    norms: sp.ImmutableMatrix
    output: tuple[sp.Expr, ...]
    loss: sp.Expr
    label: tuple[sp.Expr, ...]
    draws: tuple[Draw, ...]

    @property
    def size(self) -> int:
        """Number of visible indices."""
        return int(self.covariance.rows)


def gradient_span(gradients: sp.Matrix, symbols: tuple[sp.Symbol, ...]) -> sp.Matrix:
    """Return a basis, as rows in reduced echelon form, of the space that these gradients (rows)
    span over all points.

    Coefficients are determined at generic points. Then it is proven symbolically that the gradients
    lie in this space.

    Args:
        gradients: one gradient in each row.
        symbols: the indices.

    Raises:
        DerivationError: the space is not rational, or is larger than at a generic point.
    """
    seen = [k for k in range(len(symbols)) if any(gradients.col(k))]
    found = _span_of(gradients[:, seen], tuple(symbols[k] for k in seen))
    basis = sp.zeros(found.rows, len(symbols))
    for column, k in enumerate(seen):
        basis[:, k] = found.col(column)
    return basis


def _span_of(gradients: sp.Matrix, symbols: tuple[sp.Symbol, ...]) -> sp.Matrix:
    settings = {one: notation_of(one).samples[0] for one in gradients.free_symbols - set(symbols)}
    generic = sp.Matrix(0, len(symbols), [])
    for number in count():
        point = dict(zip(symbols, _point(number, len(symbols)), strict=True)) | settings
        more = gradients.subs(point).evalf(_DIGITS)
        stacked, known = sp.Matrix.vstack(generic, more), generic.rows
        reduced, pivots = stacked.rref(iszerofunc=lambda value: bool(abs(value) < _SMALL))
        generic = reduced[: len(pivots), :]
        if len(pivots) == known:
            break
    basis = sp.Matrix(len(pivots), len(symbols), lambda i, j: _rational(reduced[i, j]))
    for hidden in basis.nullspace():
        for slope in gradients * hidden:
            require_zero(
                sp.simplify(slope),
                f"the output's slope along {list(hidden)}, which vanishes at generic points",
            )
    return basis


def _point(number: int, size: int) -> list[sp.Expr]:
    """Return a generic point, whose coordinates lie between -1 and 1."""
    roots = [sp.sqrt(sp.prime(1 + number * size + k)) for k in range(size)]
    return [2 * (root - sp.floor(root)) - 1 for root in roots]


def _rational(value: sp.Expr) -> sp.Rational:
    near = Fraction(str(value)).limit_denominator(_DENOMINATOR)
    if abs(sp.Rational(near.numerator, near.denominator) - value) > _SMALL:
        raise DerivationError(
            f"the output sees directions with coefficients like {value}; write it in sums of "
            "indices"
        )
    return sp.Rational(near.numerator, near.denominator)


@cache
def visible_map(model: Model) -> sp.ImmutableMatrix:
    """Return A of the visible indices u = A h, a row for each direction that some output depends
    on, then one for each further direction of a label.

    The loss is flat along the latter: the student is free there, and the label is noisier.

    Raises:
        DerivationError: the output is constant, or the label is independent of what it sees.
    """
    symbols = model.symbols
    rows = _extended(sp.Matrix(0, len(symbols), []), _spans(model.output_of_index, symbols))
    if not rows.rows:
        raise DerivationError("the output does not depend on the index")
    if model.channel.has_own_label:
        of_label = _spans(sp.Matrix(model.label(symbols)), symbols)
        seen = [rows * _index_covariance(model) * basis.T for basis in of_label]
        if not any(any(common) for common in seen):
            raise DerivationError(
                "the label is independent of all that the output sees; give an output and a label "
                "of common scores"
            )
        rows = _extended(rows, of_label)
    return rows.as_immutable()


def _extended(rows: sp.Matrix, bases: list[sp.Matrix]) -> sp.Matrix:
    """Return the rows with those of the bases, fewest first, that are independent of them."""
    for basis in sorted(bases, key=lambda basis: basis.rows):
        for k in range(basis.rows):
            longer = sp.Matrix.vstack(rows, basis.row(k))
            if longer.rank() > rows.rows:
                rows = longer
    return rows


def _spans(numbers: sp.Matrix, symbols: tuple[sp.Symbol, ...]) -> list[sp.Matrix]:
    """Return a basis of the directions that each number depends on."""
    smooth = numbers.replace(Sign, sp.tanh)  # sees the same directions, also across jumps
    slopes = sp.Matrix(smooth).jacobian(symbols)
    return [gradient_span(slopes.row(k), symbols) for k in range(slopes.rows)]


def covariance(model: Model) -> sp.Matrix:
    """Return the covariance of the visible indices per unit of overlap."""
    A = visible_map(model)
    return A * _index_covariance(model) * A.T


def _index_covariance(model: Model) -> sp.Matrix:
    """Return the covariance of the index per unit of overlap."""
    return sp.diag(*(model.index.variance(entry) for entry in model.index.entries))


def norm_covariance(A: sp.Matrix, index: Index) -> sp.Matrix:
    """Return the covariance of A h if only scores of a token with itself vary, by one each.

    Args:
        A: linear map of the index.
        index: geometry of the indices.
    """
    return A * sp.diag(*(int(index.is_of_one_token(entry)) for entry in index.entries)) * A.T


def numbers(model: Model) -> int:
    """Return D, the number of independent real numbers in one label."""
    return int(visible_map(model).rows)


def index_of_visible(model: Model) -> tuple[sp.Expr, ...]:
    """Return the index of least norm that has the visible indices u."""
    A, u = visible_map(model), sp.Matrix(family("u", numbers(model)))
    return tuple(A.T * (A * A.T).inv() * u)


@cache
def blocks(model: Model) -> tuple[Block, ...]:
    """Return the blocks of different law, each with its number of copies."""
    index, sigma, loss = index_of_visible(model), covariance(model), model.loss_of_numbers
    output, known = (tuple(numbers_of(index)) for numbers_of in (model.output, model.label))
    norms = norm_covariance(visible_map(model), model.index)
    put_out, label = family("o", len(output)), family("y", len(known))
    u = family("u", numbers(model))
    draws = model.draws_of(known, u)
    terms = sp.Add.make_args(sp.expand(loss) if loss.is_polynomial(*put_out, *label) else loss)
    of_term = [_numbers_of_term(term, put_out, label, draws, model) for term in terms]
    seen = [
        {
            i
            for i in range(len(u))
            if sp.Tuple(*(output[k] for k in ks), *(known[k] for k in ls)).has(u[i])
        }
        for ks, ls in of_term
    ]
    tied = [(i, j) for i in range(len(u)) for j in range(i) if (sigma[i, j], norms[i, j]) != (0, 0)]
    joined = [set(pair) for pair in tied]
    found: dict[tuple[object, ...], int] = {}
    groups = _connected(len(u), [*seen, *joined])
    constant = sp.Add(*(term for term, indices in zip(terms, seen, strict=True) if not indices))
    for group in groups:
        chosen = [k for k, indices in enumerate(seen) if indices <= group and indices]
        outputs, labels = (
            sorted({k for index in chosen for k in of_term[index][part]}) for part in (0, 1)
        )
        rename = {u[i]: u[k] for k, i in enumerate(sorted(group))}
        place = {k: i for i, k in enumerate(labels)}
        renumber = {put_out[k]: put_out[i] for i, k in enumerate(outputs)}
        renumber |= {label[k]: label[i] for k, i in place.items()}
        key = (
            *(one.extract(sorted(group), sorted(group)).as_immutable() for one in (sigma, norms)),
            tuple(output[k].subs(rename, simultaneous=True) for k in outputs),
            (constant / len(groups) + sp.Add(*(terms[index] for index in chosen))).subs(
                renumber, simultaneous=True
            ),
            tuple(known[k].subs(rename, simultaneous=True) for k in labels),
            tuple(
                replace(draw.of(rename), numbers=tuple(place[k] for k in draw.numbers))
                for draw in draws
                if {*draw.numbers} <= {*labels}
            ),
        )
        found[key] = found.get(key, 0) + 1
    return tuple(Block(copies, *key) for key, copies in found.items())  # type: ignore[arg-type]


def _numbers_of_term(
    term: sp.Expr,
    put_out: tuple[sp.Symbol, ...],
    label: tuple[sp.Symbol, ...],
    draws: tuple[Draw, ...],
    model: Model,
) -> tuple[set[int], set[int]]:
    """Return which outputs and numbers of the label a term of the loss contains, with the numbers
    that are drawn together with these.
    """
    outputs, labels = ({k for k, one in enumerate(of) if term.has(one)} for of in (put_out, label))
    if not model.channel.has_own_label:
        outputs = labels = outputs | labels
    together = (draw.numbers for draw in draws if labels & {*draw.numbers})
    return outputs, labels.union(*together)


def _connected(count: int, links: list[set[int]]) -> list[set[int]]:
    """Return the connected groups of 0 ... count - 1 under links, ordered by their first member."""
    groups = [{k} for k in range(count)]
    for link in links:
        touched = [group for group in groups if group & link]
        if touched:
            groups = [group for group in groups if not group & link] + [set().union(*touched)]
    return sorted(groups, key=min)
