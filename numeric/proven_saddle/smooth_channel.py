"""Channel averages of blocks with one visible index whose minimiser is smooth, to many digits (theory note, sections 3 and 12).

The inverse map w = u + V C loss'(u) is explicit, and rises where the minimiser is unique: over u in place of w nothing is
minimised, and the integrand is analytic. The trapezoidal rule then errs by exp(-2 pi a/step), a the imaginary distance of what is
not analytic: its error has to be estimated from two rules, while balls enclose the rounding.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count
from typing import Any, NamedTuple

from flint import arb

from attention_erm.runtime.errors import NoAnswer
from numeric.maths.balls import Ball
from numeric.model import ChannelKind, structure
from numeric.problem.problem import Problem
from numeric.proven_saddle.exact_problem import ExactProblem

SCANNED = range(
    -6, 7
)  # standard deviations at which the greatest curvature is looked for: a step only depends on it


class Trapezoid(NamedTuple):
    """Trapezoidal rule, in standard deviations: step of what the label sees, step across (of the rest), and reach."""

    step: float
    across: float
    reach: float


class SmoothAverages(NamedTuple):
    """M with its derivatives and the errors, summed over all blocks."""

    M: Ball
    M_m: Ball
    M_q: Ball
    M_V: Ball
    train: Ball
    test: Ball


class _Sample(NamedTuple):
    """One node: the index u of the student, its field w, the Gaussian parts of both fields in standard deviations, the label y."""

    u: Ball
    w: Ball
    slope: Ball
    seen: Ball
    unseen: Ball
    rise: Ball
    y: tuple[Ball, ...]


def applies(problem: Problem) -> bool:
    """Whether every block of the channel has one visible index."""
    return problem.channel is ChannelKind.BLOCKS and all(
        block.indices == 1 for block in structure(problem.model).blocks
    )


def averages(problem: ExactProblem, at: tuple[Ball, ...], rule: Trapezoid) -> SmoothAverages:
    """The averages at overlaps (m, q, V).

    Raises:
        NoAnswer: the inverse map turns back at some node: the minimiser jumps.
    """
    m, q, V = at
    rho = problem.call("noisy_variance", problem.q0)
    fields = problem.call("field_coefficients", m, q, rho)
    total = [arb(0)] * 5
    for number, block in enumerate(structure(problem.rounded.model).blocks, 1):
        sums = _Block.of(problem, number, fields, V).sums(rule)
        total = [whole + block.copies * part for whole, part in zip(total, sums, strict=True)]
    train, R, F1, F2, test = total
    M, M_m, M_q, M_V = problem.call("channel_derivatives", m, q, V, rho, train, R, F1, F2)
    return SmoothAverages(M, M_m, M_q, M_V, train, test)


def jumps(V: float) -> NoAnswer:
    """What is raised where the inverse map turns back."""
    rule = f"the minimiser may jump at V = {V:.4g}, where no rule has many digits"
    return NoAnswer(f"{rule}: raise lambda or alpha, or leave out --digits")


@dataclass(frozen=True)
class _Block:
    """Samples of one block at given fields; teacher, independent and target are in units of the standard deviation of an index."""

    label: Callable[..., Any]
    loss: Callable[..., Ball]
    gradient: Callable[..., Ball]
    hessian: Callable[..., Ball]
    root: Ball
    teacher: Ball
    independent: Ball
    target: Ball
    stiffness: Ball  #: V C

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
        """Averages over one copy: training loss, R, E f.gamma1, E f.gamma2, test loss."""
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
        """Of u: no part of the rule is coarser than `rule.across` in the field that is not seen."""
        labels = [self._label(arb(x)) for x in SCANNED]
        places = [self.independent * x for x in SCANNED]
        steepest = max((self.hessian(u, *y) for u in places for y in labels), key=float)
        return (rule.across * self.independent / (1 + self.stiffness * max(arb(0), steepest))).mid()

    def _label(self, seen: Ball) -> tuple[Ball, ...]:
        numbers = self.label(self.target * seen)
        return numbers if isinstance(numbers, tuple) else (numbers,)

    def _samples(self, rule: Trapezoid, across: Ball) -> Iterator[_Sample]:
        """All nodes within the reach."""
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
            raise jumps(float(self.stiffness / self.root**2))
        w = u + self.stiffness * slope
        return _Sample(u, w, slope, seen, (w - self.teacher * seen) / self.independent, rise, y)
