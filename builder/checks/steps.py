"""Values of games of steps: what two steps lead to is read off what one step does.

The first pass writes down, for every index, what the table says of the indices one step further. The
second compares each record with what this and the leaps make of it. Both use the stored records alone
and nothing that a solver has left, so the induction is that of any acyclic game.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from builder.checks.check import TOO_LARGE, Check
from builder.compile import Engine, Kernel, buffer, rule, views
from lookup.values import Outcome

if TYPE_CHECKING:
    from collections.abc import MutableSequence, Sequence

    from numpy.typing import NDArray

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
    look_ahead, kernel = _look_ahead(engine), _first_bad(engine)

    def prepare(low: int, high: int) -> None:
        look_ahead(steps, *stored, *fixed, low, high, buffer(game.max_steps, engine))

    def first_bad(low: int, high: int) -> int:
        out = buffer(game.max_steps, engine)
        bad: int = kernel(steps, leaps, *stored, *fixed, low, high, out)
        return bad

    def expected(index: int) -> int:
        plain = views(Engine.PYTHON, records, *ahead)
        out = buffer(game.max_steps, Engine.PYTHON)
        # mypy does not know how many items `plain` and `fixed` have.
        return int(_expected(game.steps, game.leaps, *plain, *fixed, index, out))  # type: ignore[call-arg]

    return Check(first_bad, expected, prepare)


def _value(record: int, with_grundy: bool, grundy_bits: int) -> int:
    """The Grundy value of a record; of outcomes alone, 0 for a loss and 1 for a win."""
    if with_grundy:
        return record >> 2 & (1 << grundy_bits) - 1
    return 1 if record & 3 == WIN else 0


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
def _first_bad(
    steps: Neighbours,
    leaps: Neighbours,
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
) -> int:
    """The first index whose record is not what the rules and its successors make of it, or -1."""
    for index in range(low, high):
        if records[index] != _expected(
            steps, leaps, records, values, quickest, longest,
            with_grundy, grundy_bits, with_remoteness, index, out,
        ):  # fmt: skip
            return index
    return -1


def _expected(
    steps: Neighbours,
    leaps: Neighbours,
    records: Sequence[int] | NDArray[np.unsignedinteger],
    values: NDArray[np.signedinteger],
    quickest: NDArray[np.uint8],
    longest: NDArray[np.uint8],
    with_grundy: bool,
    grundy_bits: int,
    with_remoteness: bool,
    index: int,
    out: MutableSequence[int],
) -> int:
    """The record that an index must have if those of its successors are right."""
    count = steps(index, out)
    if count == 0:
        return LOSS
    found = int(values[index])
    quick = slow = 0
    if with_remoteness:
        quick, slow = int(quickest[index]), int(longest[index])
    for at in range(count):
        found |= int(values[out[at]])
        if with_remoteness:
            other = int(quickest[out[at]])
            if other and (quick == 0 or other < quick):
                quick = other
            slow = max(slow, int(longest[out[at]]))
    for at in range(leaps(index, out)):
        record = records[out[at]] + 0
        value = _value(record, with_grundy, grundy_bits)
        found |= 1 << min(value, _LARGEST)
        plies = record >> 2 + grundy_bits
        if value == 0 and (quick == 0 or plies + 1 < quick):
            quick = plies + 1
        slow = max(slow, plies)
    grundy = 0
    while found >> grundy & 1 and grundy <= _LARGEST:
        grundy += 1
    if not with_grundy:
        return WIN if grundy else LOSS
    if grundy >> grundy_bits:
        return TOO_LARGE
    plies = 0
    if with_remoteness:
        plies = quick if grundy else slow + 1
    return int((plies << grundy_bits | grundy) << 2 | (WIN if grundy else LOSS))
