"""State evolution of message passing for empirical risk minimisation, one step after the other (theory note, sections 2 and 3).

A step of message passing answers indices of covariance [[q, m], [m, rho]] and width V by the proximal map of the loss, and gives the
noisy target back to the estimator. Its averages at (m, q, V) are the conjugates of the saddle point, and the estimator's order
parameters at these are the next (m, q, V): one application of the map whose fixed points are the saddle points, without damping or
acceleration.
"""

from typing import NamedTuple

from attention_erm.runtime.errors import InvalidParameter
from numeric.channel.averages import Averages
from numeric.channel.rules import ChannelRule, coarse_rules
from numeric.messages.stages import FirstMessage, Stage, first_response, starting_overlaps
from numeric.model import float64 as generated
from numeric.prediction.prediction import prediction_of
from numeric.problem.conjugates import Conjugates
from numeric.problem.overlaps import Overlaps
from numeric.problem.problem import Parametrisation, Problem
from numeric.saddle.equations import SaddleMap

#: Of q0, in place of q = 0 where V > 0: channel rules need two distinct fields. What they give back changes by a share of this size.
MIN_RELATIVE_Q = 1e-8


class Evolution(NamedTuple):
    """Order parameters after each step, and how much they change on a coarser channel rule."""

    stages: tuple[Stage, ...]
    errors: tuple[Stage, ...]


def state_evolution(problem: Problem, start: FirstMessage, steps: int) -> Evolution:
    """Follow message passing for so many steps.

    Raises:
        InvalidParameter: a problem whose order parameters are more than m, q and V.
        OutsideDomain: a step leads beyond what the channel rule or the estimator resolves.
    """
    if problem.leading or problem.parametrisation is Parametrisation.GENERAL:
        name, value = (
            ("leading", problem.leading)
            if problem.leading
            else ("parametrisation", problem.parametrisation)
        )
        raise InvalidParameter(
            name, value, "has order parameters besides m, q and V", "leave it at its default"
        )
    coarse = coarse_rules(problem)[0]
    rough, fine = (_stages(problem, rule, start, steps) for rule in (coarse, coarse.refined()))
    changes = (
        Stage(*(abs(a - b) for a, b in zip(*pair, strict=True)))
        for pair in zip(rough, fine, strict=True)
    )
    return Evolution(fine, tuple(changes))


def _stages(
    problem: Problem, rule: ChannelRule, start: FirstMessage, steps: int
) -> tuple[Stage, ...]:
    saddle, (m, q) = SaddleMap(problem, rule), starting_overlaps(start, problem.target)
    overlaps, stages = (
        Overlaps(m, q or MIN_RELATIVE_Q * problem.q0, first_response(problem.beta)),
        list[Stage](),
    )
    for _ in range(steps):
        overlaps = _next(saddle, overlaps)
        stages.append(_stage(problem, overlaps))
    return tuple(stages)


def _next(saddle: SaddleMap, overlaps: Overlaps) -> Overlaps:
    conjugates: Conjugates = saddle.conjugates(_averages(saddle, overlaps).mean())
    return saddle.denoised(conjugates.pack()[0]).overlaps


def _averages(saddle: SaddleMap, overlaps: Overlaps) -> Averages:
    """Where nothing is learned (V = 0) those of S = 0."""
    return (
        saddle.rule.average(overlaps, saddle.problem)
        if overlaps.V
        else saddle.rule.unlearned(saddle.problem)
    )


def _stage(problem: Problem, at: Overlaps) -> Stage:
    estimation = float(generated.estimation_error(problem.q0, at.m, at.q))
    return Stage(at.m, at.q, at.V, estimation, prediction_of(problem).test_error(at).value)
