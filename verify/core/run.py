"""Parameters of a run, valid by construction, with its seeds, cost and storage key."""

from __future__ import annotations

import dataclasses
import enum
import hashlib
import json
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from attention_erm.runtime.errors import InvalidParameter
from numeric.laws.law import Target
from numeric.laws.marchenko_pastur import MarchenkoPastur
from numeric.problem.problem import Parametrisation, Problem
from verify.core.data import DataKind, Output
from verify.core.minimise import MINIMISERS
from verify.core.target import (
    TargetKind,
    covariance_eigenvalues,
    deterministic_eigenvalues,
    in_dimension,
    law_of_isotropic_target,
    target_record,
)
from verify.core.vocabulary import Vocabulary

#: Fresh samples per test error: the largest of this number, this multiple of the training samples
#: and this multiple of d^2. One fresh sample scatters by about its own mean, so the test error is
#: known to 0.45 % at d = 100 and to 0.9 % at d = 52, at most half of the scatter between runs.
TEST_SAMPLES, TEST_MULTIPLE, TEST_PER_SQUARE = 10_000, 4, 5

#: below this size, round(kappa0 d)/d and round(kappa d)/d can be far from kappa0 and kappa
MINIMUM_DIM = 4


class Start(enum.StrEnum):
    """Start of a descent: random weights, or weights near those of the target."""

    RANDOM = "random"
    TARGET = "target"


@dataclass(frozen=True)
class Run:
    """The trained `problem` and the parameters of its training.

    Equal runs give equal results on one device with the same library versions. `problem` is that of
    infinite d if its target is a law for every d (Marchenko-Pastur); a power law or any other list
    states `dim` eigenvalues. The randomness comes from SeedSequence(entropy, (key of the physical
    parameters, index)). Runs that differ in a physical parameter or in `index` are independent.
    If tokens are `drawn_from` vectors of a file, these have the covariance that the target
    states; if the problem alone states a vocabulary, its vectors are drawn for each run. Runs that
    differ only in output, parametrisation, minimiser, start, restart, device or shuffling see the
    same data.

    Raises:
        InvalidParameter: a parameter is outside its domain.
    """

    problem: Problem
    dim: int
    target_kind: TargetKind = TargetKind.DETERMINISTIC
    data: DataKind = DataKind.SEQUENCES
    minimiser: str = "lbfgs"
    entropy: int = 0
    index: int = 0
    start: Start = Start.RANDOM
    restart: int = 0
    shuffle_labels: bool = False
    device: str = "cpu"
    output: Output = Output.LABELS
    drawn_from: Vocabulary | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "target_kind", TargetKind(self.target_kind))
        object.__setattr__(self, "data", DataKind(self.data))
        object.__setattr__(self, "start", Start(self.start))
        object.__setattr__(self, "output", Output(self.output))
        _require_valid(self)

    def varied(self, **changes: Any) -> Run:
        """Return the run with other parameters of the run or of its problem; a power law is stated
        again in the new `dim`.
        """
        own = {
            field.name: changes.pop(field.name)
            for field in dataclasses.fields(self)
            if field.name in changes
        }
        target = in_dimension(changes.pop("target", self.problem.target), own.get("dim", self.dim))
        return dataclasses.replace(
            self, problem=dataclasses.replace(self.problem, target=target, **changes), **own
        )

    @property
    def samples(self) -> int:
        """Return n = alpha d^2, rounded, at least one."""
        return sample_count(self.problem.alpha, self.dim)

    @property
    def vocabulary_size(self) -> int:
        """Return N = nu d^2, rounded; 0 for new tokens in every sample."""
        return vocabulary_size(self.problem, self.dim) if self.problem.has_vocabulary else 0

    @property
    def repeated_pairs(self) -> float:
        """Return the expected share of pairs of tokens that occurred in an earlier sample.

        The theory has none: n is much smaller than N^2 in high dimension.
        """
        if not (size := self.vocabulary_size):
            return 0.0
        tokens = self.problem.tokens
        per_pair = self.samples * tokens * (tokens - 1) / (size * (size - 1))
        return 1 + math.expm1(-per_pair) / per_pair

    @property
    def test_samples(self) -> int:
        """Return the number of fresh samples of the test error."""
        return max(TEST_SAMPLES, TEST_MULTIPLE * self.samples, TEST_PER_SQUARE * self.dim**2)

    @property
    def columns(self) -> int:
        """Return m = kappa d, rounded, at least one."""
        return max(1, round(self.problem.width * self.dim))

    @property
    def weight_columns(self) -> int:
        """Return the number of columns of the trained weights: m of the factors W, d of the matrix
        A.
        """
        return (
            self.columns if self.problem.parametrisation is Parametrisation.FACTORISED else self.dim
        )

    def target_eigenvalues(self) -> np.ndarray:
        """Return the eigenvalues of a deterministic target, decreasing, shape (d,)."""
        return deterministic_eigenvalues(self.problem.target, self.dim)

    @property
    def covariance_roots(self) -> tuple[float, ...]:
        """Return the square roots of the eigenvalues of the covariance of the tokens, none if they
        are isotropic.
        """
        return tuple(np.sqrt(covariance_eigenvalues(self.problem.target, self.dim)).tolist())

    @property
    def cost(self) -> float:
        """Return the estimated number of seconds on one core. It orders runs and paces the progress
        bar.

        Measured: 20 to 160 evaluations of the risk where labels determine S, 200 to 400 elsewhere,
        each with a step of the minimiser. Sequences are limited by arithmetic, sensing matrices by
        memory bandwidth. Fresh samples add the time to draw them.
        """
        tokens = self.problem.tokens
        token_pairs = tokens * (tokens + 1) // 2
        overdetermined = (token_pairs - 1) * self.samples > self.dim**2 / 2
        evaluations = 20 + 25 / self.problem.alpha**1.2 if overdetermined else 300
        per_sample, per_fresh = 7e-10 * token_pairs * self.dim**2, 5e-7
        if self.data is DataKind.SEQUENCES:
            per_sample = self.dim * (6e-11 * (tokens - 1) * self.dim + 3.5e-9 * tokens)
            per_fresh += tokens * self.dim * (3e-11 * self.dim + 1e-8)
        step = 3e-4 + 1e-7 * self.dim * self.weight_columns
        return float(
            evaluations * (self.samples * per_sample + step) + self.test_samples * per_fresh
        )

    @property
    def label(self) -> str:
        """Return the name of the run in messages."""
        return f"dim {self.dim} alpha {self.problem.alpha:g} index {self.index}"

    def record(self) -> dict[str, Any]:
        """Return plain JSON values, flat, as results are stored."""
        problem, law = self.problem, target_record(self.problem.target, self.dim)
        return {
            "dim": self.dim,
            "alpha": problem.alpha,
            "kappa0": law["kappa0"],
            "width": problem.width,
            "lambda_": problem.lambda_,
            "noise": problem.noise,
            "tokens": problem.tokens,
            "beta": problem.beta,
            "beta0": problem.beta0,
            "target": str(self.target_kind),
            "data": str(self.data),
            "minimiser": self.minimiser,
            "entropy": self.entropy,
            "index": self.index,
            "start": str(self.start),
            "restart": self.restart,
            "shuffle_labels": self.shuffle_labels,
            "device": self.device,
            "parametrisation": str(problem.parametrisation),
            "power_law": law["power_law"],
            "spikes": law["spikes"],
            "output": str(self.output),
            **{name: law[name] for name in law if name == "covariance"},
            **({"norms": problem.norms} if problem.has_norms else {}),  # keeps the keys of others
            **({"vocabulary": self.drawn_from.file.digest} if self.drawn_from else {}),
            **({"vocabulary_size": self.vocabulary_size} if self.vocabulary_size else {}),
        }

    @property
    def key(self) -> str:
        """Return the key of the stored result."""
        return record_digest(self.record())

    def seeds(self) -> dict[str, np.random.SeedSequence]:
        """Return independent seeds, one for each random ingredient."""
        record = self.record()
        physical = {name: record[name] for name in _PHYSICAL}
        if (
            record["kappa0"] is None
        ):  # keeps the seeds of Marchenko-Pastur targets, which stored results depend on
            physical |= {name: record[name] for name in ("power_law", "spikes")}
        stated = ("covariance", "norms", "vocabulary", "vocabulary_size")
        physical |= {name: record[name] for name in record if name in stated}
        root = np.random.SeedSequence(
            self.entropy, spawn_key=(int(record_digest(physical), 16), self.index)
        )
        names = ("target", "inputs", "labels", "test", "shuffle", "start", "vocabulary")
        return dict(zip(names, root.spawn(len(names)), strict=True))


#: Names in a record on which the data depend.
_PHYSICAL = (
    "dim",
    "alpha",
    "kappa0",
    "width",
    "lambda_",
    "noise",
    "tokens",
    "beta",
    "beta0",
    "target",
    "data",
)


def sample_count(alpha: float, dim: int) -> int:
    """Return n = alpha d^2, rounded, at least one.

    Args:
        alpha: sample ratio.
        dim: dimension d.
    """
    return max(1, round(alpha * dim**2))


def vocabulary_size(problem: Problem, dim: int) -> int:
    """Return N = nu d^2, rounded.

    Args:
        problem: problem with a vocabulary.
        dim: dimension d.
    """
    return round(problem.vocabulary * dim**2)


def record_digest(content: dict[str, Any]) -> str:
    """Return 128 bits of the content in hexadecimal; the order of keys does not matter."""
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:32]


def result_record(result: Any) -> dict[str, Any]:
    """Return the fields of a result dataclass as plain JSON values: `run` as a record, `status` by
    name.
    """
    fields = {field.name: getattr(result, field.name) for field in dataclasses.fields(result)}
    return {**fields, "run": result.run.record(), "status": result.status.name}


Rule = tuple[
    str, object, bool, str, str
]  #: parameter, its value, whether the rule holds, the rule, the way out


def _require_valid(run: Run) -> None:
    """Check the rules that training adds to those of a Problem."""
    decay, leading = run.problem.lambda_, run.problem.leading
    rules: tuple[Rule, ...] = (
        ("dim", run.dim, run.dim >= MINIMUM_DIM, f"must be at least {MINIMUM_DIM}", "try 60"),
        ("lambda_", decay, decay > 0, "must be positive: no descent reaches the limit", "try 0.01"),
        (
            "leading",
            leading,
            leading == 0,
            "is supported by the theory only; training has no such features",
            "use 0",
        ),
        (
            "data",
            str(run.data),
            run.problem.parametrisation is not Parametrisation.GENERAL
            or run.data is DataKind.SEQUENCES,
            "has symmetric sensing matrices, and the map is general",
            "use sequences",
        ),
        (
            "output",
            str(run.output),
            run.output is Output.LABELS or run.data is DataKind.SEQUENCES,
            "needs tokens, and sensing matrices have none",
            "use data of sequences",
        ),
        (
            "minimiser",
            run.minimiser,
            run.minimiser in MINIMISERS,
            "is unknown",
            f"use one of {list(MINIMISERS)}",
        ),
        (
            "minimiser",
            run.minimiser,
            run.minimiser == "lbfgs" or not run.problem.has_covariance,
            "needs a proximal step, which has no closed form for tokens with a covariance",
            "use lbfgs",
        ),
        (
            "start",
            str(run.start),
            run.start is Start.RANDOM or not run.problem.has_covariance,
            "needs a proximal step, which has no closed form for tokens with a covariance",
            "use random",
        ),
        (
            "output",
            str(run.output),
            run.output is Output.LABELS or not run.problem.has_covariance,
            "needs tokens, and those with a covariance are whitened",
            "use labels",
        ),
        (
            "data",
            str(run.data),
            run.data is DataKind.SEQUENCES
            or (run.drawn_from is None and not run.problem.has_vocabulary),
            "has no tokens, which a vocabulary states",
            "use sequences",
        ),
        ("entropy", run.entropy, run.entropy >= 0, "must not be negative", "try 0"),
        ("device", run.device, run.device in ("cpu", "cuda"), "is unknown", "use cpu or cuda"),
    )
    for name, value, holds, rule, way_out in rules:
        if not holds:
            raise InvalidParameter(name, value, rule, way_out)
    require_enough_tokens(run.problem, run.dim)
    _require_target(run.problem.target, run.dim, run.target_kind)


def require_enough_tokens(problem: Problem, dim: int) -> None:
    """Check that a vocabulary spans all directions and has the tokens of a sample.

    Args:
        problem: states the number of tokens over d^2.
        dim: dimension d.

    Raises:
        InvalidParameter: it does not.
    """
    few = max(dim, problem.tokens)
    if problem.has_vocabulary and (size := vocabulary_size(problem, dim)) <= few:
        rule = f"must state more than {few} tokens at d = {dim}, and states {size}: fewer do not "
        rule += "span all directions"
        way_out = f"use more than {few / dim**2:.2g}, or raise d"
        raise InvalidParameter("vocabulary", problem.vocabulary, rule, way_out)


def _require_target(law: Target, dim: int, kind: TargetKind) -> None:
    """Check that the target states d eigenvalues in units of its law, and that a Gaussian factor
    has a Marchenko-Pastur law.
    """
    law = law_of_isotropic_target(law)
    if isinstance(law, MarchenkoPastur):
        if law.scale != 1:
            raise InvalidParameter(
                "target", law, "sets the scale itself", "state it by noise and temperatures"
            )
        return
    if kind is TargetKind.GAUSSIAN:
        raise InvalidParameter(
            "target", str(kind), "this law has no Gaussian factor", "use deterministic"
        )
    deterministic_eigenvalues(law, dim)
