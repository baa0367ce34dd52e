"""One chunk of a column: numbers to packed bytes to stored bytes, and back.

A stored chunk is one Zstandard frame (content size and checksum on, no dictionary) followed by the
HDF5 Fletcher-32 checksum of that frame, as the filter pipeline zstd, fletcher32 would have left it.
Encoding and decoding stand side by side here, and nothing else in the product touches zstd.
"""

from __future__ import annotations

from functools import cache
from threading import local
from typing import TYPE_CHECKING

import numpy as np
import zstandard

if TYPE_CHECKING:
    from numpy.typing import NDArray

PACKED_BITS = (1, 2, 4, 8, 16, 32)
"""How many bits an item may take; items narrower than a byte share it, lowest bits first."""


_own = local()
"""What must not be shared between threads: to make a decompressor takes 18 microseconds, and to make a
compressor a fifth of the time of compressing a chunk at the lowest level."""


class BlockError(ValueError):
    """Stored bytes that are not a chunk; the message completes 'chunk 3 of outcome ...'."""


def smallest_bits(largest: int) -> int:
    """The least packing that holds numbers from 0 to `largest`."""
    return next(bits for bits in PACKED_BITS if largest < 1 << bits)


def dtype_of(bits: int) -> np.dtype[np.unsignedinteger]:
    """The little-endian type of an array packed with `bits` bits an item."""
    return np.dtype(f"<u{max(1, bits // 8)}")


def packed_length(items: int, bits: int) -> int:
    """How many elements of `dtype_of(bits)` hold that many items."""
    return items if bits >= 8 else -(-items * bits // 8)


def pack(items: NDArray[np.unsignedinteger], bits: int) -> NDArray[np.unsignedinteger]:
    """Numbers to packed elements; the unused bits of the last element are 0."""
    if bits >= 8:
        return items.astype(dtype_of(bits), copy=False)
    if bits == 1:
        return np.packbits(items, bitorder="little")
    share = 8 // bits
    padded = np.zeros(packed_length(len(items), bits) * share, np.uint8)
    padded[: len(items)] = items
    packed = padded[0::share].copy()
    for place in range(1, share):
        packed |= padded[place::share] << np.uint8(place * bits)
    return packed


def unpack(packed: NDArray[np.unsignedinteger], bits: int, items: int) -> NDArray[np.unsignedinteger]:
    """Packed elements to the first `items` numbers in them."""
    if bits >= 8:
        return packed[:items]
    if bits == 1:
        return np.unpackbits(packed, count=items, bitorder="little")
    share = 8 // bits
    numbers = np.empty(len(packed) * share, np.uint8)
    for place in range(share):
        numbers[place::share] = packed >> np.uint8(place * bits) & np.uint8((1 << bits) - 1)
    return numbers[:items]


def encode(chunk: bytes, level: int) -> bytes:
    """A decoded chunk to its stored form."""
    frame = _compressor(level).compress(chunk)
    return frame + fletcher32(frame).to_bytes(4, "little")


def check_stored(stored: bytes) -> None:
    """Look for damage in a stored chunk, without decoding it.

    Raises:
        BlockError: it is damaged.
    """
    if fletcher32(stored[:-4]).to_bytes(4, "little") != stored[-4:]:
        raise BlockError("fails its Fletcher-32 checksum")


def decode(stored: bytes, size: int) -> bytes:
    """A stored chunk to its `size` decoded bytes; never allocates more than that.

    Raises:
        BlockError: damaged, or of another size.
    """
    check_stored(stored)
    frame = stored[:-4]
    try:
        announced = zstandard.frame_content_size(frame)
        if announced != size:
            raise BlockError(f"holds {announced} bytes, not {size}")
        chunk = _decompressor().decompress(frame, max_output_size=size)
    except zstandard.ZstdError as error:
        raise BlockError(f"is not a Zstandard frame ({error})") from error
    if len(chunk) != size:
        raise BlockError(f"decodes to {len(chunk)} bytes, not {size}")
    return chunk


def _compressor(level: int) -> zstandard.ZstdCompressor:
    """The one of this thread for a level."""
    if getattr(_own, "level", None) != level:
        _own.level = level
        _own.compressor = zstandard.ZstdCompressor(level, write_checksum=True, write_content_size=True)
    mine: zstandard.ZstdCompressor = _own.compressor
    return mine


def _decompressor() -> zstandard.ZstdDecompressor:
    """The one of this thread."""
    try:
        mine: zstandard.ZstdDecompressor = _own.decompressor
    except AttributeError:
        mine = _own.decompressor = zstandard.ZstdDecompressor()
    return mine


def fletcher32(data: bytes) -> int:
    """The checksum of HDF5's fletcher32 filter: over big-endian 16-bit words, sums modulo 65535.

    HDF5 folds carries instead of dividing, so that a sum divisible by 65535 stays 65535, not 0.
    """
    words = np.frombuffer(data + b"\0" * (len(data) % 2), "<u2").astype(np.uint64)
    # Modulo 65535 to swap the bytes of a word is to multiply it by 256: cheaper once, at the end.
    first = int(words.sum()) << 8
    second = int(words @ _countdown(len(words))) << 8
    low = (first - 1) % 65535 + 1 if first else 0
    high = (second - 1) % 65535 + 1 if second else 0
    return high << 16 | low


def _countdown(count: int) -> NDArray[np.uint64]:
    """The numbers from `count` to 1."""
    longer = _countdown_from(1 << count.bit_length())
    return longer[len(longer) - count :]


@cache
def _countdown_from(count: int) -> NDArray[np.uint64]:
    """Kept: to make them takes as long as all the rest of a checksum."""
    return np.arange(count, 0, -1, dtype=np.uint64)
