"""Weak recovery from labels without a sign: which models have it, and what a label tells."""

from dataclasses import replace
from math import exp, pi, sqrt, tanh

import pytest
import sympy as sp
from scipy.integrate import dblquad

from derive.language.channel import Channel, square_loss
from derive.language.notation import sym
from derive.models.phase_retrieval import MODEL as POSITIVE
from derive.models.signed_phase_retrieval import MODEL
from derive.models.signed_quadratic_network import MODEL as WITH_SIGN
from derive.passes.limits import weak_recovery

D, q0, q, rho, Delta = sym("D q0 q rho Delta")


def channel_of(function):
    return replace(
        MODEL,
        channel=Channel(
            lambda h: [function(one) for one in h], square_loss, noise_inside=Delta / 2
        ),
    )


def test_the_ratio_is_that_of_the_literature():
    """Half a sample for each of the d^2/2 parameters (Mondelli and Montanari: n/p = 1/2)."""
    ratio = weak_recovery.sample_ratio(MODEL)
    assert sp.simplify(ratio - rho**2 / (4 * D * q0**2)) == 0
    assert ratio.subs({rho: q0, D: 1}) == sp.Rational(1, 2) * sp.Rational(1, 2)


def test_a_label_without_a_sign_tells_twice_the_overlap():
    """By quadrature with the whole score, at a small overlap."""
    overlap, variance = 1e-3, 1.7

    def integrand(z, w):
        rest = variance - overlap
        score = (z * tanh(z * w / rest) - w) / rest
        density = exp(-((z - w) ** 2) / (2 * rest)) / sqrt(2 * pi * rest)
        return score**2 * density * exp(-(w**2) / (2 * overlap)) / sqrt(2 * pi * overlap)

    width = 8 * overlap**0.5
    found, _ = dblquad(integrand, -width, width, -10, 10)
    expected = float(weak_recovery.information().subs({q: overlap, rho: variance}))
    assert found == pytest.approx(expected, rel=5e-3)  # of relative order q/rho


@pytest.mark.parametrize(
    ("function", "has_it"),
    [
        (sp.Abs, True),
        (lambda h: h**2, True),
        (lambda h: sp.sqrt(1 + h**2), True),
        (lambda h: sp.log(1 + sp.Abs(h)), True),
        (lambda h: h, False),
        (lambda h: h**2 - h, False),
        (lambda h: sp.cos(h), False),  # even, but not of |h| alone
        (lambda h: sp.Max(sp.Abs(h), 1), False),
    ],
)
def test_labels_that_tell_the_index_up_to_its_sign(function, has_it):
    assert weak_recovery.applies(channel_of(function)) is has_it


def test_the_class_or_the_noise_of_a_model_may_exclude_it():
    assert weak_recovery.applies(MODEL)
    assert not weak_recovery.applies(POSITIVE)
    assert not weak_recovery.applies(WITH_SIGN)
    noisy = replace(MODEL, channel=replace(MODEL.channel, noise_on_label=sp.Rational(1, 10)))
    assert not weak_recovery.applies(noisy)
