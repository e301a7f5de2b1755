"""Check that the hand-written training code implements the default model file.

Heads are trained by faster code than the generated one, and on token sequences. The theory follows
the model file. If both did not state the same model, comparing them would be meaningless.
"""

from __future__ import annotations

import math
from functools import cache

import torch

from attention_erm.runtime.errors import InvalidParameter
from numeric.laws.marchenko_pastur import MarchenkoPastur
from numeric.model import DEFAULT, functions, structure
from numeric.problem.problem import Problem
from verify.core.data import contrasts_of, packed, row_softmax, unpacked
from verify.core.risk import losses
from verify.core.sensing.samples import deviations, evaluated, stacked

_DRAWN, _RELATIVE = 16, 1e-9


@cache
def require_default_model() -> None:
    """Raise InvalidParameter if the training code has other data or another risk than the file of
    the default model.
    """
    if parts := [name for name, same in _heads().items() if not same]:
        rule = f"its file states another {' and another '.join(parts)} than heads are trained with"
        way_out = (
            "write the change into a new model file (python -m derive new) and train it by "
            "python -m verify models"
        )
        raise InvalidParameter("model", DEFAULT, rule, way_out)


@cache
def require_weight_decay(model: str) -> None:
    """Raise InvalidParameter if the penalty of a model file is not weight decay lambda ||W||^2 of
    the factors.
    """
    if structure(model).has_linear_penalty and not _decays(model):
        rule = (
            "its file states another penalty than weight decay lambda ||W||^2, and nothing "
            "trains it"
        )
        raise InvalidParameter(
            "model", model, rule, "keep linear=lambda_*sqrt(kappa); a quadratic part may be added"
        )


def _heads() -> dict[str, bool]:
    """Return, for each part of the problem, whether training code and model agree at random
    indices.
    """
    shape = structure(DEFAULT)
    factors_of_two_tokens = (shape.matrix, shape.has_linear_penalty, shape.frobenius_settings) == (
        "positive",
        True,
        (),
    )
    # variances of h11, h12, h22 per unit overlap
    spread = packed(torch.ones(1, 2, 2).double())[0].reciprocal()
    if not (factors_of_two_tokens and len(shape.index_variances) == 3):
        return {"class of matrices, index or penalty": False}
    try:
        problem = Problem(
            1.0, MarchenkoPastur(0.7), lambda_=0.3, noise=0.45, width=0.6, beta=1.3, beta0=0.8
        )
    except InvalidParameter:  # the model has more or fewer settings than these
        return {"set of parameters": False}
    drawn = torch.randn(
        2, _DRAWN, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0)
    )
    h, noisy = (unpacked(units, 2) for units in drawn)
    by_name, label_of = (
        [matrix[:, 0, 0], matrix[:, 0, 1], matrix[:, 1, 1]] for matrix in (h, noisy)
    )
    labels = stacked(evaluated("index_label", label_of, problem), noisy[:, 0, 0]).T.reshape(
        -1, 2, 2
    )
    loss = evaluated("index_loss", [*by_name, *labels.reshape(-1, 4).T], problem)
    return {
        "index": torch.allclose(deviations(problem), spread, rtol=_RELATIVE),
        "label": torch.allclose(labels, row_softmax(problem.beta0, noisy), rtol=_RELATIVE),
        "label noise": math.isclose(problem.rho - problem.q0, problem.noise / 2, rel_tol=_RELATIVE)
        and not shape.has_noise_on_label,
        "loss": torch.allclose(loss, losses(contrasts_of(h), labels, problem.beta), rtol=_RELATIVE),
        "penalty": _decays(problem.model),
    }


def _decays(model: str) -> bool:
    """Return whether the penalty of the factors is lambda sqrt(kappa) d tr S, or the sum of
    singular values, plus an optional Frobenius term.

    The derived threshold is this penalty divided by the conjugate of m.
    """
    settings = {"lambda_": 0.3, "kappa": 0.6}
    penalty = [settings.get(name, 0.05) for name in structure(model).penalty_settings]
    conjugate = 0.7
    _, threshold, _ = map(
        float, functions("float64", model).reduced_variables(conjugate, 0.8, 0.9, *penalty)
    )
    expected = settings["lambda_"] * math.sqrt(settings["kappa"]) / conjugate
    return math.isclose(threshold, expected, rel_tol=_RELATIVE)
