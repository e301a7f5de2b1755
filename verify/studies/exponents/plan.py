"""Where exponents are looked for: paths n ~ d^x, lambda ~ d^y into a cell of the phase diagram, and the sizes trained along them."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from numeric.laws.power_law import PowerLaw, power_law
from numeric.problem.decay_law import DecayLaw
from numeric.problem.problem import Problem
from numeric.studies.regimes import Regime, regimes
from verify.core.sequences import leading_feature_count
from verify.core.theory_perturbation import TheoryPerturbation
from verify.studies.exponents.run import TOKENS, StudentRun

_OCTAVE = 2  #: slopes are taken from n/sqrt(2) to n sqrt(2)
TAIL_BLOCKS = 64  #: blocks of the target's tail far beyond training: slopes change by less than 1e-3 from sixteen times as many
_COLUMNS = 8  #: students have a multiple of so many


@dataclass(frozen=True)
class PowerOfDim:
    """`factor` * d^`power`."""

    factor: float
    power: float

    def at(self, dim: int) -> float:
        """Its value in dimension d."""
        return self.factor * float(dim) ** self.power


@dataclass(frozen=True)
class ScalingPath:
    """A way through one cell of the phase diagram as d grows, and the error whose slope has the cell's exponent there.

    `hidden`: columns of the students, well above the rank of what they learn.
    """

    name: str
    regime: str
    quantity: str
    samples: PowerOfDim
    decay: DecayLaw
    hidden: PowerOfDim

    def octave(self, dim: int) -> tuple[int, int]:
        """Both numbers of samples of a slope."""
        middle = self.samples.at(dim)
        return round(middle / math.sqrt(_OCTAVE)), round(middle * math.sqrt(_OCTAVE))

    def columns(self, dim: int) -> int:
        """Of a student."""
        return min(dim, _COLUMNS * math.ceil(self.hidden.at(dim) / _COLUMNS))

    def cell(self, gamma: Fraction) -> Regime:
        """The cell at one gamma."""
        return next(regime for regime in regimes(gamma) if regime.id == self.regime)

    @property
    def powers(self) -> tuple[float, float, float]:
        """Of d, in the parameters of a cell: samples, weight decay, d itself."""
        return self.samples.power, self.decay.power, 1.0

    def slowest_correction(self, gamma: Fraction) -> float:
        """The p > 0 with which corrections to the exponent vanish along the path, as d^-p: the least of those derived."""
        return self.cell(gamma).slowest_correction(*self.powers)


#: Weight decay of order one, spikes above the bulk: exponent -(2 - 1/gamma) of the excess test error. Samples so few that two tokens
#: at d = 1600 fit into 8 GiB; a handful of features is learned.
DECAY_PATH = ScalingPath(
    "decay",
    "spikes.decay",
    "excess_error",
    PowerOfDim(0.5, 1.75),
    DecayLaw("0.5", 0.5),
    PowerOfDim(32, 0),
)
#: Weak decay, the bulk just open: exponent -(1 - 1/(2 gamma)) of ||S - S0||^2/d, as the excess test error ends at a floor there
#: (theory note, section 8). The factor keeps n above LEAST_RATIO d from d = 400 on; the rank is that of the open bulk.
NOISE_PATH = ScalingPath(
    "noise", "spikes_and_slit.noise", "estimation_error", PowerOfDim(3.3, 1.25), DecayLaw("d^-0.6", 1.0, -0.6), PowerOfDim(4, 0.6)
)  # fmt: skip
PATHS: Mapping[str, ScalingPath] = {path.name: path for path in (DECAY_PATH, NOISE_PATH)}


@dataclass(frozen=True)
class ExponentPlan:
    """Students to train: `counts` runs by path, gamma and size d; the rest as in StudentRun.

    `hidden`: columns of every student, those of the path if None. `dims`: where the theory alone goes on along each path.
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
        """Every path and gamma once, with its sizes, increasing."""
        keys = dict.fromkeys((name, gamma) for name, gamma, _, _ in self.counts)
        return [
            (
                PATHS[name],
                gamma,
                sorted(dim for n, g, dim, _ in self.counts if (n, g) == (name, gamma)),
            )
            for name, gamma in keys
        ]

    def runs(self, path: ScalingPath, gamma: Fraction, dim: int) -> list[StudentRun]:
        """The runs of one size. Raises InvalidParameter for what cannot be trained."""
        count = next(
            runs for name, g, d, runs in self.counts if (name, g, d) == (path.name, gamma, dim)
        )
        first = StudentRun(
            gamma, dim, path.octave(dim), path.decay.at(dim), self.hidden or path.columns(dim), self.noise,
            self.entropy, 0, self.shuffle_labels, self.device,
        )  # fmt: skip
        return [dataclasses.replace(first, index=index) for index in range(count)]

    def problem(self, path: ScalingPath, gamma: Fraction, dim: int) -> Problem:
        """What the theory is asked: the law of token sequences, its leading features kept exactly."""
        return self._problem(
            path, power_law(self._theory_gamma(gamma), dim), leading_feature_count(dim)
        )

    def gaussian_problem(self, path: ScalingPath, gamma: Fraction, dim: int) -> Problem:
        """The same of Gaussian indices, at any d."""
        return self._problem(
            path, power_law(self._theory_gamma(gamma), dim, per_octave=TAIL_BLOCKS), 0
        )

    def cell(self, path: ScalingPath, gamma: Fraction) -> Regime:
        """The cell at the gamma that the theory is told."""
        return path.cell(gamma + self.perturbation.gamma)

    def correction(self, path: ScalingPath, gamma: Fraction) -> float:
        """The power of the slowest correction there."""
        return path.slowest_correction(gamma + self.perturbation.gamma)

    def _theory_gamma(self, gamma: Fraction) -> float:
        return float(gamma + self.perturbation.gamma)

    def _problem(self, path: ScalingPath, target: PowerLaw, leading: int) -> Problem:
        noise = self.noise * self.perturbation.noise
        return Problem(
            1.0, target, path.decay.at(target.dim), noise, tokens=TOKENS, leading=leading
        )
