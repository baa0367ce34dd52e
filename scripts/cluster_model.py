"""How long, and in how much memory, a cluster builds a mask game that no machine here could hold.

A shard is the positions that share their leading cells, as in `builder/solvers/mask.py`, and its number
is the set of those that are filled. On a cluster each is a task: it reads the shards that its moves
lead to, computes its own, and writes it. `shard_graph` knows from the masks of the game which these
are, `TaskCosts` what a task takes, measured or assumed by the caller, and `simulate` runs all tasks on
a `Cluster`, in the order of the plan:

    seconds of a task = its share of the scheduler + overhead + requests * latency
                      + stored bytes read / bandwidth + decoded bytes read * `read`
                      + positions * `solve` + decoded bytes written * `write`
                      + stored bytes written / bandwidth

The bandwidth is that of a worker's link, or an equal part of the store's if that is less. The model
leaves out workers that fail or are slow, what they remember of shards they read before, that the
scheduler knows of some thousand tasks at a time, and all that the client does when the tasks are done:
to put the table together, and to verify it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np
from cluster_events import ALL_BUSY, AT_ONCE, BUSY, FIGURES, NOW, run_tasks

from builder.compile import choose_engine

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from builder.compile import Engine

_BYTE_CELLS = 3


# --- the graph ------------------------------------------------------------------------------------


class Board(Protocol):
    """All that the graph depends on; every `MaskGame` is one."""

    @property
    def cells(self) -> int:
        """How many cells there are."""

    @property
    def masks(self) -> tuple[int, ...]:
        """Every move, as the mask of the cells it fills."""


@dataclass(frozen=True)
class ShardGraph:
    """The shards of a board, by number, and what each needs and reads.

    `parts` are what the game's moves fill of the leading cells, each once and never nothing.
    """

    cells: int
    shard_cells: int
    parts: tuple[int, ...]

    @property
    def leading(self) -> int:
        """How many leading cells the positions of a shard share."""
        return self.cells - self.shard_cells

    @property
    def shards(self) -> int:
        """How many there are."""
        return 1 << self.leading

    @property
    def shard_positions(self) -> int:
        """The positions of one."""
        return 1 << self.shard_cells

    @property
    def shard_bytes(self) -> int:
        """The bytes of one, decoded."""
        return self.shard_positions // 8

    def needs(self, number: int) -> tuple[int, ...]:
        """The shards that must be finished before: those with one leading cell more filled."""
        return tuple(number | 1 << bit for bit in range(self.leading) if not number >> bit & 1)

    def reads(self, number: int) -> tuple[int, ...]:
        """The shards that its moves lead to, but for itself."""
        return tuple(number | part for part in self.parts if not number & part)

    @cached_property
    def read_counts(self) -> NDArray[np.int64]:
        """How many shards each one reads."""
        numbers = np.arange(self.shards)
        counts = np.zeros(self.shards, np.int64)
        for part in self.parts:
            counts += numbers & part == 0
        return counts

    @cached_property
    def levels(self) -> list[NDArray[np.int64]]:
        """The shards with equally many leading cells filled, the full one first: none needs another."""
        filled = np.bitwise_count(np.arange(self.shards))
        return [np.flatnonzero(filled == count) for count in range(self.leading, -1, -1)]


def shard_graph(board: Board, shard_cells: int) -> ShardGraph:
    """The graph of a board cut into shards of `2 ** shard_cells` positions.

    Raises:
        ValueError: there are no such shards.
    """
    if not _BYTE_CELLS <= shard_cells <= board.cells:
        raise ValueError(f"shards of {shard_cells} cells: expected {_BYTE_CELLS} to {board.cells}")
    parts = {mask >> shard_cells for mask in board.masks} - {0}
    return ShardGraph(board.cells, shard_cells, tuple(sorted(parts)))


# --- tasks ----------------------------------------------------------------------------------------


class TaskRecord(NamedTuple):
    """A task that was measured, with a store so near that bytes come at once.

    `reading` is to fetch, decode and check; `writing` to compress and write. `seconds` is from the end
    of the worker's task before, or from when this one was ready if that is later: what the scheduler
    and the way to it take is in it. `peak_bytes` is the most memory that the worker took until then.
    """

    positions: int
    decoded_read: int
    stored_read: int
    stored_written: int
    reading: float
    solving: float
    writing: float
    seconds: float
    peak_bytes: int


@dataclass(frozen=True)
class TaskCosts:
    """What a task takes on one core, without the way to the store and back.

    `source` says where the figures are from, and is printed wherever they are used.
    """

    source: str
    overhead: float  # seconds a task, whatever it does
    read: float  # seconds a decoded byte that it reads
    solve: float  # seconds a position of its own
    write: float  # seconds a decoded byte that it writes
    stored: float  # stored bytes a decoded byte
    base_bytes: int  # memory of a worker that holds no shard

    @classmethod
    def fitted(cls, records: Sequence[TaskRecord], source: str) -> TaskCosts:
        """Costs from measured tasks: ratios of sums.

        Solving takes longer the more shards there are to look at: what a byte read costs there, by
        least squares, is part of `read`.
        """
        columns = zip(*records, strict=True)
        positions, decoded, stored, written, reading, solving, writing, seconds, peak = (
            np.array(column, float) for column in columns
        )
        solve, look = _two_slopes(positions, decoded, solving)
        own, held = positions / 8, positions / 8 + decoded
        return cls(
            source,
            max(0.0, float((seconds - reading - solving - writing).mean())),
            look + (float(reading.sum() / decoded.sum()) if decoded.any() else 0.0),
            solve,
            float(writing.sum() / own.sum()),
            float((stored.sum() + written.sum()) / (decoded.sum() + own.sum())),
            max(0, int(peak.max() - held.max())),
        )


def _two_slopes(
    first: NDArray[np.float64], second: NDArray[np.float64], seconds: NDArray[np.float64]
) -> tuple[float, float]:
    """`a` and `b`, neither below 0, such that `a * first + b * second` is nearest to `seconds`."""
    scales = first.max(), max(second.max(), 1.0)
    scaled = np.stack([first / scales[0], second / scales[1]], axis=1)
    (a, b), *_ = np.linalg.lstsq(scaled, seconds, rcond=None)
    if min(a, b) < 0 or not second.any():
        return float(seconds.sum() / first.sum()), 0.0
    return float(a / scales[0]), float(b / scales[1])


@dataclass(frozen=True)
class Cluster:
    """Workers of one thread each, and the store between them; bandwidths in bytes a second.

    An object is read by two requests to find out what is in it and one for each `request_bytes` of it,
    one after the other as `builder/cluster/store.py` does, and written by one.
    """

    workers: int
    link: float = math.inf  # of each worker
    store: float = math.inf  # of all together
    tasks_a_second: float = math.inf  # what the scheduler can hand out
    latency: float = 0.0  # seconds before a request is answered
    request_bytes: int = 8 << 20


class Load(NamedTuple):
    """What each task takes, by the number of its shard."""

    waits: NDArray[np.float64]  # seconds before it reads
    reads: NDArray[np.float64]  # stored bytes
    computes: NDArray[np.float64]  # seconds
    writes: NDArray[np.float64]  # stored bytes

    @classmethod
    def of(cls, graph: ShardGraph, costs: TaskCosts, cluster: Cluster) -> Load:
        """The load of all tasks of a graph."""
        counts, stored = graph.read_counts.astype(np.float64), graph.shard_bytes * costs.stored
        requests = counts * (2 + math.ceil(stored / cluster.request_bytes)) + 1
        own = graph.shard_positions * costs.solve + graph.shard_bytes * costs.write
        return cls(
            costs.overhead + requests * cluster.latency,
            counts * stored,
            own + counts * (graph.shard_bytes * costs.read),
            np.full(graph.shards, stored),
        )

    def alone(self, cluster: Cluster) -> NDArray[np.float64]:
        """The seconds of each task if it has the store for itself."""
        pace = min(cluster.link, cluster.store)
        handing = 1 / cluster.tasks_a_second
        return handing + self.waits + self.computes + (self.reads + self.writes) / pace


# --- what comes of it -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Prediction:
    """A build as the model sees it. `finished` is when each shard was, by number."""

    workers: int
    seconds: float
    busy_seconds: float  # of all workers, with a task in their hands
    all_busy_seconds: float  # in which every worker had a task
    at_once: int  # the most tasks at a time
    critical_seconds: (
        float  # of the longest chain of tasks that need each other, with the store for itself
    )
    task_bytes: int  # the most memory of a worker
    decoded_bytes_read: int
    moved_bytes: float  # stored ones, read and written
    stored_bytes: float  # what is in the store at the end
    finished: NDArray[np.float64] = field(repr=False)

    @property
    def busy_share(self) -> float:
        """The part of the workers' time in which they had a task."""
        return self.busy_seconds / (self.workers * self.seconds)

    @property
    def worker_hours(self) -> float:
        """What it takes of the cluster, idle workers among it."""
        return self.workers * self.seconds / 3600


def simulate(
    graph: ShardGraph, costs: TaskCosts, cluster: Cluster, engine: Engine | None = None
) -> Prediction:
    """Run all tasks: whenever a worker is free it gets the first task of the plan that is ready."""
    load = Load.of(graph, costs, cluster)
    finished, figures = np.zeros(graph.shards), np.zeros(FIGURES)
    run_tasks(choose_engine(engine, graph.shards * graph.leading))(
        graph.leading,
        *load,
        cluster.workers,
        float(cluster.link),
        float(cluster.store),
        1 / cluster.tasks_a_second,
        finished,
        figures,
    )
    read = int(graph.read_counts.sum()) * graph.shard_bytes
    return Prediction(
        cluster.workers,
        float(figures[NOW]),
        float(figures[BUSY]),
        float(figures[ALL_BUSY]),
        int(figures[AT_ONCE]),
        critical_seconds(graph, load.alone(cluster)),
        task_bytes(graph, costs),
        read,
        float(load.reads.sum() + load.writes.sum()),
        float(load.writes.sum()),
        finished,
    )


def task_bytes(graph: ShardGraph, costs: TaskCosts) -> int:
    """The most memory that a worker takes: all shards that a task reads, and its own."""
    return costs.base_bytes + (int(graph.read_counts.max()) + 1) * graph.shard_bytes


def critical_seconds(graph: ShardGraph, alone: NDArray[np.float64]) -> float:
    """The longest chain of tasks that need each other."""
    ends = np.zeros(graph.shards)
    for numbers in graph.levels:
        before = np.zeros(len(numbers))
        for bit in range(graph.leading):
            missing = numbers >> bit & 1 == 0
            before[missing] = np.maximum(before[missing], ends[numbers[missing] | 1 << bit])
        ends[numbers] = before + alone[numbers]
    return float(ends[0])


def least_seconds(graph: ShardGraph, costs: TaskCosts, cluster: Cluster) -> float:
    """What no order of the tasks can beat: of chain, workers, store and scheduler the slowest."""
    load = Load.of(graph, costs, cluster)
    alone = load.alone(cluster)
    moved = float(load.reads.sum() + load.writes.sum())
    return max(
        critical_seconds(graph, alone),
        float(alone.sum()) / cluster.workers,
        moved / cluster.store,
        graph.shards / cluster.tasks_a_second,
    )
