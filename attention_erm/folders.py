"""Whether a folder takes files, found out by making one: the system calls some writable that take none, as /proc."""

import errno
import os
import tempfile
from pathlib import Path


def require_writable(folder: Path) -> None:
    """Raises OSError if no file can be made in the folder; nothing is left of the one that is tried."""
    tempfile.TemporaryFile(dir=folder).close()


def require_folder(folder: Path) -> None:
    """Raises OSError if nothing could be written in the folder, which is made, where there is none yet, at the first write."""
    there = next(one for one in (folder, *folder.parents) if os.path.lexists(one))
    if not there.is_dir():  # nor a link that leads nowhere, in whose place none can be made
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(there))
    require_writable(there)
