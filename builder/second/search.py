"""One player's shortest way to a win by search: breadth first, backwards from the wins.

All moves are listed by `successors` and turned round. (For games that fill their tables without any
search; the others are solved by one.)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from builder.compile import UNWRITTEN, Engine, Kernel, buffer, rule, views
from builder.conformance import broken_rule
from builder.second.method import Method
from lookup.values import Outcome, Values

if TYPE_CHECKING:
    from collections.abc import MutableSequence, Sequence

    from builder.workers import Workers
    from lookup.games.base import Game, IndexTest, Neighbours
    from lookup.progress import Report

NOT_A_POSITION, DRAW, WIN = int(Outcome.NOT_A_POSITION), int(Outcome.DRAW), int(Outcome.WIN)
NEVER = (1 << 32) - 1
_STEP = {Engine.NUMBA: 1 << 20, Engine.PYTHON: 1 << 12}  # indices between two reports


class Search(Method):
    """Breadth first, backwards from the wins."""

    words: ClassVar[str] = "by a search backwards from the wins"

    def __init__(self, game: Game, engine: Engine) -> None:
        self._game, self._engine = game, engine
        self._outcome = np.full(game.size, DRAW, np.uint8)
        self._plies = np.full(game.size, NEVER, np.uint32)

    @staticmethod
    def memory_needed(game: Game) -> int:
        """Outcome, plies and place in the queue of each index, and all moves."""
        return game.size * (17 + 4 * game.max_moves)

    def solve(self, report: Report, workers: Workers) -> None:  # noqa: ARG002 - the search is one
        """List all moves, turn them round, and search."""
        game, engine, size = self._game, self._engine, self._game.size
        rules = [rule(one, engine) for one in (game.successors, game.terminal, game.is_position)]
        places = np.zeros(size + 1, np.int64)
        sources = np.zeros(size * game.max_moves, np.uint32)
        list_moves, steps = _list_moves(engine), range(0, size, _STEP[engine])
        arrays = views(engine, self._outcome, places, sources)
        # First how many moves lead to each index; then, from the end of its list down, which.
        for number, writing in enumerate((False, True)):
            for low in steps:
                high = min(low + steps.step, size)
                out = buffer(game.max_moves, engine)
                bad = list_moves(*rules, game.max_moves, low, high, writing, out, *arrays)
                if bad >= 0:
                    raise broken_rule(game, bad)
                report(number * size + high, 3 * size)
            if not writing:
                np.cumsum(places, out=places)
        won = np.flatnonzero(self._outcome == WIN)
        queue = np.zeros(size, np.uint32)
        queue[: len(won)] = won
        self._plies[won] = 0
        at, end = 0, len(won)
        known = views(engine, self._outcome, self._plies, places, sources, queue)
        tell = _tell_sources(engine)
        while at < end:
            end = tell(at, at + steps.step, end, *known)
            at = min(at + steps.step, end)
            report(2 * size + at, 3 * size)
        report(3 * size, 3 * size)

    def values(self, low: int, high: int) -> Values:
        """A win, or whatever the end was."""
        plies = self._plies[low:high]
        return Values(self._outcome[low:high], np.where(plies == NEVER, np.uint32(0), plies), None)


@Kernel
def _list_moves(
    successors: Neighbours,
    terminal: IndexTest,
    is_position: IndexTest,
    most: int,
    low: int,
    high: int,
    writing: bool,
    out: MutableSequence[int],
    outcome: MutableSequence[int],
    places: MutableSequence[int],
    sources: MutableSequence[int],
) -> int:
    """Count the moves into each index, or write where they come from; the ends are settled.

    Returns an index whose rules break the contract, or -1.
    """
    for index in range(low, high):
        if is_position(index) == 0:
            outcome[index] = NOT_A_POSITION
            continue
        end = terminal(index)
        if end:
            if not 0 < end <= WIN:
                return index
            outcome[index] = end
            continue
        count = successors(index, out)
        if not 0 <= count <= most:
            return index
        for at in range(count):
            after = out[at]
            out[at] = UNWRITTEN
            if not 0 <= after < len(outcome):
                return index
            if writing:
                places[after] -= 1
                sources[places[after]] = index
            else:
                places[after] += 1
    return -1


@Kernel
def _tell_sources(
    low: int,
    high: int,
    end: int,
    outcome: MutableSequence[int],
    plies: MutableSequence[int],
    places: Sequence[int],
    sources: Sequence[int],
    queue: MutableSequence[int],
) -> int:
    """Go on from a stretch of the queue, with what is added to it on the way; returns the new end.

    A clock has one position at each distance: to stop after each would take longer than the search.
    """
    at = low
    while at < min(high, end):
        here = queue[at]
        at += 1
        for which in range(places[here], places[here + 1]):
            source = sources[which]
            if plies[source] == NEVER:
                plies[source] = plies[here] + 1
                outcome[source] = WIN
                queue[end] = source
                end += 1
    return end
