"""Nim: heaps, and sums of heaps."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lookup import Game, parameter

if TYPE_CHECKING:
    from collections.abc import MutableSequence


class Nim(Game):
    """Take any number of counters from one heap; whoever takes the last of all wins.

    A position is a heap, or several: '3 + 4 + 5'.
    """

    largest: int = parameter(default=100, least=1, help="The largest heap.")

    solver = "grundy"

    @property
    def size(self) -> int:
        """The index is the number of counters."""
        return self.largest + 1

    @property
    def start(self) -> int:
        """The largest heap."""
        return self.largest

    @property
    def max_moves(self) -> int:
        """A heap has as many moves as counters."""
        return self.largest

    def successors(self, index: int, out: MutableSequence[int]) -> int:
        """Leave any smaller number."""
        for left in range(index):
            out[left] = left
        return index

    def move_name(self, index: int, after: int) -> str:
        """How many are taken."""
        return f"take {index - after}"
