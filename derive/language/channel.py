"""Channel of a model: output as a function of the indices of a sample, label, and loss.

Outputs and losses are functions of SymPy matrices. The common ones are below; a model file may
define its own.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import sympy as sp

from derive.language.elementary import Logistic
from derive.language.errors import ModelError, require_exact
from derive.language.stable_forms import stable_form

Numbers = Sequence[sp.Expr]
OutputFunction = Callable[[sp.Matrix], Numbers]
LossFunction = Callable[[Numbers, Numbers], sp.Expr]


def identity(h: sp.Matrix) -> Numbers:
    """Return all indices, row by row; both halves of a symmetric h."""
    return list(h)


def softmax(row: Numbers) -> list[sp.Expr]:
    """Return exp(h_k)/sum exp(h_l), written in differences, so that a constant added to the row
    visibly drops out.
    """
    if len(row) == 2:
        return [Logistic(row[0] - row[1]), Logistic(row[1] - row[0])]
    return [1 / sum(sp.exp(other - one) for other in row) for one in row]


def log_probability(probability: sp.Expr) -> sp.Expr:
    """Return the logarithm of a softmax entry or a logistic function, without loss of digits if it
    is small.
    """
    return stable_form(sp.log(probability))


def row_softmax(h: sp.Matrix) -> Numbers:
    """Return the softmax of every row."""
    return [entry for a in range(h.rows) for entry in softmax(list(h.row(a)))]


def first_row_softmax(h: sp.Matrix) -> Numbers:
    """Return the softmax of the first row only."""
    return softmax(list(h.row(0)))


def sign(h: sp.Matrix) -> Numbers:
    """Return the signs of all indices, row by row: a label for classification."""
    return [sp.sign(one) for one in h]


def hard_attention(h: sp.Matrix) -> Numbers:
    """Return, for every row, 1 for its largest score and 0 for the others."""
    found = []
    for a in range(h.rows):
        row = list(h.row(a))
        for k, one in enumerate(row):
            others = row[:k] + row[k + 1 :]
            found.append(sp.Mul(*(sp.Heaviside(one - other) for other in others)))
    return found


def square_loss(output: Numbers, label: Numbers) -> sp.Expr:
    """Return the sum of squared differences.

    Args:
        output: outputs.
        label: numbers of the label.
    """
    return sum(((y - o) ** 2 for o, y in zip(output, label, strict=True)), sp.Integer(0))


def cross_entropy(output: Numbers, label: Numbers) -> sp.Expr:
    """Return -sum label log output, for outputs that are probabilities.

    Args:
        output: outputs.
        label: numbers of the label.
    """
    return -sum((y * sp.log(o) for o, y in zip(output, label, strict=True)), sp.Integer(0))


def logistic_loss(output: Numbers, label: Numbers) -> sp.Expr:
    """Return sum log(1 + exp(-label output)), for labels -1 and 1.

    Args:
        output: outputs.
        label: numbers of the label.
    """
    return sum(
        (sp.log(1 + sp.exp(-y * o)) for o, y in zip(output, label, strict=True)), sp.Integer(0)
    )


def hinge_loss(output: Numbers, label: Numbers) -> sp.Expr:
    """Return sum max(0, 1 - label output), for labels -1 and 1.

    Args:
        output: outputs.
        label: numbers of the label.
    """
    return sum((sp.Max(0, 1 - y * o) for o, y in zip(output, label, strict=True)), sp.Integer(0))


@dataclass(frozen=True)
class Channel:
    """Output of the student, label of the target, and the loss between them.

    The student's output is `output` of beta h, and the label is `label` of beta0 (h0 + noise), by
    default the same function as `output`. The default of both temperatures is one.

    A label may have jumps, such as `sign` or `hard_attention`. It may also be drawn at random: then
    `drawn` returns probabilities, and each group of them that adds up to one gives a one-hot label.

    Attributes:
        output: output as a function of the indices.
        loss: loss as a function of output and label.
        beta: inverse temperature of the student.
        beta0: inverse temperature of the target.
        noise_inside: variance per unit of the noise on the target's index.
        noise_on_label: variance of the noise on each number of the label.
        label: label as a function of the indices.
        drawn: probabilities of the classes of a label that is drawn, as functions of the indices.
        flips: share of the labels that are replaced by another value, each of them as likely.
    """

    output: OutputFunction
    loss: LossFunction
    beta: sp.Expr = sp.S.One
    beta0: sp.Expr = sp.S.One
    noise_inside: sp.Expr = sp.S.Zero
    noise_on_label: sp.Expr = sp.S.Zero
    label: OutputFunction | None = None
    drawn: OutputFunction | None = None
    flips: sp.Expr = sp.S.Zero

    def __post_init__(self) -> None:
        if self.label is not None and self.drawn is not None:
            raise ModelError(
                "channel: both label and drawn are given, but a label is a function of the index "
                "or is drawn; leave one of them out"
            )
        for name in ("beta", "beta0", "noise_inside", "noise_on_label", "flips"):
            value = sp.sympify(getattr(self, name))
            object.__setattr__(self, name, value)
            require_exact(f"channel: {name}", value)
            if value.is_nonnegative is not True or (name.startswith("beta") and value == 0):
                raise ModelError(
                    f"channel: {name} = {value} must be positive, or zero for a noise; use symbols "
                    "of domain (0, inf)"
                )

        if self.flips.is_number and not self.flips < 1:
            raise ModelError(f"channel: flips = {self.flips} must be a share below 1; try 1/10")

    @property
    def has_own_label(self) -> bool:
        """True if the label is another function than the output."""
        return self.label is not None or self.drawn is not None

    @property
    def noise(self) -> sp.Expr:
        """Variance per unit of the noise on the target's index."""
        return self.noise_inside

    @property
    def noise_settings(self) -> tuple[sp.Symbol, ...]:
        """Settings of the noise on the target's index, in alphabetical order."""
        return tuple(sorted(self.noise_inside.free_symbols, key=str))
