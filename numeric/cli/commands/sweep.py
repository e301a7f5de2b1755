"""Command `sweep`: the theory over any parameters of a study file, written to a Zarr store."""

import argparse
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from attention_erm.runtime import interrupts
from attention_erm.runtime.errors import InvalidParameter
from attention_erm.runtime.files import DISK_FULL, require_folder, require_writable
from numeric.cli.arguments import unwritable
from numeric.cli.command import Command, Result
from numeric.cli.output import add_json
from numeric.cli.study.engine import SLURM, add_engine, engine_of, slurm_script
from numeric.cli.study.file import StudyFile, read_study


def add_sweep(parser: argparse.ArgumentParser) -> None:
    """Add the options of any sweep."""
    parser.add_argument(
        "study", metavar="STUDY", help="file in TOML: parameters, fixed or with several values"
    )
    parser.add_argument(
        "--out",
        metavar="FOLDER",
        help="the Zarr store, created or continued (default: the study's name with .zarr)",
    )
    parser.add_argument(
        "--dry-run", action="store_true", help="print the number of points and the time only"
    )
    add_engine(parser)
    add_json(parser)


def _compute(arguments: argparse.Namespace) -> Result | int:
    study = read_study(arguments.study, ("slurm", "training"))
    if "training" in study.tables:
        rule = "is only supported by `python -m verify sweep`"
        raise study.error("[training]", "", rule, f"use python -m verify sweep {study.path}")
    from numeric.cli.study.points import labelled_axes, study_problems
    from numeric.sweeps.theory import theory_plan

    plan = theory_plan(study_problems(study), labelled_axes(study), study_attributes(study))
    return run_sweep(arguments, study, plan)


def study_attributes(study: StudyFile) -> dict[str, str]:
    """Return the attributes of the Dataset of a study."""
    fixed = ", ".join(f"{name} = {text}" for name, text in study.fixed.items())
    return {"title": study.path.stem, "fixed": fixed, "study": study.text}


def run_sweep(arguments: argparse.Namespace, study: StudyFile, plan: Any) -> Result | int:
    """Run a sweep, or estimate its time if --dry-run is given.

    Args:
        arguments: options of `add_sweep`.
        study: the study file.
        plan: a SweepPlan.

    Raises:
        InvalidParameter: the store cannot be written, or the engine is not available.
    """
    out = Path(arguments.out) if arguments.out else study.path.with_suffix(".zarr")
    _require_store(out)
    slurm = study.table("slurm", SLURM)
    engine = engine_of(arguments, slurm)
    if arguments.dry_run:
        script = slurm_script(slurm) if arguments.on == "slurm" else None
        text = (
            f"{plan.points} points in {len(plan.blocks)} tasks, "
            f"about {_duration(plan.seconds)} on one core\n{script or ''}"
        )
        document = {
            "points": plan.points,
            "tasks": len(plan.blocks),
            "core_seconds": plan.seconds,
            "job_script": script,
        }
        return Result(document, text=text, timed=False)
    from numeric.sweeps.sweep import run_plan

    try:
        swept = run_plan(plan, out, engine)
    except KeyboardInterrupt:
        return interrupts.report("finished points are stored, the same command continues")
    except OSError as error:
        if error.errno in DISK_FULL:
            error.filename = out  # not the file of the store that was written last
            error.add_note("finished points are stored")
            raise
        raise unwritable(out, error) from None
    statuses = _statuses(swept.dataset)
    sizes = {str(name): size for name, size in swept.dataset.sizes.items()}
    shape = " x ".join(f"{name} {size}" for name, size in sizes.items())
    lines = [
        f"{out}: {shape}, {plan.points} points, {swept.found} of them cached",
        *(
            f"{name}: {', '.join(f'{count} {status}' for status, count in counts.items())}"
            for name, counts in statuses.items()
        ),
        *_status_descriptions(statuses, swept.dataset),
    ]
    return Result(
        {
            "out": str(out),
            "sizes": sizes,
            "points": plan.points,
            "found": swept.found,
            "statuses": statuses,
        },
        text="".join(f"{line}\n" for line in lines),
    )


def _require_store(out: Path) -> None:
    """Require that a store can be created or continued.

    Raises:
        InvalidParameter: it cannot be written.
    """
    if not out.parent.is_dir():
        rule = "cannot be written: its folder does not exist"
        raise InvalidParameter("--out", out, rule, "choose a folder elsewhere")
    try:
        require_writable(out.parent)  # the folder of the lock
        require_folder(out)
    except OSError as error:
        raise unwritable(out, error) from None


def _duration(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


def _status_descriptions(statuses: dict[str, dict[str, int]], dataset: Any) -> Iterator[str]:
    """Iterate over the descriptions of all statuses but `converged`, each once."""
    from numeric.sweeps.attributes import flag_descriptions

    lines = dict[str, None]()
    for name, counts in statuses.items():
        descriptions = flag_descriptions(dataset[name].attrs)
        lines |= {
            f"{status}: {descriptions[status]}": None for status in counts if status != "converged"
        }
    yield from lines


def _statuses(dataset: Any) -> dict[str, dict[str, int]]:
    """Return the number of points by status variable and status."""
    found = {}
    for name, variable in dataset.data_vars.items():
        if "flag_meanings" in variable.attrs:
            meanings = variable.attrs["flag_meanings"].split()
            counts = Counter(variable.values.ravel().tolist())
            found[str(name)] = {meanings[code]: count for code, count in sorted(counts.items())}
    return found


COMMAND = Command(
    "sweep",
    help="the theory over any parameters, written to a store",
    description="Solve the saddle-point equations at all points of a study file: parameters are "
    "fixed, in all combinations ([product]) or varied together ([[zip]]). Results are written to a "
    "Zarr store, which xarray opens as a Dataset with error bars and statuses, curve by curve: an "
    "interrupted sweep is continued by the same command. Prints the number of points of each "
    "status; the exit code is 1 if tasks failed or workers were lost.",
    example="python -m numeric sweep study.toml --out sweep.zarr --dry-run",
    add_options=add_sweep,
    compute=_compute,
)
