"""What compiled kernels share: a digest of what they were compiled from, and threads that run them side by side."""

import hashlib
import inspect
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from itertools import pairwise
from types import ModuleType


def digest(*modules: ModuleType) -> str:
    """Digest of the sources of `modules`.

    numba's key for a kernel cached on disk holds the kernel's own source file and its closure, but no callee in another file: a
    kernel that closes over the digest of those files is never taken for one compiled from others.
    """
    return hashlib.sha256("".join(map(inspect.getsource, modules)).encode()).hexdigest()


def over_blocks(kernel: Callable[[int, int], None], blocks: int) -> None:
    """Run `kernel(first, last)` over all blocks, shared out among the cores; each block writes to a place of its own.

    Threads of our own, as those of numba wait actively and slow each other down on a busy machine.
    """
    threads = min(cores(), blocks)
    bounds = [blocks * k // threads for k in range(threads + 1)]
    pieces = [_pool().submit(kernel, first, last) for first, last in pairwise(bounds[1:])]
    kernel(bounds[0], bounds[1])
    for piece in pieces:
        piece.result()


def cores() -> int:
    """Cores this process may use, or as many as NUMBA_NUM_THREADS says."""
    return int(os.environ.get("NUMBA_NUM_THREADS", len(os.sched_getaffinity(0))))


@lru_cache(maxsize=1)
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(max(1, cores() - 1))
