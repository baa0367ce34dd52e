"""What a solver returns: columns ready to be stored."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

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

Report: TypeAlias = Callable[[int, int], None]
"""Told now and then how many steps are done, of how many in all."""


def silent(done: int, total: int) -> None:
    """The report of a caller who does not want to know."""


@dataclass(frozen=True)
class PackedColumn:
    """A column and its packed elements."""

    column: Column
    data: NDArray[np.unsignedinteger]


@dataclass(frozen=True)
class Solution:
    """A solved game: the columns to store, and what they are in all."""

    columns: tuple[PackedColumn, ...]
    totals: Totals


def slices(first: int, end: int, step: int) -> Iterator[tuple[int, int]]:
    """A range in stretches, between which a solver can report."""
    for low in range(first, end, step):
        yield low, min(low + step, end)


def packed_outcome(codes: NDArray[np.uint8]) -> PackedColumn:
    """Codes of `Outcome` in as few bits as they need."""
    has_others = bool(((codes == Outcome.DRAW) | (codes == Outcome.NOT_A_POSITION)).any())
    if has_others:
        return PackedColumn(outcome_column(2, len(codes)), pack(codes, 2))
    return PackedColumn(outcome_column(1, len(codes)), pack((codes == Outcome.WIN).view(np.uint8), 1))


def packed_remoteness(remoteness: NDArray[np.unsignedinteger], longest: int) -> PackedColumn:
    """Remoteness in as few bits as the longest needs."""
    bits = smallest_bits(longest)
    return PackedColumn(remoteness_column(bits, len(remoteness)), pack(remoteness, bits))


def packed_grundy(grundy: NDArray[np.unsignedinteger], largest: int) -> PackedColumn:
    """Grundy values in as few bits as the largest needs."""
    bits = smallest_bits(largest)
    return PackedColumn(grundy_column(bits, len(grundy)), pack(grundy, bits))


def packed_classes(classes: NDArray[np.unsignedinteger], records: int) -> PackedColumn:
    """The map from index to record."""
    bits = smallest_bits(records - 1)
    return PackedColumn(classes_column(bits, len(classes)), pack(classes, bits))
