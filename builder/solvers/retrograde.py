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
from typing import TYPE_CHECKING

import numpy as np

from builder.compile import Engine, Kernel, buffer, rule
from builder.solvers.solution import (
    Report,
    Solution,
    packed_classes,
    packed_outcome,
    packed_remoteness,
    silent,
    slices,
)
from lookup.errors import GameError
from lookup.format import Totals
from lookup.values import Outcome

if TYPE_CHECKING:
    from collections.abc import Callable, MutableSequence

    from numpy.typing import NDArray

    from lookup.games.base import Game, IndexTest, Neighbours, Transform

# Compiled code knows no enums.
NOT_A_POSITION, LOSS, DRAW, WIN = map(int, Outcome)
UNSETTLED = 255
LARGEST = 2**31 - 1
_SLICE = 1 << 18  # nodes between two reports


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
        # Where each number occurs first; 0 occurs only if there are holes, and has no representative.
        numbers, first = np.unique(classes, return_index=True)
        return cls(count, classes, np.concatenate([[-1], first[numbers > 0]]))


def solve(game: Game, engine: Engine, report: Report = silent) -> Solution:
    """Outcome and remoteness of every index or, if the game has symmetries, of every class.

    Raises:
        GameError: the game is too large for this solver, or breaks the contract.
    """
    if game.size > LARGEST or game.max_moves > np.iinfo(np.uint16).max:
        raise GameError(f"{game.table_name} is too large: at most {LARGEST} indices, 65535 moves each")
    nodes = Nodes.of(game, engine)
    outcome, remoteness = _settle(game, nodes, engine, report)
    weights = np.bincount(nodes.classes, minlength=nodes.count) if game.symmetries > 1 else None
    counts = np.bincount(outcome, weights, minlength=WIN + 1).astype(np.int64).tolist()
    longest = int(remoteness.max())
    columns = [packed_outcome(outcome), packed_remoteness(remoteness, longest)]
    if game.symmetries > 1:
        columns.append(packed_classes(nodes.classes.view(np.uint32), nodes.count))
    totals = Totals((counts[LOSS], counts[DRAW], counts[WIN]), longest)
    return Solution(tuple(columns), totals)


def memory_needed(game: Game) -> int:
    """Bytes that `solve` takes at its peak, supposing the most moves and no two alike positions."""
    of_a_move = 0 if game.predecessors else 4
    of_a_class = 0 if game.symmetries == 1 else 24
    return game.size * (24 + of_a_class + of_a_move * game.max_moves)


def _settle(
    game: Game, nodes: Nodes, engine: Engine, report: Report
) -> tuple[NDArray[np.uint8], NDArray[np.uint32]]:
    """The outcome and the remoteness of every node."""
    outcome = np.full(nodes.count, UNSETTLED, np.uint8)
    unrefuted = np.zeros(nodes.count, np.uint16)
    steps = _steps(nodes.count, 2 if game.predecessors else 3, report)
    places, sources = _prepare_nodes(game, nodes, engine, outcome, unrefuted, steps)

    # Every node enters the queue once, in the order of remoteness.
    queue = np.zeros(nodes.count, np.uint32)
    ended = np.flatnonzero((outcome == LOSS) | (outcome == WIN))
    queue[: len(ended)] = ended
    predecessors = rule(game.predecessors or game.successors, engine)
    out = buffer(max(game.max_predecessors, game.max_moves), engine)
    propagate = _propagate(engine)
    remoteness = np.zeros(nodes.count, np.uint32)
    low, end = 0, len(ended)
    while low < end:
        end = propagate(
            predecessors, nodes.classes, nodes.representatives, places, sources,
            game.players == 1, queue, low, _SLICE, end, out, outcome, unrefuted, remoteness,
        )  # fmt: skip
        passed = min(_SLICE, end - low)
        steps(passed)
        low += passed
    steps(nodes.count - end)
    outcome[outcome == UNSETTLED] = DRAW
    return outcome, remoteness


def _steps(nodes: int, passes: int, report: Report) -> Callable[[int], None]:
    """A function to tell how many nodes more have been passed, of all nodes in all passes."""
    done = 0

    def steps(more: int) -> None:
        nonlocal done
        done += more
        report(done, nodes * passes)

    return steps


def _prepare_nodes(
    game: Game,
    nodes: Nodes,
    engine: Engine,
    outcome: NDArray[np.uint8],
    unrefuted: NDArray[np.uint16],
    steps: Callable[[int], None],
) -> tuple[NDArray[np.int64], NDArray[np.uint32]]:
    """Settle the ended nodes, count the moves of the others, and list their moves turned round.

    The list is empty if the game has predecessors of its own; else the predecessors of node v are
    `sources[places[v] : places[v + 1]]`.
    """
    listed = game.predecessors is None
    successors = rule(game.successors, engine)
    tests = rule(game.terminal, engine), rule(game.is_position, engine)
    out = buffer(game.max_moves, engine)
    places = np.zeros(nodes.count + 1 if listed else 0, np.int64)
    sources = np.zeros(0, np.uint32)
    walk = (nodes.classes, nodes.representatives, out)
    open_nodes, list_sources = _open_nodes(engine), _list_sources(engine)
    for low, high in slices(0, nodes.count, _SLICE):
        wild = open_nodes(successors, *tests, *walk, low, high, outcome, unrefuted, places)
        if wild >= 0:
            raise GameError(f"index {wild} of {game.table_name} has a successor that is no index")
        steps(high - low)
    stuck = np.flatnonzero((outcome == UNSETTLED) & (unrefuted == 0))
    if len(stuck):
        index = int(nodes.representatives[stuck[0]] if len(nodes.classes) else stuck[0])
        problem = f"index {index} of {game.table_name} has no moves, yet terminal says it goes on"
        raise GameError(problem)
    if listed:
        np.cumsum(places, out=places)
        sources = np.zeros(int(places[-1]), np.uint32)
        for low, high in slices(0, nodes.count, _SLICE):
            list_sources(successors, *walk, low, high, outcome, places, sources)
            steps(high - low)
    return places, sources


# --- kernels --------------------------------------------------------------------------------------


@Kernel
def _number_classes(
    is_position: IndexTest, transform: Transform, symmetries: int, classes: NDArray[np.int32]
) -> int:
    """Number the classes from 1; 0 stays for what is not a position. Returns one past the last."""
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
        else:
            classes[index] = classes[smallest]
    return count


def _class_neighbours(
    step: Neighbours,
    classes: NDArray[np.int32],
    representatives: NDArray[np.int64],
    node: int,
    out: MutableSequence[int],
) -> int:
    """The classes a step away from a class, each once.

    Kernels call rules directly where nodes are indices: this detour would cost more than many a rule.
    """
    found = 0
    for at in range(step(int(representatives[node]), out)):
        neighbour = int(classes[out[at]])
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
    out: MutableSequence[int],
    low: int,
    high: int,
    outcome: NDArray[np.uint8],
    unrefuted: NDArray[np.uint16],
    places: NDArray[np.int64],
) -> int:
    """Settle what has ended; count the moves out of the rest and, if asked to, into each node.

    Returns a node whose successors are out of range, or -1: compiled code must not follow them.
    """
    for node in range(low, high):
        index = int(representatives[node]) if len(classes) else node
        if index < 0 or is_position(index) == 0:
            outcome[node] = NOT_A_POSITION
            continue
        end = terminal(index)
        if end:
            outcome[node] = end
            continue
        if len(classes):
            count = _class_neighbours(successors, classes, representatives, node, out)
        else:
            count = successors(node, out)
            for at in range(count):
                if not 0 <= out[at] < len(outcome):
                    return node
        unrefuted[node] = count
        if len(places):
            for at in range(count):
                places[out[at]] += 1
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
    places: NDArray[np.int64],
    sources: NDArray[np.uint32],
) -> None:
    """Write each node to the lists of the nodes it moves to, last place first.

    `places` holds where each list ends at the start, and where it begins at the end.
    """
    for node in range(low, high):
        if outcome[node] != UNSETTLED:
            continue
        if len(classes):
            count = _class_neighbours(successors, classes, representatives, node, out)
        else:
            count = successors(node, out)
        for at in range(count):
            places[out[at]] -= 1
            sources[places[out[at]]] = node


@Kernel
def _propagate(
    predecessors: Neighbours,
    classes: NDArray[np.int32],
    representatives: NDArray[np.int64],
    places: NDArray[np.int64],
    sources: NDArray[np.uint32],
    alone: bool,
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

    Returns the new end of the queue. Nodes that are added on the way are among those told: rounds are
    often short, and a call costs as much as hundreds of nodes.
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
            begin, count = places[node], places[node + 1] - places[node]
        elif len(classes):
            count = _class_neighbours(predecessors, classes, representatives, node, out)
        else:
            count = predecessors(node, out)
        for which in range(count):
            source = int(sources[begin + which]) if len(places) else out[which]
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
