"""One run: draw sequences, minimise the risk at each number of samples, measure overlaps and errors."""

from __future__ import annotations

import dataclasses
import math
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from scipy.optimize import minimize_scalar

from verify.core.data import contrasts_of, draw_labels
from verify.core.minimise import DescentStatus, Lbfgs
from verify.core.risk import total_loss
from verify.core.store import Store
from verify.studies.exponents.risk import NarrowRisk, contrasts_of_projected
from verify.studies.exponents.run import TOKENS, StudentRun

#: Fresh sequences of a test error, the same at every number of samples: the slope over an octave then scatters by .003.
FRESH_SAMPLES = 100_000
#: Relative gradient: errors are then within 2e-5 of those at 1e-5; runs scatter 100 times more.
RELATIVE_GRADIENT = 1e-4
_BLOCK = 4096  #: sequences drawn at a time
#: largest multiple of the target tried: without noise the best is one, with noise less
_STEEPEST = 2.0


@dataclass(frozen=True)
class StudentResult:
    """What a run measured at each of its numbers of samples, in their order.

    m = tr(S S0)/d, q = tr S^2/d and q0 of the target; `excess_errors`: test error above that of the best multiple of S0 on the same
    fresh sequences; `ranks`: eigenvalues of S above a thousandth of the largest.
    """

    run: StudentRun
    m: tuple[float, ...]
    q: tuple[float, ...]
    q0: float
    excess_errors: tuple[float, ...]
    ranks: tuple[int, ...]
    evaluations: tuple[int, ...]
    status: DescentStatus
    seconds: float

    @property
    def estimation_errors(self) -> tuple[float, ...]:
        """||S - S0||_F^2/d."""
        return tuple(self.q0 - 2 * m + q for m, q in zip(self.m, self.q, strict=True))

    def errors(self, quantity: str) -> tuple[float, ...]:
        """Errors of one kind: "excess_error" or "estimation_error"."""
        return {"excess_error": self.excess_errors, "estimation_error": self.estimation_errors}[
            quantity
        ]

    def to_json(self) -> dict[str, Any]:
        """As plain JSON values; `from_json` is the inverse."""
        fields = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        return {**fields, "run": self.run.record(), "status": self.status.name}

    @classmethod
    def from_json(cls, run: StudentRun, record: dict[str, Any]) -> StudentResult:
        """Raises KeyError, TypeError or ValueError for any other record."""
        lists = {
            name: tuple(record[name])
            for name in ("m", "q", "excess_errors", "ranks", "evaluations")
        }
        known = {"run": run, "status": DescentStatus[record["status"]]}
        return cls(**{**record, **lists, **known})


def train_student(run: StudentRun) -> StudentResult:
    """Draw, train, measure.

    The target is diagonal: the law of the sequences and of the starting weights is the same in every basis.
    """
    started = time.perf_counter()
    rng = {name: np.random.default_rng(seed) for name, seed in run.seeds().items()}
    target = torch.as_tensor(run.target.arrays[0].copy(), device=run.device)
    tokens, labels = _drawn(run, target, rng)
    start = torch.as_tensor(rng["start"].standard_normal((run.dim, run.hidden)), device=run.device)
    decay = run.decay * math.sqrt(run.dim / run.hidden)
    risks = [NarrowRisk(tokens[:n], labels[:n], decay, 1.0) for n in run.samples]
    minimiser = Lbfgs(tolerance=RELATIVE_GRADIENT)
    minima = [minimiser.minimise(risk, start) for risk in risks]
    found = [torch.as_tensor(minimum.weights, device=run.device) for minimum in minima]
    measured = [_overlaps(weights, target) for weights in found]
    failed = [minimum.status for minimum in minima if minimum.status is not DescentStatus.CONVERGED]
    return StudentResult(
        run,
        tuple(one.m for one in measured),
        tuple(one.q for one in measured),
        float(target.square().mean()),
        _excess_errors(run, found, target, rng["test"]),
        tuple(one.rank for one in measured),
        tuple(minimum.evaluations for minimum in minima),
        failed[0] if failed else DescentStatus.CONVERGED,
        time.perf_counter() - started,
    )


def _drawn(
    run: StudentRun, target: torch.Tensor, rng: dict[str, np.random.Generator]
) -> tuple[torch.Tensor, torch.Tensor]:
    """Sequences (n, T, d) and labels (n, T, T) of the largest number of samples."""
    tokens = torch.empty(run.samples[-1], TOKENS, run.dim, dtype=torch.float64, device=run.device)
    for block in tokens.split(_BLOCK):
        block.copy_(torch.as_tensor(rng["inputs"].standard_normal(tuple(block.shape))))
    indices = torch.cat([_target_indices(block, target) for block in tokens.split(_BLOCK)])
    labels = draw_labels(indices, run.noise, 1.0, rng["labels"])
    if run.shuffle_labels:
        labels = labels[
            torch.as_tensor(rng["shuffle"].permutation(len(labels)), device=labels.device)
        ]
    return tokens, labels


def _target_indices(tokens: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """h0_ab = (x_a^T S0 x_b - delta_ab tr S0)/sqrt(d), shape (n, T, T), of a diagonal S0 (d,)."""
    h = torch.bmm(tokens * target, tokens.transpose(1, 2))
    h.diagonal(dim1=1, dim2=2).sub_(target.sum())
    return h.div_(math.sqrt(len(target)))


class _Overlaps(NamedTuple):
    m: float
    q: float
    rank: int


def _overlaps(weights: torch.Tensor, target: torch.Tensor) -> _Overlaps:
    """Of S = W W^T/sqrt(m d) with a diagonal target (d,)."""
    dim, hidden = weights.shape
    unit = math.sqrt(hidden * dim)
    eigenvalues = torch.linalg.eigvalsh(weights.T @ weights) / unit
    m = float(weights.square().sum(1) @ target) / unit / dim
    return _Overlaps(
        m,
        float(eigenvalues.square().sum()) / dim,
        int((eigenvalues > 1e-3 * eigenvalues.max()).sum()),
    )


def _excess_errors(
    run: StudentRun, found: list[torch.Tensor], target: torch.Tensor, rng: np.random.Generator
) -> tuple[float, ...]:
    """Test error of each student above that of the best multiple of the target, on the same fresh sequences."""
    contrasts: list[list[torch.Tensor]] = [[] for _ in (*found, target)]
    labels = []
    for first in range(0, FRESH_SAMPLES, _BLOCK):
        shape = (min(_BLOCK, FRESH_SAMPLES - first), TOKENS, run.dim)
        tokens = torch.as_tensor(rng.standard_normal(shape), device=run.device)
        h0 = _target_indices(tokens, target)
        labels.append(draw_labels(h0, run.noise, 1.0, rng))
        contrasts[-1].append(contrasts_of(h0))
        for k, weights in enumerate(found):
            unit = math.sqrt(weights.shape[1]) * run.dim
            contrasts[k].append(
                contrasts_of_projected(tokens @ weights, unit, weights.square().sum())
            )
    y, *students, best = (torch.cat(parts) for parts in (labels, *contrasts))
    least = minimize_scalar(
        lambda c: total_loss(c * best, y, 1.0), bounds=(0, _STEEPEST), method="bounded"
    ).fun
    return tuple((total_loss(c, y, 1.0) - float(least)) / FRESH_SAMPLES for c in students)


def student_store(folder: Path) -> Store[StudentResult]:
    """Return the store of finished narrow students in `folder`. Raises OSError if it cannot be written."""
    return Store(folder, StudentResult, "students.jsonl")
