"""Which job builds a game, and how large its shards are: as large as fits into a task's memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from builder.build import solver_of
from builder.cluster import rounds
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
_LARGEST_SHARD = 28
_LEAST_SHARD = 16
_OTHER_KINDS = 1 << 22  # indices of a shard of other kinds, at most
_INDEX_BYTES = 16  # that an index of such a shard may take, and what it reads as much again


def shard_size(game: Game, engine: Engine, memory: int) -> int | None:
    """How many indices a shard has if a task may take so many bytes; None if it is not cut.

    Raises:
        BuildError: nothing of it fits.
    """
    solver = solver_of(game)
    needed = solver.memory_needed(game, engine)
    fits = needed + int(min(game.size, BEYOND) * solver.table_bytes) <= memory
    if fits and game.work <= SMALL:
        return None
    if isinstance(game, MaskGame):
        return _mask_shard(game, memory)
    if game.solver in KINDS:
        return _range_shard(game, memory)
    if game.solver == "heaps" or game.filling is not None:
        if not fits:
            raise _too_large(game, needed, memory)
        return None
    return rounds.shard_for(game, engine, memory)


def job_of(game: Game, engine: Engine, shard: int | None, memory: int) -> Job:
    """The job that builds a game, cut into shards of so many indices."""
    if shard is None:
        return WholeJob(game, engine)
    if game.solver in KINDS:
        return ShardsJob(game, engine, shard, memory)
    return rounds.RoundsJob(game, engine, shard)


def _mask_shard(game: MaskGame, memory: int) -> int:
    cells = min(_LARGEST_SHARD, max(_LEAST_SHARD, game.cells - _FEWEST))
    while mask.shard_memory(game, cells) > memory:
        cells -= 1
        if cells < _LEAST_SHARD:
            raise _too_large(game, mask.shard_memory(game, _LEAST_SHARD), memory)
    return 1 << cells


def _range_shard(game: Game, memory: int) -> int:
    most = min(_OTHER_KINDS, memory // (4 * _INDEX_BYTES), max(game.size >> _FEWEST, 1 << _LEAST_SHARD))
    if most < 1 << _LEAST_SHARD:
        raise _too_large(game, 4 * _INDEX_BYTES << _LEAST_SHARD, memory)
    return 1 << most.bit_length() - 1


def _too_large(game: Game, needed: int, memory: int) -> BuildError:
    return BuildError(
        f"a task of {game.table_name} needs {sized(needed)} of memory, and may take {sized(memory)}: "
        "expected workers with more memory"
    )
