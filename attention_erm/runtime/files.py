"""Files: tests whether they can be written, and writing them in one step.

`os.access` reports folders such as /proc as writable, so the tests create a temporary file.
"""

import errno
import os
import tempfile
from pathlib import Path

from attention_erm.runtime.errors import NotWritten

DISK_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
READ_ONLY = (errno.EROFS, errno.EACCES)
_MAX_PREFIX = 40  # characters of a file name in its temporary name, which must not be too long


def require_writable(folder: Path) -> None:
    """Raise OSError if no file can be created in the folder."""
    tempfile.TemporaryFile(dir=folder).close()


def require_folder(folder: Path) -> None:
    """Raise OSError if the folder cannot be created, or no file can be created in it."""
    existing = next(path for path in (folder, *folder.parents) if os.path.lexists(path))
    if not existing.is_dir():  # a file, or a broken link
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(existing))
    require_writable(existing)


def require_writable_file(path: Path) -> None:
    """Raise OSError if `write_atomically` cannot write the file."""
    if _is_device(path):
        if not os.access(path, os.W_OK):  # opening a pipe would wait for its reader
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        return
    target = Path(os.path.realpath(path))
    if target.is_symlink():  # circular links
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
    require_writable(target.parent)


def write_atomically(path: Path, content: bytes) -> None:
    """Write a file through a temporary one in the same folder: it is never half written.

    The target of a link is replaced; a device or a pipe is written directly.

    Args:
        path: the file.
        content: its bytes.

    Raises:
        NotWritten: the file cannot be written.
        BrokenPipeError: the reader of a pipe has gone.
    """
    try:
        if _is_device(path):
            path.write_bytes(content)
        else:
            _replace(path.resolve(), content)
    except BrokenPipeError:
        raise
    except OSError as error:
        raise NotWritten(error.errno, error.strerror, str(path)) from None


def _is_device(path: Path) -> bool:
    """Return whether the path is a device or a pipe."""
    return path.exists() and not path.is_file()


def _replace(path: Path, content: bytes) -> None:
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name[:_MAX_PREFIX]}.")
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(content)
        Path(temporary).chmod(0o644)
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
