"""Grundy values of heaps are the least ones that no move reaches; and a period must hold."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from builder.checks.check import TOO_LARGE, Check
from builder.compile import Engine, Kernel, buffer, rule, views
from lookup.errors import VerificationError
from lookup.values import Outcome

if TYPE_CHECKING:
    from collections.abc import MutableSequence, Sequence

    from numpy.typing import NDArray

    from lookup.format import Period
    from lookup.games.base import IndexTest, Neighbours
    from lookup.games.heap_game import HeapGame
    from lookup.records import Layout

LOSS, WIN = int(Outcome.LOSS), int(Outcome.WIN)  # compiled code knows no enums


def check(
    game: HeapGame, layout: Layout, records: NDArray[np.unsignedinteger], engine: Engine
) -> Check:
    """The check of a table with records in this layout."""
    values = 2 << layout.grundy_bits
    fixed = game.parts, layout.grundy_bits, layout.has_remoteness
    rules = rule(game.successors, engine), rule(game.terminal, engine)
    stored = views(engine, records)
    kernel = _first_bad(engine)

    def first_bad(low: int, high: int) -> int:
        room = buffer(game.max_moves * game.parts, engine), buffer(values, engine)
        bad: int = kernel(*rules, *stored, *fixed, low, high, *room)
        return bad

    def expected(index: int) -> int:
        room = buffer(game.max_moves * game.parts, Engine.PYTHON), buffer(values, Engine.PYTHON)
        return _expected(game.successors, game.terminal, records.data, *fixed, index, *room)

    return Check(first_bad, expected)


def check_period(
    path: str, period: Period, layout: Layout, records: NDArray[np.unsignedinteger]
) -> None:
    """Compare every index with the one a period further; that they are enough the reader has seen.

    Raises:
        VerificationError: the period does not hold.
    """
    start, step = period.preperiod, period.period
    shown = f"'{path}' says that values repeat after {step} from index {start} on"
    shift = 2 + layout.grundy_bits
    values = records & records.dtype.type((1 << shift) - 1)
    remoteness = (records >> records.dtype.type(shift)).astype(np.int64)
    same = (values[start + step :] == values[start:-step]) & (
        remoteness[start + step :] == remoteness[start:-step] + period.plies
    )
    if not same.all():
        index = start + int(np.flatnonzero(~same)[0])
        raise VerificationError(f"{shown}, but not those of index {index}")


@Kernel
def _first_bad(
    successors: Neighbours,
    terminal: IndexTest,
    records: Sequence[int] | NDArray[np.unsignedinteger],
    parts: int,
    grundy_bits: int,
    with_remoteness: bool,
    low: int,
    high: int,
    out: MutableSequence[int],
    reached: MutableSequence[int],
) -> int:
    """The first index whose record is not what the rules and its successors make of it, or -1."""
    for index in range(low, high):
        if records[index] != _expected(
            successors, terminal, records, parts, grundy_bits, with_remoteness, index, out, reached
        ):
            return index
    return -1


def _expected(
    successors: Neighbours,
    terminal: IndexTest,
    records: Sequence[int] | NDArray[np.unsignedinteger],
    parts: int,
    grundy_bits: int,
    with_remoteness: bool,
    index: int,
    out: MutableSequence[int],
    reached: MutableSequence[int],
) -> int:
    """The record that an index must have if those of its successors are right.

    `reached[value]` is one more than the last index from which a move reached that value.
    """
    if terminal(index):
        return LOSS
    quickest = slowest = -1
    for at in range(successors(index, out)):
        value = 0
        for part in range(parts):
            value ^= (records[out[at * parts + part]] + 0) >> 2 & (1 << grundy_bits) - 1
        reached[value] = index + 1
        if with_remoteness:
            remoteness = (records[out[at]] + 0) >> 2 + grundy_bits
            if value == 0:
                quickest = remoteness if quickest < 0 else min(quickest, remoteness)
            slowest = max(slowest, remoteness)
    grundy = 0
    while reached[grundy] == index + 1:
        grundy += 1
    if grundy >> grundy_bits:
        return TOO_LARGE
    outcome, plies = (WIN, quickest + 1) if grundy else (LOSS, slowest + 1)
    if not with_remoteness:
        plies = 0
    return int((plies << grundy_bits | grundy) << 2 | outcome)
