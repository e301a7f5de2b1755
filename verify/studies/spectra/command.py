"""`python -m verify spectrum`: singular values of trained maps compared with the theory."""

from __future__ import annotations

import argparse

from attention_erm.runtime.errors import InvalidParameter
from numeric.cli.arguments import integer, positive
from numeric.problem.problem import Parametrisation
from verify.core.options import warn_of_repeated_pairs
from verify.core.run import MINIMUM_DIM
from verify.core.section import Section
from verify.core.spectra import zero_fraction
from verify.core.study import Study
from verify.core.training_options import add_training_problem, base_run, given
from verify.studies.spectra.study import SpectrumOutcome, SpectrumPlan, study_spectra
from verify.studies.spectra.text import spectrum_document


def _add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--alpha", type=positive("--alpha", "try 0.5"), default="0.5", metavar="X",
                        help="sample ratio n/d^2 (default 0.5)")  # fmt: skip
    parser.add_argument(
        "--dim",
        type=integer("--dim", MINIMUM_DIM, 10_000, "try 100"),
        default="100",
        metavar="N",
        help="size d (default 100)",
    )
    parser.add_argument(
        "--runs",
        type=integer("--runs", 1, 10_000, "try 1"),
        default="1",
        metavar="N",
        help="runs to pool (default 1)",
    )
    add_training_problem(parser)


def _plan(arguments: argparse.Namespace) -> SpectrumPlan:
    if arguments.parametrisation == Parametrisation.GENERAL:
        rule = "has singular values that no theory here knows"
        raise InvalidParameter(
            "--parametrisation", arguments.parametrisation, rule, "use factorised or symmetric"
        )
    base = base_run(arguments, arguments.dim, float(arguments.alpha))
    warn_of_repeated_pairs([base])
    return SpectrumPlan(base, ((base.problem.alpha, base.dim, arguments.runs),))


def _show(outcome: SpectrumOutcome) -> Section:
    (spectrum,) = outcome.spectra
    line = (
        f"largest distance between the distribution functions {spectrum.distance:.4f}, p "
        f"{spectrum.p_value:.3f}; mass at "
        f"zero: theory {spectrum.theory.zero_mass:.4f}, trained "
        f"{zero_fraction(spectrum.values):.4f}\n"
    )
    return Section(
        "Spectrum of trained heads", outcome.agrees, (line,), spectrum_document(spectrum)
    )


STUDY = Study(
    name="spectrum",
    help="singular values of trained maps against the theory",
    description="Train heads at one alpha and size and compare the singular values of their "
    "maps with the spectrum of the theory. Prints the largest distance between the two "
    "distribution functions with its "
    "p-value, and both masses at zero.",
    example="python -m verify spectrum --alpha 0.5 --dim 100 --runs 2 --json",
    add_options=_add_options,
    plan=_plan,
    steps=study_spectra,
    show=_show,
    parameters=lambda arguments: {"parameters": given(arguments)},
    writes=False,
)
