"""The saddle-point equations as a map of the conjugates, and its solution (theory note, section 3).

A solve finds the root on the coarsest channel rule: damped steps and Anderson acceleration, then Newton, then continuation from a
weight decay at which little is learned. Finer rules start from it with its Jacobian, which is also what turns errors of the channel
into errors of every quantity.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from numeric.channel.rules import coarse_rules
from numeric.maths.fixed_point import Anderson, Newton, Outcome, Vector, chord, iterate
from numeric.maths.replicates import half_width
from numeric.problem.overlaps import Overlaps
from numeric.problem.problem import Problem
from numeric.problem.solution import QUANTITIES, Solution, Status, failed
from numeric.saddle.equations import SaddleMap
from numeric.saddle.error_bars import Response, respond, spread
from numeric.saddle.estimator import prior_of
from numeric.saddle.replicon import replicon
from numeric.saddle.unknowns import Freedom, Unknowns, in_unknowns, unknowns_at
from numeric.saddle.zero_decay import interpolates, solve_interpolating

TOLERANCE = 1e-8  # relative change of the conjugates under one step: far below the quadrature error
NEAR = 1e-2  # residual up to which a coarse point may start a finer rule: with sharp labels coarse averages are rough
INACCURATE = 1e-2  # relative error of what follows above which a solution is not called converged
DECISIVE = ("m", "q", "delta", "test_error")  # the training error and V are small differences near interpolation
GAIN = 4.0  # by which a refinement divides errors at best: what would remain too large is not refined in vain
ANDERSON_STEPS, NEWTON_STEPS, CHORD_STEPS = 50, 8, 8
NEWTON_REACH = (
    1.0  # residual, as much as its longest step, beyond which Newton's method never found a root in benchmarks.box
)
BRIEF_STEPS = (
    15  # of Anderson's acceleration on the way from strong decay: a step too long is better halved than forced
)
STALLED = 25  # steps without half the residual: S = 0 may be far, in steps of the logarithms of one, but not farther
FREEDOM_STEPS, FREEDOM_STALLED = 40, 15  # in the unknowns of numeric.saddle.unknowns: it takes about ten where it works
PATIENCE = (
    3  # steps in which a chord or Newton's method must halve the residual: otherwise the rule is too rough for it
)
LEAST_DECAY = 1e-8  # from which the limit 0 is reached in one step
MOST_CONTINUATIONS = 8


@np.errstate(divide="ignore", over="ignore", invalid="ignore")  # what overflows ends the solve with a status
def solve(problem: Problem, start: Solution | None = None, accuracy: float | None = None) -> Solution:
    """Solve at one point, cold or from the solution at a nearby point; always returns, with a status.

    The channel is refined until the relative error estimate of every quantity is below `accuracy` (default 1e-4 for two tokens,
    5e-3 where the channel is sampled), or as often as is sensible.
    """
    if problem.lambda_ == 0:
        try:
            if interpolates(problem):
                return solve_interpolating(problem)
        except ArithmeticError:  # labels too sharp for the test error, or a law beyond double precision
            return failed(problem, Status.DIVERGED, float("inf"), 0)
    if problem.leading and start is None:
        start = _with_gaussian_features(problem)
    best: Solution | None = None
    for rule in coarse_rules(problem):
        saddle = SaddleMap(problem, rule)
        found = _solve_from(saddle, start, accuracy)
        if found.status in _ROOTLESS:  # then the other kind of rule has never found one
            return best or max(found, _solve_from(saddle, start, accuracy, continued=True), key=Solution.worth)
        best = found if best is None else max(best, found, key=Solution.worth)
        if best.status in _SETTLED:
            return best
    assert best is not None
    return best


def _with_gaussian_features(problem: Problem) -> Solution | None:
    """The solution that takes leading features for Gaussian, found faster and from farther; none where it says nothing."""
    found = solve(replace(problem, leading=0))
    return replace(found, strengths=tuple(problem.features[0].tolist())) if found.trusted and found.q > 0 else None


def solve_near(problem: Problem, x: Vector) -> Solution:
    """The solution nearest to conjugates exp(x), an attracting one or not: by Newton's method, with no other way tried."""
    rule = coarse_rules(problem)[0]
    saddle, newton = SaddleMap(problem, rule), Newton(10 * rule.roughness)
    outcome = iterate(saddle, x, newton, tolerance=rule.roughness, max_steps=NEWTON_STEPS)
    if not outcome.converged:
        return _failed(problem, outcome)
    if prior_of(problem).denoised(outcome.point).overlaps.q == 0:
        return _unlearned(saddle, outcome.point)
    return _refine(saddle, outcome, rule.accuracy)


_SETTLED = (Status.CONVERGED, Status.UNLEARNED, Status.UNSTABLE)
_ROOTLESS = (Status.STEP_LIMIT, Status.DIVERGED)


def _solve_from(saddle: SaddleMap, start: Solution | None, accuracy: float | None, continued: bool = False) -> Solution:
    """Solve with rules of one kind, from a start or from S = 0, or `continued` from stronger weight decay."""
    problem, rule = saddle.problem, saddle.rule
    try:
        at_zero = saddle.unlearned()
        if prior_of(problem).learns_nothing(at_zero):
            return _unlearned(saddle, at_zero)
        begin = start.conjugates if start is not None and start.mh > 0 else at_zero
        outcome = _from_strong_decay(saddle) if continued else _directly(saddle, begin)
        if outcome.residual < NEAR:
            return _refine(saddle, outcome, accuracy or rule.accuracy)
    except (ArithmeticError, ValueError):  # parameters so extreme that a law or an average is beyond double precision
        return failed(problem, Status.DIVERGED, float("inf"), 0)
    return _failed(problem, outcome)


def _directly(saddle: SaddleMap, begin: Vector) -> Outcome:
    """From conjugates exp(begin), in the unknowns that suit the number of samples first."""
    tolerance, freedom = saddle.rule.roughness, Freedom(saddle.problem)
    if freedom.governs(begin):
        F, start = in_unknowns(saddle.image, freedom), freedom.coordinates(begin)
        outcome = iterate(F, start, Anderson(), tolerance=tolerance, max_steps=FREEDOM_STEPS, patience=FREEDOM_STALLED)
        if outcome.converged:
            return outcome._replace(point=freedom.denoised(outcome.point).x)
    return _by_iteration(saddle, begin, tolerance, ANDERSON_STEPS)


def _by_iteration(saddle: SaddleMap, begin: Vector, tolerance: float, steps: int) -> Outcome:
    """Anderson's acceleration, then Newton's method from where it stopped."""
    first = iterate(saddle, begin, Anderson(), tolerance=tolerance, max_steps=steps, patience=STALLED)
    if first.converged or not first.residual < NEWTON_REACH:
        return first
    newton = Newton(10 * saddle.rule.roughness)
    second = iterate(saddle, first.point, newton, tolerance=tolerance, max_steps=NEWTON_STEPS, patience=PATIENCE)
    return min(first, second, key=lambda outcome: outcome.residual)


def _from_strong_decay(saddle: SaddleMap) -> Outcome:
    """Follow the root down from weight decays that leave less to learn, along lines in the logarithms, in steps that succeed."""
    problem = saddle.problem
    goal, step = np.log(problem.lambda_ or LEAST_DECAY), np.log(30.0)
    found: list[tuple[float, Vector]] = []
    trial = goal + 3 * step
    for _ in range(MOST_CONTINUATIONS):
        there = replace(saddle, problem=replace(problem, lambda_=float(np.exp(trial))))
        outcome = _continued(there, _on_the_line(found, trial), NEAR) if found else _begun(there)
        if outcome.converged:
            step *= 2 if found else 1
            found.append((trial, outcome.point))
            if trial <= goal:
                close = outcome.residual < 10 * saddle.rule.roughness  # finer rules do the rest
                return outcome if close else _continued(saddle, outcome.point, saddle.rule.roughness)
        else:
            step *= 1 / 2 if found else 2
        trial = max(goal, found[-1][0] - step) if found else trial + step
    return Outcome(np.full_like(saddle.unlearned(), np.nan), float("inf"), 0, False)


def _begun(saddle: SaddleMap) -> Outcome:
    return _by_iteration(saddle, saddle.unlearned(), NEAR, BRIEF_STEPS)


def _continued(saddle: SaddleMap, begin: Vector, tolerance: float) -> Outcome:
    """The root close by, an attracting one or not: at weak decay the map repels all the more the fewer parameters are left free."""
    newton = Newton(10 * saddle.rule.roughness)
    return iterate(saddle, begin, newton, tolerance=tolerance, max_steps=NEWTON_STEPS, patience=PATIENCE)


def _on_the_line(found: list[tuple[float, Vector]], trial: float) -> Vector:
    """Conjugates on the line through the last two roots, or the last one."""
    last, point = found[-1]
    if len(found) == 1:
        return point
    before, previous = found[-2]
    return point + (point - previous) * (trial - last) / (last - before)


def _refine(saddle: SaddleMap, outcome: Outcome, accuracy: float) -> Solution:
    """Finer rules until the error estimate is small enough; each starts from the root before, with its Jacobian.

    All in the unknowns that suit the root: a residual says little where the map of the conjugates repels.
    """
    unknowns = unknowns_at(saddle.problem, outcome.point)
    outcome = outcome._replace(point=unknowns.coordinates(outcome.point))
    response = respond(saddle, unknowns, outcome.point)
    steps, coarser, solution, best = outcome.steps, saddle, _failed(saddle.problem, outcome), outcome
    for left in reversed(range(saddle.rule.refinements)):
        finer = replace(saddle, rule=coarser.rule.refined())
        outcome = chord(
            in_unknowns(finer.image, unknowns), outcome.point, response.jacobian,
            tolerance=TOLERANCE, max_steps=CHORD_STEPS, patience=PATIENCE,
        )  # fmt: skip
        steps += outcome.steps
        if not np.isfinite(outcome.residual):
            return _judged(solution, best) if solution.trusted else _failed(saddle.problem, outcome)
        best = outcome._replace(steps=steps)
        solution = _solution(finer, coarser, unknowns, best, response)
        if solution.error_estimate < accuracy or solution.relative_error(DECISIVE) > GAIN**left * INACCURATE:
            break
        coarser = finer
    return _judged(solution, best)


def _solution(
    saddle: SaddleMap, coarser: SaddleMap, unknowns: Unknowns, outcome: Outcome, response: Response
) -> Solution:
    """Values at a root, with errors from the coarser rule and from replicates; stability is judged of the last one alone."""
    at = unknowns.denoised(outcome.point)
    averages = saddle.averages(at)
    values = saddle.quantities(at, averages.mean())[0]
    errors = spread(saddle, unknowns, outcome.point, at, averages, coarser.averages(at), response)
    named: dict[str, Any] = dict(zip(QUANTITIES, map(float, values), strict=True))
    bounds = {name: float(error) for name, error in zip(QUANTITIES, errors, strict=True)}
    x, denoising, overlaps = at
    return Solution(
        problem=saddle.problem,
        status=Status.CONVERGED,
        **named,
        quantile=None if denoising.energy is None else denoising.energy.quantile,
        odd=_odd(overlaps, x),
        replicon=float("nan"),
        residual=outcome.residual,
        iterations=outcome.steps,
        errors=bounds,
        strengths=_strengths(overlaps, x),
    )


def _judged(solution: Solution, outcome: Outcome) -> Solution:
    """The solution with its stability, which takes as long as many steps, and what both say of it.

    The rounding of a small risk joins its error bar here only: no finer rule would mend it.
    """
    problem, x = solution.problem, solution.conjugates
    stable = replace(solution, replicon=replicon(problem, x))
    prior = prior_of(problem)
    rounding = prior.risk(prior.denoised(x)).rounding
    errors = solution.errors | {"unit_gain_error": solution.errors["unit_gain_error"] + rounding}
    return replace(stable, status=_status(stable, outcome), errors=errors)


def _odd(overlaps: Overlaps, x: Vector) -> tuple[float, float, float, float] | None:
    if not overlaps.V_odd:
        return None
    qh, Vh = np.exp(x[3:])
    return overlaps.q_odd, overlaps.V_odd, float(qh), float(Vh)


def _strengths(overlaps: Overlaps, x: Vector) -> tuple[float, ...]:
    return tuple(np.exp(x[3:]).tolist()) if overlaps.learned else ()


def _status(solution: Solution, outcome: Outcome) -> Status:
    vanished = solution.q == 0  # on this rule, and not on the coarser one
    if vanished or solution.relative_error(DECISIVE) > INACCURATE:
        return Status.INACCURATE
    if not outcome.converged:
        # What is left of a residual within the error of the channel is the roughness of its rule, not the solver's.
        return Status.ROUGH if outcome.residual < solution.error_estimate else Status.STEP_LIMIT
    return Status.UNSTABLE if solution.replicon < 0 else Status.CONVERGED


def _unlearned(saddle: SaddleMap, x: Vector) -> Solution:
    """The phase S = 0: exact up to the average over labels."""
    finer = replace(saddle, rule=saddle.rule.refined())
    denoised = prior_of(saddle.problem).denoised
    at = denoised(x)
    coarse = saddle.quantities(at, saddle.rule.unlearned(saddle.problem).mean())[0]
    averages = finer.rule.unlearned(finer.problem)
    values = finer.quantities(denoised(finer.conjugates(averages.mean())[0]), averages.mean())[0]
    bounds = np.abs(values - coarse)
    if finer.rule.independent:
        runs = [finer.quantities(denoised(finer.conjugates(one)[0]), one)[0] for one in averages.each()]
        bounds += half_width(np.array(runs))
    named: dict[str, Any] = dict(zip(QUANTITIES, map(float, values), strict=True))
    return Solution(
        problem=saddle.problem,
        status=Status.UNLEARNED,
        **named,
        quantile=None,
        odd=None,
        replicon=1.0,
        residual=0.0,
        iterations=0,
        errors={name: float(error) for name, error in zip(QUANTITIES, bounds, strict=True)},
        strengths=_strengths(at.overlaps, x),
    )


def _failed(problem: Problem, outcome: Outcome) -> Solution:
    """A solve that left the domain or found no root."""
    status = Status.STEP_LIMIT if np.isfinite(outcome.residual) else Status.DIVERGED
    return failed(problem, status, outcome.residual, outcome.steps)
