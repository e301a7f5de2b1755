"""What compiled kernels share: how they are compiled and kept, a digest of what they were compiled from, threads that run them.

Compilation is what a first command waits for. It grows with the code and with the types of its arguments, so that kernels

- count no references, and make no array: what they write to is an argument;
- assign element by element: an assignment of a slice brings the error message for shapes that do not match, which takes longer than
  the loop;
- are called from few places, and rarely through others: each caller's code is made with that of its callees once more.
"""

import hashlib
import inspect
import logging
import os
import pickle
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from threading import Timer
from types import FunctionType, ModuleType
from typing import Any, TypeVar, cast

from numba import njit, types
from numba.core.caching import FunctionCache
from numba.core.registry import cpu_target
from numba.extending import typeof_impl

_LOG = logging.getLogger(__name__)

SHARES = 8  # of the work per thread: few enough that handing them out costs nothing, many enough that none waits long
PATIENCE = 2.0  # seconds that a process compiles in silence
LONGEST = (
    60.0  # seconds that it leaves a kernel to another process, which may have been stopped over it
)

F = TypeVar("F", bound=Callable[..., Any])
_njit: Any = njit  # whose types know few of its options
_BARE: dict[str, Any] = {"error_model": "numpy", "_nrt": False, "no_cfunc_wrapper": True}


def entry(function: F, **options: Any) -> F:
    """Decorator of a kernel that Python calls, with a cache on disk; its last argument defaults to the `digest` of what it calls."""
    kernel = _njit(function, **_BARE, nogil=True, **options)
    kernel._cache = KernelCache(function)
    return kernel


def inner(function: F, **options: Any) -> F:
    """Decorator of a kernel that kernels call: it is compiled without a wrapper for Python, from where it runs as Python.

    What it calls by name is a kernel, or a function of its own module, as the elementary ones that generated code defines.
    """
    compiled = _njit(
        _calling_kernels(function, options), **_BARE, no_cpython_wrapper=True, **options
    )
    return cast(F, Inner(function, compiled))


def _calling_kernels(function: Callable[..., Any], options: dict[str, Any]) -> Callable[..., Any]:
    """The same function, the functions of its module that it calls being kernels."""
    known = function.__globals__
    called = {
        name: known[name]
        for name in function.__code__.co_names
        if isinstance(known.get(name), FunctionType)
    }
    kernels = {
        name: inner(one, **options)
        for name, one in called.items()
        if one.__module__ == function.__module__
    }
    return (
        FunctionType(function.__code__, known | kernels, function.__name__) if kernels else function
    )


class Inner:
    """A function and what is compiled of it, which takes its place in a compiled caller."""

    def __init__(self, function: Callable[..., Any], compiled: Any) -> None:
        self.py_func, self.compiled, self.targetoptions = function, compiled, compiled.targetoptions

    def __call__(self, *arguments: Any) -> Any:
        """The function itself: a call of what has no wrapper would crash."""
        return self.py_func(*arguments)


@typeof_impl.register(Inner)
def _type_of_inner(kernel: Inner, _: Any) -> Any:
    return types.Dispatcher(kernel.compiled)


#: What reading types that have since moved, a file cut short, or one of somebody else raises.
_UNREADABLE = (
    OSError,
    ImportError,
    AttributeError,
    EOFError,
    pickle.UnpicklingError,
    ValueError,
    TypeError,
    IndexError,
)


class KernelCache(FunctionCache):
    """numba's cache of one kernel on disk; what is not in it is about to be compiled, and then put there, where anything can be.

    One process compiles, which holds a lock meanwhile; others that start beside it, as the workers of a sweep do, wait for it.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        try:
            super().__init__(function)
        except RuntimeError:  # numba's, which finds no folder
            self._cache_path = None
            self.disable()
        self._compiles: Any = None  # the lock, while this process compiles

    @property
    def folder(self) -> Path | None:
        """Where it is: beside the code, of the user, or as NUMBA_CACHE_DIR says; None if neither can be written to."""
        return Path(self._cache_path) if self._enabled else None

    def load_overload(self, signature: Any, context: Any) -> Any:
        """What was compiled for these types, or None, whereupon they are compiled."""
        found = self._read(signature, context)
        if found is None:
            _notice.begin(self._py_func.__module__)
            if not self._enabled:
                _notice.warn_not_cached(
                    "neither the code's folder nor one of yours can be written to"
                )
            elif (found := self._wait_or_lock(signature, context)) is not None:
                self._release_lock()
                _notice.end()
        return found

    def _read(self, signature: Any, context: Any) -> Any:
        """What is on disk, or None; types that have since moved, or a file cut short, leave nothing readable."""
        try:
            return super().load_overload(signature, context)
        except _UNREADABLE:
            with suppress(OSError):  # where nothing can be written, either
                self.flush()
            return None

    def _wait_or_lock(self, signature: Any, context: Any) -> Any:
        """What another process has compiled meanwhile, or None with the lock held, where there can be one."""
        from filelock import (
            FileLock,
        )  # which takes some time to load, for which no kernel that is on disk should wait

        name = f".{self._py_func.__module__.rpartition('.')[2]}.{self._py_func.__qualname__}.lock"
        self._compiles = FileLock(
            Path(self._cache_path) / name, timeout=LONGEST
        )  # another one each time: forks refuse it
        with suppress(
            OSError, NotImplementedError
        ):  # no file, or no locks there; also who has waited for the longest
            self._compiles.acquire()
        return self._read(signature, context)

    def _release_lock(self) -> None:
        """Of the lock, if it is held."""
        if self._compiles is not None:
            self._compiles.release()
            self._compiles = None

    def compiled(self) -> int:
        """For how many types of arguments the kernel, as its sources stand, is on disk for this processor."""
        try:
            index = self._cache_file._load_index() if self._enabled else {}
        except _UNREADABLE:
            return 0
        machine, sources = (
            cpu_target.target_context.codegen().magic_tuple(),
            (self._py_func.__defaults__ or ("",))[-1],
        )
        return sum(
            key[1] == machine and getattr(key[0][-1], "value", sources) == sources for key in index
        )

    def save_overload(self, signature: Any, compiled: Any) -> None:
        """Keep it for other processes, unless the disk refuses."""
        _notice.end()
        try:
            super().save_overload(signature, compiled)
        except _UNREADABLE as error:
            _notice.warn_not_cached(f"{self.folder} refuses it ({error})")
        self._release_lock()


class CompilationNotice:
    """The compilation that a process waits for: a line on stderr says so, once it has taken long in all, and one if in vain."""

    def __init__(self) -> None:
        self.left, self.started, self.reported, self.warned_not_cached = PATIENCE, 0.0, False, False

    def begin(self, module: str) -> None:
        """A kernel of this module is being compiled, and no other: numba has a lock."""
        self.started = time.monotonic()
        self.timer = Timer(max(0.0, self.left), self.report, (module.removeprefix("numeric."),))
        self.timer.daemon = True
        self.timer.start()

    def end(self) -> None:
        """It is compiled."""
        self.timer.cancel()
        self.left -= time.monotonic() - self.started

    def report(self, what: str) -> None:
        """Say what is being compiled, unless that was said."""
        if not self.reported:
            self.reported = True
            _LOG.warning(
                "numeric: compiling %s and what it needs, each once per installation: some 10 to 15 s",
                what,
            )

    def warn_not_cached(self, reason: str) -> None:
        """Say that what other processes could use is not kept, unless that was said."""
        if not self.warned_not_cached:
            self.warned_not_cached = True
            way_out = "set NUMBA_CACHE_DIR to a folder that can be written to"
            _LOG.warning("numeric: compiled kernels are not kept, %s; %s", reason, way_out)


_notice = CompilationNotice()


def digest(*modules: ModuleType) -> str:
    """Digest of the sources of `modules`.

    numba's key for a kernel cached on disk holds the kernel's own source file and the types of its arguments, a default one with its
    value, but no callee in another file: a kernel with the digest of those files as a default is never taken for one compiled from
    others.
    """
    return hashlib.sha256("".join(map(inspect.getsource, modules)).encode()).hexdigest()


def over_blocks(kernel: Callable[[int, int], None], blocks: int) -> None:
    """Run `kernel(first, last)` over all blocks, shared out among the cores; each block writes to a place of its own.

    Threads of our own, as those of numba wait actively and slow each other down on a busy machine. Blocks may take unequal time:
    each thread takes the next few when it is done.
    """
    threads = min(cores(), blocks)
    shares = min(SHARES * threads, blocks) if threads > 1 else 1
    todo = iter(list(pairwise(blocks * k // shares for k in range(shares + 1))))

    def work() -> None:
        for first, last in todo:
            kernel(first, last)

    others = [_pool().submit(work) for _ in range(threads - 1)]
    try:
        work()
        for other in others:
            other.result()
    finally:
        for _ in todo:  # an interrupt leaves some, which nobody needs
            pass


def cores() -> int:
    """Cores this process may use, or as many as NUMBA_NUM_THREADS says."""
    return int(os.environ.get("NUMBA_NUM_THREADS", len(os.sched_getaffinity(0))))


@lru_cache(maxsize=1)
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(max(1, cores() - 1))
