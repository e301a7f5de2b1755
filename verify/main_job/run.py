"""Execution of the main job: one section after the other, each as soon as its study is finished."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from numeric.proven_laws.rational import exact_marchenko_pastur
from numeric.thresholds.bayes_recovery import bayes_recovery
from numeric.thresholds.interpolation import interpolation
from numeric.thresholds.recovery import recovery
from numeric.thresholds.setting import Threshold
from verify.core.controls import study_controls
from verify.core.controls_section import controls_section
from verify.core.pool import Pool, Steps, WorkerError
from verify.core.run import Run
from verify.core.section import Claim, Section
from verify.core.target import rank_ratio
from verify.main_job.plan import Plan
from verify.studies.exponents.section import exponent_section, theory_exponent_section
from verify.studies.exponents.study import study_exponents
from verify.studies.exponents.theory import approaches
from verify.studies.learning_curves.campaigns import solve_curves, study_campaigns
from verify.studies.learning_curves.section import theory_section, training_section
from verify.studies.models.section import drawn_labels_section
from verify.studies.models.study import study_models
from verify.studies.scaling.section import scaling_section
from verify.studies.scaling.study import study_scaling
from verify.studies.spectra.section import spectrum_section
from verify.studies.spectra.study import study_spectra
from verify.studies.thresholds.section import threshold_section
from verify.studies.thresholds.study import study_thresholds

_DIGITS = 50  #: digits of the proven thresholds


@dataclass(frozen=True)
class _Part:
    """One study of the main job: its steps, its section, and the key of its document."""

    steps: Steps[Any]
    section: Callable[[Any], Section]
    key: str = ""


def sections(plan: Plan, folder: Path, pool: Pool) -> Iterator[Section]:
    """Yield the sections of the main job, each as soon as it is finished.

    Args:
        plan: contents of the job.
        folder: output folder.
        pool: runs the tasks.

    Raises:
        WorkerError: a run failed.
        NoAnswer: the theory has no answer.
    """
    thresholds = proven_thresholds(plan.base)
    yield proven_threshold_section(thresholds)
    parts = _parts(plan, folder, {kind: float(threshold) for kind, threshold in thresholds.items()})
    for name, outcome in pool.run_together(
        {name: part.steps for name, part in parts.items()}, "main job"
    ):
        section, key = parts[name].section(outcome), parts[name].key
        yield replace(section, document={key: section.document}) if key else section


def _parts(plan: Plan, folder: Path, thresholds: dict[str, float]) -> dict[str, _Part]:
    """Return the studies of the plan in the order of their sections; those of the theory come first
    and take seconds.
    """
    noise = plan.base.problem.noise
    parts = {"theory": _Part(solve_curves(plan.campaign_plan()), theory_section)}
    if plan.dims:
        parts["theory exponents"] = _Part(approaches(plan.dims, noise), theory_exponent_section)
    parts["training"] = _Part(
        study_campaigns(plan.campaign_plan(), folder),
        lambda outcome: training_section(outcome, thresholds),
    )
    if plan.spectra:
        parts["spectra"] = _Part(study_spectra(plan.spectrum_plan(), folder), spectrum_section)
    if plan.covariance_sizes:
        parts["covariance"] = _Part(
            study_controls(plan.covariance_plan(), folder), controls_section, "covariance"
        )
    if plan.vocabulary_sizes:
        parts["vocabulary"] = _Part(
            study_controls(plan.vocabulary_plan(), folder), controls_section, "vocabulary"
        )
    if plan.label_sizes:
        parts["labels"] = _Part(
            study_models(plan.labels_plan(), folder), drawn_labels_section, "drawn_labels"
        )
    if plan.scaling_sizes:
        parts["scaling"] = _Part(
            study_scaling(plan.scaling_plan(), folder), scaling_section, "scaling"
        )
    if plan.exponent_sizes:
        parts["exponents"] = _Part(
            study_exponents(plan.exponent_plan(), folder),
            exponent_section,
            "trained_exponents",
        )
    if plan.threshold_settings:
        parts["thresholds"] = _Part(
            study_thresholds(plan.threshold_plan(), folder),
            threshold_section,
            "trained_thresholds",
        )
    return parts


def proven_thresholds(base: Run) -> dict[str, Threshold]:
    """Return the thresholds at width 1 or more: interpolation at the noise of `base`, recovery and
    Bayes recovery without noise.
    """
    problem = base.problem
    law = exact_marchenko_pastur(Fraction(str(rank_ratio(problem.target))))
    found = {}
    if problem.noise > 0:
        found["interpolation"] = interpolation(
            law, Fraction(str(problem.noise)), problem.tokens, _DIGITS
        )
    return {
        **found,
        "recovery": recovery(law, problem.tokens, _DIGITS),
        "bayes": bayes_recovery(law, problem.tokens, _DIGITS),
    }


_THRESHOLD_NAMES = {
    "interpolation": "interpolation threshold", "recovery": "recovery threshold (no noise)",
    "bayes": "Bayes recovery threshold",
}  # fmt: skip


def proven_threshold_section(thresholds: Mapping[str, Threshold]) -> Section:
    """Return the thresholds with all their proven digits."""
    claims = tuple(
        Claim(_THRESHOLD_NAMES[kind], f"{float(t):.10f}", "", f"{t.digits} digits", True)
        for kind, t in thresholds.items()
    )
    lines = tuple(
        f"{_THRESHOLD_NAMES[kind]}: alpha = {t.value}\n" for kind, t in thresholds.items()
    )
    document = {kind: {"value": t.value, "digits": t.digits} for kind, t in thresholds.items()}
    return Section(
        f"Thresholds, {_DIGITS} digits proven in ball arithmetic",
        True,
        lines,
        {"thresholds": document},
        claims,
    )


def check_equations(model: str) -> Section:
    """Derive the equations of `model` again in a separate process and compare the committed files,
    as `python -m derive check` does.

    Raises WorkerError if the process was killed.
    """
    done = subprocess.run(
        [sys.executable, "-m", "derive", "check", model],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )
    if done.returncode not in (0, 1):
        raise WorkerError(
            f"derive check ended with exit code {done.returncode}: {done.stderr.strip()}"
        )
    agrees = done.returncode == 0
    text = done.stdout if agrees else done.stdout + done.stderr
    claim = Claim(f"equations of {model}", "derived now", "", "", agrees)
    return Section(
        "Committed equations", agrees, tuple(text.splitlines(keepends=True)), {}, (claim,)
    )
