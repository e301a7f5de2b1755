"""How many lines the default suite runs, by room: from the coverage that `measure` takes."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from coverage import Coverage

from benchmarks.mutants.relevance import COVERAGE, PACKAGES

COMPILED = (
    r"^\s*@(partial\()?(entry|inner|side_by_side)\b"  #: functions that run as machine code, in which no line is seen
)


def lines_table(tree: Path, folder: Path) -> str:
    """Markdown: a line for each room of `tree` and one together; compiled functions are left out."""
    coverage = Coverage(data_file=str(folder / COVERAGE), config_file=False, messages=False)
    coverage.load()
    coverage.exclude(COMPILED)
    stated, missed = Counter[str](), Counter[str]()
    for package in PACKAGES:
        for path in sorted((tree / package).rglob("*.py")):
            _, statements, _, missing, _ = coverage.analysis2(str(path))
            for name in ("/".join(path.relative_to(tree).parts[:-1][:2]), "together"):
                stated[name] += len(statements)
                missed[name] += len(missing)
    rows = [
        f"| {room} | {stated[room]} | {1 - missed[room] / stated[room]:.1%} |"
        for room in (*sorted(stated.keys() - {"together"}), "together")
        if stated[room]
    ]
    return "| room | lines | run by the default suite |\n" + "| --- " * 3 + "|\n" + "\n".join(rows)
