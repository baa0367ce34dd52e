"""The numbers of one column of a table file: all of them, or some through a cache of chunks."""

from __future__ import annotations

from collections import OrderedDict
from threading import Lock
from typing import TYPE_CHECKING

import numpy as np

from lookup.blocks import dtype_of, unpack
from lookup.errors import CorruptTableError
from lookup.format import CLASSES, COLUMNS, GRUNDY, OUTCOME, REMOTENESS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lookup.reader import TableFile


def read_items(file: TableFile, name: str) -> NDArray[np.unsignedinteger]:
    """All numbers of a column.

    Raises:
        CorruptTableError: a chunk is damaged, or a number is larger than it may be.
    """
    column = file.columns[name].column
    packed = file.read_column(name)
    _check_items(file, name, packed)
    return unpack(packed, column.bits, column.items)


class ChunkCache:
    """Decoded chunks by key, those used least recently dropped first. Safe to share between threads."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._chunks: OrderedDict[int, bytes] = OrderedDict()
        self._lock = Lock()
        self.held = 0

    def get(self, key: int) -> bytes | None:
        """A chunk, if it is here. Takes no lock: between two steps a chunk may only disappear."""
        chunk = self._chunks.get(key)
        if chunk is not None:
            try:  # noqa: SIM105 - suppress() would take longer than all the rest
                self._chunks.move_to_end(key)
            except KeyError:
                pass
        return chunk

    def put(self, key: int, chunk: bytes) -> None:
        """Keep a chunk, and drop others until all fit; the newest stays in any case."""
        with self._lock:
            if key not in self._chunks:
                self._chunks[key] = chunk
                self.held += len(chunk)
            while self.held > self._limit and len(self._chunks) > 1:
                self.held -= len(self._chunks.popitem(last=False)[1])


class CachedColumn:
    """One column of a file, read chunk by chunk through a cache that columns may share."""

    def __init__(self, file: TableFile, name: str, cache: ChunkCache) -> None:
        stored = file.columns[name]
        self._file, self._name, self._cache = file, name, cache
        self._bits = stored.column.bits
        self._share = stored.chunk_bytes * 8 // self._bits
        self._chunk_count = len(stored.offsets)
        self._slot = COLUMNS.index(name)

    def __getitem__(self, index: int, /) -> int:
        number, at = divmod(index, self._share)
        chunk = self._chunk(number)
        bits = self._bits
        if bits < 8:
            return chunk[at * bits >> 3] >> (at * bits & 7) & ((1 << bits) - 1)
        width = bits >> 3
        return int.from_bytes(chunk[at * width : at * width + width], "little")

    def take(self, indices: NDArray[np.int64]) -> NDArray[np.unsignedinteger]:
        """The numbers at many indices, grouped by chunk so that each chunk is decoded once."""
        # A narrow type lets numpy sort by radix, several times faster.
        numbers = (indices // self._share).astype(np.min_scalar_type(self._chunk_count))
        order = np.argsort(numbers, kind="stable")
        starts = np.flatnonzero(np.diff(numbers[order], prepend=-1 if len(order) else []))
        items = np.empty(len(indices), dtype_of(self._bits))
        for group in np.split(order, starts[1:]) if len(order) else []:
            number = int(numbers[group[0]])
            items[group] = self._pick(self._chunk(number), indices[group] - number * self._share)
        return items

    def _pick(self, chunk: bytes, at: NDArray[np.int64]) -> NDArray[np.unsignedinteger]:
        packed = np.frombuffer(chunk, dtype_of(self._bits))
        if self._bits >= 8:
            return packed[at]
        place = at * self._bits
        picked: NDArray[np.unsignedinteger] = packed[place >> 3]
        picked >>= (place & 7).astype(np.uint8)
        picked &= np.uint8((1 << self._bits) - 1)
        return picked

    def _chunk(self, number: int) -> bytes:
        key = number * len(COLUMNS) + self._slot
        chunk = self._cache.get(key)
        if chunk is None:
            # Two threads may decode the same chunk at once; neither waits for the other.
            chunk = self._file.read_chunk(self._name, number)
            _check_items(self._file, self._name, np.frombuffer(chunk, dtype_of(self._bits)))
            self._cache.put(key, chunk)
        return chunk


def _check_items(file: TableFile, name: str, packed: NDArray[np.unsignedinteger]) -> None:
    """Refuse numbers that would lead out of the table or overflow a record.

    Only a file whose digests were made to match can have them, but such files may come from anywhere.
    """
    largest = {
        CLASSES: file.columns[OUTCOME].column.items - 1,
        REMOTENESS: file.info.longest_remoteness,
        GRUNDY: file.info.largest_grundy,
    }.get(name)
    if largest is None:
        return
    bits = file.columns[name].column.bits
    found = int(unpack(packed, bits, len(packed) * max(1, 8 // bits)).max())
    if found > largest:
        problem = f"is damaged: {name} holds {found}, beyond the largest it may, {largest}"
        raise CorruptTableError(file.path, problem)
