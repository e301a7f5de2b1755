"""Plan of exponents: paths n ~ d^x, lambda ~ d^y inside a cell of the phase diagram, and sizes
trained along them.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from numeric.laws.power_law import PowerLaw, power_law
from numeric.problem.decay_law import DecayLaw
from numeric.problem.problem import Problem
from numeric.studies.regimes import Regime, regimes
from verify.core.sequences import leading_feature_count
from verify.core.slopes import octave
from verify.core.theory_perturbation import TheoryPerturbation
from verify.studies.exponents.run import TOKENS, StudentRun

TAIL_BLOCKS = (
    64  #: blocks per octave of the target's tail; 16 times as many change slopes by less than 1e-3
)
_COLUMNS = 8  #: the columns of a student are a multiple of this


@dataclass(frozen=True)
class PowerOfDim:
    """`factor` * d^`power`."""

    factor: float
    power: float

    def at(self, dim: int) -> float:
        """Return the value in dimension d."""
        return self.factor * float(dim) ** self.power


@dataclass(frozen=True)
class ScalingPath:
    """Path through one cell of the phase diagram as d grows.

    Attributes:
        name: name in options.
        regime: id of the cell.
        quantity: error whose slope has the exponent of the cell.
        samples: number n of samples.
        decay: weight decay.
        hidden: columns of the students, well above the learned rank.
    """

    name: str
    regime: str
    quantity: str
    samples: PowerOfDim
    decay: DecayLaw
    hidden: PowerOfDim

    def octave(self, dim: int) -> tuple[int, int]:
        """Return both numbers of samples of a slope."""
        return octave(self.samples.at(dim))

    def columns(self, dim: int) -> int:
        """Return the number of columns of a student."""
        return min(dim, _COLUMNS * math.ceil(self.hidden.at(dim) / _COLUMNS))

    def cell(self, gamma: Fraction) -> Regime:
        """Return the cell at one gamma."""
        return next(regime for regime in regimes(gamma) if regime.id == self.regime)

    @property
    def powers(self) -> tuple[float, float, float]:
        """Return the powers of d in samples, weight decay and d."""
        return self.samples.power, self.decay.power, 1.0

    def slowest_correction(self, gamma: Fraction) -> float:
        """Return the smallest derived p > 0 of the corrections d^-p along the path."""
        return self.cell(gamma).slowest_correction(*self.powers)


#: Weight decay of order one, spikes above the bulk: exponent -(2 - 1/gamma) of the excess test
#: error. The samples of two tokens at d = 1600 fit into 8 GiB; few features are learned.
DECAY_PATH = ScalingPath(
    "decay",
    "spikes.decay",
    "excess_error",
    PowerOfDim(0.5, 1.75),
    DecayLaw("0.5", 0.5),
    PowerOfDim(16, 0),
)
#: Weak decay, bulk open: exponent -(1 - 1/(2 gamma)) of ||S - S0||^2/d; the excess test error
#: saturates (theory note, section 8). n exceeds LEAST_RATIO d from d = 400 on.
NOISE_PATH = ScalingPath(
    "noise",
    "spikes_and_slit.noise",
    "estimation_error",
    PowerOfDim(3.3, 1.25),
    DecayLaw("d^-0.6", 1.0, -0.6),
    PowerOfDim(3, 0.6),
)
PATHS: Mapping[str, ScalingPath] = {path.name: path for path in (DECAY_PATH, NOISE_PATH)}


@dataclass(frozen=True)
class ExponentPlan:
    """Students to train.

    Attributes:
        counts: path, gamma, size d and number of runs.
        noise, entropy, device, shuffle_labels: fields of StudentRun.
        hidden: columns of every student; None for those of the path.
        perturbation: negative control of the theory.
        dims: sizes d of the theory alone, along each path.
    """

    counts: tuple[tuple[str, Fraction, int, int], ...]
    noise: float = 0.5
    entropy: int = 0
    device: str = "cpu"
    shuffle_labels: bool = False
    hidden: int | None = None
    perturbation: TheoryPerturbation = field(default=TheoryPerturbation())
    dims: tuple[int, ...] = ()

    def sequences(self) -> list[tuple[ScalingPath, Fraction, list[int]]]:
        """Return every path and gamma with its sizes, increasing."""
        found: dict[tuple[ScalingPath, Fraction], list[int]] = {}
        for name, gamma, dim, _ in self.counts:
            found.setdefault((PATHS[name], gamma), []).append(dim)
        return [(path, gamma, sorted(dims)) for (path, gamma), dims in found.items()]

    def beyond(self, dims: Sequence[int]) -> list[int]:
        """Return the sizes of the theory alone that exceed those trained."""
        return [dim for dim in self.dims if dim > max(dims)]

    def runs(self, path: ScalingPath, gamma: Fraction, dim: int) -> list[StudentRun]:
        """Return the runs of one size.

        Args:
            path: path of samples and decay.
            gamma: exponent of the target.
            dim: size d.

        Raises:
            InvalidParameter: a run cannot be trained.
        """
        count = next(
            runs for name, g, d, runs in self.counts if (name, g, d) == (path.name, gamma, dim)
        )
        first = StudentRun(
            gamma,
            dim,
            path.octave(dim),
            path.decay.at(dim),
            self.hidden or path.columns(dim),
            self.noise,
            self.entropy,
            0,
            self.shuffle_labels,
            self.device,
        )
        return [dataclasses.replace(first, index=index) for index in range(count)]

    def problem(self, path: ScalingPath, gamma: Fraction, dim: int) -> Problem:
        """Return the problem of token sequences, with leading features treated exactly.

        Args:
            path: path of samples and decay.
            gamma: exponent of the target.
            dim: size d.
        """
        target = power_law(float(gamma + self.perturbation.gamma), dim)
        return self._problem(path, target, leading_feature_count(dim))

    def gaussian_problem(self, path: ScalingPath, gamma: Fraction, dim: int) -> Problem:
        """Return the problem of Gaussian indices, at any d.

        Args:
            path: path of samples and decay.
            gamma: exponent of the target.
            dim: size d.
        """
        target = power_law(float(gamma + self.perturbation.gamma), dim, per_octave=TAIL_BLOCKS)
        return self._problem(path, target, 0)

    def cell(self, path: ScalingPath, gamma: Fraction) -> Regime:
        """Return the cell of a path at the gamma given to the theory.

        Args:
            path: path of samples and decay.
            gamma: exponent of the target.
        """
        return path.cell(gamma + self.perturbation.gamma)

    def correction(self, path: ScalingPath, gamma: Fraction) -> float:
        """Return the power of the slowest correction in that cell.

        Args:
            path: path of samples and decay.
            gamma: exponent of the target.
        """
        return path.slowest_correction(gamma + self.perturbation.gamma)

    def _problem(self, path: ScalingPath, target: PowerLaw, leading: int) -> Problem:
        noise, decay = self.noise * self.perturbation.noise, path.decay.at(target.dim)
        return Problem(1.0, target, decay, noise, tokens=TOKENS, leading=leading)
