"""Which scaling regime holds where, and the exponents there: the generated phase diagram of power-law targets at given numbers."""

import json
import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import scipy

from numeric.model import exponents as generated
from numeric.model import record

LEAST_GAMMA = Fraction(1, 2)  #: below it the second moment of the target diverges with the dimension


@dataclass(frozen=True)
class Regime:
    """One cell of the phase diagram at one gamma.

    `id`: regime of the spectrum and what limits the risk, a word each, e.g. "spikes.decay"; `name`: the same for readers.
    `risk`: exponents of (n, lambda, d) of the excess risk; `conditions`: rows of exponents whose product is at least one inside;
    `corrections`: rows whose products are one over the relative sizes of what the balance leaves out.
    """

    id: str
    name: str
    risk: tuple[Fraction, Fraction, Fraction]
    conditions: tuple[tuple[Fraction, Fraction, Fraction], ...]
    corrections: tuple[tuple[Fraction, Fraction, Fraction], ...]

    @property
    def limit(self) -> str:
        """What limits the risk: "target", "noise", "overfitting" or "decay"."""
        return self.id.split(".")[1]

    def centre(self, samples: tuple[float, float], decays: tuple[float, float]) -> tuple[float, float]:
        """Centre of the largest circle in the cell and these ranges of log n/log d and log lambda/log d, where it is itself."""
        rows, bounds = [], []
        for n, decay, d in self.conditions:
            rows.append([-float(n), -float(decay), math.hypot(float(n), float(decay))])
            bounds.append(float(d))
        for axis, (low, high) in enumerate((samples, decays)):
            rows += [[-float(axis == 0), -float(axis == 1), 1.0], [float(axis == 0), float(axis == 1), 1.0]]
            bounds += [-low, high]
        x, y, _ = scipy.optimize.linprog([0, 0, -1], A_ub=rows, b_ub=bounds, bounds=[(None, None)] * 2 + [(0, None)]).x
        return float(x), float(y)

    def correction(self, log_n: float, log_lambda: float, log_d: float) -> float:
        """Size of what is left out of the exponent of n, up to a constant: each correction times its own exponent of n."""
        logs = (log_n, log_lambda, log_d)
        return sum(abs(float(row[0])) * math.exp(-_form(row, logs)) for row in self.corrections)

    def margin(self, log_n: float, log_lambda: float, log_d: float) -> float:
        """Smallest logarithm of a condition: positive inside the cell, how far from its boundary; negative outside."""
        return min(_form(row, (log_n, log_lambda, log_d)) for row in self.conditions)


def _form(row: tuple[Fraction, Fraction, Fraction], logs: tuple[float, float, float]) -> float:
    """Logarithm of the product of the parameters to these powers."""
    return sum(float(power) * log for power, log in zip(row, logs, strict=True))


def regimes(gamma: Fraction) -> tuple[Regime, ...]:
    """All cells at gamma; together they cover the plane of (log n, log lambda) without overlap.

    Raises:
        ValueError: gamma is at most 1/2.
    """
    if gamma <= LEAST_GAMMA:
        raise ValueError(
            f"gamma = {gamma}: must exceed 1/2, as the second moment of k^-gamma diverges with the dimension below"
        )
    cells = zip(
        generated.CELLS, generated.risk(gamma), generated.conditions(gamma), generated.corrections(gamma), strict=True
    )
    return tuple(
        Regime(id, name, _exact(risk), tuple(map(_exact, conditions)), tuple(map(_exact, corrections)))
        for (id, name), risk, conditions, corrections in cells
    )


def _exact(powers: tuple[Any, Any, Any]) -> tuple[Fraction, Fraction, Fraction]:
    """Generated exponents as fractions: constant ones are integers."""
    n, decay, d = map(Fraction, powers)
    return n, decay, d


def regime_at(gamma: Fraction, log_n: float, log_lambda: float, log_d: float) -> Regime:
    """The cell that holds a point; on a boundary one of its cells."""
    return max(regimes(gamma), key=lambda regime: regime.margin(log_n, log_lambda, log_d))


def symbolic() -> dict[str, Any]:
    """The generated record: exponents and conditions as text in gamma, with the balance behind each."""
    return json.loads(record("exponents"))
