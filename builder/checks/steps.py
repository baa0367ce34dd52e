"""Values of games of steps: what two steps lead to is read off what one step does.

The first pass writes down, for every index, what the table says of the indices one step further. The
second compares each record with what this and the leaps make of it. Both use the stored records alone
and nothing that a solver has left, so the induction is that of any acyclic game.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from builder.checks.check import STRETCH, TOO_LARGE, Check, Wrong, first_difference
from builder.compile import Kernel, buffer, rule, views
from lookup.values import Outcome

if TYPE_CHECKING:
    from collections.abc import MutableSequence, Sequence

    from numpy.typing import NDArray

    from builder.compile import Engine
    from lookup.games.base import Neighbours
    from lookup.games.step_game import StepGame
    from lookup.records import Layout

LOSS, WIN = int(Outcome.LOSS), int(Outcome.WIN)  # compiled code knows no enums
_LARGEST, _LONGEST = 62, 254  # no such table has larger Grundy values, or longer games


def check(
    game: StepGame, layout: Layout, records: NDArray[np.unsignedinteger], engine: Engine
) -> Check:
    """The check of a table with records in this layout."""
    ahead = [
        np.zeros(game.size, np.int64 if layout.has_grundy else np.int8),
        np.zeros(game.size if layout.has_remoteness else 1, np.uint8),
        np.zeros(game.size if layout.has_remoteness else 1, np.uint8),
    ]
    fixed = layout.has_grundy, layout.grundy_bits, layout.has_remoteness
    steps, leaps = rule(game.steps, engine), rule(game.leaps, engine)
    stored = views(engine, records, *ahead)
    look_ahead, expect = _look_ahead(engine), _expect(engine)

    def prepare(low: int, high: int) -> None:
        look_ahead(steps, *stored, *fixed, low, high, buffer(game.max_steps, engine))

    def first_wrong(low: int, high: int) -> Wrong | None:
        out, expected = buffer(game.max_steps, engine), np.zeros(high - low, np.int64)
        expect(steps, leaps, *stored, *fixed, low, out, *views(engine, expected))
        return first_difference(low, records[low:high], expected)

    return Check(first_wrong, STRETCH[engine], prepare=prepare)


def _value(record: int, with_grundy: bool, grundy_bits: int) -> int:
    """The Grundy value of a record; of outcomes alone, 0 for a loss and 1 for a win."""
    if with_grundy:
        return record >> 2 & (1 << grundy_bits) - 1
    return 1 if record & 3 == WIN else 0


def _least_missing(found: int) -> int:
    """The least Grundy value that is not in a set of them."""
    grundy = 0
    while found >> grundy & 1 and grundy <= _LARGEST:
        grundy += 1
    return grundy


@Kernel
def _look_ahead(
    steps: Neighbours,
    records: Sequence[int] | NDArray[np.unsignedinteger],
    values: NDArray[np.signedinteger],
    quickest: NDArray[np.uint8],
    longest: NDArray[np.uint8],
    with_grundy: bool,
    grundy_bits: int,
    with_remoteness: bool,
    low: int,
    high: int,
    out: MutableSequence[int],
) -> None:
    """Write down what one step leads to.

    The set of values, one more than the remoteness of the quickest loss (0 if there is none), and the
    greatest remoteness.
    """
    for index in range(low, high):
        found, quick, slow = 0, 0, 0
        for at in range(steps(index, out)):
            record = records[out[at]] + 0  # to numba, a sum of unsigned and signed is signed, and wide
            value = _value(record, with_grundy, grundy_bits)
            found |= 1 << min(value, _LARGEST)
            plies = min(record >> 2 + grundy_bits, _LONGEST)
            if value == 0 and (quick == 0 or plies + 1 < quick):
                quick = plies + 1
            slow = max(slow, plies)
        values[index] = found
        if with_remoteness:
            quickest[index] = quick
            longest[index] = slow


@Kernel
def _expect(
    steps: Neighbours,
    leaps: Neighbours,
    records: Sequence[int],
    values: Sequence[int],
    quickest: Sequence[int],
    longest: Sequence[int],
    with_grundy: bool,
    grundy_bits: int,
    with_remoteness: bool,
    low: int,
    out: MutableSequence[int],
    expected: MutableSequence[int],
) -> None:
    """Write the records that indices from `low` on must have if those of their successors are right."""
    for at in range(len(expected)):
        index = low + at
        count = steps(index, out)
        if count == 0:
            expected[at] = LOSS
            continue
        found = int(values[index])
        quick = slow = 0
        if with_remoteness:
            quick, slow = int(quickest[index]), int(longest[index])
        for step in range(count):
            found |= int(values[out[step]])
            if with_remoteness:
                other = int(quickest[out[step]])
                if other and (quick == 0 or other < quick):
                    quick = other
                slow = max(slow, int(longest[out[step]]))
        for leap in range(leaps(index, out)):
            record = records[out[leap]] + 0
            value = _value(record, with_grundy, grundy_bits)
            found |= 1 << min(value, _LARGEST)
            plies = record >> 2 + grundy_bits
            if value == 0 and (quick == 0 or plies + 1 < quick):
                quick = plies + 1
            slow = max(slow, plies)
        grundy = _least_missing(found)
        outcome = WIN if grundy else LOSS
        plies = 0
        if with_remoteness:
            plies = quick if grundy else slow + 1
        if not with_grundy:
            expected[at] = outcome
        elif grundy >> grundy_bits:
            expected[at] = TOO_LARGE
        else:
            expected[at] = (plies << grundy_bits | grundy) << 2 | outcome
