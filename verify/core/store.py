"""Finished runs on disk, one JSON line each, so that an interrupted job keeps them."""

from __future__ import annotations

import errno
import json
import logging
import os
from collections.abc import Collection, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, Generic, Protocol, Self, TypeVar

from filelock import FileLock, Timeout

from attention_erm.runtime.digests import checksum, code_digest
from attention_erm.runtime.errors import InvalidParameter
from attention_erm.runtime.files import require_folder
from numeric.model import packages
from numeric.problem.problem import Problem
from verify.core.batching import BATCH_MODULE
from verify.core.run import Run, record_digest

_LOG = logging.getLogger(__name__)


class StoredResult(Protocol):
    """Result of a run that can be stored as JSON."""

    @property
    def run(self) -> Any:
        """Return the run, which has a `key`."""

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values."""

    @classmethod
    def from_json(cls, run: Any, record: dict[str, Any]) -> Self:
        """Return the result stored as `record`.

        Args:
            run: run of the result.
            record: JSON values.

        Raises:
            KeyError, TypeError, ValueError: the record is invalid.
        """


AnyResult = TypeVar("AnyResult", bound=StoredResult)


class Store(Generic[AnyResult]):
    """File of results of one kind; the latest line of a key counts.

    A result is stored with its key and its protocol: a digest of the module of its `kind`, of
    everything that it imports, and of `depends_on`. Results of another protocol are not used.
    """

    def __init__(
        self, folder: Path, kind: type[AnyResult], name: str = "runs.jsonl", depends_on: str = ""
    ) -> None:
        """Open a store. Nothing is on disk before the first result.

        Args:
            folder: folder of the file.
            kind: class of the results.
            name: name of the file.
            depends_on: further modules in the protocol.

        Raises:
            OSError: the folder is not writable; found out before the runs, not after them.
        """
        self.path, self._kind, self._depends_on = folder / name, kind, depends_on
        require_folder(folder)
        if self.path.exists():
            self.path.open("ab").close()

    def load(self, asked: Collection[Any]) -> dict[Any, AnyResult]:
        """Return the finished results of the runs `asked`.

        A line that was cut short by a kill, or that does not fit its checksum, is skipped. So are
        results of another protocol. Messages on stderr count both.
        """
        found: dict[Any, AnyResult] = {}
        others: set[Any] = set()
        runs: dict[str, list[Any]] = {}
        for run in asked:
            runs.setdefault(run.key, []).append(run)
        for key, protocol, record in self._records():
            for run in runs.get(key, ()):
                if protocol != self._protocol_of(run):
                    others.add(run)
                    continue
                with suppress(ValueError, KeyError, TypeError):
                    found[run] = self._kind.from_json(run, record)
        if self._damaged and len(found) < len(runs):
            _LOG.warning(
                "%s: %d damaged lines; what is missing is computed again", self.path, self._damaged
            )
        if void := len(others - set(found)):
            _LOG.warning(
                "%s: %d stored results are stale (code or library versions changed) and will be "
                "recomputed",
                self.path,
                void,
            )
        return found

    def lock(self) -> FileLock:
        """Return a held lock that keeps other processes from adding results. Creates the folder
        if needed.

        Raises InvalidParameter if another process holds it.
        """
        lock = FileLock(self.path.with_name(f".{self.path.name}.lock"), is_singleton=True)
        try:
            lock.acquire(timeout=0)
        except Timeout:
            rule = "is being written by another process"
            raise InvalidParameter(
                "out", str(self.path.parent), rule, "wait for it, or name another folder"
            ) from None
        return lock

    def append(self, result: AnyResult) -> None:
        """Add one line and flush it to disk.

        The line is one write to a file opened for appending, so lines of two processes do not mix.
        An incomplete last line is closed first, otherwise the new record would be lost with it.

        Raises OSError if the disk refuses.
        """
        record = {
            "key": result.run.key,
            "protocol": self._protocol_of(result.run),
            **result.to_json(),
        }
        line = json.dumps({**record, "checksum": checksum(record)}).encode() + b"\n"
        self.path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o644)
        try:
            whole = line if self._ends_with_newline(descriptor) else b"\n" + line
            if os.write(descriptor, whole) < len(whole):  # a disk that is almost full writes a part
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self.path))
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    @staticmethod
    def _ends_with_newline(descriptor: int) -> bool:
        size = os.fstat(descriptor).st_size
        return size == 0 or os.pread(descriptor, 1, size - 1) == b"\n"

    def _records(self) -> Iterator[tuple[str, str, dict[str, Any]]]:
        """Return key, protocol and content of each line that is as it was written."""
        self._damaged = 0
        for line in self.path.read_bytes().splitlines() if self.path.exists() else ():
            try:
                record = json.loads(line)
                undamaged = record.pop("checksum") == checksum(record)
                key, protocol = record.pop("key"), record.pop("protocol")
            except (ValueError, KeyError, TypeError, AttributeError):
                undamaged = False
            if undamaged:
                yield key, protocol, record
            else:
                self._damaged += 1

    def _protocol_of(self, run: Any) -> str:
        """Return the protocol of a run. It includes the code of batches for runs on a GPU, and the
        code of a model for its runs.
        """
        batches = (BATCH_MODULE,) if isinstance(run, Run) and run.device == "cuda" else ()
        problem = getattr(run, "problem", None)
        models = packages([problem.model] if isinstance(problem, Problem) else [])
        code = code_digest(self._kind.__module__, *models, *batches)
        return record_digest({"code": code, "depends_on": self._depends_on})
