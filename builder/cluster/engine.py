"""Tasks on Dask: handed to workers with what they need, and done again where something was lost.

The scheduler and this client know names and summaries; what a task leaves is in the store. A task
that a lost worker had finished is found there and not done again, as is all that an earlier run left.
"""

from __future__ import annotations

import asyncio
import logging
import os
import secrets
import signal
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from multiprocessing import resource_tracker
from typing import TYPE_CHECKING, NamedTuple, Self

import dask
from distributed import Client, LocalCluster, Security, as_completed
from distributed.core import rpc
from distributed.scheduler import KilledWorker

from builder.cluster.store import LAYOUT, LostObjectError
from builder.cluster.tasks import Done, Handed, TaskFailedError, code_here, run_task
from builder.limits import usable_memory
from builder.workers import cores
from lookup.disk import sized
from lookup.errors import BuildError, EndtableError, GameError, InvalidParameterError
from lookup.games.sources import said
from lookup.progress import SHARDS, silent

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from distributed import Future

    from builder.cluster.job import Summary, Task, Work
    from builder.cluster.store import Store
    from lookup.games.base import Game
    from lookup.progress import Progress, Report

PROCESS_BYTES = 240 << 20
"""What a worker takes before it does anything: Dask, numpy, and numba with what it has compiled.
Measured: 76 MiB before numba is there, 190 to 213 with one game compiled, 246 with six."""

_USED = 0.7  # of its limit a worker may take: from 0.8 on, Dask gives it no more tasks
_UNLIMITED = 4 << 30  # bytes, where a worker does not say what it has
_AHEAD = 4096  # tasks that the scheduler knows of at a time
_READERS = 16  # threads that look what is in the store
_TRIES = 3  # times that what was lost is made again, or a task run that its worker did not survive
_TIMEOUT = 10  # seconds to reach a scheduler, and for it to have a worker

_SETTINGS = {
    # A worker that is killed says nothing of the task that it ran.
    "distributed.scheduler.allowed-failures": 10,
    # Nothing of a build is worth spilling: results are summaries.
    "distributed.worker.memory.spill": False,
    "distributed.worker.memory.target": False,
}
_SILENT = logging.CRITICAL + 1
_LOGGERS = ("distributed", "tornado", "bokeh", "asyncio")


class ClusterOptions(NamedTuple):
    """Where a build runs: on the workers of a scheduler, or on so many of its own on this machine.

    `store` is a folder or a URL. `command` is what the user typed, to go on after a failure.
    """

    scheduler: str | None = None
    store: str | None = None
    workers: int | None = None
    command: str = ""


class Cluster(NamedTuple):
    """A cluster that is there, how many tasks it runs at once, and the memory that each may take."""

    client: Client
    tasks: int
    memory: int

    def __str__(self) -> str:
        at_once = f"{self.tasks} tasks at a time, each with {sized(max(0, self.memory))} of memory"
        return f"{at_once}; dashboard: {self.client.dashboard_link}"

    def require(self, store: Store) -> None:
        """Have every worker look into the store, where the layout is, and at its own code.

        Raises:
            BuildError: one does not see what is there, or has other code.
        """
        for address, problem in self.client.run(
            _trouble, store, code_here(), on_error="return"
        ).items():
            if isinstance(problem, Exception):
                raise BuildError(
                    f"worker {address} cannot be used: {said(problem)}; expected {code_here()} there"
                )
            if problem:
                raise BuildError(f"worker {address} cannot be used: {problem}")


def _trouble(store: Store, code: str) -> str:
    """Why a worker cannot work; nothing if it can."""
    if code != code_here():
        return f"it has {code_here()}; expected {code}, as here"
    try:
        store.summary(LAYOUT)
    except EndtableError as error:
        expected = "expected a folder that all workers share, or object storage, named by --store"
        return f"it does not see the store: {error}; {expected}"
    return ""


@contextmanager
def connected(options: ClusterOptions, max_memory: int | None = None) -> Iterator[Cluster]:
    """The cluster of a scheduler, or one of this machine for as long as the block lasts.

    Raises:
        InvalidParameterError: there is no scheduler at that address.
        BuildError: it has no workers, or there can be none here.
    """
    with dask.config.set(_SETTINGS), _quiet(), ExitStack() as stack:
        if options.scheduler is None:
            count = options.workers or cores()
            memory = (max_memory or usable_memory()) // count
            try:
                with _signals_waiting():
                    cluster = LocalCluster(
                        n_workers=count,
                        threads_per_worker=1,
                        memory_limit=memory,
                        host="127.0.0.1",
                        dashboard_address="127.0.0.1:0",
                        silence_logs=_SILENT,
                    )
                    stack.enter_context(cluster)
                client = stack.enter_context(Client(cluster))
            except Exception as error:  # noqa: BLE001 - whatever Dask raises
                raise BuildError(f"no cluster can be started here: {said(error)}") from None
        else:
            try:
                asyncio.run(asyncio.wait_for(_require_scheduler(options.scheduler), _TIMEOUT))
                client = stack.enter_context(Client(options.scheduler, timeout=_TIMEOUT))
            except Exception as error:  # noqa: BLE001 - whatever Dask raises, and whoever answers there
                expected = f"the address of a Dask scheduler, as in tcp://host:8786 ({said(error)})"
                raise InvalidParameterError("scheduler", options.scheduler, expected) from None
        yield _measured(client)


async def _require_scheduler(address: str) -> None:
    """Look who is at an address: Dask's client would wait for ever for one who says nothing."""
    async with rpc(address, connection_args=Security().get_connection_args("client")) as other:
        kind = (await other.identity())["type"]
    if kind in ("Worker", "Nanny"):
        raise ValueError(f"a {kind} is there")


@contextmanager
def _signals_waiting() -> Iterator[None]:
    """SIGINT and SIGTERM come when the block ends: half a cluster cannot be closed in order.

    Threads and processes that are started inside never see SIGINT. Ctrl-C reaches all processes of a
    terminal, and workers leave it to us.
    """
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    resource_tracker.ensure_running()  # whoever starts it lets SIGINT in again
    terminated: list[int] = []
    ours = threading.current_thread() is threading.main_thread()
    if ours:
        before = signal.signal(signal.SIGTERM, lambda number, _: terminated.append(number))
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        if ours:
            signal.signal(signal.SIGTERM, before)
        for number in terminated:
            os.kill(os.getpid(), number)
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)


@contextmanager
def _quiet() -> Iterator[None]:
    """What fails is told by us, in one sentence; Dask would print a traceback for each worker."""
    # Its loggers have levels of their own, which follow its settings only when it is imported.
    loggers = [
        logging.getLogger(name)
        for name in (*_LOGGERS, *logging.root.manager.loggerDict)
        if name.partition(".")[0] in _LOGGERS
    ]
    before = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(_SILENT)
    try:
        yield
    finally:
        for logger, level in zip(loggers, before, strict=True):
            logger.setLevel(level)


def _measured(client: Client) -> Cluster:
    """What the workers have: of memory, the least of any."""
    try:
        client.wait_for_workers(1, timeout=_TIMEOUT)
    except TimeoutError:
        raise BuildError(f"the scheduler at {client.scheduler.address} has no workers") from None
    known = client.scheduler_info(n_workers=-1)["workers"].values()
    limits = [(one["memory_limit"] or _UNLIMITED) / one["nthreads"] for one in known]
    tasks = sum(one["nthreads"] for one in known)
    return Cluster(client, tasks, int(_USED * min(limits)) - PROCESS_BYTES)


class _Lost(NamedTuple):
    """An object that must be made before others, and why; perhaps its task's workers died."""

    name: str
    problem: str
    died: bool = False


class TaskRunner:
    """Runs the work of one build on a cluster, and remembers how each task went."""

    def __init__(self, client: Client, game: Game, store: Store, command: str) -> None:
        self._client, self._game, self._store, self._command = client, game, store, command
        self.finished: dict[str, Done] = {}
        self._tasks: dict[str, tuple[Handed, Task]] = {}
        self._tries: dict[str, int] = {}

    def run(self, work: Work, progress: Progress) -> dict[str, Summary]:
        """Run all stages of some work; returns the summaries of all tasks.

        Raises:
            BuildError: a task failed, or the cluster is gone; what is finished stays in the store.
            GameError: a rule breaks the contract.
        """
        done: dict[str, Summary] = {}
        with _Shown(self._game.table_name, progress) as shown:
            for tasks in work.stages(done):
                handed = Handed.of(work, self._game)
                self._tasks.update((task.name, (handed, task)) for task in tasks)
                self._take_finished(tasks)
                self._run_stage(tasks, shown.stage(tasks))
                done.update((task.name, self.finished[task.name].summary) for task in tasks)
        return done

    def lose(self, name: str, problem: str) -> None:
        """Have an object made again that is missing or damaged, or whose worker did not survive it.

        Raises:
            BuildError: it was, a few times.
        """
        self._tries[name] = self._tries.get(name, 0) + 1
        if self._tries[name] > _TRIES or name not in self._tasks:
            raise self._stopped(f"shard '{name}' failed again and again: {problem}")
        self._store.remove(name)
        self.finished.pop(name, None)

    def _run_stage(self, tasks: Sequence[Task], report: Report) -> None:
        """Run what is left of some tasks; what turns out to be lost is made again before all else.

        A task may read more than it names as its needs: all that these need too.
        """
        while left := [task for task in tasks if task.name not in self.finished]:
            lost = self._run_once(left, len(tasks), report)
            made = {task.name for task in left}  # or still to be made: whoever missed it was early
            again = {one.name for one in lost if one.name not in made}
            for one in lost:
                if one.died or one.name in again:
                    self.lose(one.name, one.problem)
            if again:  # in the order in which they came
                earlier = [task for name, (_, task) in self._tasks.items() if name in again]
                self._run_stage(earlier, silent)

    def _take_finished(self, tasks: Sequence[Task]) -> None:
        """Find what an earlier run has left of some tasks."""
        stored = {
            name
            for under in {task.name.partition("/")[0] for task in tasks}
            for name in self._store.names(under)
        }
        stored -= self.finished.keys()
        there = [task.name for task in tasks if task.name in stored]

        def summary(name: str) -> Done | None:
            try:
                return Done(self._store.summary(name))
            except LostObjectError:
                self._store.remove(name)
                return None

        with ThreadPoolExecutor(_READERS) as pool:
            found = zip(there, pool.map(summary, there), strict=True)
            self.finished.update((name, one) for name, one in found if one is not None)

    def _run_once(self, tasks: Sequence[Task], total: int, report: Report) -> list[_Lost]:
        """Run tasks whose needs are among them or finished; returns what was lost, and why.

        In the order of the list, of which the scheduler is told only so many tasks at a time.
        """
        try:
            return self._run_listed(tasks, total, report)
        except EndtableError:
            raise
        except OSError:  # as what Dask says of a connection that was lost
            raise self._stopped("the scheduler is gone") from None
        except Exception as error:  # noqa: BLE001 - whatever Dask raises
            raise self._stopped(f"the cluster failed: {said(error)}") from None

    def _run_listed(self, tasks: Sequence[Task], total: int, report: Report) -> list[_Lost]:
        waiting, token = iter(enumerate(tasks)), secrets.token_hex(4)
        running: dict[Future, Task] = {}
        known: dict[str, Future] = {}
        lost: dict[str, _Lost] = {}
        left = len(tasks)
        report(total - left, total)
        with self._client.as_current():
            ready = as_completed(raise_errors=False)
            try:
                while True:
                    while len(running) < _AHEAD and not lost and (more := next(waiting, None)):
                        place, task = more
                        needs = [known[need] for need in task.needs if need in known]
                        future = self._client.submit(
                            run_task, self._tasks[task.name][0], task, self._store, *needs,
                            key=(task.name.partition("/")[0], token, place), priority=-place,
                        )  # fmt: skip
                        known[task.name] = future
                        running[future] = task
                        ready.add(future)
                    if not running:
                        return list(lost.values())
                    future = next(ready)
                    status = future.status
                    if status in ("pending", "lost"):  # its worker died since: it is run again
                        ready.add(future)
                        continue
                    task = running.pop(future)
                    del known[task.name]
                    if status == "finished":
                        self.finished[task.name] = future.result()
                        left -= 1
                        report(total - left, total)
                    else:
                        one = self._lost(future, task, tasks)
                        lost[one.name] = one
            finally:
                with suppress(Exception):  # the scheduler may be gone
                    self._client.cancel(list(running))

    def _lost(self, future: Future, task: Task, tasks: Sequence[Task]) -> _Lost:
        """What must be done before a task can be, and why; raises if it failed for another reason."""
        if future.status == "cancelled":
            raise self._stopped("the scheduler is gone")
        error = future.exception()
        if isinstance(error, TaskFailedError):
            if error.lost:
                return _Lost(error.lost, error.problem)
            if error.of_game:
                raise GameError(f"{error.problem} (in shard '{error.task}')")
            raise self._stopped(f"shard '{error.task}' failed: {error.problem}")
        if isinstance(error, KilledWorker):
            # The key of the task, which may be one that this task needs, ends with its place.
            died = tasks[error.task[-1]].name if isinstance(error.task, tuple) else task.name
            last = error.last_worker.address
            problem = f"workers died while they ran it, {last} the last; perhaps memory was short"
            return _Lost(died, problem, died=True)
        raise self._stopped(f"shard '{task.name}' failed: {said(error)}")

    def _stopped(self, problem: str) -> BuildError:
        """What happened, what is left, and how to go on."""
        kept = f"{len(self.finished):,} finished tasks are kept in '{self._store.url}'"
        return BuildError(f"{problem}; {kept}; go on with: {self._command}")


class _Shown:
    """Progress of stages; those of one kind that follow each other are shown as one."""

    def __init__(self, table: str, progress: Progress) -> None:
        self._table, self._progress = table, progress
        self._kind, self._before = "", 0
        self._report: Report = silent
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def stage(self, tasks: Sequence[Task]) -> Report:
        """What to tell of a stage."""
        kind = tasks[0].name.partition("/")[0].partition("-")[0] if tasks else self._kind
        if kind != self._kind:
            self._stack.close()
            self._kind, self._before = kind, 0
            self._report = self._stack.enter_context(
                self._progress.stage(f"{self._table}: {kind}", SHARDS)
            )
        report, before = self._report, self._before
        self._before += len(tasks)

        def told(done: int, total: int) -> None:
            report(before + done, before + total)

        return told
