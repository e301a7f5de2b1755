"""State evolution of message passing for empirical risk minimisation (theory note, sections 2 and
3).

A step of message passing applies the proximal map of the loss to indices of covariance
[[q, m], [m, rho]] and width V, and passes the noisy target to the estimator. Its averages at
(m, q, V) are the conjugates of the saddle point. The order parameters of the estimator at these
conjugates are the next (m, q, V). The step is one application of the map whose fixed points are
the saddle points, without damping or acceleration.
"""

from typing import NamedTuple

from attention_erm.runtime.errors import InvalidParameter
from numeric.channel.interfaces import ChannelRule
from numeric.channel.rules import coarse_rules
from numeric.messages.stages import FirstMessage, Stage, first_response, starting_overlaps
from numeric.model import float64 as generated
from numeric.prediction.prediction import prediction_of
from numeric.problem.overlaps import Overlaps
from numeric.problem.problem import Parametrisation, Problem
from numeric.saddle.equations import SaddleMap

#: q/q0 in place of q = 0 if V > 0: channel rules need two distinct fields. The relative error of
#: the averages is of this size.
MIN_RELATIVE_Q = 1e-8


class Evolution(NamedTuple):
    """Order parameters after each step, and their changes under a coarser channel rule."""

    stages: tuple[Stage, ...]
    errors: tuple[Stage, ...]


def state_evolution(problem: Problem, start: FirstMessage, steps: int) -> Evolution:
    """Return the order parameters of message passing after each step.

    Args:
        problem: problem with the order parameters m, q and V only.
        start: initial map.
        steps: number of steps.

    Raises:
        InvalidParameter: the problem has further order parameters.
        OutsideDomain: the channel rule or the estimator does not resolve a step.
    """
    problem.require_isotropic("message passing")
    for name, invalid in [
        ("leading", problem.leading),
        ("parametrisation", problem.parametrisation is Parametrisation.GENERAL),
    ]:
        if invalid:
            rule = "has order parameters in addition to m, q and V"
            raise InvalidParameter(name, getattr(problem, name), rule, "leave it at its default")
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
    saddle, prediction = SaddleMap(problem, rule), prediction_of(problem)
    m, q = starting_overlaps(start, problem.target)
    overlaps = Overlaps(m, q or MIN_RELATIVE_Q * problem.q0, first_response(problem.beta))
    stages = list[Stage]()
    for _ in range(steps):
        # V = 0: nothing is learned.
        averages = rule.average(overlaps, problem) if overlaps.V else rule.unlearned(problem)
        conjugates = saddle.conjugates(averages.mean())
        overlaps = saddle.denoised(conjugates.pack()[0]).overlaps
        m, q = overlaps.m, overlaps.q
        estimation = float(generated.estimation_error(problem.q0, m, q))
        stages.append(Stage(m, q, overlaps.V, estimation, prediction.test_error(overlaps).value))
    return tuple(stages)
