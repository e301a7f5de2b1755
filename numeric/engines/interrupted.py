"""Interrupts that lose nothing: what had finished of a study travels with them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from attention_erm.commandline.interrupts import answered


class Interrupted(KeyboardInterrupt):
    """An interrupt of a study; `finished` is what the study returns, of the part that had been done."""

    def __init__(self, finished: Any) -> None:
        super().__init__()
        self.finished = finished
        self.add_note(
            "what had finished is `finished` of this exception"
        )  # below the traceback of who did not catch it


@contextmanager
def keeping(finished: Callable[[], Any]) -> Iterator[None]:
    """An interrupt within takes with it what had finished."""
    try:
        yield
    except KeyboardInterrupt:
        answered()
        raise Interrupted(finished()) from None


@contextmanager
def becoming(whole: Callable[[Any], Any]) -> Iterator[None]:
    """What an interrupted study within has finished becomes a part of another."""
    try:
        yield
    except Interrupted as interrupt:
        raise Interrupted(whole(interrupt.finished)) from None
