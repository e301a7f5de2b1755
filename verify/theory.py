"""The theory as `compare` asks for it: many settings in, one prediction each out, one curve per family."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence

from numeric.curve import learning_curve
from numeric.eigenvalues import Eigenvalues
from numeric.marchenko_pastur import MarchenkoPastur
from numeric.problem import Problem
from numeric.solution import Solution
from numeric.target_law import Target
from verify.compare import QUANTITIES, Prediction, Setting, nominal_setting
from verify.run import Run


def problem_of(run: Run) -> Problem:
    """Return the Problem that a run samples, at infinite d."""
    return problem_at(nominal_setting(run))


def problem_at(setting: Setting) -> Problem:
    """Return the Problem of a setting."""
    return Problem(
        alpha=setting.alpha,
        target=_target(setting),
        lambda_=setting.lambda_,
        noise=setting.noise,
        width=setting.width,
        tokens=setting.tokens,
        beta=setting.beta,
        beta0=setting.beta0,
        parametrisation=setting.parametrisation,
    )


def _target(setting: Setting) -> Target:
    if setting.kappa0 is not None:
        return MarchenkoPastur(setting.kappa0, setting.target_scale)
    weight = 1 / len(setting.eigenvalues)
    return Eigenvalues(setting.eigenvalues, (weight,) * len(setting.eigenvalues))


def solve_along(problem: Problem, alphas: Iterable[float]) -> dict[float, Solution]:
    """Return the solution at each alpha, in increasing order.

    Raises numeric's NotConverged where the solver did not converge.
    """
    return {solution.problem.alpha: solution.unwrap() for solution in learning_curve(problem, sorted(set(alphas)))}


def replica_predictions(settings: Sequence[Setting]) -> list[Prediction]:
    """Return the replica prediction of each setting, in order; settings that differ in alpha alone share a curve.

    Raises numeric's NotConverged where the solver did not converge.
    """
    families: dict[Setting, set[float]] = {}
    for setting in settings:
        families.setdefault(dataclasses.replace(setting, alpha=1.0), set()).add(setting.alpha)
    solved: dict[Setting, Prediction] = {}
    for family, alphas in families.items():
        for alpha, solution in solve_along(problem_at(family), alphas).items():
            values = {name: float(getattr(solution, name)) for name in QUANTITIES}
            # the S = 0 phase is exact and carries no error estimates
            errors = {name: float(solution.errors.get(name, 0.0)) for name in QUANTITIES}
            solved[dataclasses.replace(family, alpha=alpha)] = Prediction(values, errors)
    return [solved[setting] for setting in settings]
