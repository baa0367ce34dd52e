"""The little of HDF5 that tables use, read byte by byte as tables/FORMAT.md says it: without a library.

Whatever the document does not mention is an assertion that fails.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

CONTINUATION, SYMBOL_TABLE, ATTRIBUTE = 0x10, 0x11, 0x0C
DATASPACE, DATATYPE, LAYOUT, FILTERS = 0x01, 0x03, 0x08, 0x0B
NOTHING, FILL_VALUE = 0x00, 0x05

Attributes = dict[str, int | str]


class Place(NamedTuple):
    """Where the stored bytes of a chunk lie."""

    address: int
    size: int


class Dataset(NamedTuple):
    """One array: its shape, its bytes if it is contiguous, its chunks if it is not."""

    attributes: Attributes
    shape: tuple[int, ...]
    element: int  # bytes
    filters: list[int]
    raw: bytes
    chunk: int  # elements
    places: list[Place]


class Group(NamedTuple):
    """What a group says of itself, and where the headers of its members begin."""

    attributes: Attributes
    members: dict[str, int]


def number(data: bytes, at: int, size: int) -> int:
    return int.from_bytes(data[at : at + size], "little")


def root(data: bytes) -> int:
    """The address of the header of the root group."""
    assert data[:8] == b"\x89HDF\r\n\x1a\n", "not HDF5"
    assert data[8:12] == bytes(4), "another version of the superblock"
    assert data[13:15] == b"\x08\x08", "addresses or lengths of another size"
    assert number(data, 24, 8) == 0, "addresses do not count from the beginning of the file"
    assert number(data, 40, 8) == len(data), "the file has lost its end"
    return number(data, 64, 8)


def messages(data: bytes, header: int) -> list[tuple[int, bytes]]:
    """The messages of an object: type and content."""
    version, count, size = data[header], number(data, header + 2, 2), number(data, header + 8, 4)
    assert version == 1, "another version of an object header"
    blocks, found = [(header + 16, size)], []
    for begin, length in blocks:  # grows on the way
        at = begin
        while at < begin + length:
            kind, size, flags = struct.unpack_from("<HHB", data, at)
            assert flags in (0, 1), "a shared message"
            content = data[at + 8 : at + 8 + size]
            if kind == CONTINUATION:
                blocks.append(struct.unpack_from("<QQ", content))
            found.append((kind, content))
            at += 8 + size
    assert len(found) == count, "messages are missing"
    return found


def attribute(content: bytes) -> tuple[str, int | str]:
    version, _, name_size, type_size, space_size = struct.unpack_from("<BBHHH", content)
    assert version == 1, "another version of an attribute"
    ends = [8]
    for size in (name_size, type_size, space_size):
        ends.append(ends[-1] + (size + 7) // 8 * 8)
    name, kind, space = (
        content[begin : begin + size]
        for begin, size in zip(ends, (name_size, type_size, space_size), strict=False)
    )
    assert space == b"\x01" + bytes(7), "not a scalar"
    value = content[ends[3] : ends[3] + number(kind, 4, 4)]
    if kind == bytes.fromhex("10 08 00 00  08 00 00 00  00 00 40 00"):
        return name.rstrip(b"\0").decode("ascii"), int.from_bytes(value, "little", signed=True)
    assert kind[:4] == bytes.fromhex("13 01 00 00"), "neither an integer nor a string"
    return name.rstrip(b"\0").decode("ascii"), value.rstrip(b"\0").decode("utf-8")


def read_group(data: bytes, header: int) -> Group:
    found = messages(data, header)
    assert {kind for kind, _ in found} <= {SYMBOL_TABLE, ATTRIBUTE, CONTINUATION, NOTHING}
    tree, heap = struct.unpack("<QQ", dict(found)[SYMBOL_TABLE])
    assert data[heap : heap + 5] == b"HEAP\0"
    members: dict[str, int] = {}
    for _, node in leaves(data, tree, 0, 8):
        add_members(data, node, number(data, heap + 24, 8), members)
    return Group(dict(attribute(content) for kind, content in found if kind == ATTRIBUTE), members)


def add_members(data: bytes, node: int, names: int, members: dict[str, int]) -> None:
    assert data[node : node + 5] == b"SNOD\x01"
    for entry in range(number(data, node + 6, 2)):
        at, header = struct.unpack_from("<QQ", data, node + 8 + 40 * entry)
        name = data[names + at : data.index(b"\0", names + at)]
        members[name.decode("ascii")] = header


def leaves(data: bytes, node: int, kind: int, key_size: int) -> list[tuple[bytes, int]]:
    """Keys and children of the lowest nodes of a tree; a child lies between two keys."""
    assert data[node : node + 5] == b"TREE" + bytes([kind])
    level, count = data[node + 5], number(data, node + 6, 2)
    found: list[tuple[bytes, int]] = []
    for entry in range(count):
        at = node + 24 + entry * (key_size + 8)
        child = number(data, at + key_size, 8)
        if level:
            found += leaves(data, child, kind, key_size)
        else:
            found.append((data[at : at + key_size], child))
    return found


def read_dataset(data: bytes, header: int) -> Dataset:
    found = messages(data, header)
    known = {DATASPACE, DATATYPE, LAYOUT, FILTERS, ATTRIBUTE, CONTINUATION, NOTHING, FILL_VALUE}
    assert {kind for kind, _ in found} <= known
    contents = dict(found)  # one of each kind that is asked for here; they come in any order
    space, kind, layout = (contents[key] for key in (DATASPACE, DATATYPE, LAYOUT))
    assert space[0] == 1
    shape = struct.unpack_from(f"<{space[1]}Q", space, 8)
    element = number(kind, 4, 4)
    expected = struct.pack("<BBHIHH", 0x10, 0, 0, element, 0, 8 * element)
    assert kind[:12] == expected, "not an unsigned little-endian integer"
    chunk, raw, places = 0, b"", []
    if layout[:2] == b"\x03\x01":
        address, size = struct.unpack_from("<QQ", layout, 2)
        raw = data[address : address + size]
    else:
        assert layout[:3] == b"\x03\x02\x02", "neither contiguous nor in chunks"
        tree, chunk, size = struct.unpack_from("<QII", layout, 3)
        assert size == element
        places = read_places(data, tree, chunk, shape[0])
    attributes = dict(attribute(content) for kind, content in found if kind == ATTRIBUTE)
    filters = read_filters(contents[FILTERS]) if FILTERS in contents else []
    return Dataset(attributes, shape, element, filters, raw, chunk, places)


def read_filters(content: bytes) -> list[int]:
    assert content[0] == 1
    found, at = [], 8
    for _ in range(content[1]):
        kind, name_size, _, values = struct.unpack_from("<HHHH", content, at)
        found.append(kind)
        at += 8 + name_size + 4 * (values + values % 2)
    return found


def read_places(data: bytes, tree: int, chunk: int, length: int) -> list[Place]:
    """Where each chunk lies, in order."""
    places: dict[int, Place] = {}
    for key, address in leaves(data, tree, 1, 24):
        size, mask, first, last = struct.unpack("<IIQQ", key)
        assert (mask, last, first % chunk) == (0, 0, 0), "a misplaced chunk"
        assert address + size <= len(data), "a chunk beyond the end of the file"
        places[first // chunk] = Place(address, size)
    assert sorted(places) == list(range(-(-length // chunk))), "chunks are missing"
    return [places[at] for at in range(len(places))]
