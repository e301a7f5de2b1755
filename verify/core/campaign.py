"""Runs of one kind of data at every combination of parameters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from verify.core.data import DataKind
from verify.core.run import Run

CURVE_POINTS = 30  #: Number of points of a theory line: enough for a smooth line over two decades.


@dataclass(frozen=True)
class Campaign:
    """Runs of one kind of data: every alpha, width and variation at every size (d, number of runs).

    A variation gives other values to any further fields of a Run or its Problem, e.g. {"tokens": 3,
    "beta": 2.0}. Runs of a dimension below `cpu_below` train on the CPU.
    """

    data: DataKind
    sizes: tuple[tuple[int, int], ...]
    alphas: tuple[float, ...]
    widths: tuple[float, ...]
    variations: tuple[Mapping[str, Any], ...] = ({},)
    cpu_below: int = 0

    def runs(self, base: Run) -> list[Run]:
        """Return the runs; all other parameters are those of `base`."""
        return [
            there.varied(data=self.data, alpha=alpha, width=width, index=index, **variation)
            for dim, count in self.sizes
            for there in [sized(base, dim, self.cpu_below)]
            for alpha in self.alphas
            for width in self.widths
            for variation in self.variations
            for index in range(count)
        ]


def sized(base: Run, dim: int, cpu_below: int) -> Run:
    """Return a run of another dimension, on the CPU if it is small.

    Args:
        base: all other parameters.
        dim: dimension d.
        cpu_below: least dimension of a run that trains on the device of `base`.
    """
    return base.varied(dim=dim, device="cpu" if dim < cpu_below else base.device)
