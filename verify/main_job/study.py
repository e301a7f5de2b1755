"""The main job: which runs, which theory, at which settings; all of it data until `do_main_job` is called."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from numeric.laws.marchenko_pastur import MarchenkoPastur
from numeric.laws.power_law import power_law
from numeric.problem.decay_law import DecayLaw
from numeric.problem.solution import Solution
from numeric.proven_laws.rational import exact_marchenko_pastur
from numeric.thresholds.interpolation import interpolation
from numeric.thresholds.proven_digits import Threshold
from numeric.thresholds.recovery import recovery
from verify.core.campaign import CURVE_POINTS, Campaign
from verify.core.data import DataKind
from verify.core.measure import RunResult
from verify.core.pool import Job, Pool, training_job
from verify.core.run import Run
from verify.core.scores import Comparison, compare_with_theory
from verify.core.spectra import TrainedSpectrum, spectrum_job
from verify.core.store import Store
from verify.core.target import TargetKind, rank_ratio
from verify.core.theory import comparison_jobs, curve_job, pooled_predictions
from verify.core.theory_perturbation import TheoryPerturbation
from verify.studies.exponents.measure import StudentResult
from verify.studies.exponents.plan import ExponentPlan
from verify.studies.exponents.study import ExponentOutcome, exponent_jobs, study_exponents
from verify.studies.exponents.theory import GAMMA, Approach, approaches, slope_jobs
from verify.studies.scaling.plan import ScalingPlan
from verify.studies.scaling.study import ScalingOutcome, scaling_jobs, study_scaling
from verify.studies.thresholds.study import ThresholdOutcome, ThresholdPlan, study_thresholds, threshold_jobs
from verify.studies.thresholds.vanishing_decay import VanishingResult

THRESHOLD_DIGITS = 50


@dataclass(frozen=True)
class Plan:
    """What to do: `base` holds the parameters that do not vary; `spectra` lists (alpha, d, number of runs).

    `scaling_sizes`: (d, number of runs) of a power-law target on Gaussian-equivalent data; `dims`: of the theory's slopes.
    `exponent_sizes`: (path, d, number of runs) of narrow students; `threshold_sizes`: (d, number of runs) at which thresholds are seen
    at each of `threshold_settings` (kappa0, T, Delta). Of students and thresholds the theory is told as `perturbation` says.
    """

    base: Run
    campaigns: tuple[Campaign, ...]
    spectra: tuple[tuple[float, int, int], ...] = ()
    scaling_sizes: tuple[tuple[int, int], ...] = ()
    dims: tuple[int, ...] = ()
    exponent_sizes: tuple[tuple[str, int, int], ...] = ()
    threshold_sizes: tuple[tuple[int, int], ...] = ()
    threshold_settings: tuple[tuple[float, int, float], ...] = ()
    perturbation: TheoryPerturbation = field(default=TheoryPerturbation())

    def exponent_plan(self) -> ExponentPlan:
        """Narrow students of the same power law on token sequences, whose slopes show both exponents."""
        counts = tuple((path, GAMMA, dim, runs) for path, dim, runs in self.exponent_sizes)
        base = self.base
        return ExponentPlan(
            counts, base.problem.noise, base.entropy, base.device, base.shuffle_labels, perturbation=self.perturbation
        )

    def threshold_plan(self) -> ThresholdPlan:
        """Both thresholds in training at vanishing weight decay."""
        bases = tuple(
            self.base.varied(target=MarchenkoPastur(kappa0), tokens=tokens, noise=noise)
            for kappa0, tokens, noise in self.threshold_settings
        )
        return ThresholdPlan(bases, self.threshold_sizes, self.perturbation.noise)

    def scaling_plan(self) -> ScalingPlan:
        """Heads trained on a power-law target at the paper's weight decays, where both exponents show."""
        base = self.base.varied(
            target=power_law(float(GAMMA), self.base.dim),
            data=DataKind.GAUSSIAN_EQUIVALENT,
            target_kind=TargetKind.DETERMINISTIC,
        )
        return ScalingPlan(
            base,
            _SCALING_DECAYS,
            _SCALING_ALPHAS,
            self.scaling_sizes,
            ((_SCALING_ALPHAS[-1], self.scaling_sizes[-1][1]),),
        )

    def spectrum_runs(self) -> list[list[Run]]:
        """The runs of each spectrum, at the width of `base`; the same as those of a campaign where they coincide."""
        return [
            [self.base.varied(alpha=alpha, dim=dim, index=i) for i in range(count)]
            for alpha, dim, count in self.spectra
        ]

    def widths(self) -> list[float]:
        """Every width, once."""
        return list(dict.fromkeys(width for campaign in self.campaigns for width in campaign.widths))

    def runs(self) -> list[Run]:
        """Every run, once."""
        wanted = [run for campaign in self.campaigns for run in campaign.runs(self.base)]
        return list(dict.fromkeys(wanted + [run for runs in self.spectrum_runs() for run in runs]))

    def run_count(self) -> int:
        """Number of all runs, with those of the scaling laws."""
        return (
            len(self.runs())
            + (len(self.scaling_plan().runs()) if self.scaling_sizes else 0)
            + sum(runs for _, _, runs in self.exponent_sizes)
            + self.threshold_plan().run_count()
        )


@dataclass(frozen=True)
class MainJobOutcome:
    """Everything that a report shows."""

    plan: Plan
    results: dict[Run, RunResult]
    comparisons: dict[DataKind, Comparison]
    curves: dict[float, list[Solution]]  #: theory along alpha for each width
    panels: list[TrainedSpectrum]
    thresholds: dict[str, Threshold]
    seconds: dict[str, float]  #: processor time of the workers, by stage
    elapsed: float  #: seconds
    laws: ScalingOutcome | None = None
    exponents: tuple[Approach, ...] = ()
    trained: ExponentOutcome | None = None
    sighted: ThresholdOutcome | None = None

    @property
    def exponents_agree(self) -> bool:
        """Whether both legs of the exponents stand: trained slopes on the theory's way, and the theory on its way to the exponent."""
        return (self.trained is None or self.trained.agrees) and all(leg.closes_in for leg in self.exponents)

    @property
    def agrees(self) -> bool:
        """Whether every quantity agrees on every kind of data, every spectrum with its law, both exponents and both thresholds."""
        quantities = all(comparison.agrees for comparison in self.comparisons.values())
        laws = self.laws is None or self.laws.agrees
        thresholds = self.sighted is None or self.sighted.agrees
        return (
            quantities and laws and self.exponents_agree and thresholds and all(panel.agrees for panel in self.panels)
        )


class Stores(NamedTuple):
    """Where finished runs are kept: heads, narrow students, heads at vanishing weight decay."""

    heads: Store[RunResult]
    students: Store[StudentResult]
    vanishing: Store[VanishingResult]


def do_main_job(
    plan: Plan,
    stores: Stores,
    note: Callable[[str], None],
    workers: int | None = None,
) -> MainJobOutcome:
    """Do the job: train what the stores lack, solve the theory, compare.

    `note` is told what begins. Raises WorkerError if a run fails, NoAnswer if the theory has no answer.
    """
    started = time.perf_counter()
    with Pool(workers) as pool:
        note("training, and the theory that does not wait for it")
        pool.results(_first_jobs(plan, stores))
        thresholds = _thresholds(plan.base)
        runs = plan.runs()
        results = dict(zip(runs, pool.results([training_job(run, stores.heads) for run in runs]), strict=True))
        note("the theory of what was trained")
        groups = {campaign.data: [results[run] for run in campaign.runs(plan.base)] for campaign in plan.campaigns}
        spectra = [spectrum_job([results[run] for run in group]) for group in plan.spectrum_runs()]
        pool.results([*(job for group in groups.values() for job in comparison_jobs(group)), *spectra])
        comparisons = {kind: compare_with_theory(group, pooled_predictions(pool)) for kind, group in groups.items()}
        panels = pool.results(spectra)
        curves = {width: list(pool.results([_curve_job(plan, width)])[0].values()) for width in plan.widths()}
        laws = study_scaling(plan.scaling_plan(), stores.heads, pool) if plan.scaling_sizes else None
        found = approaches(plan.dims, plan.base.problem.noise, pool) if plan.dims else ()
        trained = study_exponents(plan.exponent_plan(), stores.students, pool) if plan.exponent_sizes else None
        sighted = study_thresholds(plan.threshold_plan(), stores.vanishing, pool) if plan.threshold_settings else None
    return MainJobOutcome(
        plan, results, comparisons, curves, panels, thresholds, pool.seconds, time.perf_counter() - started,
        laws, found, trained, sighted,
    )  # fmt: skip


def _first_jobs(plan: Plan, stores: Stores) -> list[Job]:
    """All that does not depend on what was trained: together, so that the longest runs begin first and no core waits for the last."""
    return [
        *(training_job(run, stores.heads) for run in plan.runs()),
        *(_curve_job(plan, width) for width in plan.widths()),
        *(scaling_jobs(plan.scaling_plan(), stores.heads) if plan.scaling_sizes else ()),
        *(slope_jobs(plan.dims, plan.base.problem.noise) if plan.dims else ()),
        *exponent_jobs(plan.exponent_plan(), stores.students),
        *threshold_jobs(plan.threshold_plan(), stores.vanishing),
    ]


def _curve_job(plan: Plan, width: float) -> Job:
    alphas = [alpha for campaign in plan.campaigns for alpha in campaign.alphas]
    grid = np.geomspace(min(alphas), max(alphas), CURVE_POINTS)
    return curve_job(dataclasses.replace(plan.base.problem, width=width), grid.tolist(), "theory curves")


def _thresholds(base: Run) -> dict[str, Threshold]:
    """Interpolation at the noise of `base`, and recovery without noise, both for width at least 1."""
    problem = base.problem
    law = exact_marchenko_pastur(Fraction(str(rank_ratio(problem.target))))
    found = {"recovery": recovery(law, problem.tokens, THRESHOLD_DIGITS)}
    if problem.noise > 0:
        found["interpolation"] = interpolation(law, Fraction(str(problem.noise)), problem.tokens, THRESHOLD_DIGITS)
    return found


#: From deep below interpolation to well above recovery; the sizes are chosen so that m = kappa d is an integer.
_ALPHAS = (0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.5, 0.8, 1.25, 2.0, 4.0)
_WIDTHS = (0.75, 1.0)
_SCALING_DECAYS = (DecayLaw("1/d", power=-1.0), DecayLaw("1"))
_SCALING_ALPHAS = (0.025, 0.05, 0.1, 0.2, 0.4, 0.8, 1.6)
#: Rank ratio, tokens and noise all differ. Twice the noise moves the interpolation threshold by 3 to 6 per cent only; where labels are
#: not saturated it raises the root of the loss by 44.
_THRESHOLD_SETTINGS = ((0.5, 2, 0.1), (0.2, 3, 0.25), (0.8, 2, 0.2))
_EQUIVALENT = Campaign(DataKind.GAUSSIAN_EQUIVALENT, ((28, 8), (40, 8)), (0.1, 0.5, 2.0), (1.0,))

JOB_PRESETS: dict[str, dict[str, Any]] = {  # fields of a Plan
    "main": {
        "campaigns": (Campaign(DataKind.SEQUENCES, ((52, 16), (100, 8)), _ALPHAS, _WIDTHS), _EQUIVALENT),
        "spectra": ((0.05, 100, 8), (0.5, 100, 8), (4.0, 100, 8), (40.0, 100, 1)),
        "scaling_sizes": ((28, 8), (40, 8)),
        "dims": (10**4, 10**8, 10**12, 10**18),
        "exponent_sizes": (("decay", 200, 6), ("decay", 400, 6), ("noise", 200, 6)),
        "threshold_sizes": ((30, 20), (60, 10)),
        "threshold_settings": _THRESHOLD_SETTINGS,
    },
    "quick": {  # no thresholds: sizes and runs that decide one take longer than all of it
        "campaigns": (
            Campaign(DataKind.SEQUENCES, ((32, 8), (52, 8)), (0.1, 0.5, 2.0), _WIDTHS),
            Campaign(DataKind.GAUSSIAN_EQUIVALENT, ((20, 8), (28, 8)), (0.5,), (1.0,)),
        ),
        "spectra": ((0.1, 52, 8), (0.5, 52, 8), (2.0, 52, 8)),
        "scaling_sizes": ((16, 8), (24, 8)),
        "dims": (10**4, 10**18),
        "exponent_sizes": (("decay", 200, 6), ("noise", 200, 4)),
    },
    "paper": {
        "campaigns": (Campaign(DataKind.SEQUENCES, ((52, 64), (76, 64), (100, 64)), _ALPHAS, _WIDTHS), _EQUIVALENT),
        "spectra": ((0.05, 200, 1), (0.5, 200, 1), (4.0, 200, 1), (40.0, 200, 1)),
        "scaling_sizes": ((40, 16), (56, 16)),
        "dims": (10**4, 10**8, 10**12, 10**18),
        "exponent_sizes": (
            ("decay", 200, 6),
            ("decay", 400, 6),
            ("decay", 800, 4),
            ("noise", 200, 6),
            ("noise", 400, 6),
        ),
        "threshold_sizes": ((30, 48), (60, 32), (90, 12)),
        "threshold_settings": _THRESHOLD_SETTINGS,
    },
}


def preset(name: str, base: Run) -> Plan:
    """Return the plan of this name, every run of which is trained as `base` says."""
    return Plan(base, **JOB_PRESETS[name])
