"""What a run is: every parameter, valid by construction; its seeds, its cost, and the key under which it is stored."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from numeric.laws.target_spectrum import target_quantile_means
from numeric.problem.parameter import InvalidParameter
from numeric.problem.problem import Parametrisation
from numeric.proven_laws.finite import exact_power_law
from verify.training.data import DataKind, TargetKind
from verify.training.minimise import MINIMISERS

SOURCES = ("data", "draw", "measure", "minimise", "parametrisation", "risk", "run")
#: Digest of the code that turns a Run into numbers, so that stored results of other code are never mistaken for new ones.
PROTOCOL = hashlib.sha256(b"".join(Path(__file__).with_stem(name).read_bytes() for name in SOURCES)).hexdigest()[:16]

#: Fresh samples per test error: this many, or this multiple of the training samples if that is more. One sample
#: scatters by about its own mean, so that at d = 100 the test error is known to 0.5 percent where runs differ by
#: 1 percent or more (few samples), and to 0.25 percent where the runs themselves agree to that (many samples).
TEST_SAMPLES, TEST_MULTIPLE = 50_000, 4

MINIMUM_DIM = 4  #: below it round(kappa0 d) and round(kappa d) say nothing about kappa0 and kappa


@dataclass(frozen=True)
class Run:
    """Every parameter of one run; equal runs give equal results (on one device and library version).

    The randomness comes from SeedSequence(entropy, (key of the physical parameters, index)): runs that differ in
    any physical parameter or in `index` are independent, and runs that differ in parametrisation, minimiser, restart,
    device or shuffling alone see the same data.

    The eigenvalues of the target are stated by one of: `kappa0` (Marchenko-Pastur), `power_law` (exponent gamma of
    s_k ~ k^-gamma, scaled to tr S0^2/d = 1) and `spikes` (these, the rest 0). Weight decay `lambda_` multiplies
    ||W||_F^2 or d ||A||_F^2. Raises InvalidParameter for a parameter outside its domain.
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
        """About how many seconds the run takes on one core: it orders runs from big to small and paces the progress line.

        Measured: 20 to 160 evaluations of the risk where labels determine S, 200 to 400 where they do not, each with a step of the
        minimiser; sequences are limited by arithmetic, sensing matrices by memory, and fresh samples have to be drawn.
        """
        pairs = self.tokens * (self.tokens + 1) // 2
        overdetermined = (pairs - 1) * self.samples > self.dim**2 / 2
        evaluations = 20 + 25 / self.alpha**1.2 if overdetermined else 300
        per_sample, per_fresh = 7e-10 * pairs * self.dim**2, 5e-7
        if self.data is DataKind.SEQUENCES:
            per_sample = self.dim * (6e-11 * (self.tokens - 1) * self.dim + 3.5e-9 * self.tokens)
            per_fresh += self.tokens * self.dim * (3e-11 * self.dim + 1e-8)
        step = 3e-4 + 1e-7 * self.dim * self.weight_columns
        return float(evaluations * (self.samples * per_sample + step) + self.test_samples * per_fresh)

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


def digest(content: dict[str, Any]) -> str:
    """128 bits of the content, in hexadecimal; keys sorted, so that the order of fields does not matter."""
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:32]


Rule = tuple[str, object, bool, str, str]  #: parameter, its value, whether the rule holds, the rule, the way out


def _require_valid(run: Run) -> None:
    positive = "must be positive and finite"
    rules: tuple[Rule, ...] = (
        ("dim", run.dim, run.dim >= MINIMUM_DIM, f"must be at least {MINIMUM_DIM}", "try 60"),
        ("tokens", run.tokens, run.tokens >= 2, "must be at least 2: one token has one label", "try 2"),
        ("alpha", run.alpha, 0 < run.alpha < math.inf, positive, "try 0.5"),
        *_target_rules(run),
        ("width", run.width, 0 < run.width < math.inf, positive, "try 1"),
        ("lambda_", run.lambda_, 0 < run.lambda_ < math.inf, positive, "try 0.01"),
        ("noise", run.noise, 0 <= run.noise < math.inf, "must not be negative, and finite", "try 0.5"),
        ("beta", run.beta, 0 < run.beta < math.inf, positive, "try 1"),
        ("beta0", run.beta0, 0 < run.beta0 < math.inf, positive, "try 1"),
        *_parametrisation_rules(run),
        ("minimiser", run.minimiser, run.minimiser in MINIMISERS, "is unknown", f"use one of {list(MINIMISERS)}"),
        ("entropy", run.entropy, run.entropy >= 0, "must not be negative", "try 0"),
        ("device", run.device, run.device in ("cpu", "cuda"), "is unknown", "use cpu or cuda"),
    )
    for name, value, holds, rule, way_out in rules:
        if not holds:
            raise InvalidParameter(name, value, rule, way_out)


def _target_rules(run: Run) -> list[Rule]:
    stated = [run.kappa0 is not None, run.power_law is not None, bool(run.spikes)]
    rules: list[Rule] = [
        ("kappa0", run.kappa0, sum(stated) == 1, "state one target law", "give kappa0, or power_law, or spikes"),
    ]
    positive = "must be positive and finite"
    if run.kappa0 is not None:
        return [*rules, ("kappa0", run.kappa0, 0 < run.kappa0 < math.inf, positive, "try 0.5")]
    rules.append((
        "target", str(run.target), run.target == TargetKind.DETERMINISTIC,
        "this law has no Gaussian factor", "use deterministic",
    ))  # fmt: skip
    if run.power_law is not None:
        rules.append(("power_law", run.power_law, 0 < run.power_law < math.inf, positive, "try 0.75"))
    rules.append((
        "spikes", run.spikes, len(run.spikes) <= run.dim and all(0 < s < math.inf for s in run.spikes),
        f"must be positive and finite, at most dim = {run.dim}", "leave zeros out",
    ))  # fmt: skip
    return rules


def _parametrisation_rules(run: Run) -> list[Rule]:
    if run.parametrisation == Parametrisation.FACTORISED:
        return []
    name = str(run.parametrisation)
    return [
        ("width", run.width, run.width == 1, f"a {name} matrix has no rank limit", "leave it at 1"),
        ("data", str(run.data), run.parametrisation == Parametrisation.SYMMETRIC or run.data == DataKind.SEQUENCES,
         "has symmetric sensing matrices, and the map is general", "use sequences"),
    ]  # fmt: skip
