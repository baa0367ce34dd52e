"""What a table holds in all, counted chunk by chunk: so each is read, and its digest compared."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy as np

from lookup.blocks import dtype_of, unpack
from lookup.format import CLASSES, GRUNDY, OUTCOME, REMOTENESS, Period, Totals

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from builder.workers import Steps, Workers
    from lookup.reader import TableReader

T = TypeVar("T")


class _Part(NamedTuple):
    """The packed elements of one chunk: `items` numbers from number `first` of the column on."""

    packed: NDArray[np.unsignedinteger]
    bits: int
    first: int
    items: int

    @classmethod
    def read(cls, file: TableReader, name: str, number: int) -> _Part:
        """A chunk without what fills it up."""
        stored = file.columns[name]
        bits, share = stored.column.bits, stored.chunk_bytes * 8 // stored.column.bits
        first = number * share
        items = min(share, stored.column.items - first)
        packed = np.frombuffer(file.read_chunk(name, number), dtype_of(bits))
        packed = packed[: -(-items * bits // (8 * packed.itemsize))]
        if used := items * bits % 8:
            packed = packed.copy()
            packed[-1] &= (1 << used) - 1
        return cls(packed, bits, first, items)

    @property
    def numbers(self) -> NDArray[np.unsignedinteger]:
        """The items of the chunk."""
        return unpack(self.packed, self.bits, self.items)


def steps(file: TableReader) -> int:
    """How many steps `recount` takes."""
    return sum(stored.count * stored.chunk_bytes for stored in file.columns.values())


def recount(file: TableReader, workers: Workers, done: Steps) -> Totals:
    """The totals of a table; a record counts as often as there are indices that have it."""
    sizes: NDArray[np.int64] | None = None

    def each(name: str, work: Callable[[_Part], T]) -> Iterator[T]:
        stored = file.columns[name]
        calls = ((number,) for number in range(stored.count))
        for result in workers.in_order(lambda number: work(_Part.read(file, name, number)), calls):
            yield result
            done.add(stored.chunk_bytes)

    if CLASSES in file.columns:
        sizes = np.zeros(file.columns[OUTCOME].column.items, np.int64)
        for classes in each(CLASSES, lambda part: part.numbers):
            np.add.at(sizes, classes, 1)
    counts = np.zeros(3, np.int64)
    for found in each(OUTCOME, lambda part: _outcomes(part, sizes)):
        counts += found
    longest, largest = (
        max(each(name, lambda part: _largest(part, sizes))) if name in file.columns else -1
        for name in (REMOTENESS, GRUNDY)
    )
    losses, draws, wins = counts.tolist()
    period = Period.from_text(file.info.period) if file.info.period else None
    return Totals((losses, draws, wins), longest, largest, period)


def _outcomes(part: _Part, sizes: NDArray[np.int64] | None) -> NDArray[np.int64]:
    """Losses, draws and wins, without unpacking them if each counts once."""
    narrow = part.bits == 1
    if sizes is not None:
        of_each = sizes[part.first : part.first + part.items]
        codes = part.numbers << np.uint8(1) | np.uint8(1) if narrow else part.numbers
        return np.bincount(codes, of_each, minlength=4)[1:].astype(np.int64)
    if narrow:
        wins = _set_bits(part.packed)
        return np.array([part.items - wins, 0, wins])
    lower, upper = part.packed & np.uint8(0x55), part.packed >> np.uint8(1) & np.uint8(0x55)
    wins = _set_bits(lower & upper)
    return np.array([_set_bits(lower) - wins, _set_bits(upper) - wins, wins])


def _largest(part: _Part, sizes: NDArray[np.int64] | None) -> int:
    """The largest number that some index has."""
    numbers = part.numbers
    if sizes is not None:
        numbers = numbers[sizes[part.first : part.first + part.items] > 0]
    return int(numbers.max(initial=0))


def _set_bits(packed: NDArray[np.unsignedinteger]) -> int:
    return int(np.bitwise_count(packed).sum(dtype=np.int64))
