"""Solve any finite game of two players, endless play being a draw, backwards from where it ends.

A *node* is what gets a record: an index, or a symmetry class of indices. Ended nodes are settled
first. Then settled nodes, in their order, settle others: a node with a move to a lost node is won; a
node whose moves all lead to won nodes is lost, which a counter of moves not yet refuted tells. Its
remoteness is one more than that of the node that settled it, since a winner takes the first loss to
appear and a loser keeps the last win. What is never settled is a draw. A single player needs one move
to a won node, and nothing refutes it.

Predecessors come from the game if it has them. Otherwise all moves are listed once and turned round
(four bytes a move). Between classes, neighbours are counted once each however many moves lead there:
a class has a move to another if and only if its representative has.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from builder.compile import UNWRITTEN, Engine, Kernel, buffer, rule
from builder.conformance import broken_rule
from builder.solvers.plan import Piece, Plan, Shard, chain
from builder.solvers.solution import (
    Solution,
    is_narrow,
    packed_classes,
    packed_outcome,
    packed_remoteness,
    slices,
)
from builder.workers import cores
from lookup.errors import GameError
from lookup.format import Totals
from lookup.values import Outcome

if TYPE_CHECKING:
    from collections.abc import Iterator, MutableSequence, Sequence

    from numpy.typing import NDArray

    from lookup.games.base import Game, IndexTest, Neighbours, Transform

# Compiled code knows no enums.
NOT_A_POSITION, LOSS, DRAW, WIN = map(int, Outcome)
UNSETTLED = 255
LARGEST = 2**31 - 1
OPEN, LIST, QUEUE = 0, 1, 2  # stages
_SLICE = 1 << 18  # nodes in a shard


@dataclass(frozen=True)
class Nodes:
    """What gets a record. Without symmetries a node is an index and both arrays are empty.

    With symmetries, node 0 stands for the indices that are not positions, and classes are numbered
    from 1 in the order of their smallest index, their representative.
    """

    count: int
    classes: NDArray[np.int32]
    representatives: NDArray[np.int64]

    @classmethod
    def of(cls, game: Game, engine: Engine) -> Nodes:
        """The nodes of a game."""
        if game.symmetries == 1:
            return cls(game.size, np.zeros(0, np.int32), np.zeros(0, np.int64))
        classes = np.zeros(game.size, np.int32)
        count = _number_classes(engine)(
            rule(game.is_position, engine), rule(game.transform, engine), game.symmetries, classes
        )
        if count < 0:
            raise broken_rule(game, -1 - count)
        # Where each number occurs first; 0 occurs only if there are holes, and has no representative.
        numbers, first = np.unique(classes, return_index=True)
        return cls(count, classes, np.concatenate([[-1], first[numbers > 0]]))


class RetrogradePlan(Plan):
    """Outcome and remoteness of every index or, if the game has symmetries, of every class.

    The first stage opens ranges of nodes: it settles what has ended and counts the moves of the rest.
    The second, for games without predecessors, lists moves turned round, for ranges of where they lead.
    Then a stretch of the queue is a stage; the plan finds its place there again by `cursor`: the stage,
    and where the queue begins and ends.
    """

    settles: ClassVar[bool] = False

    def __init__(self, game: Game, engine: Engine) -> None:
        if game.size > LARGEST or game.max_moves > np.iinfo(np.uint16).max:
            limit = f"at most {LARGEST} indices, 65535 moves each"
            raise GameError(f"{game.table_name} is too large: {limit}")
        self._game, self._engine = game, engine
        self._nodes = Nodes.of(game, engine)
        count = self._nodes.count
        listed = game.predecessors is None
        self.parallel = engine == Engine.NUMBA
        self.total = count * (3 if listed else 2)
        # Half the bytes are half the cache misses, and these are what listing moves costs.
        places_type = np.uint32 if count * game.max_moves < 1 << 32 else np.uint64
        self.arrays = {
            "cursor": np.array([OPEN, 0, 0], np.int64),
            "outcome": np.full(count, UNSETTLED, np.uint8),
            "unrefuted": np.zeros(count, np.uint16),
            "remoteness": np.zeros(count, np.uint32),
            # Every node enters the queue once, in the order of remoteness.
            "queue": np.zeros(count, np.uint32),
            # The predecessors of node v are sources[places[v] : places[v + 1]], if they are listed.
            "places": np.zeros(count + 1 if listed else 0, places_type),
            "sources": np.zeros(count * game.max_moves if listed else 0, np.uint32),
        }
        self._rules = rule(game.successors, engine), rule(game.predecessors or game.successors, engine)
        self._tests = rule(game.terminal, engine), rule(game.is_position, engine)

    def stages(self) -> Iterator[Sequence[Shard]]:
        """Open, list, and go through the queue, from where the cursor says."""
        cursor, count = self.arrays["cursor"], self._nodes.count
        listed = self._game.predecessors is None
        if cursor[0] == OPEN:
            # Counting the moves into a node is not for several threads at once.
            yield chain(slices(0, count, _SLICE), ()) if listed else _apart(count, _SLICE)
            np.cumsum(self.arrays["places"], out=self.arrays["places"])
            cursor[0] = LIST
        if cursor[0] == LIST:
            if listed:
                yield _apart(count, -(-count // (cores() if self.parallel else 1)))
            outcome = self.arrays["outcome"]
            ended = np.flatnonzero((outcome == LOSS) | (outcome == WIN))
            self.arrays["queue"][: len(ended)] = ended
            cursor[:] = QUEUE, 0, len(ended)
        while cursor[1] < cursor[2]:
            low = int(cursor[1])
            yield [Shard(low, low + _SLICE, min(_SLICE, int(cursor[2]) - low))]

    def run(self, shard: Shard) -> None:
        """One range of nodes, or one stretch of the queue.

        Raises:
            GameError: a rule breaks the contract.
        """
        arrays, nodes, engine = self.arrays, self._nodes, self._engine
        successors, predecessors = self._rules
        out = buffer(max(self._game.max_predecessors, self._game.max_moves), engine)
        cursor, outcome, unrefuted = arrays["cursor"], arrays["outcome"], arrays["unrefuted"]
        walk = nodes.classes, nodes.representatives
        places, sources = arrays["places"], arrays["sources"]
        if cursor[0] == OPEN:
            wild = _open_nodes(engine)(
                successors, *self._tests, *walk, int(self._game.stuck), self._game.max_moves,
                out, shard.low, shard.high, outcome, unrefuted, places,
            )  # fmt: skip
            if wild >= 0:
                raise broken_rule(self._game, self._index(wild))
        elif cursor[0] == LIST:
            wild = _list_sources(engine)(
                successors, *walk, out, shard.low, shard.high, outcome, places, sources
            )
            if wild >= 0:
                raise broken_rule(self._game, self._index(wild))
        else:
            low, end = int(cursor[1]), int(cursor[2])
            end = _propagate(engine)(
                predecessors, *walk, places, sources, self._game.players == 1,
                self._game.max_predecessors, arrays["queue"],
                low, _SLICE, end, out, outcome, unrefuted, arrays["remoteness"],
            )  # fmt: skip
            if end < 0:
                raise broken_rule(self._game, self._index(-1 - end))
            cursor[1:] = min(low + _SLICE, end), end

    def state(self) -> Sequence[Piece]:
        """All arrays, of the lists only what is used."""
        used = int(self.arrays["places"][-1]) if len(self.arrays["places"]) else 0
        lengths = {name: len(array) for name, array in self.arrays.items()} | {"sources": used}
        return [Piece(name, 0, length) for name, length in lengths.items()]

    def solution(self) -> Solution:
        """What is not settled is a draw."""
        outcome, remoteness = self.arrays["outcome"], self.arrays["remoteness"]
        outcome[outcome == UNSETTLED] = DRAW
        counts = np.zeros(UNSETTLED + 1, np.int64)
        for low, high in slices(0, self._game.size, _SLICE):
            some = outcome[low:high]
            if self._game.symmetries > 1:
                some = outcome[self._nodes.classes[low:high]]
            counts += np.bincount(some, minlength=UNSETTLED + 1)
        longest = int(remoteness.max())
        totals = Totals((int(counts[LOSS]), int(counts[DRAW]), int(counts[WIN])), longest)
        # Record 0 of a table with classes is no position.
        narrow = self._game.symmetries == 1 and is_narrow(totals, self._game.size)
        columns = [packed_outcome(outcome, narrow=narrow), packed_remoteness(remoteness, longest)]
        if self._game.symmetries > 1:
            columns.append(packed_classes(self._nodes.classes.view(np.uint32), self._nodes.count))
        return Solution(tuple(columns), totals)

    def _index(self, node: int) -> int:
        """An index that a node stands for."""
        return int(self._nodes.representatives[node]) if len(self._nodes.classes) else node


def _apart(count: int, step: int) -> list[Shard]:
    """Shards that do not need each other: a range of nodes each."""
    return [Shard(low, high, high - low) for low, high in slices(0, count, step)]


def memory_needed(game: Game, engine: Engine) -> int:  # noqa: ARG001 - the same for both
    """Bytes that a plan takes at its peak, supposing the most moves and no two alike positions."""
    of_a_move = 0 if game.predecessors else 4
    of_a_class = 0 if game.symmetries == 1 else 28
    # 11 bytes of state, 8 of places; and the ended nodes are listed once, in 8 bytes each.
    return game.size * (28 + of_a_class + of_a_move * game.max_moves)


# --- kernels --------------------------------------------------------------------------------------


@Kernel
def _number_classes(
    is_position: IndexTest, transform: Transform, symmetries: int, classes: NDArray[np.int32]
) -> int:
    """Number the classes from 1; 0 stays for what is not a position. Returns one past the last.

    -1 - n if symmetry breaks the contract at index n.
    """
    count = 1
    for index in range(len(classes)):
        if is_position(index) == 0:
            continue
        smallest = index
        for k in range(1, symmetries):
            smallest = min(smallest, transform(index, k))
        if smallest == index:
            classes[index] = count
            count += 1
        elif smallest >= 0 and classes[smallest]:
            classes[index] = classes[smallest]
        else:
            return -1 - index
    return count


def _class_neighbours(
    step: Neighbours,
    classes: NDArray[np.int32],
    representatives: NDArray[np.int64],
    node: int,
    most: int,
    out: MutableSequence[int],
) -> int:
    """The classes a step away from a class, each once; -1 if what the rule lists is no index.

    Kernels call rules directly where nodes are indices: this detour would cost more than many a rule.
    """
    found = 0
    count = step(int(representatives[node]), out)
    if not 0 <= count <= most:
        return -1
    for at in range(count):
        index = out[at]
        out[at] = UNWRITTEN
        if not 0 <= index < len(classes):
            return -1
        neighbour = int(classes[index])
        known = False
        for before in range(found):
            if out[before] == neighbour:
                known = True
                break
        if not known:
            out[found] = neighbour
            found += 1
    return found


@Kernel
def _open_nodes(
    successors: Neighbours,
    terminal: IndexTest,
    is_position: IndexTest,
    classes: NDArray[np.int32],
    representatives: NDArray[np.int64],
    stuck: int,
    most: int,
    out: MutableSequence[int],
    low: int,
    high: int,
    outcome: NDArray[np.uint8],
    unrefuted: NDArray[np.uint16],
    places: NDArray[np.unsignedinteger],
) -> int:
    """Settle what has ended; count the moves out of the rest and, if asked to, into each node.

    Returns a node whose rules break the contract, or -1: compiled code must not follow them.
    """
    for node in range(low, high):
        index = int(representatives[node]) if len(classes) else node
        if index < 0 or is_position(index) == 0:
            outcome[node] = NOT_A_POSITION
            continue
        end = terminal(index)
        if not 0 <= end <= WIN:
            return node
        if end:
            outcome[node] = end
            continue
        if len(classes):
            count = _class_neighbours(successors, classes, representatives, node, most, out)
        else:
            count = successors(node, out)
        if not 0 <= count <= most:
            return node
        for at in range(count):
            if not 0 <= out[at] < len(outcome):
                return node
        if count == 0:
            outcome[node] = stuck
            continue
        unrefuted[node] = count
        for at in range(count):
            if len(places):
                places[out[at]] += 1
            out[at] = UNWRITTEN  # a rule that counts what it has not written is found out
    return -1


@Kernel
def _list_sources(
    successors: Neighbours,
    classes: NDArray[np.int32],
    representatives: NDArray[np.int64],
    out: MutableSequence[int],
    low: int,
    high: int,
    outcome: NDArray[np.uint8],
    places: NDArray[np.unsignedinteger],
    sources: NDArray[np.uint32],
) -> int:
    """Write each node to the lists of the nodes from `low` to before `high` that it moves to.

    `places` holds where each list ends at the start, and where it begins at the end. Threads share the
    lists, not the nodes: all moves are made once by each, which takes less time than to write them.
    Returns a node whose moves are others than before, or -1.
    """
    for node in range(len(outcome)):
        if outcome[node] != UNSETTLED:
            continue
        if len(classes):
            count = _class_neighbours(successors, classes, representatives, node, len(out), out)
        else:
            count = successors(node, out)
        for at in range(count):
            target = out[at]
            out[at] = UNWRITTEN
            if low <= target < high:
                if places[target] == 0:
                    return node
                places[target] -= 1
                sources[places[target]] = node
    return -1


@Kernel
def _propagate(
    predecessors: Neighbours,
    classes: NDArray[np.int32],
    representatives: NDArray[np.int64],
    places: NDArray[np.unsignedinteger],
    sources: NDArray[np.uint32],
    alone: bool,
    most_sources: int,
    queue: NDArray[np.uint32],
    low: int,
    most: int,
    end: int,
    out: MutableSequence[int],
    outcome: NDArray[np.uint8],
    unrefuted: NDArray[np.uint16],
    remoteness: NDArray[np.uint32],
) -> int:
    """Tell the predecessors of up to `most` nodes of the queue, from place `low` on.

    Returns the new end of the queue, or -1 - n if the rules break the contract at node n. Nodes that
    are added on the way are among those told: rounds are often short, and a call costs as much as
    hundreds of nodes.
    """
    at = low - 1
    while at + 1 < min(end, low + most):
        at += 1
        node = int(queue[at])
        wins_for_mover = outcome[node] == (WIN if alone else LOSS)
        if alone and not wins_for_mover:
            continue
        begin = 0
        if len(places):
            begin = int(places[node])
            count = int(places[node + 1]) - begin
        elif len(classes):
            count = _class_neighbours(predecessors, classes, representatives, node, most_sources, out)
        else:
            count = predecessors(node, out)
        if len(places) == 0 and not 0 <= count <= most_sources:
            return -1 - node
        for which in range(count):
            if len(places):
                source = int(sources[begin + which])
            else:
                source = out[which]
                out[which] = UNWRITTEN
                if not 0 <= source < len(outcome):
                    return -1 - node
            if outcome[source] != UNSETTLED:
                continue
            if wins_for_mover:
                outcome[source] = WIN
            else:
                unrefuted[source] -= 1
                if unrefuted[source]:
                    continue
                outcome[source] = LOSS
            remoteness[source] = remoteness[node] + 1
            queue[end] = source
            end += 1
    return end
