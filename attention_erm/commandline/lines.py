"""How far the work is, in lines now and then: for a log file or another program, where a bar that moves would be a heap of them."""

import sys
import threading
import time
from collections.abc import Iterable, Iterator, Sized
from types import TracebackType
from typing import Any, Self

from attention_erm.commandline.interrupts import interrupted

PATIENCE = 2.0  #: seconds that work may take in silence
BETWEEN = 30.0  # seconds from line to line at most: short work has its lines closer together


class Lines:
    """As much of tqdm as we use, in lines on stderr; `shares`: the total is of no unit, and what is done is told in per cent of it."""

    def __init__(
        self, values: Iterable[Any] | None, title: str, total: float | None, shares: bool
    ) -> None:
        self._values, self._title, self._shares = (
            values if values is not None else (),
            title,
            shares,
        )
        self.total = total if total is not None or not isinstance(values, Sized) else len(values)
        self.n, self._ended = 0.0, threading.Event()

    def __iter__(self) -> Iterator[Any]:
        with self:
            for value in self._values:
                yield value
                self.update()

    def __enter__(self) -> Self:
        self._started = time.monotonic()
        threading.Thread(target=self._tell, daemon=True).start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._ended.set()

    def update(self, done: float = 1) -> None:
        """So much more is done."""
        self.n += done

    def _tell(self) -> None:
        pause = PATIENCE
        while not self._ended.wait(pause) and not interrupted():
            sys.stderr.write(f"{self.line(time.monotonic() - self._started)}\n")
            pause = min(2 * pause, BETWEEN)

    def line(self, seconds: float) -> str:
        """What is done after so many seconds, and how long the rest takes at the rate so far."""
        if self.total is None:
            done = f"{self.n:g} done" if self.n else "at work"
        else:
            done = (
                f"{100 * self.n / self.total:.0f} %"
                if self._shares and self.total
                else f"{self.n:g} of {self.total:g}"
            )
        left = (
            f", about {seconds * (self.total - self.n) / self.n:.0f} s left"
            if self.total and self.n
            else ""
        )
        return f"{self._title}: {done} after {seconds:.0f} s{left}"
