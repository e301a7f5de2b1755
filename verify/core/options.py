"""Command-line options shared by the commands of `python -m verify`: sizes, runs, devices and
training.
"""

from __future__ import annotations

import argparse
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

from attention_erm.runtime.errors import InvalidParameter
from attention_erm.runtime.files import require_folder
from numeric.cli.arguments import integer, number, positive, unwritable
from numeric.cli.power_laws.exponents import decay_exponent
from numeric.laws.law import Target
from numeric.problem.problem import Problem
from numeric.studies.regimes import LEAST_GAMMA
from verify.core.data import DataKind
from verify.core.measure import RunResult
from verify.core.minimise import MINIMISERS
from verify.core.run import MINIMUM_DIM, Run, sample_count
from verify.core.store import AnyResult, Store
from verify.core.target import TargetKind
from verify.core.theory_perturbation import TheoryPerturbation

_LOG = logging.getLogger(__name__)
#: share of repeated pairs of tokens from which on their effect exceeds the scatter of some runs
_REPEATED_PAIRS = 0.02


def add_execution(parser: argparse.ArgumentParser) -> None:
    """Add the options of every command that trains heads."""
    add_task(parser)
    parser.add_argument("--target", choices=[str(k) for k in TargetKind], default="deterministic",
                        help="how the target's eigenvalues are drawn")  # fmt: skip
    parser.add_argument(
        "--minimiser", choices=tuple(MINIMISERS), default="lbfgs", help="default lbfgs"
    )


def add_sizes(
    parser: argparse.ArgumentParser,
    dims: str,
    runs: str,
    minimum: int = MINIMUM_DIM,
    note: str = "sizes d; at least two for a finite-size estimate",
) -> None:
    """Add --dim and --runs; `size_counts` reads them.

    Args:
        parser: parser of the command.
        dims: default sizes d.
        runs: default numbers of runs.
        minimum: smallest size allowed.
        note: help text of --dim.
    """
    parser.add_argument("--dim", type=integers("--dim", minimum), default=dims, metavar="N,N",
                        help=f"{note} (default {dims})")  # fmt: skip
    parser.add_argument(
        "--runs",
        type=integers("--runs", 2),
        default=runs,
        metavar="N,N",
        help=f"runs per point, one number or one for each size (default {runs})",
    )


def add_output(parser: argparse.ArgumentParser, contents: str = "runs and report") -> None:
    """Add the options of every study: folder, worker processes and JSON.

    Args:
        parser: parser of the command.
        contents: what is written into the folder.
    """
    parser.add_argument("--out", default="report", metavar="FOLDER",
                        help=f"folder of {contents} (default report)")  # fmt: skip
    parser.add_argument(
        "--workers",
        type=integer("--workers", 1, 4096, "try the number of cores"),
        metavar="N",
        help="processes (default one per core)",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON document on stdout")


def add_task(parser: argparse.ArgumentParser) -> None:
    """Add the options of every command that trains, whatever the model."""
    add_output(parser)
    add_seed(parser)
    parser.add_argument(
        "--device", choices=("cpu", "cuda"), default="cpu", help="where to train (default cpu)"
    )
    parser.add_argument(
        "--shuffle-labels",
        action="store_true",
        help="negative control: shuffle the labels; the verdict must be negative",
    )


def add_power_law(parser: argparse.ArgumentParser, default: str) -> None:
    """Add the exponent of a power-law target.

    Args:
        parser: parser of the command.
        default: default exponent.
    """
    parser.add_argument(
        "--power-law",
        type=decay_exponent("--power-law"),
        default=default,
        metavar="GAMMA",
        help=f"eigenvalues of the target proportional to k^-GAMMA (default {default})",
    )


def add_seed(parser: argparse.ArgumentParser, most: int = 2**64 - 1) -> None:
    """Add the option for the seed.

    Args:
        parser: parser of the command.
        most: largest seed.
    """
    parser.add_argument(
        "--seed",
        type=integer("--seed", 0, most, "try 0"),
        default="0",
        metavar="N",
        help="seed from which the seeds of all runs are spawned (default 0)",
    )


def add_data(parser: argparse.ArgumentParser, default: DataKind) -> None:
    """Add the option for the kind of data.

    Args:
        parser: parser of the command.
        default: default kind.
    """
    parser.add_argument("--data", choices=[str(kind) for kind in DataKind], default=str(default),
                        help=f"data that the indices come from (default {default})")  # fmt: skip


def add_theory_perturbation(parser: argparse.ArgumentParser) -> None:
    """Add the options that make the theory of exponents and thresholds wrong on purpose."""
    shift = number("--theory-gamma-off", "is any number", lambda _: True, "try 0.1")
    parser.add_argument(
        "--theory-gamma-off",
        type=shift,
        default="0",
        metavar="X",
        help="negative control: shift the gamma of the theory of the exponents; the verdict "
        "must be negative",
    )
    parser.add_argument(
        "--theory-noise-factor",
        type=positive("--theory-noise-factor", "try 2"),
        default="1",
        metavar="X",
        help="negative control: multiply the noise of the theory; the verdict must be negative",
    )


def theory_perturbation(
    arguments: argparse.Namespace, gammas: Iterable[Fraction]
) -> TheoryPerturbation:
    """Return the perturbation stated by the options of `add_theory_perturbation`.

    Args:
        arguments: parsed arguments.
        gammas: exponents of the targets.

    Raises:
        InvalidParameter: the theory has no exponents at one of the gammas.
    """
    off = arguments.theory_gamma_off
    if any(gamma + off <= LEAST_GAMMA for gamma in gammas):
        raise InvalidParameter(
            "--theory-gamma-off",
            str(off),
            "brings gamma to 1/2 or below, without exponents",
            "try 0.1",
        )
    return TheoryPerturbation(off, float(arguments.theory_noise_factor))


def execution_fields(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the fields of a Run that the options of `add_execution` state."""
    return {
        "target_kind": TargetKind(arguments.target),
        "minimiser": arguments.minimiser,
        "entropy": arguments.seed,
        "shuffle_labels": arguments.shuffle_labels,
        "device": arguments.device,
    }


def problem_from_arguments(arguments: argparse.Namespace, target: Target, **stated: Any) -> Problem:
    """Return the problem of the arguments with this target; alpha is 1 if no option states it.

    Args:
        arguments: parsed arguments.
        target: law of the target.

    Raises:
        InvalidParameter: no weight decay, or the theory does not cover the problem.
    """
    given = vars(arguments)
    require_decay(arguments)
    fields: dict[str, Any] = {"alpha": 1.0}
    fields |= {
        name: float(given[name])
        for name in ("width", "lambda_", "noise", "beta", "beta0")
        if name in given
    }
    fields |= {name: given[name] for name in ("tokens",) if name in given}
    return Problem(target=target, **{**fields, **stated})


def require_defaults(
    arguments: argparse.Namespace, defaults: Mapping[str, object], rule: str, without: str
) -> None:
    """Check that options which another study does not have are left at their defaults.

    Args:
        arguments: parsed arguments.
        defaults: default of each option, by its name in the arguments.
        rule: what such an option is for.
        without: the option that selects the other study.

    Raises:
        InvalidParameter: one is stated.
    """
    for field, value in defaults.items():
        if (stated := getattr(arguments, field)) != value:
            kept = "leave it out" if value is None else f"leave it at {value}"
            name = f"--{field.replace('_', '-')}"
            raise InvalidParameter(name, stated, rule, f"{kept}, or leave out {without}")


def require_decay(arguments: argparse.Namespace) -> None:
    """Raise InvalidParameter if the arguments state a weight decay of 0."""
    if vars(arguments).get("lambda_") == 0:
        raise InvalidParameter(
            "--lambda", 0, "the theory needs weight decay > 0", "use a small value such as 1e-3"
        )


def integers(name: str, least: int) -> Callable[[str], tuple[int, ...]]:
    """Return the type of an argument: integers of at least `least`, separated by commas.

    Args:
        name: name of the argument in messages.
        least: smallest value allowed.
    """
    parse = integer(name, least, 10_000, "give one number, or several separated by commas")
    return lambda text: tuple(parse(part) for part in text.split(","))


def size_counts(
    dims: Sequence[int], runs: Sequence[int], minimum: int = 1
) -> tuple[tuple[int, int], ...]:
    """Return pairs (d, number of runs), by size.

    Args:
        dims: sizes d.
        runs: one number of runs for all sizes, or one for each.
        minimum: minimum number of sizes.

    Raises:
        InvalidParameter: --dim and --runs do not fit together, or too few sizes.
    """
    shown = ",".join(map(str, dims))
    if len(dims) < minimum:
        rule = f"results are extrapolated from {minimum} sizes or more"
        raise InvalidParameter("--dim", shown, rule, "add sizes, e.g. --dim 30,45,60")
    counts = tuple(runs) * len(dims) if len(runs) == 1 else tuple(runs)
    if len(counts) != len(dims):
        rule = f"must be one number or {len(dims)}, as --dim has"
        raise InvalidParameter("--runs", ",".join(map(str, runs)), rule, "try --runs 8")
    if len(set(dims)) < len(dims):
        raise InvalidParameter("--dim", shown, "lists a size twice", "give each size once")
    return tuple(sorted(zip(dims, counts, strict=True)))


def require_distinct_samples(alphas: Sequence[float], dims: Sequence[int]) -> None:
    """Check that no two sample ratios round to one number of samples at a size.

    Args:
        alphas: sample ratios n/d^2.
        dims: sizes d.

    Raises:
        InvalidParameter: two do; they would be trained on the same data.
    """
    for dim in dims:
        first: dict[int, float] = {}
        for alpha in map(float, alphas):
            count = sample_count(alpha, dim)
            if (other := first.setdefault(count, alpha)) != alpha:
                rule = f"is {count} samples at d = {dim}, as {other:g} is"
                raise InvalidParameter("--alpha", f"{alpha:g}", rule, "leave one out, or raise d")


def warn_of_repeated_pairs(runs: Iterable[Run]) -> None:
    """Warn if pairs of tokens occur again more often than the theory of a vocabulary neglects.

    Args:
        runs: runs of all sizes and sample ratios.
    """
    worst = max(runs, key=lambda run: run.repeated_pairs)
    if worst.repeated_pairs > _REPEATED_PAIRS:
        _LOG.warning(
            "--vocabulary: %.1f %% of the pairs of tokens occur again at d = %d, which the theory "
            "neglects; larger sizes have fewer",
            *(100 * worst.repeated_pairs, worst.dim),
        )


def output_folder(path: str | Path) -> Path:
    """Return the folder for the output at the end of a job.

    Raises InvalidParameter if it is not writable.
    """
    folder = Path(path)
    try:
        require_folder(folder)
    except OSError as error:
        raise unwritable(folder, error) from None
    return folder


def open_or_refuse(
    open_store: Callable[[Path], Store[AnyResult]], folder: Path
) -> Store[AnyResult]:
    """Open the store of a folder.

    Args:
        open_store: function that opens it.
        folder: the folder.

    Raises:
        InvalidParameter: it is not writable.
    """
    try:
        return open_store(folder)
    except OSError as error:
        raise unwritable(folder, error) from None


def result_store(folder: Path) -> Store[RunResult]:
    """Return the store of finished runs of a folder; raise InvalidParameter if not writable."""
    return open_or_refuse(lambda path: Store(path, RunResult), folder)
