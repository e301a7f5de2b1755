"""What a run measures: a frozen, seeded `Run` gives a frozen `RunResult`."""

from __future__ import annotations

import dataclasses
import math
import time
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.polynomial import Chebyshev

from verify.core import data
from verify.core.draw import draw, empirical_risk
from verify.core.minimise import MINIMISERS, DescentStatus, Minimum
from verify.core.risk import total_loss
from verify.core.run import Run, result_record

LEADING_OVERLAPS = 10  #: learned eigenvectors whose overlap with the target's is kept

#: eigenvalues of S0 closer than this share of the largest were equal before rotation, which errs by
#: 1e-15
EQUAL = 1e-9


@dataclass(frozen=True)
class RunResult:
    """What one run measured.

    Per d: m = tr(S S0)/d, q = tr(S S^T)/d, q0, t0, estimation error ||S - S0||_F^2/d; per sample:
    train error, test error, and `best_error`, the least test error of a multiple of S0 on the same
    samples, which infinitely many training samples would reach; `loss` is L/d^2.  `eigenvalues`
    (decreasing, at most `LEADING_OVERLAPS`) are those of the symmetric part of S, and `overlaps`
    the squared overlaps of their eigenvectors with the target's of the same rank in order; where
    eigenvalues of the target coincide, that with their common eigenspace. `held` is v^T S v of as
    many first eigenvectors v of S0: how much S holds of each feature. `hidden[K]` is how much the
    noise knows of features if K of them are learned, the sum over j, k > K of s_k s0_j
    (v_k.u_j)^2/d with u_j the eigenvectors of S0, for K = 0 to d.
    """

    run: Run
    m: float
    q: float
    q0: float
    t0: float
    train_error: float
    test_error: float
    best_error: float
    estimation_error: float
    singular_values: tuple[float, ...]
    eigenvalues: tuple[float, ...]
    overlaps: tuple[float, ...]
    held: tuple[float, ...]
    hidden: tuple[float, ...]
    loss: float
    status: DescentStatus
    relative_gradient: float
    evaluations: int
    seconds: float

    @property
    def excess_error(self) -> float:
        """Test error above what infinitely many training samples reach, on equal samples: both
        scatter far more.
        """
        return self.test_error - self.best_error

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values; `from_json` is the inverse."""
        return result_record(self)

    @classmethod
    def from_json(cls, run: Run, record: dict[str, Any]) -> RunResult:
        """Raises KeyError, TypeError or ValueError if the record is not of numbers as those of a
        run.
        """
        fields = {**record, "run": run}
        fields["status"] = DescentStatus[fields["status"]]
        for name in ("singular_values", "eigenvalues", "overlaps", "held", "hidden"):
            fields[name] = tuple(fields[name])
        result = cls(**fields)
        if result.status is DescentStatus.CONVERGED and not math.isfinite(
            result.m + result.q + result.train_error + result.test_error
        ):
            raise ValueError("a converged run without finite values")
        return result


def execute(run: Run) -> RunResult:
    """Draw the data of `run`, minimise its risk and measure.   (section 1)

    Raises InvalidParameter before anything is drawn if the data would not fit.
    """
    started = time.perf_counter()
    drawn = draw(run)
    risk = empirical_risk(run, drawn)
    minimum = MINIMISERS[run.minimiser]().minimise(risk, drawn.start)
    s = risk.weights.attention_map(torch.as_tensor(minimum.weights, device=run.device))
    result = measure_run(run, (s, drawn.s0), minimum, risk.train_error(s), drawn.test)
    return dataclasses.replace(result, seconds=time.perf_counter() - started)


class Moments(NamedTuple):
    """m = tr(S S0)/d, q = tr(S S^T)/d and q0 of the target."""

    m: float
    q: float
    q0: float


def moments(s: torch.Tensor, s0: torch.Tensor) -> Moments:
    """Return the moments of a map S and its target S0, each (d, d)."""
    return Moments(*(float((a * b).sum()) / len(s) for a, b in ((s, s0), (s, s), (s0, s0))))


class FreshErrors(NamedTuple):
    """Mean loss per fresh sample: of a map, and the least of all multiples of the target."""

    test: float
    best: float


#: Multiples c of the target, times beta/beta0, at which its test error is taken; it is analytic in
#: c, so that the polynomial through these Chebyshev points errs by 1e-5 of the error at c = 0 or
#: less. The best c is 1 without label noise and less with noise.
MULTIPLES = 0.65 - 0.65 * np.cos((np.arange(9) + 0.5) * np.pi / 9)


def fresh_errors(
    run: Run, s: torch.Tensor, s0: torch.Tensor, rng: np.random.Generator
) -> FreshErrors:
    """Errors of a map S (d, d) and of the best multiple of S0 on the same fresh samples labelled by
    S0.
    """
    total, multiples = 0.0, MULTIPLES * run.problem.beta0 / run.problem.beta
    along = np.zeros(len(multiples))
    fresh = data.fresh_indices(
        run.data, (s, s0), run.test_samples, run.problem.tokens, rng, run.output
    )
    for contrasts, h0, metric in fresh:
        labels = data.draw_labels(h0, run.problem.noise, run.problem.beta0, rng)
        total += total_loss(contrasts, labels, run.problem.beta, metric)
        best = data.contrasts_of(h0)
        along += [
            total_loss(best, labels, c * run.problem.beta, metric) for c in multiples.tolist()
        ]
    return FreshErrors(total / run.test_samples, _least(multiples, along / run.test_samples))


def _least(points: np.ndarray, values: np.ndarray) -> float:
    """Least value, within the points' range, of the polynomial through them."""
    curve = Chebyshev.fit(points, values, len(points) - 1)
    turns = curve.deriv().roots()
    inside = turns.real[
        (np.abs(turns.imag) < 1e-9) & (turns.real > points.min()) & (turns.real < points.max())
    ]
    return float(np.min(curve(np.concatenate([inside, points]))))


def measure_run(
    run: Run,
    maps: tuple[torch.Tensor, torch.Tensor],
    minimum: Minimum,
    train_error: float,
    rng: np.random.Generator,
) -> RunResult:
    """Measure the maps (S, S0), each (d, d), at a minimum. `rng` draws the test samples;
    `seconds` stays 0.
    """
    s, s0 = maps
    m, q, q0 = moments(s, s0)
    fresh = fresh_errors(run, s, s0, rng)
    eigenvalues, overlaps, held = leading_overlaps(s, s0)
    return RunResult(
        run=run,
        m=m,
        q=q,
        q0=q0,
        t0=float(s0.trace()) / run.dim,
        train_error=train_error,
        test_error=fresh.test,
        best_error=fresh.best,
        estimation_error=q0 - 2 * m + q,
        singular_values=tuple(float(x) for x in torch.linalg.svdvals(s)),
        eigenvalues=eigenvalues,
        overlaps=overlaps,
        held=held,
        hidden=hidden_overlaps(s, s0),
        loss=minimum.loss,
        status=minimum.status,
        relative_gradient=minimum.relative_gradient,
        evaluations=minimum.evaluations,
        seconds=0.0,
    )


class LeadingOverlaps(NamedTuple):
    """Of each of the first features: `eigenvalues`, `overlaps` and `held` of a RunResult."""

    eigenvalues: tuple[float, ...]
    overlaps: tuple[float, ...]
    held: tuple[float, ...]


def leading_overlaps(s: torch.Tensor, s0: torch.Tensor) -> LeadingOverlaps:
    """The `LEADING_OVERLAPS` largest eigenvalues of the symmetric part of S, and how much S has of
    as many features of S0.

    The k-th eigenvector is projected on the eigenspace of the k-th eigenvalue of S0: where that is
    simple, a squared overlap.
    """
    values, vectors = (x.flip(-1)[..., :LEADING_OVERLAPS] for x in torch.linalg.eigh((s + s.T) / 2))
    targets, directions = torch.linalg.eigh(s0)
    shares = (
        directions.T @ vectors
    ).square()  # (d, TOP), of each target direction in each learned one
    equal = (
        targets[:, None] - targets.flip(0)[None, :LEADING_OVERLAPS]
    ).abs() < EQUAL * targets.abs().max()
    features = directions.flip(-1)[:, :LEADING_OVERLAPS]
    held = (features * (s @ features)).sum(0)
    return LeadingOverlaps(*(tuple(x.tolist()) for x in (values, (shares * equal).sum(0), held)))


def hidden_overlaps(s: torch.Tensor, s0: torch.Tensor) -> tuple[float, ...]:
    """Return the overlap of noise with unlearned features, for K = 0 to d learned features.

    Noise: eigenvectors of the symmetric part of S from the (K + 1)-th on; features: those of S0
    from the (K + 1)-th on.
    """
    (values, vectors), (targets, directions) = (
        tuple(x.flip(-1) for x in torch.linalg.eigh(a)) for a in ((s + s.T) / 2, s0)
    )
    shared = targets[:, None] * (directions.T @ vectors).square() * values / len(s)
    beyond = shared.flip(0, 1).cumsum(0).cumsum(1).diagonal().flip(0)
    return (*beyond.tolist(), 0.0)
