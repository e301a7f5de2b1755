"""The whole derivation of a model, in order: each step needs only those before it."""

from functools import cache

from derive.language.model import Model
from derive.language.step import Function, Step
from derive.passes.channel import leading_features as leading
from derive.passes.channel import replicon as stability
from derive.passes.channel import softmax_rows as softmax
from derive.passes.channel import square_loss as square
from derive.passes.channel import two_tokens as channel
from derive.passes.free_entropy import direct_training as direct
from derive.passes.free_entropy import free_entropy
from derive.passes.free_entropy import saddle_point as saddle
from derive.passes.limits import bayes_optimal as bayes
from derive.passes.limits import interpolation as limits
from derive.passes.limits import recovery
from derive.passes.spectral_function import eigenvalue_list as finite_spectrum
from derive.passes.spectral_function import outliers, rank_limit
from derive.passes.spectral_function import rational_law as spectral


@cache
def derive(model: Model) -> tuple[Step, ...]:
    """All steps of the derivation, with what each shows and what each generates.

    Raises:
        DerivationError: a pass found that something it relies on does not hold for this model.
    """
    return (
        *free_entropy.steps(model),  # action -> free entropy e(m, q, V, mh, qh, Vh) with M and J symbolic
        *saddle.steps(model),  # e -> six equations -> reduced variables (v, b, c)
        *spectral.steps(model),  # J and its derivatives from z(g)
        *square.steps(),  # the loss entry by entry
        *rank_limit.steps(),  # the largest eigenvalues, for any law
        *channel.steps(model),  # M and its derivatives as sample averages
        *softmax.steps(model),  # loss of one row at any number of tokens
        *direct.steps(model),
        *stability.steps(model),  # needs the equations, of direct training too, and the sample averages
        *finite_spectrum.steps(),  # the same for any list of eigenvalues
        *outliers.steps(),  # outliers, and how the error of S splits
        *leading.steps(model),  # features whose indices are not Gaussian
        *limits.steps(model),  # needs the reduced equations
        *recovery.steps(model),  # needs the closed form of J
        *bayes.steps(model),
    )


def functions(steps: tuple[Step, ...]) -> tuple[tuple[Step, Function], ...]:
    """Every generated function with its step, in order of generation."""
    return tuple((step, function) for step in steps for function in step.functions)
