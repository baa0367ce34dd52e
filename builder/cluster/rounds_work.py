"""What a task of `rounds.py` does for its shard: read objects, call kernels, and leave an object."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from builder.cluster import rounds_kernels as kernels
from builder.cluster.objects import Stretch
from builder.cluster.rounds_kernels import DRAW, LOSS, NOT_A_POSITION, UNIT, UNSETTLED, WIN
from builder.compile import buffer, rule, views
from builder.conformance import broken_rule
from lookup.disk import sized
from lookup.errors import BuildError
from lookup.format import CHUNK_BYTES, CLASSES, OUTCOME, REMOTENESS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import DTypeLike, NDArray

    from builder.cluster.store import Store
    from builder.compile import Engine
    from lookup.games.base import Game

_PAGE = 1 << 14
"""Elements of an array of which only some stretches are read: a chunk of it holds as many."""

_LEAST_CHUNK = 1 << 10
_LETTER = 32 << 10
"""What it costs to read a letter, in bytes of a state that are written in that time; and so much more
for what is in it."""


def object_name(stage: str, number: int) -> str:
    """The name of the object that a stage leaves of a shard."""
    return f"{stage}/{number:06}"


def bits_of(mask: int) -> Iterator[int]:
    """The numbers of the bits that are set, from the lowest on."""
    while mask:
        lowest = mask & -mask
        yield lowest.bit_length() - 1
        mask ^= lowest


class Sparse:
    """An array of an object, of which those pages are read that are needed.

    The others hold zeros, which take no memory before somebody writes to them.
    """

    def __init__(self, store: Store, name: str, array: str, length: int, dtype: DTypeLike) -> None:
        self.elements: NDArray[Any] = np.zeros(length, dtype)
        self._store, self._name, self._array = store, name, array
        self._index = store.index(name)
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
    """What a shard tells others, as sorted indices: which are won, and which have a move refuted."""

    won: NDArray[np.int64]
    refuted: NDArray[np.int64]


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
        arrays = {"state": _paged(state)}
        places = np.zeros(len(self._bounds), np.int64)
        if listed:
            keys = keys[:count]
            keys.sort()
            places = np.searchsorted(keys, self._bounds * self._shard)
            arrays["places"] = _parted(places, 1)
            arrays["sources"] = _parted((keys % self._shard).astype(np.uint32), len(places))
            keys //= self._shard
            arrays["targets"] = _parted(self._inside(keys), len(places))
        codes = np.bincount(state % UNIT, minlength=UNIT)
        summary = {
            "nodes": length - int(codes[NOT_A_POSITION]),
            "ended": int(codes[LOSS] + codes[WIN]),
            "to": _mask(places),
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
        for sender in bits_of(senders):
            (targets,) = self._addressed("open", sender, number, "targets")
            count(*views(self._engine, targets, places))
        total = int(places.sum())
        if 24 * total > memory:
            raise BuildError(
                f"{total} moves of {self._game.table_name} lead to indices from {low} to "
                f"{low + length - 1}, too many for a task of {sized(memory)}: expected "
                "larger shards, or a rule `predecessors`"
            )
        np.cumsum(places, out=places)
        sources = np.empty(total, np.uint32 if self._game.size <= 1 << 32 else np.int64)
        for sender in bits_of(senders):
            moves = self._addressed("open", sender, number, "targets", "sources")
            begin = int(self._bounds[sender])
            write(*views(self._engine, *moves), begin, *views(self._engine, places, sources))
        arrays = {"places": _paged(places), "sources": Stretch(sources, chunk=4 * _PAGE)}
        self._store.write(name, {}, arrays)

    def round(self, name: str, number: int, history: Sequence[int]) -> None:
        """Take in the letters of the round before, and tell the predecessors of what is settled.

        `history` is the round after which the state was written last, 0 for the one after opening, and
        then each later round with letters, with a bit for each shard that wrote one.

        Raises:
            GameError: a rule breaks the contract.
        """
        state, settled, cost = self._replayed(number, history)
        told = self._told(number, state.elements, settled)
        places = [np.searchsorted(indices, self._bounds) for indices in told]
        won, refuted = map(self._inside, told)
        arrays = {
            "places": _parted(np.concatenate(places), 1),
            "won": _parted(won, len(self._bounds)),
            "refuted": _parted(refuted, len(self._bounds)),
        }
        pays = 4 * cost > state.elements.nbytes
        if pays:
            state.need_all()
            arrays["state"] = _paged(state.elements)
        summary = {"settled": len(settled), "to": _mask(*places), "state": pays}
        self._store.write(name, summary, arrays)

    def records(self, name: str, number: int, first: int, history: Sequence[int]) -> None:
        """What is known of the nodes of a shard; with symmetries they are classes, from `first` on."""
        state = self._replayed(number, history)[0]
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
        for owner in bits_of(int(_mask(places), 16)):
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
        self._store.write(name, {}, {"bounds": _parted(np.array(bounds, np.int64), 1)})

    # --- what several of them do ------------------------------------------------------------------

    def _replayed(self, number: int, history: Sequence[int]) -> tuple[Sparse, NDArray[np.uint32], int]:
        """The state of a shard, the nodes that the last round settled, and what it cost to read."""
        base, *later = history
        length = self._range(number)[1]
        stage = f"round-{base:04}" if base else "open"
        state = Sparse(self._store, object_name(stage, number), "state", length, np.uint32)
        if not later and not base:
            state.need_all()
            codes = (state.elements % UNIT).astype(np.uint8)
            return state, np.flatnonzero((codes == LOSS) | (codes == WIN)).astype(np.uint32), 0
        settle = kernels.settle(self._engine)
        settled = np.empty(length, np.uint32)
        count = cost = 0
        for turn, senders in zip(later[::2], later[1::2], strict=True):
            count = 0
            for sender in bits_of(senders):
                letters = self._addressed(f"round-{turn - 1:04}", sender, number, "won", "refuted")
                for letter in letters:
                    state.need(letter)
                    cost += letter.nbytes
                cost += _LETTER
                count = settle(
                    *views(self._engine, *letters), turn,
                    *views(self._engine, state.elements, settled), count,
                )  # fmt: skip
        return state, np.sort(settled[:count]), cost

    def _told(self, number: int, state: NDArray[np.uint32], settled: NDArray[np.uint32]) -> Told:
        """What the settling of nodes means for their predecessors."""
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
            lists = Sparse(store, name, "places", len(state) + 1, np.int64)
            lists.need(settled)
            lists.need(settled + 1)
            places = lists.elements
            told = np.empty(int((places[settled + 1] - places[settled]).sum()), np.int64)
            ends[1] = len(told)
            tell, index = kernels.tell_sources(engine), store.index(name)
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

    def _addressed(self, stage: str, sender: int, owner: int, *arrays: str) -> list[NDArray[Any]]:
        """What a shard wrote to another: of each array the stretch that `places` says.

        `places` holds bounds for each array in turn, or the same for all.
        """
        name, count = object_name(stage, sender), len(self._bounds)
        index = self._store.index(name)
        places = self._store.read(name, "places", index=index).reshape(-1, count)
        found = []
        for at, array in enumerate(arrays):
            begin, end = places[min(at, len(places) - 1), owner : owner + 2].tolist()
            found.append(self._store.read(name, array, begin, end, index))
        return found

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


def _parted(elements: NDArray[Any], parts: int) -> Stretch:
    """An array of which others read a part each: chunks about as large as that."""
    share = elements.nbytes // parts
    return Stretch(elements, chunk=min(CHUNK_BYTES, max(_LEAST_CHUNK, 1 << share.bit_length())))


def _mask(*places: NDArray[np.int64]) -> str:
    """A bit for each part that is not empty, as a hexadecimal number; `places` are where they begin."""
    some = np.logical_or.reduce([np.diff(bounds) > 0 for bounds in places])
    return np.packbits(some, bitorder="little")[::-1].tobytes().hex()


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
