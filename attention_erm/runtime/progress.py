"""Progress on stderr: a bar on a terminal, elsewhere a line now and then."""

import sys
import threading
import time
from collections.abc import Iterable, Iterator, Sized
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Self

from attention_erm.runtime.interrupts import interrupted
from attention_erm.runtime.log import current_level

PATIENCE = 2.0  #: seconds before the first line
MAX_PAUSE = 15.0  #: seconds between two lines at most


class ProgressLines:
    """Progress in lines, with the part of the interface of tqdm that is used here.

    Args:
        values: iterable whose progress is shown, or None if `update` is called instead.
        title: start of each line.
        total: amount of work; None if unknown.
        percent: show the progress in per cent.
    """

    def __init__(
        self, values: Iterable[Any] | None, title: str, total: float | None, percent: bool
    ) -> None:
        self._values = values if values is not None else ()
        self._title, self._percent = title, percent
        self.total = total if total is not None or not isinstance(values, Sized) else len(values)
        self.n, self._ended = 0.0, threading.Event()

    def __iter__(self) -> Iterator[Any]:
        with self:
            for value in self._values:
                yield value
                self.update()

    def __enter__(self) -> Self:
        self._started = time.monotonic()
        threading.Thread(target=self._print_lines, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()

    def update(self, done: float = 1) -> None:
        """Add an amount of finished work."""
        self.n += done

    def _print_lines(self) -> None:
        pause = PATIENCE
        while not self._ended.wait(pause) and not interrupted():
            sys.stderr.write(f"{self.line(time.monotonic() - self._started)}\n")
            pause = min(2 * pause, MAX_PAUSE)

    def line(self, seconds: float) -> str:
        """Return the line after `seconds`, with the time left at the current rate."""
        if self.total is None:
            done = f"{self.n:g} done" if self.n else "at work"
        elif self._percent and self.total:
            done = f"{100 * self.n / self.total:.0f} %"
        else:
            done = f"{self.n:g} of {self.total:g}"
        left = ""
        if self.total and self.n:
            left = f", about {seconds * (self.total - self.n) / self.n:.0f} s left"
        return f"{self._title}: {done} after {seconds:.0f} s{left}"


def log_if_slow(title: str) -> AbstractContextManager[Any]:
    """Return a context that prints a line at level `info` if its body takes over 2 s."""
    return ProgressLines(None, title, None, False) if current_level() == "info" else nullcontext()


def progress(
    values: Iterable[Any] | None = None,
    *,
    desc: str,
    total: float | None = None,
    disable: bool = False,
    percent: bool = False,
    **options: Any,
) -> Any:
    """Return an iterable or context that shows progress at level `info` (`debug` logs more).

    Args:
        values: iterable whose progress is shown.
        desc: title.
        total: amount of work, by default the length of `values`.
        disable: show nothing.
        percent: show lines in per cent of the total.
        **options: further options of tqdm, for the bar on a terminal.
    """
    disable = disable or current_level() != "info"
    if disable or sys.stderr.isatty():
        from tqdm import tqdm  # slow import

        return tqdm(values, desc=desc, total=total, disable=disable, **options)
    return ProgressLines(values, desc, total, percent)


def time_bar(title: str, seconds: float, shown: bool = True) -> Any:
    """Return a progress bar of work that takes `seconds`, with the time left at the current rate.

    Args:
        title: start of the bar.
        seconds: total time of all tasks.
        shown: whether it is shown at all.
    """
    return progress(
        total=seconds,
        disable=not shown,
        desc=title,
        bar_format="{desc}: {percentage:3.0f}%|{bar}| {elapsed} elapsed, {remaining} left",
        percent=True,
        mininterval=0.2,
        smoothing=0,
    )
