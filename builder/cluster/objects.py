"""What a task leaves: stretches of arrays and a summary, in one file that shows all damage.

    chunk after chunk, as `lookup.blocks.encode` made them, array after array
    the index: canonical JSON with the label and the name of the object, its summary, and of each array
        its type, where in the whole array it lies, the bytes of a chunk and the level
    of each chunk of each array its size, then of each the SHA-256 of what it holds
    the bytes of the JSON, the number of chunks, and the SHA-256 of all from the index on

The label says which build it is of. A file that was not finished has no right tail; one in the place of
another has the wrong name; damage to a chunk shows when it is read. A chunk can be read without those
before it.
"""

from __future__ import annotations

import hashlib
import json
import struct
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from builder.parts import Encoded, encode_chunk
from lookup.blocks import BlockError, decode
from lookup.format import CHUNK_BYTES, canonical

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from numpy.typing import NDArray

LEVEL = 1
TAIL = struct.Struct("<QQ32s")
_CHUNK = 36  # what the index says of a chunk, in bytes


class DamagedError(ValueError):
    """An object that is not what was written; the message completes 'solve/3 ...'."""


class Stretch(NamedTuple):
    """A stretch of an array, to be stored: its elements, and where in the whole array they begin."""

    elements: NDArray[Any]
    low: int = 0
    chunk: int = CHUNK_BYTES
    level: int = LEVEL


class StoredArray(NamedTuple):
    """A stretch of an array as it is stored: its chunks begin at `offset` of the object."""

    dtype: np.dtype[Any]
    low: int
    high: int
    chunk: int
    level: int
    offset: int
    sizes: NDArray[np.uint32]
    digests: bytes

    @property
    def share(self) -> int:
        """How many elements a chunk holds."""
        return self.chunk // self.dtype.itemsize


class Index(NamedTuple):
    """What an object holds, and its last bytes, all of a small one: `tail`, from `begin` on."""

    summary: dict[str, Any]
    arrays: dict[str, StoredArray]
    tail: bytes
    begin: int


def encode_object(
    label: str, name: str, summary: Mapping[str, Any], arrays: Mapping[str, Stretch]
) -> Iterator[bytes]:
    """The bytes of an object, piece by piece."""
    said: dict[str, list[Any]] = {}
    sizes, digests = bytearray(), bytearray()
    for array, (elements, low, chunk, level) in sorted(arrays.items()):  # as the JSON has them
        share = chunk // elements.itemsize
        said[array] = [elements.dtype.str, low, low + len(elements), chunk, level]
        for first in range(0, len(elements), share):
            last = min(first + share, len(elements))
            encoded = encode_chunk(elements, first, last, chunk, level)
            sizes += struct.pack("<I", len(encoded.stored))
            digests += encoded.digest
            yield encoded.stored
    text = canonical({"label": label, "name": name, "summary": summary, "arrays": said})
    index = text + sizes + digests
    yield index
    numbers = TAIL.pack(len(text), len(sizes) // 4, bytes(32))[:16]
    yield numbers + hashlib.sha256(index + numbers).digest()


def decode_index(
    label: str, name: str, size: int, read: Callable[[int, int], bytes], tail: bytes
) -> Index:
    """The index of an object of `size` bytes, of which `tail` are the last and `read` gives others.

    Raises:
        DamagedError: it is no whole object, or that of something else.
    """
    if len(tail) < TAIL.size:
        raise DamagedError("is too short for an object")
    length, count, digest = TAIL.unpack(tail[-TAIL.size :])
    begin = size - TAIL.size - length - _CHUNK * count
    if begin < 0:
        raise DamagedError("is not whole")
    known = size - len(tail)
    whole = tail[begin - known :] if begin >= known else read(begin, known) + tail
    if hashlib.sha256(whole[:-32]).digest() != digest:
        raise DamagedError("is not whole")
    said = json.loads(whole[:length])
    if (said["label"], said["name"]) != (label, name):
        raise DamagedError("is an object of something else")
    sizes = np.frombuffer(whole, "<u4", count, length)
    arrays: dict[str, StoredArray] = {}
    offset = first = 0
    for array, (dtype, low, high, chunk, level) in said["arrays"].items():
        end = first + -(-(high - low) * np.dtype(dtype).itemsize // chunk)
        at = length + 4 * count
        mine = sizes[first:end]
        arrays[array] = StoredArray(
            np.dtype(dtype), low, high, chunk, level, offset, mine,
            whole[at + 32 * first : at + 32 * end],
        )  # fmt: skip
        offset += int(mine.sum())
        first = end
    if offset != begin:
        raise DamagedError("is not as long as its index says")
    return Index(said["summary"], arrays, tail, known)


def decode_chunk(array: StoredArray, number: int, stored: bytes) -> bytes:
    """A chunk decoded and checked, the last one with its padding.

    Raises:
        DamagedError: it is not what was written.
    """
    try:
        raw = decode(stored, array.chunk)
    except BlockError as error:
        raise DamagedError(f"is damaged: chunk {number} {error}") from None
    if hashlib.sha256(raw).digest() != array.digests[32 * number : 32 * number + 32]:
        raise DamagedError(f"is damaged: chunk {number} is not the one its digest names")
    return raw


def checked_chunk(array: StoredArray, number: int, stored: bytes) -> Encoded:
    """A chunk as it is stored, after it was decoded and checked.

    Raises:
        DamagedError: it is not what was written.
    """
    decode_chunk(array, number, stored)
    return Encoded(stored, array.digests[32 * number : 32 * number + 32])
