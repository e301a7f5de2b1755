"""`python -m verify`: the main job, theory beside training at the paper's settings, and its report."""

from __future__ import annotations

import argparse
import logging
import sys
from dataclasses import replace
from pathlib import Path

from attention_erm.commandline.parser import Parser
from numeric.cli.arguments import print_json
from verify.core.options import (
    add_execution,
    add_theory_perturbation,
    execution_fields,
    opened,
    result_store,
    theory_perturbation,
)
from verify.core.output import write_file
from verify.core.paper import figure_one
from verify.main_job.document import main_job_document
from verify.main_job.page import report_files
from verify.main_job.study import JOB_PRESETS, Stores, do_main_job, preset
from verify.main_job.text import main_job_lines
from verify.studies.exponents.measure import student_store
from verify.studies.exponents.theory import GAMMA
from verify.studies.thresholds.study import vanishing_store

_LOG = logging.getLogger(__name__)


def add(parser: Parser) -> None:
    """Add its arguments: those of the whole command line, where no command is given."""
    parser.add_argument(
        "--preset", choices=tuple(JOB_PRESETS), default="main", help="size of the main job (default main)"
    )
    add_theory_perturbation(parser)
    add_execution(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Do the main job and write its report."""
    plan = replace(
        preset(arguments.preset, figure_one().varied(**execution_fields(arguments))),
        perturbation=theory_perturbation(arguments, [GAMMA]),
    )
    folder = Path(arguments.out)
    stores = Stores(result_store(folder), opened(student_store, folder), opened(vanishing_store, folder))
    shorter = "" if arguments.preset == "quick" else "; --preset quick is shorter"
    _LOG.info(f"{arguments.preset} preset: {plan.run_count()} runs, report in {folder}/{shorter}")
    outcome = do_main_job(plan, stores, _LOG.info, arguments.workers)
    _LOG.info("report")
    for name, content in report_files(outcome).items():
        write_file(folder / name, content)
    if arguments.json:
        print_json(main_job_document(outcome))
    else:
        verdict = "agree" if outcome.agrees else "DISAGREE"
        sys.stdout.write("".join(main_job_lines(outcome)))
        sys.stdout.write(f"theory and training {verdict}; see {folder / 'index.html'}\n")
    return 0 if outcome.agrees else 1
