"""Whoever is killed, whenever: what had finished is kept, and the sweep ends with the Dataset of an
undisturbed one.
"""

import multiprocessing
import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import pytest
import xarray as xr
from made_up_sweep import LINES, POINTS, SECONDS, plan

from numeric.engines.dask_workers import running_workers
from numeric.engines.processes import Processes
from numeric.engines.task import EngineFailed
from numeric.sweeps.sweep import run_plan

TESTS = Path(__file__).parents[2]
ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join((str(TESTS.parent), str(TESTS)))}
LENGTH = LINES * SECONDS / 2  #: of the sweep on two workers, in seconds
MOMENTS = [pytest.param(k, marks=[] if k == 0 else [pytest.mark.slow]) for k in range(10)]


@pytest.fixture(scope="module")
def undisturbed():
    """The Dataset that every sweep has to end with."""
    return run_plan(plan(), None, Processes(2), progress=False).dataset


def moment(k):
    """Seconds after the beginning of the work; another one each time the suite is run would not be
    found again.
    """
    return random.Random(k).uniform(0.05, 0.9) * LENGTH


def stored(path):
    """How many points a store holds: its chunks of the status, which are written last."""
    return POINTS * len(list(path.glob("status/c/*/0")))


def process(*arguments):
    """A Python process that finds the modules of the tests."""
    return subprocess.Popen(
        [sys.executable, "-m", *arguments],
        env=ENVIRONMENT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def killed(victim):
    victim.send_signal(signal.SIGKILL)
    victim.wait()


def wait_until(holds, seconds=120):
    """Wait for something to hold; on a busy machine processes take long to begin."""
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.02)


def answers(port):
    """Whether somebody listens at a port of this machine."""
    with socket.socket() as asked:
        return asked.connect_ex(("127.0.0.1", port)) == 0


@contextmanager
def cluster(address=None):
    """A dask scheduler of its own and two workers: its address, the scheduler, and the workers."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    address = address or f"tcp://127.0.0.1:{port}"
    port = address.rpartition(":")[2]
    started = [
        process(
            "distributed.cli.dask_scheduler",
            "--host",
            "127.0.0.1",
            "--port",
            port,
            "--no-dashboard",
            "--no-show",
        )
    ]
    worker = (
        "distributed.cli.dask_worker",
        address,
        "--nthreads",
        "1",
        "--no-dashboard",
        "--no-nanny",
        "--death-timeout",
        "60",
    )
    started += [process(*worker), process(*worker)]
    try:
        wait_until(
            lambda: answers(int(port))
        )  # a client gives up after four seconds, too few on a busy machine
        yield address, started[0], started[1:]
    finally:
        for one in started:
            killed(one)


@pytest.mark.slow
@pytest.mark.parametrize("k", MOMENTS)
def test_a_worker_process_killed(k, undisturbed, tmp_path):
    def kill():
        wait_until(lambda: stored(tmp_path / "out") > 0)
        time.sleep(moment(k))
        for child in multiprocessing.active_children()[:1]:
            os.kill(child.pid, signal.SIGKILL)

    murder = threading.Thread(target=kill)
    murder.start()
    swept = run_plan(plan(), tmp_path / "out", Processes(2), progress=False)
    murder.join()
    assert swept.dataset.equals(undisturbed)


@pytest.mark.parametrize("k", MOMENTS)
def test_the_client_of_processes_killed(k, undisturbed, tmp_path):
    out = tmp_path / "out"
    client = process("made_up_sweep", str(out))
    wait_until(lambda: stored(out) > 0)
    time.sleep(moment(k))
    before = stored(out)
    killed(client)
    swept = run_plan(plan(), out, Processes(2), progress=False)
    assert swept.found >= before >= POINTS
    assert swept.dataset.drop_attrs().equals(undisturbed.drop_attrs())


@pytest.mark.slow
@pytest.mark.parametrize("k", MOMENTS)
def test_a_dask_worker_killed(k, undisturbed, tmp_path):
    with cluster() as (address, _, workers):
        client = process("made_up_sweep", str(tmp_path / "out"), address)
        wait_until(lambda: stored(tmp_path / "out") > 0)
        time.sleep(moment(k))
        killed(workers[0])
        assert client.wait(120) == 0
    assert xr.open_zarr(tmp_path / "out").equals(undisturbed)


@pytest.mark.slow
@pytest.mark.parametrize("k", MOMENTS)
def test_the_dask_scheduler_killed(k, undisturbed, tmp_path):
    out = tmp_path / "out"
    with cluster() as (address, scheduler, _):

        def kill():
            wait_until(lambda: stored(out) > 0)
            time.sleep(moment(k))
            killed(scheduler)

        murder = threading.Thread(target=kill)
        murder.start()
        with pytest.raises(EngineFailed, match="scheduler was lost"):
            run_plan(plan(), out, running_workers(address), progress=False)
        murder.join()
    before = stored(out)
    with cluster() as (address, _, _):
        swept = run_plan(plan(), out, running_workers(address), progress=False)
    assert swept.found == before >= POINTS
    assert swept.dataset.equals(undisturbed)


@pytest.mark.slow
@pytest.mark.parametrize("k", MOMENTS)
def test_the_client_of_dask_killed(k, undisturbed, tmp_path):
    out = tmp_path / "out"
    with cluster() as (address, _, _):
        client = process("made_up_sweep", str(out), address)
        wait_until(lambda: stored(out) > 0)
        time.sleep(moment(k))
        before = stored(out)
        killed(client)
        swept = run_plan(plan(), out, running_workers(address), progress=False)
    assert swept.found >= before >= POINTS
    assert swept.dataset.equals(undisturbed)
