"""Command `python -m numeric sweep`: the theory over any parameters of a study file, into a Zarr store."""

import argparse
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from attention_erm.runtime import interrupts
from attention_erm.runtime.errors import InvalidParameter
from attention_erm.runtime.files import DISK_FULL, require_folder, require_writable
from numeric.cli.arguments import print_json, unwritable
from numeric.cli.study.engine import SLURM, add_engine, engine_of, slurm_script
from numeric.cli.study.file import StudyFile, read_study


def add(commands) -> None:  # type: ignore[no-untyped-def]  # argparse hides the type
    """Add the command and its arguments."""
    parser = commands.add_parser(
        "sweep",
        help="the theory over any parameters, kept in a store",
        description="Solve the saddle-point equations at all points of a study file: parameters fixed, in all combinations "
        "([product]) or together ([[zip]]). Results go to a Zarr store, which xarray opens as a Dataset with error bars and "
        "statuses, curve by curve: who stops it loses nothing that was finished, and the same command goes on. Prints how "
        "many points ended in which way; exits 1 if tasks failed or workers were lost.",
        epilog="example: python -m numeric sweep study.toml --out sweep.zarr --dry-run",
    )
    parser.set_defaults(run=run)
    add_sweep(parser)


def add_sweep(parser: argparse.ArgumentParser) -> None:
    """Add what a sweep of any kind takes."""
    parser.add_argument(
        "study", metavar="STUDY", help="file in TOML: which parameters, fixed or over which values"
    )
    parser.add_argument(
        "--out",
        metavar="FOLDER",
        help="the Zarr store, made or gone on with (default: the study's name with .zarr)",
    )
    parser.add_argument(
        "--dry-run", action="store_true", help="say how many points and how long, and do nothing"
    )
    add_engine(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON document on stdout")


def run(arguments: argparse.Namespace) -> int:
    """Solve what the store lacks and say how points ended."""
    study = read_study(arguments.study, ("slurm", "training"))
    if "training" in study.tables:
        raise study.refused(
            "[training]",
            "",
            "is of heads that are trained",
            f"use python -m verify sweep {study.path}",
        )
    from numeric.cli.study.points import labelled, study_problems
    from numeric.sweeps.theory import theory_plan

    return carry_out_study(
        arguments,
        study,
        theory_plan(study_problems(study), labelled(study), study_attributes(study)),
    )


def study_attributes(study: StudyFile) -> dict[str, str]:
    """What the Dataset says of its making, beside version, commit and command."""
    fixed = ", ".join(f"{name} = {text}" for name, text in study.fixed.items())
    return {"title": study.path.stem, "fixed": fixed, "study": study.text}


def carry_out_study(arguments: argparse.Namespace, study: StudyFile, plan) -> int:  # type: ignore[no-untyped-def]  # deferred
    """Carry out a plan as the arguments say, or only say how long it takes."""
    out = Path(arguments.out) if arguments.out else study.path.with_suffix(".zarr")
    _require_store(out)
    slurm = study.table("slurm", SLURM)
    engine = engine_of(arguments, slurm)
    if arguments.dry_run:
        return _say(arguments, plan, slurm)
    from numeric.sweeps.sweep import run_plan

    started = time.perf_counter()
    try:
        swept = run_plan(plan, out, engine)
    except KeyboardInterrupt:
        return interrupts.report("finished points are stored, the same command goes on from there")
    except OSError as error:
        if error.errno in DISK_FULL:
            error.filename = out  # not the file of the store that was written last
            error.add_note("finished points are stored")
            raise
        raise unwritable(out, error) from None
    statuses = _statuses(swept.dataset)
    document = {
        "out": str(out),
        "sizes": {str(name): size for name, size in swept.dataset.sizes.items()},
        "points": plan.points,
        "found": swept.found,
        "statuses": statuses,
        "seconds": time.perf_counter() - started,
    }
    if arguments.json:
        print_json(document)
    else:
        sizes = " x ".join(f"{name} {size}" for name, size in document["sizes"].items())
        sys.stdout.write(
            f"{out}: {sizes}, {plan.points} points, {swept.found} of them found there\n"
        )
        for name, counts in statuses.items():
            sys.stdout.write(
                f"{name}: {', '.join(f'{count} {ending}' for ending, count in counts.items())}\n"
            )
        sys.stdout.write("".join(f"{line}\n" for line in _in_words(statuses, swept.dataset)))
    return 0


def _require_store(out: Path) -> None:
    """Raises InvalidParameter if no store can be made or gone on with there."""
    if not out.parent.is_dir():
        raise InvalidParameter(
            "--out",
            out,
            "cannot be written: its folder does not exist",
            "name a folder in one that does",
        )
    try:
        require_writable(out.parent)  # which holds the lock
        require_folder(out)
    except OSError as error:
        raise unwritable(out, error) from None


def _say(arguments: argparse.Namespace, plan, slurm: dict[str, object]) -> int:  # type: ignore[no-untyped-def]  # deferred
    """Points, tasks and time, and the script of a cluster's jobs."""
    script = slurm_script(slurm) if arguments.on == "slurm" else None
    if arguments.json:
        print_json(
            {
                "points": plan.points,
                "tasks": len(plan.blocks),
                "core_seconds": plan.seconds,
                "job_script": script,
            }
        )
    else:
        sys.stdout.write(
            f"{plan.points} points in {len(plan.blocks)} tasks, about {_duration(plan.seconds)} on one core\n"
        )
        sys.stdout.write(script or "")
    return 0


def _duration(seconds: float) -> str:
    return (
        f"{seconds:.0f} s"
        if seconds < 120
        else f"{seconds / 60:.0f} min"
        if seconds < 7200
        else f"{seconds / 3600:.1f} h"
    )


def _in_words(statuses, dataset) -> Iterator[str]:  # type: ignore[no-untyped-def]  # the import is deferred
    """What each ending but `converged` says of its points."""
    from numeric.sweeps.attributes import flag_descriptions

    told = dict[str, None]()  # in order, each once
    for name, counts in statuses.items():
        said = flag_descriptions(dataset[name].attrs)
        told |= {f"{ending}: {said[ending]}": None for ending in counts if ending != "converged"}
    yield from told


def _statuses(dataset) -> dict[str, dict[str, int]]:  # type: ignore[no-untyped-def]  # the import is deferred
    """How many points ended in which way, by status variable."""
    found = {}
    for name, variable in dataset.data_vars.items():
        if "flag_meanings" in variable.attrs:
            meanings = variable.attrs["flag_meanings"].split()
            found[str(name)] = {
                meanings[code]: count
                for code, count in sorted(Counter(variable.values.ravel().tolist()).items())
            }
    return found
