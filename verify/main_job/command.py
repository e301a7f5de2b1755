"""`python -m verify`: the main job, theory compared with training at the settings of the paper,
with a report.
"""

from __future__ import annotations

import argparse
import logging
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

from attention_erm.cli.parser import Parser
from attention_erm.runtime.text_table import table_text
from numeric.cli.arguments import print_json
from numeric.model import DEFAULT
from verify.core.options import (
    add_execution,
    add_theory_perturbation,
    execution_fields,
    result_store,
    theory_perturbation,
)
from verify.core.output import write_file
from verify.core.paper import figure_one
from verify.core.pool import Pool
from verify.core.section import Section
from verify.core.versions import versions
from verify.main_job.page import MainReport
from verify.main_job.plan import JOB_PRESETS, Plan, preset
from verify.main_job.run import check_equations, sections
from verify.studies.exponents.theory import GAMMA

_LOG = logging.getLogger(__name__)
_LINES = 10  #: lines of a section on the terminal; the report has all of them


def add(parser: Parser) -> None:
    """Add the options of the main job, which are those of the whole command line."""
    parser.add_argument(
        "--preset",
        choices=tuple(JOB_PRESETS),
        default="main",
        help="size of the main job (default main)",
    )
    add_theory_perturbation(parser)
    add_execution(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Run the main job: print each section as soon as it is finished, and write the report."""
    started = time.perf_counter()
    plan = replace(
        preset(arguments.preset, figure_one().varied(**execution_fields(arguments))),
        perturbation=theory_perturbation(arguments, [GAMMA]),
    )
    folder = Path(arguments.out)
    result_store(folder)  # raises if it is not writable
    shorter = "" if arguments.preset == "quick" else "; --preset quick is shorter"
    _LOG.info(
        f"{arguments.preset} preset: {plan.run_count()} runs, report in "
        f"{folder / 'index.html'}{shorter}"
    )
    report = MainReport(folder, _facts(plan), write_file)
    shown = threading.Lock()

    def show(section: Section) -> None:
        with shown:
            report.add(section)
            if not arguments.json:
                _print_section(section)

    with ThreadPoolExecutor(
        1
    ) as thread:  # the derivation runs in a separate process, next to the first tasks
        checked = thread.submit(lambda: show(check_equations(DEFAULT)))
        with Pool(arguments.workers) as pool:
            for section in sections(plan, folder, pool):
                show(section)
        checked.result()
    document = _document(plan, report, pool.seconds, time.perf_counter() - started)
    report.write_page(finished=True)
    report.write_document(document)
    if arguments.json:
        print_json(document)
    else:
        _print_summary(report, time.perf_counter() - started)
    return 0 if report.agrees else 1


def _print_section(section: Section) -> None:
    """Print a heading with the verdict and the first lines, above a progress bar on the same
    terminal.
    """
    more = (
        f"  ... {len(section.lines) - _LINES} more lines in the report\n"
        if len(section.lines) > _LINES + 1
        else ""
    )
    lines = section.lines[:_LINES] if more else section.lines
    text = f"\n== {section.title}: {'agrees' if section.agrees else 'DISAGREES'}\n" + "".join(
        f"  {line}" for line in lines
    )
    if sys.stderr.isatty() and sys.stdout.isatty():
        from tqdm import tqdm

        tqdm.write((text + more).rstrip("\n"), file=sys.stdout)
    else:
        sys.stdout.write(text + more)
    sys.stdout.flush()


def _print_summary(report: MainReport, seconds: float) -> None:
    rows = [
        {
            "agrees": "yes" if claim.agrees else "NO", "claim": claim.claim,
            "theory": claim.theory, "training": claim.training, "deviation": claim.deviation,
        }
        for section in report.sections
        for claim in section.claims
    ]  # fmt: skip
    verdict = "agree" if report.agrees else "DISAGREE"
    sys.stdout.write(f"\n{table_text(rows)}\n")
    sys.stdout.write("".join(section.note for section in report.sections))
    sys.stdout.write(
        f"theory and training {verdict}; report in {report.folder / 'index.html'}; {seconds:.0f} "
        "s\n"
    )


def _document(
    plan: Plan, report: MainReport, seconds: dict[str, float], elapsed: float
) -> dict[str, Any]:
    base = plan.base.record()
    absent = dict.fromkeys(("scaling", "trained_exponents", "trained_thresholds"))
    parts: dict[str, Any] = {"spectra": [], "exponents": [], **absent}
    for section in report.sections:
        parts |= section.document
    return {
        "agrees": report.agrees,
        **parts,
        "claims": [claim._asdict() for section in report.sections for claim in section.claims],
        "parameters": {key: base[key] for key in _SHARED},
        "seed": plan.base.entropy,
        "seconds": seconds,
        "elapsed": elapsed,
        "versions": versions(),
    }


_SHARED = (
    *(
        "kappa0",
        "lambda_",
        "noise",
        "tokens",
        "beta",
        "beta0",
        "target",
        "parametrisation",
        "minimiser",
        "device",
    ),
    "shuffle_labels",
)


def _facts(plan: Plan) -> dict[str, object]:
    base = plan.base.record()
    return {
        **{key.rstrip("_"): base[key] for key in _SHARED},
        "runs (data, d x number, alpha, kappa)": "; ".join(
            f"{c.data}: {', '.join(f'{d} x {n}' for d, n in c.sizes)}; alpha "
            f"{', '.join(f'{a:g}' for a in c.alphas)}; "
            f"kappa {', '.join(f'{w:g}' for w in c.widths)}"
            for c in plan.campaigns
        ),
        "seed": f"{plan.base.entropy}, spawned per point and run",
        "versions": ", ".join(f"{name} {number}" for name, number in versions().items()),
    }
