"""Where a sweep is kept: a Zarr store that one process at a time writes, block by block, or memory."""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
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
    """The Dataset of a plan in a folder. To be used in a `with` statement, which holds the lock.

    A block is stored by replacing files, its status last: whoever is killed leaves each block stored or not, never half. Files that
    were cut, as when the machine goes down, are found and made again.
    """

    def __init__(self, path: Path, plan: SweepPlan) -> None:
        self.path, self._plan = path, plan
        self._lock = FileLock(path.parent / f".{path.name}.lock")

    def __enter__(self) -> Self:
        """Open the store, made if there is none.

        Raises:
            InvalidParameter: another process writes it, or it is none, or one of another study or of other code.
            OSError: it cannot be written.
        """
        try:
            self._lock.acquire(timeout=0)
        except Timeout:
            raise _refused(
                self.path, "is being written by another process", "wait for it, or name another"
            ) from None
        try:
            if self.path.exists():
                self._require_own()
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

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._lock.release()

    def stored_tasks(self) -> set[str]:
        """Keys of the tasks whose blocks are stored whole."""
        found = {name: _read(array) for name, array in self._arrays.items()}
        damaged = [name for name, values in found.items() if values is None]

        def part(name: str, block: Block) -> np.ndarray | None:
            key, values = block.key(self._plan.variables[name]), found[name]
            return _read(self._arrays[name], key) if values is None else values[key]

        def holds(block: Block) -> bool:
            over = self._plan.variables[
                block.status
            ].dimensions  # as all that the block fills, and nothing else, has
            others = [name for name in damaged if self._plan.variables[name].dimensions == over]
            status = part(block.status, block)
            if status is None or any(part(name, block) is None for name in others):
                return False
            return bool((status != UNFINISHED).all())

        return {block.task.key for block in self._plan.blocks if holds(block)}

    def write(self, block: Block, values: Mapping[str, np.ndarray]) -> None:
        """Store the values of a block. Raises OSError if the disk refuses."""
        for name in sorted(values, key=lambda name: name == block.status):
            self._arrays[name][block.key(self._plan.variables[name])] = values[name]

    def dataset(self) -> xr.Dataset:
        """All that is stored, in memory."""
        return xr.open_zarr(self.path, chunks=None).load()[list(self._plan.variables)]

    def _create(self) -> None:
        # Under another name until it is whole: a store half made would be taken for one of another study.
        with (
            tempfile.TemporaryDirectory(
                dir=self.path.parent, prefix=f".{self.path.name}."
            ) as folder,
            warnings.catch_warnings(),
        ):
            warnings.simplefilter(
                "ignore"
            )  # on text and on metadata in one place, which xarray writes and reads alike
            made = Path(folder) / "new"
            plan = self._plan
            own = {_STUDY: plan.study, _CODE: plan.code}
            encoding = {
                name: {"chunks": variable.chunks} for name, variable in plan.variables.items()
            }
            empty_dataset(plan).assign_attrs(own).to_zarr(
                made, encoding=encoding, zarr_format=3, consolidated=True, write_empty_chunks=False
            )
            made.rename(self.path)

    def _require_own(self) -> None:
        try:
            found = dict(zarr.open_group(self.path, mode="r").attrs)
        except (OSError, ValueError, KeyError):
            raise _refused(
                self.path, "is no store of a sweep", "name another, or remove it"
            ) from None
        if found.get(_STUDY) != self._plan.study:
            rule = (
                f"holds another study ({found.get('title', 'without a title')})"
                if _STUDY in found
                else "is no store of a sweep"
            )
            raise _refused(self.path, rule, "name another")
        if found.get(_CODE) != self._plan.code:
            rule = f"was made by other code (version {found.get('version', 'unknown')}), whose numbers may differ"
            raise _refused(self.path, rule, "name another, or remove it to begin anew")


class MemoryStore:
    """The Dataset of a plan, kept nowhere else."""

    def __init__(self, plan: SweepPlan) -> None:
        self._plan = plan
        self._values = {
            name: variable.empty(plan.sizes) for name, variable in plan.variables.items()
        }

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Nothing to end."""

    def stored_tasks(self) -> set[str]:
        """As `ZarrStore.stored_tasks`: nothing."""
        return set()

    def write(self, block: Block, values: Mapping[str, np.ndarray]) -> None:
        """As `ZarrStore.write`."""
        for name, array in values.items():
            self._values[name][block.key(self._plan.variables[name])] = array

    def dataset(self) -> xr.Dataset:
        """As `ZarrStore.dataset`."""
        return empty_dataset(self._plan, self._values)


def empty_dataset(plan: SweepPlan, values: Mapping[str, np.ndarray] | None = None) -> xr.Dataset:
    """The Dataset of a plan: with `values`, or before anything is stored."""
    filled = values or {
        name: variable.empty(plan.sizes) for name, variable in plan.variables.items()
    }
    return xr.Dataset(
        {
            name: (v.dimensions, filled[name], dict(v.attributes))
            for name, v in plan.variables.items()
        },
        coords={
            name: (c.dimension, c.values, dict(c.attributes))
            for name, c in plan.coordinates.items()
        },
        attrs={
            **plan.attributes,
            **{name: text for name, text in provenance.current().columns().items() if text},
        },
    )


def _read(array: Any, key: Any = ...) -> np.ndarray | None:
    """What an array of a store has at a place; None where a file of it was cut."""
    try:
        return np.asarray(array[key])
    except (RuntimeError, ValueError):  # of whatever the file was compressed with
        return None


def _refused(path: Path, rule: str, way_out: str) -> InvalidParameter:
    return InvalidParameter("out", str(path), rule, way_out)
