"""Numbers that are read, and what is said of those that are none."""

import pickle
from fractions import Fraction

import numpy as np
import pytest

from attention_erm.runtime.errors import InvalidParameter
from numeric.maths.domain import count, fraction, integer, positive, real, require_list


def test_numbers_of_any_kind_are_read():
    assert [
        real("x", value) for value in (1, 0.5, Fraction(1, 4), np.float32(0.5), np.int64(3))
    ] == [
        1,
        0.5,
        0.25,
        0.5,
        3,
    ]
    assert [integer("x", value) for value in (2, np.int8(3))] == [2, 3]
    given = (0.5, "1/5", "0.2", 3, np.float64(0.25), Fraction(2, 3))
    assert [fraction("x", value) for value in given] == [
        Fraction(n) for n in ("1/2", "1/5", "1/5", "3", "1/4", "2/3")
    ]


@pytest.mark.parametrize(
    ("read", "value"),
    [
        *((real, value) for value in ("1", None, "half", [1.0, 2.0])),
        *((positive, value) for value in (0, -1, float("inf"), float("nan"), "1")),
        *((integer, value) for value in (2.0, "2", None, True)),
        *((count, value) for value in (0, -1, 1.0, True)),
        *((fraction, value) for value in ("half", "1/0", float("inf"), float("nan"), None)),
    ],
)
def test_what_is_no_number_is_refused_by_name(read, value):
    with pytest.raises(InvalidParameter, match=r"^x = ") as refused:
        read("x", value)
    assert (refused.value.name, refused.value.value) == ("x", value)


@pytest.mark.parametrize("value", [1, None, "ab", np.array(1.0)], ids=repr)
def test_one_thing_is_no_list(value):
    with pytest.raises(InvalidParameter, match=r"^x = .*: must be a list"):
        require_list("x", value)


@pytest.mark.parametrize("length", [10, 58, 59, 200])
def test_a_long_value_is_cut(length):
    """A line of a terminal holds what comes after it; the text is in quotes."""
    said = str(InvalidParameter("x", "a" * length, "is long", "cut it"))
    whole = length + 2 <= 60
    assert said == (
        f"x = '{'a' * length}': is long; cut it"
        if whole
        else f"x = '{'a' * 39}... ({length + 2} characters): is long; cut it"
    )


def test_a_refusal_passes_between_processes():
    refused = pickle.loads(pickle.dumps(InvalidParameter("x", 1, "rule", "way out")))
    assert (refused.name, refused.value, refused.rule, refused.hint) == (
        "x",
        1,
        "rule",
        "way out",
    )
