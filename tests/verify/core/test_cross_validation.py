"""The chosen weight decay is the best of the grid on held-out samples, stored and resumed."""

import dataclasses

import numpy as np
import pytest
import torch

from attention_erm.runtime.errors import InvalidParameter
from numeric.laws.marchenko_pastur import MarchenkoPastur
from numeric.problem.problem import Problem
from verify.core.cross_validation import DecaySearch, choose
from verify.core.decay_choice import choice_store
from verify.core.draw import draw
from verify.core.measure import fresh_errors
from verify.core.minimise import DescentStatus, Lbfgs
from verify.core.pool import execute_all
from verify.core.risk import Risk
from verify.core.run import Run

BASE = Run(Problem(0.6, MarchenkoPastur(0.25), 0.1, 0.5), dim=12)
SEARCH = DecaySearch(BASE, (1e-3, 0.02, 0.1, 0.5, 10.0), folds=3)


@pytest.mark.parametrize("what", ["factorised", "symmetric", "general"])
def test_the_choice_has_the_least_validation_loss_and_is_inside(what):
    choice = choose(dataclasses.replace(SEARCH, base=BASE.varied(parametrisation=what)))
    assert choice.status is DescentStatus.CONVERGED
    assert choice.inside
    assert choice.lambda_ == SEARCH.decays[int(np.argmin(choice.validation))]
    # the choice beats either end clearly: too weak fits noise, too strong learns nothing
    assert min(choice.validation) < 0.97 * min(choice.validation[0], choice.validation[-1])


def test_validation_losses_are_those_of_cold_starts():
    """Fold by fold from other weights: the warm start changes the way, not the minimum."""
    drawn, choice = draw(BASE), choose(SEARCH)
    parts = np.array_split(np.arange(BASE.samples), 3)
    for decay, expected in zip(SEARCH.decays, choice.validation, strict=True):
        losses = []
        for part in parts:
            keep = torch.as_tensor(np.setdiff1d(np.arange(BASE.samples), part))
            risk = Risk(drawn.inputs.select(keep), drawn.labels[keep], decay, BASE.problem.beta)
            minimum = Lbfgs(tolerance=1e-7).minimise(risk, 0.5 * drawn.start.flip(1))
            held = torch.as_tensor(part)
            judge = Risk(drawn.inputs.select(held), drawn.labels[held], decay, BASE.problem.beta)
            losses.append(
                judge.train_error(risk.weights.attention_map(torch.as_tensor(minimum.weights)))
            )
        # the descents end at relative gradients of 1e-5: errors are within 1e-4, as the minimisers'
        # docstring says of m and q
        assert np.mean(losses) == pytest.approx(expected, rel=1e-4)


def test_the_final_map_is_trained_on_all_samples_with_the_choice():
    choice, drawn = choose(SEARCH), draw(BASE)
    risk = Risk(drawn.inputs, drawn.labels, choice.lambda_, BASE.problem.beta)
    s = risk.weights.attention_map(torch.as_tensor(Lbfgs().minimise(risk, drawn.start).weights))
    assert choice.train_error == risk.train_error(s)
    assert choice.test_error == fresh_errors(BASE, s, drawn.s0, drawn.test, None).test


def test_searches_are_stored_and_resumed(tmp_path):
    store = choice_store(tmp_path)
    first = execute_all([SEARCH], store, workers=1, progress=False, function=choose)
    assert choice_store(tmp_path).load([SEARCH]) == {SEARCH: first[0]}
    assert execute_all([SEARCH], store, workers=1, progress=False, function=forbidden) == first


def forbidden(search):
    raise RuntimeError("what is stored must not be done again")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"decays": (0.1, 0.2)}, "decays = .*: must be three or more"),
        ({"decays": (0.3, 0.1, 0.2)}, "increasing"),
        ({"decays": (0.0, 0.1, 0.2)}, "positive"),
        ({"folds": 1}, "folds = 1: must be 2 to the 86 samples"),
    ],
)
def test_bad_searches_are_refused(changes, message):
    with pytest.raises(InvalidParameter, match=message):
        dataclasses.replace(SEARCH, **changes)
