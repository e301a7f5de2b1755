"""The whole derivation of a model, in order: each step needs only those before it."""

from functools import cache

from derive.language import channel
from derive.language.index import SymmetricScores
from derive.language.matrix import Kind
from derive.language.model import Model
from derive.language.step import DerivationError, Function, Step
from derive.passes.channel import any_channel, replicon, training
from derive.passes.channel.quadratic import all_quadratic
from derive.passes.free_entropy import direct_training, free_entropy, saddle_point
from derive.passes.limits import bayes_optimal, interpolation, recovery, zero_decay
from derive.passes.softmax import label_numbers, leading_features, softmax_rows, square_loss, two_tokens
from derive.passes.spectral_function import (
    divided_difference,
    eigenvalue_list,
    error_decomposition,
    outliers,
    rank_limit,
    rational_law,
    semicircle,
)


@cache
def derive(model: Model) -> tuple[Step, ...]:
    """All steps of the derivation, with what each shows and what each generates.

    Raises:
        DerivationError: a pass found that something it relies on does not hold for this model.
    """
    tied, positive = is_tied_softmax(model), model.matrix.kind is Kind.POSITIVE
    if model.channel.noise_on_label != 0 and (tied or not all_quadratic(model)):
        raise DerivationError("channel: noise_on_label is averaged for a quadratic loss alone, use noise_inside")
    return (
        *free_entropy.steps(model),  # action -> free entropy e(m, q, V, mh, qh, Vh) with M and J symbolic
        *saddle_point.steps(model),  # e -> six equations -> reduced variables (v, b, c)
        *rational_law.steps(model),  # J and its derivatives from z(g)
        *rank_limit.steps(),  # of the largest eigenvalues only
        *(_tied_softmax_channel(model) if tied else any_channel.steps(model)),
        *training.steps(model),
        *divided_difference.steps(),  # response of the shrinkage
        *replicon.steps(model),  # needs the equations, of direct training too, and the sample averages
        *eigenvalue_list.steps(),  # J for any list of eigenvalues
        *outliers.steps(),
        *error_decomposition.steps(),
        *(leading_features.steps(model) if tied and positive else ()),  # features whose indices are not Gaussian
        *(_thresholds(model) if model.matrix.quadratic == 0 and any_channel.label_determines_index(model) else ()),
    )


def is_tied_softmax(model: Model) -> bool:
    """Whether the model is softmax attention of two tokens with square loss, whose channel has rules of its own at any length."""
    softmax = model.channel.output is channel.row_softmax and model.channel.loss is channel.square_loss
    return softmax and model.index == SymmetricScores(2) and model.matrix.kind is not Kind.GENERAL


def _tied_softmax_channel(model: Model) -> tuple[Step, ...]:
    return (
        *label_numbers.steps(),
        *square_loss.steps(),  # entry by entry
        *two_tokens.steps(model),  # M and its derivatives as sample averages
        *softmax_rows.steps(model),  # loss of one row at any number of tokens
        *direct_training.steps(model),
    )


def _thresholds(model: Model) -> tuple[Step, ...]:
    positive = model.matrix.kind is Kind.POSITIVE
    return (
        *zero_decay.steps(model),  # needs the reduced equations
        *semicircle.steps(),
        *interpolation.steps(model),  # needs the limit of vanishing decay
        *(recovery.steps(model) if positive else ()),  # needs the closed form of J
        *(bayes_optimal.steps(model) if positive else ()),
    )


def functions(steps: tuple[Step, ...]) -> tuple[tuple[Step, Function], ...]:
    """Every generated function with its step, in order of generation."""
    return tuple((step, function) for step in steps for function in step.functions)
