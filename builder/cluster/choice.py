"""Which job builds a game, and how large its shards are: as large as fits into a task's memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from builder.build import OUTCOMES_ALONE, solver_of
from builder.cluster import rounds
from builder.cluster.packing import ITEMS
from builder.cluster.shards import KINDS, ShardsJob
from builder.cluster.whole import WholeJob
from builder.limits import BEYOND
from builder.solvers import mask
from lookup.disk import sized
from lookup.errors import BuildError
from lookup.games.mask_game import MaskGame

if TYPE_CHECKING:
    from builder.cluster.job import Job
    from builder.compile import Engine
    from lookup.games.base import Game

SMALL = 1 << 20
"""Games of up to this `Game.work` are one task: to cut them would take longer than to solve them."""

_FEWEST = 6  # two to the power of so many shards keep some workers busy, if they are not too small
_LARGEST_CELLS, _LARGEST_RANGE, _LEAST_CELLS = 28, 22, 16  # powers of two that a shard has as indices
_INDEX_BYTES = 64  # that an index of a range takes, and all that it reads


def shard_size(game: Game, engine: Engine, memory: int) -> int | None:
    """How many indices a shard has if a task may take so many bytes; None if it is not cut.

    Raises:
        BuildError: nothing of it fits.
    """
    is_small = game.work <= SMALL and task_memory(game, engine, None) <= memory
    if is_small or game.solver == "heaps" or game.filling is not None:
        require_task(game, engine, None, memory)
        return None
    if game.solver not in KINDS:
        return rounds.shard_for(game, engine, memory)
    largest = _LARGEST_CELLS if isinstance(game, MaskGame) else _LARGEST_RANGE
    cells = min(largest, max(_LEAST_CELLS, (game.size - 1).bit_length() - _FEWEST))
    while cells > _LEAST_CELLS and task_memory(game, engine, 1 << cells) > memory:
        cells -= 1
    require_task(game, engine, 1 << cells, memory)
    return 1 << cells


def task_memory(game: Game, engine: Engine, shard: int | None) -> int:
    """About how many bytes a task takes, of a game cut into shards of so many indices or not at all."""
    if shard is None:
        solver = solver_of(game)
        return solver.memory_needed(game, engine) + int(min(game.size, BEYOND) * solver.table_bytes)
    solver = solver_of(game)
    # Items as they are solved, and packed; bits are stored as they are.
    packing = 0 if solver is OUTCOMES_ALONE else (2 * solver.record_bytes + 4) * min(ITEMS, game.size)
    if isinstance(game, MaskGame):
        return max(packing, mask.shard_memory(game, shard.bit_length() - 1))
    if game.solver in KINDS:
        return max(packing, _INDEX_BYTES * shard)
    return max(packing, rounds.memory_needed(game, engine, shard))


def require_task(game: Game, engine: Engine, shard: int | None, memory: int, how: str = "") -> None:
    """Refuse tasks that do not fit into so many bytes.

    Raises:
        BuildError: they do not.
    """
    if (needed := task_memory(game, engine, shard)) > memory:
        raise BuildError(
            f"a task of {game.table_name}{how} takes {sized(needed)} of memory, and may take "
            f"{sized(max(0, memory))}: expected workers with more memory"
        )


def job_of(game: Game, engine: Engine, shard: int | None, memory: int) -> Job:
    """The job that builds a game, cut into shards of so many indices."""
    if shard is None:
        return WholeJob(game, engine)
    if game.solver in KINDS:
        return ShardsJob(game, engine, shard, memory)
    return rounds.RoundsJob(game, engine, shard, memory)
