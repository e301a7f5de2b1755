"""Models for commands. A model that cannot be read or derived is refused with a one-line error, and
the others continue.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import textwrap
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar

from attention_erm.cli.messages import fail, nearest
from attention_erm.runtime.errors import InvalidParameter
from attention_erm.runtime.model_files import file_of, register, require_free
from derive import models
from derive.cli.output import PATIENCE, log_if_slow, log_progress, log_refusal
from derive.language.errors import DerivationError, ModelError

if TYPE_CHECKING:
    from derive.language.model import Model

T = TypeVar("T")
PROCESSES = 2  # worker processes of a command that derives many models
_MOST = 400  # maximum length of an error message of a derivation


class Result(NamedTuple, Generic[T]):
    """Result of the work on a model, or a one-line reason for its refusal."""

    name: str
    value: T | None
    refusal: str = ""


def process_or_refuse(name: str, work: Callable[[Model], T]) -> Result[T]:
    """Do the work on the model of this name; if the file or the derivation raises an exception,
    return a refusal.

    Args:
        name: name of the model.
        work: function of the model.
    """
    try:
        model = models.load(name)
    except ModelError as error:
        return Result(name, None, str(error))
    try:
        return Result(name, work(model))
    except (ModelError, DerivationError) as error:
        reason = str(error)
    except Exception as error:  # unexpected expressions in a pass
        reason = f"{type(error).__name__}: {error}"
    reason = textwrap.shorten(reason, _MOST, placeholder=" ...")
    return Result(
        name,
        None,
        f"{models.file_shown(name)}: cannot be derived: {reason}; change that expression",
    )


def process_models(
    names: Sequence[str], work: Callable[[Model], T], doing: str, processes: int = PROCESSES
) -> Iterator[Result[T]]:
    """Yield results in the order of the names, from two processes; log refusals and slow progress.

    Args:
        names: names of models.
        work: function of a model.
        doing: verb for progress messages, such as "checking".
        processes: maximum number of worker processes.
    """
    started = time.monotonic()
    with log_if_slow(f"{doing} {names[0] if len(names) == 1 else f'{len(names)} models'}"):
        for number, result in enumerate(
            _results(names, work, min(processes, len(names), _cores())), 1
        ):
            if result.refusal:
                log_refusal(result.refusal)
            elif len(names) > 1 and time.monotonic() - started > PATIENCE:
                log_progress(f"derive: {doing} {result.name}: done, {number} of {len(names)}")
            yield result


def process_model(name: str, work: Callable[[Model], T], doing: str) -> T:
    """Return the result for one model, or exit with code 2.

    Args:
        name: name of the model.
        work: function of the model.
        doing: verb for progress messages.
    """
    name = require_model("MODEL", name)
    (result,) = process_models((name,), work, doing)
    if result.value is None:
        raise SystemExit(2)
    return result.value


def require_model(argument: str, name: str, into: str | None = None) -> str:
    """Return the name of a model, given by its name or by the path of its file.

    Exits with code 2 if there is no such model or file.

    Args:
        argument: name of the argument, for the error message.
        name: name of the model, or path of a file that ends in .py.
        into: folder that contains `generated/` for a file; default: the folder of the file.
    """
    if (path := file_of(name)) is not None:
        path = path.resolve()
        try:
            require_free(argument, path, models.available())
        except InvalidParameter as error:
            fail(f"{argument} {name}: {error.rule}; {error.hint}")
        return register(path, Path(into).resolve() if into else path.parent)
    if name not in models.available():
        near = nearest(name, models.available())
        way_out = f"use {near}" if near else "`python -m derive list` lists all models"
        fail(f"{argument} {name}: no such model; {way_out}")
    return name


def selected_models(names: Sequence[str], into: str | None = None) -> tuple[str, ...]:
    """Return the given models, or all models if none is given.

    Args:
        names: names of models, or paths of model files.
        into: see `require_model`.
    """
    registered = [name for name in names if file_of(name) is None]
    if into and (registered or not names):
        shown = ", ".join(registered) or "no model"
        fail(f"--into {into}: is for the paths of model files, got {shown}; leave it out")
    found = [require_model("MODEL", name, into) for name in names]
    return tuple(dict.fromkeys(found)) or models.available()


def _results(
    names: Sequence[str], work: Callable[[Model], T], processes: int
) -> Iterator[Result[T]]:
    attempted = partial(process_or_refuse, work=work)
    if processes <= 1:
        yield from map(attempted, names)
        return
    others = set(multiprocessing.active_children())
    with ProcessPoolExecutor(processes, initializer=_ignore_interrupts) as pool:
        try:  # not pool.map, whose cancelled futures cause errors in the thread of the pool
            for future in [pool.submit(attempted, name) for name in names]:
                yield future.result()
        except BaseException:  # interrupted: do not wait for the remaining models
            for worker in set(multiprocessing.active_children()) - others:
                worker.kill()
            raise


def _ignore_interrupts() -> None:
    """Ignore Ctrl-C in worker processes; the main process terminates them."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
