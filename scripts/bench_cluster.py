"""The section `cluster` of `bench.py`: a build on one and on two workers, and a model of larger ones.

Tactics 5x6 is solved by workers of a Dask cluster on this machine. What its tasks take is also measured
one by one, without Dask, and what Dask adds to a task on a smaller board: from these the model
(`cluster_model.py`) must predict both runs. Then the fullest shards of 7x6 are solved for real, and the
model predicts the rest of it.
"""

from __future__ import annotations

import json
import tempfile
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from bench_measure import Row, run, timed
from cluster_model import Cluster, TaskCosts, TaskRecord, shard_graph, simulate
from cluster_sample import sampled
from cluster_tables import builds, cuts

from builder.cluster.engine import ClusterOptions, TaskRunner, connected
from builder.cluster.shards import ShardsJob
from builder.cluster.store import Store
from builder.compile import Engine
from builder.executor import execute
from builder.solvers.mask import BitsPlan
from lookup.games.tactics import Tactics
from lookup.progress import Progress

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bench_measure import Line, Workshop
    from cluster_model import Prediction

    from builder.cluster.tasks import Done

GAME, SHARD_CELLS = Tactics(5, 6), 24
SMALL, SMALL_CELLS = Tactics(2, 13), 20
LARGE, LARGE_CELLS = Tactics(7, 6), 27
SAMPLE_BITS = 6  # leading cells of 7x6 that the sampled shards may have empty
REMEMBERS = 512 << 20  # bytes of a task, with room for all shards that were read; with 0 there is none
LINK, STORE, TASKS, LATENCY = 125e6, 10e9, 1000.0, 0.0
"""What is assumed of the cluster that builds 7x6: bytes a second of a worker's link and of the whole
store, tasks a second of the scheduler, seconds before a request is answered."""

MB = 1e6
SAMPLE = "import sys, bench_cluster; bench_cluster.sample(*sys.argv[1:])"


class Measured(NamedTuple):
    """A run on a cluster: how long it took, and how each task went."""

    seconds: float
    tasks: list[Done]

    @property
    def overhead(self) -> float:
        """Seconds a task in which its worker waited, if there was one."""
        return (self.seconds - sum(task.seconds for task in self.tasks)) / len(self.tasks)


def cluster_section(shop: Workshop) -> Iterator[Line]:  # noqa: ARG001 - as all sections
    """Runs of one and two workers against each other and the model; then the model alone."""
    (small, one), (_, two) = (_run(workers, 0) for workers in (1, 2))
    (_, quick), (_, quicker) = (_run(workers, REMEMBERS) for workers in (1, 2))
    graph = shard_graph(GAME, SHARD_CELLS)
    costs = replace(_sampled(GAME, SHARD_CELLS, 0), overhead=small.overhead)
    models = [simulate(graph, costs, Cluster(workers)) for workers in (1, 2)]
    name = f"solve {GAME.table_name}"
    _, here = timed(lambda: execute(BitsPlan(GAME, Engine.NUMBA), workers=1))
    yield Row(f"{name}, 1 worker", "one thread, no cluster", one.seconds, here, "s")
    yield Row(f"{name}, 2 workers", "1 worker", two.seconds, one.seconds, "s")
    spare = "no room to remember shards"
    yield Row(f"{name}, 1 worker that remembers shards", spare, quick.seconds, one.seconds, "s")
    yield Row(f"{name}, 2 workers that remember shards", spare, quicker.seconds, two.seconds, "s")
    for count, measured, model in zip((1, 2), (one, two), models, strict=True):
        yield from _against_model(f"{name}, {count} worker{'s' * (count > 1)}", measured, model)
    yield from _traffic(name, one)
    sampled = _sampled(LARGE, LARGE_CELLS, SAMPLE_BITS)
    yield from _predictions(replace(sampled, overhead=small.overhead))


def _against_model(name: str, run: Measured, model: Prediction) -> Iterator[Row]:
    yield Row(name, "the model", run.seconds, model.seconds, "s")
    peak = max(task.peak for task in run.tasks)
    yield Row(f"{name}, memory of a worker", "the model", peak / MB, model.task_bytes / MB, "MB")
    moved = sum(task.read + task.written for task in run.tasks)
    yield Row(f"{name}, bytes moved", "the model", moved / MB, model.moved_bytes / MB, "MB")


def _traffic(name: str, run: Measured) -> Iterator[Row]:
    """What moves for each shard, against its own bytes."""
    count, shard = len(run.tasks), 2**SHARD_CELLS / 8 / MB
    of_a_shard = f"a shard's bytes, {count} tasks"
    read, written = (
        sum(sizes) / count / MB for sizes in zip(*((t.read, t.written) for t in run.tasks), strict=True)
    )
    yield Row(f"{name}, read by a task", of_a_shard, read, shard, "MB")
    yield Row(f"{name}, written by a task", of_a_shard, written, shard, "MB")


def _predictions(costs: TaskCosts) -> Iterator[Line]:
    """7x6, cut in several ways, and on several numbers of workers."""
    cluster = Cluster(1, LINK, STORE, TASKS, LATENCY)
    yield from cuts(LARGE, costs, cluster)
    yield from builds(shard_graph(LARGE, LARGE_CELLS), costs, cluster)


def _run(workers: int, memory: int) -> tuple[Measured, Measured]:
    """Builds of a small board and of 5x6 on so many workers; a task may take so many bytes."""
    with connected(ClusterOptions(workers=workers)) as cluster:

        def measured(game: Tactics, cells: int) -> Measured:
            with _store() as store:
                runner = TaskRunner(cluster.client, game, store, "")
                job = ShardsJob(game, Engine.NUMBA, 1 << cells, memory)
                _, took = timed(lambda: runner.run(job, Progress.silent()))
                return Measured(took, list(runner.finished.values()))

        measured(SMALL, SMALL_CELLS)  # compiles
        return measured(SMALL, SMALL_CELLS), measured(GAME, SHARD_CELLS)


def _sampled(game: Tactics, cells: int, bits: int) -> TaskCosts:
    """What tasks of a board take: all, or those that may have some leading cells empty.

    In a process of its own, whose memory shows what they take.
    """
    said = json.loads(run("-c", SAMPLE, str(game.rows), str(game.cols), str(cells), str(bits)))
    records = [TaskRecord(*one) for one in said]
    return TaskCosts.fitted(records, f"{len(records)} tasks of {game.table_name}, 2^{cells}")


def sample(rows: str, cols: str, cells: str, bits: str) -> None:
    """Print the records of these tasks, as JSON."""
    game = Tactics(int(rows), int(cols))
    graph = shard_graph(game, int(cells))
    number = graph.shards - 1 & -1 << int(bits) if int(bits) else 0
    with _store() as store:
        print(json.dumps(list(sampled(game, graph, number, store, Engine.NUMBA))))


@contextmanager
def _store() -> Iterator[Store]:
    with tempfile.TemporaryDirectory() as folder:
        yield Store(folder, "bench")
