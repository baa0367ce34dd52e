"""A table that is a folder of parts, opened as one. `lookup.manifest` says what is in the folder.

Nothing in a manifest is believed: names of files are matched, and each part is compared with what the
manifest says of it when it is opened. That is when a chunk of it is first read; some stay open.
"""

from __future__ import annotations

import os
from collections import OrderedDict
from contextlib import contextmanager
from threading import Lock
from typing import TYPE_CHECKING

from lookup.chunk_file import ChunkFile, damage_in
from lookup.claims import Claims
from lookup.errors import CorruptTableError, MissingTableError, NotATableError
from lookup.format import COLUMNS, digest_of
from lookup.handle import Handle, TooManyFilesError, closed
from lookup.manifest import (
    MANIFEST,
    MOST_MANIFEST,
    PART_FORMAT,
    PARTS_SUFFIX,
    Manifest,
    PartEntry,
    Shares,
    part_attributes,
    part_name,
)
from lookup.processes import tell_in_child
from lookup.reader import TableFile, TableReader

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path
    from typing import TypeAlias

    from lookup.chunk_file import StoredColumn
    from lookup.claims import Rules

    Which: TypeAlias = tuple[str, int]
    """A part: its column, and its number."""

MOST_OPEN = 64
"""So many parts of a table stay open. One takes some 50 bytes of memory for each of its chunks."""


def open_reader(path: Path, rules: Rules | None = None) -> TableReader:
    """A table in the form that it has: a file, or a folder of parts, or the manifest of one.

    Raises what `open_table` raises.
    """
    folder = folder_of(path)
    if os.path.isdir(folder) and (folder.suffix == PARTS_SUFFIX or is_folder(folder)):  # noqa: PTH112 - as in tablebase.py
        return TableFolder(folder, rules)
    return TableFile(path, rules)


def folder_of(path: Path) -> Path:
    """The folder whose manifest is at a path; else the path."""
    return path.absolute().parent if path.name == MANIFEST else path


def is_folder(path: Path) -> bool:
    """Whether it is a folder of parts: one with a manifest."""
    # Not `Path.is_file`, which raises where a folder may not be looked into.
    return os.path.isfile(path / MANIFEST)  # noqa: PTH113 - as in tablebase.py


class TableFolder(TableReader):
    """A table that is a folder of parts; raises what `open_table` raises.

    `rules` are as for a `TableFile`. A part that is missing or not the right one is refused when it is
    first needed, and so are those of a folder that was put in its place meanwhile.
    """

    form = "folder"

    def __init__(self, path: Path, rules: Rules | None = None) -> None:
        self.path = path
        manifest = path / MANIFEST
        text = _read_manifest(path)
        with damage_in(manifest):
            self._manifest = Manifest.from_bytes(text, manifest)
            claims = Claims.of(path, self._manifest.table, self._described, rules)
            self._shares = {
                name: Shares.of(column, self._manifest.columns[name])
                for name, column in claims.columns.items()
            }
        if claims.error:
            raise claims.error
        self.info, self.game, self.digest = claims.info, claims.game, self._manifest.digest
        # What later versions add counts for the digest, and for nothing else here.
        self.columns: Mapping[str, StoredColumn] = {
            name: self._shares[name].stored for name in COLUMNS if name in self._shares
        }
        self._parts = _OpenParts(self)

    def close(self) -> None:
        """Close all parts; what was read stays valid."""
        self._parts.close()

    @property
    def is_closed(self) -> bool:
        """Whether it was closed."""
        return self._parts.is_closed

    @property
    def known_chunks(self) -> int:
        """Those of the parts that may be open at a time."""
        largest = max(shares.chunks + 1 for shares in self._shares.values())
        every = sum(stored.count for stored in self.columns.values())
        return min(every, MOST_OPEN * largest)

    def read_chunk(self, name: str, number: int) -> bytes:
        """The decoded bytes of one chunk."""
        part, inside = self._shares[name].part_of(number)
        with self._parts.borrowed((name, part)) as file:
            return file.read_chunk(name, inside)

    def chunk_digests(self, name: str) -> Iterator[bytes]:
        """The SHA-256 of each chunk of a column, part by part."""
        for part in range(self._shares[name].parts):
            with self._parts.borrowed((name, part)) as file:
                digests = file.columns[name].digests
            yield digests

    def check_digest(self) -> None:
        """Compare the digest with those of all chunks, in all parts."""
        digests = (some for name in sorted(self._shares) for some in self.chunk_digests(name))
        if digest_of(self._manifest.table, self._described, digests) != self.digest:
            raise CorruptTableError(self.path, "is damaged: its parts do not match its digest")

    def open_part(self, name: str, number: int) -> ChunkFile:
        """A part, compared with what the manifest says of it.

        Raises:
            TableFileError: it cannot be used.
        """
        shares, entry = self._shares[name], self._manifest.columns[name].parts[number]
        return open_part(self.path, self.info.name, shares, number, entry)

    @property
    def _described(self) -> dict[str, Mapping[str, int | str]]:
        return {name: entry.attributes for name, entry in self._manifest.columns.items()}


def open_part(
    folder: Path, table: str, shares: Shares, number: int, expected: PartEntry | None = None
) -> ChunkFile:
    """A part of a table, if it is the one that is `expected`; else any that is in its right place.

    Raises:
        TableFileError: it cannot be used.
    """
    column = shares.column_of(number)
    path = folder / part_name(column.name, number)
    try:
        file = ChunkFile(path, PART_FORMAT, itself=True)
    except MissingTableError:
        problem = "is missing, or no file: expected a part of the table there"
        raise CorruptTableError(path, problem) from None
    except NotATableError:
        raise CorruptTableError(path, "is damaged: it is not a part of a table") from None
    try:
        _check_part(file, table, shares, number, expected)
    except BaseException:
        file.close()
        raise
    return file


def _check_part(
    file: ChunkFile, table: str, shares: Shares, number: int, expected: PartEntry | None
) -> None:
    """Refuse a part that is another, or damaged."""
    column = shares.column_of(number)
    if expected and (file.size, file.digest) != (expected.size, expected.digest):
        raise CorruptTableError(file.path, "is damaged: it is not the part that the manifest names")
    attributes = part_attributes(table, column.name, number * shares.elements)
    stands_there = attributes.items() <= file.attributes.items() and len(file.described) == 1
    said = file.described.get(column.name, {})
    if not stands_there or not column.attributes.items() <= said.items():
        raise CorruptTableError(file.path, "is damaged: it is a part of something else")
    if file.place_columns({column.name: column})[column.name].chunk_bytes != shares.stored.chunk_bytes:
        raise CorruptTableError(file.path, "is damaged: its chunks are not as long as in other parts")


def _read_manifest(folder: Path) -> bytes:
    try:
        handle = Handle(folder / MANIFEST, itself=True)
    except MissingTableError:
        if folder.is_dir():
            raise NotATableError(folder, f"is not a table: it has no {MANIFEST}") from None
        raise MissingTableError(folder.name or str(folder), [folder.parent]) from None
    try:
        if handle.size > MOST_MANIFEST:
            raise NotATableError(
                folder, f"is not a table: its {MANIFEST} has over {MOST_MANIFEST:,} bytes"
            )
        return handle.read_at(0, handle.size)
    finally:
        handle.close()


# --- open parts -----------------------------------------------------------------------------------


class _Slot:
    """A part that is open, or about to be; how many threads are reading it."""

    def __init__(self) -> None:
        self.lock = Lock()  # of opening it: one thread does, and no others wait but for the same part
        self.file: ChunkFile | None = None
        self.users = 0


class _OpenParts:
    """The parts that are open: when there are too many, the least recently used is closed.

    None is closed while a thread reads it; so there may be a few more.
    """

    def __init__(self, table: TableFolder) -> None:
        self.is_closed = False
        self._table = table
        self._slots: OrderedDict[Which, _Slot] = OrderedDict()
        self._lock = Lock()
        tell_in_child(self)

    def in_child(self) -> None:
        """Start again without any: the parent may have been about to open or to close one."""
        slots, self._slots, self._lock = self._slots, OrderedDict(), Lock()
        for slot in slots.values():
            if slot.file:
                slot.file.close()  # here, not in the parent

    @contextmanager
    def borrowed(self, which: Which) -> Iterator[ChunkFile]:
        """A part, opened if it is not, and open until the block ends."""
        with self._lock:
            if self.is_closed:
                raise closed(self._table.path)
            slot = self._slots.setdefault(which, _Slot())
            self._slots.move_to_end(which)
            slot.users += 1
        try:
            with slot.lock:
                if slot.file is None:
                    slot.file = self._open(which)
            yield slot.file
        finally:
            with self._lock:
                slot.users -= 1
                self._close_some(0 if self.is_closed else MOST_OPEN)

    def _open(self, which: Which) -> ChunkFile:
        """A part; others that nobody reads are closed for it if no more files may be open."""
        try:
            return self._table.open_part(*which)
        except TooManyFilesError:
            with self._lock:
                self._close_some(0)
            return self._table.open_part(*which)

    def close(self) -> None:
        """Close all parts, those that are being read when that is done."""
        with self._lock:
            self.is_closed = True
            self._close_some(0)

    def _close_some(self, most: int) -> None:
        """Close parts that nobody reads, the least recently used first, until there are no more."""
        if len(self._slots) <= most:
            return
        for which, slot in list(self._slots.items()):
            if not slot.users:
                del self._slots[which]
                if slot.file:
                    slot.file.close()
                if len(self._slots) <= most:
                    return
