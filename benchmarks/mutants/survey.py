"""A survey of mutations: drawn at random room by room, tried on copies of the tree, kept in a file that later surveys go on with."""

from __future__ import annotations

import hashlib
import json
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import zip_longest
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from benchmarks.mutants.mutations import Mutation, mutations
from benchmarks.mutants.relevance import PACKAGES, Relevance
from benchmarks.mutants.trial import Verdict, proven, tried

LONGEST = 60.0  #: seconds of tests for one mutation, quickest first; those that a later test alone would notice count as survivors


@dataclass(frozen=True)
class Trial:
    """A mutation, the file that it changes, lines before and after, and what became of it; no verdict where no test runs its line."""

    file: str
    mutation: Mutation
    before: str
    after: str
    verdict: str

    @property
    def room(self) -> str:
        """The folder of the file, two deep."""
        return "/".join(Path(self.file).parts[:-1][:2])


@dataclass(frozen=True)
class Candidate:
    """A mutation that can be tried; `key` tells it from those of another version of the file."""

    file: str
    mutation: Mutation
    key: str


def candidates(tree: Path) -> dict[str, list[Candidate]]:
    """All mutations of a tree by room, in an order that is random and always the same."""
    rooms: dict[str, list[Candidate]] = {}
    for package in PACKAGES:
        for path in sorted((tree / package).rglob("*.py")):
            file, source = str(path.relative_to(tree)), path.read_bytes()
            digest = hashlib.sha256(source).hexdigest()[:12]
            for found in mutations(source):
                key = f"{file}:{digest}:{found.start}:{found.new}"
                rooms.setdefault("/".join(Path(file).parts[:-1][:2]), []).append(Candidate(file, found, key))
    for name, room in rooms.items():
        random.Random(name).shuffle(room)
    return rooms


def copy_tree(root: Path, to: Path) -> Path:
    """A copy of the tracked files, made anew."""
    shutil.rmtree(to, ignore_errors=True)
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=root, capture_output=True, check=True).stdout
    for name in filter(None, listed.decode().split("\0")):
        (to / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(root / name, to / name)
    return to


def survey(folder: Path, trees: Sequence[Path], seconds: float, package: str = "") -> None:
    """Try mutations (of one `package`), one room after the other, a tree for each process; each trial is kept as it ends."""
    known = set(kept(folder))
    rooms = {room: found for room, found in candidates(trees[0]).items() if room.startswith(package)}
    turns = [one for turn in zip_longest(*rooms.values()) for one in turn if one is not None and one.key not in known]
    context, until = get_context("fork"), time.monotonic() + seconds
    workers = [
        context.Process(
            target=_work, args=(turns[k :: len(trees)], tree, trees[0], folder, folder / f"trials{k}.jsonl", until)
        )
        for k, tree in enumerate(trees)
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()


def _work(turns: Sequence[Candidate], tree: Path, measured: Path, folder: Path, out: Path, until: float) -> None:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # through what puts the file back
    relevance = Relevance(measured, folder)
    for one in turns:
        if time.monotonic() > until:
            return
        source = (tree / one.file).read_bytes()
        mutated, tests = one.mutation.applied(source), relevance.tests(one.file, one.mutation.line, LONGEST)
        verdict = str(tried(tree, one.file, mutated, tests, relevance.expected(tests))) if tests else ""
        if verdict in ("", Verdict.SURVIVED) and one.file.startswith("derive/"):
            verdict = verdict if proven(tree, one.file, mutated) else Verdict.KILLED
        before, after = _lines(source, mutated, one.mutation)
        with out.open("a") as file:
            record = {"key": one.key, "file": one.file, "before": before, "after": after, "verdict": verdict}
            file.write(json.dumps({**record, "mutation": asdict(one.mutation)}) + "\n")


def _lines(source: bytes, mutated: bytes, mutation: Mutation) -> tuple[str, str]:
    """The lines that a mutation changes, before and after it."""
    first = source.rfind(b"\n", 0, mutation.start) + 1
    last = source.find(b"\n", mutation.end)
    length = len(mutated) - len(source)
    return source[first:last].decode().strip(), mutated[first : last + length].decode().strip()


def kept(folder: Path) -> dict[str, Trial]:
    """All trials in a folder by key."""
    found: dict[str, Trial] = {}
    for path in sorted(folder.glob("trials*.jsonl")):
        for line in path.read_text().splitlines():
            record: dict[str, Any] = json.loads(line)
            key, mutation = record.pop("key"), Mutation(**record.pop("mutation"))
            found[key] = Trial(mutation=mutation, **record)
    return found


def control(folder: Path, tree: Path, count: int) -> Iterator[Verdict]:
    """Verdicts on files that were not changed: each has to survive, or the trials say nothing."""
    relevance, rooms = Relevance(tree, folder), candidates(tree)
    for one in [one for turn in zip_longest(*rooms.values()) for one in turn if one is not None][:count]:
        tests = relevance.tests(one.file, one.mutation.line, LONGEST)
        if tests:
            yield tried(tree, one.file, (tree / one.file).read_bytes(), tests, relevance.expected(tests))
