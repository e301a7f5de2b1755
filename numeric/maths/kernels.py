"""Compilation, disk cache and threads of compiled kernels.

The first command waits for compilation. Its time grows with the size of the code and the number of
argument types. Kernels therefore

- count no references and allocate no arrays: outputs are arguments;
- assign element by element: the assignment of a slice compiles an error message for shapes that do
  not match, which takes longer than the loop;
- are called from few places: the code of callees is compiled again for each caller.
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

SHARES = 8  # parts of the work per thread, for load balance at low overhead
PATIENCE = 2.0  # seconds of compilation before a message is logged
LONGEST = 60.0  # seconds to wait for another process that compiles the same kernel

F = TypeVar("F", bound=Callable[..., Any])
_njit: Any = njit  # its type hints lack most options
_BARE: dict[str, Any] = {"error_model": "numpy", "_nrt": False, "no_cfunc_wrapper": True}


def entry(function: F, **options: Any) -> F:
    """Decorate a kernel called from Python, with a disk cache.

    Args:
        function: kernel; the default of its last argument is the `digest` of the modules it calls.
        **options: options of numba.njit.
    """
    kernel = _njit(function, **_BARE, nogil=True, **options)
    kernel._cache = KernelCache(function)
    return kernel


def inner(function: F, **options: Any) -> F:
    """Decorate a kernel called from kernels; called from Python, it runs uncompiled.

    Args:
        function: kernel that calls kernels and functions of its own module.
        **options: options of numba.njit.
    """
    compiled = _njit(
        _calling_kernels(function, options), **_BARE, no_cpython_wrapper=True, **options
    )
    return cast(F, Inner(function, compiled))


def _calling_kernels(function: Callable[..., Any], options: dict[str, Any]) -> Callable[..., Any]:
    """Replace the functions of the same module that a function calls by kernels."""
    known = function.__globals__
    called = {name: known.get(name) for name in function.__code__.co_names}
    kernels = {
        name: inner(one, **options)
        for name, one in called.items()
        if isinstance(one, FunctionType) and one.__module__ == function.__module__
    }
    if not kernels:
        return function
    return FunctionType(function.__code__, known | kernels, function.__name__)


class Inner:
    """Function with its compiled version, which compiled callers use."""

    def __init__(self, function: Callable[..., Any], compiled: Any) -> None:
        self.py_func, self.compiled, self.targetoptions = function, compiled, compiled.targetoptions

    def __call__(self, *arguments: Any) -> Any:
        """Call the Python function; the compiled version has no wrapper for Python."""
        return self.py_func(*arguments)


@typeof_impl.register(Inner)
def _type_of_inner(kernel: Inner, _: Any) -> Any:
    return types.Dispatcher(kernel.compiled)


#: Errors from cache files with moved types, incomplete files and files of other users.
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
    """Disk cache of one kernel, by numba.

    A kernel that is not cached is compiled and cached, if a folder is writable. One process
    compiles and holds a lock; other processes, such as the workers of a sweep, wait for it.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        try:
            super().__init__(function)
        except RuntimeError:  # numba finds no folder
            self._cache_path = None
            self.disable()
        self._lock: Any = None  # held while this process compiles

    @property
    def folder(self) -> Path | None:
        """Folder of the cache, given by NUMBA_CACHE_DIR, next to the code, or of the user.

        None if no folder is writable.
        """
        return Path(self._cache_path) if self._enabled else None

    def load_overload(self, signature: Any, context: Any) -> Any:
        """Return the kernel compiled for these types, or None if numba must compile it.

        Args:
            signature: types of the arguments.
            context: target context of numba.
        """
        found = self._read(signature, context)
        if found is None:
            _notice.begin(self._py_func.__module__)
            if not self._enabled:
                _notice.warn_not_cached("neither the folder of the code nor yours is writable")
            elif (found := self._wait_or_lock(signature, context)) is not None:
                self._release_lock()
                _notice.end()
        return found

    def _read(self, signature: Any, context: Any) -> Any:
        """Return the cached kernel, or None if there is none or it is unreadable."""
        try:
            return super().load_overload(signature, context)
        except _UNREADABLE:
            with suppress(OSError):  # the folder is not writable
                self.flush()
            return None

    def _wait_or_lock(self, signature: Any, context: Any) -> Any:
        """Return the kernel compiled by another process, or None with the lock held."""
        from filelock import FileLock  # slow to import and not needed for cached kernels

        name = f".{self._py_func.__module__.rpartition('.')[2]}.{self._py_func.__qualname__}.lock"
        # A lock cannot be used after a fork: each compilation has a new one.
        self._lock = FileLock(Path(self._cache_path) / name, timeout=LONGEST)
        with suppress(OSError, NotImplementedError):  # no file, locks not supported, or a timeout
            self._lock.acquire()
        return self._read(signature, context)

    def _release_lock(self) -> None:
        """Release the lock if it is held."""
        if self._lock is not None:
            self._lock.release()
            self._lock = None

    def compiled(self) -> int:
        """Return the number of signatures cached for the current sources and this processor."""
        try:
            index = self._cache_file._load_index() if self._enabled else {}
        except _UNREADABLE:
            return 0
        machine = cpu_target.target_context.codegen().magic_tuple()
        sources = (self._py_func.__defaults__ or ("",))[-1]
        return sum(
            key[1] == machine and getattr(key[0][-1], "value", sources) == sources for key in index
        )

    def save_overload(self, signature: Any, compiled: Any) -> None:
        """Cache a compiled kernel for other processes, if the disk is writable.

        Args:
            signature: types of the arguments.
            compiled: result of the compilation.
        """
        _notice.end()
        try:
            super().save_overload(signature, compiled)
        except _UNREADABLE as error:
            _notice.warn_not_cached(f"{self.folder} is not writable ({error})")
        self._release_lock()


class CompilationNotice:
    """Log messages about compilation: one if it takes long, one if the result is not cached."""

    def __init__(self) -> None:
        self.left, self.started, self.reported, self.warned_not_cached = PATIENCE, 0.0, False, False

    def begin(self, module: str) -> None:
        """Start the timer for a kernel of a module; numba compiles one kernel at a time."""
        self.started = time.monotonic()
        self.timer = Timer(max(0.0, self.left), self.report, (module.removeprefix("numeric."),))
        self.timer.daemon = True
        self.timer.start()

    def end(self) -> None:
        """Stop the timer after compilation."""
        self.timer.cancel()
        self.left -= time.monotonic() - self.started

    def report(self, what: str) -> None:
        """Log what is compiled, once."""
        if not self.reported:
            self.reported = True
            cost = "once per installation, about 10 to 15 s"
            _LOG.warning("numeric: compiling %s and its dependencies, %s", what, cost)

    def warn_not_cached(self, reason: str) -> None:
        """Log that compiled kernels are not cached, once."""
        if not self.warned_not_cached:
            self.warned_not_cached = True
            way_out = "set NUMBA_CACHE_DIR to a writable folder"
            _LOG.warning("numeric: compiled kernels are not cached, %s; %s", reason, way_out)


_notice = CompilationNotice()


def digest(*modules: ModuleType) -> str:
    """Return a digest of the sources of modules.

    The cache key of numba contains the source file of the kernel and the types of its arguments,
    with values of defaults, but not its callees in other files. The digest of these files as a
    default argument invalidates a kernel when they change.
    """
    return hashlib.sha256("".join(map(inspect.getsource, modules)).encode()).hexdigest()


def over_blocks(kernel: Callable[[int, int], None], blocks: int) -> None:
    """Run a kernel over all blocks in parallel.

    These threads are not those of numba, which wait actively and slow each other down on a busy
    machine. Each thread takes the next blocks when it is idle, because blocks may differ in cost.

    Args:
        kernel: function of the first block and the end of a range; blocks write to disjoint places.
        blocks: number of blocks.
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
        for _ in todo:  # after an interrupt, discard the remaining blocks
            pass


def cores() -> int:
    """Return the number of cores of this process, or NUMBA_NUM_THREADS if it is set."""
    return int(os.environ.get("NUMBA_NUM_THREADS", len(os.sched_getaffinity(0))))


@lru_cache(maxsize=1)
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(max(1, cores() - 1))
