"""Several processes that do the same work on the same port, watched by the one that started them."""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
import time
import traceback
import warnings
from typing import TYPE_CHECKING

from lookup.errors import FailureError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from types import FrameType

METRICS_VARIABLE = "PROMETHEUS_MULTIPROC_DIR"
"""Where workers count together: the name is prometheus_client's, which reads it when imported."""

SHORTEST_LIFE = 2.0
"""Seconds. Workers that live no longer are not started again for ever."""

MOST_FAILURES = 5
SIGNALS = (signal.SIGINT, signal.SIGTERM)
_POLL = 0.05

log = logging.getLogger("lookup.service")


class Stop:
    """Whether a signal told this process to stop.

    It is noted, and nothing raised: an exception that may come anywhere may be lost, as in the callback
    of a weak reference, and the process would go on for ever.
    """

    def __init__(self) -> None:
        self.is_asked = False

    def __call__(self, _signal: int, _frame: FrameType | None) -> None:
        """The handler."""
        self.is_asked = True


STOP = Stop()


def supervise(
    work: Callable[[], None], workers: int, stop_seconds: float, started: Callable[[], object]
) -> None:
    """Do `work` in so many processes until Ctrl-C or SIGTERM; one that dies is started again.

    `work` has to look at `STOP` once it follows signals by itself. `started` is called once all of them
    are. Each worker ends by itself when it is sent SIGTERM, or is killed after `stop_seconds` and
    some more.

    Raises:
        FailureError: workers die as soon as they are started.
    """
    Supervisor(work, workers, stop_seconds).run(started)


class Supervisor:
    """The process that starts workers, and does nothing else."""

    def __init__(self, work: Callable[[], None], workers: int, stop_seconds: float) -> None:
        self._work = work
        self._workers = workers
        self._stop_seconds = stop_seconds
        self._started: dict[int, float] = {}  # when, by process number
        self._alive = os.pipe()  # nothing is written: it ends when this process does
        self._failures = 0
        self._stopping = False

    def run(self, started: Callable[[], object]) -> None:
        """Keep the workers running, until a signal ends it."""
        before = {one: signal.signal(one, self._stop) for one in SIGNALS}
        self._stopping = STOP.is_asked
        try:
            self._start_missing()
            started()
            while not self._stopping:
                self._start_missing()
                self._reap()
                if self._failures > MOST_FAILURES:
                    raise FailureError(f"{self._failures} workers in a row ended as soon as they began")
                time.sleep(_POLL)
        finally:
            self._end()
            for end in self._alive:
                os.close(end)
            for one, handler in before.items():
                signal.signal(one, handler)

    def _stop(self, _signal: int, _frame: FrameType | None) -> None:
        self._stopping = True

    def _start_missing(self) -> None:
        while len(self._started) < self._workers and not self._stopping:
            self._start()

    def _start(self) -> None:
        # A signal that comes now waits until whoever gets it can follow it.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
        with warnings.catch_warnings():
            # numpy has threads of its own that wait for work: safe to leave behind, but warned of.
            warnings.simplefilter("ignore", DeprecationWarning)
            process = os.fork()
        if process == 0:
            self._be_a_worker(before)
        self._started[process] = time.monotonic()
        signal.pthread_sigmask(signal.SIG_SETMASK, before)

    def _be_a_worker(self, mask: Iterable[int]) -> None:
        code = 1
        try:
            os.close(self._alive[1])
            threading.Thread(target=self._end_with_parent, daemon=True).start()
            for one in SIGNALS:
                signal.signal(one, STOP)
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
            self._work()
            code = 0
        except BaseException:  # noqa: BLE001 - nothing may run on in the parent's place
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)

    def _end_with_parent(self) -> None:
        """In a worker: wait until the parent is gone, however it ended, and go too."""
        os.read(self._alive[0], 1)
        os.kill(os.getpid(), signal.SIGTERM)

    def _reap(self) -> None:
        """Forget workers that have ended; whether they were failures is told by how long they lived."""
        from prometheus_client.multiprocess import mark_process_dead  # not before it is settled where

        for process, begin in list(self._started.items()):
            ended, status = os.waitpid(process, os.WNOHANG)
            if not ended:
                continue
            del self._started[process]
            mark_process_dead(process)  # type: ignore[no-untyped-call]  # it has no types
            lived = time.monotonic() - begin
            self._failures = self._failures + 1 if lived < SHORTEST_LIFE else 0
            if not self._stopping:
                log.warning(
                    "worker %d ended with %d after %.1f s",
                    process,
                    os.waitstatus_to_exitcode(status),
                    lived,
                )

    def _end(self) -> None:
        for process in self._started:
            os.kill(process, signal.SIGTERM)
        deadline = time.monotonic() + self._stop_seconds + 1
        while self._started and time.monotonic() < deadline:
            self._reap()
            time.sleep(_POLL)
        for process in self._started:
            os.kill(process, signal.SIGKILL)
            os.waitpid(process, 0)
