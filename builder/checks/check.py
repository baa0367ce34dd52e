"""What every check offers to `verify`."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from builder.compile import Engine
from lookup.records import Layout, Palette

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from numpy.typing import NDArray

    from lookup.format import Totals

CONTRADICTION, TOO_LARGE = -1, -2
"""No record is right: a move leads to no position, or records have no room for the value."""

STRETCH = {Engine.NUMBA: 1 << 16, Engine.PYTHON: 1 << 12}
"""Indices that are checked at a time, between two reports."""


class Wrong(NamedTuple):
    """The record `at` an index that is not what the rules and its successors make of it.

    `expected` is the record that should be there; `CONTRADICTION` or `TOO_LARGE` if there is none.
    """

    at: int
    stored: int
    expected: int


class Check(NamedTuple):
    """How records are compared with the rules.

    `prepare(low, high)` must have seen all stretches before. `first_wrong(low, high)` is the first
    wrong record of a stretch of up to `stretch` indices, which must be cut from a row of such, or from
    its `grain`s. Both may run in several threads, unless the check uses all cores by itself. `totals`
    are those of the table, if the check counts and has been given every index.
    """

    first_wrong: Callable[[int, int], Wrong | None]
    stretch: int
    grain: int = 1
    parallel: bool = True
    prepare: Callable[[int, int], None] | None = None
    totals: Callable[[], Totals] | None = None


def first_difference(
    low: int, stored: NDArray[np.unsignedinteger], expected: NDArray[np.int64]
) -> Wrong | None:
    """The first of the records from index `low` on that is not what is expected."""
    differ = stored != expected
    if not differ.any():
        return None
    at = int(differ.argmax())
    return Wrong(low + at, int(stored[at]), int(expected[at]))


def in_words(layout: Layout, record: int) -> str:
    """What a record that follows from the rules says."""
    if record == CONTRADICTION:
        return "one of its moves leads to what the table does not call a position"
    if record == TOO_LARGE:
        return "by the rules its Grundy value is larger than any that the table has"
    value = Palette(layout)[record]
    if value is None:
        return "by the rules it is not a position"
    return f"by the rules and its successors it is a {value}"
