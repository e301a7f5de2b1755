"""The whole derivation of a model, in order: each step needs only those before it."""

from collections.abc import Iterator
from dataclasses import replace
from functools import cache

from derive.language import channel
from derive.language.index import SymmetricScores
from derive.language.matrix import Kind, Matrix
from derive.language.model import Model
from derive.language.notation import sym
from derive.language.step import Function, Step
from derive.passes.channel import (
    any_channel,
    closed_saddle,
    repeated_tokens,
    replicon,
    token_graph,
    token_norms,
    training,
)
from derive.passes.free_entropy import direct_training, free_entropy, saddle_point
from derive.passes.limits import (
    bayes_optimal,
    interpolation,
    interpolation_norms,
    recovery,
    vocabulary,
    weak_recovery,
    zero_decay,
)
from derive.passes.softmax import (
    label_numbers,
    leading_features,
    softmax_rows,
    square_loss,
    two_tokens,
)
from derive.passes.spectral_function import (
    divided_difference,
    eigenvalue_list,
    error_decomposition,
    outliers,
    rank_limit,
    rational_law,
    semicircle,
    token_covariance,
)
from derive.scaling import exponent_tables


@cache
def derive(model: Model) -> tuple[Step, ...]:
    """All steps of the derivation, with what each shows and what each generates.

    Raises:
        DerivationError: a pass found that something it relies on does not hold for this model.
    """
    tied, positive = is_tied_softmax(model), model.matrix.kind is Kind.POSITIVE
    channel_steps = _tied_softmax_channel(model) if tied else (any_channel.step(model),)
    return (
        *free_entropy.steps(model),  # action -> free entropy e(m, q, V, mh, qh, Vh)
        *saddle_point.steps(model),  # e -> six equations -> reduced variables (v, b, c)
        rational_law.step(model),  # J and its derivatives from z(g)
        rank_limit.step(),  # of the largest eigenvalues only
        *channel_steps,
        *([closed_saddle.step(model)] if closed_saddle.applies(model) else []),  # for proofs
        training.step(model),
        divided_difference.step(),  # response of the shrinkage
        replicon.step(model),  # needs the saddle points and the sample averages
        eigenvalue_list.step(),  # J for any list of eigenvalues
        outliers.step(),
        error_decomposition.step(),
        token_covariance.step(),  # whitened matrices
        *_norms(model),
        *([token_graph.step(model)] if token_graph.missing(model) is None else []),
        *([repeated_tokens.step(model)] if repeated_tokens.applies(model) else []),
        *([leading_features.step(model)] if tied and positive else []),  # non-Gaussian indices
        *_thresholds(model),
    )


def _norms(model: Model) -> tuple[Step, ...]:
    if not token_norms.has_norms(model.index):
        return ()
    return token_norms.step(), interpolation_norms.share_step(model)


def is_tied_softmax(model: Model) -> bool:
    """Return whether the model is softmax attention of two tokens with square loss, whose channel
    has rules of its own at any length.

    These know labels that are softmax rows: noise on the label and a label of its own leave the
    model to the rules of any channel.
    """
    if model.channel.noise_on_label != 0 or model.channel.has_own_label or model.draws:
        return False
    softmax = (
        model.channel.output is channel.row_softmax and model.channel.loss is channel.square_loss
    )
    return softmax and model.index == SymmetricScores(2) and model.matrix.kind is not Kind.GENERAL


def _tied_softmax_channel(model: Model) -> tuple[Step, ...]:
    return (
        label_numbers.step(),
        square_loss.step(),  # entry by entry
        two_tokens.step(model),  # M and its derivatives as sample averages
        softmax_rows.step(model),  # loss of one row at any number of tokens
        direct_training.step(model),
    )


def _thresholds(model: Model) -> Iterator[Step]:
    missing, fitted = missing_thresholds(model), _any_penalty(model)
    if "recovery" not in missing:
        yield zero_decay.step(model)  # needs the reduced equations
    yield semicircle.step()
    if "interpolation" not in missing:
        yield interpolation.step(fitted)  # needs the limit of vanishing decay
        if model.matrix.kind is Kind.POSITIVE and token_norms.has_norms(model.index):
            yield interpolation_norms.step(fitted)
    if "recovery" not in missing:
        yield recovery.step(model)  # needs the closed form of J
    if not {"interpolation", "recovery"} <= missing.keys() and vocabulary.missing(model) is None:
        yield vocabulary.step(model, is_tied_softmax(model))
    if "bayes" not in missing:
        yield bayes_optimal.step(fitted)
    if weak_recovery.applies(fitted):
        yield weak_recovery.step(fitted)


def missing_thresholds(model: Model) -> dict[str, str]:
    """Thresholds that the model does not have, each with the reason."""
    if not any_channel.label_determines_index(model):
        return dict.fromkeys(
            ("interpolation", "recovery", "bayes"), "its labels do not determine the visible index"
        )
    if model.matrix.quadratic != 0:
        return {
            "recovery": "a Frobenius penalty prefers a matrix of higher rank to the target, "
            "however weak it is"
        }
    return {}


def skipped_steps(model: Model) -> tuple[tuple[str, str], ...]:
    """(title, reason) of each step that this model does not have."""
    titles = {
        "interpolation": "Interpolation threshold",
        "recovery": "Recovery threshold",
        "bayes": "Bayes optimum",
    }
    reason = exponent_tables.missing(model)
    features = () if is_tied_softmax(model) and model.matrix.kind is Kind.POSITIVE else (_FEATURES,)
    return (
        *((titles[name], reason) for name, reason in missing_thresholds(model).items()),
        *features,
        *((("Scaling exponents of a power law", reason),) if reason else ()),
    )


_FEATURES = (
    "Leading features treated exactly",
    "derived for softmax rows of the scores of tied tokens and for positive matrices, the indices "
    "of others are taken as Gaussian",
)


def _any_penalty(model: Model) -> Model:
    """The model with the penalty of factors: what can be fitted, and what the best estimator finds,
    is a matter of the class alone.
    """
    if model.matrix.quadratic == 0:
        return model
    lambda_, kappa = sym("lambda_ kappa")
    return replace(model, matrix=Matrix(model.matrix.kind, linear=lambda_, rank_ratio=kappa))


def functions(steps: tuple[Step, ...]) -> tuple[tuple[Step, Function], ...]:
    """Every generated function with its step, in order of generation."""
    return tuple((step, function) for step in steps for function in step.functions)
