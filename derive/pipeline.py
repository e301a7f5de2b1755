"""The whole derivation of a model, in order: each step needs only those before it."""

from functools import lru_cache

from derive import (
    bayes,
    channel,
    direct,
    features,
    finite_spectrum,
    leading,
    limits,
    recovery,
    replicas,
    saddle,
    softmax,
    spectral,
    stability,
)
from derive.derivation import Function, Step
from derive.model import Model


@lru_cache(maxsize=4)
def derive(model: Model) -> tuple[Step, ...]:
    """All steps of the derivation, with what each shows and what each generates.

    Raises:
        DerivationError: a pass found that something it relies on does not hold for this model.
    """
    return (
        *replicas.steps(model),  # action -> free entropy e(m, q, V, mh, qh, Vh) with M and J symbolic
        *saddle.steps(model),  # e -> six equations -> reduced variables (v, b, c)
        *spectral.steps(model),  # J and its derivatives from z(g)
        *channel.steps(model),  # M and its derivatives as sample averages
        *softmax.steps(model),  # loss of one row at any number of tokens
        *stability.steps(model),  # needs the equations and the sample averages
        *direct.steps(model),
        *finite_spectrum.steps(),  # the same for any list of eigenvalues
        *features.steps(),  # outliers, and how the error of S splits
        *leading.steps(model),  # features whose indices are not Gaussian
        *limits.steps(model),  # needs the reduced equations
        *recovery.steps(model),  # needs the closed form of J
        *bayes.steps(model),
    )


def functions(steps: tuple[Step, ...]) -> tuple[tuple[Step, Function], ...]:
    """Every generated function with its step, in order of generation."""
    return tuple((step, function) for step in steps for function in step.functions)
