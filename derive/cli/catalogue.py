"""Models for commands: one that cannot be read or derived is refused in a line, and does not stop the others."""

from __future__ import annotations

import multiprocessing
import os
import signal
import textwrap
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar

from attention_erm.commandline.refusal import fail, nearest
from derive import models
from derive.cli.output import PATIENCE, note, refuse, told
from derive.language.errors import DerivationError, ModelError

if TYPE_CHECKING:
    from derive.language.model import Model

T = TypeVar("T")
PROCESSES = 2  # of a command that derives many models
_MOST = 400  # characters of what a derivation says: expressions can fill pages


class Result(NamedTuple, Generic[T]):
    """What work on a model gave, or the line that says why it gave nothing."""

    name: str
    value: T | None
    refusal: str = ""


def attempt(name: str, work: Callable[[Model], T]) -> Result[T]:
    """The work on the model of this name, or its refusal, whatever the file or its derivation raises."""
    try:
        model = models.load(name)
    except ModelError as error:
        return Result(name, None, str(error))
    try:
        return Result(name, work(model))
    except (ModelError, DerivationError) as error:
        reason = str(error)
    except Exception as error:  # what a pass meets in an expression that nobody thought of
        reason = f"{type(error).__name__}: {error}"
    reason = textwrap.shorten(reason, _MOST, placeholder=" ...")
    return Result(
        name, None, f"derive/models/{name}.py: cannot be derived: {reason}; change the expression that it names"
    )


def each(
    names: Sequence[str], work: Callable[[Model], T], doing: str, processes: int = PROCESSES
) -> Iterator[Result[T]]:
    """Results in the order of the names, from two processes; refusals and what takes long are said on stderr."""
    started = time.monotonic()
    with told(f"{doing} {names[0] if len(names) == 1 else f'{len(names)} models'}"):
        for number, result in enumerate(_results(names, work, min(processes, len(names), _cores())), 1):
            if result.refusal:
                refuse(result.refusal)
            elif len(names) > 1 and time.monotonic() - started > PATIENCE:
                note(f"derive: {doing} {result.name}: done, {number} of {len(names)}")
            yield result


def one(name: str, work: Callable[[Model], T], doing: str) -> T:
    """The result for one model, or exit 2."""
    known_name("MODEL", name)
    (result,) = each((name,), work, doing)
    if result.value is None:
        raise SystemExit(2)
    return result.value


def known_name(argument: str, name: str) -> None:
    """Exit 2 unless there is a model file of this name."""
    if name not in models.available():
        near = nearest(name, models.available())
        way_out = f"use {near}" if near else "`python -m derive list` names those that there are"
        fail(f"{argument} {name}: no such model; {way_out}")


def chosen(names: Sequence[str]) -> tuple[str, ...]:
    """These models, or all where none is named."""
    for name in names:
        known_name("MODEL", name)
    return tuple(dict.fromkeys(names)) or models.available()


def _results(names: Sequence[str], work: Callable[[Model], T], processes: int) -> Iterator[Result[T]]:
    attempted = partial(attempt, work=work)
    if processes <= 1:
        yield from map(attempted, names)
        return
    others = set(multiprocessing.active_children())
    with ProcessPoolExecutor(processes, initializer=_ignore_interrupts) as pool:
        try:  # not pool.map: it cancels what is left, which the pool's own thread then finds in a state that it does not expect
            for future in [pool.submit(attempted, name) for name in names]:
                yield future.result()
        except BaseException:  # an interrupt: leaving the pool would wait for models that nobody wants any more
            for worker in set(multiprocessing.active_children()) - others:
                worker.kill()
            raise


def _ignore_interrupts() -> None:
    """Ctrl-C reaches every process of a terminal: the one that prints ends the others."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
