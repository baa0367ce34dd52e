"""The numbers of one column of a table file: a stretch of them, or some through a cache of chunks."""

from __future__ import annotations

from collections import deque
from operator import index as as_int
from threading import Lock
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from lookup.blocks import dtype_of, unpack
from lookup.errors import CorruptTableError
from lookup.format import CLASSES, GRUNDY, OUTCOME, REMOTENESS
from lookup.processes import tell_in_child
from lookup.threads import in_threads

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lookup.reader import TableReader

Chunk: TypeAlias = bytes | memoryview
"""Decoded elements, as what is indexed fastest: `bytes` if they are bytes."""


def read_items(
    file: TableReader, name: str, low: int = 0, high: int | None = None
) -> NDArray[np.unsignedinteger]:
    """The numbers of a column from index `low` to before `high`; all, unless told.

    Only the chunks that hold them are read.

    Raises:
        CorruptTableError: a chunk is damaged, or a number is larger than it may be.
    """
    stored = file.columns[name]
    high = stored.column.items if high is None else high
    first = low // stored.share
    packed = file.read_elements(name, first, -(-high // stored.share))
    start = first * stored.share
    items = unpack(packed, stored.column.bits, high - start)[low - start :]
    if (largest := _largest(file, name)) is not None:
        _check_items(file, name, items, largest)
    return items


class ChunkCache:
    """A bound on the bytes of the decoded chunks that columns hold. Safe to share between threads.

    Chunks leave in the order in which they came, but one that was used since its last turn stays for
    another (the CLOCK algorithm). That comes close to dropping what was used least recently, while
    a hit has nothing to move: it sets a flag, without a lock.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.held = 0
        self.columns: list[CachedColumn] = []
        self._queue: deque[tuple[CachedColumn, int]] = deque()
        self._lock = Lock()
        tell_in_child(self)

    def put(self, column: CachedColumn, number: int, chunk: Chunk) -> None:
        """Let a column hold a chunk; others are dropped first until it fits, or is alone."""
        with self._lock:
            if number in column.chunks:
                return  # another thread was faster
            while self._queue and self.held + column.chunk_bytes > self.limit:
                self._drop_one()
            column.used.discard(number)
            column.chunks[number] = chunk
            self._queue.append((column, number))
            self.held += column.chunk_bytes

    def in_child(self) -> None:
        """Start again without chunks: the parent may have been about to drop or to put one."""
        for column in self.columns:
            column.chunks.clear()
            column.used.clear()
        self._queue.clear()
        self.held = 0
        self._lock = Lock()

    def _drop_one(self) -> None:
        while True:
            column, number = self._queue.popleft()
            if number not in column.used:
                del column.chunks[number]
                self.held -= column.chunk_bytes
                return
            column.used.discard(number)
            self._queue.append((column, number))


class CachedColumn:
    """One column of a file, read chunk by chunk through a cache that columns may share.

    `chunks`, and which of them were `used`, belong to the cache. Both are read, and numbers are added
    to `used`, without its lock: between two steps a chunk may only disappear, and then its number
    means nothing.
    """

    def __init__(self, file: TableReader, name: str, cache: ChunkCache) -> None:
        stored = file.columns[name]
        self.chunks: dict[int, Chunk] = {}
        self.used: set[int] = set()  # not a flag for each chunk: how many there are is a claim
        self._file, self._name, self._cache = file, name, cache
        cache.columns.append(self)
        self.chunk_bytes = stored.chunk_bytes
        self._bits = stored.column.bits
        self._mask = (1 << self._bits) - 1
        # A chunk holds 2 ** shift items; if there is only one, perhaps fewer.
        self._shift = (stored.share - 1).bit_length()
        self._inside = (1 << self._shift) - 1
        self._largest = _largest(file, name)

    def __getitem__(self, index: int, /) -> int:
        if type(index) is not int:
            index = as_int(index)  # a numpy integer may be too narrow for what follows
        number = index >> self._shift
        try:
            chunk = self.chunks[number]
            self.used.add(number)
        except KeyError:
            chunk = self._read(number)
            self._cache.put(self, number, chunk)
        at = index & self._inside
        if self._bits >= 8:
            return chunk[at]
        at *= self._bits
        return chunk[at >> 3] >> (at & 7) & self._mask

    def take(self, indices: NDArray[np.int64]) -> NDArray[np.unsignedinteger]:
        """The numbers at many indices, which must ascend. Each chunk is decoded once at most.

        What is decoded goes into the cache if all of it fits: a batch all over a large table would
        drop everything else from there, and in the end most of its own chunks too.
        """
        numbers, at = indices >> self._shift, indices & self._inside
        if self._bits < 8:
            at *= self._bits
            shifts = (at & 7).astype(np.uint8)
            at >>= 3
        starts = np.flatnonzero(np.diff(numbers, prepend=-1))
        ends = np.append(starts, len(indices))[1:]
        groups = zip(numbers[starts].tolist(), starts.tolist(), ends.tolist(), strict=True)
        items = np.empty(len(indices), dtype_of(self._bits).newbyteorder("="))

        def pick(chunk: Chunk, low: int, high: int) -> None:
            np.frombuffer(chunk, items.dtype).take(at[low:high], out=items[low:high], mode="clip")

        missing = []
        for group in groups:
            if (chunk := self.chunks.get(group[0])) is None:
                missing.append(group)
            else:
                self.used.add(group[0])
                pick(chunk, *group[1:])
        fits = len(missing) * self.chunk_bytes <= self._cache.limit

        def read(place: int) -> None:
            number, low, high = missing[place]
            chunk = self._read(number)
            pick(chunk, low, high)
            if fits:
                self._cache.put(self, number, chunk)

        in_threads(read, len(missing))
        if self._bits < 8:
            items >>= shifts
            items &= np.uint8(self._mask)
        return items

    def _read(self, number: int) -> Chunk:
        """A decoded chunk, by elements. Two threads may read the same; neither waits for the other."""
        dtype = dtype_of(self._bits)
        chunk = self._file.read_chunk(self._name, number)
        packed = np.frombuffer(chunk, dtype)
        if self._largest is not None:
            items = unpack(packed, self._bits, self._inside + 1)
            _check_items(self._file, self._name, items, self._largest)
        return chunk if dtype.itemsize == 1 else packed.astype(dtype.newbyteorder("="), copy=False).data


def _largest(file: TableReader, name: str) -> int | None:
    """The largest number that a column may hold; None if it has no bits for a larger one."""
    bits = file.columns[name].column.bits
    largest = {
        CLASSES: file.columns[OUTCOME].column.items - 1,
        REMOTENESS: file.info.longest_remoteness,
        GRUNDY: file.info.largest_grundy,
        OUTCOME: (1 << bits) - 1,
    }[name]
    return largest if largest < (1 << bits) - 1 else None


def _check_items(
    file: TableReader, name: str, items: NDArray[np.unsignedinteger], largest: int
) -> None:
    """Refuse numbers that would lead out of the table or overflow a record.

    Only a file whose digests were made to match can have them, but such files may come from anywhere.
    """
    if (found := int(items.max())) > largest:
        problem = f"is damaged: {name} holds {found}, beyond the largest it may, {largest}"
        raise CorruptTableError(file.path, problem)
