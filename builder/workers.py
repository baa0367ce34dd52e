"""Threads that share the work of writing or checking a table, and what they report.

Kernels, digests and decompression all let go of the interpreter's lock.
"""

from __future__ import annotations

import os
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Self, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from lookup.progress import Report

T = TypeVar("T")

_AHEAD = 4  # calls that wait for each thread: enough to keep it busy


class Workers:
    """One thread for each core, until the block ends."""

    def __init__(self) -> None:
        self.count = cores()
        self._pool = ThreadPoolExecutor(self.count)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.shutdown()

    def in_order(self, work: Callable[..., T], calls: Iterable[tuple[Any, ...]]) -> Iterator[T]:
        """The results of calls with these arguments, in their order.

        Only a few calls are under way at a time, so that a million of them take no memory.
        """
        waiting: deque[Future[T]] = deque()
        try:
            for arguments in calls:
                waiting.append(self._pool.submit(work, *arguments))
                if len(waiting) > _AHEAD * self.count:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for call in waiting:
                call.cancel()


def cores() -> int:
    """How many threads `Workers` has."""
    return os.cpu_count() or 1


class Steps:
    """The steps of several stages, reported as those of one."""

    def __init__(self, report: Report, total: int) -> None:
        self._report, self._done, self._total = report, 0, total

    def add(self, count: int) -> None:
        """So many more are done."""
        self._done += count
        self._report(self._done, self._total)
