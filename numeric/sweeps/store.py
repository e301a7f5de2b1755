"""Storage of a sweep: a Zarr store that one process at a time writes, block by block, or memory."""

from __future__ import annotations

import json
import logging
import shutil
import tempfile
import warnings
from collections.abc import Hashable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

import numpy as np
import xarray as xr
import zarr
from filelock import FileLock, Timeout
from zarr.codecs import Crc32cCodec, ZstdCodec

from attention_erm.runtime import provenance
from attention_erm.runtime.digests import checksum
from attention_erm.runtime.errors import InvalidParameter
from numeric.sweeps.plan import UNFINISHED, Block, SweepPlan

_LOG = logging.getLogger(__name__)

_STUDY, _CODE, _CHECKSUM, _METADATA = "study_digest", "code_digest", "checksum", "zarr.json"


class ZarrStore:
    """Dataset of a plan in a folder; a context manager that holds the lock of the folder.

    A block is stored by replacing files, its status last. If the process is killed, each block is
    stored completely or not at all. Every chunk has a checksum: blocks with a file that is missing,
    truncated or altered are found and computed again, and metadata are written again.

    Args:
        path: the folder.
        plan: the plan.
    """

    def __init__(self, path: Path, plan: SweepPlan) -> None:
        self.path, self._plan = path, plan
        self._lock = FileLock(path.parent / f".{path.name}.lock")

    def __enter__(self) -> Self:
        """Open the store; create it if it does not exist.

        Raises:
            InvalidParameter: another process writes the store, or the folder is not a store, or the
                store belongs to another study or to other code.
            OSError: the store cannot be written.
        """
        try:
            self._lock.acquire(timeout=0)
        except Timeout:
            raise self._refused(
                "is being written by another process", "wait for it, or name another"
            ) from None
        try:
            with self._empty_store() as new:
                if self.path.exists():
                    self._restore_metadata(new)
                else:
                    new.rename(self.path)
            # Otherwise chunks of missing values would have no file, like those of unsolved blocks.
            with zarr.config.set({"array.write_empty_chunks": True}):
                group: Any = zarr.open_group(self.path, mode="r+")
                self._arrays: Mapping[str, Any] = {
                    name: group[name] for name in self._plan.variables
                }
            for name, coordinate in self._plan.coordinates.items():
                written = _read(group[name])
                if written is None or not np.array_equal(written, coordinate.values):
                    group[name][...] = coordinate.values
        except BaseException:
            self._lock.release()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._lock.release()

    def stored_tasks(self) -> set[str]:
        """Return the keys of the tasks whose blocks are stored completely.

        A message counts blocks of which a part is missing or damaged.
        """
        found = {name: _read(array) for name, array in self._arrays.items()}
        stored, damaged = set(), 0
        for block in self._plan.blocks:
            files = [self._chunk_file(name, block) for name in self._filled_by(block)]
            exist = [file.exists() for file in files]
            if all(exist) and self._is_stored(block, found):
                stored.add(block.task.key)
            elif any(exist):
                damaged += 1
        if damaged:
            _LOG.warning(
                "%s: %d stored blocks are incomplete or damaged and are computed again",
                self.path,
                damaged,
            )
        return stored

    def _filled_by(self, block: Block) -> list[str]:
        """Return the variables that a block fills: those with the dimensions of its status."""
        variables = self._plan.variables
        over = variables[block.status].dimensions
        return [name for name, variable in variables.items() if variable.dimensions == over]

    def _chunk_file(self, name: str, block: Block) -> Path:
        """Return the file of a block in a variable."""
        variable = self._plan.variables[name]
        place = tuple(
            part.start // step
            for part, step in zip(block.key(variable), variable.chunks, strict=True)
        )
        return self.path / name / str(self._arrays[name].metadata.encode_chunk_key(place))

    def _is_stored(self, block: Block, found: Mapping[str, np.ndarray | None]) -> bool:
        """Return whether a block is finished and all its chunks are undamaged.

        Args:
            block: the block.
            found: values of each variable, None if one of its chunks is damaged.
        """
        for name in self._filled_by(block):
            key, values = block.key(self._plan.variables[name]), found[name]
            part = _read(self._arrays[name], key) if values is None else values[key]
            if part is None or (name == block.status and (part == UNFINISHED).any()):
                return False
        return True

    def write(self, block: Block, values: Mapping[str, np.ndarray]) -> None:
        """Store the values of a block.

        Args:
            block: the block.
            values: arrays by name of the variable.

        Raises:
            OSError: the disk cannot be written.
        """
        for name in sorted(values, key=lambda name: name == block.status):
            self._arrays[name][block.key(self._plan.variables[name])] = values[name]

    def dataset(self) -> xr.Dataset:
        """Return all that is stored, loaded into memory."""
        return xr.open_zarr(self.path, chunks=None).load()[list(self._plan.variables)]

    @contextmanager
    def _empty_store(self) -> Iterator[Path]:
        """Write an empty store of the plan into a temporary folder next to the store."""
        plan, prefix = self._plan, f".{self.path.name}."
        digests = {_STUDY: plan.study, _CODE: plan.code}
        dataset = MemoryStore(plan).dataset().assign_attrs(digests)
        dataset.attrs[_CHECKSUM] = _checksum(dataset.attrs)
        for block in plan.blocks[:1]:  # a second copy, in case the metadata of the group are lost
            dataset[block.status].attrs.update(digests)
        compressors = [ZstdCodec(), Crc32cCodec()]
        encoding: dict[Hashable, dict[str, Any]] = {
            name: {"compressors": compressors} for name in dataset.variables
        }
        for name, variable in plan.variables.items():
            encoding[name]["chunks"] = variable.chunks
        with (
            tempfile.TemporaryDirectory(dir=self.path.parent, prefix=prefix) as folder,
            warnings.catch_warnings(),
        ):
            # On text and on consolidated metadata, which xarray both writes and reads.
            warnings.simplefilter("ignore")
            new = Path(folder) / "new"
            dataset.to_zarr(
                new, encoding=encoding, zarr_format=3, consolidated=True, write_empty_chunks=False
            )
            yield new

    def _restore_metadata(self, new: Path) -> None:
        """Write metadata again that are missing or damaged.

        Args:
            new: empty store of the plan.

        Raises:
            InvalidParameter: the folder is not a store, or one of another study or of other code.
        """
        group = _metadata(self.path)
        attributes = group.get("attributes", {})
        undamaged = attributes.get(_CHECKSUM) == _checksum(attributes)
        if not undamaged:
            statuses = {block.status for block in self._plan.blocks[:1]}
            for name in statuses:
                attributes = _metadata(self.path / name).get("attributes", {})
        self._require_same_study(attributes)
        written = _metadata(new)
        for name in (*self._plan.variables, *self._plan.coordinates):
            if _metadata(self.path / name) != _metadata(new / name):
                (self.path / name).mkdir(exist_ok=True)
                shutil.copyfile(new / name / _METADATA, self.path / name / _METADATA)
        if undamaged:  # provenance of the first start
            written["attributes"] = attributes
        if written != group:
            (new / _METADATA).write_text(json.dumps(written, indent=2))
            (new / _METADATA).replace(self.path / _METADATA)

    def _require_same_study(self, attributes: Mapping[str, Any]) -> None:
        if _STUDY not in attributes:
            raise self._refused("is not a sweep store", "name another, or remove it")
        if attributes[_STUDY] != self._plan.study:
            title = attributes.get("title", "without a title")
            raise self._refused(f"contains another study ({title})", "name another")
        if attributes.get(_CODE) != self._plan.code:
            version = attributes.get("version", "unknown")
            rule = f"was computed by other code (version {version}), whose numbers may differ"
            raise self._refused(rule, "name another, or remove it to start again")

    def _refused(self, rule: str, way_out: str) -> InvalidParameter:
        return InvalidParameter("out", str(self.path), rule, way_out)


class MemoryStore:
    """Dataset of a plan in memory, with the methods of `ZarrStore`."""

    def __init__(self, plan: SweepPlan) -> None:
        self._plan = plan
        self._values = {}
        for name, variable in plan.variables.items():
            shape = [plan.sizes[dimension] for dimension in variable.dimensions]
            is_status = "flag_meanings" in variable.attributes
            self._values[name] = (
                np.full(shape, UNFINISHED, np.int8) if is_status else np.full(shape, np.nan)
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Do nothing."""

    def stored_tasks(self) -> set[str]:
        """Return the empty set."""
        return set()

    def write(self, block: Block, values: Mapping[str, np.ndarray]) -> None:
        """Store the values of a block.

        Args:
            block: the block.
            values: arrays by name of the variable.
        """
        for name, array in values.items():
            self._values[name][block.key(self._plan.variables[name])] = array

    def dataset(self) -> xr.Dataset:
        """Return the Dataset; values that are not stored are missing."""
        plan, origin = self._plan, provenance.current().columns()
        return xr.Dataset(
            {
                name: (variable.dimensions, self._values[name], dict(variable.attributes))
                for name, variable in plan.variables.items()
            },
            coords={
                name: (one.dimension, one.values, dict(one.attributes))
                for name, one in plan.coordinates.items()
            },
            attrs={**plan.attributes, **{name: text for name, text in origin.items() if text}},
        )


def _metadata(folder: Path) -> dict[str, Any]:
    """Return the metadata of a group or array in a store; empty if they cannot be read."""
    try:
        found = json.loads((folder / _METADATA).read_bytes())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _checksum(attributes: Mapping[Hashable, Any]) -> int:
    """Return the checksum of attributes, its own entry left out."""
    return checksum({str(name): value for name, value in attributes.items() if name != _CHECKSUM})


def _read(array: Any, key: Any = ...) -> np.ndarray | None:
    """Return the values of an array in a store; None if one of its files is damaged."""
    try:
        return np.asarray(array[key])
    except (RuntimeError, ValueError):  # of any decompressor
        return None
