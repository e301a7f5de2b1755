"""Bayes-optimal estimation error for the same data (theory note, section 5; generated step
`bayes`).

Labels that determine the index are linear measurements of S0. A label of classes, or one that hides
the sign of the index, tells about S0 through its score, the slope of log P(label | index) in what
is known of the index: with the score in place of the dual field, the equations of the channel give
the noise of the matrix that is denoised (Barbier et al., arXiv 1708.03395).
"""

import numpy as np
import scipy

from attention_erm.runtime.errors import InvalidParameter, NoAnswer
from numeric.channel.block_average import Nodes, index_strip, score_means
from numeric.channel.blocks import samples
from numeric.laws.law import ROUNDING, Target, edge_grid
from numeric.maths.domain import OutsideDomain
from numeric.model import ChannelKind, ModelStructure, structure
from numeric.model import float64 as physics
from numeric.problem.axes import AxisProducts, axis_overlaps, envelope_derivatives
from numeric.problem.overlaps import Overlaps
from numeric.problem.problem import Problem, require_problem

# Nodes per bulk; the cube of a square-root edge is so smooth that the relative error is 1e-9.
_POINTS = 2000
# Bracket of v / second moment; outside, float64 cannot resolve the equation.
_BRACKET = (1e-14, 1e6)
# The same for labels that tell by their score, whose cells the rule resolves down to 0.4 % of their
# noise; and the variances between which a change of sign is looked for.
_BRACKET_OF_SCORES, _SCANNED = (1e-5, 1e5), 25
# Nodes per direction in blocks of one visible index, of several, and for labels without a sign.
_SINGLE, _SEVERAL, _WITHOUT_SIGN = 60, 24, 240


def cubed_density(v: float, target: Target) -> float:
    """Return the integral of the cubed density of the noisy law mu_v (1/eigenvalue^2).

    Args:
        v: variance of the semicircle, eigenvalue^2.
        target: law of the target.
    """
    total = 0.0
    for low, high in target.support(v):
        x, weights = edge_grid(low, high, _POINTS)
        total += float(np.sum(weights * target.density(v, x) ** 3))
    return total


def require_bayes(model: str) -> None:
    """Check that a model has a Bayes optimum.

    Raises:
        InvalidParameter: it has none.
    """
    shape = structure(model)
    reason = shape.missing_thresholds.get("bayes")
    if reason and _tells_by_score(shape):
        sampled = shape.channel is ChannelKind.SAMPLED_BLOCKS
        reason = "averages of three or more indices are sampled" if sampled else None
    if reason:
        raise InvalidParameter("model", model, f"has no Bayes optimum: {reason}", "choose another")


def bayes_error(problem: Problem) -> float:
    """Return the smallest possible estimation error E|S - S0|^2/d (eigenvalue^2).

    If a label determines the index, it does not depend on the inverse temperature of the labels:
    the noise is inside the softmax, which is invertible.

    Args:
        problem: the problem; its weight decay, width and inverse temperatures are not used.

    Raises:
        InvalidParameter: the model has no Bayes optimum.
        OutsideDomain: the result is beyond double precision.
        NoAnswer: several errors are consistent with labels that tell by their score.
    """
    require_problem(problem)
    require_bayes(problem.model)
    problem.require_isotropic("the Bayes optimum")
    if _tells_by_score(structure(problem.model)):
        return _error_by_scores(problem)
    alpha, target, noise = problem.alpha, problem.target, problem.noise
    generated, numbers = problem.generated, problem.label_numbers

    def excess(log_v: float) -> float:
        v = np.exp(log_v)
        ratio = generated.bayes_sample_ratio(v, cubed_density(v, target), noise, numbers)
        return float(ratio) - alpha

    low, high = (np.log(end * target.q0) for end in _BRACKET)
    if excess(low) <= 0:
        if noise > 0:
            raise OutsideDomain(f"alpha = {alpha:g}: the optimal error is below double precision")
        return 0.0  # beyond Bayes-optimal recovery
    if excess(high) >= 0:
        raise OutsideDomain(f"alpha = {alpha:g}: too few samples for double precision")
    v = float(np.exp(scipy.optimize.brentq(excess, low, high, xtol=1e-12)))
    return float(generated.bayes_error(v, cubed_density(v, target)))


def message_noise(problem: Problem, error: float) -> float:
    """Return the noise v of the matrix that the samples show, given what is known of S0.

    Args:
        problem: problem with sample ratio, label noise and target.
        error: estimation error of the posterior mean of S0, eigenvalue^2; at least the rounding
            error of q0 is used.
    """
    error = max(error, ROUNDING * problem.q0)
    if _tells_by_score(structure(problem.model)):
        return _unit_noise(problem, error) / problem.alpha
    # A matrix whose spectral density is zero keeps the whole noise as its error.
    no_density = 0.0
    ratio = problem.generated.bayes_sample_ratio(
        error, no_density, problem.noise, problem.label_numbers
    )
    return error * float(ratio) / problem.alpha


def _unit_noise(problem: Problem, error: float) -> float:
    """Return alpha v of labels that tell by their score; v is inversely proportional to the
    samples.
    """
    overlap = max(problem.q0 - error, ROUNDING * problem.q0)  # a guess may be worse than none
    overlaps = Overlaps(overlap, overlap, 1.0)
    products, R = [], 0.0
    for sample in samples(problem):
        axes = axis_overlaps(overlaps, problem, sample.shares)
        count = _SINGLE if sample.indices == 1 else _SEVERAL
        strip = index_strip(sample, axes.fields)
        nodes = Nodes(count, strip) if sample.classes else Nodes(_WITHOUT_SIGN)
        of_block, F1, F2 = score_means(sample, axes.fields, nodes)
        products.append(AxisProducts(axes, F1, F2))
        R += of_block
    _, dM_dm, dM_dq, dM_dV, _ = envelope_derivatives(problem, overlaps, products, 0.0, R)
    mh, qh, _ = problem.generated.conjugates(1.0, dM_dm, dM_dq, dM_dV)
    v, *_ = problem.generated.reduced_variables(mh, qh, 1.0, *problem.penalty)
    return float(v)


def _tells_by_score(shape: ModelStructure) -> bool:
    """Return whether labels are classes, or hide the sign of the index."""
    return bool(shape.draws) or shape.has_hidden_sign


def _error_by_scores(problem: Problem) -> float:
    """Return the least error from labels that tell by their score."""
    alpha, target = problem.alpha, problem.target

    def error(log_v: float) -> float:
        v = float(np.exp(log_v))
        return float(physics.bayes_error(v, cubed_density(v, target)))

    def excess(log_v: float) -> float:
        return float(np.log(message_noise(problem, error(log_v))) - log_v)

    low, high = (float(np.log(end * target.q0)) for end in _BRACKET_OF_SCORES)
    scanned = np.linspace(low, high, _SCANNED)
    values = np.array([excess(log_v) for log_v in scanned])
    found = np.flatnonzero((values[:-1] > 0) != (values[1:] > 0))
    if not len(found) and values[0] > 0 and _has_no_sign(problem):
        return target.q0  # below weak recovery
    if not len(found):
        end = "too few samples" if values[0] > 0 else "the optimal error is too small"
        raise OutsideDomain(f"alpha = {alpha:g}: {end} for double precision")
    if len(found) > 1:
        raise NoAnswer(
            f"alpha = {alpha:g}: {len(found)} errors are consistent with the labels; which is the "
            "least one is not derived; change alpha"
        )
    at = found[0]
    return error(scipy.optimize.brentq(excess, scanned[at], scanned[at + 1], xtol=1e-10))


def _has_no_sign(problem: Problem) -> bool:
    """Return whether neither labels nor the mean of the target tell its sign."""
    zero_mean = abs(problem.target.t0) < ROUNDING * float(np.sqrt(problem.q0))
    return structure(problem.model).has_hidden_sign and problem.is_indefinite and zero_mean
