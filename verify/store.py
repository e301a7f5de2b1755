"""Finished runs on disk, one JSON line each, so that an interrupted job loses nothing that was finished."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

from verify.run import PROTOCOL, Run, RunResult


class Store:
    """The file <folder>/runs.jsonl; the latest line of a key counts."""

    def __init__(self, folder: Path) -> None:
        """Open a store. Raises OSError if the folder cannot be written."""
        folder.mkdir(parents=True, exist_ok=True)
        self.path = folder / "runs.jsonl"
        with self.path.open("ab"):
            pass  # so that an unwritable folder is found out before an hour of runs, not after it

    def load(self) -> dict[Run, RunResult]:
        """Return every finished run of the present protocol.

        A line cut short by a kill in mid-write is passed over, and so are records of an older protocol.
        """
        return {result.run: result for result in self._results()}

    def append(self, result: RunResult) -> None:
        """Add one line and force it to disk.

        One write to a file opened for appending: lines of two processes do not mix. A cut line that ends the file
        is closed first; else the new record would be lost with it.
        """
        record = {"key": result.run.key, "protocol": PROTOCOL, **result.to_json()}
        line = json.dumps(record).encode() + b"\n"
        descriptor = os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o644)
        try:
            os.write(descriptor, line if self._ends_with_newline(descriptor) else b"\n" + line)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    @staticmethod
    def _ends_with_newline(descriptor: int) -> bool:
        size = os.fstat(descriptor).st_size
        return size == 0 or os.pread(descriptor, 1, size - 1) == b"\n"

    def _results(self) -> Iterator[RunResult]:
        for line in self.path.read_bytes().splitlines():
            try:
                record = json.loads(line)
                key, protocol = record.pop("key"), record.pop("protocol")
                result = RunResult.from_json(record) if protocol == PROTOCOL else None
            except (ValueError, KeyError, TypeError, AttributeError):
                continue
            if result is not None and result.run.key == key:
                yield result
