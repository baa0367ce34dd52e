"""What a solver returns: columns ready to be stored."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeAlias

import numpy as np

from lookup.blocks import pack, smallest_bits
from lookup.format import (
    Column,
    Totals,
    classes_column,
    grundy_column,
    outcome_column,
    remoteness_column,
)
from lookup.values import Outcome

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

Items: TypeAlias = Callable[[int, int], "NDArray[np.unsignedinteger]"]
"""A stretch of items, from the first number to before the second."""


class Elements(Protocol):
    """Packed elements that can be asked for stretch by stretch: an array, or `Computed`."""

    def __getitem__(self, key: slice, /) -> NDArray[np.unsignedinteger]:
        """Those from `key.start` to `key.stop`."""


class Computed:
    """Packed elements made of items when they are asked for, so that no packed copy is held.

    `items(low, high)` gives a stretch of `count` items, each of which is packed into `bits` bits.
    """

    def __init__(self, items: Items, bits: int, count: int) -> None:
        self._items, self._bits, self._count = items, bits, count

    def __getitem__(self, key: slice, /) -> NDArray[np.unsignedinteger]:
        share = max(1, 8 // self._bits)
        low, high = key.start * share, min(key.stop * share, self._count)
        return pack(self._items(low, high), self._bits)


@dataclass(frozen=True)
class PackedColumn:
    """A column and its packed elements; `array` names the array of the plan that holds just these."""

    column: Column
    elements: Elements
    array: str = ""

    @property
    def data(self) -> NDArray[np.unsignedinteger]:
        """All elements."""
        return self.elements[0 : self.column.length]


@dataclass(frozen=True)
class Solution:
    """A solved game: the columns to store, and what they are in all."""

    columns: tuple[PackedColumn, ...]
    totals: Totals


def slices(first: int, end: int, step: int) -> Iterator[tuple[int, int]]:
    """A range in stretches, between which a solver can report."""
    for low in range(first, end, step):
        yield low, min(low + step, end)


def is_narrow(totals: Totals, size: int) -> bool:
    """Whether a bit is enough for each outcome: every index is a win or a loss."""
    losses, _, wins = totals.counts
    return losses + wins == size


def packed_outcome(codes: NDArray[np.uint8], *, narrow: bool) -> PackedColumn:
    """Codes of `Outcome` in as few bits as they need."""
    if not narrow:
        return _packed(outcome_column(2, len(codes)), codes)

    def won(low: int, high: int) -> NDArray[np.uint8]:
        return np.equal(codes[low:high], Outcome.WIN).view(np.uint8)

    return PackedColumn(outcome_column(1, len(codes)), Computed(won, 1, len(codes)))


def packed_remoteness(remoteness: NDArray[np.unsignedinteger], longest: int) -> PackedColumn:
    """Remoteness in as few bits as the longest needs."""
    return _packed(remoteness_column(smallest_bits(longest), len(remoteness)), remoteness)


def packed_grundy(grundy: NDArray[np.unsignedinteger], largest: int) -> PackedColumn:
    """Grundy values in as few bits as the largest needs."""
    return _packed(grundy_column(smallest_bits(largest), len(grundy)), grundy)


def packed_classes(classes: NDArray[np.unsignedinteger], records: int) -> PackedColumn:
    """The map from index to record."""
    return _packed(classes_column(smallest_bits(records - 1), len(classes)), classes)


def _packed(column: Column, items: NDArray[np.unsignedinteger]) -> PackedColumn:
    def some(low: int, high: int) -> NDArray[np.unsignedinteger]:
        return items[low:high]

    return PackedColumn(column, Computed(some, column.bits, column.items))
