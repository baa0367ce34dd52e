"""What `cluster_model.py` steps through: the events of a build on a cluster, one after the other.

Tasks are numbered as shards are, by the leading cells that are filled. They are handed out one after
the other; then each waits for a fixed time, reads, computes and writes. Whoever reads or writes shares
the store: all go at one pace, that of a link or an equal part of what the store gives. So one number,
the bytes that went through a connection that has always been open, does for all: whoever opens one is
through when that number has grown by its own bytes, whatever others do. That is exact, and quick.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from builder.compile import Kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray

BEGINNING, READING, COMPUTING, WRITING, DONE = range(5)
NOW, BUSY, ALL_BUSY, AT_ONCE, FIGURES = range(5)
"""What `run_tasks` finds: the seconds that passed, those of all workers with a task, those in which no
worker was without one, and the most tasks at once."""


def push(keys: NDArray[np.float64], items: NDArray[np.int64], size: int, key: float, item: int) -> None:
    """Add to a heap of `size` items; the least key is at its root."""
    at = size
    while at and keys[at - 1 >> 1] > key:
        keys[at], items[at] = keys[at - 1 >> 1], items[at - 1 >> 1]
        at = at - 1 >> 1
    keys[at], items[at] = key, item


def pop(keys: NDArray[np.float64], items: NDArray[np.int64], size: int) -> int:
    """Take the item with the least key from a heap of `size` items."""
    first, last = items[0], size - 1
    key, item = keys[last], items[last]
    at = 0
    while 2 * at + 1 < last:
        child = 2 * at + 1
        if child + 1 < last and keys[child + 1] < keys[child]:
            child += 1
        if keys[child] >= key:
            break
        keys[at], items[at] = keys[child], items[child]
        at = child
    keys[at], items[at] = key, item
    return int(first)


@Kernel
def run_tasks(  # noqa: C901 - one loop over events; to cut it would pass twenty arrays around
    leading: int,
    waits: NDArray[np.float64],
    reads: NDArray[np.float64],
    computes: NDArray[np.float64],
    writes: NDArray[np.float64],
    workers: int,
    link: float,
    store: float,
    handing: float,
    finished: NDArray[np.float64],
    figures: NDArray[np.float64],
) -> None:
    """Run all tasks; when each is finished goes into `finished`, the rest into `figures`.

    Of each task: seconds before it reads, bytes read, seconds of computing, bytes written.
    """
    count = 1 << leading
    missing = np.zeros(count, np.int64)
    for number in range(count):
        for bit in range(leading):
            if not number >> bit & 1:
                missing[number] += 1
    phase = np.zeros(count, np.int64)
    began = np.zeros(count)
    places, ready, waiting = np.zeros(count), np.zeros(count, np.int64), 1
    ready[0] = count - 1
    # Never more in these two than workers have tasks.
    times, timed, clocked = np.zeros(workers), np.zeros(workers, np.int64), 0
    marks, moved, moving = np.zeros(workers), np.zeros(workers, np.int64), 0
    now = each = handed = busy = all_busy = 0.0  # `each`: bytes that went through every connection
    free, at_once, done = workers, 0, 0
    while done < count:
        while waiting and free:
            number = pop(places, ready, waiting)
            waiting -= 1
            free -= 1
            began[number] = now
            handed = max(handed, now) + handing
            push(times, timed, clocked, handed + waits[number], number)
            clocked += 1
        at_once = max(at_once, workers - free)
        # The next event: either a time that has come, or the last byte through a connection.
        pace, then = 0.0, np.inf
        if moving:
            pace = min(link, store / moving)
            then = now + (marks[0] - each) / pace
        if moving and (not clocked or then <= times[0]):
            each = marks[0]
            number = pop(marks, moved, moving)
            moving -= 1
        else:
            then = times[0]
            if moving:
                each += (then - now) * pace
            number = pop(times, timed, clocked)
            clocked -= 1
        if free == 0:
            all_busy += then - now
        now = then
        # On to the next phase that takes any time; computing is one even if it takes none.
        phase[number] += 1
        if phase[number] == READING and reads[number] == 0:
            phase[number] = COMPUTING
        if phase[number] == WRITING and writes[number] == 0:
            phase[number] = DONE
        if phase[number] == COMPUTING:
            push(times, timed, clocked, now + computes[number], number)
            clocked += 1
        elif phase[number] == DONE:
            done += 1
            free += 1
            finished[number] = now
            busy += now - began[number]
            for bit in range(leading):
                if number >> bit & 1:
                    other = number ^ 1 << bit
                    missing[other] -= 1
                    if missing[other] == 0:
                        # In the order of the plan: the largest number first.
                        push(places, ready, waiting, -other, other)
                        waiting += 1
        else:
            size = reads[number] if phase[number] == READING else writes[number]
            push(marks, moved, moving, each + size, number)
            moving += 1
    figures[NOW], figures[BUSY], figures[ALL_BUSY], figures[AT_ONCE] = now, busy, all_busy, at_once
