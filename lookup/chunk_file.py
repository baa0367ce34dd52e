"""An HDF5 file of columns in chunks, as a table or a part of one: open it, check it, read chunks.

The library of HDF5 has no part in it: `lookup.hdf5` says why. Its own pipeline would also need a plugin
and cost a hundred times more a probe.
"""

from __future__ import annotations

import hashlib
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from lookup.blocks import BlockError, decode, dtype_of
from lookup.errors import (
    CorruptTableError,
    FormatVersionError,
    NotATableError,
    TableFileError,
    quoted,
)
from lookup.format import CHUNK_BYTES, DIGESTS, VERSION, ZSTD_FILTER, Column, table_digest
from lookup.handle import Handle, closed
from lookup.hdf5 import SIGNATURE, Structure, StructureError

if TYPE_CHECKING:
    from array import array
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from lookup.hdf5 import Dataset

FLETCHER32_FILTER = 3


@dataclass(frozen=True, slots=True)
class StoredColumn:
    """A column, and how many decoded bytes of it are in a chunk."""

    column: Column
    chunk_bytes: int

    @property
    def share(self) -> int:
        """How many items a chunk holds."""
        return self.chunk_bytes * 8 // self.column.bits

    @property
    def count(self) -> int:
        """How many chunks there are."""
        return -(-self.column.nbytes // self.chunk_bytes)


@dataclass(frozen=True, slots=True)
class PlacedColumn(StoredColumn):
    """A column and where its chunks lie in the file."""

    offsets: array[int]
    sizes: array[int]
    digests: bytes


class ChunkFile:
    """An open file that says of itself that it is of a format; its chunks are checked when read.

    `attributes` are all it says but its `digest`, and `described` is what its columns say. It is known
    that they are as they were written once `place_columns` was called. Safe to share between threads.

    Raises:
        MissingTableError: there is no file.
        NotATableError, FormatVersionError: it is another kind of file.
        CorruptTableError: it is damaged.
    """

    def __init__(self, path: Path, kind: str, *, itself: bool = False) -> None:
        self.path = path
        self._handle = Handle(path, itself=itself)
        try:
            with damage_in(path):
                self._read_structure(kind)
        except BaseException:
            self._handle.close()
            raise

    def close(self) -> None:
        """Close the file; what was read stays valid."""
        self._handle.close()

    @property
    def is_closed(self) -> bool:
        """Whether it was closed."""
        return self._handle.is_closed

    @property
    def size(self) -> int:
        """The bytes of the file."""
        return self._handle.size

    def _read_structure(self, kind: str) -> None:
        if self._handle.read_at(0, len(SIGNATURE)) != SIGNATURE:
            raise NotATableError(self.path, "is not a table: expected an HDF5 file")
        if any(self._handle.read_at(len(SIGNATURE), 4)):
            raise NotATableError(self.path, "is not a table: expected a superblock of version 0")
        file = self._structure = Structure(self._handle.read_at, self._handle.size)
        check_format(self.path, kind, *file.said(file.root, "format", "format_version"))
        root = file.group(file.root)
        self.attributes = _attributes("the file", root.attributes)
        self.digest = str(self.attributes.pop("digest", ""))
        members = dict(root.members)
        if DIGESTS not in members:
            raise ValueError(f"it has no {DIGESTS}")
        self._digests = file.group(members.pop(DIGESTS)).members
        self._datasets = {name: file.dataset(address) for name, address in sorted(members.items())}
        self.described = {
            name: _attributes(name, dataset.attributes) for name, dataset in self._datasets.items()
        }
        if set(self._digests) != set(self.described):
            raise ValueError(f"{DIGESTS} has other members than there are columns")

    def place_columns(self, columns: Mapping[str, Column]) -> dict[str, PlacedColumn]:
        """Find the chunks of all columns, and compare everything with the digest.

        Raises:
            CorruptTableError: it is damaged.
        """
        with damage_in(self.path):
            file = self._structure
            self.columns = {
                name: _placed_column(file, self._datasets[name], file.dataset(self._digests[name]), one)
                for name, one in columns.items()
            }
            digests = {name: placed.digests for name, placed in self.columns.items()}
            found = table_digest(self.attributes, self.described, digests)
        if found != self.digest:
            raise CorruptTableError(self.path, "is damaged: its metadata does not match its digest")
        return self.columns

    def read_chunk(self, name: str, number: int) -> bytes:
        """The decoded bytes of one chunk.

        Raises:
            CorruptTableError: the chunk is not what was written.
        """
        stored = self.columns[name]
        raw = self._handle.read_at(stored.offsets[number], stored.sizes[number])
        try:
            chunk = decode(raw, stored.chunk_bytes)
        except BlockError as error:
            raise self._damaged(number, name, str(error)) from None
        if hashlib.sha256(chunk).digest() != stored.digests[32 * number : 32 * number + 32]:
            raise self._damaged(number, name, "is not the one its digest names")
        return chunk

    def _damaged(self, number: int, name: str, problem: str) -> TableFileError:
        """What is wrong with a chunk; if another thread closed the file, it may be of another file."""
        if self.is_closed:
            return closed(self.path)
        return CorruptTableError(self.path, f"is damaged: chunk {number} of {name} {problem}")


@contextmanager
def damage_in(path: Path) -> Iterator[None]:
    """Whatever goes wrong while somebody's file is looked at is damage to it."""
    try:
        yield
    except (TableFileError, MemoryError):
        raise
    except Exception as error:  # noqa: BLE001 - an installed game may raise what it likes
        reason = " ".join(str(error).split()) or type(error).__name__
        raise CorruptTableError(path, f"is damaged: {reason}") from None


def check_format(path: Path, kind: str, named: object, version: object) -> None:
    """Refuse a file of somebody else's format, or of another version.

    Raises:
        NotATableError, FormatVersionError: it is one.
    """
    if named != kind:
        raise NotATableError(path, f"is not a table: expected the attribute format = {kind!r}")
    if type(version) is not int or version != VERSION:  # True is 1, too
        problem = f"has format version {quoted(version)}; this Endtable reads version {VERSION}"
        raise FormatVersionError(path, problem)


def check_chunk_bytes(column: Column, size: int) -> None:
    """Refuse chunks of a length that no column has.

    Raises:
        ValueError: it has none.
    """
    length, rest = divmod(size, dtype_of(column.bits).itemsize)
    if rest or not 0 < size <= CHUNK_BYTES:
        raise ValueError(f"{column.name} has unexpected filters or chunks")
    if length < column.length and length & length - 1:
        raise ValueError(f"{column.name} has chunks of another length than a power of two")


def _placed_column(file: Structure, dataset: Dataset, digests: Dataset, column: Column) -> PlacedColumn:
    """A column and its chunks, each of which is there.

    Raises:
        ValueError: they are not as those of a column.
    """
    name, dtype = column.name, dtype_of(column.bits)
    if dataset.shape != (column.length,) or dataset.itemsize != dtype.itemsize or not dataset.chunk:
        raise ValueError(f"{name} has an unexpected shape or type")
    size = dataset.chunk * dtype.itemsize
    if dataset.filters != [ZSTD_FILTER, FLETCHER32_FILTER]:
        raise ValueError(f"{name} has unexpected filters or chunks")
    check_chunk_bytes(column, size)
    count = -(-column.length // dataset.chunk)
    plain = not (digests.chunk or digests.filters or digests.attributes)
    if digests.shape != (count, 32) or digests.itemsize != 1 or not plain:
        raise ValueError(f"the digests of {name} have an unexpected shape or type")
    if 32 * count > file.length:
        raise ValueError(f"{name} has more digests than the file has room for")
    try:
        # Zstandard never makes a chunk longer than this.
        offsets, sizes = file.places(dataset, size + size // 64 + 1024)
    except StructureError as error:
        raise ValueError(f"{name} {error}") from None
    return PlacedColumn(column, size, offsets, sizes, file.contiguous(digests))


def _attributes(what: str, attributes: Mapping[str, int | str | None]) -> dict[str, int | str]:
    """The attributes of a file or a column, if all are of the two types that tables have."""
    for name, value in attributes.items():
        if value is None:
            raise TypeError(f"attribute {name} of {what} is neither a string nor a 64-bit integer")
    return cast("dict[str, int | str]", dict(attributes))
