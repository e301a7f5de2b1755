"""`python -m verify figures`: every figure of the paper and a page of them; an interrupted job
continues.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import Any

from numeric.cli.arguments import print_json
from numeric.cli.output import add_style
from verify.cli.figure import add_paper, figure_name, request, write
from verify.cli.paper_figures import FIGURES
from verify.core.options import add_execution
from verify.core.output import write_file
from verify.core.pool import Pool
from verify.report.gallery import Shown, gallery_page


def add(commands: Any) -> None:
    """Add the command and its arguments."""
    parser = commands.add_parser(
        "figures",
        help="every figure of the paper, with a page that shows them",
        description="Draw the figures of the paper, theory and trained heads. Prints one line "
        "per figure with its verdict; writes each as PNG, PDF and JSON, and figures.html, which "
        "shows all. Finished runs are stored, and an interrupted job continues from them.",
        epilog="example: python -m verify figures --out gallery",
    )
    parser.add_argument(
        "--only",
        type=_names,
        default=",".join(FIGURES),
        metavar="N,N",
        help="which figures (default all)",
    )
    add_paper(parser)
    add_style(parser)
    add_execution(parser)
    parser.set_defaults(run=run)


def _names(text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(map(figure_name, text.split(","))))


def run(arguments: argparse.Namespace) -> int:
    """Compute all figures together; write each as soon as it is finished, and the page after
    each.
    """
    folder, shown, documents = Path(arguments.out), dict[str, Shown](), dict[str, Any]()
    requests = {name: request(FIGURES[name], arguments) for name in arguments.only}
    started = time.perf_counter()
    studies = {name: FIGURES[name].section(request) for name, request in requests.items()}
    with Pool(arguments.workers) as pool:
        for name, section in pool.run_together(studies, "figures"):
            files, seconds = write(section, folder), time.perf_counter() - started
            image = next(content for file, content in files.items() if file.endswith(".png"))
            documents[name] = {**section.document, "seconds": seconds}
            shown[name] = Shown(FIGURES[name].title, image, section.agrees, section.lines, seconds)
            ordered = {name: shown[name] for name in requests if name in shown}
            write_file(folder / "figures.html", gallery_page(ordered).encode())
            if not arguments.json:
                verdict = "agrees" if section.agrees else "DISAGREES"
                sys.stdout.write(f"figure {name}: {verdict}, after {seconds:.0f} s\n")
                sys.stdout.flush()
    if arguments.json:
        print_json(documents)
    else:
        sys.stdout.write(f"see {folder / 'figures.html'}\n")
    return 0 if all(item.agrees for item in shown.values()) else 1
