"""One experiment: a frozen, seeded `Run` gives a frozen `RunResult`."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
import time
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.polynomial import Chebyshev

from numeric.cli.arguments import BadInput
from numeric.laws.target_spectrum import target_quantile_means
from numeric.problem.problem import Parametrisation
from numeric.proven_laws.finite import exact_power_law
from verify.training import data, minimise, parametrisation
from verify.training import risk as erm
from verify.training.data import DataKind, Inputs, TargetKind
from verify.training.minimise import MINIMISERS, Minimum, Status
from verify.training.parametrisation import WEIGHTS
from verify.training.risk import Risk

#: Digest of the code that turns a Run into numbers, so that stored results of other code are never mistaken for new ones.
PROTOCOL = hashlib.sha256(
    b"".join(
        Path(str(source)).read_bytes()
        for source in (data.__file__, erm.__file__, minimise.__file__, parametrisation.__file__, __file__)
    )
).hexdigest()[:16]

#: Fresh samples per test error: this many, or this multiple of the training samples if that is more. One sample
#: scatters by about its own mean, so that at d = 100 the test error is known to 0.5 percent where runs differ by
#: 1 percent or more (few samples), and to 0.25 percent where the runs themselves agree to that (many samples).
TEST_SAMPLES, TEST_MULTIPLE = 50_000, 4

TOP = 10  #: learned eigenvectors whose overlap with the target's is kept

EQUAL = 1e-9  #: eigenvalues of S0 closer than this share of the largest were equal before rotation, which errs by 1e-15

MINIMUM_DIM = 4  #: below it round(kappa0 d) and round(kappa d) say nothing about kappa0 and kappa


@dataclass(frozen=True)
class Run:
    """Every parameter of one run; equal runs give equal results (on one device and library version).

    The randomness comes from SeedSequence(entropy, (key of the physical parameters, index)): runs that differ in
    any physical parameter or in `index` are independent, and runs that differ in parametrisation, minimiser, restart,
    device or shuffling alone see the same data.

    The eigenvalues of the target are stated by one of: `kappa0` (Marchenko-Pastur), `power_law` (exponent gamma of
    s_k ~ k^-gamma, scaled to tr S0^2/d = 1) and `spikes` (these, the rest 0). Weight decay `lambda_` multiplies
    ||W||_F^2 or d ||A||_F^2. Raises BadInput for a parameter outside its domain.
    """

    dim: int
    alpha: float
    kappa0: float | None
    width: float
    lambda_: float
    noise: float
    tokens: int = 2
    beta: float = 1.0
    beta0: float = 1.0
    target: TargetKind = TargetKind.DETERMINISTIC
    data: DataKind = DataKind.SEQUENCES
    minimiser: str = "lbfgs"
    entropy: int = 0
    index: int = 0
    restart: int = 0
    shuffle_labels: bool = False
    device: str = "cpu"
    parametrisation: Parametrisation = Parametrisation.FACTORISED
    power_law: float | None = None
    spikes: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        _require_valid(self)
        object.__setattr__(self, "target", TargetKind(self.target))
        object.__setattr__(self, "data", DataKind(self.data))
        object.__setattr__(self, "parametrisation", Parametrisation(self.parametrisation))
        object.__setattr__(self, "spikes", tuple(self.spikes))  # a list in a stored record

    @property
    def samples(self) -> int:
        """Number n = alpha d^2, to the nearest integer, at least one."""
        return max(1, round(self.alpha * self.dim**2))

    @property
    def test_samples(self) -> int:
        """How many fresh samples the test error is averaged over."""
        return max(TEST_SAMPLES, TEST_MULTIPLE * self.samples)

    @property
    def columns(self) -> int:
        """Number m = kappa d, to the nearest integer, at least one."""
        return max(1, round(self.width * self.dim))

    @property
    def weight_columns(self) -> int:
        """Columns of what is trained: m of the factors W, d of the matrix A."""
        return self.columns if self.parametrisation is Parametrisation.FACTORISED else self.dim

    def target_eigenvalues(self) -> np.ndarray:
        """Eigenvalues of a deterministic target, decreasing, shape (d,)."""
        if self.kappa0 is not None:
            return target_quantile_means(self.kappa0, self.dim)
        if self.power_law is not None:
            law = exact_power_law(Fraction(str(self.power_law)), self.dim, Fraction(1))
            return np.array([float(value) for value, _ in law.atoms()])
        return np.array(sorted(self.spikes, reverse=True) + [0.0] * (self.dim - len(self.spikes)))

    @property
    def cost(self) -> float:
        """About how many multiplications the run takes: it orders runs from big to small and paces the progress bar.

        Measured: 25 to 120 evaluations of the risk where labels determine S, 200 to 400 where they do not; a fresh
        test sample, which has to be drawn, costs as much as three evaluations.
        """
        token_pairs = self.tokens * (self.tokens + 1) // 2
        overdetermined = (token_pairs - 1) * self.samples > self.dim**2 / 2
        evaluations = min(120, 20 + 40 / self.alpha) if overdetermined else 300
        per_sample = {
            DataKind.SEQUENCES: 2 * self.tokens * self.dim**2,
            DataKind.GAUSSIAN_EQUIVALENT: token_pairs * self.dim**2,
        }
        fresh = self.test_samples * per_sample[DataKind.SEQUENCES]
        return float(evaluations * self.samples * per_sample[self.data] + 3 * fresh)

    @property
    def key(self) -> str:
        """Under which the result is stored."""
        return digest({"protocol": PROTOCOL, **dataclasses.asdict(self)})

    def seeds(self) -> dict[str, np.random.SeedSequence]:
        """One independent seed for each random ingredient."""
        physical = dataclasses.asdict(self)
        for name in ("parametrisation", "minimiser", "entropy", "index", "restart", "shuffle_labels", "device"):
            del physical[name]
        if (
            self.kappa0 is not None
        ):  # then the other laws are absent, and seeds stay what they were before these were offered
            del physical["power_law"], physical["spikes"]
        root = np.random.SeedSequence(self.entropy, spawn_key=(int(digest(physical), 16), self.index))
        names = ("target", "inputs", "labels", "test", "shuffle", "start")
        return dict(zip(names, root.spawn(len(names)), strict=True))


@dataclass(frozen=True)
class RunResult:
    """What one run measured.

    Per d: m = tr(S S0)/d, q = tr(S S^T)/d, q0, t0, estimation error ||S - S0||_F^2/d; per sample: train error, test error, and
    `best_error`, the least test error of a multiple of S0 on the same samples, which infinitely many training samples would reach;
    `loss` is L/d^2.  `eigenvalues` (decreasing, at most `TOP`) are those of the symmetric part of S, and `overlaps`
    the squared overlaps of their eigenvectors with the target's of the same rank in order; where eigenvalues of the
    target coincide, that with their common eigenspace. `hidden[K]` is how much the noise knows of features if K of them
    are learned, the sum over j, k > K of s_k s0_j (v_k.u_j)^2/d with u_j the eigenvectors of S0, for K = 0 to d.
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
    hidden: tuple[float, ...]
    loss: float
    status: Status
    relative_gradient: float
    evaluations: int
    seconds: float

    @property
    def excess_error(self) -> float:
        """Test error above what infinitely many training samples reach, on equal samples: both scatter far more."""
        return self.test_error - self.best_error

    def to_json(self) -> dict[str, Any]:
        """As plain JSON values; `from_json` is the inverse."""
        return {**dataclasses.asdict(self), "status": self.status.name}

    @classmethod
    def from_json(cls, record: dict[str, Any]) -> RunResult:
        """Raises KeyError, TypeError or ValueError if the record is not of this protocol or not of numbers."""
        fields = dict(record)
        fields["run"] = Run(**fields["run"])
        fields["status"] = Status[fields["status"]]
        for name in ("singular_values", "eigenvalues", "overlaps", "hidden"):
            fields[name] = tuple(fields[name])
        result = cls(**fields)
        if result.status is Status.CONVERGED and not math.isfinite(
            result.m + result.q + result.train_error + result.test_error
        ):
            raise ValueError("a converged run without finite values")
        return result


def execute(run: Run) -> RunResult:
    """Draw the data of `run`, minimise its risk and measure.   (section 1)

    Raises BadInput before anything is drawn if the data would not fit.
    """
    started = time.perf_counter()
    drawn = draw(run)
    risk = Risk(drawn.inputs, drawn.labels, run.lambda_, run.beta, WEIGHTS[run.parametrisation])
    minimum = MINIMISERS[run.minimiser]().minimise(risk, drawn.start)
    s = risk.weights.attention_map(torch.as_tensor(minimum.weights, device=run.device))
    fresh = fresh_errors(run, s, drawn.s0, drawn.test)
    errors = {"train_error": risk.train_error(s), "test_error": fresh.test, "best_error": fresh.best}
    return _measure(run, s, drawn.s0, minimum, errors, time.perf_counter() - started)


class Drawn(NamedTuple):
    """Everything random of a run: inputs, target S0 (d, d), labels (n, T, T), starting weights, and the source of test samples."""

    inputs: Inputs
    s0: torch.Tensor
    labels: torch.Tensor
    start: torch.Tensor
    test: np.random.Generator


def draw(run: Run) -> Drawn:
    """Draw the data and the starting weights of a run.

    Raises BadInput before anything is drawn if the data would not fit.
    """
    rng = {name: np.random.default_rng(seed) for name, seed in run.seeds().items()}
    inputs = data.draw_inputs(run.data, run.samples, run.tokens, run.dim, rng["inputs"], run.device)
    s0 = torch.as_tensor(_draw_target(run, rng["target"]), device=run.device)
    return Drawn(inputs, s0, _training_labels(run, inputs, s0, rng), _start(run, rng["start"]), rng["test"])


def _draw_target(run: Run, rng: np.random.Generator) -> np.ndarray:
    if run.target is TargetKind.GAUSSIAN and run.kappa0 is not None:
        return data.gaussian_target(run.dim, run.kappa0, rng)
    return data.rotated_target(run.target_eigenvalues(), rng)


def _training_labels(run: Run, inputs: Inputs, s0: torch.Tensor, rng: dict[str, np.random.Generator]) -> torch.Tensor:
    teacher = torch.cat([block.indices(s0) for _, block in inputs.blocks()])
    labels = data.draw_labels(teacher, run.noise, run.beta0, rng["labels"])
    if run.shuffle_labels:
        labels = labels[torch.as_tensor(rng["shuffle"].permutation(len(labels)), device=labels.device)]
    return labels


def _start(run: Run, rng: np.random.Generator) -> torch.Tensor:
    """Starting weights; each restart takes the next numbers of the same stream."""
    noise = rng.standard_normal((run.restart + 1, run.dim, run.weight_columns))[-1]
    return WEIGHTS[run.parametrisation].start(torch.as_tensor(noise, device=run.device))


class FreshErrors(NamedTuple):
    """Mean loss per fresh sample: of a map, and the least of all multiples of the target."""

    test: float
    best: float


#: Multiples c of the target, times beta/beta0, at which its test error is taken; it is analytic in c, so that the polynomial through
#: these Chebyshev points errs by 1e-5 of the error at c = 0 or less. The best c is 1 without label noise and less with noise.
MULTIPLES = 0.65 - 0.65 * np.cos((np.arange(9) + 0.5) * np.pi / 9)


def fresh_errors(run: Run, s: torch.Tensor, s0: torch.Tensor, rng: np.random.Generator) -> FreshErrors:
    """Errors of a map S (d, d) and of the best multiple of S0 on the same fresh samples labelled by S0."""
    total, multiples = 0.0, MULTIPLES * run.beta0 / run.beta
    along = np.zeros(len(multiples))
    for contrasts, h0 in data.fresh_indices(run.data, (s, s0), run.test_samples, run.tokens, rng):
        labels = data.draw_labels(h0, run.noise, run.beta0, rng)
        total += erm.total_loss(contrasts, labels, run.beta)
        best = data.contrasts_of(h0)
        along += [erm.total_loss(best, labels, c * run.beta) for c in multiples.tolist()]
    return FreshErrors(total / run.test_samples, _least(multiples, along / run.test_samples))


def _least(points: np.ndarray, values: np.ndarray) -> float:
    """Least value, within the points' range, of the polynomial through them."""
    curve = Chebyshev.fit(points, values, len(points) - 1)
    turns = curve.deriv().roots()
    inside = turns.real[(np.abs(turns.imag) < 1e-9) & (turns.real > points.min()) & (turns.real < points.max())]
    return float(np.min(curve(np.concatenate([inside, points]))))


def _measure(
    run: Run, s: torch.Tensor, s0: torch.Tensor, minimum: Minimum, errors: dict[str, float], seconds: float
) -> RunResult:
    m, q, q0 = (float((a * b).sum()) / run.dim for a, b in ((s, s0), (s, s), (s0, s0)))
    eigenvalues, overlaps = leading_overlaps(s, s0)
    return RunResult(
        run=run,
        m=m,
        q=q,
        q0=q0,
        t0=float(s0.trace()) / run.dim,
        **errors,
        estimation_error=q0 - 2 * m + q,
        singular_values=tuple(float(x) for x in torch.linalg.svdvals(s)),
        eigenvalues=eigenvalues,
        overlaps=overlaps,
        hidden=hidden_overlaps(s, s0),
        loss=minimum.loss,
        status=minimum.status,
        relative_gradient=minimum.relative_gradient,
        evaluations=minimum.evaluations,
        seconds=seconds,
    )


def leading_overlaps(s: torch.Tensor, s0: torch.Tensor) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """The `TOP` largest eigenvalues of the symmetric part of S, and how much of each eigenvector lies in the target's.

    The k-th is projected on the eigenspace of the k-th eigenvalue of S0: where that is simple, a squared overlap.
    """
    values, vectors = (x.flip(-1)[..., :TOP] for x in torch.linalg.eigh((s + s.T) / 2))
    targets, directions = torch.linalg.eigh(s0)
    shares = (directions.T @ vectors).square()  # (d, TOP), of each target direction in each learned one
    equal = (targets[:, None] - targets.flip(0)[None, :TOP]).abs() < EQUAL * targets.abs().max()
    return tuple(values.tolist()), tuple((shares * equal).sum(0).tolist())


def hidden_overlaps(s: torch.Tensor, s0: torch.Tensor) -> tuple[float, ...]:
    """What eigenvectors of the symmetric part of S from the (K + 1)-th on know of features from the (K + 1)-th on, K = 0 to d."""
    (values, vectors), (targets, directions) = (
        tuple(x.flip(-1) for x in torch.linalg.eigh(a)) for a in ((s + s.T) / 2, s0)
    )
    shared = targets[:, None] * (directions.T @ vectors).square() * values / len(s)
    beyond = shared.flip(0, 1).cumsum(0).cumsum(1).diagonal().flip(0)
    return (*beyond.tolist(), 0.0)


def digest(content: dict[str, Any]) -> str:
    """128 bits of the content, in hexadecimal; keys sorted, so that the order of fields does not matter."""
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:32]


Rule = tuple[str, object, bool, str, str]  #: argument, its value, whether the rule holds, the rule, the way out


def _require_valid(run: Run) -> None:
    positive = "must be positive and finite"
    rules: tuple[Rule, ...] = (
        ("--dim", run.dim, run.dim >= MINIMUM_DIM, f"must be at least {MINIMUM_DIM}", "try 60"),
        ("--tokens", run.tokens, run.tokens >= 2, "must be at least 2: one token has one label", "try 2"),
        ("--alpha", run.alpha, 0 < run.alpha < math.inf, positive, "try 0.5"),
        *_target_rules(run),
        ("--width", run.width, 0 < run.width < math.inf, positive, "try 1"),
        ("--lambda", run.lambda_, 0 < run.lambda_ < math.inf, positive, "try 0.01"),
        ("--noise", run.noise, 0 <= run.noise < math.inf, "must not be negative, and finite", "try 0.5"),
        ("--beta", run.beta, 0 < run.beta < math.inf, positive, "try 1"),
        ("--beta0", run.beta0, 0 < run.beta0 < math.inf, positive, "try 1"),
        *_parametrisation_rules(run),
        ("--minimiser", run.minimiser, run.minimiser in MINIMISERS, "is unknown", f"use one of {list(MINIMISERS)}"),
        ("--seed", run.entropy, run.entropy >= 0, "must not be negative", "try 0"),
        ("--device", run.device, run.device in ("cpu", "cuda"), "is unknown", "use cpu or cuda"),
    )
    for argument, value, holds, rule, way_out in rules:
        if not holds:
            raise BadInput(argument, value, rule, way_out)


def _target_rules(run: Run) -> list[Rule]:
    stated = [run.kappa0 is not None, run.power_law is not None, bool(run.spikes)]
    rules: list[Rule] = [
        (
            "--kappa0",
            run.kappa0,
            sum(stated) == 1,
            "state one target law",
            "give kappa0, or exact_power_law, or spikes",
        ),
    ]
    positive = "must be positive and finite"
    if run.kappa0 is not None:
        return [*rules, ("--kappa0", run.kappa0, 0 < run.kappa0 < math.inf, positive, "try 0.5")]
    rules.append((
        "--target", str(run.target), run.target == TargetKind.DETERMINISTIC,
        "this law has no Gaussian factor", "use --target deterministic",
    ))  # fmt: skip
    if run.power_law is not None:
        rules.append(("--power-law", run.power_law, 0 < run.power_law < math.inf, positive, "try 0.75"))
    rules.append((
        "--spikes", run.spikes, len(run.spikes) <= run.dim and all(0 < s < math.inf for s in run.spikes),
        f"must be positive and finite, at most dim = {run.dim}", "leave zeros out",
    ))  # fmt: skip
    return rules


def _parametrisation_rules(run: Run) -> list[Rule]:
    if run.parametrisation == Parametrisation.FACTORISED:
        return []
    name = str(run.parametrisation)
    return [
        ("--width", run.width, run.width == 1, f"a {name} matrix has no rank limit", "leave --width at 1"),
        ("--data", str(run.data), run.parametrisation == Parametrisation.SYMMETRIC or run.data == DataKind.SEQUENCES,
         "has symmetric sensing matrices, and the map is general", "use --data sequences"),
    ]  # fmt: skip
