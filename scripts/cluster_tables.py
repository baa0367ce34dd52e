"""What `cluster_model.py` predicts, as lines that `bench.py` prints and keeps.

Each line says where the costs of its tasks are from: nothing assumed shall pass for measured.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

from bench_measure import figure, rounded, short
from cluster_model import least_seconds, shard_graph, simulate

if TYPE_CHECKING:
    from collections.abc import Iterable

    from cluster_model import Board, Cluster, ShardGraph, TaskCosts

WORKERS = (1, 10, 100, 1000)
SHARD_CELLS = range(22, 31)
GB, TB = 1e9, 1e12


@dataclass(frozen=True)
class Cut:
    """A board cut into shards of one size: what its tasks read and hold, and how long it takes."""

    HEAD: ClassVar[tuple[str, ...]] = (
        "costs", "positions a shard", "shards", "reads, most", "reads, mean", "memory", "read, decoded",
        "moved, stored", *(f"workers: {workers:,}" for workers in WORKERS),
    )  # fmt: skip
    WORDS: ClassVar[int] = 1

    source: str
    shard_cells: int
    shards: int
    most_reads: int
    mean_reads: float
    task_bytes: int
    decoded_bytes_read: int
    moved_bytes: float
    seconds: dict[int, float]
    """By the number of workers."""

    @property
    def cells(self) -> tuple[str, ...]:
        """The line as printed."""
        return (
            self.source,
            f"2^{self.shard_cells}",
            f"{self.shards:,}",
            str(self.most_reads),
            short(self.mean_reads),
            figure(self.task_bytes / GB, "GB"),
            figure(self.decoded_bytes_read / TB, "TB"),
            figure(self.moved_bytes / TB, "TB"),
            *(figure(self.seconds[workers], "s") for workers in WORKERS),
        )

    @property
    def fields(self) -> dict[str, Any]:
        """The line as stored."""
        times = {str(workers): seconds for workers, seconds in self.seconds.items()}
        return rounded(asdict(self)) | {"seconds": rounded(times)}


def cuts(
    board: Board, costs: TaskCosts, cluster: Cluster, shard_cells: Iterable[int] = SHARD_CELLS
) -> list[Cut]:
    """A board cut in several ways, on clusters like this one of as many workers as `WORKERS` says."""
    return [_cut(shard_graph(board, each), costs, cluster) for each in shard_cells]


def _cut(graph: ShardGraph, costs: TaskCosts, cluster: Cluster) -> Cut:
    found = {each: simulate(graph, costs, replace(cluster, workers=each)) for each in WORKERS}
    one = found[1]
    return Cut(
        costs.source,
        graph.shard_cells,
        graph.shards,
        int(graph.read_counts.max()),
        float(graph.read_counts.mean()),
        one.task_bytes,
        one.decoded_bytes_read,
        one.moved_bytes,
        {workers: prediction.seconds for workers, prediction in found.items()},
    )


@dataclass(frozen=True)
class Build:
    """A build on a number of workers."""

    HEAD: ClassVar[tuple[str, ...]] = (
        "costs", "workers", "time", "at least", "longest chain", "not all busy", "busy",
        "tasks at once", "memory", "moved", "store", "worker-hours",
    )  # fmt: skip
    WORDS: ClassVar[int] = 1

    source: str
    workers: int
    seconds: float
    least_seconds: float
    critical_seconds: float
    starved_seconds: float
    busy_share: float
    at_once: int
    task_bytes: int
    moved_bytes: float
    stored_bytes: float
    worker_hours: float

    @property
    def cells(self) -> tuple[str, ...]:
        """The line as printed."""
        times = self.seconds, self.least_seconds, self.critical_seconds, self.starved_seconds
        return (
            self.source,
            f"{self.workers:,}",
            *(figure(seconds, "s") for seconds in times),
            f"{self.busy_share:.0%}",
            f"{self.at_once:,}",
            figure(self.task_bytes / GB, "GB"),
            figure(self.moved_bytes / TB, "TB"),
            figure(self.stored_bytes / TB, "TB"),
            short(self.worker_hours),
        )

    @property
    def fields(self) -> dict[str, Any]:
        """The line as stored."""
        return rounded(asdict(self))


def builds(
    graph: ShardGraph, costs: TaskCosts, cluster: Cluster, workers: Iterable[int] = WORKERS
) -> list[Build]:
    """A build on clusters like this one of several numbers of workers."""
    lines = []
    for count in workers:
        these = replace(cluster, workers=count)
        found = simulate(graph, costs, these)
        line = Build(
            costs.source,
            count,
            found.seconds,
            least_seconds(graph, costs, these),
            found.critical_seconds,
            found.seconds - found.all_busy_seconds,
            found.busy_share,
            found.at_once,
            found.task_bytes,
            found.moved_bytes,
            found.stored_bytes,
            found.worker_hours,
        )
        lines.append(line)
    return lines
