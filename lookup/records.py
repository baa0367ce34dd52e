"""The records of an open table as an indexable array: decoded whole, or chunk by chunk on demand.

A record is one number: outcome code, Grundy value and remoteness, from the least significant bit; what
is not stored takes no bits. Without Grundy values it is `remoteness << 2 | outcome`. `Palette` turns
one record into a `Value`, `decoded` turns many into `Values`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeAlias

import numpy as np

from lookup.columns import CachedColumn, ChunkCache, read_items
from lookup.format import CLASSES, GRUNDY, OUTCOME, REMOTENESS
from lookup.games.unknown import UnknownGame
from lookup.values import Outcome, Value, Values

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from lookup.reader import TableReader

    Decode: TypeAlias = Callable[[TableReader], NDArray[np.unsignedinteger]]
    """Reads all records of a file, as `decode_records` does."""

DECODED_LIMIT = 256 * 1024 * 1024
"""Tables whose records take more bytes than this are read chunk by chunk."""

_WIN_OR_LOSS = (Outcome.LOSS, Outcome.WIN)
_PALETTE_LIMIT = 1 << 16


class Layout(NamedTuple):
    """How the records of a table are made up."""

    is_narrow: bool  # outcomes are stored as one bit, 0 a loss and 1 a win
    grundy_bits: int  # 0 if they are not stored, or all 0
    has_grundy: bool
    has_remoteness: bool
    dtype: np.dtype[np.unsignedinteger]

    @classmethod
    def of(cls, file: TableReader) -> Layout:
        """The layout for the columns that a file has."""
        info = file.info
        grundy_bits = max(info.largest_grundy, 0).bit_length()
        largest = (max(info.longest_remoteness, 0) << grundy_bits | (1 << grundy_bits) - 1) << 2 | 3
        return cls(
            is_narrow=file.columns[OUTCOME].column.bits == 1,
            grundy_bits=grundy_bits,
            has_grundy=GRUNDY in file.columns,
            has_remoteness=REMOTENESS in file.columns,
            dtype=np.min_scalar_type(largest),
        )


class Palette(dict[int, Value | None]):
    """Record to `Value`, made when first asked for and then shared; None for 'not a position'."""

    def __init__(self, layout: Layout) -> None:
        super().__init__()
        self._layout = layout

    def __missing__(self, record: int) -> Value | None:
        layout, outcome = self._layout, Outcome(record & 3)
        remoteness = grundy = None
        if layout.has_grundy:
            grundy = record >> 2 & (1 << layout.grundy_bits) - 1
        if layout.has_remoteness and outcome in _WIN_OR_LOSS:
            remoteness = record >> 2 + layout.grundy_bits
        value = Value(outcome, remoteness, grundy) if outcome else None
        if len(self) < _PALETTE_LIMIT:
            self[record] = value
        return value


def decoded(records: NDArray[np.unsignedinteger], layout: Layout) -> Values:
    """Many records as arrays; `records` itself becomes one of them."""
    number = records.dtype.type
    grundy = remoteness = None
    if layout.has_grundy:
        grundy = records >> number(2) & number((1 << layout.grundy_bits) - 1)
    if not layout.has_remoteness:
        records &= number(3)
        return Values(records, None, grundy)
    outcome = records & number(3)
    records >>= number(2 + layout.grundy_bits)
    remoteness = records
    return Values(outcome, remoteness, grundy)


class Records(Protocol):
    """An array of records that can be asked for one or for many."""

    @property
    def by_index(self) -> SupportsIndexing:
        """What is indexed for a single number that `palette` turns into a value."""

    @property
    def palette(self) -> Mapping[int, Value | None]:
        """The values of what `by_index` holds: records, or something that is faster to have."""

    def take(self, indices: NDArray[np.int64]) -> NDArray[np.unsignedinteger]:
        """The records of many indices, which must be in range, as a new array."""

    def stretch(self, low: int, high: int) -> NDArray[np.unsignedinteger]:
        """The records from index `low` to before `high`, as a new array."""


class SupportsIndexing(Protocol):
    """`by_index[index]` is an int."""

    def __getitem__(self, index: int, /) -> int:
        """The number at one index."""


def decoded_bytes(file: TableReader) -> int:
    """How many bytes `decode_records` returns; while it works it takes up to twice as many."""
    return file.info.size * Layout.of(file).dtype.itemsize


def open_records(file: TableReader, cache_bytes: int, decode: Decode) -> Records:
    """The records of a file, in the form that its size asks for; `decode` reads those kept whole."""
    # If nobody knows the game, nobody knows its size: a file of few bytes may claim to be a large one.
    if decoded_bytes(file) <= DECODED_LIMIT and not isinstance(file.game, UnknownGame):
        # Before: others may know what is decoded by this digest, and all of it is read here anyway.
        file.check_digest()
        return DecodedRecords(decode(file), Palette(Layout.of(file)))
    return ChunkedRecords(file, cache_bytes)


def decode_records(file: TableReader) -> NDArray[np.unsignedinteger]:
    """All records of a file, one for each index."""
    records = _read_records(file, 0, file.columns[OUTCOME].column.items)
    return records[read_items(file, CLASSES)] if CLASSES in file.columns else records


def _read_records(file: TableReader, low: int, high: int) -> NDArray[np.unsignedinteger]:
    """The records in a range of their own numbers, whatever indices have them."""
    remoteness = read_items(file, REMOTENESS, low, high) if REMOTENESS in file.columns else None
    grundy = read_items(file, GRUNDY, low, high) if GRUNDY in file.columns else None
    return _combine(Layout.of(file), read_items(file, OUTCOME, low, high), grundy, remoteness)


class DecodedRecords:
    """Records in memory: an index is one step. Those that cannot be written to are not copied."""

    def __init__(self, records: NDArray[np.unsignedinteger], palette: Palette) -> None:
        # bytes and memoryviews are indexed several times faster than numpy arrays; both share memory.
        may_copy = records.flags.writeable and records.itemsize == 1
        self.by_index: bytes | memoryview = records.tobytes() if may_copy else records.data
        self.palette = palette
        self._array = np.frombuffer(self.by_index, records.dtype)

    def take(self, indices: NDArray[np.int64]) -> NDArray[np.unsignedinteger]:
        """One vectorised gather; the mode spares numpy a second check of what is in range."""
        return self._array.take(indices, mode="wrap")

    def stretch(self, low: int, high: int) -> NDArray[np.unsignedinteger]:
        """A copy of some."""
        return self._array[low:high].copy()


class ChunkedRecords:
    """Records on disk, behind a bounded cache of decoded chunks. Safe to share between threads."""

    def __init__(self, file: TableReader, cache_bytes: int) -> None:
        self.cache = ChunkCache(cache_bytes)
        self._file = file
        self._layout = Layout.of(file)
        self.columns = {name: CachedColumn(file, name, self.cache) for name in file.columns}
        self._outcome = self.columns[OUTCOME]
        self._remoteness = self.columns.get(REMOTENESS)
        self._grundy = self.columns.get(GRUNDY)
        self._classes = self.columns.get(CLASSES)
        self._is_narrow, self._grundy_bits = self._layout.is_narrow, self._layout.grundy_bits
        self.by_index: SupportsIndexing = self
        palette = Palette(self._layout)
        self.palette: Mapping[int, Value | None] = palette
        if self._is_narrow and len(self.columns) == 1:
            # A bit a position: without a record made of each, a probe takes two thirds of the time.
            self.by_index = self._outcome
            self.palette = {0: palette[Outcome.LOSS], 1: palette[Outcome.WIN]}

    def __getitem__(self, index: int, /) -> int:
        if self._classes is not None:
            index = self._classes[index]
        record = 0 if self._remoteness is None else self._remoteness[index]
        if self._grundy is not None:
            record = record << self._grundy_bits | self._grundy[index]
        outcome = self._outcome[index]
        if self._is_narrow:
            outcome = outcome << 1 | 1
        return record << 2 | outcome

    def take(self, indices: NDArray[np.int64]) -> NDArray[np.unsignedinteger]:
        """In the order of the file, so that each chunk is decoded once at most."""
        if self._classes is not None:
            indices = _in_order(indices, self._classes.take).astype(np.int64)
        return _in_order(indices, self._take_sorted)

    def _take_sorted(self, indices: NDArray[np.int64]) -> NDArray[np.unsignedinteger]:
        remoteness = None if self._remoteness is None else self._remoteness.take(indices)
        grundy = None if self._grundy is None else self._grundy.take(indices)
        return _combine(self._layout, self._outcome.take(indices), grundy, remoteness)

    def stretch(self, low: int, high: int) -> NDArray[np.unsignedinteger]:
        """Past the cache, which a walk through the whole table would only empty.

        With symmetry classes it is not: the records of neighbours may lie anywhere.
        """
        if self._classes is not None:
            return self.take(np.arange(low, high))
        return _read_records(self._file, low, high)


def _in_order(
    indices: NDArray[np.int64], take: Callable[[NDArray[np.int64]], NDArray[np.unsignedinteger]]
) -> NDArray[np.unsignedinteger]:
    """What `take` gives for indices when they are sorted, back in their own order."""
    order = np.argsort(indices)
    sorted_numbers = take(indices[order])
    numbers = np.empty_like(sorted_numbers)
    numbers[order] = sorted_numbers
    return numbers


def _combine(
    layout: Layout,
    outcome: NDArray[np.unsignedinteger],
    grundy: NDArray[np.unsignedinteger] | None,
    remoteness: NDArray[np.unsignedinteger] | None,
) -> NDArray[np.unsignedinteger]:
    """Records from columns; a narrow `outcome` is changed in place."""
    number = layout.dtype.type
    if layout.is_narrow:
        outcome <<= np.uint8(1)
        outcome |= np.uint8(1)  # 0, 1 -> LOSS, WIN
    if remoteness is None and grundy is None:
        return outcome.astype(layout.dtype, copy=False)
    if remoteness is None:
        assert grundy is not None
        records = grundy.astype(layout.dtype)
    else:
        records = remoteness.astype(layout.dtype)
        if grundy is not None:
            records <<= number(layout.grundy_bits)
            records |= grundy.astype(layout.dtype, copy=False)
    records <<= number(2)
    records |= outcome
    return records
