"""Rows of sticks as text, which the games `sticks-any`, `sticks-run` and `sticks-special` share.

`|` is a stick and `.` the place of one that was taken. Sticks are numbered from 1, taken ones too, so
that a stick keeps its number. A move names the sticks it takes: `3`, `2,5`, `4-6`.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING

from lookup.errors import InvalidMoveError, InvalidPositionError

if TYPE_CHECKING:
    from collections.abc import Sequence

STICK, TAKEN = "|", "."
NOTATION = (
    "One character a stick, '|' present, '.' taken: '|||.||'. A move is the numbers of the sticks it "
    "takes, counted from 1 at the left with the taken ones: '3', '2,5' or '4-6'."
)
DRAWN_IN_A_LINE = 20
MOST_LISTED = 10_000_000
"""Characters of all rows after the moves of one; 2,200 sticks, if a move takes one or two."""

_MOVE = re.compile(r"[1-9][0-9]{0,9}(-[1-9][0-9]{0,9})?")


def checked(row: str) -> str:
    """The same row.

    Raises:
        InvalidPositionError: it is empty or has other characters.
    """
    if not row:
        raise InvalidPositionError(row, "a row of at least one stick, '|' present, '.' taken")
    if row.count(STICK) + row.count(TAKEN) != len(row):
        raise InvalidPositionError(row, "only '|' for a stick and '.' for a taken one")
    return row


def segments(row: str) -> list[int]:
    """The lengths of the stretches without a gap, from the left."""
    return [len(segment) for segment in row.split(TAKEN) if segment]


def written(lengths: Sequence[int]) -> str:
    """The shortest row with these segments; a taken stick if there are none."""
    return TAKEN.join(STICK * length for length in lengths) or TAKEN


def without(row: str, sticks: Sequence[int]) -> str:
    """The row after sticks, given by their numbers in order, were taken."""
    if len(sticks) == sticks[-1] - sticks[0] + 1:
        return f"{row[: sticks[0] - 1]}{TAKEN * len(sticks)}{row[sticks[-1] :]}"
    left = list(row)
    for stick in sticks:
        left[stick - 1] = TAKEN
    return "".join(left)


def drawn(row: str) -> str:
    """The picture of a row, its numbers beneath; long ones go on below.

    >>> print(drawn("||.|"))
    | | . |
    1 2 3 4

    Raises:
        InvalidPositionError: the row is not one.
    """
    width = len(str(len(checked(row))))
    lines: list[str] = []
    for low in range(0, len(row), DRAWN_IN_A_LINE):
        sticks = row[low : low + DRAWN_IN_A_LINE]
        lines.append(" ".join(f"{stick:>{width}}" for stick in sticks))
        lines.append(" ".join(f"{at:>{width}}" for at in range(low + 1, low + len(sticks) + 1)))
    return "\n".join(lines)


def require_listable(row: str, moves: int) -> None:
    """Refuse to list so many moves of a row, each of which shows another row as long.

    Raises:
        InvalidPositionError: they would fill the memory.
    """
    if moves * len(row) > MOST_LISTED:
        shown = f"this one has {moves} of {len(row)} characters each"
        raise InvalidPositionError(row, f"a row whose moves can be listed; {shown}")


def named(sticks: Sequence[int]) -> str:
    """The text of the move that takes these sticks, given in order."""
    first = last = sticks[0]
    if len(sticks) == sticks[-1] - first + 1:  # nearly always
        return str(first) if len(sticks) == 1 else f"{first}-{sticks[-1]}"
    words: list[str] = []
    for stick in (*sticks[1:], 0):
        if stick == last + 1:
            last = stick
            continue
        words.append(str(first) if first == last else f"{first}-{last}")
        first = last = stick
    return ",".join(words)


def chosen(row: str, move: str) -> list[int]:
    """The numbers of the sticks that a move names, in order; `4,5` and `4-5` are the same.

    Raises:
        InvalidPositionError: the row is not one.
        InvalidMoveError: the text is no move, or a stick is not there.
    """
    checked(row)
    sticks: list[int] = []
    for word in move.split(","):
        if not _MOVE.fullmatch(word):
            raise InvalidMoveError(move, row, "numbers of sticks such as '3', '2,5' or '4-6'")
        first, last = (int(word.split("-")[at]) for at in (0, -1))
        if first > last:
            raise InvalidMoveError(move, row, "each stick once, from the left to the right")
        if last > len(row) or not all(one == STICK for one in row[first - 1 : last]):
            raise InvalidMoveError(move, row, f"sticks that are there, numbered 1 to {len(row)}")
        sticks += range(first, last + 1)
    if any(one >= other for one, other in pairwise(sticks)):
        raise InvalidMoveError(move, row, "each stick once, from the left to the right")
    return sticks
