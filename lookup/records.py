"""The records of an open table as an indexable array: decoded whole, or chunk by chunk on demand.

A record is one number: `remoteness << 2 | outcome code`. `Palette` turns one into a `Value`,
`decoded` turns many into `Values`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, Self

import numpy as np

from lookup.columns import CachedColumn, ChunkCache, read_items
from lookup.format import CLASSES, OUTCOME, REMOTENESS
from lookup.values import Outcome, Value, Values

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lookup.reader import TableFile

DECODED_LIMIT = 256 * 1024 * 1024
"""Tables whose records take more bytes than this are read chunk by chunk."""

_WIN_OR_LOSS = (Outcome.LOSS, Outcome.WIN)
_PALETTE_LIMIT = 1 << 16


class Palette(dict[int, Value | None]):
    """Record to `Value`, made when first asked for and then shared; None for 'not a position'."""

    def __init__(self, has_remoteness: bool) -> None:
        super().__init__()
        self._has_remoteness = has_remoteness

    def __missing__(self, record: int) -> Value | None:
        outcome = Outcome(record & 3)
        value = None
        if outcome in _WIN_OR_LOSS and self._has_remoteness:
            value = Value(outcome, record >> 2)
        elif outcome:
            value = Value(outcome)
        if len(self) < _PALETTE_LIMIT:
            self[record] = value
        return value


def decoded(records: NDArray[np.unsignedinteger], has_remoteness: bool) -> Values:
    """Many records as arrays; `records` itself becomes one of them."""
    if not has_remoteness:
        return Values(records, None, None)
    outcome = records & records.dtype.type(3)
    records >>= records.dtype.type(2)
    return Values(outcome, records, None)


class Records(Protocol):
    """An array of records that can be asked for one or for many."""

    @property
    def by_index(self) -> SupportsIndexing:
        """What is indexed for a single record: the object itself, or a faster one."""

    def take(self, indices: NDArray[np.int64]) -> NDArray[np.unsignedinteger]:
        """The records of many indices, which must be in range, as a new array."""


class SupportsIndexing(Protocol):
    """`by_index[index]` is an int."""

    def __getitem__(self, index: int, /) -> int:
        """The record of one index."""


def decoded_bytes(file: TableFile) -> int:
    """How many bytes `decode_records` returns; while it works it takes up to twice as many."""
    return file.info.size * _record_dtype(file).itemsize


def open_records(file: TableFile, cache_bytes: int) -> Records:
    """The records of a file, in the form that its size asks for."""
    if decoded_bytes(file) <= DECODED_LIMIT:
        return DecodedRecords(decode_records(file))
    return ChunkedRecords(file, cache_bytes)


def decode_records(file: TableFile) -> NDArray[np.unsignedinteger]:
    """All records of a file, one for each index."""
    remoteness = read_items(file, REMOTENESS) if REMOTENESS in file.columns else None
    outcome = read_items(file, OUTCOME)
    records = _combine(outcome, _is_narrow(file), remoteness, _record_dtype(file))
    return records[read_items(file, CLASSES)] if CLASSES in file.columns else records


class DecodedRecords:
    """Records in memory: an index is one step."""

    def __init__(self, records: NDArray[np.unsignedinteger]) -> None:
        # bytes and memoryviews are indexed several times faster than numpy arrays; both share memory.
        self.by_index: bytes | memoryview = records.tobytes() if records.itemsize == 1 else records.data
        self._array = np.frombuffer(self.by_index, records.dtype)

    def take(self, indices: NDArray[np.int64]) -> NDArray[np.unsignedinteger]:
        """One vectorised gather; the mode spares numpy a second check of what is in range."""
        return self._array.take(indices, mode="wrap")


class ChunkedRecords:
    """Records on disk, behind a bounded cache of decoded chunks. Safe to share between threads."""

    def __init__(self, file: TableFile, cache_bytes: int) -> None:
        self.cache = ChunkCache(cache_bytes)
        self._dtype = _record_dtype(file)
        columns = {name: CachedColumn(file, name, self.cache) for name in file.columns}
        self._outcome = columns[OUTCOME]
        self._remoteness = columns.get(REMOTENESS)
        self._classes = columns.get(CLASSES)
        self._is_narrow = _is_narrow(file)

    @property
    def by_index(self) -> Self:
        """Itself: there is nothing faster."""
        return self

    def __getitem__(self, index: int, /) -> int:
        index = int(index)  # a numpy integer may be too narrow for what follows
        if self._classes is not None:
            index = self._classes[index]
        outcome = self._outcome[index]
        if self._is_narrow:
            outcome = outcome << 1 | 1
        return outcome if self._remoteness is None else self._remoteness[index] << 2 | outcome

    def take(self, indices: NDArray[np.int64]) -> NDArray[np.unsignedinteger]:
        """Grouped by chunk, so that each chunk is decoded once."""
        if self._classes is not None:
            indices = self._classes.take(indices).astype(np.int64)
        remoteness = None if self._remoteness is None else self._remoteness.take(indices)
        return _combine(self._outcome.take(indices), self._is_narrow, remoteness, self._dtype)


def _record_dtype(file: TableFile) -> np.dtype[np.unsignedinteger]:
    """The smallest type for the records that this table has."""
    longest = max(file.info.longest_remoteness, 0)
    return np.min_scalar_type(longest << 2 | 3)


def _is_narrow(file: TableFile) -> bool:
    """Whether an outcome is one bit, 0 a loss and 1 a win."""
    return file.columns[OUTCOME].column.bits == 1


def _combine(
    outcome: NDArray[np.unsignedinteger],
    is_narrow: bool,
    remoteness: NDArray[np.unsignedinteger] | None,
    dtype: np.dtype[np.unsignedinteger],
) -> NDArray[np.unsignedinteger]:
    """Records from columns; a narrow `outcome` is changed in place."""
    if is_narrow:
        outcome <<= np.uint8(1)
        outcome |= np.uint8(1)  # 0, 1 -> LOSS, WIN
    if remoteness is None:
        return outcome.astype(dtype, copy=False)
    records = remoteness.astype(dtype)
    records <<= dtype.type(2)
    records |= outcome
    return records
