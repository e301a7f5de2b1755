"""Storage of a sweep: a Zarr store that one process at a time writes, block by block, or memory."""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

import numpy as np
import xarray as xr
import zarr
from filelock import FileLock, Timeout

from attention_erm.runtime import provenance
from attention_erm.runtime.errors import InvalidParameter
from numeric.sweeps.plan import UNFINISHED, Block, SweepPlan

_STUDY, _CODE = "study_digest", "code_digest"


class ZarrStore:
    """Dataset of a plan in a folder; a context manager that holds the lock of the folder.

    A block is stored by replacing files, its status last. If the process is killed, each block is
    stored completely or not at all. Truncated files, for example after a crash of the machine, are
    detected and recomputed.

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
            if self.path.exists():
                self._require_same_study()
            else:
                self._create()
            group: Any = zarr.open_group(self.path, mode="r+")
            self._arrays: Mapping[str, Any] = {name: group[name] for name in self._plan.variables}
            for name, coordinate in self._plan.coordinates.items():
                if _read(group[name]) is None:
                    group[name][...] = coordinate.values
        except BaseException:
            self._lock.release()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._lock.release()

    def stored_tasks(self) -> set[str]:
        """Return the keys of the tasks whose blocks are stored completely."""
        variables, arrays = self._plan.variables, self._arrays
        found = {name: _read(array) for name, array in arrays.items()}

        def read(name: str, block: Block) -> np.ndarray | None:
            key, values = block.key(variables[name]), found[name]
            return _read(arrays[name], key) if values is None else values[key]

        def is_stored(block: Block) -> bool:
            # All variables that a block fills have the same dimensions, and no others have them.
            over, status = variables[block.status].dimensions, read(block.status, block)
            damaged = (name for name, values in found.items() if values is None)
            others = [name for name in damaged if variables[name].dimensions == over]
            if status is None or any(read(name, block) is None for name in others):
                return False
            return bool((status != UNFINISHED).all())

        return {block.task.key for block in self._plan.blocks if is_stored(block)}

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

    def _create(self) -> None:
        # In a temporary folder until it is complete, because an incomplete store would be refused.
        plan, prefix = self._plan, f".{self.path.name}."
        dataset = MemoryStore(plan).dataset().assign_attrs({_STUDY: plan.study, _CODE: plan.code})
        encoding = {name: {"chunks": variable.chunks} for name, variable in plan.variables.items()}
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
            new.rename(self.path)

    def _require_same_study(self) -> None:
        try:
            found = dict(zarr.open_group(self.path, mode="r").attrs)
        except (OSError, ValueError, KeyError):
            found = {}
        if _STUDY not in found:
            raise self._refused("is not a sweep store", "name another, or remove it")
        if found[_STUDY] != self._plan.study:
            title = found.get("title", "without a title")
            raise self._refused(f"contains another study ({title})", "name another")
        if found.get(_CODE) != self._plan.code:
            version = found.get("version", "unknown")
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


def _read(array: Any, key: Any = ...) -> np.ndarray | None:
    """Return the values of an array in a store; None if one of its files is truncated."""
    try:
        return np.asarray(array[key])
    except (RuntimeError, ValueError):  # of any decompressor
        return None
