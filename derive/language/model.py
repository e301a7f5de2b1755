"""What a model is: matrix class with its penalty, target law, index geometry, channel. Frozen values that cannot be invalid.

A model states what is given and nothing that follows from it.
"""

from dataclasses import dataclass
from functools import cached_property

import sympy as sp

from derive.language.channel import Channel
from derive.language.errors import ModelError
from derive.language.index import Index, SymmetricScores
from derive.language.matrix import Kind, Matrix
from derive.language.notation import family, sym
from derive.language.target import Target


@dataclass(frozen=True)
class Model:
    """One learning problem: n = alpha d^2 samples, each showing a few numbers that are linear in an unknown d x d matrix."""

    name: str
    title: str
    matrix: Matrix
    target: Target
    index: Index
    channel: Channel

    def __post_init__(self) -> None:
        kind, target = self.matrix.kind, self.target
        if kind is Kind.POSITIVE and target.has_negative_eigenvalues:
            raise ModelError(
                f"target {target.name}: has negative eigenvalues, which no positive matrix has; give matrix kind SYMMETRIC or GENERAL"
            )
        if kind is Kind.GENERAL and not target.is_symmetric:
            raise ModelError(
                f"target {target.name}: z(-g) is not -z(g); a general matrix is known by its singular values, as a symmetric law"
            )
        if kind is Kind.GENERAL and isinstance(self.index, SymmetricScores) and self.matrix.linear != 0:
            raise ModelError(
                "index: tokens that meet themselves measure the symmetric and the antisymmetric part of a general matrix "
                "with different noise, for which no spectral function is known; give CrossScores, or a Frobenius penalty alone"
            )
        if not self.output_of_index.free_symbols & set(self.symbols):
            raise ModelError(
                f"channel: output {list(self.output_of_index)} does not depend on the index; nothing can be learned"
            )

    @cached_property
    def symbols(self) -> tuple[sp.Symbol, ...]:
        """A symbol for each independent index of a sample."""
        return sym(" ".join(f"h{a + 1}{b + 1}" for a, b in self.index.entries))

    def array(self, values: tuple[sp.Expr, ...]) -> sp.Matrix:
        """The indices of a sample as an array, from its independent numbers."""
        number = dict(zip(self.index.entries, values, strict=True))
        return sp.Matrix(*self.index.shape, lambda a, b: number[self.index.place(a, b)])

    def output(self, values: tuple[sp.Expr, ...]) -> sp.Matrix:
        """The numbers put out at these indices, as a column, at inverse temperature one."""
        return sp.Matrix(list(self.channel.output(self.array(values))))

    @cached_property
    def output_of_index(self) -> sp.ImmutableMatrix:
        """The same as expressions in `symbols`."""
        return sp.ImmutableMatrix(self.output(self.symbols))

    @cached_property
    def loss_of_numbers(self) -> sp.Expr:
        """The loss of one sample in the numbers put out, o1, o2, ..., and those of the label, y1, y2, ..."""
        output, label = (family(letter, len(self.output_of_index)) for letter in "oy")
        return sp.sympify(self.channel.loss(output, label))

    def specification(self) -> str:
        """Canonical text of everything the model states; its hash identifies the generated code."""
        matrix, target, channel = self.matrix, self.target, self.channel
        parts: list[object] = [
            self.name,
            self.title,
            matrix.kind.value,
            repr(self.index),
            target.name,
            target.inverse_stieltjes,
        ]
        parts += [*target.definitions, matrix.linear, matrix.quadratic, matrix.rank_ratio]
        parts += [self.output_of_index, self.loss_of_numbers, channel.beta, channel.beta0, channel.noise_inside]
        parts += [channel.noise_on_label]
        return "\n".join(part if isinstance(part, str) else sp.srepr(sp.sympify(part)) for part in parts)
