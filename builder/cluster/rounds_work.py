"""What a task of `rounds.py` does for its shard: read objects, call kernels, and leave an object."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from builder.cluster import rounds_kernels as kernels
from builder.cluster.objects import Stretch
from builder.cluster.rounds_kernels import DRAW, LOSS, NOT_A_POSITION, UNIT, UNSETTLED, WIN
from builder.cluster.rounds_letters import letter, letters, shards_in
from builder.compile import buffer, rule, views
from builder.conformance import broken_rule
from lookup.disk import sized
from lookup.errors import BuildError
from lookup.format import CLASSES, OUTCOME, REMOTENESS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import DTypeLike, NDArray

    from builder.cluster.objects import Index
    from builder.cluster.store import Store
    from builder.compile import Engine
    from lookup.games.base import Game

_PAGE = 1 << 14
"""Elements of an array of which only some stretches are read: a chunk of it holds as many."""

_AGAIN = 256 << 10
"""What it costs to read again what a shard was told in a round, in bytes of a state that are written in
that time; and so much more for what is in it."""


def object_name(stage: str, number: int) -> str:
    """The name of the object that a stage leaves of a shard."""
    return f"{stage}/{number:06}"


def round_name(turn: int, number: int) -> str:
    """The name of the object that a round leaves of a shard; before the first, -1, the opening does."""
    return object_name("open" if turn < 0 else f"round-{turn:04}", number)


class Sparse:
    """An array of an object, of which those pages are read that are needed.

    The others hold zeros, which take no memory before somebody writes to them.
    """

    def __init__(
        self, store: Store, name: str, index: Index, array: str, length: int, dtype: DTypeLike
    ) -> None:
        self.elements: NDArray[Any] = np.zeros(length, dtype)
        self._store, self._name, self._index, self._array = store, name, index, array
        self._missing = np.ones(-(-length // _PAGE), np.bool_)

    def need(self, places: NDArray[np.unsignedinteger]) -> None:
        """See to it that these elements are there."""
        wanted = np.zeros_like(self._missing)
        wanted[places // _PAGE] = True
        self._read(wanted & self._missing)

    def need_all(self) -> None:
        """See to it that all elements are there."""
        self._read(self._missing.copy())

    def _read(self, pages: NDArray[np.bool_]) -> None:
        for first, end in _runs(pages):
            target = self.elements[first * _PAGE : end * _PAGE]
            self._store.read_into(self._name, self._array, first * _PAGE, target, self._index)
        self._missing &= ~pages


class Told(NamedTuple):
    """What shards tell each other: which indices are won, and which have a move refuted."""

    won: NDArray[Any]
    refuted: NDArray[Any]


class ShardWork:
    """The tasks for the shards of a game, each `shard` indices long."""

    def __init__(self, game: Game, engine: Engine, shard: int, store: Store) -> None:
        self._game, self._engine, self._shard, self._store = game, engine, shard, store
        self._bounds = np.arange(-(-game.size // shard) + 1, dtype=np.int64) * shard
        self._symmetry = (
            rule(game.is_position, engine), rule(game.transform, engine), game.symmetries
        )  # fmt: skip

    def open(self, name: str, number: int) -> None:
        """The first state of a shard and, without `predecessors`, its moves.

        Raises:
            GameError: a rule breaks the contract.
        """
        game, engine = self._game, self._engine
        low, length = self._range(number)
        listed = game.predecessors is None
        state = np.empty(length, np.uint32)
        keys = np.empty(length * game.max_moves if listed else 0, np.int64)
        count = kernels.open_nodes(engine)(
            rule(game.successors, engine), rule(game.terminal, engine), *self._symmetry,
            int(game.stuck), game.size, game.max_moves, buffer(game.max_moves, engine),
            low, self._shard, *views(engine, state, keys),
        )  # fmt: skip
        if count < 0:
            raise broken_rule(game, low - 1 - count)
        arrays, to = {"state": _paged(state)}, ""
        if listed:
            keys = keys[:count]
            keys.sort()
            bounds = np.searchsorted(keys, self._bounds * self._shard)
            sources = (keys % self._shard).astype(np.uint32)
            keys //= self._shard
            targets = self._inside(keys)
            del keys  # the longest of all
            moves, to = letters([targets, sources], [bounds, bounds])
            arrays |= moves
        codes = np.bincount(state % UNIT, minlength=UNIT)
        summary = {
            "nodes": length - int(codes[NOT_A_POSITION]),
            "ended": int(codes[LOSS] + codes[WIN]),
            "to": to,
        }
        self._store.write(name, summary, arrays)

    def lists(self, name: str, number: int, senders: int, memory: int) -> None:
        """Lists of what leads to each node of a shard, from the moves of all shards that lead into it.

        Raises:
            BuildError: they are longer than `memory` allows.
        """
        low, length = self._range(number)
        places = np.zeros(length + 1, np.int64)
        count, write = kernels.count_sources(self._engine), kernels.list_sources(self._engine)
        names = [(sender, object_name("open", sender)) for sender in self._shards_in(senders)]
        for _, source in names:
            (targets,) = letter(self._store, source, number, 1)
            count(*views(self._engine, targets, places))
        total = int(places.sum())
        if (needed := 24 * total) > memory:  # if all of them are told in one round
            raise BuildError(
                f"{total} moves of {self._game.table_name} lead to indices from {low} to "
                f"{low + length - 1}: a task of them takes {sized(needed)} of memory, and may take "
                f"{sized(max(0, memory))}: expected workers with more memory, or a rule `predecessors`"
            )
        np.cumsum(places, out=places)
        sources = np.empty(total, np.uint32 if self._game.size <= 1 << 32 else np.int64)
        for sender, source in names:
            moves = letter(self._store, source, number)
            begin = int(self._bounds[sender])
            write(*views(self._engine, *moves), begin, *views(self._engine, places, sources))
        arrays = {"places": _paged(places), "sources": Stretch(sources, chunk=4 * _PAGE)}
        self._store.write(name, {}, arrays)

    def round(self, name: str, number: int, turn: int, before: int, senders: int) -> None:
        """Take in the letters of the round before, and tell the predecessors of what is settled.

        `before` is the last round in which the shard had letters, -1 if it had none.

        Raises:
            GameError: a rule breaks the contract.
        """
        state, cost = self._replayed(number, before)
        room = state.elements.nbytes // 4 - cost
        settled, taken = self._taken(number, turn, state, senders, room)
        told = self._told(number, state.elements, settled)
        bounds = [np.searchsorted(indices, self._bounds) for indices in told]
        parts = [*map(self._inside, told)]
        del told  # twice as long
        arrays, to = letters(parts, bounds)
        if taken is None:
            state.need_all()
            arrays["state"] = _paged(state.elements)
        else:
            arrays |= {"taken_won": Stretch(taken[0]), "taken_refuted": Stretch(taken[1])}
        summary = {"settled": len(settled), "to": to, "state": taken is None, "before": before}
        self._store.write(name, summary, arrays)

    def records(self, name: str, number: int, first: int, before: int) -> None:
        """What is known of the nodes of a shard; with symmetries they are classes, from `first` on."""
        state, _ = self._replayed(number, before)
        state.need_all()
        remoteness, codes = state.elements // UNIT, (state.elements % UNIT).astype(np.uint8)
        remoteness[codes == UNSETTLED] = 0
        codes[codes == UNSETTLED] = DRAW
        low, arrays = int(self._bounds[number]), {}
        if self._game.symmetries > 1:
            chosen = codes != NOT_A_POSITION
            arrays["chosen"] = Stretch(np.packbits(chosen, bitorder="little"))
            codes, remoteness = codes[chosen], remoteness[chosen]
            low = first
            if number == 0:  # and the record of all that is not a position
                low = 0
                codes, remoteness = (np.insert(array, 0, 0) for array in (codes, remoteness))
        arrays |= {OUTCOME: Stretch(codes, low), REMOTENESS: Stretch(remoteness, low)}
        summary = {
            "first": first,
            "counts": np.bincount(codes, minlength=WIN + 1).tolist(),
            "longest": int(remoteness.max(initial=0)),
        }
        self._store.write(name, summary, arrays)

    def classes(self, name: str, number: int) -> None:
        """The record of each index of a shard, with the outcomes of all of them.

        Raises:
            GameError: the symmetries break the contract.
        """
        low, length = self._range(number)
        found = np.empty(length, np.int64)
        kernels.find_representatives(self._engine)(*self._symmetry, low, *views(self._engine, found))
        order = np.argsort(found, kind="stable")
        found = found[order]
        classes = np.zeros(length, np.uint32)
        counts = np.zeros(WIN + 1, np.int64)
        places = np.searchsorted(found, self._bounds)
        for owner in np.flatnonzero(np.diff(places)).tolist():
            mine = slice(places[owner], places[owner + 1])
            source = object_name("records", owner)
            index = self._store.index(source)
            chosen = self._store.read(source, "chosen", index=index)
            chosen = np.unpackbits(chosen, bitorder="little")
            inside = found[mine] - self._bounds[owner]
            if not (same := chosen[inside]).all():
                raise broken_rule(self._game, low + int(order[mine][np.argmin(same)]))
            # Counted from 1, as ranks are; record 0 stands before those of the first shard.
            ranks = np.cumsum(chosen, dtype=np.uint32)[inside]
            classes[order[mine]] = ranks + np.uint32(index.summary["first"] - 1)
            codes = self._store.read(source, OUTCOME, index=index)
            counts += np.bincount(codes[ranks - (owner > 0)], minlength=WIN + 1)
        self._store.write(name, {"counts": counts.tolist()}, {CLASSES: Stretch(classes, low)})

    def bounds(self, name: str, bounds: Sequence[int]) -> None:
        """Where the records of each shard begin, and where the last end."""
        self._store.write(name, {}, {"bounds": Stretch(np.array(bounds, np.int64))})

    # --- what several of them do ------------------------------------------------------------------

    def _replayed(self, number: int, before: int) -> tuple[Sparse, int]:
        """The state of a shard after its last round so far, and what it cost to find it.

        It is that which was written last, and all that the shard was told since.
        """
        told = []
        cost = 0
        while "state" not in (index := self._store.index(name := round_name(before, number))).arrays:
            taken = [self._store.read(name, f"taken_{what}", index=index) for what in Told._fields]
            told.append((before, taken))
            cost += _AGAIN + sum(part.nbytes for part in taken)
            before = index.summary["before"]
        length = self._range(number)[1]
        state = Sparse(self._store, name, index, "state", length, np.uint32)
        settled = np.empty(length, np.uint32)
        for turn, taken in reversed(told):
            self._settle(state, turn, taken, settled, 0)
        return state, cost

    def _taken(
        self, number: int, turn: int, state: Sparse, senders: int, room: int
    ) -> tuple[NDArray[np.uint32], Told | None]:
        """The nodes that are settled by letters, and all letters in one if they fit into `room` bytes.

        Those that have ended are settled in the first round, 0, in which there are no letters.
        """
        if turn == 0:
            none = np.empty(0, np.uint32)
            state.need_all()
            codes = (state.elements % UNIT).astype(np.uint8)
            ended = np.flatnonzero((codes == LOSS) | (codes == WIN))
            return ended.astype(np.uint32), Told(none, none)
        settled = np.empty(len(state.elements), np.uint32)
        taken: list[list[NDArray[np.uint32]]] = []
        room -= _AGAIN
        count = 0
        for sender in self._shards_in(senders):
            parts = letter(self._store, round_name(turn - 1, sender), number)
            count = self._settle(state, turn, parts, settled, count)
            room -= sum(part.nbytes for part in parts)
            taken.append(parts)
            if room < 0:
                taken.clear()
        fits = room >= 0
        return np.sort(settled[:count]), Told(
            *map(np.concatenate, zip(*taken, strict=True))
        ) if fits else None

    def _settle(
        self,
        state: Sparse,
        turn: int,
        parts: Sequence[NDArray[np.uint32]],
        settled: NDArray[np.uint32],
        count: int,
    ) -> int:
        """Take in a letter; what it settles is added to the `count` in `settled`."""
        for part in parts:
            state.need(part)
        given = views(self._engine, *parts)
        there = views(self._engine, state.elements, settled)
        return int(kernels.settle(self._engine)(*given, turn, *there, count))

    def _told(self, number: int, state: NDArray[np.uint32], settled: NDArray[np.uint32]) -> Told:
        """What the settling of nodes means for their predecessors, as sorted indices."""
        game, engine, store = self._game, self._engine, self._store
        ends = np.zeros(2, np.int64)
        alone = game.players == 1
        if game.predecessors is not None:
            low = int(self._bounds[number])
            told = np.empty(len(settled) * game.max_predecessors, np.int64)
            ends[1] = len(told)
            wild = kernels.tell_predecessors(engine)(
                rule(game.predecessors, engine), *self._symmetry, game.size, game.max_predecessors,
                buffer(game.max_predecessors, engine), low, alone,
                *views(engine, state, settled, told, ends),
            )  # fmt: skip
            if wild >= 0:
                raise broken_rule(game, low + wild)
        else:
            name = object_name("lists", number)
            index = store.index(name)
            lists = Sparse(store, name, index, "places", len(state) + 1, np.int64)
            lists.need(settled)
            lists.need(settled + 1)
            places = lists.elements
            told = np.empty(int((places[settled + 1] - places[settled]).sum()), np.int64)
            ends[1] = len(told)
            tell = kernels.tell_sources(engine)
            for low, high in _pages_of(settled):
                some = settled[low:high]
                begin, end = int(places[some[0]]), int(places[some[-1] + 1])
                sources = store.read(name, "sources", begin, end, index)
                given = views(engine, places, sources)
                tell(*given, begin, alone, *views(engine, state, some, told, ends))
        won, refuted = told[: ends[0]], told[ends[1] :]
        won.sort()
        refuted.sort()
        once = np.ones(len(won), np.bool_)
        np.not_equal(won[1:], won[:-1], out=once[1:])
        return Told(won[once], refuted)

    def _shards_in(self, number: int) -> list[int]:
        return shards_in(number, len(self._bounds) - 1)

    def _inside(self, indices: NDArray[np.int64]) -> NDArray[np.uint32]:
        """Indices as places in the shards that they are in; what held them is used up."""
        return np.remainder(indices, self._shard, out=indices).astype(np.uint32)

    def _range(self, number: int) -> tuple[int, int]:
        """The first index of a shard, and its length."""
        low = int(self._bounds[number])
        return low, min(self._shard, self._game.size - low)


def _paged(elements: NDArray[Any]) -> Stretch:
    """An array whose chunks are pages."""
    return Stretch(elements, chunk=_PAGE * elements.itemsize)


def _runs(flags: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """The stretches of flags that are set."""
    edges = np.flatnonzero(np.diff(flags, prepend=False, append=False))
    return [(first, end) for first, end in edges.reshape(-1, 2).tolist()]


def _pages_of(settled: NDArray[np.uint32]) -> list[tuple[int, int]]:
    """Stretches of a sorted array that are in one page each."""
    pages = settled // _PAGE
    edges = np.flatnonzero(np.diff(pages)) + 1
    ends = [0, *edges.tolist(), len(settled)]
    return [(low, high) for low, high in pairwise(ends) if low < high]
