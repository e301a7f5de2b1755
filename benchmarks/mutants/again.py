"""Mutations that no test noticed, tried again on the tree of today by the test files written or changed since the survey."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

from benchmarks.mutants.survey import Trial, copy_tree, kept
from benchmarks.mutants.table import survivors
from benchmarks.mutants.trial import Verdict, tried

LONGEST = 60.0  #: seconds that the test files of today may take for one mutation, a tenth of what ends it


def try_again(root: Path, folder: Path, surveyed: Path) -> None:
    """Append what tests of `root` notice of the survivors in `folder` to its trials; `surveyed` is the tree that they are of."""
    tree = copy_tree(root, folder / "again")
    tests = list(_changed_tests(tree, surveyed))
    for key, one in kept(folder).items():
        if one in survivors([one]) and (mutated := _applied(tree, one)) is not None:
            verdict = tried(tree, one.file, mutated, tests, LONGEST)
            if verdict is not Verdict.SURVIVED:
                record = asdict(one) | {"key": key, "verdict": Verdict.NOTICED_SINCE}
                with (folder / f"trials_again_{time.strftime('%Y%m%d')}.jsonl").open("a") as file:
                    file.write(json.dumps(record) + "\n")


def _changed_tests(tree: Path, before: Path) -> Iterator[str]:
    for path in sorted((tree / "tests").rglob("test_*.py")):
        name = path.relative_to(tree)
        if not (before / name).is_file() or (before / name).read_bytes() != path.read_bytes():
            yield str(name)


def _applied(tree: Path, one: Trial) -> bytes | None:
    """The file with the same lines changed likewise; none where they no longer stand there, once."""
    source = (tree / one.file).read_text() if (tree / one.file).is_file() else ""
    return source.replace(one.before, one.after).encode() if source.count(one.before) == 1 else None
