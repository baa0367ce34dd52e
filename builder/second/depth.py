"""Grundy values depth first: a position is settled when the ones that its moves lead to have been.

The way that led to a position is a stack. It is looked at when it is reached, and again each time one
of its moves has been settled: an unsettled one goes onto the stack, and if there is none left, the
least value that no move reaches is its own. A move to what is on the stack already is a loop. Heaps are
games as others here: every move is made, one by one, with nothing known of sparse spaces or of periods,
and further than the table goes if it claims one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from builder.compile import UNWRITTEN, Engine, Kernel, buffer, rule, views
from builder.conformance import broken_rule
from builder.second.method import Method
from lookup.errors import GameError
from lookup.games.heap_game import HeapGame
from lookup.values import Outcome, Values

if TYPE_CHECKING:
    from collections.abc import MutableSequence

    from builder.workers import Workers
    from lookup.games.base import Game, IndexTest, Neighbours
    from lookup.progress import Report

NOT_A_POSITION, LOSS, WIN = int(Outcome.NOT_A_POSITION), int(Outcome.LOSS), int(Outcome.WIN)
UNSEEN, ON_STACK = 254, 255
LOOP = -(1 << 62)
_BEYOND = 4  # a table with a period is continued by one heap for so many that it has
_STEP = {Engine.NUMBA: 1 << 25, Engine.PYTHON: 1 << 16}  # moves between two reports


def solved_heaps(game: Game) -> int:
    """How many heaps are solved: some more than a table has, if nothing but `takes` tells its moves."""
    is_plain = isinstance(game, HeapGame) and type(game).successors is HeapGame.successors
    return game.size + game.size // _BEYOND if is_plain else game.size


class DepthFirst(Method):
    """Grundy value, outcome and, where moves lead to single positions, remoteness."""

    words: ClassVar[str] = "depth first, move by move"

    def __init__(self, game: Game, engine: Engine) -> None:
        self._game, self._engine = game, engine
        self.size = solved_heaps(game)
        self._outcome = np.full(self.size, UNSEEN, np.uint8)
        self._grundy = np.zeros(self.size, np.uint32)
        self._remoteness = np.zeros(self.size if game.parts == 1 else 0, np.uint32)

    @staticmethod
    def memory_needed(game: Game) -> int:
        """What is stored, the stack, and the moves of one position in lists of ours and of Python's."""
        return 17 * solved_heaps(game) + 64 * _most_moves(game) * game.parts

    def solve(self, report: Report, workers: Workers) -> None:  # noqa: ARG002 - one stack
        """From the last index down."""
        game, engine = self._game, self._engine
        rules = [rule(one, engine) for one in (game.successors, game.terminal, game.is_position)]
        most = _most_moves(game)
        room = buffer(most * game.parts, engine), buffer(2 << most.bit_length(), engine)
        # The next index to begin with, and how deep the stack is.
        cursor = np.array([self.size - 1, 0], np.int64)
        stack = np.zeros(self.size, np.int64)
        arrays = cursor, stack, self._outcome, self._grundy, self._remoteness
        settle, given = _settle(engine), (*room, *views(engine, *arrays))
        while cursor[0] >= 0:
            bad = settle(*rules, game.parts, most, _STEP[engine], *given)
            if bad == LOOP:
                top = int(stack[cursor[1] - 1])
                shown = f"index {top} ({game.format(top)!r})"
                raise GameError(f"positions of {game.table_name} can come again, as from {shown}")
            if bad >= 0:
                raise broken_rule(game, bad)
            report(self.size - 1 - int(cursor[0]), self.size)

    def values(self, low: int, high: int) -> Values:
        """As they were found; remoteness only of single positions."""
        has_remoteness = len(self._remoteness) > 0
        remoteness = self._remoteness[low:high] if has_remoteness else None
        return Values(self._outcome[low:high], remoteness, self._grundy[low:high])


def _most_moves(game: Game) -> int:
    """The moves of any position that is solved: heaps beyond the table have more."""
    if not isinstance(game, HeapGame) or solved_heaps(game) == game.size:
        return game.max_moves
    largest = solved_heaps(game) - 1
    fewest, most = game.takes
    numbers = max(1, min(most, largest) - fewest + 1)
    return numbers if game.parts == 1 else numbers * (largest // 2 + 1)


@Kernel
def _settle(  # noqa: C901 - one loop over moves; helpers would cost more than it does
    successors: Neighbours,
    terminal: IndexTest,
    is_position: IndexTest,
    parts: int,
    most: int,
    moves: int,
    out: MutableSequence[int],
    reached: MutableSequence[int],
    cursor: MutableSequence[int],
    stack: MutableSequence[int],
    outcome: MutableSequence[int],
    grundy: MutableSequence[int],
    remoteness: MutableSequence[int],
) -> int:
    """Go on for about so many moves.

    Returns -1, an index whose rules break the contract, or `LOOP`. `reached[value]` is one more than
    the last index from which a move reached that value.
    """
    root, depth = cursor[0], cursor[1]
    while root >= 0 and moves > 0:
        if depth == 0:
            if outcome[root] != UNSEEN:
                root -= 1
                continue
            if is_position(root) == 0:
                outcome[root] = NOT_A_POSITION
                root -= 1
                continue
            stack[0], depth = root, 1
            outcome[root] = ON_STACK
        index = stack[depth - 1]
        end = terminal(index)
        count = 0 if end else successors(index, out)
        if (end != 0 and end != LOSS) or not 0 <= count <= most:
            return index
        moves -= 1 + count
        unsettled = quickest = slowest = -1
        for move in range(count):
            value = 0
            for part in range(parts):
                after = out[move * parts + part]
                if not 0 <= after < len(outcome) or is_position(after) == 0:
                    return index
                if outcome[after] >= UNSEEN:
                    unsettled = after
                    break
                value ^= grundy[after]
            if unsettled >= 0:
                break
            reached[value] = index + 1
            if parts == 1:
                plies = remoteness[out[move]] + 0
                if value == 0 and (quickest < 0 or plies < quickest):
                    quickest = plies
                slowest = max(slowest, plies)
        for at in range(count * parts):
            out[at] = UNWRITTEN
        if unsettled >= 0:
            if outcome[unsettled] == ON_STACK:
                cursor[0], cursor[1] = root, depth
                return LOOP
            outcome[unsettled] = ON_STACK
            stack[depth] = unsettled
            depth += 1
            continue
        value = 0
        while reached[value] == index + 1:
            value += 1
        grundy[index] = value
        outcome[index] = WIN if value else LOSS
        if parts == 1:
            remoteness[index] = 1 + (quickest if value else slowest)
        depth -= 1
    cursor[0], cursor[1] = root, depth
    return -1
