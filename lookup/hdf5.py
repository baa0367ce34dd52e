"""The structures of HDF5 that table files have, and no others: where things lie in a file.

`tables/FORMAT.md` lists them, under "Without an HDF5 library"; they do not change within version 1.
That they are read here, and not by the library, is for files from anywhere: a link or an array can
make the library open other files, a number in a header can make it ask for gigabytes, and what is
malformed has made it crash. Here nothing is followed but addresses inside the file, nothing is read
that is longer than a table has it, and whatever no table has is refused.
"""

from __future__ import annotations

import struct
from array import array
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Read: TypeAlias = Callable[[int, int], bytes]
    """`read(offset, size)`: so many bytes of the file, or as many as there are."""

SIGNATURE = b"\x89HDF\r\n\x1a\n"

_SUPERBLOCK = 96  # bytes of it, and the least that a file has
_MOST_HEADER = 4 << 20  # bytes of all messages of one object: more than 60 of the longest attributes
_MOST_HEADERS = 24 << 20  # bytes of those of all objects, however often they are read
_MOST_MEMBERS = 64  # of a group
_MOST_NAME = 64  # bytes
_MOST_LEVELS = 8  # of a tree: its nodes are about half full at least, so that is 2 ** 40 chunks
_MOST_CHILDREN = 64  # of a node

_NOTHING, _DATASPACE, _DATATYPE, _FILL_VALUE = 0x0000, 0x0001, 0x0003, 0x0005
_LAYOUT, _FILTERS, _ATTRIBUTE, _CONTINUATION, _MEMBERS = 0x0008, 0x000B, 0x000C, 0x0010, 0x0011
_OF_GROUPS = {_NOTHING, _ATTRIBUTE, _MEMBERS}
_OF_DATASETS = {_NOTHING, _ATTRIBUTE, _DATASPACE, _DATATYPE, _FILL_VALUE, _LAYOUT, _FILTERS}

_SCALAR = bytes.fromhex("01 00 00 00 00 00 00 00")
_INTEGER = bytes.fromhex("10 08 00 00 08 00 00 00 00 00 40 00")
_STRING = bytes.fromhex("13 01 00 00")
_SHARED = 0x02
_CHUNK = np.dtype(
    [("size", "<u4"), ("mask", "<u4"), ("element", "<u8"), ("last", "<u8"), ("address", "<u8")]
)


class StructureError(ValueError):
    """A structure that no table has; the message says what, without the file."""


class Group(NamedTuple):
    """What a group says of itself, and where the headers of its members begin.

    An attribute that is neither a string in UTF-8 nor a 64-bit integer is None.
    """

    attributes: dict[str, int | str | None]
    members: dict[str, int]


class Dataset(NamedTuple):
    """An array: what it says of itself, what it is made of, and where it is.

    `address` is that of its bytes, or of the tree of its chunks if `chunk` (elements of one) is not 0.
    """

    attributes: dict[str, int | str | None]
    shape: tuple[int, ...]
    itemsize: int
    filters: list[int]
    chunk: int
    address: int


class Structure:
    """The structure of a file of `length` bytes, of which `read` gives some.

    Raises:
        StructureError: from every method, if it is not that of a table.
    """

    def __init__(self, read: Read, length: int) -> None:
        self._read, self.length = read, length
        self._headers = 0  # bytes of them that were read
        block = self._bytes(0, _SUPERBLOCK, "superblock")
        if block[:8] != SIGNATURE or block[8:12] != bytes(4) or block[13:15] != b"\x08\x08":
            raise StructureError("its superblock is not of version 0")
        base, _, end = struct.unpack_from("<QQQ", block, 24)
        if base or end > length:
            raise StructureError(f"it has {length} bytes, and says {end} of itself")
        self.root: int = struct.unpack_from("<Q", block, 64)[0]

    def said(self, address: int, *names: str) -> list[int | str | None]:
        """What an object says under some names, whatever else it holds: it may be no table's."""
        found: dict[str, int | str | None] = {}
        for kind, content in self._messages(address):
            for name in names:
                if kind == _ATTRIBUTE and content[8 : 9 + len(name)] == name.encode() + b"\0":
                    found[name] = _attribute(content)[1]
        return [found.get(name) for name in names]

    def group(self, address: int) -> Group:
        """The group whose header is there."""
        attributes, found = self._object(address, _OF_GROUPS, "a group")
        tree, heap = _unpacked("<QQ", found[_MEMBERS], "a group")
        head = self._bytes(heap, 32, "a heap")
        if head[:5] != b"HEAP\0":
            raise StructureError(f"there is no heap at {heap}")
        names = struct.unpack_from("<Q", head, 24)[0]
        members: dict[str, int] = {}
        for node in self._group_leaves(tree):
            for at, header in self._entries(node):
                name = self._name(names + at)
                if name in members or len(members) == _MOST_MEMBERS:
                    raise StructureError(f"a group has two members {name!r}, or too many")
                members[name] = header
        return Group(attributes, members)

    def dataset(self, address: int) -> Dataset:
        """The array whose header is there."""
        attributes, found = self._object(address, _OF_DATASETS, "an array")
        space, kind, layout = (found[key] for key in (_DATASPACE, _DATATYPE, _LAYOUT))
        rank = space[1] if space[:1] == b"\1" and len(space) > 1 else 0
        if rank not in (1, 2):
            raise StructureError("an array has neither one nor two dimensions")
        shape = _unpacked(f"<{rank}Q", space[8:], "an array")
        itemsize = kind[4] if len(kind) >= 12 else 0
        if kind[:12] != struct.pack("<IIHH", 0x10, itemsize, 0, 8 * itemsize):
            raise StructureError("an array is not of unsigned little-endian integers")
        filters = _filters(found[_FILTERS]) if _FILTERS in found else []
        if layout[:2] == b"\x03\x01":
            address, size = _unpacked("<QQ", layout[2:], "an array")
            if size != int(np.prod(shape, dtype=object)) * itemsize:
                raise StructureError("an array is not as long as its shape says")
            return Dataset(attributes, shape, itemsize, filters, 0, address)
        if layout[:3] != b"\x03\x02\x02":
            raise StructureError("an array is neither contiguous nor in chunks of one dimension")
        address, chunk, element = _unpacked("<QII", layout[3:], "an array")
        if rank != 1 or element != itemsize or not chunk:
            raise StructureError("an array has chunks of another type than its own")
        return Dataset(attributes, shape, itemsize, filters, chunk, address)

    def contiguous(self, dataset: Dataset) -> bytes:
        """The bytes of an array that is in one piece."""
        size = int(np.prod(dataset.shape, dtype=object)) * dataset.itemsize
        return self._bytes(dataset.address, size, "an array")

    def places(self, dataset: Dataset, largest: int) -> tuple[array[int], array[int]]:
        """Where each chunk of an array begins, and how many bytes it takes there: `largest` at most.

        Takes room for the chunks that are there, however many there should be. Messages are about the
        array: 'has', 'lacks'.
        """
        count = -(-dataset.shape[0] // dataset.chunk)
        offsets, sizes = array("Q"), array("Q")
        following = 0
        for chunks in self._chunk_leaves(dataset.address):
            element, size = chunks["element"], chunks["size"]
            numbers, rest = np.divmod(element, np.uint64(dataset.chunk))
            # In the order of the array, as the children of a tree are: so none comes twice.
            ordered = int(numbers[0]) >= following and bool((numbers[1:] > numbers[:-1]).all())
            fits = int(numbers[-1]) < count and size.min() > 0 and size.max() <= largest
            if not (ordered and fits) or (rest | chunks["mask"] | chunks["last"]).any():
                raise StructureError("has a misplaced chunk")
            following = int(numbers[-1]) + 1
            # Not their sum, which may wrap around.
            end, starts = np.uint64(self.length), chunks["address"]
            if bool(((starts > end) | (size > end - starts)).any()):
                raise StructureError("has chunks beyond the end of the file")
            offsets.frombytes(starts.astype(np.uint64).tobytes())
            sizes.frombytes(size.astype(np.uint64).tobytes())
        if len(offsets) < count:
            raise StructureError(f"lacks {count - len(offsets)} of its {count} chunks")
        return offsets, sizes

    # --- objects ----------------------------------------------------------------------------------

    def _object(
        self, address: int, known: set[int], what: str
    ) -> tuple[dict[str, int | str | None], dict[int, bytes]]:
        """The attributes of an object, and its other messages by type: one of each."""
        attributes: dict[str, int | str | None] = {}
        found: dict[int, bytes] = {}
        for kind, content in self._messages(address):
            if kind not in known:
                raise StructureError(f"{what} has a message of type {kind}, which no table has")
            if kind == _ATTRIBUTE:
                name, value = _attribute(content)
                if name in attributes:
                    raise StructureError(f"{what} has two attributes {name}")
                attributes[name] = value
            elif kind in found:
                raise StructureError(f"{what} has two messages of type {kind}")
            elif kind != _NOTHING:
                found[kind] = content
        needed = known - {_NOTHING, _ATTRIBUTE, _FILL_VALUE, _FILTERS}
        if missing := needed - set(found):
            raise StructureError(f"{what} lacks its message of type {min(missing)}")
        return attributes, found

    def _messages(self, address: int) -> Iterator[tuple[int, bytes]]:
        """The messages of an object: type and content."""
        version, _, count, _, size = struct.unpack("<BBHII", self._bytes(address, 12, "a header"))
        if version != 1:
            raise StructureError(f"there is no header of version 1 at {address}")
        blocks, total = [(address + 16, size)], 0
        for begin, length in blocks:  # grows on the way
            total += length
            self._headers += length
            if total > _MOST_HEADER or self._headers > _MOST_HEADERS or length < 8:
                raise StructureError(f"the header at {address} is longer than that of any table")
            block, at = self._bytes(begin, length, "a header"), 0
            while at + 8 <= length:
                kind, size, flags = struct.unpack_from("<HHB", block, at)
                content = block[at + 8 : at + 8 + size]
                count -= 1
                if len(content) < size or flags & _SHARED or count < 0:
                    raise StructureError(f"the header at {address} holds a broken message")
                if kind == _CONTINUATION:
                    blocks.append(_unpacked("<QQ", content, "a continuation"))  # type: ignore[arg-type]  # two
                else:
                    yield kind, content
                at += 8 + size
        if count:
            raise StructureError(f"the header at {address} lacks {count} of its messages")

    # --- trees ------------------------------------------------------------------------------------

    def _group_leaves(self, tree: int) -> Iterator[int]:
        """The addresses of the nodes that hold the entries of a group."""
        for node, count in self._lowest_nodes(tree, 0, 8):
            children = self._bytes(node + 24, count * 16, "a tree")
            yield from (child for _, child in struct.iter_unpack("<QQ", children))

    def _entries(self, node: int) -> Iterator[tuple[int, int]]:
        """Where the names of some members begin, and their headers."""
        version, count = _unpacked("<4xBxH", self._bytes(node, 8, "a group"), "a group")
        head = self._bytes(node, 5, "a group")
        if head != b"SNOD\1" or version != 1 or not 0 < count <= _MOST_MEMBERS:
            raise StructureError(f"there are no members of a group at {node}")
        for name, header, cached in struct.iter_unpack(
            "<QQI20x", self._bytes(node + 8, count * 40, "a group")
        ):
            if cached not in (0, 1):
                raise StructureError("a group has a link to elsewhere")
            yield name, header

    def _chunk_leaves(self, tree: int) -> Iterator[np.ndarray[tuple[int], np.dtype[np.void]]]:
        """The chunks of each lowest node of a tree."""
        for node, count in self._lowest_nodes(tree, 1, 24):
            yield np.frombuffer(self._bytes(node + 24, count * 32, "a tree"), _CHUNK)

    def _lowest_nodes(
        self, node: int, kind: int, key_size: int, level: int | None = None
    ) -> Iterator[tuple[int, int]]:
        """Each node on the lowest level of a tree, and how many children it has: at least one.

        So whoever counts children, and has enough some time, cannot be led around for ever.
        """
        head = self._bytes(node, 8, "a tree")
        here, count = head[5], int.from_bytes(head[6:], "little")
        is_node = head[:5] == b"TREE" + bytes([kind]) and 0 < count <= _MOST_CHILDREN
        if not is_node or here > _MOST_LEVELS or level not in (None, here):
            raise StructureError(f"there is no node of a tree at {node}")
        if not here:
            yield node, count
            return
        step = key_size + 8
        keyed = self._bytes(node + 24, count * step, "a tree")
        for at in range(key_size, len(keyed), step):
            child = int.from_bytes(keyed[at : at + 8], "little")
            yield from self._lowest_nodes(child, kind, key_size, here - 1)

    # --- bytes ------------------------------------------------------------------------------------

    def _bytes(self, offset: int, size: int, what: str) -> bytes:
        """So many bytes there. Nothing is asked of the system that is not in the file."""
        if offset + size <= self.length:
            data = self._read(offset, size)
            if len(data) == size:
                return data
        raise StructureError(f"{what} lies beyond the end of the file, at {offset}")

    def _name(self, offset: int) -> str:
        """The name that begins there, and ends with a NUL."""
        size = max(0, min(_MOST_NAME + 1, self.length - offset))
        text, end, _ = self._bytes(offset, size, "a name").partition(b"\0")
        if not end or not is_name(text):
            raise StructureError(f"there is no name at {offset}")
        return text.decode("ascii")


def is_name(text: bytes) -> bool:
    """Whether an attribute or a member of a group can be called so: it is shown in messages."""
    return 0 < len(text) <= _MOST_NAME and text.isascii() and text.decode("ascii").isprintable()


def _unpacked(shape: str, content: bytes, what: str) -> tuple[int, ...]:
    """The numbers at the beginning of a message."""
    if len(content) < struct.calcsize(shape):
        raise StructureError(f"a message of {what} is too short")
    return struct.unpack_from(shape, content)


def _attribute(content: bytes) -> tuple[str, int | str | None]:
    """The name and the value of an attribute."""
    version, name_size, type_size, space_size = _unpacked("<BxHHH", content, "an attribute")
    ends = [8]
    for size in (name_size, type_size, space_size):
        ends.append(ends[-1] + (size + 7) // 8 * 8)
    name, end, _ = content[8 : 8 + name_size].partition(b"\0")
    if version != 1 or not end or not is_name(name):
        raise StructureError("an attribute is not of version 1, or has no name in ASCII")
    kind, space = content[ends[1] : ends[1] + type_size], content[ends[2] : ends[2] + space_size]
    value: int | str | None = None
    if space == _SCALAR and len(kind) >= 8:
        size = int.from_bytes(kind[4:8], "little")
        data = content[ends[3] : ends[3] + size]
        if len(data) < size:
            raise StructureError("an attribute is longer than its message")
        if kind == _INTEGER:
            value = int.from_bytes(data, "little", signed=True)
        elif kind[:4] == _STRING:
            with suppress(UnicodeDecodeError):
                value = data.rstrip(b"\0").decode("utf-8")
    return name.decode("ascii"), value


def _filters(content: bytes) -> list[int]:
    """The numbers of the filters of an array."""
    version, count = _unpacked("<BB", content, "filters")
    found, at = [], 8
    for _ in range(count if version == 1 else 0):
        kind, name_size, _, values = _unpacked("<HHHH", content[at:], "filters")
        found.append(kind)
        at += 8 + name_size + 4 * (values + values % 2)
    return found
