"""Singular values of heads trained at several sample ratios, compared with their law."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from verify.core.campaign import sized
from verify.core.draw import require_memory
from verify.core.measure import RunResult
from verify.core.pool import Steps, training_task
from verify.core.run import Run
from verify.core.spectra import TrainedSpectrum, spectrum_task
from verify.core.store import Store


@dataclass(frozen=True)
class SpectrumPlan:
    """Parameters of all runs, and (alpha, d, number of runs) of each spectrum.

    Runs of a dimension below `cpu_below` train on the CPU.
    """

    base: Run
    spectra: tuple[tuple[float, int, int], ...]
    cpu_below: int = 0

    def runs(self) -> list[list[Run]]:
        """Return the runs of each spectrum."""
        return [
            [there.varied(alpha=alpha, index=index) for index in range(count)]
            for alpha, dim, count in self.spectra
            for there in [sized(self.base, dim, self.cpu_below)]
        ]


@dataclass(frozen=True)
class SpectrumOutcome:
    """One spectrum per sample ratio."""

    plan: SpectrumPlan
    spectra: tuple[TrainedSpectrum, ...]

    @property
    def agrees(self) -> bool:
        """Return whether every spectrum agrees with its law."""
        return all(spectrum.agrees for spectrum in self.spectra)


def study_spectra(plan: SpectrumPlan, folder: Path) -> Steps[SpectrumOutcome]:
    """Train what `folder` lacks and compare with the law.

    Args:
        plan: the plan.
        folder: folder of finished runs.

    Raises:
        NoAnswer: the theory has no answer.
        InvalidParameter: the data of a run do not fit into memory.
    """
    store = Store(folder, RunResult)
    groups = plan.runs()
    require_memory(run for group in groups for run in group)
    results = iter((yield [training_task(run, store) for group in groups for run in group]))
    spectra = yield [spectrum_task([next(results) for _ in group]) for group in groups]
    return SpectrumOutcome(plan, tuple(spectra))
