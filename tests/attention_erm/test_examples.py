"""Examples in docstrings of what `import attention_erm` and `import numeric` offer, and of figures,
run as they stand.
"""

import doctest

import pytest

import attention_erm
import numeric
from numeric import plotting

OFFERED = {f"attention_erm.{name}": getattr(attention_erm, name) for name in attention_erm._PUBLIC}
OFFERED |= {
    f"numeric.{name}": getattr(numeric, name)
    for name in numeric._PUBLIC
    if name not in attention_erm._PUBLIC
}
FIGURES = {
    f"numeric.plotting.{draw.__name__}": draw
    for draw in (
        plotting.curve_figure,
        plotting.spectrum_figure,
        plotting.decomposition_figure,
        plotting.scaling_figure,
    )
}
FINDER = doctest.DocTestFinder(recurse=False)


def examples(name, value):
    """Of one docstring; what it uses, it imports."""
    found = FINDER.find(value, name, globs={})
    return [test for test in found if test.examples]


@pytest.mark.parametrize("name", ["attention_erm", "numeric", *OFFERED, *FIGURES])
def test_examples_print_what_they_show(name):
    value = {"attention_erm": attention_erm, "numeric": numeric, **OFFERED, **FIGURES}[name]
    tests = examples(name, value)
    needed = name.startswith("attention_erm") or name in FIGURES
    assert tests or not needed, (
        "each name that one starts with has an example, and what draws its results"
    )
    for test in tests:
        printed: list[str] = []
        outcome = doctest.DocTestRunner().run(test, out=printed.append)
        assert outcome.failed == 0, "".join(printed)
