"""Games with loops on a cluster: backwards from the ends, as in `solvers/retrograde.py`, by rounds.

The index is cut into shards, ranges of equal length, and whoever runs a task for a shard holds no more
than what belongs to it. A round settles the nodes of one remoteness: each shard that was told something
in the round before takes it in, and tells the owners of the predecessors of what is settled by that.

    open       each shard settles what has ended, and counts moves; without `predecessors` it also lists
               its moves, by the shard into which they lead
    lists      ... of which each shard then makes lists of what leads to each of its nodes
    round-r    each shard with letters from round r - 1 takes them in and writes those of round r
    records    each shard leaves what is known of its nodes in the end
    classes    with symmetries, the record of each index; and where the records of each shard begin

The state of a shard is what it was when it was last written, and all that it was told since: what it
took in in a round is part of what it leaves, and names the round before. So a state need not be written
in every round: it is when reading all that again begins to cost as much.

How it grows with the number of shards, S; 10^11 indices are 6,000 shards of 2^24:

*   The summary of a task says which shards it has letters for, and a task is told who wrote to it in
    the round before: a few dozen bytes each if those are few or nearly all, S / 6 and S / 8 at most.
    Whoever runs the job keeps both for all tasks, and some 600 bytes of each besides: if 6,000 shards
    have letters in each of 100 rounds, 0.4 GB, and 1.4 GB at the worst. To find out from summaries who
    wrote to whom takes about a second a round.
*   To read a letter takes the last 64 KiB of an object, and some chunks, which grow with the root of
    all its letters: if each has 4 KB, to 600, 6,000 and 16,384 shards, 75, 96 and 128 KB in all. When
    6,000 shards write such letters to each other, a task reads 0.6 GB, in about 10 s from a folder, and
    that round takes about 20 hours of a core.
*   So there are S * S letters in a round if moves lead from everywhere to everywhere, small as they may
    be. Numberings in which most moves lead to few shards are far better. `lists` reads all moves in the
    same way, twice.
*   `classes` reads the records of every shard that has a representative of one of its indices: S * S
    whole objects, if images are scattered over all shards. So thousands of shards are too many for a
    game with symmetries, unless images stay within a few of them.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING

import numpy as np

from builder.cluster.job import Job, Task
from builder.cluster.rounds_letters import senders_of
from builder.cluster.rounds_work import ShardWork, object_name, round_name
from builder.solvers.solution import is_narrow
from lookup.blocks import PACKED_BITS, pack, smallest_bits
from lookup.disk import sized
from lookup.errors import BuildError, GameError
from lookup.format import (
    CLASSES,
    OUTCOME,
    Totals,
    classes_column,
    outcome_column,
    remoteness_column,
)
from lookup.values import Outcome

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from builder.cluster.job import Summary
    from builder.cluster.store import Store
    from builder.compile import Engine
    from lookup.format import Column
    from lookup.games.base import Game

LARGEST_SHARD, SMALL_SHARD, LEAST_SHARD = 1 << 24, 1 << 18, 1 << 12
FEW_SHARDS, MOST_SHARDS = 16, 1 << 14
MOST_CLASSES = (1 << PACKED_BITS[-1]) - 1
"""What the widest column `classes` has numbers for."""

_OF_A_TASK = 64 << 20  # bytes for chunks that are encoded or decoded, and all that is small


@dataclass(frozen=True)
class RoundsJob(Job):
    """Outcome and remoteness of every index or, if the game has symmetries, of every class.

    `shard` is how many indices a shard has. `memory` is how many bytes a task may take, if not only as
    many as `memory_needed` says.
    """

    game: Game
    engine: Engine
    shard: int
    memory: int | None = None

    def __post_init__(self) -> None:
        most = (1 << 63) // self.shard - self.shard  # or a move would not fit into 64 bits
        if self.game.size >= most or self.game.max_moves > np.iinfo(np.uint16).max:
            limit = f"below {most} indices in shards of {self.shard}, 65535 moves each"
            raise GameError(f"{self.game.table_name} is too large: {limit}")

    @property
    def shards(self) -> int:
        """How many shards there are."""
        return -(-self.game.size // self.shard)

    def stages(self, done: Mapping[str, Summary]) -> Iterator[Sequence[Task]]:
        """Open, list, rounds until nobody has been told anything, and the records."""
        shards = range(self.shards)
        yield [Task(object_name("open", number), (number,)) for number in shards]
        opened = [done[object_name("open", number)] for number in shards]
        firsts = [*accumulate((said["nodes"] for said in opened), initial=1)]
        if self._symmetric and firsts[-1] > MOST_CLASSES + 1:
            raise GameError(f"{self.game.table_name} is too large: at most {MOST_CLASSES} classes")
        if self.game.predecessors is None:
            senders = senders_of({number: opened[number]["to"] for number in shards}, self.shards)
            yield [
                Task(object_name("lists", number), (number, senders.get(number, 0)))
                for number in shards
            ]

        last = [-1] * self.shards  # round of each shard: none yet
        turn, senders = 0, {number: 0 for number in shards if opened[number]["ended"]}
        while senders:
            names = {number: round_name(turn, number) for number in senders}
            yield [
                Task(names[number], (number, turn, last[number], some))
                for number, some in senders.items()
            ]
            for number in senders:
                last[number] = turn
            senders = senders_of(
                {number: done[name]["to"] for number, name in names.items()}, self.shards
            )
            turn += 1
        yield [
            Task(object_name("records", number), (number, firsts[number], last[number]))
            for number in shards
        ]
        if self._symmetric:
            yield [
                *(Task(object_name("classes", number), (number,)) for number in shards),
                Task(object_name("bounds", 0), (0, *firsts[1:])),
            ]

    def run(self, task: Task, store: Store) -> None:
        """Do what the stage of a task is there for.

        Raises:
            LostObjectError: an object that it reads is missing or damaged.
            GameError: a rule breaks the contract.
            BuildError: more moves lead into a shard than a task has memory for.
        """
        work = ShardWork(self.game, self.engine, self.shard, store)
        stage = task.name.partition("/")[0]
        if stage == "open":
            work.open(task.name, *task.about)
        elif stage == "lists":
            number, senders = task.about
            most = self.memory
            if most is None:
                most = memory_needed(self.game, self.engine, self.shard)
            work.lists(task.name, number, senders, most)
        elif stage == "records":
            work.records(task.name, *task.about)
        elif stage == "classes":
            work.classes(task.name, *task.about)
        elif stage == "bounds":
            work.bounds(task.name, task.about)
        else:
            work.round(task.name, *task.about)

    def totals(self, done: Mapping[str, Summary]) -> Totals:
        """Counts of all indices, and the longest remoteness."""
        stage = "classes" if self._symmetric else "records"
        counts = [0, 0, 0, 0]
        for number in range(self.shards):
            for code, count in enumerate(done[object_name(stage, number)]["counts"]):
                counts[code] += count
        longest = max(done[object_name("records", number)]["longest"] for number in range(self.shards))
        return Totals((counts[Outcome.LOSS], counts[Outcome.DRAW], counts[Outcome.WIN]), longest)

    def columns(self, totals: Totals, done: Mapping[str, Summary]) -> tuple[Column, ...]:
        """Outcome and remoteness, and the map to them if the game has symmetries."""
        size, bits = self.game.size, smallest_bits(totals.longest)
        if not self._symmetric:
            narrow = is_narrow(totals, size)
            return outcome_column(1 if narrow else 2, size), remoteness_column(bits, size)
        records = 1 + sum(done[object_name("open", number)]["nodes"] for number in range(self.shards))
        return (
            outcome_column(2, records),  # the record of what is not a position is none of the two
            remoteness_column(bits, records),
            classes_column(smallest_bits(records - 1), size),
        )

    def packed(
        self,
        store: Store,
        totals: Totals,  # noqa: ARG002 - the columns say all
        columns: Sequence[Column],
        low: int,
        high: int,
    ) -> dict[str, NDArray[np.unsignedinteger]]:
        """The packed elements of some columns for the items from `low` on, from all shards concerned.

        Raises:
            LostObjectError: an object that it reads is missing or damaged.
        """
        packed: dict[str, NDArray[np.unsignedinteger]] = {}
        for column in columns:
            items = self._items(store, column.name, low, high)
            if column.name == OUTCOME and column.bits == 1:
                items = np.equal(items, Outcome.WIN).view(np.uint8)
            packed[column.name] = pack(items, column.bits)
        return packed

    def _items(self, store: Store, column: str, low: int, high: int) -> NDArray[np.unsignedinteger]:
        """The numbers from `low` to `high` of a column, from all shards that have some."""
        bounds = self._bounds(store, column)
        dtype: type[np.unsignedinteger] = np.uint8 if column == OUTCOME else np.uint32
        items = np.empty(high - low, dtype)
        at, number = low, bisect_right(bounds, low) - 1
        while at < high:
            end = min(high, bounds[number + 1])
            name = object_name("classes" if column == CLASSES else "records", number)
            store.read_into(name, column, at, items[at - low : end - low])
            at, number = end, number + 1
        return items

    def _bounds(self, store: Store, column: str) -> Sequence[int]:
        """Where the items of each shard begin, and where the last end."""
        if self._symmetric and column != CLASSES:
            bounds: list[int] = store.read(object_name("bounds", 0), "bounds").tolist()
            return bounds
        return [*range(0, self.game.size, self.shard), self.game.size]

    @property
    def _symmetric(self) -> bool:
        return self.game.symmetries > 1


def memory_needed(game: Game, engine: Engine, shard: int) -> int:  # noqa: ARG001 - the same for both
    """Bytes that a task takes at its peak, supposing the most moves and all of them in one round."""
    listed = game.predecessors is None
    # Moves, and what is told, are sorted in 8 bytes each, and copied once before they are narrowed.
    of_a_move = 20 if game.size <= 1 << 32 or not listed else 24
    most = game.max_moves if listed else game.max_predecessors
    # State, what is settled, and the ends of lists; or what it takes to sort and rank representatives.
    of_a_node = 56 if game.symmetries == 1 else 72
    return _OF_A_TASK + min(shard, game.size) * (of_a_node + of_a_move * most)


def shard_for(game: Game, engine: Engine, memory: int) -> int:
    """The largest sensible number of indices for a shard, of which a task fits into so many bytes.

    A game that is not small is cut into some shards in any case, so that there is work for several.

    Raises:
        BuildError: there is none.
    """
    shard = LARGEST_SHARD
    while shard > SMALL_SHARD and game.size < FEW_SHARDS * shard:
        shard //= 2
    least = max(LEAST_SHARD, 1 << (-(-game.size // MOST_SHARDS) - 1).bit_length())
    while shard > least and memory_needed(game, engine, shard) > memory:
        shard //= 2
    if (needed := memory_needed(game, engine, max(shard, least))) > memory:
        raise BuildError(
            f"a task of {game.table_name} takes {sized(needed)} of memory, and may take "
            f"{sized(max(0, memory))}: expected workers with more memory"
        )
    return max(shard, least)
