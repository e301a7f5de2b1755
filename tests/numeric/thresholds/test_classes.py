"""Thresholds of every class of matrices: counting, minimax risk of denoising, the ellipsoid
problem, and losses that share them.
"""

from fractions import Fraction
from math import pi, sqrt

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.optimize import minimize_scalar
from strategies import examples

from attention_erm.runtime.errors import InvalidParameter
from numeric import model as models
from numeric.proven_laws.rational import rational_law
from numeric.thresholds.bayes_recovery import bayes_recovery
from numeric.thresholds.interpolation import interpolation
from numeric.thresholds.recovery import recovery

ONE = Fraction(1)
#: Class of the matrices and label numbers D.
CLASSES = {
    "quadratic_network": ("positive", 1),
    "tied_attention": ("positive", 2),
    "linear_attention": ("positive", 3),
    "signed_quadratic_network": ("symmetric", 1),
    "cross_attention": ("general", 2),
    "untied_attention": ("general", 3),
}
PARAMETERS = {"positive": 0.5, "symmetric": 0.5, "general": 1.0}  #: of a matrix, in d^2


def law(name, kappa0):
    values = {"kappa0": Fraction(kappa0), "scale": ONE, "positive": Fraction(1, 3)}
    return rational_law(
        name, **{key: values[key] for key in models.structure(name).target_settings}
    )


def minimax_risk(rank, ends):
    """Of denoising a matrix of this rank over d by soft thresholding at the best level, by
    quadrature over the semicircle.

    The signal, at infinity, is shifted by the threshold; its block of rank r has the noise 1 - (1 -
    r)^2; the rest keeps what exceeds it (Donoho and Gavish 2014, Annals of Statistics 42, 2413).
    """
    zero = 1 - rank
    radius = 2 * sqrt(zero)

    def risk(tau):
        def kept(x):
            return (x - tau) ** 2 * sqrt(max(4 * zero - x**2, 0.0)) / (2 * pi)

        return 1 - zero**2 + rank * tau**2 + ends * quad(kept, tau, radius, epsabs=1e-13)[0]

    return minimize_scalar(risk, bounds=(0, radius), method="bounded", options={"xatol": 1e-9}).fun


@pytest.mark.identity
@pytest.mark.parametrize("name", CLASSES)
@given(rank=st.fractions(Fraction(1, 100), Fraction(9, 10), max_denominator=100))
@examples(15)
def test_recovery_is_the_minimax_risk_of_denoising(name, rank):
    """Donoho, Gavish, Montanari 2013: as a share of the parameters; quadrature and its minimum are
    good to 1e-8.
    """
    kind, numbers = CLASSES[name]
    expected = (
        PARAMETERS[kind] * minimax_risk(float(rank), 1 if kind == "positive" else 2) / numbers
    )
    assert float(recovery(law(name, rank), digits=12)) == pytest.approx(expected, rel=1e-7)


def test_a_general_matrix_of_low_rank_needs_six_times_its_rank():
    """The risk of soft thresholding at the best level is 6 r d^2 (Gavish and Donoho 2014, IEEE
    Transactions 60, 5040).
    """
    rank = Fraction(1, 10**9)
    assert 2 * float(recovery(law("cross_attention", rank), digits=12)) / float(
        rank
    ) == pytest.approx(6, rel=1e-3)


@pytest.mark.parametrize("name", CLASSES)
def test_matrices_of_either_sign_fit_as_many_labels_as_they_have_parameters(name):
    kind, numbers = CLASSES[name]
    found = [
        interpolation(law(name, kappa0), noise, digits=30)
        for kappa0 in ("1/4", "2")
        for noise in (ONE, ONE / 50)
    ]
    if kind == "positive":
        assert len({one.value for one in found}) == 4
        assert all(float(one) < PARAMETERS[kind] / numbers for one in found)
    else:
        assert {float(one) for one in found} == {PARAMETERS[kind] / numbers}


def test_pure_noise_is_fitted_by_an_ellipsoid():
    """A quarter of d^2 points lie on an ellipsoid (Maillard and Bandeira 2025, arXiv 2310.05787),
    which is the quadratic network.
    """
    found = interpolation(law("quadratic_network", "1/2"), Fraction(10) ** 12, digits=12)
    assert float(found) == pytest.approx(0.25, rel=1e-5)


@pytest.mark.parametrize(
    "square, entropy",
    [
        ("tied_attention", "tied_attention_cross_entropy"),
        ("cross_attention", "cross_attention_cross_entropy"),
    ],
)
def test_the_loss_changes_no_threshold(square, entropy):
    for kind, noise in ((interpolation, (ONE / 3,)), (recovery, ()), (bayes_recovery, ())):
        values = {kind(law(name, "1/4"), *noise, digits=40).value for name in (square, entropy)}
        assert len(values) == 1


def test_what_can_be_fitted_does_not_depend_on_the_penalty():
    for direct, factors in (
        ("elastic_attention", "tied_attention"),
        ("direct_general", "cross_attention"),
    ):
        values = {
            interpolation(law(name, "1/4"), ONE, digits=30).value for name in (direct, factors)
        }
        assert len(values) == 1


@pytest.mark.identity
@pytest.mark.parametrize("name", CLASSES)
@given(rank=st.fractions(Fraction(1, 100), Fraction(9, 10), max_denominator=100))
@examples(10)
def test_no_learner_beats_the_optimum(name, rank):
    """Which needs as many labels as a matrix of that rank has parameters: r (2 - r) of all."""
    kind, numbers = CLASSES[name]
    optimal, learned = (
        float(kind_of(law(name, rank), digits=12)) for kind_of in (bayes_recovery, recovery)
    )
    assert optimal == pytest.approx(PARAMETERS[kind] * float(rank * (2 - rank)) / numbers)
    assert optimal < learned


@pytest.mark.parametrize("name", ["elastic_attention", "direct_symmetric", "direct_general"])
def test_a_frobenius_penalty_has_no_recovery(name):
    with pytest.raises(InvalidParameter, match="Frobenius"):
        recovery(law(name, "1/4"))


def test_settings_that_a_model_does_not_use_are_refused():
    for arguments, name in (({"tokens": 3}, "tokens"), ({"width": ONE / 2}, "width")):
        with pytest.raises(InvalidParameter, match=name):
            recovery(law("cross_attention", "1/4"), **arguments)


RANKS = st.fractions(Fraction(1, 20), Fraction(9, 10), max_denominator=40)
NOISES = st.fractions(Fraction(1, 50), 3, max_denominator=50)
SCALES = st.fractions(Fraction(1, 4), 4, max_denominator=12)
LIMITED = [
    name
    for name in models.available()
    if "recovery" not in models.structure(name).missing_thresholds
]
ONE_SCALE = [name for name in LIMITED if "kappa0" in models.structure(name).target_settings]


def numbers(name):
    """Numbers in a label."""
    return Fraction(models.call(models.functions("float64", name).label_numbers, (), {"T": 2}))


def agree(left, right, digits):
    assert abs(left - right) <= Fraction(10) ** (2 - digits) * max(abs(left), abs(right))


@pytest.mark.identity
@pytest.mark.parametrize("kind", ["positive", "general"])
@given(rank=RANKS, noise=NOISES, data=st.data())
@examples(4)
def test_thresholds_of_a_class_differ_by_the_numbers_in_a_label(kind, rank, noise, data):
    """Alpha D depends on neither output nor loss: to all digits."""
    of_kind = [name for name in ONE_SCALE if models.structure(name).matrix == kind]
    one, other = (data.draw(st.sampled_from(of_kind)) for _ in range(2))
    for threshold in (
        lambda law: interpolation(law, noise, digits=20),
        lambda law: recovery(law, digits=20),
        lambda law: bayes_recovery(law, digits=20),
    ):
        left, right = (
            Fraction(threshold(law(name, rank)).value) * numbers(name) for name in (one, other)
        )
        agree(left, right, 20)


@pytest.mark.identity
@pytest.mark.parametrize(
    "name", ["quadratic_network", "signed_quadratic_network", "cross_attention"]
)
@given(rank=RANKS, noise=NOISES, s=SCALES)
@examples(4)
def test_thresholds_have_no_unit(name, rank, noise, s):
    """S0 -> s S0 with Delta -> s^2 Delta; what noise-free labels recover does not depend on s."""
    values = {"kappa0": rank, "scale": s, "positive": Fraction(1, 3)}
    scaled = rational_law(
        name, **{key: values[key] for key in models.structure(name).target_settings}
    )
    agree(
        *(
            Fraction(interpolation(one, level, digits=20).value)
            for one, level in ((law(name, rank), noise), (scaled, s**2 * noise))
        ),
        20,
    )
    agree(*(Fraction(recovery(one, digits=20).value) for one in (law(name, rank), scaled)), 20)


@pytest.mark.identity
@pytest.mark.parametrize(
    "name", ["quadratic_network", "signed_quadratic_network", "cross_attention"]
)
@given(rank=RANKS, more=st.fractions(Fraction(11, 10), 2, max_denominator=10))
@examples(5)
def test_a_target_of_higher_rank_needs_more_samples(name, rank, more):
    low, high = (float(recovery(law(name, one), digits=15)) for one in (rank / more, rank))
    assert low < high < PARAMETERS[CLASSES[name][0]] / CLASSES[name][1]
    assert float(bayes_recovery(law(name, rank / more), digits=15)) < float(
        bayes_recovery(law(name, rank), digits=15)
    )


@pytest.mark.identity
@given(
    rank=RANKS,
    noise=NOISES,
    width=st.fractions(Fraction(1, 10), Fraction(9, 10), max_denominator=20),
)
@example(rank=Fraction(1, 4), noise=Fraction(1), width=Fraction(2, 3))
@examples(6)
def test_a_wider_student_fits_more(rank, noise, width):
    """As far as the limit acts; and none more than the one without a limit.

    Where the rank limit stops acting within a ball of v a quantile was looked for that its centre
    does not have, and never given up.
    """
    stated = law("quadratic_network", rank)
    found = [
        float(interpolation(stated, noise, 2, 12, one))
        for one in (width * Fraction(4, 5), width, ONE, 2 * ONE)
    ]
    assert found[0] <= found[1] <= found[2] == found[3]
    assert found[0] < found[1] or found[1] == found[2]
