"""`python -m verify scaling`: excess error of trained heads along n beside the finite-d theory and the derived exponents."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from numeric.cli import plots
from numeric.cli.arguments import BadInput, add_problem_arguments, grid, print_json, write_atomically
from numeric.cli.commands.exponents import decay_exponent
from numeric.cli.commands.scaling import decay_law
from numeric.laws.power_law import power_law
from verify.cli.arguments import (
    add_execution,
    execution_fields,
    integers,
    note,
    result_store,
    size_counts,
    stated_problem,
)
from verify.figures.drawing import styled
from verify.figures.power_laws.scaling import draw_windows, excess_figure, trained_decomposition_figure
from verify.jobs.pool import Pool
from verify.report.documents import scaling_document
from verify.report.lines import scaling_lines
from verify.studies.scaling import ScalingOutcome, study_scaling
from verify.studies.scaling_plan import ScalingPlan
from verify.training.data import DataKind
from verify.training.run import MINIMUM_DIM, Run

_PARAMETERS = ("noise", "beta", "beta0")
_DECAYS = ("1/d", "1", "sqrt(d)")
_ALPHAS = (0.0125, 0.025, 0.05, 0.1, 0.2, 0.4, 0.8, 1.6, 3.2)
#: The paper's Figure 4: spectra at n = 4e3 and 4e5; one run of the latter takes minutes.
_SIZES, _SPECTRA = ((100, 8), (200, 8)), ((0.1, 8), (10.0, 1))
TILES = 5  #: each way of the phase diagram
Drawing = tuple[str, Callable[[ScalingOutcome], Figure]]  #: name of the file, and what draws it


def regime_figure(outcome: ScalingOutcome) -> Figure:
    """The theory's phase diagram with windows of trained heads."""
    assert outcome.phases is not None  # as the plan asks for it
    return draw_windows(plots.phase_figure(outcome.phases), outcome)


DRAWINGS: dict[str, Drawing] = {  # by the number of the paper's figure
    "3": ("decomposition", trained_decomposition_figure), "4": ("scaling", excess_figure), "5": ("regimes", regime_figure)
}  # fmt: skip


def add(commands: Any) -> None:
    """Add the command and its arguments."""
    parser = commands.add_parser(
        "scaling",
        help="excess error of a power-law target along the number of samples, its slopes and spectra",
        epilog="example: python -m verify scaling --dim 40,56 --lambda 1/d,1 --data gaussian-equivalent --json",
    )
    parser.add_argument("--power-law", type=decay_exponent("--power-law"), default="3/4", metavar="GAMMA",
                        help="eigenvalues of the target proportional to k^-GAMMA (default 3/4)")  # fmt: skip
    parser.add_argument("--dim", type=integers("--dim", MINIMUM_DIM), default="40,56", metavar="N,N",
                        help="sizes d; at least two for a finite-size estimate (default 40,56)")  # fmt: skip
    parser.add_argument("--runs", type=integers("--runs", 2), default="8", metavar="N",
                        help="runs per point, one number or one for each size (default 8)")  # fmt: skip
    parser.add_argument("--alpha", type=grid("--alpha"), default=",".join(map(str, _ALPHAS)),
                        metavar="GRID", help="n/d^2, the same at every size (default 0.0125 to 3.2, doubling)")  # fmt: skip
    parser.add_argument("--lambda", dest="decays", default=",".join(_DECAYS), metavar="X,X",
                        help="weight decays: numbers, 1/d, sqrt(d), d^p (default 1/d,1,sqrt(d))")  # fmt: skip
    parser.add_argument("--data", choices=[str(kind) for kind in DataKind], default="sequences",
                        help="what the indices are made of (default sequences)")  # fmt: skip
    add_problem_arguments(parser, *_PARAMETERS, defaults={"noise": "0.5"})
    add_execution(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Train, compare, write figures and JSON, print the verdict."""
    return _deliver(plan_of(arguments), tuple(DRAWINGS.values()), arguments)


def figure(arguments: argparse.Namespace) -> int:
    """Figure 3, 4 or 5 of the paper at its settings: token sequences, gamma = 3/4, noise 1/2, d = 100 and 200."""
    dims, runs = zip(*_SIZES, strict=True)
    sizes = size_counts(arguments.dim or dims, arguments.runs or runs)
    decays = tuple(map(decay_law, _DECAYS[:1] if arguments.preset == "3" else _DECAYS))
    tiles = TILES if arguments.preset == "5" else 0
    plan = ScalingPlan(_base(arguments, 0.75, DataKind.SEQUENCES, noise=0.5), decays, _ALPHAS, sizes, _SPECTRA, tiles)
    return _deliver(plan, (DRAWINGS[arguments.preset],), arguments)


def _deliver(plan: ScalingPlan, drawings: Sequence[Drawing], arguments: argparse.Namespace) -> int:
    started, folder = time.perf_counter(), Path(arguments.out)
    store = result_store(folder)
    with Pool(arguments.workers) as pool:
        outcome = study_scaling(plan, store, pool)
    note("figures")
    for name, draw in drawings:
        for suffix, content in styled(partial(draw, outcome)).items():
            write_atomically(folder / f"{name}.{suffix}", content)
    document = {**scaling_document(outcome), "seconds": time.perf_counter() - started}
    write_atomically(folder / "scaling.json", (json.dumps(document, indent=1, allow_nan=False) + "\n").encode())
    if arguments.json:
        print_json(document)
    else:
        names = ", ".join(f"{name}.png" for name, _ in drawings)
        sys.stdout.write("".join(scaling_lines(outcome)) + f"see {names} and scaling.json in {folder}/\n")
    return 0 if outcome.agrees else 1


def plan_of(arguments: argparse.Namespace) -> ScalingPlan:
    """What the arguments ask for; spectra at the least and the greatest n/d^2.

    Raises BadInput for what makes no sense together.
    """
    sizes = size_counts(arguments.dim, arguments.runs)
    alphas = tuple(sorted({float(alpha) for alpha in arguments.alpha}))
    decays = tuple(map(decay_law, dict.fromkeys(arguments.decays.split(","))))
    if any(len({decay.at(dim) for decay in decays}) < len(decays) for dim, _ in sizes):
        raise BadInput("--lambda", arguments.decays, "names a weight decay twice", "give each once")
    base = _base(arguments, float(arguments.power_law), DataKind(arguments.data))
    ends = dict.fromkeys((alphas[0], alphas[-1]))
    return ScalingPlan(base, decays, alphas, sizes, tuple((alpha, sizes[-1][1]) for alpha in ends), TILES)


def _base(arguments: argparse.Namespace, gamma: float, kind: DataKind, **stated: float) -> Run:
    """A run of any size, sample number and weight decay: the plan replaces these."""
    problem = stated_problem(arguments, power_law(gamma, MINIMUM_DIM), lambda_=1.0, **stated)
    return Run(problem, MINIMUM_DIM, data=kind, **execution_fields(arguments))
