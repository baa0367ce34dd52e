"""A Grundy value is the least that no move reaches; which proves it if no position can come again."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from builder.checks.check import CONTRADICTION, STRETCH, TOO_LARGE, Check, Wrong, first_difference
from builder.compile import UNWRITTEN, Kernel, buffer, rule, views
from builder.solvers.solution import slices
from lookup.errors import VerificationError
from lookup.values import Outcome

if TYPE_CHECKING:
    from collections.abc import MutableSequence, Sequence

    from numpy.typing import NDArray

    from builder.compile import Engine
    from lookup.games.base import Game, IndexTest, Neighbours
    from lookup.records import Layout

LOSS, WIN = int(Outcome.LOSS), int(Outcome.WIN)  # compiled code knows no enums


def check(game: Game, layout: Layout, records: NDArray[np.unsignedinteger], engine: Engine) -> Check:
    """The check of a table with records in this layout."""
    values = 2 << layout.grundy_bits
    fixed = game.parts, game.max_moves, layout.grundy_bits, layout.has_remoteness
    rules = [rule(one, engine) for one in (game.successors, game.terminal, game.is_position)]
    expect = _expect(engine)

    def first_wrong(low: int, high: int) -> Wrong | None:
        room = buffer(game.max_moves * game.parts, engine), buffer(values, engine)
        expected = np.zeros(high - low, np.int64)
        expect(*rules, *views(engine, records), *fixed, low, *room, *views(engine, expected))
        return first_difference(low, records[low:high], expected)

    return Check(first_wrong, STRETCH[engine])


def require_ends(game: Game, engine: Engine) -> None:
    """See that every play of a game ends: only then do values follow from those after each move.

    Raises:
        VerificationError: positions can come again.
    """
    rules = [rule(one, engine) for one in (game.successors, game.terminal, game.is_position)]
    finite, kernel, step, left = np.zeros(game.size, np.uint8), _mark_finite(engine), 1, game.size
    while left:
        before, left = left, 0
        for low, high in slices(0, game.size, STRETCH[engine]):
            part = (low, high) if step == 1 else (game.size - 1 - low, game.size - 1 - high)
            out = buffer(game.max_moves * game.parts, engine)
            room = views(engine, finite)
            left += kernel(*rules, game.parts, game.max_moves, *part, step, out, *room)
        # The first sweep may go against the order of the index and find nothing but ends.
        if left == before:
            index = int(finite.argmin())
            shown = f"index {index} ({game.format(index)!r})"
            problem = "from there play need not end, and Grundy values prove nothing"
            raise VerificationError(f"{shown} of {game.table_name}: {problem}")
        step = -step


@Kernel
def _mark_finite(
    successors: Neighbours,
    terminal: IndexTest,
    is_position: IndexTest,
    parts: int,
    most: int,
    first: int,
    last: int,
    step: int,
    out: MutableSequence[int],
    finite: MutableSequence[int],
) -> int:
    """Mark the indices whose moves all lead to marked ones; returns how many of these are not."""
    left = 0
    for index in range(first, last, step):
        if finite[index]:
            continue
        ends = True
        if is_position(index) and terminal(index) == 0:
            for at in range(min(successors(index, out), most) * parts):
                ends = ends and 0 <= out[at] < len(finite) and finite[out[at]] == 1
                out[at] = UNWRITTEN
        if ends:
            finite[index] = 1
        else:
            left += 1
    return left


@Kernel
def _expect(  # noqa: C901 - one loop over moves; helpers would cost more than it does
    successors: Neighbours,
    terminal: IndexTest,
    is_position: IndexTest,
    records: Sequence[int],
    parts: int,
    most: int,
    grundy_bits: int,
    with_remoteness: bool,
    low: int,
    out: MutableSequence[int],
    reached: MutableSequence[int],
    expected: MutableSequence[int],
) -> None:
    """Write the records that indices from `low` on must have if those of their successors are right.

    `reached[value]` is one more than the last index from which a move reached that value.
    """
    for at in range(len(expected)):
        index = low + at
        if is_position(index) == 0:
            continue
        end = terminal(index)
        count = 0 if end else successors(index, out)
        contradicted = not 0 <= count <= most or (end != 0 and end != LOSS)
        quickest = slowest = -1
        for move in range(0 if contradicted else count):
            value = 0
            for part in range(parts):
                after = out[move * parts + part]
                if not 0 <= after < len(records) or records[after] & 3 == 0:
                    contradicted = True
                    break
                value ^= (records[after] + 0) >> 2 & (1 << grundy_bits) - 1
            if contradicted:
                break
            reached[value] = index + 1
            if with_remoteness:
                remoteness = (records[out[move]] + 0) >> 2 + grundy_bits
                if value == 0:
                    quickest = remoteness if quickest < 0 else min(quickest, remoteness)
                slowest = max(slowest, remoteness)
        if contradicted:
            expected[at] = CONTRADICTION
            continue
        for place in range(count * parts):
            out[place] = UNWRITTEN
        grundy = 0
        while reached[grundy] == index + 1:
            grundy += 1
        outcome, plies = (WIN, quickest + 1) if grundy else (LOSS, slowest + 1)
        if not with_remoteness:
            plies = 0
        in_full = (plies << grundy_bits | grundy) << 2 | outcome
        expected[at] = TOO_LARGE if grundy >> grundy_bits else in_full
