"""What compiled kernels share: how they are compiled, a digest of what they were compiled from, threads that run them side by side.

Compilation is what a first command waits for. It grows with the code and with the types of its arguments, so that kernels

- count no references, and make no array: what they write to is an argument;
- assign element by element: an assignment of a slice brings the error message for shapes that do not match, which takes longer than
  the loop;
- are called from few places, and rarely through others: each caller's code is made with that of its callees once more.
"""

import hashlib
import inspect
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from itertools import pairwise
from types import ModuleType
from typing import Any, TypeVar, cast

from numba import njit, types
from numba.extending import typeof_impl

SHARES = 8  # of the work per thread: few enough that handing them out costs nothing, many enough that none waits long

F = TypeVar("F", bound=Callable[..., Any])
_njit: Any = njit  # whose types know few of its options
_BARE: dict[str, Any] = {"error_model": "numpy", "_nrt": False, "no_cfunc_wrapper": True}


def entry(function: F, **options: Any) -> F:
    """Decorator of a kernel that Python calls, with a cache on disk; its last argument defaults to the `digest` of what it calls."""
    return _njit(function, **_BARE, cache=True, nogil=True, **options)


def inner(function: F, **options: Any) -> F:
    """Decorator of a kernel that kernels call: it is compiled without a wrapper for Python, from where it runs as Python."""
    return cast(F, Inner(function, _njit(function, **_BARE, no_cpython_wrapper=True, **options)))


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
    work()
    for other in others:
        other.result()


def cores() -> int:
    """Cores this process may use, or as many as NUMBA_NUM_THREADS says."""
    return int(os.environ.get("NUMBA_NUM_THREADS", len(os.sched_getaffinity(0))))


@lru_cache(maxsize=1)
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(max(1, cores() - 1))
