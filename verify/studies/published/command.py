"""`python -m verify published`: released data of other groups beside the theory."""

from __future__ import annotations

import argparse
import sys
import time
from typing import Any

from numeric.cli.arguments import integer, print_json
from verify.core.options import output_folder
from verify.core.output import write_document
from verify.core.pool import Pool
from verify.core.stated_model import require_stated_heads
from verify.studies.published.study import SETS, document, read, set_beside
from verify.studies.published.text import published_lines


def add(commands: Any) -> None:
    """Add the command and its arguments."""
    parser = commands.add_parser(
        "published",
        help="released data of other groups beside the theory",
        description="Solve the theory at every point of data that other groups released and print, with the source of "
        "each set, the ratio of released to computed values and a score a curve. Nothing is trained. Writes "
        "the table as published.json.",
        epilog="example: python -m verify published weak-decay",
    )
    parser.add_argument("set", nargs="?", choices=(*SETS, "all"), default="all", help="which (default all)")
    parser.add_argument("--out", default="report", metavar="FOLDER", help="where the table goes (default report)")
    parser.add_argument("--workers", type=integer("--workers", 1, 4096, "try the number of cores"), metavar="N",
                        help="processes (default one per core)")  # fmt: skip
    parser.add_argument("--json", action="store_true", help="print one JSON document on stdout")
    parser.set_defaults(run=run, device="cpu")


def run(arguments: argparse.Namespace) -> int:
    """Solve the theory at every released point, print ratios and scores, write them as JSON."""
    require_stated_heads()  # other groups' too: a model that was changed since has no part in what they released
    started, folder = time.perf_counter(), output_folder(arguments.out)
    names = list(SETS) if arguments.set == "all" else [arguments.set]
    with Pool(arguments.workers) as pool:
        found = {name: set_beside(list(SETS[name]()), pool) for name in names}
    agrees = all(curve.agrees for curves in found.values() for curve in curves)
    content = {
        "agrees": agrees,
        "sets": {
            name: {"source": source(name), "curves": [document(curve) for curve in curves]}
            for name, curves in found.items()
        },
        "seconds": time.perf_counter() - started,
    }
    write_document(folder / "published.json", content)
    if arguments.json:
        print_json(content)
    else:
        for name, curves in found.items():
            sys.stdout.write(f"{source(name)}\n" + "".join(published_lines(curves)))
        sys.stdout.write(f"see {folder / 'published.json'}\n")
    return 0 if agrees else 1


def source(name: str) -> str:
    """Where a set is from."""
    released = read(name.replace("-", "_"))
    return str(released["source"])
