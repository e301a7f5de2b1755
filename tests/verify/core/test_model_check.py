"""What verify trains is what the model file states, or nothing is trained."""

from dataclasses import replace

import pytest

from attention_erm.runtime.errors import InvalidParameter
from numeric.model import available
from numeric.problem.problem import Problem
from verify.__main__ import main
from verify.core import model_check
from verify.core.model_check import require_default_model, require_weight_decay

CURVE = ["curve", "--alpha", "1", "--dim", "20", "--runs", "2"]


@pytest.fixture(autouse=True)
def _asked_anew():
    yield
    for check in (require_default_model, require_weight_decay):
        check.cache_clear()


def test_heads_are_those_of_the_model_file_and_every_model_pays_weight_decay():
    require_default_model()
    for model in available():
        require_weight_decay(model)


def doubled_noise(patch):
    patch.setattr(Problem, "rho", property(lambda problem: problem.q0 + problem.noise))


def noise_on_the_label(patch):
    known = model_check.structure
    patch.setattr(
        model_check, "structure", lambda model: replace(known(model), has_noise_on_label=True)
    )


def another_index(patch):
    known = model_check.deviations
    patch.setattr(model_check, "deviations", lambda problem: 2 * known(problem))


def another_loss(patch):
    known = model_check.evaluated
    patch.setattr(
        model_check,
        "evaluated",
        lambda name, *rest: known(name, *rest) * 2 if name == "index_loss" else known(name, *rest),
    )


def another_label(patch):
    known = model_check.evaluated
    patch.setattr(
        model_check,
        "evaluated",
        lambda name, *rest: (
            known(name, *rest)[::-1] if name == "index_label" else known(name, *rest)
        ),
    )


def half_the_penalty(patch):
    known = model_check.functions

    class Halved:
        def __init__(self, model):
            self.model = model

        def reduced_variables(self, *arguments):
            v, b, c = known("float64", self.model).reduced_variables(*arguments)
            return v, b / 2, c

    patch.setattr(model_check, "functions", lambda kind, model: Halved(model))


@pytest.mark.parametrize(
    ("change", "part"),
    [
        (doubled_noise, "label noise"),
        (noise_on_the_label, "label noise"),
        (another_index, "index"),
        (another_loss, "loss"),
        (another_label, "label"),
        (half_the_penalty, "penalty"),
    ],
)
def test_another_model_file_is_refused_before_anything_is_trained(
    change, part, tmp_path, monkeypatch
):
    """The theory followed the file and training did not: a disagreement of 40 % for a wider noise,
    without a hint.
    """
    change(monkeypatch)
    require_default_model.cache_clear()
    with pytest.raises(
        Exception,
        match=f"model tied_attention: its file states another {part} than heads are trained with",
    ):
        main([*CURVE, "--out", str(tmp_path)])
    assert not any(path.suffix == ".jsonl" for path in tmp_path.iterdir())


def test_numbers_of_others_are_not_set_beside_a_changed_model(tmp_path, monkeypatch):
    half_the_penalty(monkeypatch)
    require_default_model.cache_clear()
    with pytest.raises(Exception, match="model tied_attention: its file states another penalty"):
        main(["published", "weak-decay", "--out", str(tmp_path / "report")])
    assert not (tmp_path / "report").exists()


def test_a_penalty_that_nothing_trains_is_refused(monkeypatch):
    half_the_penalty(monkeypatch)
    with pytest.raises(InvalidParameter, match="its file states another penalty than weight decay"):
        require_weight_decay("quadratic_network")
