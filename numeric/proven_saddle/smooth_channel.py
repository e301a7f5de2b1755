"""Channel averages of blocks with one visible index and a smooth minimiser, to many digits.

See sections 3 and 12 of the theory note. The inverse map w = u + V C loss'(u) is explicit, and it
increases if the minimiser is unique. Integration over u instead of w needs no minimisation and has
an analytic integrand. The error of the trapezoidal rule is then of order exp(-2 pi a/step), with a
the imaginary distance of the nearest singularity. It is estimated from two rules; balls enclose the
rounding error.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count
from typing import Any, NamedTuple

from flint import arb

from attention_erm.runtime.errors import NoAnswer
from numeric.exact.exact_problem import ExactProblem
from numeric.maths.balls import Ball
from numeric.model import ChannelKind, structure
from numeric.problem.problem import Problem

SCANNED = range(-6, 7)  # standard deviations at which the curvature is sampled to choose a step


class Trapezoid(NamedTuple):
    """Trapezoidal rule, in standard deviations.

    Attributes:
        step: step of the field seen by the label.
        across: step of the rest of the student's field.
        reach: range of both.
    """

    step: float
    across: float
    reach: float


class SmoothAverages(NamedTuple):
    """Averages of the channel, summed over all blocks: M, its derivatives, and the errors."""

    M: Ball
    M_m: Ball
    M_q: Ball
    M_V: Ball
    train: Ball
    test: Ball


class _Sample(NamedTuple):
    """Node of the rule.

    Attributes:
        u: index of the student.
        w: its field.
        slope: derivative of the loss at u.
        seen: part of the field seen by the label (standard deviations).
        unseen: other part of the field (standard deviations).
        rise: derivative of w with respect to u.
        y: label.
    """

    u: Ball
    w: Ball
    slope: Ball
    seen: Ball
    unseen: Ball
    rise: Ball
    y: tuple[Ball, ...]


def applies(problem: Problem) -> bool:
    """Return whether every block of the channel has one visible index and smooth labels."""
    return (
        problem.is_smooth
        and problem.channel is ChannelKind.BLOCKS
        and all(block.indices == 1 for block in structure(problem.model).blocks)
    )


def averages(problem: ExactProblem, at: tuple[Ball, ...], rule: Trapezoid) -> SmoothAverages:
    """Return the channel averages.

    Args:
        problem: the problem.
        at: overlaps (m, q, V).
        rule: trapezoidal rule.

    Raises:
        NoAnswer: the minimiser jumps.
    """
    m, q, V = at
    rho = problem.call("noisy_variance", problem.q0)
    fields = problem.call("field_coefficients", m, q, rho)
    total = [arb(0)] * 5
    for number, block in enumerate(structure(problem.rounded.model).blocks, 1):
        sums = _Block.of(problem, number, fields, V).sums(rule)
        total = [whole + block.copies * part for whole, part in zip(total, sums, strict=True)]
    return averages_from_sums(problem, at, tuple(total))


def averages_from_sums(
    problem: ExactProblem, at: tuple[Ball, ...], sums: tuple[Ball, ...]
) -> SmoothAverages:
    """Return the channel averages from the five sums over nodes.

    Args:
        problem: the problem.
        at: overlaps (m, q, V).
        sums: averages of training loss, R, E f.gamma1, E f.gamma2 and test loss.
    """
    train, R, F1, F2, test = sums
    rho = problem.call("noisy_variance", problem.q0)
    M, M_m, M_q, M_V = problem.call("channel_derivatives", *at, rho, train, R, F1, F2)
    return SmoothAverages(M, M_m, M_q, M_V, train, test)


def jump_error(V: float) -> NoAnswer:
    """Return the error raised if the inverse map decreases somewhere."""
    rule = f"the minimiser may jump at V = {V:.4g}, where no rule has many digits"
    return NoAnswer(f"{rule}: increase lambda or alpha, or omit --digits")


@dataclass(frozen=True)
class _Block:
    """Samples of one block at given fields.

    The coefficients `teacher`, `independent` and `target` of the fields are in units of the
    standard deviation of an index. `stiffness` is V C, with C the variance of the index.
    """

    label: Callable[..., Any]
    loss: Callable[..., Ball]
    gradient: Callable[..., Ball]
    hessian: Callable[..., Ball]
    root: Ball
    teacher: Ball
    independent: Ball
    target: Ball
    stiffness: Ball

    @classmethod
    def of(cls, problem: ExactProblem, number: int, fields: tuple[Ball, ...], V: Ball) -> "_Block":
        label, loss, gradient, hessian = (
            problem.bound(f"block{number}_{name}")
            for name in ("label", "loss", "gradient", "hessian")
        )
        C = arb(problem.call(f"block{number}_covariance"))
        teacher, independent, target = (C.sqrt() * field for field in fields)
        return cls(label, loss, gradient, hessian, C.sqrt(), teacher, independent, target, V * C)

    def sums(self, rule: Trapezoid) -> list[Ball]:
        """Return averages over one copy: training loss, R, E f.gamma1, E f.gamma2, test loss."""
        across = self._step(rule)
        total = [arb(0)] * 5
        for sample in self._samples(rule, across):
            weight = (-(sample.seen**2 + sample.unseen**2) / 2).exp() * sample.rise
            dual = -weight * sample.slope
            values = (
                weight * self.loss(sample.u, *sample.y),
                -dual * sample.slope,
                dual * sample.seen,
                dual * sample.unseen,
                weight * self.loss(sample.w, *sample.y),
            )
            total = [whole + value for whole, value in zip(total, values, strict=True)]
        area = rule.step * across / (2 * arb.pi() * self.independent)
        units = (arb(1), self.stiffness**2 / self.root**2, self.root, self.root, arb(1))
        return [area * unit * value for unit, value in zip(units, total, strict=True)]

    def _step(self, rule: Trapezoid) -> Ball:
        """Return the step of u that is at most `rule.across` in the unseen field."""
        labels = [self._label(arb(x)) for x in SCANNED]
        places = [self.independent * x for x in SCANNED]
        steepest = max((self.hessian(u, *y) for u in places for y in labels), key=float)
        return (rule.across * self.independent / (1 + self.stiffness * max(arb(0), steepest))).mid()

    def _label(self, seen: Ball) -> tuple[Ball, ...]:
        numbers = self.label(self.target * seen)
        return numbers if isinstance(numbers, tuple) else (numbers,)

    def _samples(self, rule: Trapezoid, across: Ball) -> Iterator[_Sample]:
        """Yield all nodes within the reach."""
        most, first = int(rule.reach / rule.step), 0
        for k in range(-most, most + 1):
            seen = rule.step * arb(k)
            y = self._label(seen)
            while self._sample(first, across, seen, y).unseen > 0:
                first -= 1
            while self._sample(first, across, seen, y).unseen < 0:
                first += 1
            for nodes in (count(first), count(first - 1, -1)):
                for j in nodes:
                    sample = self._sample(j, across, seen, y)
                    if abs(float(sample.unseen)) > rule.reach:
                        break
                    yield sample

    def _sample(self, j: int, across: Ball, seen: Ball, y: tuple[Ball, ...]) -> _Sample:
        u = across * j
        slope, rise = self.gradient(u, *y), 1 + self.stiffness * self.hessian(u, *y)
        if not rise > 0:
            raise jump_error(float(self.stiffness / self.root**2))
        w = u + self.stiffness * slope
        return _Sample(u, w, slope, seen, (w - self.teacher * seen) / self.independent, rise, y)
