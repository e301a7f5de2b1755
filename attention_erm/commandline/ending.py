"""How a command ends: with its exit code, or in one line on stderr where something ended it."""

import errno
import gc
import os
import signal
import sys
from _thread import interrupt_main
from collections.abc import Callable
from threading import Timer
from typing import Any, NoReturn

from attention_erm.commandline.refusal import BadInput

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)  #: errors of a disk without room
_DISK = (*FULL, errno.EROFS, errno.EACCES)  #: and of one that nobody may write to
_INTERRUPTED = "interrupted\n"
_SOON = 0.05  #: seconds until an interrupt that Python passed over comes again


def run_to_exit(main: Callable[[], int]) -> NoReturn:
    """Exit with the code of `main`; bad input gives its one line on stderr and 2, a disk that refuses a line and 1.

    An interrupt ends with a line and 130, and whoever stops reading the output, as `head` does, ends the command in silence.
    """
    try:
        code = main()
        sys.stdout.flush()
        raise SystemExit(code)
    except BrokenPipeError:
        os.dup2(
            os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno()
        )  # or the interpreter would flush into the pipe once more
        raise SystemExit(1) from None
    except KeyboardInterrupt:
        sys.stderr.write(_INTERRUPTED)
        raise SystemExit(130) from None
    except BadInput as error:
        sys.stderr.write(f"{error}\n")
        raise SystemExit(2) from None
    except OSError as error:
        if error.errno not in _DISK:
            raise
        what = f"{error.filename}: " if error.filename else ""
        way_out = "make room" if error.errno in FULL else "name a folder that you may write to"
        sys.stderr.write(
            f"failed: {what}cannot be written ({error.strerror}); what had finished is kept: {way_out} and start again\n"
        )
        raise SystemExit(1) from None
    finally:
        gc.freeze()  # the interpreter's search for garbage at exit would take .15 s, among all that numba holds


def leave_while_loading() -> None:
    """Until `end_in_one_line` an interrupt ends the process at once: nothing is lost yet, and libraries that load may pass over it."""
    for number in _signals():
        signal.signal(number, _leave)


def end_in_one_line() -> None:
    """From here on an interrupt is raised until somebody answers it, and a request to end is an interrupt."""
    sys.unraisablehook = _raise_again
    for number in _signals():
        signal.signal(number, signal.default_int_handler)


def _signals() -> list[signal.Signals]:
    """Those that end a command, but an interrupt that whoever started it ignores, as a shell does for its background."""
    return [n for n in (signal.SIGINT, signal.SIGTERM) if signal.getsignal(n) is not signal.SIG_IGN]


def _leave(*_: object) -> NoReturn:
    sys.stderr.write(_INTERRUPTED)
    sys.stderr.flush()
    os._exit(130)


def _raise_again(ignored: Any) -> None:
    """What is raised in a callback of C, such as one of a compiler, does not reach who called it."""
    if issubclass(ignored.exc_type, KeyboardInterrupt):
        again = Timer(_SOON, interrupt_main)
        again.daemon = True
        again.start()
    else:
        sys.__unraisablehook__(ignored)
