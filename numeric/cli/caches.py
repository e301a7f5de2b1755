"""What is kept on disk and runs in threads: compiled kernels, arrays, the folders of both, the
pools of BLAS.
"""

import os
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy  # noqa: F401  # brings the BLAS whose threads are counted
import scipy.linalg  # noqa: F401  # and its own
from threadpoolctl import threadpool_info

from attention_erm import ROOT
from numeric.maths import kernels, sobol
from numeric.model import DEFAULT, structure
from numeric.model_files import cache_folder

NOWHERE = "any folder of the code or the user"  #: in place of the one that numba would choose
_ENTRY = "\n@entry\n"  # stands before a kernel that Python calls


def threads() -> dict[str, int]:
    """Threads of each pool, of compiled kernels too."""
    pools = {
        f"{pool['internal_api']} {pool['version']}": int(pool["num_threads"])
        for pool in threadpool_info()
    }
    return {**pools, "kernels": kernels.cores()}


@cache
def _entries() -> dict[str, Any]:
    """Kernels that Python calls, by name."""
    package = ROOT / "numeric"
    paths = sorted(path for path in package.rglob("*.py") if _ENTRY in path.read_text())
    if not structure(
        DEFAULT
    ).takes_tokens:  # its equations, which these compile, are not derived then
        paths = [path for path in paths if path.parent.name != "softmax"]
    modules = [
        import_module(".".join(path.relative_to(ROOT).with_suffix("").parts)) for path in paths
    ]
    return {
        f"{module.__name__.removeprefix('numeric.')}.{name.lstrip('_')}": value
        for module in modules
        for name, value in vars(module).items()
        if isinstance(getattr(value, "_cache", None), kernels.KernelCache)
    }


def kernel_states() -> dict[str, str]:
    """Return for each kernel whether it is compiled for this processor, for at least some
    argument types.
    """
    counts = {name: kernel._cache.compiled() for name, kernel in _entries().items()}
    return {
        name: "compiled" if count else "will be compiled on first use"
        for name, count in counts.items()
    }


def folders() -> dict[str, dict[str, Any]]:
    """Folders of compiled kernels and kept arrays: their sizes, and whether they can be written
    to.
    """
    found = {kernel._cache.folder for kernel in _entries().values()} | {
        kernels.KernelCache(sobol.gaussians.__wrapped__).folder
    }
    return {
        str(folder or NOWHERE): {
            "kernels": _size(folder, "*.nb[ci]"),
            "arrays": _size(folder, "*.npy"),
            "writable": "yes" if folder and os.access(_existing(folder), os.W_OK) else "no",
        }
        for folder in sorted(found, key=str)
    }


def own_models() -> dict[str, str]:
    """Folder of the equations of models outside the package: their number and their size."""
    folder = cache_folder()
    count = sum(path.is_dir() for path in folder.iterdir())
    return {str(folder): f"{count} derived, {_size(folder, '**/*')}"}


def _size(folder: Path | None, pattern: str) -> str:
    sizes = (
        path.stat().st_size for path in (folder.glob(pattern) if folder else ()) if path.is_file()
    )
    return f"{sum(sizes) / 2**20:.1f} MiB"


def _existing(folder: Path) -> Path:
    return folder if folder.is_dir() else _existing(folder.parent)
