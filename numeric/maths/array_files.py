"""Arrays in .npy and .npz files, read without executing what they contain."""

import struct
import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: What NumPy raises for damaged files, beside OSError.
_DAMAGED = (
    *(ValueError, TypeError, EOFError, KeyError, IndexError, SyntaxError, ArithmeticError),
    *(RuntimeError, MemoryError, zipfile.BadZipFile, zlib.error, struct.error),
)


class Unreadable(Exception):
    """A file that cannot be read; the text is the reason."""


def read_arrays(path: Path) -> dict[str, NDArray[Any]]:
    """Return the arrays of a .npy or .npz file by name; that of a .npy file has its stem as name.

    Args:
        path: the file.

    Raises:
        Unreadable: there is no such file, it is damaged, or it contains objects.
    """
    try:
        with path.open("rb") as file:  # NumPy itself leaves a damaged archive open
            loaded = np.load(file, allow_pickle=False)
            return {path.stem: loaded} if isinstance(loaded, np.ndarray) else dict(loaded)
    except OSError as error:
        raise Unreadable(error.strerror or "not a file of this kind") from None
    except _DAMAGED as error:
        raise Unreadable(first_line(error)) from None


def first_line(error: Exception) -> str:
    """Return the first line of a message, or the name of an error without one."""
    return next(iter(str(error).splitlines()), "") or type(error).__name__
