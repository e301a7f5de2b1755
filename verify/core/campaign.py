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
    "beta": 2.0}.
    """

    data: DataKind
    sizes: tuple[tuple[int, int], ...]
    alphas: tuple[float, ...]
    widths: tuple[float, ...]
    variations: tuple[Mapping[str, Any], ...] = ({},)

    def runs(self, base: Run) -> list[Run]:
        """Return the runs; all other parameters are those of `base`."""
        return [
            base.varied(data=self.data, dim=dim, alpha=alpha, width=width, index=index, **variation)
            for dim, count in self.sizes
            for alpha in self.alphas
            for width in self.widths
            for variation in self.variations
            for index in range(count)
        ]
