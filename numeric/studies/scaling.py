"""Scaling curves of power-law targets at finite dimension: excess risk, its local slope and what is learned, along samples or width.

The finite-d theory takes the d eigenvalues as the law of the target (arXiv 2509.24914, Conjecture E.1; theory note, section 8).
Risk is ||S/c - S0||^2/d, of the learned map with its gain c divided out: the exponents are about this. The excess test error, over
that of the best multiple c* S0, has besides what c - c* costs. Labels fitted with their noise have the gain of the noisy labels, so
that where weak decay lets the student interpolate the excess error ends at a floor, while the risk falls on.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from attention_erm.runtime.errors import InvalidParameter
from numeric.engines.interrupted import attach_partial_result
from numeric.laws.eigenvalue_list import Eigenvalues
from numeric.laws.power_law import PowerLaw, power_law
from numeric.maths.domain import positive, require_list
from numeric.model import float64 as generated
from numeric.model import structure
from numeric.prediction.prediction import Prediction, prediction_of
from numeric.problem.problem import Problem, require_problem
from numeric.problem.solution import Solution
from numeric.saddle.curve import Watch
from numeric.saddle.estimator import Denoising, estimator_of
from numeric.saddle.solve import solve
from numeric.studies.regimes import Regime, axes, regime_at

_ROUNDED = 1e-12  # relative, of a share of all eigenvalues


@dataclass(frozen=True)
class ScalingPoint:
    """One number n of `samples` and m of `hidden` units: risk (eigenvalue^2) and excess test error (unit loss) with absolute errors.

    `gain`: c/c*, not a number where nothing is learned; `learned`: number of eigenvalues of S that are not zero; `features`: of
    those that have left its bulk, no integer where the threshold cuts the interval over which one of them scatters; `bulk_edge`:
    upper end of the bulk of S, 0 where it is below the threshold; the local slope d log(risk)/d log(n), or along m, with its error,
    not a number where a neighbour is missing.
    """

    samples: float
    hidden: float
    solution: Solution
    risk: float
    risk_error: float
    excess_error: float
    excess_uncertainty: float
    gain: float
    learned: float
    features: float
    bulk_edge: float
    slope: float = math.nan
    slope_error: float = math.nan


def power_law_for(model: str, gamma: float, dim: int, q0: float = 1.0) -> PowerLaw:
    """A power law as the target of a model: of general matrices it is that of the singular values."""
    return power_law(gamma, dim, q0, singular=structure(model).has_singular_values)


def power_law_of(problem: Problem) -> PowerLaw:
    """The target of a problem whose scaling is asked for.

    Raises:
        InvalidParameter: it is no power law.
    """
    if not isinstance(problem.target, PowerLaw):
        raise InvalidParameter(
            "target", problem.target, "has no exponent and no dimension", "use a power_law"
        )
    return problem.target


def scaling_curve(
    problem: Problem, samples: Sequence[float], watch: Watch = iter, start: Solution | None = None
) -> list[ScalingPoint]:
    """Points at increasing numbers of samples, the first from `start` or cold, with local slopes from their neighbours.

    Args:
        problem: of a power-law target; its own alpha is not used.
        samples: numbers n.
        watch: wraps the iterable of samples, for a progress bar.
        start: a solution close to the first point.

    Raises:
        InvalidParameter: the target is no power law, or one number stands in place of a list.
        OutsideDomain: the best multiple of the target cannot be found.
        Interrupted: with the points that had finished.

    >>> from attention_erm import Problem, power_law, scaling_curve
    >>> problem = Problem(alpha=1, target=power_law(0.75, dim=200), lambda_=1 / 200, noise=0.5)
    >>> for point in scaling_curve(problem, [1e4, 1e5, 1e6]):
    ...     print(f"{point.samples:.0e} {point.risk:.4f} {point.slope:.3f}")
    1e+04 0.3579 nan
    1e+05 0.0389 -0.989
    1e+06 0.0038 nan
    """
    require_problem(problem)
    dim = power_law_of(problem).dim
    return _curve(problem, lambda n: problem.at(n / dim**2), samples, "samples", watch, start)


def width_curve(
    problem: Problem, hidden: Sequence[float], watch: Watch = iter, start: Solution | None = None
) -> list[ScalingPoint]:
    """Points at increasing numbers of hidden units, slopes along these; else as `scaling_curve`.

    Args:
        problem: of a power-law target; its own width is not used.
        hidden: numbers m, of which the rank of S is at most m.
        watch: wraps the iterable of points, for a progress bar.
        start: a solution close to the first point.

    Raises: as `scaling_curve`, and InvalidParameter for a model whose students have no width.
    """
    dim = power_law_of(problem).dim
    return _curve(
        problem, lambda m: replace(problem, width=m / dim), hidden, "hidden", watch, start
    )


def _curve(
    problem: Problem,
    at: Callable[[float], Problem],
    values: Sequence[float],
    along: str,
    watch: Watch,
    start: Solution | None,
) -> list[ScalingPoint]:
    """Points at these values of one field, each from the one before, with slopes along it."""
    require_list(along, values)
    values = list(values)  # which may be read only once
    for value in values:
        positive(along, value)
    dim, prediction = power_law_of(problem).dim, prediction_of(problem)
    prediction.best_multiple()  # if there is none, no point needs to be solved
    points: list[ScalingPoint] = []
    with attach_partial_result(lambda: _with_slopes(points, along)):
        for value in watch(values):
            asked = at(value)
            solution = solve(asked, start)
            start = solution if solution.trusted and solution.q > 0 else None
            here = {"samples": asked.alpha * dim**2, "hidden": asked.width * dim, along: value}
            points.append(_point(here["samples"], here["hidden"], solution, prediction, dim))
    return _with_slopes(points, along)


def regime_of(point: ScalingPoint, along: str = "samples") -> Regime | None:
    """The cell of the derived phase diagram that holds a point: with the width as a parameter where it varies or is not 1.

    None for a model without derived exponents.
    """
    problem = point.solution.problem
    if not axes(problem.model):
        return None
    target, width = (
        power_law_of(problem),
        (point.hidden,) if along == "hidden" or problem.width != 1 else (),
    )
    parameters = (point.samples, problem.lambda_, *width, target.dim)
    return regime_at(Fraction(target.gamma), *map(math.log, parameters), model=problem.model)


STEP = 0.05  # of log(n), to either side: slopes then err by its square times the curvature


def local_slope(problem: Problem, samples: float) -> ScalingPoint:
    """The point at one n with its local slope, from solutions close to it on both sides.

    Raises: as `scaling_curve`.
    """
    return _local(scaling_curve(problem, _around(samples)), "samples")


def local_width_slope(problem: Problem, hidden: float) -> ScalingPoint:
    """The point at one number m of hidden units with its local slope along it, else as `local_slope`."""
    return _local(width_curve(problem, _around(hidden)), "hidden")


def _around(value: float) -> list[float]:
    return [value * math.exp(k * STEP) for k in (-2, -1, 0, 1, 2)]


def _local(points: Sequence[ScalingPoint], along: str) -> ScalingPoint:
    first, left, here, right, last = points
    (near, error), (far, _) = slope_between(left, right, along), slope_between(first, last, along)
    return replace(here, slope=(4 * near - far) / 3, slope_error=abs(far - near) / 3 + error)


def slope_between(
    first: ScalingPoint, second: ScalingPoint, along: str = "samples"
) -> tuple[float, float]:
    """Slope d log(risk)/d log(n), or `along` "hidden", from one point to the other with the error of both risks.

    Not numbers where there is none.
    """
    span = math.log(getattr(second, along) / getattr(first, along))
    if not (first.risk > 0 and second.risk > 0 and span > 0):
        return math.nan, math.nan
    error = (first.risk_error / first.risk + second.risk_error / second.risk) / span
    return math.log(second.risk / first.risk) / span, error


def _point(
    n: float, m: float, solution: Solution, prediction: Prediction, dim: int
) -> ScalingPoint:
    if not solution.trusted:
        return ScalingPoint(n, m, solution, *[math.nan] * 8)
    at = estimator_of(solution.problem).denoised(solution.conjugates)
    excess, uncertainty = prediction.excess_error(solution, at.overlaps)
    risk, error = solution.denoising_error, solution.errors["denoising_error"]
    spectrum = _spectrum(solution, at.denoising, prediction.best_multiple().c, dim)
    return ScalingPoint(n, m, solution, risk, error, excess, uncertainty, *spectrum)


def _spectrum(
    solution: Solution, at: Denoising, c_star: float, dim: int
) -> tuple[float, float, float, float]:
    """Gain, learned, features and bulk_edge of a ScalingPoint."""
    if at.energy is None or at.b is None or solution.q == 0:
        return math.nan, 0.0, 0.0, 0.0
    target, learned = solution.seen_target, _number(at.energy.mass, dim)
    assert isinstance(target, Eigenvalues)  # as those of a power law
    left = round(
        sum(end.features(at.v) for end in solution.problem.ends(target)) * dim
    )  # a count, as a share of all with rounding
    features = min(learned, float(left))
    edge = target.noise_bulk(at.v).high
    return at.c / c_star, learned, features, max(0.0, float(generated.shrinkage(edge, at.b, at.c)))


def _number(share: float, dim: int) -> float:
    """So many of all; a share that was summed up misses a whole number by rounding."""
    number = share * dim
    whole = float(round(number))
    return whole if math.isclose(number, whole, rel_tol=_ROUNDED) else number


def _with_slopes(points: list[ScalingPoint], along: str) -> list[ScalingPoint]:
    """From each point's neighbours; the error has half the change of slope from one side to the other besides that of the risks."""
    found = list(points)
    for k in range(1, len(points) - 1):
        left, here, right = points[k - 1 : k + 2]
        slope, error = slope_between(left, right, along)
        turn = abs(slope_between(here, right, along)[0] - slope_between(left, here, along)[0]) / 4
        found[k] = replace(here, slope=slope, slope_error=error + turn)
    return found
