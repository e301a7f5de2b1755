"""Command line: `python -m verify [--preset P]` is the main job; the commands are pieces of it."""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import torch

from numeric.cli.arguments import (
    BadInput,
    Parser,
    add_problem_arguments,
    bad_argument,
    grid,
    integer,
    positive,
    print_json,
    write_atomically,
)
from numeric.problem.parameter import InvalidParameter
from numeric.problem.problem import Parametrisation
from verify.cli import cross_validate as choice_command
from verify.cli import figure as figure_command
from verify.cli import gap as gap_command
from verify.cli import scaling as scaling_command
from verify.cli.arguments import add_execution, execution_fields, integers, note, opened, size_counts
from verify.figures.main_job import draw_thresholds
from verify.jobs.pool import WorkerError, execute_all
from verify.jobs.store import Store
from verify.judging.scores import Comparison, compare
from verify.judging.spectra import Panel, panel, zero_fraction
from verify.judging.theory import problem_of, watched_predictions
from verify.report import page as report
from verify.studies.descents import compare_descents
from verify.studies.main_job import PRESETS, Campaign, carry_out, preset
from verify.studies.thresholds import DECAY, Sighting, observe, vanishing_store
from verify.training.data import DataKind, TargetKind, require_memory
from verify.training.measure import RunResult
from verify.training.run import MINIMUM_DIM, Run

PROBLEM = ("kappa0", "width", "lambda_", "noise", "tokens", "beta", "beta0")
COMPARISON_DECAY = 0.01  #: at which descents over W and over S are compared
PAPER = {"kappa0": "0.5", "width": "1", "lambda_": "0.01", "noise": "0.5"}  #: Figure 1


def build_parser() -> Parser:
    """All commands and their arguments."""
    parser = Parser(
        prog="python -m verify",
        description="Train attention heads and set them beside the theory. Without a command: the main job.",
        epilog="example: python -m verify --preset quick --out report",
    )
    parser.add_argument("--preset", choices=tuple(PRESETS), default="main", help="size of the main job (default main)")
    add_execution(parser)
    commands = parser.add_subparsers(
        dest="command", metavar="{curve,figure,spectrum,scaling,gap,thresholds,cross-validate}"
    )
    curve = commands.add_parser(
        "curve",
        help="runs along alpha against the theory, with a verdict",
        epilog="example: python -m verify curve --alpha 0.5,1,2 --dim 40,60 --runs 8 --noise 1 --json",
    )
    curve.add_argument("--alpha", type=grid("--alpha"), default="0.5,1,2", metavar="GRID",
                       help="0.2,0.5,1 or first:last:count (geometric)")  # fmt: skip
    curve.add_argument("--dim", type=integers("--dim", MINIMUM_DIM), default="40,60", metavar="N,N",
                       help="sizes d; at least two for a finite-size estimate (default 40,60)")  # fmt: skip
    curve.add_argument("--runs", type=integers("--runs", 2), default="8", metavar="N",
                       help="runs per point, one number or one for each size (default 8)")  # fmt: skip
    spectrum = commands.add_parser(
        "spectrum",
        help="singular values of trained maps against the theory",
        epilog="example: python -m verify spectrum --alpha 0.5 --dim 100 --runs 2 --json",
    )
    spectrum.add_argument("--alpha", type=positive("--alpha", "try 0.5"), default="0.5", metavar="X",
                          help="sample ratio n/d^2 (default 0.5)")  # fmt: skip
    spectrum.add_argument("--dim", type=integer("--dim", MINIMUM_DIM, 10_000, "try 100"), default="100", metavar="N",
                          help="size d (default 100)")  # fmt: skip
    spectrum.add_argument("--runs", type=integer("--runs", 1, 10_000, "try 1"), default="1", metavar="N",
                          help="runs to pool (default 1)")  # fmt: skip
    thresholds = commands.add_parser(
        "thresholds",
        help="where training loss and estimation error vanish, against the proven thresholds",
        epilog="example: python -m verify thresholds --dim 24,36,48 --runs 24,16,10 --out report --json",
    )
    thresholds.add_argument("--dim", type=integers("--dim", MINIMUM_DIM), default="24,36,48", metavar="N,N",
                            help="sizes d, at least two to extrapolate from (default 24,36,48)")  # fmt: skip
    thresholds.add_argument("--runs", type=integers("--runs", 2), default="24,16,10", metavar="N",
                            help="runs per point, one number or one for each size (default 24,16,10)")  # fmt: skip
    add_problem_arguments(
        thresholds, "kappa0", "width", "noise", "tokens", "beta", "beta0", defaults={"kappa0": "0.5", "noise": "0.25"}
    )
    add_execution(thresholds)
    choice_command.add_parser(commands)
    scaling_command.add_parser(commands)
    gap_command.add_parser(commands)
    figure_command.add_parser(commands)
    for command in (curve, spectrum):
        add_problem_arguments(command, *PROBLEM, defaults=PAPER)
        command.add_argument("--data", choices=[str(k) for k in DataKind], default="sequences",
                             help="what the indices are made of (default sequences)")  # fmt: skip
        command.add_argument("--parametrisation", choices=[str(p) for p in Parametrisation], default="factorised",
                             help="train factors W of S, or S itself (default factorised)")  # fmt: skip
        add_execution(command)
    return parser


def main_job(arguments: argparse.Namespace) -> int:
    """Do the main job and write its report."""
    plan = preset(
        arguments.preset, arguments.minimiser, arguments.seed, TargetKind(arguments.target), arguments.device,
        arguments.shuffle_labels,
    )  # fmt: skip
    folder = Path(arguments.out)
    note(f"{arguments.preset} preset: {plan.run_count()} runs, report in {folder}/; --preset quick is shorter")
    outcome = carry_out(plan, _store(folder), note, arguments.workers)
    note("report")
    for name, content in report.files(outcome).items():
        write_atomically(folder / name, content)
    if arguments.json:
        print_json(report.document(outcome))
    else:
        for kind, comparison in outcome.comparisons.items():
            sys.stdout.write(_verdict_lines(str(kind), comparison))
        if outcome.laws:
            sys.stdout.write("".join(scaling_command.lines(outcome.laws)))
        for approach in outcome.exponents:
            slopes = ", ".join(f"{slope:.3f} at d = {dim:.0e}" for dim, slope, _ in approach.slopes)
            sys.stdout.write(f"exponent {approach.exponent} ({approach.regime}): theory {slopes}\n")
        for found in outcome.panels:
            word = "agrees" if found.agrees else "disagrees"
            sys.stdout.write(
                f"spectrum at alpha {found.alpha:g}: {word}; distance {found.distance:.4f}, p {found.p_value:.3f}\n"
            )
        sys.stdout.write(f"see {folder / 'index.html'}\n")
    return 0 if outcome.agrees else 1


def curve(arguments: argparse.Namespace) -> int:
    """Train along alpha, compare and print."""
    started = time.perf_counter()
    sizes = size_counts(arguments.dim, arguments.runs)
    base = _base(arguments, sizes[0][0], float(arguments.alpha[0]))
    campaign = Campaign(base.data, sizes, tuple(dict.fromkeys(float(a) for a in arguments.alpha)), (base.width,))
    results = _train(campaign.runs(base), arguments)
    comparison = compare(results, watched_predictions)
    if arguments.json:
        document = {"parameters": _parameters(arguments), **report.comparison_document(comparison)}
        print_json({**document, "seed": arguments.seed, "seconds": time.perf_counter() - started})
    else:
        sys.stdout.write(_verdict_lines(arguments.data, comparison))
    return 0 if comparison.agrees else 1


def spectrum(arguments: argparse.Namespace) -> int:
    """Train at one alpha and set the singular values beside the theory."""
    started = time.perf_counter()
    base = _base(arguments, arguments.dim, float(arguments.alpha))
    campaign = Campaign(base.data, ((base.dim, arguments.runs),), (base.alpha,), (base.width,))
    results = _train(campaign.runs(base), arguments)
    found = panel(results)
    if arguments.json:
        document = {"parameters": _parameters(arguments), **_panel_document(found), "agrees": found.agrees}
        print_json({**document, "seed": arguments.seed, "seconds": time.perf_counter() - started})
    else:
        sys.stdout.write(
            f"largest distance between the distribution functions {found.distance:.4f}, p {found.p_value:.3f}; mass at "
            f"zero: theory {found.theory.zero_mass:.4f}, trained {zero_fraction(found.values):.4f}\n"
        )
    return 0 if found.agrees else 1


def thresholds(arguments: argparse.Namespace) -> int:
    """Locate both thresholds in training, compare with the proven values, write figure and JSON."""
    started = time.perf_counter()
    sizes = _threshold_sizes(arguments)
    arguments.data, arguments.lambda_, arguments.parametrisation = DataKind.SEQUENCES, DECAY, "factorised"
    folder = Path(arguments.out)
    base = _base(arguments, sizes[0][0], 1.0)
    sightings = observe(base, sizes, opened(vanishing_store, folder), note, arguments.workers)
    note("descents over W and over S")
    same = [
        compare_descents(dataclasses.replace(base, alpha=multiple * float(sighting.proven), lambda_=COMPARISON_DECAY))
        for sighting in sightings[:1]
        for multiple in (0.8, 2.0)
    ]
    agrees = all(item.agrees for item in sightings) and all(item.agrees for item in same)
    document = {
        "parameters": {
            name: str(getattr(arguments, name)) for name in ("kappa0", "width", "noise", "tokens", "beta", "beta0")
        },
        "decay": DECAY,
        "thresholds": [sighting.document() for sighting in sightings],
        "parametrisations": [item.document() for item in same],
        "agrees": agrees,
        "seed": arguments.seed,
        "seconds": time.perf_counter() - started,
    }
    write_atomically(folder / "thresholds.png", draw_thresholds(sightings))
    write_atomically(folder / "thresholds.json", (json.dumps(document, indent=1) + "\n").encode())
    if arguments.json:
        print_json(document)
    else:
        for sighting in sightings:
            sys.stdout.write(_sighting_line(sighting))
        for item in same:
            word = "the same minimum" if item.agrees else "different minima"
            sys.stdout.write(
                f"weight decay on W and trace penalty on S at alpha {item.alpha:.4f}: {word}; "
                f"loss {item.factorised:.9g} and {item.convex:.9g}, distance of the maps {item.distance:.1e}\n"
            )
        sys.stdout.write(f"see {folder / 'thresholds.png'} and {folder / 'thresholds.json'}\n")
    return 0 if agrees else 1


def _threshold_sizes(arguments: argparse.Namespace) -> tuple[tuple[int, int], ...]:
    """Sizes with their numbers of runs; refuses settings whose thresholds are not defined or not sharp."""
    sizes = size_counts(arguments.dim, arguments.runs)
    if len(sizes) < 2:
        raise BadInput(
            "--dim", sizes[0][0], "one size cannot be extrapolated", "give at least two, e.g. --dim 24,36,48"
        )
    if arguments.noise == 0:
        raise BadInput("--noise", 0, "the interpolation threshold needs label noise > 0", "use --noise 0.25")
    if arguments.width < 1:
        raise BadInput(
            "--width", arguments.width, "below 1 the threshold is replica symmetric only", "use --width 1 or more"
        )
    if arguments.beta != arguments.beta0:
        raise BadInput(
            "--beta", arguments.beta, f"recovery needs beta = beta0 (here {arguments.beta0})", "give both the same"
        )
    return sizes


def _sighting_line(sighting: Sighting) -> str:
    found = sighting.crossing.infinite
    word = "agrees" if sighting.agrees else "disagrees" if sighting.decides else "undecided, add runs or larger sizes"
    left_out = f"; {sighting.excluded} runs left out, not converged" if sighting.excluded else ""
    return (
        f"{sighting.kind.name}: {word}; trained {found.value:.4f}, 95 % interval [{found.low:.4f}, {found.high:.4f}], "
        f"proven {float(sighting.proven):.10f}{left_out}\n"
    )


def _panel_document(found: Panel) -> dict[str, object]:
    return {
        "alpha": found.alpha,
        "zero_mass": found.theory.zero_mass,
        "trained_zero_mass": zero_fraction(found.values),
        "second_moment": found.theory.second_moment,
        "trained_second_moment": float((found.values**2).mean()),
        "distance": found.distance,
        "p_value": found.p_value,
        "bulk": {"x": found.theory.x.tolist(), "density": found.theory.density.tolist()},
        "singular_values": found.values.tolist(),
    }


def _base(arguments: argparse.Namespace, dim: int, alpha: float) -> Run:
    if arguments.lambda_ == 0:
        raise BadInput("--lambda", 0, "the theory needs weight decay > 0", "use a small value such as 1e-3")
    kappa0, width, decay, noise, _, beta, beta0 = (float(getattr(arguments, name)) for name in PROBLEM)
    base = Run(
        dim=dim, alpha=alpha, kappa0=kappa0, width=width, lambda_=decay, noise=noise, beta=beta, beta0=beta0,
        tokens=arguments.tokens, parametrisation=Parametrisation(arguments.parametrisation), data=DataKind(arguments.data),
        **execution_fields(arguments),
    )  # fmt: skip
    problem_of(base)  # so that what the theory does not cover is refused before an hour of training
    return base


def _train(runs: list[Run], arguments: argparse.Namespace) -> list[RunResult]:
    for item in runs:
        require_memory(item.data, item.samples, item.tokens, item.dim)
    return execute_all(runs, _store(Path(arguments.out)), workers=arguments.workers)


def _store(folder: Path) -> Store[RunResult]:
    return opened(lambda path: Store(path, RunResult), folder)


def _parameters(arguments: argparse.Namespace) -> dict[str, str]:
    return {
        name.rstrip("_"): str(getattr(arguments, name))
        for name in (*PROBLEM, "target", "data", "minimiser", "parametrisation")
    }


def _verdict_lines(kind: str, comparison: Comparison) -> str:
    lines = [
        f"{kind} {v.quantity}: {v.advice}; worst z {v.worst.z:+.2f}; "
        f"mean {100 * v.pooled.relative:+.2f} +- {100 * v.pooled.standard_error:.2f} %"
        for v in comparison.verdicts
    ]
    lines += [
        f"{kind}: left out dim {r.run.dim} alpha {r.run.alpha:g} index {r.run.index}: {r.status.value}"
        for r in comparison.excluded
    ]
    return "\n".join(lines) + "\n"


COMMANDS: dict[str | None, Callable[[argparse.Namespace], int]] = {
    None: main_job, "curve": curve, "spectrum": spectrum, "thresholds": thresholds,
    "cross-validate": choice_command.cross_validate, "figure": figure_command.figure,
    "scaling": scaling_command.scaling, "gap": gap_command.gap,
}  # fmt: skip


def main(argv: Sequence[str] | None = None) -> int:
    """Return the exit code: 0 agreement, 1 disagreement or failure, 130 interrupted; BadInput is the caller's."""
    arguments = build_parser().parse_args(argv)
    if arguments.device == "cuda" and not torch.cuda.is_available():
        raise BadInput("--device", "cuda", "needs a CUDA device, and torch sees none", "use --device cpu")
    try:
        return COMMANDS[arguments.command](arguments)
    except InvalidParameter as error:
        raise bad_argument(error) from None
    except WorkerError as error:
        note(f"failed: {error}")
        return 1
    except KeyboardInterrupt:
        note("interrupted: finished runs are kept, the same command goes on from there")
        return 130
