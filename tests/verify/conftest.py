"""Fixture that runs the tasks of a pool in the process of the tests."""

import pytest

from numeric.engines.this_process import ThisProcess


@pytest.fixture(scope="module")
def no_workers():
    """Every pool runs its tasks in this process: workers take seconds to start."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("verify.core.pool.Processes", lambda workers: ThisProcess())
        yield
