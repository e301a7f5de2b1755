"""Scaling regimes of power-law targets: cells of the generated phase diagram, with their
exponents.
"""

import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from types import ModuleType
from typing import Any

import scipy

from attention_erm.runtime.errors import InvalidParameter
from numeric.model import DEFAULT, available, functions, record, structure

Powers = tuple[Fraction, ...]
Range = tuple[float, float]
#: Parameters of the cells, without and with the width.
PLANE, SPACE = ("n", "lambda", "d"), ("n", "lambda", "m", "d")
MIN_RADIUS = 1e-9  #: radius of a circle below which two regions only share a boundary
_EVERYWHERE = (-100.0, 100.0)  # range of logarithms, beyond the corners of every cell
MAX_LOG10_DIM = 1000  # log10 of the largest dimension that is considered
RELATIVE_TOLERANCE = 0.1  # of an exponent
#: Below it, the second moment of the target diverges with the dimension.
LEAST_GAMMA = Fraction(1, 2)


@dataclass(frozen=True)
class Regime:
    """One cell of the phase diagram at one gamma.

    Methods that take `logs` require the logarithms of the `parameters`, in this order.

    Attributes:
        id: regime of the spectrum and limiting factor of the risk, such as "spikes.decay".
        name: the same for readers.
        risk: exponents of the parameters in the excess risk.
        conditions: rows of exponents; inside the cell, each product of powers is at least one.
        corrections: rows of exponents; each product of powers is 1 / relative size of a term that
            the exponents neglect.
        parameters: names of the parameters.
    """

    id: str
    name: str
    risk: Powers
    conditions: tuple[Powers, ...]
    corrections: tuple[Powers, ...]
    parameters: tuple[str, ...] = PLANE

    @property
    def limit(self) -> str:
        """Limit of the risk: "target", "width", "noise", "overfitting" or "decay"."""
        return self.id.split(".")[1]

    def exponent(self, parameter: str) -> Fraction:
        """Return the exponent of one parameter in the excess risk."""
        return self.risk[self.parameters.index(parameter)]

    def at_decay(self, power: Fraction) -> "Regime":
        """Return the slice of a cell of `width_regimes` at lambda = d^power, with the parameters
        (n, m, d).
        """

        def sliced(row: Powers) -> Powers:
            n, decay, m, d = row
            return n, m, d + power * decay

        return replace(
            self,
            risk=sliced(self.risk),
            conditions=tuple(map(sliced, self.conditions)),
            corrections=tuple(map(sliced, self.corrections)),
            parameters=("n", "m", "d"),
        )

    def centre(self, samples: Range, vertical: Range) -> tuple[float, float]:
        """Return the centre of the largest circle inside the cell and the given ranges; NaN if they
        do not intersect.

        Args:
            samples: range of log n/log d.
            vertical: range of the logarithm of the second parameter / log d.
        """
        x, y, _ = self._circle(samples, vertical)
        return x, y

    def meets(self, samples: Range, vertical: Range) -> bool:
        """Return whether more than a boundary of the cell is in the given ranges.

        Args:
            samples: range of log n/log d.
            vertical: range of the logarithm of the second parameter / log d.
        """
        return self._circle(samples, vertical)[2] > MIN_RADIUS

    def _circle(self, samples: Range, vertical: Range) -> tuple[float, float, float]:
        """Return centre and radius of the largest circle inside the cell and the given ranges; the
        radius is 0 if they do not intersect.
        """
        rows, bounds = [], []
        for n, other, d in self.conditions:
            rows.append([-float(n), -float(other), math.hypot(float(n), float(other))])
            bounds.append(float(d))
        for unit, (low, high) in zip(((1.0, 0.0), (0.0, 1.0)), (samples, vertical), strict=True):
            rows += [[-unit[0], -unit[1], 1.0], [*unit, 1.0]]
            bounds += [-low, high]
        found = scipy.optimize.linprog(
            [0, 0, -1], A_ub=rows, b_ub=bounds, bounds=[(None, None)] * 2 + [(0, None)]
        )
        x, y, radius = found.x if found.success else (math.nan, math.nan, 0.0)
        return float(x), float(y), float(radius)

    def correction(self, *logs: float, along: str = "n") -> float:
        """Return the size of the terms neglected in the local slope, up to a constant: the sum of
        each correction times its exponent.

        Args:
            *logs: logarithms of the parameters.
            along: parameter of the slope.
        """
        axis = self.parameters.index(along)
        return sum(abs(float(row[axis])) * math.exp(-_form(row, logs)) for row in self.corrections)

    def slowest_correction(self, *logs: float, along: str = "n") -> float:
        """Return the exponent p with which `correction` finally decreases as d^-p; 0 on an edge.

        All parameters keep their exponents in d.

        Args:
            *logs: logarithms of the parameters.
            along: parameter of the slope.
        """
        axis = self.parameters.index(along)
        return min(_form(row, logs) for row in self.corrections if row[axis]) / logs[-1]

    def log10_dim_below(self, *logs: float, along: str = "n", within: float = 0.1) -> float:
        """Return log10 of the dimension d from which on `correction` is below `within`.

        All parameters keep their exponents in d. The result is infinite if there is no such d, for
        example on an edge of the cell.

        Args:
            *logs: logarithms of the parameters.
            along: parameter of the slope.
            within: limit of the correction.
        """
        powers = [log / logs[-1] for log in logs]

        def excess(log_d: float) -> float:
            return self.correction(*(power * log_d for power in powers), along=along) - within

        most = math.log(10) * MAX_LOG10_DIM
        if excess(most) > 0:
            return math.inf
        if excess(0.0) <= 0:
            return 0.0
        return float(scipy.optimize.brentq(excess, 0.0, most)) / math.log(10)

    def constant(
        self, slopes: Sequence[float], logs: Sequence[tuple[float, ...]], along: str = "n"
    ) -> float:
        """Return the smallest factor of `correction` that bounds the difference of all slopes from
        the exponent.

        Slopes within `slope_tolerance` of the exponent are ignored, because their difference may be
        dominated by other terms. The result is 0 if no slope remains.

        Args:
            slopes: local slopes.
            logs: logarithms of the parameters, for each slope.
            along: parameter of the slopes.
        """
        distances = [abs(slope - float(self.exponent(along))) for slope in slopes]
        return max(
            (
                distance / self.correction(*place, along=along)
                for distance, place in zip(distances, logs, strict=True)
                if distance > self.slope_tolerance(along)
            ),
            default=0.0,
        )

    def slope_tolerance(self, along: str = "n") -> float:
        """Return the distance from the exponent within which a slope agrees with it: a tenth of the
        exponent, or 0.1 if the exponent is 0.
        """
        return RELATIVE_TOLERANCE * (abs(float(self.exponent(along))) or 1.0)

    def log10_dim_near(self, constant: float, *logs: float, along: str = "n") -> float:
        """Return log10 of the dimension d from which on `constant` times `correction` is below
        `slope_tolerance`.

        Args:
            constant: result of `constant`.
            *logs: logarithms of the parameters.
            along: parameter of the slope.
        """
        within = self.slope_tolerance(along) / constant if constant else math.inf
        return self.log10_dim_below(*logs, along=along, within=within)

    def log10_dim_near_along(
        self, powers: Sequence[float], slopes: Sequence[tuple[int, float]]
    ) -> float:
        """Return `log10_dim_near` for slopes along n at several dimensions.

        Args:
            powers: exponents of the parameters in d.
            slopes: pairs (d, slope), sorted by d.

        Returns:
            log10 of the dimension; that of the smallest d if all slopes agree with the exponent;
            NaN for fewer than two slopes.
        """
        if len(slopes) < 2:
            return math.nan
        logs = [tuple(power * math.log(dim) for power in powers) for dim, _ in slopes]
        constant = self.constant([slope for _, slope in slopes], logs)
        return self.log10_dim_near(constant, *logs[-1]) if constant else math.log10(slopes[0][0])

    def margin(self, *logs: float) -> float:
        """Return the smallest logarithm of a condition: positive inside the cell, negative
        outside.
        """
        return min(_form(row, logs) for row in self.conditions)


def _form(row: Powers, logs: tuple[float, ...]) -> float:
    """Return the logarithm of the product of powers of the parameters."""
    return sum(float(power) * log for power, log in zip(row, logs, strict=True))


def axes(model: str) -> tuple[str, ...]:
    """Return the second parameters of the derived diagrams of a model: "decay", "width"."""
    return structure(model).exponent_axes


def interpolation_peak(model: str = DEFAULT) -> list[dict[str, Any]]:
    """Return the cells at the interpolation peak of a target that is not learned, for all gamma.

    There, n is of order d^2. Each cell has its name, risk and conditions: exponents, as text, of
    lambda and of `detuning`, the relative distance of the sample ratio from the threshold.

    Raises:
        InvalidParameter: the model has no derived exponents.
    """

    def powers(row: dict[str, str]) -> dict[str, str]:
        return {name: row[name] for name in ("detuning", "lambda")}

    return [
        {
            "name": cell["name"],
            "risk": powers(cell["risk"]),
            "conditions": list(map(powers, cell["conditions"])),
        }
        for side in symbolic(model)["peak"]["sides"]
        for cell in side["phases"][0]["cells"]
    ]


def regimes(gamma: Fraction, model: str = DEFAULT) -> tuple[Regime, ...]:
    """Return all cells at gamma, which cover the plane of (log n, log lambda) without overlap.

    Args:
        gamma: exponent of the target.
        model: name of the model.

    Raises:
        ValueError: gamma is at most 1/2.
        InvalidParameter: the model has no derived exponents.
    """
    return _cells(gamma, model, "decay", "", PLANE)


def width_regimes(gamma: Fraction, model: str = DEFAULT) -> tuple[Regime, ...]:
    """Return all cells for students of m hidden units, which cover (log n, log lambda, log m >= 0)
    without overlap.

    Args:
        gamma: exponent of the target.
        model: name of the model.

    Raises: see `regimes`.
    """
    return _cells(gamma, model, "width", "width_", SPACE)


def covariance_regimes(gamma: Fraction, a: Fraction, model: str = DEFAULT) -> tuple[Regime, ...]:
    """Return the cells for tokens with a covariance k^-a on the eigenvectors of a target k^-gamma.

    The whitened target has second moment one, and the covariance has trace d.

    Args:
        gamma: exponent of the target.
        a: exponent of the covariance, 0 < a < 1.
        model: name of the model.

    Raises:
        ValueError: gamma + a is at most 1/2, or a is not between 0 and 1.
        InvalidParameter: the model has no derived exponents with a covariance.
    """
    if not 0 < a < 1:
        rule = "exponents are derived for 0 < a < 1; from 1 on, few directions dominate the trace"
        raise ValueError(f"a = {a}: {rule}")
    if gamma <= 0 or gamma + a <= LEAST_GAMMA:
        rule = "gamma + a must exceed 1/2, as the second moment of the whitened target diverges"
        raise ValueError(f"gamma = {gamma}: {rule}")
    generated = _derived(model, "decay")
    if not hasattr(generated, "COVARIANCE_CELLS"):
        rule = "has no exponents with a covariance derived"
        raise InvalidParameter("model", model, rule, "use a model of positive matrices")
    risks, conditions = (
        getattr(generated, f"covariance_{name}")(gamma, a) for name in ("risk", "conditions")
    )
    found = (
        # What is neglected are the terms that the conditions keep small.
        Regime(id, name, _exact([risk])[0], _exact(inside), _exact(row for row in inside if row[0]))
        for (id, name), risk, inside in zip(
            generated.COVARIANCE_CELLS, risks, conditions, strict=True
        )
    )
    # Balances that are valid at other exponents only are empty here.
    return tuple(cell for cell in found if cell.meets(_EVERYWHERE, _EVERYWHERE))


def _exact(rows: Iterable[Sequence[Any]]) -> tuple[Powers, ...]:
    return tuple(tuple(map(Fraction, row)) for row in rows)  # constant exponents are integers


def _cells(
    gamma: Fraction, model: str, axis: str, prefix: str, parameters: tuple[str, ...]
) -> tuple[Regime, ...]:
    """Return the cells from the generated names and functions with this prefix."""
    if gamma <= LEAST_GAMMA:
        rule = "must exceed 1/2, as the second moment of k^-gamma diverges with the dimension below"
        raise ValueError(f"gamma = {gamma}: {rule}")
    generated = _derived(model, axis)
    risks, conditions, corrections = (
        getattr(generated, prefix + name)(gamma) for name in ("risk", "conditions", "corrections")
    )
    names = getattr(generated, f"{prefix.upper()}CELLS")
    return tuple(
        Regime(id, name, _exact([risk])[0], _exact(inside), _exact(terms), parameters)
        for (id, name), risk, inside, terms in zip(
            names, risks, conditions, corrections, strict=True
        )
    )


def _derived(model: str, axis: str) -> ModuleType:
    """Return the generated exponents of a model, derived along this axis.

    Raises:
        InvalidParameter: there are none.
    """
    if axis not in axes(model):
        having = ", ".join(name for name in available() if axis in axes(name))
        in_width = " in the width" if axis == "width" else ""
        raise InvalidParameter(
            "model", model, f"has no exponents{in_width} derived", f"use one of {having}"
        )
    return functions("exponents", model)


def regime_at(
    gamma: Fraction, *logs: float, model: str = DEFAULT, covariance: Fraction | None = None
) -> Regime:
    """Return the cell that contains a point; on a boundary, one of its cells.

    Args:
        gamma: exponent of the target.
        *logs: logarithms of (n, lambda, d) or of (n, lambda, m, d).
        model: name of the model.
        covariance: exponent of the covariance of the tokens, for points without a width; None for
            isotropic tokens.

    Raises: see `regimes` and `covariance_regimes`.
    """
    if covariance is not None:
        cells = covariance_regimes(gamma, covariance, model)
    else:
        cells = regimes(gamma, model) if len(logs) == len(PLANE) else width_regimes(gamma, model)
    return max(cells, key=lambda regime: regime.margin(*logs))


def symbolic(model: str = DEFAULT) -> dict[str, Any]:
    """Return the generated record: exponents and conditions as text in gamma, with the balance
    behind each.

    Raises:
        InvalidParameter: the model has no derived exponents.
    """
    _derived(model, "decay")
    return dict(json.loads(record("exponents", model)))
