"""Damage to the bytes of a file: as disks and networks do it, and as only somebody would who tries."""

from __future__ import annotations

import random
import struct
from typing import TYPE_CHECKING

from lookup.blocks import fletcher32

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from torture_files_tables import Place

_BYTES = (0, 1, 2, 3, 7, 8, 0x10, 0x11, 0x7F, 0x80, 0xFE, 0xFF)
_WORDS = (0, 1, 2, 8, 0x10, 0x15, 0x7FFF, 0x8000, 0xFFF8, 0xFFFF)
_NUMBERS = (
    0, 1, 2, 7, 8, 32, 255, 1 << 16, (1 << 18) + 1, 1 << 30, (1 << 31) - 1, 1 << 31, (1 << 32) - 1,
    1 << 32, 1 << 40, 1 << 48, 1 << 60, (1 << 61) + 1, (1 << 63) - 1, 1 << 63, (1 << 64) - 8,
    (1 << 64) - 1,
)  # fmt: skip
_LENGTHS = (1, 2, 4, 8, 16, 24, 40, 64, 512, 4096)
_END_OF_FILE = 40  # where the superblock says how long the file is
_KEY = struct.Struct("<IIQQQ")  # of a chunk: stored bytes, filter mask, first element, 0, address


def flipped(data: bytes, number: int) -> bytes:
    """One bit of one byte; which bit goes round."""
    damaged = bytearray(data)
    damaged[number] ^= 1 << (number * 5 + number // 8) % 8
    return bytes(damaged)


def with_length(data: bytes, length: int) -> bytes:
    """What is said to be the length of the file is another."""
    return data[:_END_OF_FILE] + length.to_bytes(8, "little") + data[_END_OF_FILE + 8 :]


def cut(data: bytes, number: int) -> bytes:
    """The end is lost."""
    return data[:number]


def cut_and_said(data: bytes, number: int) -> bytes:
    """The end is lost, and the file says that it never was longer."""
    return with_length(data, number)[:number]


def blocks(data: bytes, number: int) -> bytes:
    """Blocks as of a disk: exchanged, doubled, moved up, wiped, of another place of the file."""
    dice = random.Random(number)
    size = dice.choice((8, 16, 64, 512, 512, 1024, 4096))
    count = -(-len(data) // size)
    parts = [data[at * size : (at + 1) * size] for at in range(count)]
    one, other = dice.randrange(count), dice.randrange(count)
    kind = dice.randrange(6)
    if kind == 0:
        parts[one], parts[other] = parts[other], parts[one]
    elif kind == 1:
        parts[one] = parts[other]
    elif kind == 2:
        parts[one] = dice.choice((b"\0", b"\xff")) * len(parts[one])
    elif kind == 3:
        del parts[one]
    elif kind == 4:
        parts.insert(one, parts[other])
    else:
        parts[one:] = [bytes(len(part)) for part in parts[one:]]
    return b"".join(parts)


# --- random mutations --------------------------------------------------------------------------------


def interesting(data: bytes, chunks: Sequence[Place]) -> list[int]:
    """The places of all that is neither a chunk nor a gap: three mutations of four go there."""
    is_chunk = bytearray(len(data))
    for _, _, at, size in chunks:
        is_chunk[at : at + size] = b"\1" * size
    near = bytearray(len(data))
    for at, byte in enumerate(data):
        if byte:
            near[max(0, at - 8) : at + 8] = b"\1" * (at + 8 - max(0, at - 8))
    return [at for at in range(len(data)) if near[at] and not is_chunk[at]]


def mutated(data: bytes, others: Sequence[bytes], places: Sequence[int], number: int) -> bytes:
    """Some random changes of all kinds; a third have the length in the superblock made to fit."""
    dice = random.Random(number)
    damaged = bytearray(data)
    for _ in range(dice.choice((1, 1, 1, 1, 2, 2, 3, 5, 9))):
        if not damaged:
            break
        at = dice.choice(places) if dice.randrange(4) else dice.randrange(len(damaged))
        at = min(at, len(damaged) - 1)
        dice.choice(_MUTATIONS)(damaged, at, dice, others)
    if dice.randrange(3) == 0:
        return with_length(bytes(damaged), len(damaged))
    return bytes(damaged)


def _bit(data: bytearray, at: int, dice: random.Random, _: Sequence[bytes]) -> None:
    data[at] ^= 1 << dice.randrange(8)


def _byte(data: bytearray, at: int, dice: random.Random, _: Sequence[bytes]) -> None:
    data[at] = dice.choice((dice.choice(_BYTES), dice.randrange(256), (data[at] + 1) % 256))


def _word(data: bytearray, at: int, dice: random.Random, _: Sequence[bytes]) -> None:
    at &= ~1
    number = dice.choice((dice.choice(_WORDS), dice.randrange(1 << 16)))
    data[at : at + 2] = number.to_bytes(2, "little")


def _number(data: bytearray, at: int, dice: random.Random, _: Sequence[bytes]) -> None:
    at &= ~7
    size = dice.choice((4, 8, 8))
    old = int.from_bytes(data[at : at + size], "little")
    address = dice.randrange(len(data)) & ~7
    near = (old + dice.choice((-8, -1, 1, 8))) % (1 << 8 * size)
    number = dice.choice((dice.choice(_NUMBERS), address, near, len(data)))
    data[at : at + size] = (number % (1 << 8 * size)).to_bytes(size, "little")


def _wiped(data: bytearray, at: int, dice: random.Random, _: Sequence[bytes]) -> None:
    size = dice.choice(_LENGTHS)
    part = data[at : at + size]
    data[at : at + size] = dice.choice(
        (bytes(len(part)), b"\xff" * len(part), dice.randbytes(len(part)))
    )


def _copied(data: bytearray, at: int, dice: random.Random, _: Sequence[bytes]) -> None:
    size, source = dice.choice(_LENGTHS), dice.randrange(len(data))
    if dice.randrange(2):
        at, source = at & ~7, source & ~7
    part = data[source : source + size]
    data[at : at + len(part)] = part


def _swapped(data: bytearray, at: int, dice: random.Random, _: Sequence[bytes]) -> None:
    size = dice.choice(_LENGTHS)
    other = dice.randrange(len(data))
    size = min(size, abs(other - at), len(data) - max(other, at))
    data[at : at + size], data[other : other + size] = (
        data[other : other + size],
        data[at : at + size],
    )


def _inserted(data: bytearray, at: int, dice: random.Random, _: Sequence[bytes]) -> None:
    size, source = dice.choice(_LENGTHS), dice.randrange(len(data))
    data[at:at] = data[source : source + size]


def _deleted(data: bytearray, at: int, dice: random.Random, _: Sequence[bytes]) -> None:
    del data[at : at + dice.choice(_LENGTHS)]


def _truncated(data: bytearray, at: int, dice: random.Random, _: Sequence[bytes]) -> None:
    del data[dice.choice((at, len(data) - 1, len(data) - 8)) :]


def _spliced(data: bytearray, at: int, dice: random.Random, others: Sequence[bytes]) -> None:
    other = dice.choice(others)
    if dice.randrange(2):
        at = max(at, len(data) // 4)  # from the beginning, it would be the other table
        data[at:] = other[at:]
    else:
        size = dice.choice(_LENGTHS)
        data[at : at + size] = other[at : at + size]


_MUTATIONS: tuple[Callable[[bytearray, int, random.Random, Sequence[bytes]], None], ...] = (
    _bit, _bit, _byte, _byte, _word, _word, _number, _number, _number, _wiped, _copied, _copied,
    _swapped, _inserted, _deleted, _truncated, _spliced,
)  # fmt: skip


# --- chunks ------------------------------------------------------------------------------------------


def with_chunk(data: bytes, chunk: Place, stored: bytes) -> bytes:
    """A file with other stored bytes for a chunk: at its end, where its tree then points."""
    _, _, address, size = chunk
    key = address.to_bytes(8, "little")
    at = -1
    while (at := data.index(key, at + 1)) >= 0:
        begin = at - (_KEY.size - 8)
        found, mask, element, zero, _ = _KEY.unpack_from(data, begin)
        if (found, mask, zero) == (size, 0, 0):
            break
    entry = _KEY.pack(len(stored), 0, element, 0, len(data))
    changed = data[:begin] + entry + data[begin + _KEY.size :] + stored
    return with_length(changed, len(changed))


def sealed(frame: bytes) -> bytes:
    """A frame and its checksum."""
    return frame + fletcher32(frame).to_bytes(4, "little")


def odd_frames(chunk: bytes) -> list[bytes]:
    """Zstandard frames around a chunk, such as no table has; each with a right checksum behind."""
    import zstandard

    def frame(**options: bool) -> bytes:
        return zstandard.ZstdCompressor(3, **options).compress(chunk)  # type: ignore[arg-type]  # odd

    plain, magic = frame(write_checksum=True), b"\x28\xb5\x2f\xfd"
    raw = struct.pack("<I", len(chunk) << 3 | 1)[:3] + chunk  # one block, the last, as it is
    a_lot = struct.pack("<I", 0xFFFF << 3 | 1 << 1 | 1)[:3] + b"\0"  # 64 KiB of zeros, in four bytes
    dictionary = zstandard.ZstdCompressionDict(chunk * 4)
    with_dictionary = zstandard.ZstdCompressor(3, dict_data=dictionary).compress(chunk)
    announced = [magic + b"\xe0" + struct.pack("<Q", size) + raw for size in _NUMBERS]
    windows = [
        magic + bytes([0x80, log << 3]) + struct.pack("<I", len(chunk)) + raw for log in range(32)
    ]
    frames = [
        *announced,
        *windows,
        with_dictionary,
        frame(write_checksum=False),
        frame(write_content_size=False),
        plain + plain,
        plain + b"garbage",
        b"\x50\x2a\x4d\x18" + struct.pack("<I", 4) + b"skip" + plain,
        b"\x50\x2a\x4d\x18" + struct.pack("<I", 0xFFFFFFFF),
        plain + b"\x50\x2a\x4d\x18" + struct.pack("<I", 4) + b"skip",
        magic + b"\xe0" + struct.pack("<Q", len(chunk)) + a_lot,
        magic + b"\xe0" + struct.pack("<Q", 1 << 40) + a_lot * 1000,
        plain[:-1], plain[:5], plain[:4], plain[:3], plain[1:], b"", magic,
        b"\0" * len(plain), b"\xff" * len(plain), chunk,
    ]  # fmt: skip
    return [*map(sealed, frames), b"", b"\0", b"\0\0\0\0", plain, plain + b"\0\0\0\0"]
