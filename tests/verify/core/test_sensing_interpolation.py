"""Which labels can be fitted, seen in training: it depends on the class of the matrices and not on
the loss.
"""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
import torch

from numeric import model as models
from numeric.problem.problem import Problem
from numeric.proven_laws.rational import rational_law
from numeric.thresholds.interpolation import interpolation
from verify.core.minimise import Lbfgs
from verify.core.sensing.risk import SensedRisk
from verify.core.sensing.run import default_target
from verify.core.sensing.samples import labels_of, noisy_indices, sensed_indices
from verify.core.sensing.shape import Shape

DECAYS = (1e-2, 1e-4, 1e-6)
#: of the excess loss per sample: where labels can be fitted it is of the order of the decay squared
FITTED = 1e-5


def excess_loss(name, dim, samples, seed=0):
    """Mean training loss at vanishing decay above what each label itself would give."""
    shape_of, rng = models.structure(name), np.random.default_rng(seed)
    problem = Problem(1.0, default_target(name, 0.5), DECAYS[0], 0.5, model=name)
    size = dim**2 if shape_of.matrix == "general" else dim * (dim + 1) // 2
    sensing = torch.as_tensor(rng.standard_normal((len(shape_of.index_variances), samples, size)))
    s0 = torch.as_tensor(rng.standard_normal((dim, dim))) / dim**0.5
    s0 = s0 if shape_of.matrix == "general" else s0 @ s0.T
    noisy = noisy_indices(sensed_indices(s0, sensing, problem), problem, rng)
    shape = Shape(shape_of.matrix, True, dim, dim)
    weights = torch.as_tensor(rng.standard_normal((dim, shape.columns)))
    for decay in DECAYS:
        risk = SensedRisk(
            replace(problem, lambda_=decay), shape, sensing, labels_of(noisy, problem, rng)
        )
        weights = torch.as_tensor(
            Lbfgs(tolerance=1e-4, max_steps=4000, proximal_steps=0).minimise(risk, weights).weights
        )
    fitted = risk.losses(risk.indices(shape.matrix(weights)))
    own = risk.losses(noisy * problem.beta0 / problem.beta)
    return float((fitted - own).mean())


@pytest.mark.parametrize("multiple, fits", [(0.6, True), (1.6, False)])
@pytest.mark.parametrize(
    "name",
    [
        pytest.param("tied_attention", marks=pytest.mark.slow),
        "tied_attention_cross_entropy",
        pytest.param("cross_attention", marks=pytest.mark.slow),
        "cross_attention_cross_entropy",
        "quadratic_network",
        pytest.param("signed_quadratic_network", marks=pytest.mark.slow),
    ],
)
def test_labels_are_fitted_below_the_threshold_alone(name, multiple, fits):
    dim, names = 16, models.structure(name).target_settings
    values = {"kappa0": Fraction(1, 2), "scale": Fraction(1), "positive": Fraction(1, 2)}
    law = rational_law(name, **{key: values[key] for key in names})
    threshold = float(interpolation(law, Fraction(1, 2), digits=6))
    assert (excess_loss(name, dim, round(multiple * threshold * dim**2)) < FITTED) is fits


@pytest.mark.parametrize(
    "name, parameters, numbers",
    [
        ("signed_quadratic_network", 36, 1),
        pytest.param("cross_attention", 64, 2, marks=pytest.mark.slow),
    ],
)
def test_counting_is_sharp_at_any_size(name, parameters, numbers):
    """Without positivity as many numbers can be fitted as S has parameters, d (d + 1)/2 or d^2 at d
    = 8, and not one sample more.
    """
    most = parameters // numbers
    assert excess_loss(name, 8, most - 2) < FITTED < excess_loss(name, 8, most + 2)
