"""Finished runs on disk, one JSON line each, so that an interrupted job loses nothing that was finished."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Generic, Protocol, Self, TypeVar

from verify.batches.execute import BATCH_CODE
from verify.training.run import PROTOCOL, Run, record_digest


class Result(Protocol):
    """What a store keeps: the result of a run with a key, as JSON and back."""

    @property
    def run(self) -> Any:
        """The run, with its `key`."""

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values."""

    @classmethod
    def from_json(cls, record: dict[str, Any]) -> Self:
        """Inverse of `to_json`; raises KeyError, TypeError or ValueError for any other record."""


AnyResult = TypeVar("AnyResult", bound=Result)


class Store(Generic[AnyResult]):
    """A file of results of one kind; the latest line of a key counts."""

    def __init__(self, folder: Path, kind: type[AnyResult], name: str = "runs.jsonl", protocol: str = PROTOCOL) -> None:
        """Open a store; `protocol` is a digest of the code that made the results, but for batches on a GPU.

        Raises OSError if it cannot be written.
        """
        folder.mkdir(parents=True, exist_ok=True)
        self.path, self._kind, self._protocol = folder / name, kind, protocol
        with self.path.open("ab"):
            pass  # so that an unwritable folder is found out before an hour of runs, not after it

    def load(self) -> dict[Any, AnyResult]:
        """Return every finished run of the present protocol.

        A line cut short by a kill in mid-write is passed over, and so are records of an older protocol.
        """
        return {result.run: result for result in self._results()}

    def append(self, result: AnyResult) -> None:
        """Add one line and force it to disk.

        One write to a file opened for appending: lines of two processes do not mix. A cut line that ends the file
        is closed first; else the new record would be lost with it.
        """
        record = {"key": result.run.key, "protocol": self._protocol_of(result), **result.to_json()}
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

    def _results(self) -> Iterator[AnyResult]:
        present = (self._protocol, self._protocol_with_batches())
        for line in self.path.read_bytes().splitlines():
            try:
                record = json.loads(line)
                key, protocol = record.pop("key"), record.pop("protocol")
                result = self._kind.from_json(record) if protocol in present else None
            except (ValueError, KeyError, TypeError, AttributeError):
                continue
            if result is not None and result.run.key == key and protocol == self._protocol_of(result):
                yield result

    def _protocol_of(self, result: AnyResult) -> str:
        """Runs on a GPU are trained in batches: the code of these is part of their protocol, and of no other."""
        if isinstance(result.run, Run) and result.run.device == "cuda":
            return self._protocol_with_batches()
        return self._protocol

    def _protocol_with_batches(self) -> str:
        return record_digest({"of": self._protocol, "batches": BATCH_CODE})
