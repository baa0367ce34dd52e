"""Grundy values of heaps are the least ones that no move reaches; and a period must hold."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from builder.checks.check import STRETCH, TOO_LARGE, Check, Wrong, first_difference
from builder.compile import Kernel, buffer, rule, views
from builder.solvers.solution import slices
from lookup.errors import VerificationError
from lookup.format import Period
from lookup.records import Layout, decode_records
from lookup.values import Outcome

if TYPE_CHECKING:
    from collections.abc import MutableSequence, Sequence

    from numpy.typing import NDArray

    from builder.compile import Engine
    from lookup.games.base import IndexTest, Neighbours
    from lookup.games.heap_game import HeapGame
    from lookup.reader import TableFile

LOSS, WIN = int(Outcome.LOSS), int(Outcome.WIN)  # compiled code knows no enums
_SLICE = 1 << 14  # indices compared at a time with those a period further


def check(
    game: HeapGame, layout: Layout, records: NDArray[np.unsignedinteger], engine: Engine
) -> Check:
    """The check of a table with records in this layout."""
    values = 2 << layout.grundy_bits
    fixed = game.parts, layout.grundy_bits, layout.has_remoteness
    rules = rule(game.successors, engine), rule(game.terminal, engine)
    expect = _expect(engine)

    def first_wrong(low: int, high: int) -> Wrong | None:
        room = buffer(game.max_moves * game.parts, engine), buffer(values, engine)
        expected = np.zeros(high - low, np.int64)
        expect(*rules, *views(engine, records), *fixed, low, *room, *views(engine, expected))
        return first_difference(low, records[low:high], expected)

    return Check(first_wrong, STRETCH[engine])


def check_period(file: TableFile) -> None:
    """Compare every index with the one a period further; that they are enough the reader has seen.

    Raises:
        VerificationError: the period does not hold.
    """
    period, records = Period.from_text(file.info.period), decode_records(file)
    start, step = period.preperiod, period.period
    shown = f"'{file.path}' says that values repeat after {step} from index {start} on"
    shift = np.uint64(2 + Layout.of(file).grundy_bits)
    for low, high in slices(start, len(records) - step, _SLICE):
        one, other = (records[low + by : high + by].astype(np.uint64) for by in (0, step))
        # A remoteness that is less than before becomes a very large number.
        same = other - one == np.uint64(period.plies) << shift
        if not same.all():
            index = low + int(same.argmin())
            raise VerificationError(f"{shown}, but not those of index {index}")


@Kernel
def _expect(
    successors: Neighbours,
    terminal: IndexTest,
    records: Sequence[int],
    parts: int,
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
        if terminal(index):
            expected[at] = LOSS
            continue
        quickest = slowest = -1
        for move in range(successors(index, out)):
            value = 0
            for part in range(parts):
                value ^= (records[out[move * parts + part]] + 0) >> 2 & (1 << grundy_bits) - 1
            reached[value] = index + 1
            if with_remoteness:
                remoteness = (records[out[move]] + 0) >> 2 + grundy_bits
                if value == 0:
                    quickest = remoteness if quickest < 0 else min(quickest, remoteness)
                slowest = max(slowest, remoteness)
        grundy = 0
        while reached[grundy] == index + 1:
            grundy += 1
        outcome, plies = (WIN, quickest + 1) if grundy else (LOSS, slowest + 1)
        if not with_remoteness:
            plies = 0
        in_full = (plies << grundy_bits | grundy) << 2 | outcome
        expected[at] = TOO_LARGE if grundy >> grundy_bits else in_full
