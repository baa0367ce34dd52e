"""A part: a stretch of an array, in chunks encoded as a table's are, in a file of its own.

Checkpoints are made of parts. If the array is a column of the table, its chunks go into the table as
they are: what was compressed once is not compressed again.

    chunk after chunk, as `lookup.blocks.encode` made them; the last one padded with zeros
    the size of each chunk as a 32-bit number, then the SHA-256 of each decoded chunk
    number of chunks, decoded bytes a chunk, level, the SHA-256 of `label`, which says what it is a part
    of, and then the SHA-256 of all that follows the chunks

A file that was not finished has no right tail and is no part, and one in the place of another has the
wrong label. Damage to a chunk shows when it is read.
"""

from __future__ import annotations

import hashlib
import struct
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

from lookup.blocks import BlockError, check_stored, decode, encode

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from numpy.typing import NDArray

    from builder.solvers.solution import Elements

_NUMBERS = struct.Struct("<QQq")
_TAIL = _NUMBERS.size + 2 * hashlib.sha256().digest_size


class Encoded(NamedTuple):
    """A chunk as it is stored, and the digest of what it holds."""

    stored: bytes
    digest: bytes


def encode_chunk(elements: Elements, low: int, high: int, chunk: int, level: int) -> Encoded:
    """The elements from `low` to `high`, at most a chunk, encoded."""
    raw = elements[low:high].tobytes()
    raw += bytes(chunk - len(raw))
    return Encoded(encode(raw, level), hashlib.sha256(raw).digest())


class PartWriter:
    """Writes a part chunk by chunk; the file has its name only after `close`."""

    def __init__(self, path: Path, label: str, chunk: int, level: int) -> None:
        self._path, self._label, self._chunk, self._level = path, label, chunk, level
        self._temporary = path.with_suffix(".tmp")
        self._file = self._temporary.open("wb")
        self._sizes: list[int] = []
        self._digests = b""

    def add(self, encoded: Encoded) -> None:
        """Append a chunk."""
        self._file.write(encoded.stored)
        self._sizes.append(len(encoded.stored))
        self._digests += encoded.digest

    def close(self) -> None:
        """Finish the file and let it have its name."""
        index = np.array(self._sizes, "<u4").tobytes() + self._digests
        index += _NUMBERS.pack(len(self._sizes), self._chunk, self._level) + _digest(self._label)
        with self._file as file:
            file.write(index + hashlib.sha256(index).digest())
        self._temporary.replace(self._path)

    def abandon(self) -> None:
        """Forget what was written."""
        with suppress(OSError):  # what is still buffered may have no room on the disk
            self._file.close()
        self._temporary.unlink(missing_ok=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            if kind is None:
                self.close()
        finally:
            self.abandon()  # nothing, if it was finished


class Part(NamedTuple):
    """A finished part."""

    path: Path
    chunk: int
    level: int
    sizes: list[int]
    digests: bytes

    @classmethod
    def open(cls, path: Path, label: str) -> Self:
        """Read what a part says of itself.

        Raises:
            ValueError: it is no part, not whole, or a part of something else.
        """
        size = path.stat().st_size
        with path.open("rb") as file:
            file.seek(max(0, size - _TAIL))
            tail = file.read()
            if len(tail) < _TAIL:
                raise ValueError(f"'{path}' is too short for a part")
            count, chunk, level = _NUMBERS.unpack(tail[: _NUMBERS.size])
            if not 0 < count * 36 <= size - _TAIL:
                raise ValueError(f"'{path}' is not a whole part")
            file.seek(size - _TAIL - 36 * count)
            index = file.read(36 * count)
        sizes = np.frombuffer(index[: 4 * count], "<u4")
        right = tail[:-32].endswith(_digest(label)) and hashlib.sha256(index + tail[:-32]).digest()
        if right != tail[-32:] or int(sizes.sum()) + 36 * count + _TAIL != size:
            raise ValueError(f"'{path}' is not a whole part, or one of something else")
        return cls(path, chunk, level, sizes.tolist(), index[4 * count :])

    def chunks(self) -> Iterator[Encoded]:
        """The chunks as they are stored.

        Raises:
            ValueError: one is damaged.
        """
        with self.path.open("rb") as file:
            for at, size in enumerate(self.sizes):
                stored = file.read(size)
                try:
                    check_stored(stored)
                except BlockError as error:
                    raise ValueError(f"chunk {at} of '{self.path}' {error}") from None
                yield Encoded(stored, self.digests[32 * at : 32 * at + 32])

    def decoded(self) -> Iterator[bytes]:
        """The chunks decoded and checked, the last one with its padding.

        Raises:
            ValueError: one is damaged.
        """
        for at, (stored, digest) in enumerate(self.chunks()):
            try:
                raw = decode(stored, self.chunk)
            except BlockError as error:
                raise ValueError(f"chunk {at} of '{self.path}' {error}") from None
            if hashlib.sha256(raw).digest() != digest:
                raise ValueError(f"chunk {at} of '{self.path}' is not the one its digest names")
            yield raw

    def read_into(self, target: NDArray[Any]) -> None:
        """Decode the part into a stretch of an array.

        Raises:
            ValueError: it is damaged, or of another length.
        """
        room = memoryview(target).cast("B")  # type: ignore[arg-type]  # arrays are buffers since 3.12 only
        if not (len(self.sizes) - 1) * self.chunk < len(room) <= len(self.sizes) * self.chunk:
            raise ValueError(f"'{self.path}' is a part of another length")
        first = 0
        for raw in self.decoded():
            room[first : first + self.chunk] = raw[: len(room) - first]
            first += self.chunk


def _digest(label: str) -> bytes:
    return hashlib.sha256(label.encode()).digest()
