"""The job of games in which no position comes again: shards of a solver's plan, solved one by one.

A task makes the plan with arrays that take memory only where they are used, fills in what its shard
reads, runs it, and leaves what the shard leaves. Plans of masks know what a shard reads. For others a
first stage makes all moves once and sees where they lead; shards that need each other, as odd
numberings have them, are then joined with all that lie between, and run as one.
"""

from __future__ import annotations

from bisect import bisect_right
from functools import cached_property, reduce
from itertools import starmap
from typing import TYPE_CHECKING

import numpy as np

from builder.cluster.job import Job, StoredPart, Task, totals_as_json, totals_from_json
from builder.cluster.objects import LEVEL, Stretch
from builder.cluster.order import joined_ranges
from builder.cluster.recent import recent
from builder.cluster.sparse import sparse_zeros
from builder.cluster.survey import blocks_read
from builder.compile import Engine
from builder.solvers import grundy, mask, ordered, steps
from builder.solvers.plan import Piece, Shard
from builder.solvers.solution import slices
from builder.writer import stored_as
from lookup.blocks import packed_length
from lookup.disk import sized
from lookup.errors import BuildError, InvalidParameterError
from lookup.format import Totals
from lookup.games.mask_game import MaskGame
from lookup.games.step_game import StepGame

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

    from numpy.typing import NDArray

    from builder.cluster.job import Summary
    from builder.cluster.store import Store
    from builder.solvers.plan import RangePlan
    from lookup.format import Column
    from lookup.games.base import Game

BLOCK = 1 << 15
"""Indices of which a shard reads all or none, and which are a chunk in the store."""

_COUNTED = 1 << 22  # indices counted at a time, in 8 bytes each

KINDS = ("mask", "ordered", "grundy", "steps")
"""The kinds of solvers whose plans are cut here."""


class ShardsJob(Job):
    """A game cut into shards of so many indices, a power of two; a task may take so many bytes."""

    def __init__(self, game: Game, engine: Engine, shard: int, memory: int) -> None:
        least = 1 << mask.least_shard_cells(game, engine) if isinstance(game, MaskGame) else 1
        if shard & shard - 1 or shard < min(least, game.size):
            raise InvalidParameterError("shard", shard, f"a power of two, at least {least}")
        self._game, self._engine, self._shard, self._memory = game, engine, shard, memory
        self._block = min(BLOCK, shard)
        self._starts: list[int] | None = None  # of ranges, if shards had to be joined

    # --- what there is to do ----------------------------------------------------------------------

    def stages(self, done: Mapping[str, Summary]) -> Iterator[Sequence[Task]]:
        """Look where moves lead, unless it is known; then solve.

        Raises:
            BuildError: a shard reads more than a task may take.
        """
        if isinstance(self._game, MaskGame):
            (shards,) = self._plan(Engine.PYTHON).stages()
            names = [_name(shard.low, shard.high) for shard in shards]
            yield [
                Task(name, (shard.low, shard.high), tuple(names[need] for need in shard.needs))
                for name, shard in zip(names, shards, strict=True)
            ]
            return
        surveys = [Task(f"survey/{low}-{high}", (low, high)) for low, high in self._ranges()]
        yield surveys
        read = [done[task.name] for task in surveys]
        links = [{at // self._shard for at in one["places"]} for one in read]
        groups, order = joined_ranges(links)
        if len(groups) < len(surveys):
            self._starts = [first * self._shard for first, _ in groups]
        tasks = []
        for first, end in (groups[number] for number in order):
            low, high = self._range_of(first * self._shard)
            blocks: dict[int, int] = {}
            for one in read[first:end]:
                for at, count in zip(one["places"], one["blocks"], strict=True):
                    if not low <= at < high:
                        blocks[at] = blocks.get(at, 0) + count
            # Shards that were joined may read the same blocks.
            most = self._shard // self._block
            self._require(low, high, sum(min(count, most) for count in blocks.values()))
            needs = sorted({self._name_of(at) for at in blocks})
            tasks.append(Task(_name(low, high), (low, high), tuple(needs)))
        yield tasks

    def _require(self, low: int, high: int, blocks: int) -> None:
        """Refuse a shard that does not fit into memory with all that it reads."""
        needed = self._index_bytes * (high - low + blocks * self._block) + 8 * min(_COUNTED, high - low)
        if needed > self._memory:
            name = self._game.table_name
            problem = (
                f"indices {low} to {high} of {name} and what their moves lead to take {sized(needed)}"
            )
            raise BuildError(
                f"{problem}, and a task may take {sized(self._memory)}: expected workers with more "
                "memory, or a numbering whose moves lead to fewer places"
            )

    @cached_property
    def _index_bytes(self) -> int:
        """What an index takes in all arrays."""
        return sum(array.itemsize for array in self._kept(self._plan(Engine.PYTHON)).values())

    # --- the work ---------------------------------------------------------------------------------

    def run(self, task: Task, store: Store) -> None:
        """Look where the moves of a shard lead, or solve it."""
        low, high = task.about
        if task.name.startswith("survey/"):
            blocks = blocks_read(self._game, self._engine, low, high, self._block)
            places = blocks * self._block
            others = blocks[(places < low) | (places >= high)]
            shards, counts = np.unique(others * self._block // self._shard, return_counts=True)
            summary = {"places": (shards * self._shard).tolist(), "blocks": counts.tolist()}
            store.write(task.name, summary, {"blocks": Stretch(others)})
            return
        plan = self._plan(self._engine, (low, high))
        shard = self._shard_of(plan, low, high)
        for piece in self._reads(plan, shard, store):
            self._load(plan, piece, store)
        if isinstance(plan, grundy.GrundyPlan):
            plan.settle()
        else:
            plan.run(shard)
        stored = stored_as(plan.columns)
        arrays = {}
        for piece in shard.leaves:
            stretch = plan.arrays[piece.array][piece.low : piece.high]
            chunk, level = stored.get(piece.array, (self._block * stretch.itemsize, LEVEL))
            arrays[piece.array] = Stretch(stretch, piece.low, min(chunk, stretch.nbytes), level)
            if self.spare >= stretch.nbytes:
                recent.keep(self.spare - stretch.nbytes)
                recent.put(self._key(store, piece), stretch.copy(), self.spare)
        totals = reduce(Totals.joined, starmap(plan.count, slices(low, high, _COUNTED)))
        store.write(task.name, {"totals": totals_as_json(totals)}, arrays)

    def _reads(self, plan: RangePlan, shard: Shard, store: Store) -> Iterator[Piece]:
        """What a shard reads, in stretches each of which is in one object."""
        if (known := plan.reads(shard)) is not None:
            yield from known
            return
        surveys = (
            f"survey/{low}-{min(low + self._shard, self._game.size)}"
            for low in range(shard.low, shard.high, self._shard)
        )
        blocks = np.unique(np.concatenate([store.read(name, "blocks") for name in surveys]))
        places = blocks * self._block  # of shards that were joined, others are in the same one
        outside = (places < shard.low) | (places >= shard.high)
        blocks, places = blocks[outside], places[outside]
        objects = places // self._shard
        if self._starts is not None:
            objects = np.searchsorted(self._starts, places, "right")
        # Blocks that follow each other inside one object are read at once.
        breaks = np.flatnonzero((np.diff(blocks) != 1) | (np.diff(objects) != 0)) + 1
        for run in np.split(blocks, breaks):
            if len(run):
                first, end = int(run[0]) * self._block, (int(run[-1]) + 1) * self._block
                for name in self._kept(plan):
                    yield Piece(name, first, min(end, self._game.size))

    def _load(self, plan: RangePlan, piece: Piece, store: Store) -> None:
        """Fill in a stretch of an array."""
        target = plan.arrays[piece.array][piece.low : piece.high]
        name = self._name_of(piece.low * self._ratio(plan, piece.array))
        if self.spare < target.nbytes:
            store.read_into(name, piece.array, piece.low, target)
            return

        def read() -> NDArray[Any]:
            return store.read(name, piece.array, piece.low, piece.high)

        target[:] = recent.get(self._key(store, piece), target.nbytes, read, self.spare)

    def _key(self, store: Store, piece: Piece) -> tuple[object, ...]:
        return store.url, store.label, self._shard, piece

    @property
    def spare(self) -> int:
        """What a task leaves free; only masks say beforehand what one takes."""
        if not isinstance(self._game, MaskGame):
            return 0
        return self._memory - mask.shard_memory(self._game, self._shard.bit_length() - 1)

    # --- the table --------------------------------------------------------------------------------

    def totals(self, done: Mapping[str, Summary]) -> Totals:
        """Those of all shards together."""
        parts = (one["totals"] for name, one in done.items() if name.startswith("solve/"))
        return reduce(Totals.joined, map(totals_from_json, parts))

    def columns(self, totals: Totals, done: Mapping[str, Summary]) -> tuple[Column, ...]:  # noqa: ARG002 - no need
        """Those of the plan."""
        return tuple(one.column for one in self._plan(Engine.PYTHON).packed(totals))

    def stored(self, columns: Sequence[Column]) -> dict[str, list[StoredPart]] | None:
        """The shards themselves, if they are bits and made of whole chunks."""
        plan = self._plan(Engine.PYTHON)
        if plan.columns != tuple(columns):
            return None
        (column,) = columns
        chunk, _ = stored_as(columns)[column.name]
        if self._shard < self._game.size and self._shard // 8 % chunk:
            return None
        return {
            column.name: [
                StoredPart(_name(low, high), column.name, low // 8, max(1, high // 8))
                for low, high in self._ranges()
            ]
        }

    def packed(
        self, store: Store, totals: Totals, columns: Sequence[Column], low: int, high: int
    ) -> dict[str, NDArray[np.unsignedinteger]]:
        """From what the shards of these indices left."""
        plan = self._plan(Engine.PYTHON)
        first = low
        while first < high:
            end = min(high, self._range_of(first)[1])
            for name in plan.packs or self._kept(plan):
                ratio = self._ratio(plan, name)
                self._load(plan, Piece(name, first // ratio, -(-end // ratio)), store)
            first = end
        wanted = {column.name for column in columns}
        return {
            name: one.elements[packed_length(low, bits) : packed_length(high, bits)]
            for one in plan.packed(totals)
            for name, bits in [one.column[:2]]
            if name in wanted
        }

    # --- plans ------------------------------------------------------------------------------------

    def _plan(self, engine: Engine, stretch: tuple[int, int] = (0, 0)) -> RangePlan:
        """The plan with arrays that take no memory until they are used."""
        game = self._game
        if isinstance(game, MaskGame):
            return mask.plan(game, engine, sparse_zeros, self._shard.bit_length() - 1)
        if isinstance(game, StepGame):
            return steps.StepsPlan(game, engine, sparse_zeros)
        if game.solver == "grundy":
            return grundy.GrundyPlan(game, engine, sparse_zeros, stretch)
        return ordered.OrderedPlan(game, engine, sparse_zeros)

    def _shard_of(self, plan: RangePlan, low: int, high: int) -> Shard:
        """The shard of a range, with what it leaves."""
        kept = self._kept(plan)
        ratios = {name: self._ratio(plan, name) for name in kept}
        leaves = (Piece(name, low // ratio, -(-high // ratio)) for name, ratio in ratios.items())
        return Shard(low, high, high - low, (), tuple(leaves))

    def _kept(self, plan: RangePlan) -> dict[str, NDArray[Any]]:
        """The arrays that hold something of each index."""
        return {name: one for name, one in plan.arrays.items() if name != "cursor" and len(one)}

    def _ratio(self, plan: RangePlan, array: str) -> int:
        """How many indices share an element of an array."""
        return max(1, self._game.size // len(plan.arrays[array]))

    # --- ranges -----------------------------------------------------------------------------------

    def _ranges(self) -> Iterator[tuple[int, int]]:
        """All shards, as if none was joined."""
        return slices(0, self._game.size, self._shard)

    def _range_of(self, index: int) -> tuple[int, int]:
        """The range of indices whose object holds an index."""
        if self._starts is None:
            low = index // self._shard * self._shard
            return low, min(low + self._shard, self._game.size)
        number = bisect_right(self._starts, index)
        return self._starts[number - 1], (*self._starts[number : number + 1], self._game.size)[0]

    def _name_of(self, index: int) -> str:
        """The object that holds an index."""
        return _name(*self._range_of(index))


def _name(low: int, high: int) -> str:
    return f"solve/{low}-{high}"
