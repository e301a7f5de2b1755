"""What compiled kernels share: a digest of what they were compiled from, and threads that run them side by side."""

import hashlib
import inspect
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from itertools import pairwise
from types import ModuleType

SHARES = 8  # of the work per thread: few enough that handing them out costs nothing, many enough that none waits long


def digest(*modules: ModuleType) -> str:
    """Digest of the sources of `modules`.

    numba's key for a kernel cached on disk holds the kernel's own source file and its closure, but no callee in another file: a
    kernel that closes over the digest of those files is never taken for one compiled from others.
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
