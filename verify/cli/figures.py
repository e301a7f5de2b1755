"""`python -m verify figures`: every figure of the paper, with a page that shows them; an interrupted job goes on where it stopped."""

from __future__ import annotations

import argparse
import logging
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

_LOG = logging.getLogger(__name__)


def add(commands: Any) -> None:
    """Add the command and its arguments."""
    parser = commands.add_parser(
        "figures",
        help="every figure of the paper, with a page that shows them",
        description="Draw the figures of the paper one after the other, theory beside trained heads. Prints a line a "
        "figure with its verdict; writes each as PNG, PDF and JSON, and figures.html, which shows all. Runs "
        "that are finished are kept, and an interrupted job goes on from them.",
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
    """Draw one figure after the other; each is written when it is finished, the page after each."""
    folder, shown, documents = Path(arguments.out), dict[str, Shown](), dict[str, Any]()
    asked = {name: request(FIGURES[name], arguments) for name in arguments.only}
    with Pool(arguments.workers) as pool:
        for name, wanted in asked.items():
            _LOG.info(f"figure {name}: {FIGURES[name].title}")
            started = time.perf_counter()
            drawn = FIGURES[name].draw(wanted, pool)
            write(drawn, folder)
            seconds = time.perf_counter() - started
            documents[name] = {**drawn.document, "seconds": seconds}
            shown[name] = Shown(
                FIGURES[name].title, drawn.images["png"], drawn.agrees, drawn.lines, seconds
            )
            write_file(folder / "figures.html", gallery_page(shown).encode())
            if not arguments.json:
                sys.stdout.write(
                    f"figure {name}: {'agrees' if drawn.agrees else 'DISAGREES'}, {seconds:.0f} s\n"
                )
    if arguments.json:
        print_json(documents)
    else:
        sys.stdout.write(f"see {folder / 'figures.html'}\n")
    return 0 if all(item.agrees for item in shown.values()) else 1
