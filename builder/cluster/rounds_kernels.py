"""The loops of `rounds.py`: what is done to the nodes of one shard.

A node is an index or, if the game has symmetries, a class of indices, named by its smallest one, the
representative. A shard holds one number for each of its indices: 8 times a count, plus a code. The code
is that of an `Outcome`, or `UNSETTLED`; the count is the remoteness of what is settled, and of the rest
the moves not yet refuted. Indices that are no representatives count as no positions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from builder.compile import UNWRITTEN, Kernel
from lookup.values import Outcome

if TYPE_CHECKING:
    from collections.abc import MutableSequence

    import numpy as np
    from numpy.typing import NDArray

    from lookup.games.base import IndexTest, Neighbours, Transform

# Compiled code knows no enums.
NOT_A_POSITION, LOSS, DRAW, WIN = map(int, Outcome)
UNSETTLED = 4
UNIT = 8  # one, in the count

HOLE, WILD = -1, -2  # in the place of a representative: no position; a symmetry breaks the contract


def _representative(is_position: IndexTest, transform: Transform, symmetries: int, index: int) -> int:
    """The smallest index that is the same but for a symmetry; `HOLE` or `WILD` if there is none."""
    if is_position(index) == 0:
        return HOLE
    smallest = index
    for k in range(1, symmetries):
        smallest = min(smallest, transform(index, k))
    return smallest if smallest >= 0 else WILD


def _neighbours(
    step: Neighbours,
    is_position: IndexTest,
    transform: Transform,
    symmetries: int,
    size: int,
    most: int,
    index: int,
    out: MutableSequence[int],
) -> int:
    """The nodes a step away, each once; -1 if what the rule lists is no index, or too much.

    Classes that are no positions are one node, `HOLE`.
    """
    count = step(index, out)
    if not 0 <= count <= most:
        return -1
    found = 0
    for at in range(count):
        after = out[at]
        if not 0 <= after < size:
            return -1
        if symmetries == 1:
            continue
        out[at] = UNWRITTEN
        after = _representative(is_position, transform, symmetries, after)
        if after == WILD:
            return -1
        known = False
        for before in range(found):
            if out[before] == after:
                known = True
                break
        if not known:
            out[found] = after
            found += 1
    return count if symmetries == 1 else found


@Kernel
def open_nodes(
    successors: Neighbours,
    terminal: IndexTest,
    is_position: IndexTest,
    transform: Transform,
    symmetries: int,
    stuck: int,
    size: int,
    most: int,
    out: MutableSequence[int],
    low: int,
    width: int,
    state: NDArray[np.uint32],
    keys: NDArray[np.int64],
) -> int:
    """Settle what has ended and count the moves of the rest, of the indices from `low` on.

    If `keys` has room, each move is put there: `width` times the index where it leads, plus the place
    in the shard from where. Returns how many; or -1 - n if the rules break the contract at place n,
    since compiled code must not follow them.
    """
    moves = 0
    for place in range(len(state)):
        index = low + place
        state[place] = NOT_A_POSITION
        if is_position(index) == 0:
            continue
        if symmetries > 1:
            smallest = _representative(is_position, transform, symmetries, index)
            if smallest == WILD or is_position(smallest) == 0:
                return -1 - place
            if smallest != index:
                continue
        end = terminal(index)
        if not 0 <= end <= WIN:
            return -1 - place
        if end:
            state[place] = end
            continue
        count = _neighbours(successors, is_position, transform, symmetries, size, most, index, out)
        if count < 0:
            return -1 - place
        state[place] = UNIT * count + UNSETTLED if count else stuck
        for at in range(count):
            if len(keys) and out[at] != HOLE:
                keys[moves] = out[at] * width + place
                moves += 1
            out[at] = UNWRITTEN  # a rule that counts what it has not written is found out
    return moves


@Kernel
def count_sources(targets: NDArray[np.uint32], places: NDArray[np.int64]) -> int:
    """Count the moves to each node."""
    for at in range(len(targets)):
        places[targets[at]] += 1
    return 0


@Kernel
def list_sources(
    targets: NDArray[np.uint32],
    origins: NDArray[np.uint32],
    low: int,
    places: NDArray[np.int64],
    sources: NDArray[np.unsignedinteger],
) -> int:
    """Write moves to the lists of the nodes they lead to; they come from the shard that is at `low`.

    `places` holds where each list ends at the start, and where it begins when all moves are written.
    """
    for at in range(len(targets)):
        target = targets[at]
        places[target] -= 1
        sources[places[target]] = low + origins[at]
    return 0


@Kernel
def settle(
    won: NDArray[np.uint32],
    refuted: NDArray[np.uint32],
    plies: int,
    state: NDArray[np.uint32],
    settled: NDArray[np.uint32],
    count: int,
) -> int:
    """Settle the nodes that are won, and those that have no move left that is not refuted.

    They are added to the `count` in `settled`; returns how many there are then.
    """
    for at in range(len(won)):
        place = won[at]
        if state[place] % UNIT == UNSETTLED:
            state[place] = UNIT * plies + WIN
            settled[count] = place
            count += 1
    for at in range(len(refuted)):
        place = refuted[at]
        if state[place] % UNIT == UNSETTLED:
            state[place] -= UNIT
            if state[place] < UNIT:
                state[place] = UNIT * plies + LOSS
                settled[count] = place
                count += 1
    return count


@Kernel
def tell_predecessors(
    predecessors: Neighbours,
    is_position: IndexTest,
    transform: Transform,
    symmetries: int,
    size: int,
    most: int,
    out: MutableSequence[int],
    low: int,
    alone: bool,
    state: NDArray[np.uint32],
    settled: NDArray[np.uint32],
    told: NDArray[np.int64],
    ends: NDArray[np.int64],
) -> int:
    """Put the predecessors of settled nodes into `told`.

    Those that win by it stand before `ends[0]`, those of which a move is refuted from `ends[1]` on.
    Returns a place whose rules break the contract, or -1.
    """
    for at in range(len(settled)):
        place = settled[at]
        wins_for_mover = state[place] % UNIT == (WIN if alone else LOSS)
        if alone and not wins_for_mover:
            continue
        count = _neighbours(
            predecessors, is_position, transform, symmetries, size, most, low + place, out
        )
        if count < 0:
            return int(place)
        for which in range(count):
            if out[which] != HOLE:
                if wins_for_mover:
                    told[ends[0]] = out[which]
                    ends[0] += 1
                else:
                    ends[1] -= 1
                    told[ends[1]] = out[which]
            out[which] = UNWRITTEN
    return -1


@Kernel
def tell_sources(
    places: NDArray[np.int64],
    sources: NDArray[np.unsignedinteger],
    begin: int,
    alone: bool,
    state: NDArray[np.uint32],
    settled: NDArray[np.uint32],
    told: NDArray[np.int64],
    ends: NDArray[np.int64],
) -> int:
    """As `tell_predecessors`, from the lists; `sources` holds what they hold from `begin` on."""
    for at in range(len(settled)):
        place = settled[at]
        wins_for_mover = state[place] % UNIT == (WIN if alone else LOSS)
        if alone and not wins_for_mover:
            continue
        for source in range(places[place], places[place + 1]):
            if wins_for_mover:
                told[ends[0]] = sources[source - begin]
                ends[0] += 1
            else:
                ends[1] -= 1
                told[ends[1]] = sources[source - begin]
    return -1


@Kernel
def find_representatives(
    is_position: IndexTest,
    transform: Transform,
    symmetries: int,
    low: int,
    found: NDArray[np.int64],
) -> int:
    """The representative of each index from `low` on, or `HOLE`."""
    for place in range(len(found)):
        found[place] = _representative(is_position, transform, symmetries, low + place)
    return 0
