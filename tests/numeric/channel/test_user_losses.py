"""Losses and labels of a user's file in limits where a shipped model, or nothing, is left."""

from fractions import Fraction

import numpy as np
import pytest

from numeric.laws.marchenko_pastur import MarchenkoPastur
from numeric.laws.rational_target import RationalTarget
from numeric.model_files import known_model
from numeric.problem.problem import Problem
from numeric.saddle.solve import solve
from numeric.studies.bayes_estimation_error import bayes_error
from numeric.studies.capacity import capacity
from verify.core.sensing.run import default_target

HUBER = '''
"""Huber loss: square near the label, linear beyond a width."""
from dataclasses import replace
import sympy as sp
from derive.language.setting import setting
from derive.models.quadratic_network import MODEL as SQUARE

bend = setting("bend", "distance from the label where the loss turns linear", "1 2 1/2")

def huber_loss(output, label):
    away = sp.Abs(output[0] - label[0])
    return sp.Piecewise((away**2, away < bend), (2 * bend * away - bend**2, True))

MODEL = replace(SQUARE, name="huber", title="Huber loss",
                channel=replace(SQUARE.channel, loss=huber_loss))
'''

SIGNED = '''
"""Flipped signs of a network of either sign."""
from dataclasses import replace
from derive.language.channel import hinge_loss, sign
from derive.language.setting import setting
from derive.models.signed_quadratic_network import MODEL as SQUARE

flips = setting("flips", "share of flipped labels", "1/10 1/5 1/20", "(0, 1)")
MODEL = replace(SQUARE, name="signed_signs", title="Flipped signs",
                channel=replace(SQUARE.channel, loss=hinge_loss, label=sign, flips=flips))
'''

UNSEEN = '''
"""Labels of several scores, of which the student sees one."""
from dataclasses import replace
import sympy as sp
from derive.language.channel import Channel, {loss}
from derive.language.index import SymmetricScores
from derive.models.quadratic_network import MODEL as SEEN

def of_all(h):
    z = h[0, 0] + h[0, 1] / 2 + h[1, 1] / 2
    return [{label}]

MODEL = replace(SEEN, name="{name}", title="Partly seen", index=SymmetricScores(2),
                channel=Channel(lambda h: [h[0, 0]], {loss}, label=of_all,
                                noise_inside=SEEN.channel.noise_inside))
'''


@pytest.fixture(scope="module")
def folder(own_models):
    unseen = {
        name: UNSEEN.format(name=name, loss=loss, label=label)
        for name, loss, label in (
            ("part_of_a_sum", "square_loss", "z"),
            ("part_of_a_sign", "logistic_loss", "sp.sign(z)"),
        )
    }
    for name, text in {"huber": HUBER, "signed_signs": SIGNED, **unseen}.items():
        (own_models / f"{name}.py").write_text(text)
    return own_models


def test_huber_at_large_width_is_the_square_loss(folder):
    stated = {"alpha": 1.0, "target": MarchenkoPastur(0.5), "lambda_": 0.1, "noise": 0.5}
    square = solve(Problem(**stated, model="quadratic_network")).unwrap()
    model = str(folder / "huber.py")
    wide, narrow = (
        solve(Problem(**stated, model=model, extra=(("bend", bend),))).unwrap()
        for bend in (1e3, 0.5)
    )
    for name in ("m", "q", "train_error", "test_error", "free_entropy"):
        value = getattr(square, name)
        assert getattr(wide, name) == pytest.approx(value, rel=1e-6), name
        assert abs(getattr(narrow, name) - value) > 1e-2 * abs(value), name


def test_flips_of_half_the_labels_teach_nothing(folder):
    """The overlap vanishes like 1 - 2 flips for a matrix of either sign."""
    model = known_model(str(folder / "signed_signs.py"))
    target = RationalTarget.of(model, kappa0=0.5, positive=0.5, scale=1.0)
    found = [
        solve(Problem(1.0, target, 0.1, 0.2, model=model, extra=(("flips", flips),))).unwrap()
        for flips in (0.1, 0.49, 0.499)
    ]
    known = [one.m / np.sqrt(one.q * one.problem.q0) for one in found]
    assert known[0] > 0.3
    assert known[2] == pytest.approx(known[1] / 10, rel=0.05)
    assert known[2] < 0.005
    assert found[2].agreement == pytest.approx(0.5, abs=0.005)


def test_capacity_of_random_signs_is_one_for_a_symmetric_matrix(folder):
    """Cover: twice the number d^2/2 of its parameters."""
    model = known_model(str(folder / "signed_signs.py"))
    of = Problem(1.0, default_target(model, 0.5), 0.1, 0.2, model=model, extra=(("flips", 0.1),))
    found = capacity(of, random_labels=True)
    assert Fraction(found.alpha).limit_denominator(1000) == 1
    assert capacity(of).alpha > 1


@pytest.mark.parametrize(
    ("name", "seen", "accuracy"),
    [
        ("part_of_a_sum", "quadratic_network", 1e-9),
        ("part_of_a_sign", "sign_quadratic_logistic", 2e-6),
    ],
)
def test_scores_that_the_student_does_not_see_are_noise_on_the_label(folder, name, seen, accuracy):
    """They are independent of the one that it sees; per unit, of a variance of 1/4 + 2/4 over 2."""
    stated = {"alpha": 1.0, "target": MarchenkoPastur(0.5), "lambda_": 0.05}
    partly = solve(Problem(**stated, noise=0.25, model=str(folder / f"{name}.py"))).unwrap()
    rho = partly.problem.rho * (1 + 3 / 8)
    noisy = solve(Problem(**stated, noise=2 * (rho - partly.problem.q0), model=seen)).unwrap()
    for quantity in ("m", "q", "V", "train_error", "test_error", "free_entropy"):
        one, other = (getattr(solution, quantity) for solution in (partly, noisy))
        assert one == pytest.approx(other, rel=accuracy), quantity
    if partly.misclassification is not None:
        away = abs(partly.misclassification - noisy.misclassification)
        assert away < 2 * partly.errors["misclassification"]  # sampled, with two directions
        assert partly.errors["misclassification"] < 2e-3


def test_the_best_predictor_knows_more_than_the_student_sees(folder):
    """Other scores of the target tell about it, too; as noise they would not."""
    of = Problem(1.0, MarchenkoPastur(0.5), 0.05, 0.25, model=str(folder / "part_of_a_sign.py"))
    as_noise = 2 * (of.rho * (1 + 3 / 8) - of.q0)
    seen = Problem(1.0, of.target, 0.05, as_noise, model="sign_quadratic_logistic")
    assert bayes_error(of) < 0.9 * bayes_error(seen)
