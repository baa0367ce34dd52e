"""Tasks of a board that is too large to build, run for real: the fullest shards need few others.

All shards that have at least some leading cells filled can be built without the rest, and have their
real contents, however large the board is. So what a task of 7x6 takes is measured on tasks of 7x6.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from bench_measure import peak_resident, timed
from cluster_model import TaskRecord

from builder.cluster.objects import Stretch
from builder.cluster.sparse import sparse_zeros
from builder.solvers.mask import BitsPlan
from builder.solvers.plan import Piece, Shard
from builder.writer import stored_as
from lookup.format import OUTCOME

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cluster_model import ShardGraph
    from numpy.typing import NDArray

    from builder.cluster.store import Store
    from builder.compile import Engine
    from lookup.games.mask_game import MaskGame


def sampled(
    game: MaskGame, graph: ShardGraph, number: int, store: Store, engine: Engine
) -> Iterator[TaskRecord]:
    """Solve a shard and all that it needs, fullest first, one after the other; of a board of bits."""
    last = graph.shards - 1
    _task(game, graph, last, store, engine)  # compiles
    for other in range(last, number - 1, -1):
        if other & number == number:
            yield _task(game, graph, other, store, engine)


def name_of(piece: Piece) -> str:
    """The name of the object that holds a shard."""
    return f"solve/{piece.low}-{piece.high}"


def shard_of(graph: ShardGraph, number: int) -> Shard:
    """A shard of the plan; what it needs is not said."""
    low, size = number * graph.shard_positions, graph.shard_positions
    own = Piece(OUTCOME, number * graph.shard_bytes, (number + 1) * graph.shard_bytes)
    return Shard(low, low + size, size, leaves=(own,))


def _task(game: MaskGame, graph: ShardGraph, number: int, store: Store, engine: Engine) -> TaskRecord:
    """What a task of `builder/cluster/shards.py` does, with a clock between its steps."""
    started, traffic = time.perf_counter(), store.traffic
    read, written = traffic.read, traffic.written
    plan = BitsPlan(game, engine, sparse_zeros, graph.shard_cells)
    shard = shard_of(graph, number)
    pieces, (own,) = plan.reads(shard), shard.leaves
    chunk, level = stored_as(plan.columns)[OUTCOME]

    def bits(piece: Piece) -> NDArray[Any]:
        return plan.arrays[OUTCOME][piece.low : piece.high]

    def fill() -> None:
        for piece in pieces:
            store.read_into(name_of(piece), OUTCOME, piece.low, bits(piece))

    def keep() -> None:
        kept = Stretch(bits(own), own.low, min(chunk, graph.shard_bytes), level)
        store.write(name_of(own), {}, {OUTCOME: kept})

    _, reading = timed(fill)
    _, solving = timed(lambda: plan.run(shard))
    _, writing = timed(keep)
    return TaskRecord(
        shard.weight,
        len(pieces) * graph.shard_bytes,
        traffic.read - read,
        traffic.written - written,
        reading,
        solving,
        writing,
        time.perf_counter() - started,
        peak_resident(),
    )
