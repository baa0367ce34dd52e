"""Outcome and remoteness follow from those after each move.

A win in r has a lost successor in r - 1 and none in less, a loss in r has only won successors, the
slowest in r - 1, a draw has a drawn successor and no lost one. A single player wins by one successor
that wins, and draws where there is none. Remoteness falls along these proofs, so wins and losses follow
by induction; from a draw the mover can always move to a draw and never has a win.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from builder.checks.check import CONTRADICTION, STRETCH, Check, Wrong, first_difference
from builder.compile import UNWRITTEN, Kernel, buffer, rule, views
from lookup.values import Outcome

if TYPE_CHECKING:
    from collections.abc import MutableSequence, Sequence

    from numpy.typing import NDArray

    from builder.compile import Engine
    from lookup.games.base import Game, IndexTest, Neighbours
    from lookup.records import Layout, Records

# Compiled code knows no enums.
LOSS, DRAW, WIN = int(Outcome.LOSS), int(Outcome.DRAW), int(Outcome.WIN)


def check(
    game: Game,
    layout: Layout,
    records: NDArray[np.unsignedinteger] | Records,
    engine: Engine,
    room: int = 0,
) -> Check:
    """The check of a table with records in this layout.

    If they are not an array in memory, each thread asks for up to `room` at a time, or for those after
    one position.
    """
    rules = [rule(one, engine) for one in (game.successors, game.terminal, game.is_position)]
    fixed = game.players == 1, layout.has_remoteness, int(game.stuck), game.max_moves, game.size
    expect, list_successors = _expect(engine), _list_successors(engine)
    most = STRETCH[engine]
    if not isinstance(records, np.ndarray):
        most = max(1, min(most, room // game.max_moves))

    def first_wrong(low: int, high: int) -> Wrong | None:
        out = buffer(game.max_moves, engine)
        if isinstance(records, np.ndarray):
            stored, where, known = records[low:high], np.zeros(0, np.int64), records
        else:
            stored = records.take(np.arange(low, high))
            after = np.empty((high - low) * game.max_moves, np.int64)
            count = list_successors(
                *rules, game.max_moves, game.size, low, high, out, *views(engine, after)
            )
            where = np.unique(after[:count])
            known = records.take(where)
        expected = np.zeros(high - low, np.int64)
        expect(*rules, *views(engine, where, known), *fixed, low, out, *views(engine, expected))
        return first_difference(low, stored, expected)

    return Check(first_wrong, most)


@Kernel
def _list_successors(
    successors: Neighbours,
    terminal: IndexTest,
    is_position: IndexTest,
    most: int,
    size: int,
    low: int,
    high: int,
    out: MutableSequence[int],
    after: MutableSequence[int],
) -> int:
    """Write all successors of a stretch of indices one after the other; returns how many they are."""
    count = 0
    for index in range(low, high):
        if is_position(index) and not terminal(index):
            for at in range(min(successors(index, out), most)):
                after[count] = min(max(out[at], 0), size - 1)  # what is no index is found out later
                out[at] = UNWRITTEN
                count += 1
    return count


@Kernel
def _expect(  # noqa: C901 - one loop over moves; helpers would cost more than it does
    successors: Neighbours,
    terminal: IndexTest,
    is_position: IndexTest,
    where: Sequence[int],
    known: Sequence[int],
    alone: bool,
    with_remoteness: bool,
    stuck: int,
    most: int,
    size: int,
    low: int,
    out: MutableSequence[int],
    expected: MutableSequence[int],
) -> None:
    """Write the records that indices from `low` on must have if those of their successors are right.

    `known` are the records of the indices in `where`, which rise; of all, if `where` is empty.
    """
    wins_for_mover = WIN if alone else LOSS
    for at in range(len(expected)):
        index = low + at
        if is_position(index) == 0:
            continue
        end = terminal(index)
        if end:
            expected[at] = end if with_remoteness else end & 3
            if end & 3 == 0:
                expected[at] = CONTRADICTION
            continue
        quickest = slowest = -1
        drawn = contradicted = False
        count = successors(index, out)
        if count == 0:
            expected[at] = stuck
            continue
        if not 0 < count <= most:
            expected[at] = CONTRADICTION
            continue
        for move in range(count):
            to = out[move]
            out[move] = UNWRITTEN
            if not 0 <= to < size:
                contradicted = True
                continue
            # To numba, a sum of unsigned and signed is signed, and wide.
            after = known[_place(where, to)] + 0
            outcome, remoteness = after & 3, after >> 2
            if outcome == wins_for_mover:
                quickest = remoteness if quickest < 0 else min(quickest, remoteness)
            elif outcome == DRAW or (alone and outcome == LOSS):
                drawn = True
            elif outcome == WIN:
                slowest = max(slowest, remoteness)
            else:
                contradicted = True
        if contradicted:
            expected[at] = CONTRADICTION
        elif quickest < 0 and drawn:
            expected[at] = DRAW
        else:
            outcome, remoteness = (WIN, quickest + 1) if quickest >= 0 else (LOSS, slowest + 1)
            expected[at] = remoteness << 2 | outcome if with_remoteness else outcome


def _place(where: Sequence[int], index: int) -> int:
    """Where an index stands among rising ones that have it; the index itself if there are none."""
    if len(where) == 0:
        return index
    low, high = 0, len(where) - 1
    while low < high:
        middle = (low + high) >> 1
        if where[middle] < index:
            low = middle + 1
        else:
            high = middle
    return low
