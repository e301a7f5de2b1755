"""Scaling laws in training: heads trained on power-law targets beside the finite-d theory, along the number of samples.

A law of weight decay is a power of d ("1/d", "1", "sqrt(d)"), so that one name means the same regime at every size. All quantities are
compared at equal n/d^2. The excess error of a run is measured above the best multiple of its own target on its own test samples, that
of the theory above the best multiple on Gaussian fields: each above its own limit of infinitely many samples.

Power-law targets are dominated by few features, whose indices are not Gaussian on token sequences (theory note, section 8): there the
theory is off by a constant factor, the universality gap, and slopes are what can agree. On Gaussian-equivalent data the theory is
tested in standard errors.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from generated.tied_attention import float64 as generated
from numeric.commands.scaling import weight_decay
from numeric.curve import Watch
from numeric.decompose import best_multiple, decompose
from numeric.exponents import Regime, regime_at
from numeric.scaling import ScalingPoint, ScalingProblem, scaling_curve
from verify.compare import Comparison, Setting, compare, nominal_setting
from verify.data import DataKind
from verify.minimise import Status
from verify.run import Run, RunResult
from verify.theory import watched_predictions

DRAWS = 2000  #: of the bootstrap: the ends of its intervals then scatter by 3 per cent of their width
LEVEL = 0.95
LEAST_POINTS = 3  #: of a window: two points have a slope, but nothing that it could disagree with
Target = tuple[int, str]  #: size d, law of weight decay
Parts = tuple[float, float, float]  #: shares of overfitting, underfitting and approximation in the distance


@dataclass(frozen=True)
class Plan:
    """Which heads to train: `base` with each law of weight decay, at each n/d^2 and size (d, number of runs)."""

    base: Run
    decays: tuple[str, ...]
    alphas: tuple[float, ...]
    sizes: tuple[tuple[int, int], ...]

    def runs(self) -> dict[Run, str]:
        """Every run with the name of its law of weight decay."""
        return {
            dataclasses.replace(self.base, dim=dim, alpha=alpha, lambda_=weight_decay(decay, dim), index=index): decay
            for decay in self.decays
            for dim, count in self.sizes
            for alpha in self.alphas
            for index in range(count)
        }

    def problem(self, dim: int, decay: str) -> ScalingProblem:
        """What the theory solves beside the runs of one size and law."""
        base = self.base
        if base.power_law is None:
            raise ValueError("the target is no power law")
        return ScalingProblem(
            base.power_law, dim, weight_decay(decay, dim), base.noise, beta=base.beta, beta0=base.beta0
        )


@dataclass(frozen=True)
class Place:
    """The runs at one size, law of weight decay and n/d^2, with the theory there.

    `excess` and `theory` are excess test errors; `ratio` their quotient and its standard error: on token sequences the universality
    gap. `learned` is the number of features that the theory sees stand out from the noise, None where S = 0. `parts` are those of the distance from the best multiple, means over runs.
    """

    dim: int
    decay: str
    alpha: float
    samples: int
    excess: tuple[float, ...]
    theory: float
    regime: Regime
    learned: int | None
    parts: Parts
    theory_parts: Parts

    @property
    def mean(self) -> float:
        """Mean excess error of the runs."""
        return float(np.mean(self.excess))

    @property
    def deviation(self) -> float:
        """Standard deviation of the excess error from run to run."""
        return float(np.std(self.excess, ddof=1))

    @property
    def ratio(self) -> tuple[float, float]:
        """Mean excess error over that of the theory, and the standard error of that."""
        return self.mean / self.theory, self.deviation / math.sqrt(len(self.excess)) / self.theory


@dataclass(frozen=True)
class Slope:
    """Slope of log(excess error) against log(n) over the places of one window, by least squares.

    `low` to `high` is the bootstrap interval of the trained slope over runs, `theory` the slope of the theory over the same places and
    `exponent` that of the regime in the limit of large d.
    """

    dim: int
    decay: str
    regime: str
    samples: tuple[int, int]
    value: float
    low: float
    high: float
    theory: float
    exponent: float

    @property
    def agrees(self) -> bool:
        """Whether the theory's slope lies within the interval of the trained one."""
        return self.low <= self.theory <= self.high


@dataclass(frozen=True)
class Outcome:
    """Everything measured; `lines` are theory curves along n; `comparison` scores the same runs at their own d eigenvalues."""

    plan: Plan
    places: tuple[Place, ...]
    slopes: tuple[Slope, ...]
    lines: Mapping[Target, tuple[ScalingPoint, ...]]
    comparison: Comparison
    results: tuple[RunResult, ...]

    @property
    def agrees(self) -> bool:
        """Gaussian-equivalent data: every score below the band. Token sequences: every slope within its interval."""
        if self.plan.base.data is DataKind.GAUSSIAN_EQUIVALENT:
            return self.comparison.agrees
        return all(slope.agrees for slope in self.slopes)


def judge(plan: Plan, results: Sequence[RunResult], line: int, watch: Watch = iter) -> Outcome:
    """Set trained heads beside the theory; `line` is the number of points of a theory curve.

    Raises ArithmeticError if the theory has no answer where heads were trained.
    """
    names = plan.runs()
    places = tuple(_places(plan, results, names, watch))
    targets = [(dim, decay) for decay in plan.decays for dim, _ in plan.sizes]
    alphas = np.geomspace(min(plan.alphas), max(plan.alphas), line)
    # Where nothing is learned the overlaps are zero on both sides, and have no scatter to judge by.
    learned = {(place.dim, place.decay, place.samples) for place in places if place.learned is not None}
    return Outcome(
        plan,
        places,
        tuple(slope for dim, decay in targets for slope in _slopes(plan, places, dim, decay)),
        {
            (d, decay): tuple(scaling_curve(plan.problem(d, decay), (alphas * d**2).tolist(), watch))
            for d, decay in targets
        },
        compare(
            [r for r in results if (r.run.dim, names[r.run], r.run.samples) in learned],
            watched_predictions,
            lambda run: _law(run, names, plan.sizes[-1][0]),
        ),
        tuple(results),
    )


def _law(run: Run, names: Mapping[Run, str], largest: int) -> Setting:
    """Runs of one law of weight decay are one point whatever their size: that of the largest."""
    return dataclasses.replace(nominal_setting(run), lambda_=weight_decay(names[run], largest))


def _places(plan: Plan, results: Sequence[RunResult], names: Mapping[Run, str], watch: Watch) -> Iterator[Place]:
    for dim, _ in plan.sizes:
        for decay in plan.decays:
            found = [r for r in results if r.run.dim == dim and names[r.run] == decay and r.status is Status.CONVERGED]
            asked = plan.problem(dim, decay)
            samples = sorted({r.run.samples for r in found})
            c_star, _ = best_multiple(asked.problem())
            for n, point in zip(samples, scaling_curve(asked, list(map(float, samples)), watch), strict=True):
                point.solution.unwrap()
                here = [r for r in found if r.run.samples == n]
                learned, theory_parts = _theory_parts(point, dim)
                yield Place(
                    dim,
                    decay,
                    here[0].run.alpha,
                    n,
                    tuple(r.excess_error for r in here),
                    point.excess_error,
                    _regime(asked, n),
                    learned,
                    trained_parts(here, learned or 0, c_star),
                    theory_parts,
                )


def _regime(asked: ScalingProblem, samples: float) -> Regime:
    logs = (math.log(samples), math.log(asked.lambda_), math.log(asked.dim))
    return regime_at(Fraction(str(asked.gamma)), *logs)


def _theory_parts(point: ScalingPoint, dim: int) -> tuple[int | None, Parts]:
    """Number of learned features, None where S = 0, and the shares of the three parts of the distance."""
    found, solution = decompose(point.solution), point.solution
    over, under, approximation = (
        part / found.distance for part in (found.overfitting, found.underfitting, found.approximation)
    )
    features = round(solution.problem.target.features(solution.delta**2) * dim) if solution.q else None
    return features, (over, under, approximation)


def trained_parts(results: Sequence[RunResult], learned: int, c_star: float) -> Parts:
    """Shares of overfitting, underfitting and approximation in the distance of trained maps from c* S0, means over runs.

    The `learned` first eigenvectors of S stand for features, as in the theory (theory note, section 7).
    """
    shares = []
    for result in results:
        spectra, dim = (result.singular_values, result.run.target_eigenvalues()), result.run.dim
        q_top, q0_top = (float(np.sum(np.square(x[:learned]))) / dim for x in spectra)
        gain = result.hidden[learned] / (result.q0 - q0_top) if learned < dim else 0.0
        *parts, distance = generated.decomposition(result.m, result.q, result.q0, q_top, q0_top, gain, c_star)
        shares.append([float(part) / float(distance) for part in parts])
    over, under, approximation = np.mean(shares, axis=0).tolist()
    return over, under, approximation


def _slopes(plan: Plan, places: Sequence[Place], dim: int, decay: str) -> Iterator[Slope]:
    """One slope for each regime that holds LEAST_POINTS places or more in which something has been learned."""
    mine = [place for place in places if (place.dim, place.decay) == (dim, decay)]
    for name in dict.fromkeys(place.regime.name for place in mine):
        window = [place for place in mine if place.regime.name == name and place.regime.risk[0] != 0]
        if len(window) >= LEAST_POINTS:
            yield slope_over(window, np.random.default_rng(plan.base.entropy))


def slope_over(window: Sequence[Place], rng: np.random.Generator) -> Slope:
    """The slope over places of one size and law, with its bootstrap interval over runs."""
    x = np.log([place.samples for place in window])
    rows = [np.array(place.excess) for place in window]
    drawn = np.stack([rng.choice(row, (DRAWS, len(row))).mean(axis=1) for row in rows], axis=1)
    low, high = np.quantile(_fitted(x, np.log(drawn)), [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    value, theory = (
        float(_fitted(x, np.log(y)[None])[0])
        for y in ([place.mean for place in window], [place.theory for place in window])
    )
    first, last = window[0], window[-1]
    ends, regime = (first.samples, last.samples), first.regime
    return Slope(
        first.dim, first.decay, regime.name, ends, value, float(low), float(high), theory, float(regime.risk[0])
    )


def _fitted(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Least-squares slopes of the rows of y against x, shape (rows,)."""
    centred = x - x.mean()
    return y @ centred / (centred @ centred)
