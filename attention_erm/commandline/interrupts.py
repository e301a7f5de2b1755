"""Ctrl-C ends a command in one line, wherever it strikes: among imports, in compiled code, in a callback that loses exceptions.

While a program is loaded nothing can be lost, and it ends at once. From `work_begins` on an interrupt is a KeyboardInterrupt, raised
until whoever has finished something has `answered`; the command line says its line and ends with 130. Where nobody answers in time, or
at a second Ctrl-C, the process ends at once.
"""

import atexit
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import TracebackType
from typing import Any, NoReturn

CODE = 130  #: exit code of an interrupted command
PATIENCE = 3.0  # seconds that compiled code may keep an interrupt waiting
ONE = 1.0  # second within which two interrupts are the same: `timeout` sends one to the command and one to its group
_ENDS = (
    signal.SIGINT,
    signal.SIGTERM,
)  #: of a terminal, and of a cluster or a system that shuts down
AGAIN = 0.5  # seconds after which an interrupt is raised again, as callbacks and some libraries lose exceptions


class _Interrupts:
    """What came of the interrupts of this process."""

    def __init__(self) -> None:
        self.first: float | None = None
        self.working = self.answered = self.told = False
        self.ends: list[Callable[[], None]] = []

    def received(self, *_: object) -> None:
        """In the main thread, between two steps of the interpreter."""
        now = time.monotonic()
        if self.first is not None and now - self.first < ONE:
            return
        if self.first is not None or not self.working:
            self.leave()
        self.first = now
        signal.setitimer(signal.ITIMER_REAL, AGAIN, AGAIN)
        raise KeyboardInterrupt

    def again(self, *_: object) -> None:
        """The same, while nobody has answered."""
        if not self.answered:
            raise KeyboardInterrupt

    def wait(self, wakened: int) -> None:
        """In a thread of its own, which the kernel wakes at once: end the process where the main thread does not come to it."""
        while os.read(wakened, 1)[0] not in _ENDS:
            pass
        time.sleep(PATIENCE)
        if not self.answered:
            self.leave()

    def leave(self) -> NoReturn:
        """End this process and what it started, without a word from either."""
        self.tell()
        for end in self.ends:
            end()
        os._exit(CODE)

    def tell(self, what: str = "") -> None:
        """The line, once."""
        if not self.told:
            self.told = True
            with suppress(OSError, ValueError):  # whoever read it may have gone
                sys.stderr.write(f"interrupted{what and f': {what}'}\n")
                sys.stderr.flush()


_interrupts = _Interrupts()


def watch(compiled: bool = True) -> None:
    """Answer interrupts of this process from here on; called before a program imports what takes long.

    `compiled`: code may run that lets the interpreter answer no signal for longer than anybody waits; that takes a thread.
    """
    for ends in _ENDS:
        if (
            signal.getsignal(ends) is not signal.SIG_IGN
        ):  # as interrupts are in the background of a script
            signal.signal(ends, _interrupts.received)
    signal.signal(signal.SIGALRM, _interrupts.again)
    sys.unraisablehook, sys.excepthook = _unraisable, _uncaught
    atexit.register(leave_if_interrupted)
    if compiled:
        wakened, wakes = os.pipe()
        os.set_blocking(wakes, False)
        signal.set_wakeup_fd(wakes, warn_on_full_buffer=False)
        threading.Thread(target=_interrupts.wait, args=(wakened,), daemon=True).start()


def _unraisable(what: Any) -> None:
    """Callbacks and finalisers pass no exception on, of which the interpreter tells; an interrupt is raised again."""
    if not issubclass(what.exc_type, KeyboardInterrupt):
        sys.__unraisablehook__(what)


def _uncaught(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """Likewise: compiled functions that cannot raise print what they lose as if nobody had caught it."""
    if not issubclass(kind, KeyboardInterrupt):
        sys.__excepthook__(kind, error, trace)


def work_begins() -> None:
    """From here on something is finished now and then that an interrupt must not lose."""
    _interrupts.working = True


def answered() -> None:
    """Whoever caught the interrupt ends the work: it is not raised again."""
    if interrupted():
        _interrupts.answered = True
        signal.setitimer(signal.ITIMER_REAL, 0)


def interrupted() -> bool:
    """Whether this process was, in a way that it answers."""
    return _interrupts.first is not None


def tell(what: str = "") -> int:
    """Say in one line that the command was interrupted, and what is kept; its exit code."""
    answered()
    _interrupts.tell(what)
    return CODE


def leave_if_interrupted() -> None:
    """End an interrupted process here, where all is said and written.

    Python would first wait for threads, of which one may compile a kernel for ten seconds, and then end itself by a signal where an
    interrupt came through code that it compiled from text, caught or not.
    """
    if interrupted():
        tell()
        with suppress(OSError):
            sys.stdout.flush()
        _interrupts.leave()


def on_leaving(end: Callable[[], None]) -> None:
    """Call `end`, once, where an interrupt leaves no time for anything else."""
    if end not in _interrupts.ends:
        _interrupts.ends.append(end)


@contextmanager
def passed_over() -> Iterator[None]:
    """Processes that begin here, and in threads that do, never see an interrupt, which is the parent's to answer, in one line."""
    from multiprocessing.resource_tracker import ensure_running  # a tenth of the time of a start

    ensure_running()  # it unblocks what is blocked
    before = signal.pthread_sigmask(
        signal.SIG_BLOCK, [signal.SIGINT]
    )  # handed down, and one that comes now is not lost
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
