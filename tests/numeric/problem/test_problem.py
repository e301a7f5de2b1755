"""Problems are valid by construction up to the ends of every range; solutions say what of them may
be used.
"""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from attention_erm.runtime.errors import InvalidParameter
from numeric.laws.eigenvalue_list import Eigenvalues, finite_rank, singular_values
from numeric.laws.marchenko_pastur import MarchenkoPastur
from numeric.laws.power_law import power_law
from numeric.laws.rational_target import RationalTarget
from numeric.problem.conjugates import AntisymmetricConjugates, Conjugates
from numeric.problem.decay_law import LARGEST_LOGARITHM, DecayLaw
from numeric.problem.fields import Fields, split
from numeric.problem.overlaps import Overlaps
from numeric.problem.problem import MOST_TOKENS, Problem
from numeric.problem.solution import Antisymmetric, NotConverged, Status, failed_solution

PLAIN = Problem(1.0, MarchenkoPastur(0.5), 0.1, 0.5)
LISTED = Problem(1.0, finite_rank((5, 4, 3), 50), 0.1, 0.5)
SIGNED = {"model": "signed_quadratic_network"}


@pytest.mark.parametrize(
    "changed",
    [
        {"alpha": 1e-300, "width": 1e-9, "beta": 1e9, "beta0": 1e-9},
        {"lambda_": 0.0, "noise": 0.0},
        {"tokens": 2},
        {"tokens": MOST_TOKENS},
        {"parametrisation": "general", "lambda_": 1e-300},
        {"target": LISTED.target, "leading": 3},
        {
            "target": RationalTarget.of(
                "signed_quadratic_network", kappa0=0.5, positive=0.5, scale=1.0
            ),
            **SIGNED,
        },
        {"target": Eigenvalues((-1.0, 2.0), (0.5, 0.5)), "width": 1.0, **SIGNED},
        {"target": singular_values((1.0, 2.0), (0.5, 0.5)), "model": "cross_attention"},
        {"model": "quadratic_network"},
    ],
)
def test_ends_of_ranges_belong_to_them(changed):
    assert replace(PLAIN, **changed).alpha > 0


@pytest.mark.parametrize(
    ("changed", "name"),
    [
        *(
            ({name: value}, name)
            for name in ("alpha", "width", "beta", "beta0")
            for value in (0, math.inf, math.nan, -1)
        ),
        *(
            ({name: value}, name)
            for name in ("lambda_", "noise")
            for value in (-1e-300, math.inf, math.nan)
        ),
        ({"tokens": 1}, "tokens"),
        ({"tokens": MOST_TOKENS + 1}, "tokens"),
        ({"lambda_": 0, "parametrisation": "general"}, "lambda_"),
        ({"parametrisation": "free"}, "parametrisation"),
        ({"leading": 1}, "leading"),
        ({"target": LISTED.target, "leading": 4}, "leading"),
        ({"target": LISTED.target, "leading": -1}, "leading"),
        ({"target": finite_rank((5, 5, 3), 50), "leading": 1}, "leading"),
        ({"target": LISTED.target, "leading": 1, "lambda_": 0}, "lead"),
        ({"target": LISTED.target, "leading": 1, "parametrisation": "symmetric"}, "lead"),
        ({"target": Eigenvalues((-1.0, 2.0), (0.5, 0.5))}, "target"),
        ({"target": Eigenvalues((1.0, 2.0), (0.5, 0.5)), "model": "cross_attention"}, "target"),
        (SIGNED, "target"),
        ({"model": "quadratic_network", "beta": 2.0}, "beta"),
        ({"model": "quadratic_network", "tokens": 3}, "tokens"),
        ({"target": Eigenvalues((-1.0, 2.0), (0.5, 0.5)), "width": 0.99, **SIGNED}, "width"),
        ({"model": "elastic_attention"}, "extra"),
        ({"model": "nowhere"}, "model"),
    ],
)
def test_what_lies_beyond_is_refused_by_name(changed, name):
    with pytest.raises(InvalidParameter, match=f"^{name}"):
        replace(PLAIN, **changed)


@pytest.mark.parametrize(
    "extra",
    [{"mu": 0.1}, (("mu", 0.1),), [["mu", np.float64(0.1)]], {"mu": Fraction(1, 10)}],
    ids=repr,
)
def test_settings_of_a_model_are_a_mapping_or_pairs(extra):
    found = replace(PLAIN, model="elastic_attention", extra=extra)
    assert found.extra == (("mu", 0.1),) and found.settings["mu"] == 0.1
    assert hash(found) == hash(replace(found, extra=dict(found.extra)))


@pytest.mark.parametrize(
    ("extra", "said"),
    [
        (3, "extra = 3: must map names to values; give them by name"),
        (("mu", 0.1), "extra = .*: must map names to values"),
        (
            {"nu": 0.1},
            "extra = .*: must state mu for the model elastic_attention; give them by name",
        ),
        ((("mu", 0.1), ("mu", 0.2)), "extra = .*: must state mu"),
        ({"mu": "x"}, "mu = 'x': must be one number"),
    ],
)
def test_what_states_no_settings_of_a_model(extra, said):
    with pytest.raises(InvalidParameter, match=f"^{said}"):
        replace(PLAIN, model="elastic_attention", extra=extra)


def test_leading_features_are_the_largest_eigenvalues():
    asked = replace(LISTED, leading=2)
    s, weight = asked.features
    assert s.tolist() == [4, 5] and weight == pytest.approx(1 / 50)
    seen = asked.with_strengths(np.array([6.0, 7.0]))
    assert seen.leading == 0 and seen.target.eigenvalues[-3:] == (3, 6, 7)
    assert LISTED.with_strengths(np.array([])) is LISTED and PLAIN.features[0].size == 0


def test_labels_of_tokens_have_numbers_and_noise_a_variance():
    """A label of T tokens is a symmetric matrix of which softmax leaves T (T+1)/2 - 1 numbers."""
    assert [replace(PLAIN, tokens=count).label_numbers for count in (2, 3, 4)] == [2, 5, 9]
    assert (
        PLAIN.rho - PLAIN.q0 == pytest.approx(replace(PLAIN, noise=1.0).rho - PLAIN.rho)
        and PLAIN.rho > PLAIN.q0
    )
    assert PLAIN.settings == {"lambda_": 0.1, "kappa": 1, "Delta": 0.5, "beta": 1, "beta0": 1}


def test_ends_that_are_learned():
    assert PLAIN.signed_targets(PLAIN.target) == (PLAIN.target,)
    signed = replace(PLAIN, target=Eigenvalues((-1.0, 2.0), (0.25, 0.75)), **SIGNED)
    one, other = signed.signed_targets(signed.target)
    assert (
        one is signed.target and other.eigenvalues == (-2.0, 1.0) and other.weights == (0.75, 0.25)
    )


def test_conjugates_and_their_logarithms_are_inverse():
    for conjugates, problem in (
        (Conjugates(1.0, 2.0, 3.0), PLAIN),
        (
            Conjugates(1.0, 2.0, 3.0, AntisymmetricConjugates(4.0, 5.0)),
            replace(PLAIN, parametrisation="general"),
        ),
        (Conjugates(1.0, 2.0, 3.0, strengths=(6.0, 7.0)), replace(LISTED, leading=2)),
    ):
        packed = conjugates.pack()
        assert np.exp(packed)[:3] == pytest.approx([1, 2, 3]) and len(packed) == 3 + 2 * (
            problem is not PLAIN
        )
        again = Conjugates.unpack(packed, problem)
        assert again.pack() == pytest.approx(packed) and bool(again.antisymmetric) == bool(
            conjugates.antisymmetric
        )
        assert again.strengths == pytest.approx(conjugates.strengths)
    assert np.isnan(Conjugates(0.0, -1.0, 3.0).pack()).tolist() == [True, True, False]


def test_a_law_of_weight_decay_ends_where_double_precision_does():
    assert DecayLaw("2/d", 2.0, -1.0).at(100) == 0.02 and str(DecayLaw("1/d")) == "1/d"
    most = LARGEST_LOGARITHM / math.log(10)
    for power in (0.999 * most, -0.999 * most):
        assert DecayLaw("far", power=power).at(10) > 0
        with pytest.raises(
            InvalidParameter, match="outside the range of double precision at d = 10"
        ):
            DecayLaw("too far", power=1.002 * power).at(10)


def test_fields_have_the_overlaps_as_moments():
    fields = Fields.of(0.6, 0.9, 1.7, 0.25)
    assert fields.teacher**2 + fields.independent**2 == pytest.approx(0.9)
    assert (fields.teacher * fields.target, fields.target**2, fields.odd) == pytest.approx(
        (0.6, 1.7, 0.5)
    )


def test_what_is_gaussian_is_the_rest_of_the_leading_features():
    problem, overlaps = replace(LISTED, leading=2), Overlaps(0.9, 0.8, 0.1, learned=(2.0, 3.0))
    found, weight = split(overlaps, problem), 1 / 50
    assert found.m == pytest.approx(0.9 - weight * (2 * 4 + 3 * 5)) and found.q == pytest.approx(
        0.8 - weight * (4 + 9)
    )
    assert found.rho == pytest.approx(problem.rho - weight * (16 + 25))
    assert (
        found.fields(0.04).odd == pytest.approx(0.2) and len(found.fields().student_features) == 2
    )
    assert found.student / found.target == pytest.approx([2 / 4, 3 / 5])


SOLVED = replace(
    failed_solution(PLAIN, Status.CONVERGED, 1e-9, 5),
    m=2.0,
    q=4.0,
    V=0.0,
    errors={"m": 0.02, "q": 0.2, "V": 1.0, "delta": 0.5},
)


def test_the_largest_relative_error_is_of_what_has_a_value():
    assert SOLVED.relative_error(("m",)) == 0.01 and SOLVED.error_estimate == 0.05
    assert (
        SOLVED.relative_error(("V", "delta", "c")) == 0.0
    )  # zero, not a number, and without a bar
    assert replace(SOLVED, m=-2.0).relative_error(("m",)) == 0.01
    assert (SOLVED.value("m"), SOLVED.value("c"), replace(SOLVED, m=math.inf).value("m")) == (
        2.0,
        None,
        None,
    )


def test_values_may_be_used_where_their_status_says_so():
    used = {status for status in Status if replace(SOLVED, status=status).trusted}
    assert used == {Status.CONVERGED, Status.UNLEARNED, Status.UNSTABLE, Status.ROUGH}
    assert SOLVED.unwrap() is SOLVED
    with pytest.raises(
        NotConverged, match=r"alpha = 1: maximum iterations .* \(residual 1.00e-09, 5 steps\)"
    ):
        replace(SOLVED, status=Status.STEP_LIMIT).unwrap()


def test_a_solution_is_trusted_more_by_status_value_error_and_residual_in_this_order():
    order = [
        replace(SOLVED, residual=1e-12),
        SOLVED,
        replace(SOLVED, errors={"m": 1.0}, residual=0.0),
        replace(SOLVED, status=Status.INACCURATE, residual=0.0),
        failed_solution(PLAIN, Status.STEP_LIMIT, 0.1),
        failed_solution(PLAIN, Status.DIVERGED),
    ]
    assert sorted(order, key=lambda one: one.reliability(), reverse=True) == order


def test_the_conjugates_of_a_solution_are_those_of_its_parts():
    one = replace(
        SOLVED,
        mh=1.0,
        qh=2.0,
        Vh=3.0,
        antisymmetric=Antisymmetric(4.0, 5.0, 6.0, 7.0),
        strengths=(8.0,),
    )
    assert one.conjugates == Conjugates(1.0, 2.0, 3.0, AntisymmetricConjugates(6.0, 7.0), (8.0,))
    assert replace(one, antisymmetric=None).conjugates.antisymmetric is None
    seen = replace(
        SOLVED, problem=Problem(1.0, power_law(0.75, 20), 0.1, 0.5, leading=1), strengths=(9.0,)
    )
    assert seen.effective_target.eigenvalues[-1] == 9.0 and SOLVED.effective_target is PLAIN.target
    assert (
        failed_solution(PLAIN, Status.DIVERGED).residual == math.inf
        and failed_solution(PLAIN, Status.DIVERGED).iterations == 0
    )
