"""Work of a pool done in the process of the tests: workers, tested in jobs/, take seconds to start."""

from concurrent.futures import Future

import pytest


class Here:
    """In the place of worker processes: what they are given is done at once."""

    def __init__(self, *_):
        pass

    def submit(self, function, *arguments):
        future = Future()
        try:
            future.set_result(function(*arguments))
        except Exception as error:
            future.set_exception(error)
        return future

    def end(self, at_once):
        pass


@pytest.fixture(scope="module")
def no_workers():
    """Every pool works in this process."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("verify.core.pool.WorkerProcesses", Here)
        yield
