"""Model: matrix class with its penalty, target law, index geometry, channel. The values are frozen
and always valid.

A model states what is given; everything that follows from it is derived.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, product

import sympy as sp

from derive.language.admissible import require_bounded_loss
from derive.language.channel import Channel, OutputFunction
from derive.language.elementary import require_allowed_functions
from derive.language.errors import ModelError, require_exact
from derive.language.index import CrossScores, Index, MaskedScores, SymmetricScores
from derive.language.label import Draw, drawn_classes, finite_values
from derive.language.matrix import Kind, Matrix
from derive.language.notation import FAMILY_SIZE, family, sym
from derive.language.pieces import in_signs
from derive.language.setting import Setting, require_setting
from derive.language.stable_forms import stable_form
from derive.language.target import Target


@dataclass(frozen=True)
class Model:
    """Learning problem: n = alpha d^2 samples, each with a few numbers that are linear in an
    unknown d x d matrix.
    """

    name: str
    title: str
    matrix: Matrix
    target: Target
    index: Index
    channel: Channel

    def __post_init__(self) -> None:
        for part, allowed in (
            ("matrix", Matrix),
            ("target", Target),
            ("channel", Channel),
            ("name", str),
            ("title", str),
        ):
            if not isinstance(value := getattr(self, part), allowed):
                raise ModelError(
                    f"{part}: has type {type(value).__name__}; give a {allowed.__name__}"
                )
        if not isinstance(self.index, SymmetricScores | CrossScores | MaskedScores):
            raise ModelError(
                f"index: has type {type(self.index).__name__}; give SymmetricScores, CrossScores "
                "or MaskedScores"
            )
        kind, target = self.matrix.kind, self.target
        if isinstance(self.index, MaskedScores) and kind is not Kind.GENERAL:
            raise ModelError(
                "index: MaskedScores of a symmetric matrix are equal in pairs, h_ab = h_ba; give "
                "matrix kind GENERAL"
            )
        if kind is Kind.POSITIVE and target.has_negative_eigenvalues:
            raise ModelError(
                f"target {target.name}: has negative eigenvalues, which no positive matrix has; "
                "give matrix kind SYMMETRIC or GENERAL"
            )
        if kind is Kind.GENERAL and not target.is_symmetric:
            raise ModelError(
                f"target {target.name}: z(-g) is not -z(g); a general matrix is known by its "
                "singular values, as a symmetric law"
            )
        if (
            kind is Kind.GENERAL
            and isinstance(self.index, SymmetricScores)
            and self.matrix.linear != 0
        ):
            raise ModelError(
                "index: SymmetricScores measure both parts of a general matrix, with unequal "
                "noise; "
                "give CrossScores, or a Frobenius penalty alone"
            )
        require_exact("channel: output", self.output_of_index)
        if not self.output_of_index.free_symbols & set(self.symbols):
            raise ModelError(
                f"channel: output {list(self.output_of_index)} does not depend on the index, so "
                "that nothing is learned; give another"
            )
        if len(self.output_of_index) > FAMILY_SIZE:
            raise ModelError(
                f"channel: output has {len(self.output_of_index)} numbers; at most {FAMILY_SIZE} "
                "are derived"
            )
        require_exact("channel: loss", self.loss_of_numbers)
        require_allowed_functions("channel: output", self.output_of_index)
        require_allowed_functions("channel: loss", self.loss_of_numbers)
        self._require_label()
        for part, symbols in self._stated_symbols():
            for symbol in sorted(symbols, key=str):
                require_setting(part, symbol)
        noisy = self.channel.noise_on_label != 0
        classes = tuple(product(*(draw.values for draw in self.draws)))
        require_bounded_loss(
            self.loss_of_index,
            self.symbols,
            self.label_of_index,
            noisy,
            tuple(tuple(chain(*one)) for one in classes) if self.draws else (),
        )

    def _require_label(self) -> None:
        """Check a label of its own."""
        channel, label = self.channel, sp.ImmutableMatrix(self.label_of_index)
        if not channel.has_own_label and channel.flips == 0:
            return
        name = "drawn" if channel.drawn is not None else "label"
        require_exact(f"channel: {name}", label)
        require_allowed_functions(f"channel: {name}", label)
        if not label.free_symbols & set(self.symbols):
            raise ModelError(
                f"channel: {name} {list(label)} does not depend on the index, so that nothing is "
                "learned; give another"
            )
        if channel.flips != 0 and not self.draws:
            raise ModelError(
                f"channel: flips = {channel.flips}, but label {list(label)} has more than a few "
                "values; flip signs or classes, or give noise_on_label instead"
            )
        if channel.noise_on_label != 0 and self.draws:
            raise ModelError(
                f"channel: noise_on_label = {channel.noise_on_label}, but the label has a few "
                "values only; give flips instead"
            )
        unseen = self.loss_of_numbers.free_symbols.isdisjoint(family("y", len(label)))
        if unseen:
            raise ModelError(
                f"channel: loss {self.loss_of_numbers} does not depend on the label y1, y2, ..., "
                "so that nothing is learned; give another"
            )

    @cached_property
    def symbols(self) -> tuple[sp.Symbol, ...]:
        """Symbols of the independent indices of a sample."""
        return sym(" ".join(f"h{a + 1}{b + 1}" for a, b in self.index.entries))

    def array(self, values: tuple[sp.Expr, ...]) -> sp.Matrix:
        """Return the indices of a sample as an array, from its independent numbers."""
        number = dict(zip(self.index.entries, values, strict=True))
        return sp.Matrix(*self.index.shape, lambda a, b: number[self.index.entry_at(a, b)])

    def output(self, values: tuple[sp.Expr, ...]) -> sp.Matrix:
        """Return the outputs at these indices as a column, at inverse temperature one."""
        return self._numbers("output", self.channel.output, values)

    def label(self, values: tuple[sp.Expr, ...]) -> sp.Matrix:
        """Return the numbers of the label at these indices as a column, at inverse temperature one:
        the probabilities of the classes if it is drawn.
        """
        if self.channel.drawn is not None:
            return self._numbers("drawn", self.channel.drawn, values)
        if self.channel.label is not None:
            return self._numbers("label", self.channel.label, values)
        return self.output(values)

    def _numbers(
        self, name: str, function: OutputFunction, values: tuple[sp.Expr, ...]
    ) -> sp.Matrix:
        numbers = function(self.array(values))
        if isinstance(numbers, sp.Expr):
            raise ModelError(
                f"channel: {name} {numbers} is a single number; give a list of numbers, [{numbers}]"
            )
        what = f"channel: {name}"
        return sp.Matrix([stable_form(in_signs(what, sp.sympify(number))) for number in numbers])

    @cached_property
    def output_of_index(self) -> sp.ImmutableMatrix:
        """Outputs as expressions in `symbols`, at inverse temperature one."""
        return sp.ImmutableMatrix(self.output(self.symbols))

    @cached_property
    def loss_of_numbers(self) -> sp.Expr:
        """Loss of one sample as a function of the outputs o1, o2, ... and of the label y1, y2,
        ...
        """
        output, label = family("o", len(self.output_of_index)), family("y", self.label_count)
        try:
            loss = self.channel.loss(output, label)
        except ValueError as error:
            raise ModelError(
                f"channel: loss of {len(output)} outputs and {len(label)} numbers of the label: "
                f"{error}; give a loss that takes both"
            ) from error
        return stable_form(in_signs("channel: loss", sp.sympify(loss)))

    @property
    def label_count(self) -> int:
        """Number of numbers of the label."""
        if not self.channel.has_own_label:
            return len(self.output_of_index)
        return len(self.label_of_index)

    @cached_property
    def loss_of_index(self) -> sp.Expr:
        """Loss of one sample as a function of `symbols` and of the label y1, y2, ..."""
        numbers = self.output(tuple(self.channel.beta * symbol for symbol in self.symbols))
        put_out = family("o", len(numbers))
        loss = self.loss_of_numbers.subs(
            dict(zip(put_out, numbers, strict=True)), simultaneous=True
        )
        return stable_form(loss)

    @cached_property
    def label_of_index(self) -> tuple[sp.Expr, ...]:
        """Label without label noise, as a function of the noisy target index, in `symbols`."""
        at = tuple(self.channel.beta0 * symbol for symbol in self.symbols)
        return tuple(map(sp.sympify, self.label(at)))

    @cached_property
    def draws(self) -> tuple[Draw, ...]:
        """Draws of a label with finitely many values, as functions of the noisy target index in
        `symbols`; empty if the label has other values.
        """
        return self.draws_of(self.label_of_index, self.symbols)

    def draws_of(
        self, label: tuple[sp.Expr, ...], symbols: tuple[sp.Symbol, ...]
    ) -> tuple[Draw, ...]:
        """Return the draws of a label.

        Args:
            label: its numbers, or the probabilities of its classes.
            symbols: symbols that these are functions of.
        """
        if self.channel.drawn is not None:
            found = drawn_classes(label, symbols)
        else:
            found = finite_values(label, symbols) or ()
        if self.channel.flips == 0:
            return found
        return tuple(draw.flipped(self.channel.flips) for draw in found)

    def _stated_symbols(self) -> Iterator[tuple[str, set[sp.Symbol]]]:
        """Yield the symbols of each part of the model; index, output and label are excluded."""
        numbers = {*family("o", len(self.output_of_index)), *family("y", self.label_count)}
        for part in ("linear", "quadratic", "rank_ratio"):
            yield f"matrix: {part}", getattr(self.matrix, part).free_symbols
        for part in ("beta", "beta0", "noise_inside", "noise_on_label"):
            yield f"channel: {part}", getattr(self.channel, part).free_symbols
        yield "channel: output", self.output_of_index.free_symbols - {*self.symbols}
        yield "channel: loss", self.loss_of_numbers.free_symbols - numbers
        yield "channel: label", sp.Tuple(*self.label(self.symbols)).free_symbols - {*self.symbols}
        yield "channel: flips", self.channel.flips.free_symbols

    @property
    def channel_settings(self) -> tuple[sp.Symbol, ...]:
        """Settings of output, loss, temperatures and label noise, in alphabetical order."""
        parts = dict(self._stated_symbols())
        used = (
            parts[f"channel: {part}"]
            for part in ("output", "loss", "beta", "beta0", "noise_on_label", "label", "flips")
        )
        return tuple(sorted(set().union(*used), key=str))

    @property
    def settings(self) -> tuple[sp.Symbol, ...]:
        """All settings, including those of the target, in alphabetical order."""
        used = set().union(
            *(symbols for _, symbols in self._stated_symbols()), self.target.settings
        )
        return tuple(sorted(used, key=str))

    def specification(self) -> str:
        """Return the canonical text of everything the model states; its hash identifies the
        generated code.
        """
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
        parts += [
            self.output_of_index,
            self.loss_of_numbers,
            channel.beta,
            channel.beta0,
            channel.noise_inside,
        ]
        parts += [channel.noise_on_label]
        if channel.has_own_label:
            parts += [str(channel.drawn is not None), sp.Tuple(*self.label(self.symbols))]
        if channel.flips != 0:
            parts += [channel.flips]
        parts += [
            row
            for symbol in self.settings
            if isinstance(symbol, Setting)
            for row in symbol.declaration
        ]
        return "\n".join(
            part if isinstance(part, str) else sp.srepr(sp.sympify(part)) for part in parts
        )
