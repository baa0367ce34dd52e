"""Work on many chunks, shared between threads."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

_MOST_THREADS = 8  # beyond these, threads wait for the interpreter's lock more than they work
_PARALLEL = 16  # chunks that are worth the start of threads
_PIECE = 32  # chunks that a thread takes at a time


def in_threads(work: Callable[[int], object], count: int) -> None:
    """Call `work` with each number below `count`, from several threads if there are many.

    Decoding runs outside the interpreter's lock. An exception is raised again here, and work that
    has not begun is then dropped.
    """
    threads = min(os.cpu_count() or 1, _MOST_THREADS)
    if count < _PARALLEL or threads == 1:
        for number in range(count):
            work(number)
        return
    from concurrent.futures import ThreadPoolExecutor  # small tables do without it

    step = max(1, min(_PIECE, count // (4 * threads)))

    def piece(low: int) -> None:
        for number in range(low, min(low + step, count)):
            work(number)

    pool = ThreadPoolExecutor(threads)
    try:
        for _ in pool.map(piece, range(0, count, step)):
            pass
    finally:
        pool.shutdown(cancel_futures=True)
