"""How a command ends: with its exit code, or in one line on stderr where something ended it."""

import errno
import gc
import io
import os
import sys
from collections.abc import Callable
from typing import NoReturn

from attention_erm.commandline import interrupts
from attention_erm.commandline.refusal import BadInput

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)  #: errors of a disk without room
_DISK = (*FULL, errno.EROFS, errno.EACCES)  #: and of one that nobody may write to


class NotWritten(OSError):
    """A file that could not be written: errno, words and name; its notes say what is not lost with it."""


def run_to_exit(main: Callable[[], int]) -> NoReturn:
    """Exit with the code of `main`; bad input gives its one line on stderr and 2, a disk that refuses a line and 1.

    An interrupt ends with a line and 130, whatever it made of the command, and whoever stops reading the output, as `head` does, ends
    the command in silence.
    """
    _open_what_is_closed()
    try:
        code = main()
        sys.stdout.flush()
        raise SystemExit(
            interrupts.tell("what had finished is given") if interrupts.interrupted() else code
        )
    except BrokenPipeError:
        os.dup2(
            os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno()
        )  # or the interpreter would flush into the pipe once more
        raise SystemExit(1) from None
    except KeyboardInterrupt:
        raise SystemExit(interrupts.tell()) from None
    except BadInput as error:
        sys.stderr.write(f"{error}\n")
        raise SystemExit(2) from None
    except OSError as error:
        if not isinstance(error, NotWritten) and error.errno not in _DISK:
            raise
        notes = getattr(error, "__notes__", ())
        kept = f"{', '.join(notes)}: " if notes else ""
        way_out = "make room" if error.errno in FULL else "name a folder that you may write to"
        what = error.filename or "the output"
        sys.stderr.write(
            f"failed: {what}: cannot be written ({error.strerror}); {kept}{way_out} and start again\n"
        )
        raise SystemExit(1) from None
    except Exception:
        if not interrupts.interrupted():
            raise
        raise SystemExit(interrupts.tell()) from None
    finally:
        interrupts.leave_if_interrupted()
        gc.freeze()  # the interpreter's search for garbage at exit would take .15 s, among all that numba holds


def _open_what_is_closed() -> None:
    """Where a shell closed an output, as by `>&-`, Python has none, and what is written to it is lost as it was asked to be."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, io.StringIO())
