"""The theory as `compare` asks for it: many settings in, one prediction each out, one curve per family."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from tqdm import tqdm

from numeric.laws.eigenvalue_list import Eigenvalues
from numeric.laws.law import Target
from numeric.laws.marchenko_pastur import MarchenkoPastur
from numeric.problem.problem import Problem
from numeric.problem.solution import Solution
from numeric.saddle.curve import Watch, learning_curve
from verify.jobs.pool import Job, Pool
from verify.judging.realised import QUANTITIES, Measured, Prediction, Setting, Theory, asked, nominal_setting
from verify.training.minimise import Status
from verify.training.run import Run

#: Relative error asked of the theory: the mean of eight trained heads scatters by several times as much, more so after extrapolation.
#: It enters the scores. Two tokens are solved far better at no extra cost; where the channel is sampled it saves three quarters.
ACCURACY = 3e-3
SECONDS = 0.15  #: of a point of a curve, for the order of jobs; two tokens


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
    if setting.eigenvalues:
        weight = 1 / len(setting.eigenvalues)
        return Eigenvalues(setting.eigenvalues, (weight,) * len(setting.eigenvalues))
    if setting.kappa0 is None:
        raise ValueError("a target that is no Marchenko-Pastur one is known by its eigenvalues: state them")
    return MarchenkoPastur(setting.kappa0, setting.target_scale)


def solve_along(problem: Problem, alphas: Iterable[float], watch: Watch = iter) -> dict[float, Solution]:
    """Return the solution at each alpha, in increasing order, to `ACCURACY`; `watch` wraps the alphas, for a progress bar.

    Raises numeric's NotConverged where the solver did not converge.
    """
    curve = learning_curve(problem, sorted(set(alphas)), watch, ACCURACY)
    return {solution.problem.alpha: solution.unwrap() for solution in curve}


def replica_predictions(settings: Sequence[Setting], watch: Watch = iter) -> list[Prediction]:
    """Return the replica prediction of each setting, in order; settings that differ in alpha alone share a curve.

    Raises numeric's NotConverged where the solver did not converge.
    """
    families = _families(settings)
    curves = [solve_along(problem_at(family), alphas, watch) for family, alphas in families.items()]
    return _picked(settings, families, curves)


def pooled_predictions(pool: Pool) -> Theory:
    """`replica_predictions` with a job of `pool` for each curve."""

    def theory(settings: Sequence[Setting]) -> list[Prediction]:
        return _picked(settings, _families(settings), pool.results(prediction_jobs(settings)))

    return theory


def comparison_jobs(results: Iterable[Measured]) -> list[Job]:
    """The jobs that comparing `results` by `pooled_predictions` asks for."""
    return prediction_jobs(asked(result for result in results if result.status is Status.CONVERGED))


def prediction_jobs(settings: Sequence[Setting]) -> list[Job]:
    """The jobs that `pooled_predictions` asks for."""
    families = _families(settings).items()
    return [curve_job(problem_at(family), alphas, "theory at the realised targets") for family, alphas in families]


def curve_job(problem: Problem, alphas: Iterable[float], stage: str) -> Job:
    """`solve_along` as a job."""
    points = tuple(sorted(set(alphas)))
    name = f"theory curve at width {problem.width:g}, lambda {problem.lambda_:g}"
    return Job(solve_along, (problem, points), stage, SECONDS * len(points), name)


def _families(settings: Sequence[Setting]) -> dict[Setting, set[float]]:
    """The alphas of each curve."""
    families: dict[Setting, set[float]] = {}
    for setting in settings:
        families.setdefault(dataclasses.replace(setting, alpha=1.0), set()).add(setting.alpha)
    return families


def _picked(
    settings: Sequence[Setting], families: Iterable[Setting], curves: Iterable[Mapping[float, Solution]]
) -> list[Prediction]:
    """From the curve of each family, the prediction at each setting."""
    along = dict(zip(families, curves, strict=True))
    return [prediction(along[dataclasses.replace(setting, alpha=1.0)][setting.alpha]) for setting in settings]


def prediction(solution: Solution) -> Prediction:
    """What a solution says of each compared quantity."""
    values = {name: float(getattr(solution, name)) for name in QUANTITIES} | {"q": trained_norm(solution)}
    # the S = 0 phase is exact and carries no error estimates
    return Prediction(values, {name: float(solution.errors.get(name, 0.0)) for name in QUANTITIES})


def trained_norm(solution: Solution) -> float:
    """tr(S S^T)/d, as a run measures it: the norm of the symmetric part, q of the theory, and that of the antisymmetric one."""
    return solution.q + (solution.antisymmetric.q if solution.antisymmetric else 0.0)


def watched_predictions(settings: Sequence[Setting]) -> list[Prediction]:
    """`replica_predictions` with a progress bar on stderr: more than two tokens take seconds a point."""
    with progress("theory", len(settings)) as watch:
        return replica_predictions(settings, watch)


@contextmanager
def progress(title: str, total: int) -> Iterator[Watch]:
    """Give what wraps any number of iterables of `total` points in all and shows how many are done."""
    # a log file gets a line now and then, not a bar that moves
    with tqdm(total=total, desc=title, mininterval=0.2 if sys.stderr.isatty() else 30) as bar:

        def watch(points: Iterable[float]) -> Iterable[float]:
            for point in points:
                yield point
                bar.update()

        yield watch
