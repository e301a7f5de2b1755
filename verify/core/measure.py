"""Execute a run and measure the learned map: a frozen, seeded `Run` gives a frozen `RunResult`."""

from __future__ import annotations

import dataclasses
import math
import time
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
import torch
from numpy.polynomial import Chebyshev

from verify.core import data
from verify.core.data import TokenLaw
from verify.core.draw import draw, empirical_risk, token_law
from verify.core.minimise import MINIMISERS, DescentStatus, Minimum
from verify.core.risk import total_loss
from verify.core.run import Run, result_record
from verify.core.streams import Stream
from verify.core.vocabulary import DrawnVocabulary

#: number of learned eigenvectors whose overlap with those of the target is stored
LEADING_OVERLAPS = 10

#: eigenvalues of S0 closer than this share of the largest are degenerate; the rotation has errors
#: of 1e-15
EQUAL = 1e-9


@dataclass(frozen=True)
class RunResult:
    """Measurements of one run.

    Per d: m = tr(S S0)/d, q = tr(S S^T)/d, q0, t0 and the estimation error ||S - S0||_F^2/d. Per
    sample: train error, test error, and `best_error`, the least test error of a multiple of S0 on
    the same samples, which infinitely many training samples would reach.

    Attributes:
        loss: L/d^2 at the minimum.
        eigenvalues: largest eigenvalues of the symmetric part of S, decreasing, at most
            `LEADING_OVERLAPS`.
        overlaps: squared overlaps of their eigenvectors with those of the target of the same rank;
            with the common eigenspace where eigenvalues of the target are degenerate.
        held: v^T S v of as many first eigenvectors v of S0.
        hidden: overlap of the noise with unlearned features if K are learned, for K = 0 to d: the
            sum over j, k > K of s_k s0_j (v_k.u_j)^2/d with u_j the eigenvectors of S0.
        vocabulary_test_error: test error of new sequences of the same tokens, None if the run has
            no vocabulary of its own.
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
    vocabulary_test_error: float | None = None

    @property
    def excess_error(self) -> float:
        """Return the test error minus `best_error`. Both use the same samples, so their common
        scatter cancels.
        """
        return self.test_error - self.best_error

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values; `from_json` is the inverse."""
        return result_record(self)

    @classmethod
    def from_json(cls, run: Run, record: dict[str, Any]) -> RunResult:
        """Return the result stored as `record`.

        Args:
            run: run of the result.
            record: JSON values.

        Raises:
            KeyError, TypeError, ValueError: the record is invalid.
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
    """Draw the data of `run`, minimise its risk and measure (theory note, section 1).

    Raises InvalidParameter before anything is drawn if the data do not fit into memory.
    """
    started = time.perf_counter()
    drawn = draw(run)
    risk = empirical_risk(run, drawn)
    minimum = MINIMISERS[run.minimiser]().minimise(risk, drawn.start)
    s = risk.weights.attention_map(torch.as_tensor(minimum.weights, device=run.device))
    result = measure_run(run, (s, drawn.s0), minimum, risk.train_error(s), drawn)
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
    """Mean loss per fresh sample: of a map, and the least loss of all multiples of the target."""

    test: float
    best: float


#: Multiples c of the target, times beta/beta0, at which its test error is computed. The error is
#: analytic in c, so the polynomial through these Chebyshev points is accurate to 1e-5 of the error
#: at c = 0. The best c is 1 without label noise and less with noise.
MULTIPLES = 0.65 - 0.65 * np.cos((np.arange(9) + 0.5) * np.pi / 9)


def fresh_errors(
    run: Run, s: torch.Tensor, s0: torch.Tensor, stream: Stream, law: TokenLaw | None
) -> FreshErrors:
    """Return the errors of a map S and of the best multiple of S0 on the same fresh samples with
    labels of S0.

    Args:
        run: run that states the samples.
        s: learned map, shape (d, d).
        s0: target, shape (d, d).
        stream: source of the samples.
        law: law of their tokens; None for Gaussian ones.
    """
    total, multiples = 0.0, MULTIPLES * run.problem.beta0 / run.problem.beta
    along = np.zeros(len(multiples))
    fresh = data.fresh_indices(
        *(run.data, (s, s0), run.test_samples, run.problem.tokens, stream, run.output),
        law=law,
    )
    for contrasts, h0, metric in fresh:
        labels = data.draw_labels(h0, run.problem.noise, run.problem.beta0, stream)
        total += total_loss(contrasts, labels, run.problem.beta, metric)
        best = data.contrasts_of(h0)
        along += [
            total_loss(best, labels, c * run.problem.beta, metric) for c in multiples.tolist()
        ]
    return FreshErrors(total / run.test_samples, _least(multiples, along / run.test_samples))


def _least(points: np.ndarray, values: np.ndarray) -> float:
    """Return the least value, within the range of the points, of the polynomial through them."""
    curve = Chebyshev.fit(points, values, len(points) - 1)
    turns = curve.deriv().roots()
    inside = turns.real[
        (np.abs(turns.imag) < 1e-9) & (turns.real > points.min()) & (turns.real < points.max())
    ]
    return float(np.min(curve(np.concatenate([inside, points]))))


class TestData(Protocol):
    """What a test needs of the drawn data."""

    @property
    def test(self) -> Stream:
        """Return the source of the test samples."""

    @property
    def vocabulary(self) -> DrawnVocabulary | None:
        """Return the vocabulary, if its tokens were drawn."""


def measure_run(
    run: Run,
    maps: tuple[torch.Tensor, torch.Tensor],
    minimum: Minimum,
    train_error: float,
    drawn: TestData,
) -> RunResult:
    """Measure the learned map at a minimum; the field `seconds` stays 0.

    Args:
        run: the run.
        maps: S and S0, each of shape (d, d).
        minimum: end of the descent.
        train_error: mean loss per training sample.
        drawn: source of the test samples, and the vocabulary.
    """
    s, s0 = maps
    m, q, q0 = moments(s, s0)
    fresh, of_vocabulary = fresh_errors(run, s, s0, drawn.test, token_law(run)), None
    if drawn.vocabulary is not None:
        of_vocabulary = fresh_errors(run, s, s0, drawn.test, drawn.vocabulary).test
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
        vocabulary_test_error=of_vocabulary,
    )


class LeadingOverlaps(NamedTuple):
    """The fields `eigenvalues`, `overlaps` and `held` of a RunResult."""

    eigenvalues: tuple[float, ...]
    overlaps: tuple[float, ...]
    held: tuple[float, ...]


def leading_overlaps(s: torch.Tensor, s0: torch.Tensor) -> LeadingOverlaps:
    """Return the `LEADING_OVERLAPS` largest eigenvalues of the symmetric part of S and the overlaps
    of their eigenvectors with the features of S0.

    The k-th eigenvector is projected on the eigenspace of the k-th eigenvalue of S0. This is a
    squared overlap where that eigenvalue is simple.

    Args:
        s: learned map, shape (d, d).
        s0: target, shape (d, d).
    """
    values, vectors = (x.flip(-1)[..., :LEADING_OVERLAPS] for x in torch.linalg.eigh((s + s.T) / 2))
    targets, directions = torch.linalg.eigh(s0)
    shares = (
        directions.T @ vectors
    ).square()  # (d, TOP): overlap of each target direction with each learned one
    equal = (
        targets[:, None] - targets.flip(0)[None, :LEADING_OVERLAPS]
    ).abs() < EQUAL * targets.abs().max()
    features = directions.flip(-1)[:, :LEADING_OVERLAPS]
    held = (features * (s @ features)).sum(0)
    return LeadingOverlaps(*(tuple(x.tolist()) for x in (values, (shares * equal).sum(0), held)))


def hidden_overlaps(s: torch.Tensor, s0: torch.Tensor) -> tuple[float, ...]:
    """Return the overlap of noise with unlearned features, for K = 0 to d learned features.

    The noise consists of the eigenvectors of the symmetric part of S from the (K + 1)-th on, the
    unlearned features of those of S0 from the (K + 1)-th on.

    Args:
        s: learned map, shape (d, d).
        s0: target, shape (d, d).
    """
    (values, vectors), (targets, directions) = (
        tuple(x.flip(-1) for x in torch.linalg.eigh(a)) for a in ((s + s.T) / 2, s0)
    )
    shared = targets[:, None] * (directions.T @ vectors).square() * values / len(s)
    beyond = shared.flip(0, 1).cumsum(0).cumsum(1).diagonal().flip(0)
    return (*beyond.tolist(), 0.0)
