"""Arguments that choose what carries out a sweep."""

import argparse
from collections.abc import Mapping
from typing import Any

from attention_erm.runtime.errors import InvalidParameter
from numeric.cli.arguments import integer
from numeric.cli.study.values import Reader, text, texts, whole_number

#: Keys of the table [slurm] of a study file, as dask-jobqueue names them, each with its reader.
SLURM: dict[str, Reader] = {
    "queue": text,
    "account": text,
    "cores": whole_number(1),
    "memory": text,
    "walltime": text,
    "jobs": whole_number(1),
    "job_extra_directives": texts,
    "job_script_prologue": texts,
    "interface": text,
    "python": text,
}


def add_engine(parser: argparse.ArgumentParser) -> None:
    """Add --on, --scheduler, --workers."""
    parser.add_argument(
        "--on",
        choices=("processes", "dask", "slurm"),
        default="processes",
        help="where to run: processes of this machine (default), dask workers, or jobs of a "
        "SLURM cluster",
    )
    parser.add_argument(
        "--scheduler", metavar="ADDRESS", help="of a running dask scheduler, e.g. tcp://host:8786"
    )
    parser.add_argument(
        "--workers",
        type=integer("--workers", 1, 4096, "try the number of cores"),
        metavar="N",
        help="on this machine (default one per core)",
    )


def engine_of(arguments: argparse.Namespace, slurm: Mapping[str, Any]) -> Any:
    """The engine that the arguments choose; `slurm` are the settings of the study file.

    Raises:
        InvalidParameter: arguments that do not belong together, or dask is not installed.
    """
    if arguments.scheduler and arguments.on != "dask":
        raise InvalidParameter(
            "--scheduler", arguments.scheduler, "requires --on dask", "add --on dask"
        )
    if arguments.workers and (arguments.scheduler or arguments.on == "slurm"):
        raise InvalidParameter(
            "--workers",
            arguments.workers,
            "requires --on processes",
            "the scheduler sets the number of workers: omit it",
        )
    if arguments.on == "processes":
        from numeric.engines.processes import Processes

        return Processes(arguments.workers)
    workers = _dask_workers(arguments.on)
    if arguments.on == "slurm":
        if missing := [key for key in ("cores", "memory") if key not in slurm]:
            raise InvalidParameter(
                "--on",
                "slurm",
                f"needs {' and '.join(missing)} of a job",
                "add them to the table [slurm] of the study file",
            )
        return workers.slurm_workers(slurm)
    return (
        workers.running_workers(arguments.scheduler)
        if arguments.scheduler
        else workers.local_workers(arguments.workers)
    )


def slurm_script(slurm: Mapping[str, Any]) -> str:
    """The script of the jobs that would be submitted."""
    return str(_dask_workers("slurm").slurm_cluster(slurm).job_script())


def _dask_workers(kind: str) -> Any:
    try:
        from numeric.engines import dask_workers
    except ModuleNotFoundError as error:
        rule = f"needs the package {error.name}, which is not installed"
        raise InvalidParameter(
            "--on", kind, rule, "install the extra cluster, e.g. pip install -e '.[cluster]'"
        ) from None
    return dask_workers
