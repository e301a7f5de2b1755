"""What `import numeric` offers."""

import pydoc
import subprocess
import sys

import pytest

import numeric


@pytest.mark.parametrize("name", sorted(numeric._PUBLIC))
def test_every_public_name_is_there_and_in_the_table_of_contents(name):
    assert getattr(numeric, name).__module__ == f"numeric.{numeric._PUBLIC[name]}"
    assert name in dir(numeric)
    assert name in numeric.__doc__.split("\n\n", 1)[1]


def test_what_it_does_not_offer_is_named():
    with pytest.raises(AttributeError, match="'solv'; help"):
        _ = numeric.solv


def test_help_is_a_table_of_contents():
    assert len(pydoc.render_doc(numeric).splitlines()) < 100


def test_the_face_loads_nothing():
    loaded = subprocess.run(
        [sys.executable, "-c", "import sys, numeric; print(*sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    assert not {"numpy", "scipy", "numba", "flint", "pandas"} & set(loaded)
