"""Exit of a command: its exit code, or one line on stderr for what ended it."""

import gc
import io
import os
import sys
from collections.abc import Callable
from typing import NoReturn

from attention_erm.runtime import interrupts
from attention_erm.runtime.errors import InvalidParameter, NoAnswer, NotWritten
from attention_erm.runtime.files import DISK_FULL, READ_ONLY


def run_to_exit(main: Callable[[], int]) -> NoReturn:
    """Run a command and exit.

    The exit code is that of `main`, or: 2 for invalid input, 1 for a question without an answer or
    a file that cannot be written, each with one line on stderr; 130 for an interrupt, with one
    line; 1 without any message if the reader of stdout has gone (`head`).
    """
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by the shell, as by `>&-`
            setattr(sys, name, io.StringIO())
    try:
        code = main()
        sys.stdout.flush()
        if interrupts.interrupted():
            code = interrupts.report("partial results were written")
        raise SystemExit(code)
    except BrokenPipeError:
        # the interpreter flushes stdout again at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise SystemExit(1) from None
    except KeyboardInterrupt:
        raise SystemExit(interrupts.report()) from None
    except InvalidParameter as error:
        sys.stderr.write(f"{error.as_option()}\n")
        raise SystemExit(2) from None
    except NoAnswer as error:
        sys.stderr.write(f"failed: {error}\n")
        raise SystemExit(1) from None
    except OSError as error:
        if not isinstance(error, NotWritten) and error.errno not in (*DISK_FULL, *READ_ONLY):
            raise
        notes = ", ".join(getattr(error, "__notes__", ()))
        saved = f"{notes}: " if notes else ""
        hint = "make room" if error.errno in DISK_FULL else "name a folder that you may write to"
        sys.stderr.write(
            f"failed: {error.filename or 'the output'}: cannot be written ({error.strerror}); "
            f"{saved}{hint} and start again\n"
        )
        raise SystemExit(1) from None
    except Exception:
        if not interrupts.interrupted():
            raise
        raise SystemExit(interrupts.report()) from None
    finally:
        interrupts.exit_if_interrupted()
        gc.freeze()  # saves 0.15 s: no garbage collection at exit of the objects that numba holds
