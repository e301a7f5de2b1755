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


@dataclass(frozen=True)
class Channel:
    """Output of the student, label of the target, and the loss between them.

    The student's output is `output` of beta h, and the label is `output` of beta0 (h0 + noise). The
    default of both temperatures is one.

    Attributes:
        output: output as a function of the indices.
        loss: loss as a function of output and label.
        beta: inverse temperature of the student.
        beta0: inverse temperature of the target.
        noise_inside: variance per unit of the noise on the target's index.
        noise_on_label: variance of the noise on each number of the label.
    """

    output: OutputFunction
    loss: LossFunction
    beta: sp.Expr = sp.S.One
    beta0: sp.Expr = sp.S.One
    noise_inside: sp.Expr = sp.S.Zero
    noise_on_label: sp.Expr = sp.S.Zero

    def __post_init__(self) -> None:
        for name in ("beta", "beta0", "noise_inside", "noise_on_label"):
            value = sp.sympify(getattr(self, name))
            object.__setattr__(self, name, value)
            require_exact(f"channel: {name}", value)
            if value.is_nonnegative is not True or (name.startswith("beta") and value == 0):
                raise ModelError(
                    f"channel: {name} = {value} must be positive, or zero for a noise; use symbols "
                    "of domain (0, inf)"
                )

    @property
    def noise(self) -> sp.Expr:
        """Variance per unit of the noise on the target's index."""
        return self.noise_inside

    @property
    def noise_settings(self) -> tuple[sp.Symbol, ...]:
        """Settings of the noise on the target's index, in alphabetical order."""
        return tuple(sorted(self.noise_inside.free_symbols, key=str))
