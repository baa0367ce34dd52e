"""The records of an open table as an indexable array: decoded whole, or chunk by chunk on demand.

A record is one number: `remoteness << 2 | outcome code`. `Palette` turns one into a `Value`, `Values`
shows many as arrays.
"""

from __future__ import annotations

from collections import OrderedDict
from functools import cached_property
from threading import Lock
from typing import TYPE_CHECKING, Protocol, Self

import numpy as np

from lookup.blocks import dtype_of, unpack
from lookup.errors import CorruptTableError
from lookup.format import CLASSES, OUTCOME, REMOTENESS
from lookup.values import Outcome, Value

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


class Values:
    """The values of many positions, as arrays of the same shape, made when first asked for."""

    def __init__(self, records: NDArray[np.unsignedinteger], has_remoteness: bool) -> None:
        self._records = records
        self._has_remoteness = has_remoteness

    def __len__(self) -> int:
        return len(self._records)

    @cached_property
    def outcome(self) -> NDArray[np.unsignedinteger]:
        """The codes of `Outcome`; 0 for an index that is not a position."""
        return self._records & self._records.dtype.type(3)

    @cached_property
    def remoteness(self) -> NDArray[np.unsignedinteger] | None:
        """Plies to the end where the outcome is a win or a loss, 0 elsewhere; None if not stored."""
        return self._records >> self._records.dtype.type(2) if self._has_remoteness else None

    @property
    def grundy(self) -> NDArray[np.unsignedinteger] | None:
        """Nim-values; None if not stored."""
        return None


class Records(Protocol):
    """An array of records that can be asked for one or for many."""

    @property
    def items(self) -> SupportsIndexing:
        """What is indexed for a single record: the object itself, or a faster one."""

    def take(self, indices: NDArray[np.int64]) -> NDArray[np.unsignedinteger]:
        """The records of many indices, none of them negative.

        Raises:
            IndexError: one is beyond the end.
        """


class SupportsIndexing(Protocol):
    """`items[index]` is an int."""

    def __getitem__(self, index: int, /) -> int:
        """The record of one index."""


def open_records(file: TableFile, cache_bytes: int) -> Records:
    """The records of a file, in the form that its size asks for."""
    if file.info.size * _record_dtype(file).itemsize <= DECODED_LIMIT:
        return DecodedRecords(decode_records(file))
    return ChunkedRecords(file, cache_bytes)


def decode_records(file: TableFile) -> NDArray[np.unsignedinteger]:
    """All records of a file, one for each index."""
    records = _combine(
        _outcome_codes(file, _whole(file, OUTCOME)),
        _whole(file, REMOTENESS) if REMOTENESS in file.columns else None,
        _record_dtype(file),
    )
    return records[_whole(file, CLASSES)] if CLASSES in file.columns else records


class DecodedRecords:
    """Records in memory: an index is one step."""

    def __init__(self, records: NDArray[np.unsignedinteger]) -> None:
        # bytes and memoryviews are indexed several times faster than numpy arrays; both share memory.
        self.items: bytes | memoryview = records.tobytes() if records.itemsize == 1 else records.data
        self._array = np.frombuffer(self.items, records.dtype)

    def take(self, indices: NDArray[np.int64]) -> NDArray[np.unsignedinteger]:
        """One vectorised gather."""
        return self._array[indices]


class ChunkedRecords:
    """Records on disk, behind a bounded cache of decoded chunks. Safe to share between threads."""

    def __init__(self, file: TableFile, cache_bytes: int) -> None:
        self._file = file
        self._limit = cache_bytes
        self._held = 0
        self._lock = Lock()
        self._cache: OrderedDict[tuple[str, int], NDArray[np.unsignedinteger]] = OrderedDict()
        self._dtype = _record_dtype(file)

    @property
    def items(self) -> Self:
        """Itself: there is nothing faster."""
        return self

    def __getitem__(self, index: int, /) -> int:
        if CLASSES in self._file.columns:
            index = self._item(CLASSES, index)
        outcome = self._item(OUTCOME, index)
        if self._file.columns[OUTCOME].column.bits == 1:
            outcome = Outcome.WIN if outcome else Outcome.LOSS
        remoteness = self._item(REMOTENESS, index) if REMOTENESS in self._file.columns else 0
        return remoteness << 2 | outcome

    def take(self, indices: NDArray[np.int64]) -> NDArray[np.unsignedinteger]:
        """Grouped by chunk, so that each chunk is decoded once."""
        if len(indices) and int(indices.max()) >= self._file.info.size:
            raise IndexError
        if CLASSES in self._file.columns:
            indices = self._items(CLASSES, indices).astype(np.int64)
        remoteness = self._items(REMOTENESS, indices) if REMOTENESS in self._file.columns else None
        return _combine(
            _outcome_codes(self._file, self._items(OUTCOME, indices)), remoteness, self._dtype
        )

    def _item(self, name: str, index: int) -> int:
        bits = self._file.columns[name].column.bits
        number, at = divmod(index, self._chunk_items(name))
        chunk = self._chunk(name, number)
        if bits >= 8:
            return int(chunk[at])
        place = at * bits
        return int(chunk[place >> 3]) >> (place & 7) & ((1 << bits) - 1)

    def _items(self, name: str, indices: NDArray[np.int64]) -> NDArray[np.unsignedinteger]:
        bits = self._file.columns[name].column.bits
        share = self._chunk_items(name)
        items = np.empty(len(indices), dtype_of(bits))
        numbers = indices // share
        order = np.argsort(numbers, kind="stable")
        bounds = np.flatnonzero(np.diff(numbers[order])) + 1
        for group in np.split(order, bounds):
            if not len(group):
                continue
            number = int(numbers[group[0]])
            items[group] = unpack(self._chunk(name, number), bits, share)[
                indices[group] - number * share
            ]
        return items

    def _chunk_items(self, name: str) -> int:
        stored = self._file.columns[name]
        return stored.chunk_bytes * 8 // stored.column.bits

    def _chunk(self, name: str, number: int) -> NDArray[np.unsignedinteger]:
        key = (name, number)
        column = self._file.columns[name].column
        with self._lock:
            if (chunk := self._cache.get(key)) is not None:
                self._cache.move_to_end(key)
                return chunk
        # Decoded outside the lock: two threads may decode the same chunk, neither waits for the other.
        chunk = np.frombuffer(self._file.read_chunk(name, number), dtype_of(column.bits))
        _check_items(self._file, name, unpack(chunk, column.bits, self._chunk_items(name)))
        with self._lock:
            if key not in self._cache:
                self._cache[key] = chunk
                self._held += chunk.nbytes
            while self._held > self._limit and len(self._cache) > 1:
                self._held -= self._cache.popitem(last=False)[1].nbytes
        return chunk


def _whole(file: TableFile, name: str) -> NDArray[np.unsignedinteger]:
    column = file.columns[name].column
    items = unpack(file.read_column(name), column.bits, column.items)
    _check_items(file, name, items)
    return items


def _check_items(file: TableFile, name: str, items: NDArray[np.unsignedinteger]) -> None:
    """Refuse numbers that would lead out of the table or overflow a record.

    Only a file whose digests were made to match can have them, but such files may come from anywhere.
    """
    last_record = file.columns[OUTCOME].column.items - 1
    largest = {CLASSES: last_record, REMOTENESS: file.info.longest_remoteness}.get(name)
    if largest is not None and int(items.max()) > largest:
        problem = f"is damaged: {name} holds {int(items.max())}, beyond the largest it may, {largest}"
        raise CorruptTableError(file.path, problem)


def _record_dtype(file: TableFile) -> np.dtype[np.unsignedinteger]:
    """The smallest type for the records that this table has."""
    longest = max(file.info.longest_remoteness, 0)
    return np.min_scalar_type(longest << 2 | 3)


def _outcome_codes(file: TableFile, items: NDArray[np.unsignedinteger]) -> NDArray[np.unsignedinteger]:
    """Items of the outcome column as codes of `Outcome`; narrow ones are changed in place."""
    if file.columns[OUTCOME].column.bits == 1:
        items <<= np.uint8(1)
        items |= np.uint8(1)  # 0, 1 -> LOSS, WIN
    return items


def _combine(
    outcome: NDArray[np.unsignedinteger],
    remoteness: NDArray[np.unsignedinteger] | None,
    dtype: np.dtype[np.unsignedinteger],
) -> NDArray[np.unsignedinteger]:
    if remoteness is None:
        return outcome.astype(dtype, copy=False)
    records = remoteness.astype(dtype)
    records <<= dtype.type(2)
    records |= outcome
    return records
