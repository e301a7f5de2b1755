"""Workers of dask: of this machine, of a running scheduler, or jobs that a SLURM cluster starts."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from types import TracebackType
from typing import Any, Self

import dask
from distributed import Client, LocalCluster, as_completed
from distributed.deploy.cluster import Cluster

from attention_erm.runtime.interrupts import block_sigint, mark_handled
from numeric.engines.processes import cores, use_one_thread
from numeric.engines.task import EngineFailed, Outcome, Task, run_task

RETRIES = 2  #: retries per task: a full disk or a lost connection is not the task's fault
_PRIORITY_STEP = 1e9  #: seconds, more than any cost: dask has one number for both
REACHED_WITHIN = 4.0  #: seconds: a scheduler on a busy machine answers in one or two

#: A scheduler that is gone is not waited for: what had finished is stored, and the same command
#: goes on from there.
_SETTINGS = {
    "distributed.comm.timeouts.connect": f"{REACHED_WITHIN}s",
    "distributed.scheduler.allowed-failures": 3,
    "distributed.worker.daemon": True,
}


class DaskWorkers:
    """Workers of the cluster that `connect` gives: an address of a scheduler, or a cluster that
    ends with this engine.
    """

    def __init__(self, connect: Callable[[], str | Cluster]) -> None:
        self._connect = connect
        self._cluster: str | Cluster = ""
        self._client: Client | None = None
        self._completed: as_completed | None = None
        self._tasks: dict[str, Task] = {}

    def __enter__(self) -> Self:
        logging.getLogger("distributed").setLevel(
            logging.CRITICAL
        )  # what is lost is said in one line, by us
        with dask.config.set(_SETTINGS):
            self._cluster = self._connect()
            try:
                self._client = Client(self._cluster, timeout=REACHED_WITHIN, set_as_default=False)
            except (OSError, TimeoutError) as error:
                raise EngineFailed(
                    f"no dask scheduler answers at {self._cluster} within {REACHED_WITHIN:g} s; "
                    "start one with "
                    "`dask scheduler`, or omit --scheduler to use this machine"
                ) from error
        self._completed = as_completed([], loop=self._client.loop)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is not None:
            mark_handled()
        with suppress(OSError, TimeoutError):  # of a scheduler that is gone there is nothing to end
            if self._client is not None:
                self._client.close(timeout=2)
            if isinstance(self._cluster, Cluster):
                self._cluster.close(timeout=10)

    def submit(self, tasks: Sequence[Task], priority: int = 0) -> None:
        """Add tasks, see `Engine.submit`."""
        assert self._client is not None and self._completed is not None
        for task in tasks:
            self._tasks[task.key] = task
            future = self._client.submit(
                _run_alone,
                task.function,
                task.arguments,
                key=task.key,
                retries=RETRIES,
                priority=task.cost - _PRIORITY_STEP * priority,
            )
            self._completed.add(future)

    def finished(self) -> Iterator[Outcome]:
        """Yield outcomes as they come, see `Engine.finished`."""
        assert self._completed is not None
        while self._tasks:
            future = next(self._completed)
            if future.status not in ("finished", "error"):
                raise self._lost()
            task = self._tasks.pop(future.key)
            if future.status == "finished":
                result, seconds = self._result(future)
                yield Outcome(task, result, seconds=seconds)
            else:
                yield Outcome(task, None, future.exception())
            future.release()

    def _result(self, future: Any) -> Any:
        try:
            return future.result(timeout=60)
        except Exception as error:
            raise self._lost() from error

    def _lost(self) -> EngineFailed:
        return EngineFailed(
            "the dask scheduler was lost; finished tasks are stored: start a scheduler and run "
            "the same command again"
        )


def local_workers(workers: int | None = None) -> DaskWorkers:
    """Processes of this machine, one per core by default."""

    def connect() -> Cluster:
        with block_sigint():
            return LocalCluster(
                n_workers=workers or cores(),
                threads_per_worker=1,
                processes=True,
                dashboard_address="127.0.0.1:0",  # any free port: two sweeps on one machine
                silence_logs=logging.CRITICAL,
            )

    return DaskWorkers(connect)


def running_workers(address: str) -> DaskWorkers:
    """Return the workers of a running scheduler at an address, for example tcp://host:8786."""
    return DaskWorkers(lambda: address)


def slurm_workers(settings: Mapping[str, Any]) -> DaskWorkers:
    """Jobs of a SLURM cluster: `jobs` many, each as `slurm_cluster` says."""

    def connect() -> Cluster:
        cluster = slurm_cluster(settings)
        cluster.scale(jobs=int(settings.get("jobs", 1)))
        return cluster

    return DaskWorkers(connect)


def slurm_cluster(settings: Mapping[str, Any]) -> Any:
    """The cluster of dask-jobqueue with the arguments in `settings`, which submits nothing before
    it is scaled.

    One single-threaded worker for each of a job's `cores`.
    """
    from dask_jobqueue.slurm import SLURMCluster

    arguments = {name: value for name, value in settings.items() if name != "jobs"}
    scheduler = {"dashboard_address": "127.0.0.1:0"}  # any free port
    return SLURMCluster(
        **{"processes": arguments.get("cores", 1), "scheduler_options": scheduler, **arguments}
    )


def _run_alone(function: Callable[..., Any], arguments: tuple[Any, ...]) -> tuple[Any, float]:
    use_one_thread()
    return run_task(function, arguments)
