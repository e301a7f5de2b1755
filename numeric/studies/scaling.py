"""Scaling curves of power-law targets at finite dimension, along samples or hidden units.

The theory at finite d takes the d eigenvalues as the law of the target (arXiv 2509.24914,
Conjecture E.1; theory note, section 8). The risk is ||S/c - S0||^2/d: the gain c of the learned map
is divided out. The derived exponents are those of this risk. The excess test error, relative to
that of the best multiple c* S0, has an additional part due to c - c*. Labels that are fitted with
their noise have the gain of the noisy labels. If the student interpolates at weak decay, the excess
error therefore reaches a floor, while the risk still decreases.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from attention_erm.runtime.errors import InvalidParameter
from numeric.engines.interrupted import attach_partial_result
from numeric.laws.covariance.power_law import PowerLawCovariance
from numeric.laws.eigenvalue_list import Eigenvalues
from numeric.laws.power_law import PowerLaw, power_law
from numeric.maths.domain import positive, require_list
from numeric.model import float64 as generated
from numeric.model import structure
from numeric.prediction.prediction import Prediction, prediction_of
from numeric.problem.problem import Problem, require_problem
from numeric.problem.solution import Solution
from numeric.saddle.curve import Watch
from numeric.saddle.estimator import DenoisingProblem, estimator_of
from numeric.saddle.solve import solve
from numeric.studies.regimes import LEAST_GAMMA, Regime, axes, regime_at

_ROUNDING = 1e-12  # relative rounding error of a fraction of all eigenvalues
STEP = 0.05  # of log(n), to either side; the error of a slope is its square times the curvature


@dataclass(frozen=True)
class ScalingPoint:
    """Point of a scaling curve.

    Attributes:
        samples: number n of samples.
        hidden: number m of hidden units.
        solution: solution of the saddle-point equations.
        risk: risk, eigenvalue^2.
        risk_error: absolute error of the risk.
        excess_error: excess test error (unit: loss of a sample).
        excess_uncertainty: absolute error of the excess test error.
        gain: c/c*; NaN if nothing is learned.
        learned: number of nonzero eigenvalues of S.
        features: number of nonzero eigenvalues of S that have left its bulk; not an integer if the
            threshold cuts the interval of an eigenvalue; NaN with a covariance of the tokens.
        bulk_edge: upper end of the bulk of S; 0 if it is below the threshold; NaN with a
            covariance.
        slope: local slope d log(risk)/d log(n), or along m; NaN if a neighbour is missing.
        slope_error: absolute error of the slope.
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
    """Return a power law as the target of a model; of singular values if the matrices are general.

    Args:
        model: name of the model.
        gamma: exponent.
        dim: dimension d.
        q0: second moment, eigenvalue^2.
    """
    return power_law(gamma, dim, q0, singular=structure(model).has_singular_values)


def power_law_of(problem: Problem) -> PowerLaw | PowerLawCovariance:
    """Return the target of a problem, which must be a power law, also of tokens with a covariance.

    Raises:
        InvalidParameter: it is not.
    """
    if not isinstance(problem.target, PowerLaw | PowerLawCovariance):
        raise InvalidParameter(
            "target", problem.target, "has no exponent and no dimension", "use a power_law"
        )
    return problem.target


def scaling_curve(
    problem: Problem, samples: Sequence[float], watch: Watch = iter, start: Solution | None = None
) -> list[ScalingPoint]:
    """Compute points at increasing numbers of samples, with local slopes from their neighbours.

    Args:
        problem: problem with a power-law target; its alpha is not used.
        samples: numbers n of samples.
        watch: wraps the iterable of samples, for a progress bar.
        start: a solution close to the first point; default: none.

    Raises:
        InvalidParameter: the target is not a power law, or `samples` is not a list.
        OutsideDomain: the best multiple of the target is not found.
        Interrupted: by Ctrl-C; contains the points computed until then.

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
    """Compute points at increasing numbers of hidden units, with local slopes along them.

    Args:
        problem: problem with a power-law target; its width is not used.
        hidden: numbers m of hidden units; the rank of S is at most m.
        watch: wraps the iterable of points, for a progress bar.
        start: a solution close to the first point; default: none.

    Raises: see `scaling_curve`; also InvalidParameter if students of the model have no width.
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
    """Compute points at these values of one field, each started from the one before, with
    slopes.
    """
    require_list(along, values)
    values = list(values)  # an iterator can be read only once
    for value in values:
        positive(along, value)
    dim, prediction = power_law_of(problem).dim, prediction_of(problem)
    prediction.best_multiple()  # if there is none, no point needs to be solved
    points: list[ScalingPoint] = []
    with attach_partial_result(lambda: _with_slopes(points, along)):
        for value in watch(values):
            there = at(value)
            solution = solve(there, start)
            start = solution if solution.trusted and solution.q > 0 else None
            # Avoids the rounding of the varied number.
            sizes = {"samples": there.alpha * dim**2, "hidden": there.width * dim, along: value}
            points.append(_point(sizes["samples"], sizes["hidden"], solution, prediction, dim))
    return _with_slopes(points, along)


def regime_of(point: ScalingPoint, along: str = "samples") -> Regime | None:
    """Return the cell of the derived phase diagram that contains a point.

    The width is a parameter of the cell if it varies or is not 1.

    Args:
        point: the point.
        along: "samples" or "hidden", the number that varies.

    Returns:
        The cell; None if no exponents are derived for the model, or for a covariance at this width.
    """
    problem = point.solution.problem
    if not axes(problem.model):
        return None
    target = power_law_of(problem)
    width = (point.hidden,) if along == "hidden" or problem.width != 1 else ()
    logs = map(math.log, (point.samples, problem.lambda_, *width, target.dim))
    covariance = None
    if isinstance(target, PowerLawCovariance):
        covariance = Fraction(target.a)
        if width or not (0 < covariance < 1 and target.gamma + target.a > LEAST_GAMMA):
            return None
    return regime_at(Fraction(target.gamma), *logs, model=problem.model, covariance=covariance)


def local_slope(problem: Problem, samples: float) -> ScalingPoint:
    """Compute one point with its local slope, from solutions close to it on both sides.

    Args:
        problem: problem with a power-law target; its alpha is not used.
        samples: number n of samples.

    Raises: see `scaling_curve`.
    """
    return _local(scaling_curve(problem, _around(samples)), "samples")


def local_width_slope(problem: Problem, hidden: float) -> ScalingPoint:
    """Compute one point with its local slope along the hidden units.

    Args:
        problem: problem with a power-law target; its width is not used.
        hidden: number m of hidden units.

    Raises: see `width_curve`.
    """
    return _local(width_curve(problem, _around(hidden)), "hidden")


def _around(value: float) -> list[float]:
    return [value * math.exp(k * STEP) for k in (-2, -1, 0, 1, 2)]


def _local(points: Sequence[ScalingPoint], along: str) -> ScalingPoint:
    """Return the middle one of five points, with the slope extrapolated to vanishing distance."""
    first, left, here, right, last = points
    (near, error), (far, _) = slope_between(left, right, along), slope_between(first, last, along)
    return replace(here, slope=(4 * near - far) / 3, slope_error=abs(far - near) / 3 + error)


def slope_between(
    first: ScalingPoint, second: ScalingPoint, along: str = "samples"
) -> tuple[float, float]:
    """Return the slope d log(risk)/d log(n) between two points, and its error due to both risks.

    Args:
        first: the first point.
        second: the second point, at a larger number.
        along: "samples" for n, "hidden" for m.

    Returns:
        Slope and error; NaN if a risk is not positive.
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
    excess = prediction.excess_error(solution, at.overlaps)
    risk, error = solution.denoising_error, solution.errors["denoising_error"]
    spectrum = _spectrum(solution, at.denoising, prediction.best_multiple().c, dim)
    return ScalingPoint(n, m, solution, risk, error, *excess, *spectrum)


def _spectrum(
    solution: Solution, at: DenoisingProblem, c_star: float, dim: int
) -> tuple[float, float, float, float]:
    """Return gain, learned, features and bulk_edge of a ScalingPoint."""
    if at.energy is None or at.b is None or solution.q == 0:
        return math.nan, 0.0, 0.0, 0.0
    target, learned = solution.effective_target, _number(at.energy.mass, dim)
    if solution.problem.has_covariance:  # which eigenvalues belong to features is not derived
        return at.c / c_star, learned, math.nan, math.nan
    assert isinstance(target, Eigenvalues)  # a power law
    # A count, computed as a fraction of all eigenvalues with rounding errors.
    features = round(
        sum(end.features(at.v) for end in solution.problem.signed_targets(target)) * dim
    )
    edge = float(generated.shrinkage(target.noise_bulk(at.v).high, at.b, at.c))
    return at.c / c_star, learned, min(learned, float(features)), max(0.0, edge)


def _number(share: float, dim: int) -> float:
    """Return `share` times `dim`; an integer if it is one up to rounding errors of the share."""
    number = share * dim
    whole = float(round(number))
    return whole if math.isclose(number, whole, rel_tol=_ROUNDING) else number


def _with_slopes(points: list[ScalingPoint], along: str) -> list[ScalingPoint]:
    """Add the slope between the neighbours of each point.

    Its error is that of the risks plus half of the change of slope from one side to the other.
    """
    found = list(points)
    for k in range(1, len(points) - 1):
        left, here, right = points[k - 1 : k + 2]
        slope, error = slope_between(left, right, along)
        turn = abs(slope_between(here, right, along)[0] - slope_between(left, here, along)[0]) / 4
        found[k] = replace(here, slope=slope, slope_error=error + turn)
    return found
