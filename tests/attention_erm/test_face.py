"""What `import attention_erm` offers, one kind of target and of number everywhere, and files of the
user's beside it.
"""

import math
import pydoc
import subprocess
import sys
from dataclasses import replace
from fractions import Fraction
from importlib.metadata import version

import numpy as np
import pytest

import attention_erm
import numeric
from attention_erm.runtime.errors import InvalidParameter
from numeric.laws.eigenvalue_list import singular_values
from numeric.plotting import curve_figure

TARGET = attention_erm.MarchenkoPastur(0.5)
POWER_LAW = attention_erm.power_law(0.75, 20)
STATED = {"alpha": 1.0, "target": TARGET, "lambda_": 0.01, "noise": 0.5}


@pytest.mark.parametrize("name", sorted(attention_erm._PUBLIC))
def test_a_name_is_that_of_numeric_and_in_the_table_of_contents(name):
    assert getattr(attention_erm, name) is getattr(numeric, name)
    assert attention_erm._PUBLIC[name] == f"numeric.{numeric._PUBLIC[name]}"
    assert name in dir(attention_erm) and f"\n    {name} " in attention_erm.__doc__


def test_what_it_lists_is_what_it_offers():
    assert {name for name in dir(attention_erm) if not name.startswith("__")} == set(
        attention_erm._PUBLIC
    )


def test_it_offers_a_dozen_names_and_help_begins_with_them():
    assert len(attention_erm._PUBLIC) == 12
    first_screen = pydoc.render_doc(attention_erm, renderer=pydoc.plaintext).splitlines()[:50]
    assert {
        name
        for name in attention_erm._PUBLIC
        if any(line.split()[:1] == [name] for line in first_screen)
    } == set(attention_erm._PUBLIC)
    with pytest.raises(AttributeError, match="'solv'; help"):
        _ = attention_erm.solv


def test_an_import_of_everything_finds_it():
    """It found `Path` and `Any`."""
    found = {}
    exec("from attention_erm import *", found)
    assert found.keys() - {"__builtins__"} == set(attention_erm._PUBLIC)


def test_the_version_is_that_of_the_distribution():
    assert attention_erm.__version__ == version("attention-erm")


def test_it_loads_nothing():
    done = subprocess.run(
        [sys.executable, "-c", "import sys, attention_erm; print(*sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert not {"numeric", "numpy", "scipy", "numba", "flint", "pandas", "sympy"} & set(
        done.stdout.split()
    )


@pytest.mark.parametrize(
    "target",
    [
        TARGET,
        attention_erm.power_law(0.75, 20),
        numeric.finite_rank((3, 2), 50),
        attention_erm.Eigenvalues([1, 2], [0.5, 0.5]),
    ],
    ids=str,
)
def test_thresholds_take_the_targets_that_problems_take(target):
    """The target itself or its law in ball arithmetic."""
    assert attention_erm.Problem(**{**STATED, "target": target}).target is target
    law = target.exact()
    for threshold in (
        attention_erm.recovery,
        numeric.bayes_recovery,
        lambda one, digits: numeric.interpolation(one, 1, digits=digits),
    ):
        assert threshold(target, digits=20).value == threshold(law, digits=20).value


@pytest.mark.parametrize(
    ("refused", "said"),
    [
        (
            lambda one: attention_erm.learning_curve(one.problem, 1),
            "alphas = 1: must be a list; put it in brackets",
        ),
        (lambda one: attention_erm.scaling_curve(one.problem, 1e4), "target = .*: has no exponent"),
        (
            lambda one: attention_erm.scaling_curve(
                replace(one.problem, target=POWER_LAW), [1e3, -1]
            ),
            "samples = -1: must be",
        ),
        (
            lambda one: attention_erm.scaling_curve(replace(one.problem, target=POWER_LAW), [None]),
            "samples = None: must be",
        ),
        (lambda one: replace(one.problem, alpha=10**400), "alpha = 1000000.*: must be one number"),
        (lambda one: replace(one.problem, noise=True), "noise = True: must be one number"),
        (lambda one: attention_erm.to_frame(one), "solutions = .*: must be a list"),
        (lambda one: attention_erm.to_frame([one.problem]), "solution = .*: must be a Solution"),
        (lambda one: curve_figure(one), "solutions = .*: must be a list"),
        (
            lambda one: curve_figure([one.problem]),
            r"solutions\[0\] = .*: must be a Solution; pass results of solve",
        ),
    ],
)
def test_one_in_place_of_several_and_a_problem_in_place_of_its_solution_are_refused(refused, said):
    solution = attention_erm.solve(attention_erm.Problem(**STATED))
    with pytest.raises(InvalidParameter, match=said):
        refused(solution)


def test_samples_may_be_read_only_once():
    """They were read to be checked, and none was left to be solved."""
    problem = attention_erm.Problem(**{**STATED, "target": POWER_LAW})
    assert len(attention_erm.scaling_curve(problem, iter([1e3, 2e3]))) == 2


def test_no_solutions_are_an_empty_table():
    assert attention_erm.to_frame([]).empty


def test_a_rank_ratio_alone_is_no_target():
    message = r"target = 0.5: must be a target: .*; of that rank ratio it is MarchenkoPastur\(0.5\)"
    for refused in (
        lambda: attention_erm.Problem(**{**STATED, "target": 0.5}),
        lambda: attention_erm.recovery(0.5),
    ):
        with pytest.raises(InvalidParameter, match=message):
            refused()


@pytest.mark.parametrize(
    "value", [attention_erm.MarchenkoPastur, TARGET.exact(), None, -1, "Marchenko-Pastur"]
)
def test_what_else_is_no_target(value):
    with pytest.raises(InvalidParameter, match="must be a target: MarchenkoPastur, power_law"):
        attention_erm.Problem(**{**STATED, "target": value})


def test_numbers_of_any_kind_state_the_same_problem():
    plain = attention_erm.Problem(**STATED, tokens=3, width=0.5)
    other = attention_erm.Problem(
        alpha=np.int64(1),
        target=attention_erm.MarchenkoPastur(Fraction(1, 2)),
        lambda_=np.array(0.01),
        noise=np.float32(0.5),
        tokens=np.int64(3),
        width=Fraction(1, 2),
    )
    assert other == plain and repr(other) == repr(plain)
    values = [np.array([1.0, 2.0]), [1, 2]]
    assert len({attention_erm.Eigenvalues(value, weights=(0.5, 0.5)) for value in values}) == 1


@pytest.mark.parametrize(
    "noise", [Fraction(1, 4), 0.25, "1/4", np.float32(0.25), np.array(0.25)], ids=repr
)
def test_thresholds_take_numbers_of_any_kind(noise):
    expected = "0.1618154364"
    assert (
        numeric.interpolation(
            TARGET, noise, tokens=np.int64(2), digits=np.int32(10), width=np.int64(1)
        ).value
        == expected
    )


@pytest.mark.parametrize(
    ("name", "value", "rule"),
    [
        ("alpha", "1", "must be one number"),
        ("alpha", np.array([1.0, 2.0]), "must be one number"),
        ("noise", None, "must be one number"),
        ("tokens", 2.0, "must be an integer"),
        ("tokens", np.int64(1), "must be an integer from 2 to"),
        ("leading", "8", "must be an integer"),
        ("parametrisation", "symmetrical", "must be one of factorised, symmetric, general"),
        ("sample_minimum", "lowest", "must be one of global, fitted"),
    ],
)
def test_what_is_no_value_of_a_field_is_refused_in_a_line(name, value, rule):
    with pytest.raises(InvalidParameter, match=f"{name} = .*: {rule}"):
        attention_erm.Problem(**{**STATED, name: value})


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (lambda: attention_erm.power_law(-1, 100), "gamma = -1: must be positive"),
        (lambda: attention_erm.power_law("3/4", 100), "gamma = '3/4': must be one number"),
        (lambda: attention_erm.power_law([1], 100), r"gamma = \[1\]: must be one number"),
        (lambda: attention_erm.power_law(1, 1e9), "dim = 1000000000.0: must be an integer"),
        (lambda: attention_erm.power_law(1, 100.0), "dim = 100.0: must be an integer"),
        (lambda: attention_erm.power_law(1, "100"), "dim = '100': must be an integer"),
        (lambda: attention_erm.power_law(1, True), "dim = True: must be an integer"),
        (lambda: attention_erm.power_law(1, 0), "dim = 0: must be 1 or more"),
        (lambda: attention_erm.power_law(1, 100, q0=-1), "q0 = -1: must be positive"),
        (
            lambda: attention_erm.power_law(1, 100, per_octave=0),
            "per_octave = 0: must be 1 or more",
        ),
        (lambda: attention_erm.Eigenvalues(3, weights=1), "eigenvalues = 3: must be a list"),
        (lambda: attention_erm.Eigenvalues([3], weights=1), "weights = 1: must be a list"),
        (
            lambda: attention_erm.Eigenvalues(["a"], [1]),
            "eigenvalues = 'a': must be one finite number",
        ),
        (lambda: numeric.finite_rank(3, 100), "values = 3: must be a list"),
        (lambda: numeric.finite_rank([3], 0), "dim = 0: must be 1 or more"),
        (lambda: singular_values(3, [1]), "values = 3: must be a list"),
        (lambda: singular_values([3], ["a"]), "weights = 'a': must be one finite number"),
    ],
)
def test_what_is_no_target_of_a_list_or_a_power_law(made, said):
    """Each was an error from inside, or passed; 100.0 and True are 100 and 1 to the cache of
    targets, which holds these.
    """
    assert attention_erm.power_law(1, 100).dim == 100 and attention_erm.power_law(1, 1).dim == 1
    with pytest.raises(InvalidParameter, match=f"^{said}"):
        made()


@pytest.mark.parametrize("gamma", [Fraction(3, 4), np.float32(0.75), np.array(0.75)], ids=repr)
def test_a_power_law_takes_numbers_of_any_kind(gamma):
    plain = attention_erm.power_law(0.75, 100)
    for made in (attention_erm.power_law(gamma, np.int64(100)), type(plain)(gamma, np.int64(100))):
        assert made == plain and repr(made) == repr(plain) and made.eigenvalues == plain.eigenvalues


@pytest.mark.parametrize(
    ("options", "said"),
    [
        *(
            ({"accuracy": value}, f"accuracy = {value}: must be above 0 and below 1")
            for value in (-1, 0, 1, math.nan)
        ),
        ({"accuracy": "x"}, "accuracy = 'x': must be one number"),
        ({"start": 3}, "start = 3: must be a Solution"),
    ],
)
def test_what_is_no_option_of_a_solve(options, said):
    problem = attention_erm.Problem(**STATED)
    with pytest.raises(InvalidParameter, match=f"^{said}"):
        attention_erm.solve(problem, **options)
    if "accuracy" in options:
        with pytest.raises(InvalidParameter, match=f"^{said}"):
            attention_erm.learning_curve(problem, [1.0], **options)


def test_a_spectrum_has_a_point_or_more():
    solution = attention_erm.solve(attention_erm.Problem(**STATED))
    with pytest.raises(InvalidParameter, match=r"^points = -1: must be 1 or more"):
        attention_erm.learned_spectrum(solution, points=-1)


@pytest.mark.parametrize(
    ("stated", "rule"),
    [
        ({"noise": "x"}, "noise = 'x': must be one finite number"),
        ({"noise": 1, "digits": 5.5}, "digits = 5.5: must be an integer"),
    ],
)
def test_what_is_no_number_for_a_threshold(stated, rule):
    with pytest.raises(InvalidParameter, match=rule):
        numeric.interpolation(TARGET, **stated)


def test_another_kind_is_refused_by_name():
    """decompose(problem), whose solution it needs, was an AttributeError."""
    problem = attention_erm.Problem(**STATED)
    asked = {
        "problem": (
            attention_erm.solve,
            lambda other: attention_erm.learning_curve(other, [1.0]),
            lambda other: attention_erm.scaling_curve(other, [1.0]),
        ),
        "solution": (
            attention_erm.decompose,
            attention_erm.learned_spectrum,
            lambda other: attention_erm.to_frame([other]),
        ),
    }
    for name, other in (("problem", TARGET), ("solution", problem)):
        for function in asked[name]:
            with pytest.raises(
                InvalidParameter, match=f"^{name} = .*: must be a {name.capitalize()}; give "
            ):
                function(other)


def test_what_is_read_first_stands_first():
    solution = attention_erm.solve(attention_erm.Problem(**STATED))
    columns = list(attention_erm.to_frame([solution]).columns)
    assert columns[:5] == ["m", "q", "train_error", "test_error", "status"]
    assert columns[5].endswith("error_bar") and "lambda" in columns and "lambda_" not in columns
    spectrum = numeric.learned_spectrum(solution)
    for printed in (repr(solution), repr(spectrum)):
        assert 4 <= len(printed.splitlines()) <= 10
        assert "tied_attention, alpha" in printed.splitlines()[0]
    assert f"{solution.test_error:.8g}"[:8] in repr(solution)


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("quadratic_net", "quadratic_network or signed_quadratic_network"),
        ("tied_atention", "tied_attention"),
    ],
)
def test_an_unknown_model_names_those_like_it(name, near):
    with pytest.raises(InvalidParameter, match=f"use {near}"):
        attention_erm.Problem(**{**STATED, "model": name})
