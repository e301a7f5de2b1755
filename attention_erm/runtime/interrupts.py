"""SIGINT and SIGTERM end a command with one line and exit code 130, in any library.

While a program is loaded, an interrupt ends the process at once. After `raise_on_interrupt` it
raises KeyboardInterrupt, repeatedly until `mark_handled` is called, because callbacks and some
libraries lose exceptions. A second interrupt, or compiled code that blocks the main thread for
longer than PATIENCE, ends the process at once.
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

EXIT_CODE = 130
PATIENCE = 3.0  # seconds that compiled code may delay an interrupt
SAME_INTERRUPT = 1.0  # seconds: `timeout` sends one signal to the command and one to its group
RAISE_INTERVAL = 0.5  # seconds after which an interrupt is raised again
_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class _State:
    """State of the interrupts of this process."""

    def __init__(self) -> None:
        self.first: float | None = None
        self.raising = self.handled = self.reported = False
        self.exit_callbacks: list[Callable[[], None]] = []

    def on_signal(self, *_: object) -> None:
        now = time.monotonic()
        if self.first is not None and now - self.first < SAME_INTERRUPT:
            return
        if self.first is not None or not self.raising:
            self.exit_now()
        self.first = now
        signal.setitimer(signal.ITIMER_REAL, RAISE_INTERVAL, RAISE_INTERVAL)
        raise KeyboardInterrupt

    def on_alarm(self, *_: object) -> None:
        if not self.handled:
            raise KeyboardInterrupt

    def exit_if_blocked(self, wakeup: int) -> None:
        """End the process if the main thread does not handle a signal, from another thread.

        Args:
            wakeup: file descriptor that receives the number of each signal.
        """
        while os.read(wakeup, 1)[0] not in _SIGNALS:
            pass
        time.sleep(PATIENCE)
        if not self.handled:
            self.exit_now()

    def exit_now(self) -> NoReturn:
        self.report()
        for callback in self.exit_callbacks:
            callback()
        os._exit(EXIT_CODE)

    def report(self, message: str = "") -> None:
        """Print the line on stderr, once."""
        if not self.reported:
            self.reported = True
            with suppress(OSError, ValueError):  # stderr may be closed
                sys.stderr.write(f"interrupted{message and f': {message}'}\n")
                sys.stderr.flush()


_state = _State()


def install_handlers(compiled: bool = True) -> None:
    """Handle interrupts of this process; call it before slow imports.

    Args:
        compiled: whether compiled code may block the main thread; this starts a watchdog thread.
    """
    for number in _SIGNALS:
        if signal.getsignal(number) is not signal.SIG_IGN:  # ignored in background jobs of a shell
            signal.signal(number, _state.on_signal)
    signal.signal(signal.SIGALRM, _state.on_alarm)
    sys.unraisablehook, sys.excepthook = _hide_unraisable, _hide_uncaught
    atexit.register(exit_if_interrupted)
    if compiled:
        receiver, sender = os.pipe()
        os.set_blocking(sender, False)
        signal.set_wakeup_fd(sender, warn_on_full_buffer=False)
        threading.Thread(target=_state.exit_if_blocked, args=(receiver,), daemon=True).start()


def _hide_unraisable(unraisable: Any) -> None:
    """Print no KeyboardInterrupt that a callback or finaliser lost: it is raised again."""
    if not issubclass(unraisable.exc_type, KeyboardInterrupt):
        sys.__unraisablehook__(unraisable)


def _hide_uncaught(
    kind: type[BaseException], error: BaseException, trace: TracebackType | None
) -> None:
    """Print no KeyboardInterrupt that a compiled function lost: it is raised again."""
    if not issubclass(kind, KeyboardInterrupt):
        sys.__excepthook__(kind, error, trace)


def raise_on_interrupt() -> None:
    """Let interrupts raise KeyboardInterrupt from now on, so that partial results can be saved."""
    _state.raising = True


def mark_handled() -> None:
    """Stop raising the interrupt; call it where KeyboardInterrupt is caught."""
    if interrupted():
        _state.handled = True
        signal.setitimer(signal.ITIMER_REAL, 0)


def interrupted() -> bool:
    """Return whether an interrupt was received and is handled gracefully."""
    return _state.first is not None


def report(message: str = "") -> int:
    """Print one line, "interrupted: message", and return the exit code."""
    mark_handled()
    _state.report(message)
    return EXIT_CODE


def exit_if_interrupted() -> None:
    """End an interrupted process after everything is written.

    Python would first join threads, which may compile a kernel for 10 s, and may then end itself
    with a signal.
    """
    if interrupted():
        report()
        with suppress(OSError):
            sys.stdout.flush()
        _state.exit_now()


def call_on_exit(callback: Callable[[], None]) -> None:
    """Call a function, once, when an interrupt ends the process at once."""
    if callback not in _state.exit_callbacks:
        _state.exit_callbacks.append(callback)


@contextmanager
def block_sigint() -> Iterator[None]:
    """Block SIGINT in processes and threads that start within: only the parent handles it."""
    from multiprocessing.resource_tracker import ensure_running  # slow import

    ensure_running()  # it would unblock SIGINT later
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
