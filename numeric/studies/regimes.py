"""Which scaling regime holds where, and the exponents there: the generated phase diagram of power-law targets at given numbers."""

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from types import ModuleType
from typing import Any

import scipy

from attention_erm.runtime.errors import InvalidParameter
from numeric.model import DEFAULT, available, functions, record, structure

Powers = tuple[Fraction, ...]
PLANE, SPACE = (
    ("n", "lambda", "d"),
    ("n", "lambda", "m", "d"),
)  #: parameters of the cells, without and with the width
MIN_RADIUS = 1e-9  #: radius of a circle below which two regions share a boundary only
MAX_LOG10_DIM = 1000  # log10 of the dimension beyond which nothing is said to settle
RELATIVE_TOLERANCE = 0.1  # of an exponent
LEAST_GAMMA = Fraction(
    1, 2
)  #: below it the second moment of the target diverges with the dimension


@dataclass(frozen=True)
class Regime:
    """One cell of the phase diagram at one gamma.

    `id`: regime of the spectrum and what limits the risk, a word each, e.g. "spikes.decay"; `name`: the same for readers.
    `risk`: exponents of the `parameters` of the excess risk; `conditions`: rows of exponents whose product is at least one inside;
    `corrections`: rows whose products are one over the relative sizes of what the balance leaves out. Logarithms of the parameters
    are asked for in their order.
    """

    id: str
    name: str
    risk: Powers
    conditions: tuple[Powers, ...]
    corrections: tuple[Powers, ...]
    parameters: tuple[str, ...] = PLANE

    @property
    def limit(self) -> str:
        """What limits the risk: "target", "width", "noise", "overfitting" or "decay"."""
        return self.id.split(".")[1]

    def exponent(self, parameter: str) -> Fraction:
        """Power of one parameter in the excess risk."""
        return self.risk[self.parameters.index(parameter)]

    def at_decay(self, power: Fraction) -> "Regime":
        """The slice of a cell of `width_regimes` at lambda = d^power, in the parameters (n, m, d)."""

        def sliced(row: Powers) -> Powers:
            n, decay, m, d = row
            return n, m, d + power * decay

        conditions, corrections = (
            tuple(map(sliced, self.conditions)),
            tuple(map(sliced, self.corrections)),
        )
        return Regime(
            self.id, self.name, sliced(self.risk), conditions, corrections, ("n", "m", "d")
        )

    def centre(
        self, samples: tuple[float, float], vertical: tuple[float, float]
    ) -> tuple[float, float]:
        """Centre of the largest circle in the cell and these ranges of the two parameters over log d, where they meet."""
        x, y, _ = self._circle(samples, vertical)
        return x, y

    def meets(self, samples: tuple[float, float], vertical: tuple[float, float]) -> bool:
        """Whether the cell has more than a boundary in these ranges of the two parameters over log d."""
        return self._circle(samples, vertical)[2] > MIN_RADIUS

    def _circle(
        self, samples: tuple[float, float], vertical: tuple[float, float]
    ) -> tuple[float, float, float]:
        """Centre and radius of the largest circle in the cell and these ranges, of no radius where they do not meet."""
        rows, bounds = [], []
        for n, other, d in self.conditions:
            rows.append([-float(n), -float(other), math.hypot(float(n), float(other))])
            bounds.append(float(d))
        for axis, (low, high) in enumerate((samples, vertical)):
            rows += [
                [-float(axis == 0), -float(axis == 1), 1.0],
                [float(axis == 0), float(axis == 1), 1.0],
            ]
            bounds += [-low, high]
        found = scipy.optimize.linprog(
            [0, 0, -1], A_ub=rows, b_ub=bounds, bounds=[(None, None)] * 2 + [(0, None)]
        )
        x, y, radius = found.x if found.success else (math.nan, math.nan, 0.0)
        return float(x), float(y), float(radius)

    def correction(self, *logs: float, along: str = "n") -> float:
        """Size of what is left out of the exponent of one parameter, up to a constant: each correction times its own exponent."""
        axis = self.parameters.index(along)
        return sum(abs(float(row[axis])) * math.exp(-_form(row, logs)) for row in self.corrections)

    def slowest_correction(self, *logs: float, along: str = "n") -> float:
        """The p with which `correction` falls as d^-p in the end, at the same powers of d as these parameters; zero on an edge."""
        axis = self.parameters.index(along)
        return min(_form(row, logs) for row in self.corrections if row[axis]) / logs[-1]

    def log10_dim_below(self, *logs: float, along: str = "n", within: float = 0.1) -> float:
        """Logarithm to base 10 of the d from which on `correction` is below `within`, at the same powers of d as these parameters.

        Infinite where it never is, as on an edge of the cell.
        """
        powers = [log / logs[-1] for log in logs]

        def excess(log_d: float) -> float:
            return self.correction(*(power * log_d for power in powers), along=along) - within

        most = math.log(10) * MAX_LOG10_DIM
        if excess(most) > 0:
            return math.inf
        return (
            0.0
            if excess(0.0) <= 0
            else float(scipy.optimize.brentq(excess, 0.0, most)) / math.log(10)
        )

    def constant(
        self, slopes: Sequence[float], logs: Sequence[tuple[float, ...]], along: str = "n"
    ) -> float:
        """Least factor of `correction` that no slope farther from the exponent than `slope_tolerance` exceeds; zero if none is.

        Where a slope is near already, what is left of its distance may be smaller than what is derived by any power of d, or larger.
        """
        distances = [abs(slope - float(self.exponent(along))) for slope in slopes]
        beyond = (
            (far, at)
            for far, at in zip(distances, logs, strict=True)
            if far > self.slope_tolerance(along)
        )
        return max((far / self.correction(*at, along=along) for far, at in beyond), default=0.0)

    def slope_tolerance(self, along: str = "n") -> float:
        """How near its exponent a slope is to be: a tenth of it, or a tenth where it is zero."""
        return RELATIVE_TOLERANCE * (abs(float(self.exponent(along))) or 1.0)

    def log10_dim_near(self, constant: float, *logs: float, along: str = "n") -> float:
        """Logarithm to base 10 of the d from which on `constant` times `correction` is below `slope_tolerance`."""
        return self.log10_dim_below(
            *logs,
            along=along,
            within=self.slope_tolerance(along) / constant if constant else math.inf,
        )

    def log10_dim_near_along(
        self, powers: Sequence[float], slopes: Sequence[tuple[int, float]]
    ) -> float:
        """`log10_dim_near` of slopes along n, (d, slope) at growing d and these powers of d; the least d where all of them are near.

        Not a number for a single one, which cannot tell.
        """
        if len(slopes) < 2:
            return math.nan
        logs = [tuple(power * math.log(dim) for power in powers) for dim, _ in slopes]
        constant = self.constant([slope for _, slope in slopes], logs)
        return self.log10_dim_near(constant, *logs[-1]) if constant else math.log10(slopes[0][0])

    def margin(self, *logs: float) -> float:
        """Smallest logarithm of a condition: positive inside the cell, how far from its boundary; negative outside."""
        return min(_form(row, logs) for row in self.conditions)


def _form(row: Powers, logs: tuple[float, ...]) -> float:
    """Logarithm of the product of the parameters to these powers."""
    return sum(float(power) * log for power, log in zip(row, logs, strict=True))


def axes(model: str) -> tuple[str, ...]:
    """What the derived diagrams of a model have beside the samples: "decay", "width"."""
    return structure(model).exponent_axes


def interpolation_peak(model: str = DEFAULT) -> list[dict[str, Any]]:
    """Cells of the interpolation peak of a target that is not learned, n of order d^2, whatever gamma: name, risk, conditions.

    Powers, as text, of `detuning`, the relative distance of the sample ratio from the threshold, and of lambda.

    Raises:
        InvalidParameter: no exponents are derived for the model.
    """
    sides = symbolic(model)["peak"]["sides"]
    names = ("detuning", "lambda")
    return [
        {
            "name": cell["name"],
            "risk": {name: cell["risk"][name] for name in names},
            "conditions": [{name: row[name] for name in names} for row in cell["conditions"]],
        }
        for side in sides
        for cell in side["phases"][0]["cells"]
    ]


def regimes(gamma: Fraction, model: str = DEFAULT) -> tuple[Regime, ...]:
    """All cells at gamma; together they cover the plane of (log n, log lambda) without overlap.

    Raises:
        ValueError: gamma is at most 1/2.
        InvalidParameter: no exponents are derived for the model.
    """
    _require_gamma(gamma)
    generated = _derived(model, "decay")
    rows = generated.risk(gamma), generated.conditions(gamma), generated.corrections(gamma)
    return _cells(generated.CELLS, rows, PLANE)


def width_regimes(gamma: Fraction, model: str = DEFAULT) -> tuple[Regime, ...]:
    """All cells of students of m hidden units; together they cover (log n, log lambda, log m >= 0) without overlap.

    Raises: as `regimes`.
    """
    _require_gamma(gamma)
    generated = _derived(model, "width")
    rows = (
        generated.width_risk(gamma),
        generated.width_conditions(gamma),
        generated.width_corrections(gamma),
    )
    return _cells(generated.WIDTH_CELLS, rows, SPACE)


def _derived(model: str, axis: str) -> ModuleType:
    """The generated exponents of a model, derived along this axis.

    Raises:
        InvalidParameter: there are none.
    """
    if axis not in axes(model):
        having = ", ".join(name for name in available() if axis in axes(name))
        beside = " in the width" if axis == "width" else ""
        raise InvalidParameter(
            "model", model, f"has no exponents{beside} derived", f"use one of {having}"
        )
    return functions("exponents", model)


def _require_gamma(gamma: Fraction) -> None:
    if gamma <= LEAST_GAMMA:
        raise ValueError(
            f"gamma = {gamma}: must exceed 1/2, as the second moment of k^-gamma diverges with the dimension below"
        )


def _cells(
    names: Sequence[tuple[str, str]], rows: Sequence[Any], parameters: tuple[str, ...]
) -> tuple[Regime, ...]:
    return tuple(
        Regime(
            id,
            name,
            _exact(risk),
            tuple(map(_exact, conditions)),
            tuple(map(_exact, corrections)),
            parameters,
        )
        for (id, name), risk, conditions, corrections in zip(names, *rows, strict=True)
    )


def _exact(powers: Sequence[Any]) -> Powers:
    """Generated exponents as fractions: constant ones are integers."""
    return tuple(map(Fraction, powers))


def regime_at(gamma: Fraction, *logs: float, model: str = DEFAULT) -> Regime:
    """The cell that holds a point, logarithms of (n, lambda, d) or of (n, lambda, m, d); on a boundary one of its cells."""
    cells = regimes(gamma, model) if len(logs) == len(PLANE) else width_regimes(gamma, model)
    return max(cells, key=lambda regime: regime.margin(*logs))


def symbolic(model: str = DEFAULT) -> dict[str, Any]:
    """The generated record: exponents and conditions as text in gamma, with the balance behind each.

    Raises:
        InvalidParameter: no exponents are derived for the model.
    """
    _derived(model, "decay")
    return dict(json.loads(record("exponents", model)))
