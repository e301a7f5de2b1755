"""Partial results of interrupted studies, attached to the exception."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from attention_erm.runtime.interrupts import mark_handled


class Interrupted(KeyboardInterrupt):
    """Interrupt of a study; `finished` is the partial result, of the type that the study
    returns.
    """

    def __init__(self, finished: Any) -> None:
        super().__init__()
        self.finished = finished
        self.add_note("the attribute `finished` of this exception is the partial result")


@contextmanager
def attach_partial_result(finished: Callable[[], Any]) -> Iterator[None]:
    """Replace a KeyboardInterrupt within by Interrupted with the result of `finished()`."""
    try:
        yield
    except KeyboardInterrupt:
        mark_handled()
        raise Interrupted(finished()) from None


@contextmanager
def map_partial_result(convert: Callable[[Any], Any]) -> Iterator[None]:
    """Apply `convert` to the partial result of a study that is interrupted within."""
    try:
        yield
    except Interrupted as interrupt:
        raise Interrupted(convert(interrupt.finished)) from None
