"""The algebra of replica-symmetric matrices against explicit matrices, and the passes built on
it.
"""

import pytest
import sympy as sp

from derive.language.errors import DerivationError
from derive.language.matrix import Kind
from derive.language.model import ModelError, Target
from derive.language.notation import sym
from derive.language.step import Function, Output
from derive.models import load
from derive.passes.free_entropy import prior, replicas
from derive.passes.free_entropy import saddle_point as saddle
from derive.passes.free_entropy.replicas import REPLICAS, ReplicaMatrix

a, o, c, p = sp.symbols("a o c p", positive=True)


def explicit(matrix: ReplicaMatrix, size: int) -> sp.Matrix:
    values = (matrix.diagonal.subs(REPLICAS, size), matrix.offdiagonal.subs(REPLICAS, size))
    return sp.Matrix(size, size, lambda i, j: values[0] if i == j else values[1])


@pytest.mark.parametrize("size", [2, 3, 4])
def test_replica_algebra_is_that_of_explicit_matrices(size):
    left, right = ReplicaMatrix(a, o), ReplicaMatrix(c, p)
    assert sp.simplify(
        explicit(left, size) * explicit(right, size) - explicit(left.times(right), size)
    ).is_zero_matrix
    assert sp.simplify(
        explicit(left, size) * explicit(left.inverse(), size) - sp.eye(size)
    ).is_zero_matrix
    assert (
        sp.simplify(
            left.times(right).trace().subs(REPLICAS, size)
            - (explicit(left, size) * explicit(right, size)).trace()
        )
        == 0
    )
    determinant = sp.exp(left.log_determinant().subs(REPLICAS, size))
    assert sp.simplify(determinant - explicit(left, size).det()) == 0


def test_coupling_of_order_parameters():
    """The terms m mh - q Vh/2 + V qh/2 of the free entropy (theory note, section 2)."""
    m, q, V, mh, qh, Vh = (saddle.m, saddle.q, saddle.V, saddle.mh, saddle.qh, saddle.Vh)
    assert sp.expand(replicas.coupling_term() - (m * mh - q * Vh / 2 + V * qh / 2)) == 0


def test_sensing_matrix_has_entry_variance_one_plus_delta_over_two():
    assert (
        prior.sensing_variance(Kind.POSITIVE)
        == prior.sensing_variance(Kind.SYMMETRIC)
        == sp.Rational(1, 2)
    )
    assert prior.sensing_variance(Kind.GENERAL) == 1


def test_denoiser_matches_the_theory_note():
    model = load("tied_attention")
    denoiser = prior.denoiser(model)
    (mh, qh, Vh), (lambda_, kappa) = (saddle.mh, saddle.qh, saddle.Vh), sym("lambda_ kappa")
    assert sp.simplify(denoiser.threshold - lambda_ * sp.sqrt(kappa) / mh) == 0
    assert sp.simplify(denoiser.variance - qh / (2 * mh**2)) == 0
    assert sp.simplify(denoiser.prefactor - mh**2 / (2 * Vh)) == 0


def test_a_limit_that_was_not_taken_is_named():
    with pytest.raises(DerivationError, match="was a limit left untaken"):
        Function("f", "test", (saddle.m,), (Output("f", "f", saddle.m * REPLICAS),))


def test_a_replicated_exponent_must_vanish_without_replicas():
    with pytest.raises(DerivationError, match="does not vanish"):
        replicas.replica_limit(1 + REPLICAS)


def test_a_diverging_zero_temperature_limit_is_refused():
    with pytest.raises(DerivationError, match="diverges"):
        replicas.zero_temperature(1 / replicas.TEMPERATURE**2)


def test_a_target_that_is_no_probability_law_is_refused():
    g = sp.Symbol("g")
    with pytest.raises(ModelError, match="must be 1"):
        Target("wrong", g, 2 / g, ())
    with pytest.raises(ModelError, match="rational"):
        Target("wrong", g, 1 / g + sp.sqrt(g), ())
