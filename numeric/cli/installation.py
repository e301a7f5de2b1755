"""What an installation is made of, and what is wrong with it: `examine` looks, and solves
nothing.
"""

import hashlib
import json
import os
import platform
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement

from attention_erm.cli import NO_TORCH
from attention_erm.runtime.provenance import DISTRIBUTION
from numeric.model import outdated

ABSENT = "not installed"
OPTIONAL = (
    "torch",
    "distributed",
    "dask-jobqueue",
    "marimo",
)  #: what only verify, sweeps on a cluster and the notebook need


@dataclass(frozen=True)
class Report:
    """Facts by topic, as JSON values; advice, a line for each thing that is wrong."""

    facts: Mapping[str, Any]
    advice: list[str]

    def lines(self) -> Iterator[str]:
        """A line for each fact, then one for each advice."""
        for topic, facts in self.facts.items():
            entries = facts.items() if isinstance(facts, dict) else [("", facts)]
            for name, value in entries:
                yield f"{f'{topic} {name}'.strip():<44} {_text(value)}"
        yield from self.advice or ["all is well"]


def examine() -> Report:
    """Look at versions, machine, caches, kernels and generated code; where a library is missing at
    what does without.
    """
    facts: dict[str, Any] = {
        "version": {
            DISTRIBUTION: installed(DISTRIBUTION),
            "python": platform.python_version(),
            **_libraries(),
        },
        "machine": _machine(),
        "cuda": _cuda(),
        "generated": _generated(),
    }
    advice = [*_about_versions(), *_about_generated(facts["generated"])]
    if all(installed(one.name) != ABSENT for one in _needed()):
        from numeric.cli import caches

        facts |= {
            "threads": caches.threads(),
            "cache": caches.folders(),
            "kernel": caches.kernel_states(),
            "own models": caches.own_models(),
        }
        advice += _about_caches(facts["cache"])
    return Report(facts, advice)


def installed(name: str) -> str:
    """The version of a distribution, or that there is none."""
    try:
        return version(name)
    except PackageNotFoundError:
        return ABSENT


def _text(value: Any) -> str:
    return (
        ", ".join(f"{name} {item}" for name, item in value.items())
        if isinstance(value, dict)
        else str(value)
    )


@cache
def _needed() -> tuple[Requirement, ...]:
    """Return the requirements of the package without its extras."""
    try:
        texts = requires(DISTRIBUTION) or []
    except PackageNotFoundError:
        return ()
    found = (Requirement(text) for text in texts)
    return tuple(one for one in found if one.marker is None or one.marker.evaluate({"extra": ""}))


def _libraries() -> dict[str, str]:
    return {name: installed(name) for name in (*(one.name for one in _needed()), *OPTIONAL)}


def _about_versions() -> Iterator[str]:
    if not _needed():
        yield (
            f"{DISTRIBUTION} is not installed, so its requirements are unknown: run pip install "
            "-e . in its source folder"
        )
    for one in _needed():
        found = installed(one.name)
        if found == ABSENT or found not in one.specifier:
            yield f"{one.name} {found}: {one.specifier} is needed; run pip install '{one}'"


def _machine() -> dict[str, Any]:
    return {
        "platform": platform.platform(),
        "cores": os.cpu_count(),
        "cores available": len(os.sched_getaffinity(0)),
        "memory": f"{os.sysconf('SC_PHYS_PAGES') * os.sysconf('SC_PAGE_SIZE') / 2**30:.1f} GiB",
    }


def _cuda() -> str:
    """CUDA as torch was built, which is not imported for it, and whether there is a device."""
    if (torch := installed("torch")) == ABSENT:
        return NO_TORCH
    names = [Requirement(text).name for text in requires("torch") or []]
    runtimes = {
        name: found
        for name in names
        if "cuda-runtime" in name and (found := installed(name)) != ABSENT
    }
    built = _text(runtimes) or ("no runtime" if "+cpu" in torch else "unlimited")
    return (
        f"runtime of torch: {built}; device: "
        f"{'there is one' if any(Path('/dev').glob('nvidia[0-9]')) else 'none'}"
    )


def _about_caches(caches: Mapping[str, Mapping[str, str]]) -> Iterator[str]:
    for folder, facts in caches.items():
        if facts["writable"] == "no":
            yield (
                f"{folder} cannot be written to, and kernels are compiled by every process: set "
                "NUMBA_CACHE_DIR to a folder of yours"
            )


def _generated() -> dict[str, str]:
    """Return for each model whether its generated files match its manifest, and the manifest its
    model file.
    """
    folder = Path(import_module("generated").__path__[0])
    return {
        path.name: _state(path)
        for path in sorted(folder.iterdir())
        if (path / "structure.json").is_file()
    }


def _state(folder: Path) -> str:
    try:
        stated = dict(json.loads((folder / "MANIFEST.json").read_text())["files"])
    except (OSError, ValueError, KeyError, TypeError):
        return "has no manifest that can be read"
    for name, digest in stated.items():
        path = folder / name
        if not path.resolve().is_relative_to(folder.resolve().parent):
            return f"the manifest lists {name!r}, which is outside generated/"
        if not path.is_file():
            return f"{name} is missing"
        if hashlib.sha256(path.read_bytes()).hexdigest()[:16] != digest:
            return f"{name} differs from its digest in the manifest"
    return outdated(folder.name) or "current"


def _about_generated(states: Mapping[str, str]) -> Iterator[str]:
    for model, state in states.items():
        if state != "current":
            yield f"generated/{model}: {state}; run python -m derive gen {model}"
