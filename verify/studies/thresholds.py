"""Thresholds seen in training: where the training loss starts to rise and where the estimation error ends, against proven values."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np

from numeric.laws.law import Array
from numeric.maths.domain import NoAnswer
from numeric.problem.problem import Problem
from numeric.problem.solution import Solution
from numeric.proven_laws.rational import exact_marchenko_pastur
from numeric.thresholds.interpolation import interpolation
from numeric.thresholds.proven_digits import Threshold
from numeric.thresholds.recovery import recovery
from verify.jobs.pool import execute_all
from verify.jobs.store import Store
from verify.judging.crossing import INTERVAL_PROBABILITY, Crossing, SizePoints, find_crossing
from verify.judging.theory import solve_along
from verify.training import vanishing_decay as vanishing
from verify.training.minimise import DescentStatus
from verify.training.run import PROTOCOL, Run
from verify.training.target import rank_ratio
from verify.training.vanishing_decay import DECAY_MULTIPLES, VanishingResult, train_at_vanishing_decay, vanishing_root

_DIGITS = 30
_WIDEST = 0.3  #: of the proven value: a wider interval decides nothing
#: Smallest weight decay: the extrapolation from it and its double errs by less than the scatter between runs.
DECAY = 1e-4
VANISHING_PROTOCOL = hashlib.sha256((PROTOCOL + Path(vanishing.__file__).read_text()).encode()).hexdigest()[:16]


@dataclass(frozen=True)
class Kind:
    """One threshold: which quantity vanishes, where it is fitted and where it is seen to have vanished, in multiples of it."""

    name: str
    quantity: str
    label: str
    multiples: tuple[float, ...]
    beyond: float


INTERPOLATION = Kind("interpolation", "train_error", "training loss", (1.15, 1.3, 1.45, 1.65, 1.9), 0.8)
RECOVERY = Kind("recovery", "estimation_error", "estimation error", (0.45, 0.55, 0.65, 0.75, 0.85), 1.25)


@dataclass(frozen=True)
class Sighting:
    """One threshold as training shows it, beside its proven value."""

    kind: Kind
    proven: Threshold
    points: tuple[SizePoints, ...]
    theory: tuple[Array, Array]
    crossing: Crossing
    beyond: tuple[SizePoints, ...]
    excluded: int

    @property
    def decides(self) -> bool:
        """Whether the interval is narrow enough for its verdict to mean something."""
        return self.crossing.infinite.high - self.crossing.infinite.low < _WIDEST * float(self.proven)

    @property
    def agrees(self) -> bool:
        """Whether the interval at infinite d is narrow and contains the proven value."""
        return self.decides and float(self.proven) in self.crossing.infinite

    def document(self) -> dict[str, object]:
        """As plain JSON values."""
        return {
            "kind": self.kind.name,
            "proven": self.proven.value,
            "digits_proven": self.proven.digits,
            "estimate": self.crossing.infinite.value,
            "interval": [self.crossing.infinite.low, self.crossing.infinite.high],
            "confidence": INTERVAL_PROBABILITY,
            "fit_bias_subtracted": self.crossing.fit_bias,
            "sizes": [
                {
                    "dim": item.dim,
                    "crossing": self.crossing.by_size[item.dim].value,
                    "interval": [self.crossing.by_size[item.dim].low, self.crossing.by_size[item.dim].high],
                    "alphas": item.alphas.tolist(),
                    "root_means": item.means().tolist(),
                    "root_errors": item.errors().tolist(),
                    "runs": [len(value) for value in item.values],
                }
                for item in self.points
            ],
            "theory": {"alphas": self.theory[0].tolist(), "roots": self.theory[1].tolist()},
            "beyond": [
                {"dim": item.dim, "alpha": float(item.alphas[0]), "root_mean": float(item.means()[0])}
                for item in self.beyond
            ],
            "excluded_runs": self.excluded,
            "decides": self.decides,
            "agrees": self.agrees,
        }


def vanishing_store(folder: Path) -> Store[VanishingResult]:
    """Finished runs of this experiment in `folder`. Raises OSError if it cannot be written."""
    return Store(folder, VanishingResult, "vanishing.jsonl", VANISHING_PROTOCOL)


def observe(
    base: Run,
    sizes: Sequence[tuple[int, int]],
    store: Store[VanishingResult],
    note: Callable[[str], None],
    workers: int | None,
) -> list[Sighting]:
    """Train what `store` lacks at `sizes` (d, number of runs), and locate both thresholds.

    Raises WorkerError if a run fails, NoAnswer if too few runs converged or the theory has no answer.
    """
    kinds = [(INTERPOLATION, base), (RECOVERY, base.varied(noise=0.0))]
    proven = {kind.name: _proven(kind, run) for kind, run in kinds}
    runs = {kind.name: _runs(kind, run, float(proven[kind.name]), sizes) for kind, run in kinds}
    note("training at vanishing weight decay")
    flat = [item for wanted in runs.values() for item in wanted]
    results = dict(zip(flat, execute_all(flat, store, workers=workers, task=train_at_vanishing_decay), strict=True))
    note("theory at the same sample ratios")
    return [_sighting(kind, run, proven[kind.name], [results[item] for item in runs[kind.name]]) for kind, run in kinds]


def _proven(kind: Kind, run: Run) -> Threshold:
    law = exact_marchenko_pastur(Fraction(str(rank_ratio(run.problem.target))))
    width = Fraction(str(run.problem.width))
    if kind is INTERPOLATION:
        return interpolation(law, Fraction(str(run.problem.noise)), run.problem.tokens, _DIGITS, width)
    return recovery(law, run.problem.tokens, _DIGITS, width)


def _runs(kind: Kind, run: Run, threshold: float, sizes: Sequence[tuple[int, int]]) -> list[Run]:
    return [
        run.varied(lambda_=DECAY, alpha=multiple * threshold, dim=dim, index=index)
        for dim, count in sizes
        for multiple in (*kind.multiples, kind.beyond)
        for index in range(count)
    ]


def _sighting(kind: Kind, run: Run, proven: Threshold, results: Sequence[VanishingResult]) -> Sighting:
    converged = [result for result in results if result.status is DescentStatus.CONVERGED]
    dims = sorted({result.run.dim for result in results})
    alphas = np.array([multiple * float(proven) for multiple in kind.multiples])
    points = tuple(_points(kind, dim, alphas, converged) for dim in dims)
    beyond = tuple(_points(kind, dim, np.array([kind.beyond * float(proven)]), results) for dim in dims)
    theory = (alphas, _theory_roots(kind, run.problem, alphas))
    crossing = find_crossing(points, theory, float(proven), run.entropy)
    return Sighting(kind, proven, points, theory, crossing, beyond, len(results) - len(converged))


def _points(kind: Kind, dim: int, alphas: Array, results: Sequence[VanishingResult]) -> SizePoints:
    groups = [[r for r in results if r.run.dim == dim and r.run.problem.alpha == alpha] for alpha in alphas.tolist()]
    if min(map(len, groups)) < 2:
        raise NoAnswer(f"{kind.name} at dim {dim}: fewer than 2 runs converged at some sample ratio; add --runs")
    realised = np.array([group[0].run.samples / dim**2 for group in groups])
    return SizePoints(dim, realised, tuple(np.array([r.limit(kind.quantity) for r in group]) for group in groups))


def _theory_roots(kind: Kind, problem: Problem, alphas: Array) -> Array:
    """The vanishing root of the theory, with the decay taken to zero exactly as in training."""
    larger, smaller = (
        solve_along(dataclasses.replace(problem, lambda_=multiple * DECAY), alphas.tolist())
        for multiple in DECAY_MULTIPLES[-2:]
    )

    def value(solution: Solution) -> float:
        return float(getattr(solution, kind.quantity))

    return np.array([vanishing_root(value(larger[a]), value(smaller[a])) for a in alphas.tolist()])
