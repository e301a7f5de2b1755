"""One thread for each process of the tests and for what it starts, as in every worker of verify;
Hypothesis profiles.
"""

import gc
import os
import sys

import pytest
from hypothesis import settings

# Two processes of two threads each take turns on two cores, at a third of their speed or less.
# Libraries read this when they load.
for library in ("OMP", "OPENBLAS", "NUMBA"):
    os.environ.setdefault(f"{library}_NUM_THREADS", "1")

# Deterministic, so that a run can be repeated; no deadline, as the first solve compiles.
settings.register_profile("repeatable", derandomize=True, deadline=None, max_examples=30)
settings.load_profile("repeatable")
# Other examples each time (`pytest --hypothesis-profile=nightly`): what they find is pinned as an
# example.
settings.register_profile("nightly", deadline=None, max_examples=400, print_blob=True)
# 2000 command lines for each of five tests, in half an hour:
# `pytest -n0 --hypothesis-profile=thousands tests/command_line/test_random_commands.py`.
settings.register_profile("thousands", deadline=None, max_examples=2400, print_blob=True)


# What tests import, hundreds of thousands of objects, is no garbage: to look for some among it
# takes a tenth of the time.
gc.set_threshold(20_000, 10, 10)


def pytest_collection_finish():
    """Called by pytest once all modules are imported."""
    gc.freeze()


@pytest.fixture(scope="module")
def own_models(tmp_path_factory):
    """A folder for model files, with a cache of their equations. What the process learns about them
    is forgotten afterwards, so that other tests see the shipped models alone.
    """
    from attention_erm.runtime.model_files import FILES, ROOTS
    from numeric.model import available

    folder = tmp_path_factory.mktemp("own")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
        patch.setattr(sys, "path", [*sys.path])
        known = dict(FILES), dict(ROOTS)
        yield folder
        for registry, before in zip((FILES, ROOTS), known, strict=True):
            registry.clear()
            registry.update(before)
        available.cache_clear()
