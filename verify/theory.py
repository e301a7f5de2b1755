"""The theory as `compare` asks for it: many settings in, one prediction each out, one curve per family."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence

from numeric.arguments import BadInput
from numeric.curve import learning_curve
from numeric.problem import Problem
from numeric.solution import Solution
from verify.compare import QUANTITIES, Prediction, Setting, nominal_setting
from verify.parametrisation import Parametrisation
from verify.run import Run


def problem_of(run: Run) -> Problem:
    """Return the Problem that a run samples, at infinite d.

    Raises BadInput where the theory is not solved.
    """
    return problem_at(nominal_setting(run))


def problem_at(setting: Setting) -> Problem:
    """Return the Problem of a setting.

    Raises BadInput where the theory is not solved.
    """
    if setting.tokens != 2:
        raise BadInput("--tokens", setting.tokens, "the theory is solved for two tokens", "use --tokens 2")
    if setting.parametrisation is not Parametrisation.FACTORISED:
        name = str(setting.parametrisation)
        raise BadInput(
            "--parametrisation", name, "the theory is solved for factors", "use --parametrisation factorised"
        )
    if setting.kappa0 is None:
        law = setting.power_law or setting.spikes
        raise BadInput("target", law, "the theory is solved for Marchenko-Pastur targets", "state kappa0")
    return Problem(
        alpha=setting.alpha,
        kappa0=setting.kappa0,
        lambda_=setting.lambda_,
        noise=setting.noise,
        width=setting.width,
        tokens=setting.tokens,
        beta=setting.beta,
        beta0=setting.beta0,
        target_scale=setting.target_scale,
    )


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
