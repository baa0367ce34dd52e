"""What every check offers to `verify`."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from lookup.records import Layout, Palette

if TYPE_CHECKING:
    from collections.abc import Callable

CONTRADICTION, TOO_LARGE = -1, -2
"""No record is right: a move leads to no position, or records have no room for the value."""


class Check(NamedTuple):
    """How records are compared with the rules.

    `prepare(low, high)` must have seen all stretches before. `first_bad(low, high)` is the first index
    of a stretch whose record is not what the rules and its successors make of it, or -1; both may run
    in several threads. `expected(index)` is the record it should have, computed by interpreted rules;
    `CONTRADICTION` or `TOO_LARGE` if there is none.
    """

    first_bad: Callable[[int, int], int]
    expected: Callable[[int], int]
    prepare: Callable[[int, int], None] | None = None


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
