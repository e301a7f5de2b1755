"""`python -m verify spectrum`: singular values of trained maps against the theory."""

from __future__ import annotations

import argparse
import sys
import time
from typing import Any

from numeric.cli.arguments import BadInput, integer, positive, print_json
from numeric.problem.problem import Parametrisation
from verify.core.campaign import Campaign
from verify.core.run import MINIMUM_DIM
from verify.core.spectra import trained_spectrum, zero_fraction
from verify.core.training_options import add_training_problem, base_run, given, stored_results
from verify.studies.spectra.text import spectrum_document


def add(commands: Any) -> None:
    """Add the command and its arguments."""
    parser = commands.add_parser(
        "spectrum",
        help="singular values of trained maps against the theory",
        description="Train heads at one alpha and size and set the singular values of their maps beside the spectrum of "
        "the theory. Prints the largest distance between the two distribution functions with its p-value, and "
        "the mass at zero of both.",
        epilog="example: python -m verify spectrum --alpha 0.5 --dim 100 --runs 2 --json",
    )
    parser.add_argument("--alpha", type=positive("--alpha", "try 0.5"), default="0.5", metavar="X",
                        help="sample ratio n/d^2 (default 0.5)")  # fmt: skip
    parser.add_argument("--dim", type=integer("--dim", MINIMUM_DIM, 10_000, "try 100"), default="100", metavar="N",
                        help="size d (default 100)")  # fmt: skip
    parser.add_argument("--runs", type=integer("--runs", 1, 10_000, "try 1"), default="1", metavar="N",
                        help="runs to pool (default 1)")  # fmt: skip
    add_training_problem(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Train at one alpha and set the singular values beside the theory."""
    started = time.perf_counter()
    if arguments.parametrisation == Parametrisation.GENERAL:
        rule = "has singular values that no theory here knows"
        raise BadInput("--parametrisation", arguments.parametrisation, rule, "use factorised or symmetric")
    base = base_run(arguments, arguments.dim, float(arguments.alpha))
    campaign = Campaign(base.data, ((base.dim, arguments.runs),), (base.problem.alpha,), (base.problem.width,))
    results = stored_results(campaign.runs(base), arguments)
    spectrum = trained_spectrum(results)
    if arguments.json:
        document = {"parameters": given(arguments), **spectrum_document(spectrum), "agrees": spectrum.agrees}
        print_json({**document, "seed": arguments.seed, "seconds": time.perf_counter() - started})
    else:
        sys.stdout.write(
            f"largest distance between the distribution functions {spectrum.distance:.4f}, p {spectrum.p_value:.3f}; mass at "
            f"zero: theory {spectrum.theory.zero_mass:.4f}, trained {zero_fraction(spectrum.values):.4f}\n"
        )
    return 0 if spectrum.agrees else 1
