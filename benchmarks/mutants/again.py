"""Mutations that no test noticed, tried again on the tree of today by the tests written or changed since the survey."""

from __future__ import annotations

import ast
import json
import time
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

from benchmarks.mutants.relevance import OF_EVERY_CHANGE, function
from benchmarks.mutants.survey import Trial, copy_tree, kept
from benchmarks.mutants.table import survivors
from benchmarks.mutants.trial import Verdict, tried

LONGEST = 90.0  #: seconds that those tests may take for one mutation, a tenth of what ends it


def try_again(root: Path, folder: Path, surveyed: Path) -> None:
    """Append what tests of `root` notice of the survivors in `folder` to its trials; `surveyed` is the tree that they are of."""
    tree = copy_tree(root, folder / "again")
    tests = [test for test in _tests_since(tree, surveyed) if function(test) not in OF_EVERY_CHANGE]
    trials = kept(folder)
    missed = set(survivors(trials.values()))
    for key, one in trials.items():
        if one in missed and (mutated := _applied(tree, one)) is not None:
            nearest_first = sorted(tests, key=lambda test, room=one.room: f"tests/{room}" not in test)
            verdict = tried(tree, one.file, mutated, ["-m", "not slow", *nearest_first], LONGEST)
            if verdict is not Verdict.SURVIVED:
                record = asdict(one) | {"key": key, "verdict": Verdict.NOTICED_SINCE}
                with (folder / f"trials_again_{time.strftime('%Y%m%d')}.jsonl").open("a") as file:
                    file.write(json.dumps(record) + "\n")


def _tests_since(tree: Path, before: Path) -> Iterator[str]:
    """Tests that say something else than before, or are new; their marks may be other ones."""
    for path in sorted((tree / "tests").rglob("test_*.py")):
        name = path.relative_to(tree)
        known = _bodies(before / name) if (before / name).is_file() else {}
        yield from (f"{name}::{test}" for test, body in _bodies(path).items() if known.get(test) != body)


def _bodies(path: Path) -> dict[str, str]:
    functions = (node for node in ast.parse(path.read_text()).body if isinstance(node, ast.FunctionDef))
    return {one.name: ast.unparse(one.body) for one in functions if one.name.startswith("test_")}


def _applied(tree: Path, one: Trial) -> bytes | None:
    """The file with the same lines changed likewise; none where they no longer stand there, once."""
    source = (tree / one.file).read_text() if (tree / one.file).is_file() else ""
    return source.replace(one.before, one.after).encode() if source.count(one.before) == 1 else None
