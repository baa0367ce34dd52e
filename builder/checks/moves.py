"""Outcome and remoteness follow from those after each move.

A win in r has a lost successor in r - 1 and none in less, a loss in r has only won successors, the
slowest in r - 1, a draw has a drawn successor and no lost one. A single player wins by one successor
that wins, and draws where there is none. Remoteness falls along these proofs, so wins and losses follow
by induction; from a draw the mover can always move to a draw and never has a win.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from builder.checks.check import CONTRADICTION, Check
from builder.compile import Engine, Kernel, buffer, rule, views
from lookup.values import Outcome

if TYPE_CHECKING:
    from collections.abc import MutableSequence, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from lookup.games.base import Game, IndexTest, Neighbours
    from lookup.records import Layout

# Compiled code knows no enums.
LOSS, DRAW, WIN = int(Outcome.LOSS), int(Outcome.DRAW), int(Outcome.WIN)


def check(game: Game, layout: Layout, records: NDArray[np.unsignedinteger], engine: Engine) -> Check:
    """The check of a table with records in this layout."""
    rules = [rule(one, engine) for one in (game.successors, game.terminal, game.is_position)]
    alone, with_remoteness = game.players == 1, layout.has_remoteness
    stored = views(engine, records)
    kernel = _first_bad(engine)

    def first_bad(low: int, high: int) -> int:
        out = buffer(game.max_moves, engine)
        bad: int = kernel(*rules, *stored, alone, with_remoteness, low, high, out)
        return bad

    def expected(index: int) -> int:
        plain = game.successors, game.terminal, game.is_position
        out = buffer(game.max_moves, Engine.PYTHON)
        return _expected(*plain, records.data, alone, with_remoteness, index, out)

    return Check(first_bad, expected)


@Kernel
def _first_bad(
    successors: Neighbours,
    terminal: IndexTest,
    is_position: IndexTest,
    records: Sequence[int] | NDArray[np.unsignedinteger],
    alone: bool,
    with_remoteness: bool,
    low: int,
    high: int,
    out: MutableSequence[int],
) -> int:
    """The first index whose record is not what the rules and its successors make of it, or -1."""
    for index in range(low, high):
        if records[index] != _expected(
            successors, terminal, is_position, records, alone, with_remoteness, index, out
        ):
            return index
    return -1


def _expected(
    successors: Neighbours,
    terminal: IndexTest,
    is_position: IndexTest,
    records: Sequence[int] | NDArray[np.unsignedinteger],
    alone: bool,
    with_remoteness: bool,
    index: int,
    out: MutableSequence[int],
) -> int:
    """The record that an index must have if those of its successors are right."""
    if is_position(index) == 0:
        return 0
    end = terminal(index)
    if end:
        return end if with_remoteness else end & 3
    quickest = slowest = -1
    drawn = False
    wins_for_mover = WIN if alone else LOSS
    for at in range(successors(index, out)):
        after = records[out[at]] + 0  # to numba, a sum of unsigned and signed is signed, and wide
        outcome, remoteness = after & 3, after >> 2
        if outcome == wins_for_mover:
            quickest = remoteness if quickest < 0 else min(quickest, remoteness)
        elif outcome == DRAW or (alone and outcome == LOSS):
            drawn = True
        elif outcome == WIN:
            slowest = max(slowest, remoteness)
        else:
            return CONTRADICTION
    if quickest < 0 and drawn:
        return DRAW
    outcome, remoteness = (WIN, quickest + 1) if quickest >= 0 else (LOSS, slowest + 1)
    return int(remoteness << 2 | outcome) if with_remoteness else outcome
