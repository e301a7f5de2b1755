"""Training of one student: draw sequences, minimise the risk at each number of samples, measure
errors.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from scipy.optimize import minimize_scalar

from verify.core.data import contrasts_of, draw_labels
from verify.core.minimise import DescentStatus, Lbfgs
from verify.core.risk import total_loss
from verify.core.store import Store
from verify.core.streams import Stream, stream
from verify.studies.exponents.risk import NarrowRisk, contrasts_of_projected
from verify.studies.exponents.run import TOKENS, StudentRun
from verify.studies.exponents.sequences import (
    DRAWN_BLOCK,
    RedrawnSequences,
    StoredSequences,
    TokenSequences,
)

#: Fresh sequences of a test error, equal at every n; the slope over an octave then scatters by
#: 0.003.
FRESH_SAMPLES = 100_000
#: Relative gradient: errors are then within 2e-5 of those at 1e-5; the scatter of runs is 100 times
#: larger.
RELATIVE_GRADIENT = 1e-4
STORED_FRACTION = 0.7  #: of the free memory of a device; evaluations take the rest
#: largest multiple of the target tried; the best one is 1 without noise, and smaller with noise
_STEEPEST = 2.0


@dataclass(frozen=True)
class StudentResult:
    """Measurements of one student; tuples have one value for each number of samples.

    Attributes:
        run: the run.
        m: tr(S S0)/d.
        q: tr S^2/d.
        q0: tr S0^2/d.
        excess_errors: test error minus that of the best multiple of S0 on the same fresh sequences.
        ranks: number of eigenvalues of S above 1e-3 of the largest.
        evaluations: evaluations of the risk.
        status: first failure among the descents.
        seconds: wall time.
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
        """Return ||S - S0||_F^2/d."""
        return tuple(self.q0 - 2 * m + q for m, q in zip(self.m, self.q, strict=True))

    def errors(self, quantity: str) -> tuple[float, ...]:
        """Return the errors of one kind: "excess_error" or "estimation_error"."""
        return self.excess_errors if quantity == "excess_error" else self.estimation_errors

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values; `from_json` is the inverse."""
        return {**vars(self), "run": self.run.record(), "status": self.status.name}

    @classmethod
    def from_json(cls, run: StudentRun, record: dict[str, Any]) -> StudentResult:
        """Return the result stored as `record`.

        Args:
            run: the run of the result.
            record: JSON values.

        Raises:
            KeyError, TypeError, ValueError: the record is invalid.
        """
        names = ("m", "q", "excess_errors", "ranks", "evaluations")
        lists = {name: tuple(record[name]) for name in names}
        status = DescentStatus[record["status"]]
        return cls(**{**record, **lists, "run": run, "status": status})


def train_student(run: StudentRun) -> StudentResult:
    """Draw the data of a run, train, and measure.

    The target is diagonal, because sequences and initial weights are rotation invariant.
    """
    started = time.perf_counter()
    seeds = run.seeds()
    target = torch.as_tensor(run.target.arrays[0].copy(), device=run.device)
    sequences = _sequences(run, seeds["inputs"])
    labels = _labels(run, target, sequences, seeds)
    start = stream(seeds["start"], run.device).normal(run.dim, run.hidden)
    decay = run.decay * math.sqrt(run.dim / run.hidden)
    risks = [NarrowRisk(sequences.first(n), labels[:n], decay, 1.0) for n in run.samples]
    minimiser = Lbfgs(tolerance=RELATIVE_GRADIENT)
    minima = [minimiser.minimise(risk, start) for risk in risks]
    found = [torch.as_tensor(minimum.weights, device=run.device) for minimum in minima]
    # eigenvalues of S = W W^T/sqrt(m d) with a diagonal target
    unit = math.sqrt(run.hidden * run.dim)
    spectra = [torch.linalg.eigvalsh(w.T @ w) / unit for w in found]
    failed = [minimum.status for minimum in minima if minimum.status is not DescentStatus.CONVERGED]
    return StudentResult(
        run=run,
        m=tuple(float(w.square().sum(1) @ target) / unit / run.dim for w in found),
        q=tuple(float(eigenvalues.square().sum()) / run.dim for eigenvalues in spectra),
        q0=float(target.square().mean()),
        excess_errors=_excess_errors(run, found, target, stream(seeds["test"], run.device)),
        ranks=tuple(int((e > 1e-3 * e.max()).sum()) for e in spectra),
        evaluations=tuple(minimum.evaluations for minimum in minima),
        status=next(iter(failed), DescentStatus.CONVERGED),
        seconds=time.perf_counter() - started,
    )


def _sequences(run: StudentRun, seed: np.random.SeedSequence) -> TokenSequences:
    """Return the sequences of the largest number of samples.

    On a device they are drawn again for every evaluation if they take more than its free memory.
    """
    shape = run.samples[-1], TOKENS, run.dim
    if run.device != "cpu":
        redrawn = RedrawnSequences(seed, shape, run.device)
        free, _ = torch.cuda.mem_get_info()
        fits = 8 * math.prod(shape) < STORED_FRACTION * free
        return redrawn.stored() if fits else redrawn
    tokens, source = torch.empty(shape, dtype=torch.float64), stream(seed, run.device)
    for block in tokens.split(DRAWN_BLOCK):
        block.copy_(source.normal(*block.shape))
    return StoredSequences(tokens)


def _labels(
    run: StudentRun,
    target: torch.Tensor,
    sequences: TokenSequences,
    seeds: dict[str, np.random.SeedSequence],
) -> torch.Tensor:
    """Return the labels of all sequences, shape (n, T, T)."""
    indices = torch.cat([_target_indices(block, target) for _, block in sequences.blocks()])
    labels = draw_labels(indices, run.noise, 1.0, stream(seeds["labels"], run.device))
    if run.shuffle_labels:
        labels = labels[stream(seeds["shuffle"], run.device).permutation(len(labels))]
    return labels


def _target_indices(tokens: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """Return h0_ab = (x_a^T S0 x_b - delta_ab tr S0)/sqrt(d), shape (n, T, T), of a diagonal S0
    (d,).
    """
    h = torch.bmm(tokens * target, tokens.transpose(1, 2))
    h.diagonal(dim1=1, dim2=2).sub_(target.sum())
    return h.div_(math.sqrt(len(target)))


def _excess_errors(
    run: StudentRun, found: list[torch.Tensor], target: torch.Tensor, source: Stream
) -> tuple[float, ...]:
    """Return the test error of each student minus that of the best multiple of the target."""
    contrasts: list[list[torch.Tensor]] = [[] for _ in (*found, target)]
    labels = []
    for first in range(0, FRESH_SAMPLES, DRAWN_BLOCK):
        tokens = source.normal(min(DRAWN_BLOCK, FRESH_SAMPLES - first), TOKENS, run.dim)
        h0 = _target_indices(tokens, target)
        labels.append(draw_labels(h0, run.noise, 1.0, source))
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
    """Return the store of finished narrow students in `folder`.

    Raises OSError if it cannot be written.
    """
    return Store(folder, StudentResult, "students.jsonl")
