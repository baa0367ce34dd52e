"""A Dask cluster in processes of its own, which tests and campaigns may kill.

The scheduler and the nannies of the workers are one process; each worker is another, which its nanny
starts again when it dies. All are gone when the block ends, or when whoever started them is.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import psutil

from lookup.progress import SHARDS, Progress, silent

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from lookup.progress import Report

ROOT = Path(__file__).parent.parent
SETTLED = 10  # seconds


class Settings(NamedTuple):
    """How many workers with how much memory; a module that each runs first; a port, or any.

    `failures` is how many workers a task may outlive before Dask gives it up.
    """

    workers: int = 2
    memory: str = "1GiB"
    preload: str = ""
    port: int = 0
    failures: int = 3


class ApartCluster:
    """One that runs for as long as the block lasts, unless it is killed before."""

    def __init__(
        self, settings: Settings | None = None, environment: Mapping[str, str] | None = None
    ) -> None:
        self._settings, self._environment = settings or Settings(), environment or {}

    def __enter__(self) -> Self:
        self._process = subprocess.Popen(
            [sys.executable, __file__, json.dumps(self._settings)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT), **self._environment},
            start_new_session=True,
        )
        assert self._process.stdout is not None
        self.address = self._process.stdout.readline().strip()
        if not self.address:
            raise RuntimeError("no cluster could be started")
        return self

    def __exit__(self, *_: object) -> None:
        with self._process:
            self._process.communicate()  # closes its input, which ends it
        self.kill()

    @property
    def port(self) -> int:
        """Of the scheduler."""
        return int(self.address.rpartition(":")[2])

    def workers(self) -> list[psutil.Process]:
        """The processes of workers that are up."""
        found = []
        for one in psutil.Process(self._process.pid).children():
            with suppress(psutil.NoSuchProcess):
                connections = one.net_connections("tcp4")
                if any(other.status == psutil.CONN_ESTABLISHED for other in connections):
                    found.append(one)
        return found

    def settled(self) -> list[psutil.Process]:
        """Workers that may be killed: if one dies before its nanny calls it up, the nanny gives up."""
        return [one for one in self.workers() if time.time() - one.create_time() > SETTLED]

    def kill(self) -> None:
        """Kill the scheduler and all workers at once."""
        try:
            os.killpg(self._process.pid, signal.SIGKILL)
        except ProcessLookupError:
            return
        self._process.wait()


class Hooked(Progress):
    """Progress that calls a function when a stage begins and with each shard: its kind, how many."""

    def __init__(self, hook: Callable[[str, int], None]) -> None:
        super().__init__()
        self._hook = hook

    @contextmanager
    def stage(self, name: str, unit: str = "positions") -> Iterator[Report]:
        """Tells the hook."""
        kind = name.partition(": ")[2]
        self._hook(kind, 0)
        yield (lambda done, _: self._hook(kind, done)) if unit == SHARDS else silent


def kill_one(worker: psutil.Process) -> bool:
    """Kill a worker; says whether it was still there."""
    try:
        worker.kill()
    except psutil.NoSuchProcess:
        return False
    return True


def gone(process: psutil.Process, seconds: float = 10) -> bool:
    """Whether a process ends soon; one that nobody has waited for counts as ended."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            if process.status() == psutil.STATUS_ZOMBIE:
                return True
        except psutil.NoSuchProcess:
            return True
        time.sleep(0.05)
    return False


def main() -> None:
    """Run a cluster until the input ends."""
    import dask
    from distributed import LocalCluster

    settings = Settings(*json.loads(sys.argv[1]))
    options: dict[str, Any] = {"distributed.scheduler.allowed-failures": settings.failures}
    if settings.preload:
        options["distributed.worker.preload"] = [settings.preload]
    with (
        dask.config.set(options),
        LocalCluster(
            n_workers=settings.workers,
            threads_per_worker=1,
            memory_limit=settings.memory,
            host="127.0.0.1",
            scheduler_port=settings.port,
            dashboard_address="127.0.0.1:0",
        ) as cluster,
    ):
        print(cluster.scheduler_address, flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    main()
