"""Which tests run a line, and how long each takes: one run of the default suite under coverage.

This module is also a plugin of pytest for that run: it keeps the seconds of each test that passed.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import defaultdict
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from coverage import CoverageData

SECONDS, COVERAGE = "seconds.json", "coverage"
PACKAGES = ("derive", "numeric")
#: Tests that fail for every change of derive, as they compare the digest of its sources: they notice none.
OF_EVERY_CHANGE = {
    "test_gen_into_an_empty_folder_gives_what_is_committed",
    "test_every_equation_is_its_source_and_meets_three_stored_values",
    "test_unknown_names_are_refused_without_deriving",
    "test_list_and_a_gen_that_has_nothing_to_do_load_no_sympy",
}
_seconds: dict[str, float] = defaultdict(float)
_failed: set[str] = set()


def pytest_runtest_logreport(report: Any) -> None:
    """Called by pytest for each part of each test."""
    _seconds[report.nodeid] += report.duration
    if not report.passed:
        _failed.add(report.nodeid)


def pytest_sessionfinish(session: Any) -> None:
    """Called by pytest at the end; its workers see only their own tests."""
    if not hasattr(session.config, "workerinput"):
        passed = {test: seconds for test, seconds in _seconds.items() if test not in _failed}
        (Path(os.environ["MUTANTS"]) / SECONDS).write_text(json.dumps(passed))


def measure(tree: Path, folder: Path, arguments: Sequence[str]) -> None:
    """Run the suite of `tree` under coverage, with more `arguments` of pytest; what was seen goes to `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / SECONDS).unlink(missing_ok=True)  # what was measured is of another tree, also where this is cut off
    environment = {**os.environ, "MUTANTS": str(folder), "COVERAGE_FILE": str(folder / COVERAGE), "PYTHONPATH": "."}
    covered = [f"--cov={package}" for package in PACKAGES]
    subprocess.run(
        [sys.executable, "-m", "pytest", "-p", __name__, *covered, "--cov-context=test", "--cov-report=", *arguments],
        cwd=tree, env=environment, check=False,
    )  # fmt: skip


def function(test: str) -> str:
    """The name of a test, without its file and its parameters."""
    return test.partition("::")[2].partition("[")[0]


class Relevance:
    """What `measure` saw of `tree`, from `folder`; files by their path in the tree. Exits where it was not done, or cut off."""

    def __init__(self, tree: Path, folder: Path) -> None:
        if not (folder / SECONDS).is_file():
            sys.exit(f"{folder}: nothing is measured; run python -m benchmarks.mutants measure")
        self._tree = tree
        self._data = CoverageData(str(folder / COVERAGE))
        self._data.read()
        self._measured = {str(Path(name).relative_to(tree)): name for name in self._data.measured_files()}
        self._lines = cache(self._read)
        seconds: dict[str, float] = json.loads((folder / SECONDS).read_text())
        self._seconds = {test: taken for test, taken in seconds.items() if function(test) not in OF_EVERY_CHANGE}

    def tests(self, file: str, line: int, most: float) -> list[str]:
        """Tests that run a line, the quickest first, of `most` seconds together (one at least).

        What runs while a module is imported, or is compiled, is seen in no test: then those that run anything of the file, or else of
        the files that import it.
        """
        found = (
            self._lines(file).get(line) or self._of_file(file) or set().union(*map(self._of_file, self._users(file)))
        )
        chosen, total = [], 0.0
        for test in sorted(found & set(self._seconds), key=lambda test: (self._seconds[test], test)):
            total += self._seconds[test]
            if chosen and total > most:
                break
            chosen.append(test)
        return chosen

    def expected(self, tests: Sequence[str]) -> float:
        """Seconds that tests take together."""
        return sum(self._seconds[test] for test in tests)

    def _read(self, file: str) -> dict[int, set[str]]:
        contexts = self._data.contexts_by_lineno(self._measured[file]) if file in self._measured else {}
        return {line: {name.partition("|")[0] for name in names if name} for line, names in contexts.items()}

    def _of_file(self, file: str) -> set[str]:
        return set().union(*self._lines(file).values())

    def _users(self, file: str) -> list[str]:
        """Files that import a module, and the package that may find it by name."""
        module = file.removesuffix(".py").replace("/", ".")
        names = (f"from {module} import", f"from {module.rpartition('.')[0]} import")
        texts = {other: (self._tree / other).read_text() for other in self._measured}
        stem = module.rpartition(".")[2]
        package = str(Path(file).with_name("__init__.py"))
        return [
            other
            for other, text in texts.items()
            if other == package
            or names[0] in text
            or any(names[1] in line and stem in line for line in text.splitlines())
        ]
