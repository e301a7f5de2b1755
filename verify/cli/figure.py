"""`python -m verify figure`: a figure of the paper, theory and trained heads, as PNG and PDF, with
a verdict.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import Any

from attention_erm.runtime.errors import InvalidParameter
from attention_erm.runtime.provenance import document_text
from numeric.cli.arguments import print_json
from numeric.cli.output import add_style, apply_style
from verify.cli.paper_figures import FIGURES
from verify.core.drawing import render_figure
from verify.core.options import add_execution, execution_fields, integers, result_store, size_counts
from verify.core.output import write_file
from verify.core.paper_figure import PaperFigure, Request
from verify.core.pool import Pool
from verify.core.run import MINIMUM_DIM
from verify.core.section import Section


def add(commands: Any) -> None:
    """Add the command and its arguments."""
    listed = "; ".join(f"{name}: {figure.title}" for name, figure in FIGURES.items())
    parser = commands.add_parser(
        "figure",
        help="a figure of the paper, theory and trained heads",
        description="Draw one figure of the paper, theory and trained heads. Prints its verdict "
        f"with the numbers behind it; writes PNG and PDF. Figures: {listed}.",
        epilog="example: python -m verify figure 6 --out report",
    )
    parser.add_argument(
        "figure", type=figure_name, metavar=f"{{{','.join(FIGURES)}}}", help="which figure"
    )
    parser.add_argument(
        "--dim",
        type=integers("--dim", MINIMUM_DIM),
        metavar="N,N",
        help="sizes d, at least two to extrapolate from (default: the figure's)",
    )
    parser.add_argument(
        "--runs",
        type=integers("--runs", 2),
        metavar="N",
        help="runs per point, one number or one for each size (default: the figure's)",
    )
    add_paper(parser)
    add_style(parser)
    add_execution(parser)
    parser.set_defaults(run=run)


def add_paper(parser: argparse.ArgumentParser) -> None:
    """Add the option that chooses the sizes of the paper."""
    parser.add_argument(
        "--paper",
        action="store_true",
        help="train at the sizes of the paper: hours (default: smaller sizes, minutes)",
    )


def figure_name(name: str) -> str:
    """Argument type: the name of a figure."""
    if name not in FIGURES:
        raise InvalidParameter(
            "argument figure", name, "is unknown", f"use one of {','.join(FIGURES)}"
        )
    return name


def run(arguments: argparse.Namespace) -> int:
    """Draw a figure, write its files, and print its section."""
    started = time.perf_counter()
    asked = request(FIGURES[arguments.figure], arguments)
    with Pool(arguments.workers) as pool:
        section = pool.run(FIGURES[arguments.figure].section(asked))
    files = write(section, asked.folder)
    if arguments.json:
        print_json({**section.document, "seconds": time.perf_counter() - started})
    else:
        sys.stdout.write(section.text + f"see {', '.join(files)} in {asked.folder}/\n")
    return 0 if section.agrees else 1


def request(figure: PaperFigure[Any, Any], arguments: argparse.Namespace) -> Request:
    """Return the requested figure.

    Args:
        figure: the figure.
        arguments: parsed arguments.

    Raises:
        InvalidParameter: sizes for a figure without training, an unknown style, or a folder that is
            not writable.
    """
    apply_style(arguments)
    folder, own = Path(arguments.out), figure.sizes(arguments.paper)
    dims, runs = vars(arguments).get("dim"), vars(arguments).get("runs")
    if not own and (given := dims or runs):
        name, shown = "--dim" if dims else "--runs", ",".join(map(str, given))
        raise InvalidParameter(
            name, shown, "is not supported by a figure without training", "leave it out"
        )
    own_dims, own_runs = zip(*own, strict=True) if own else ((), ())
    asked = dims or own_dims
    usual = own_runs if len(asked) == len(own_runs) else own_runs[:1]
    sizes = size_counts(asked, runs or usual) if own else ()
    result_store(folder)  # a folder that is not writable is refused before training
    return Request(folder, sizes, arguments.paper, execution_fields(arguments))


def write(section: Section, folder: Path) -> dict[str, bytes]:
    """Write the figure of a section as PNG, PDF and JSON, and return the contents by file name."""
    ((name, figure),) = section.figures.items()
    files = {f"{name}.{suffix}": content for suffix, content in render_figure(figure.draw).items()}
    files[f"{name}.json"] = document_text(section.document).encode()
    for file, content in files.items():
        write_file(folder / file, content)
    return files
