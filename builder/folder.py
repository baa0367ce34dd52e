"""Write a table as a folder of parts, which a killed run may have begun: see `lookup.manifest`.

Parts are written one after the other, each under another name first, and the manifest comes last: a
folder without one is no table yet. The same input gives the same bytes.
"""

from __future__ import annotations

import re
from contextlib import closing
from typing import TYPE_CHECKING

from builder.writer import stored_as, write_file
from lookup.atomic import put_in_place, temporary_beside
from lookup.chunk_file import StoredColumn
from lookup.errors import BuildError, TableFileError
from lookup.folder import open_part
from lookup.format import digest_of, table_digest
from lookup.manifest import (
    MANIFEST,
    ColumnEntry,
    Manifest,
    PartEntry,
    Shares,
    part_attributes,
    part_name,
)
from lookup.progress import silent
from lookup.threads import in_threads

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path
    from typing import TypeAlias

    from builder.parts import Encoded
    from builder.writer import Chunks
    from lookup.format import Column, TableInfo
    from lookup.progress import Report

    Digests: TypeAlias = Callable[[Column, int, int], bytes]
    """`digests(column, first, end)`: those of the same chunks as `Chunks` gives, 32 bytes each."""

PART_BYTES = 256 << 20
"""What a part holds, before compression. To open one takes time for each of its chunks, some 6 ms for
these; whoever probes a huge table at random waits for that. And a terabyte has 4,096 of them."""

MOST_PARTS = 65_536
"""Of all columns; where there would be more, parts are larger. The manifest has some 160 bytes for
each, and must not be longer than `lookup.manifest.MOST_MANIFEST`."""

_OURS = re.compile(r"\.?[a-z0-9_]+-\d{6}\.h5(\..*\.tmp)?")


def write_folder(
    folder: Path,
    info: TableInfo,
    columns: Sequence[Column],
    chunks: Chunks,
    report: Report = silent,
    *,
    digests: Digests | None = None,
    part_bytes: int = PART_BYTES,
) -> str:
    """Write a table into a folder, and return its digest: that of the same table in one file.

    Chunks are encoded as `builder.writer.stored_as(columns)` says; no more than one is held at a time.
    The folder is the caller's to put in place (`lookup.atomic`) once this has returned.

    It may hold parts that an earlier run has left. One that is whole, and has the digest that it
    should have, is not written again; what else looks like a part is removed, but for folders.
    `digests` saves reading all chunks of such a part to know them.

    Raises:
        BuildError: a folder stands where a file belongs.
        OSError: it cannot be written.
    """
    writer = _Writer(folder, info, columns, chunks, digests, part_bytes, report)
    folder.mkdir(parents=True, exist_ok=True)
    writer.refuse_folders()
    (folder / MANIFEST).unlink(missing_ok=True)
    writer.remove_others()
    described = {column.name: column.attributes for column in columns}
    digest = digest_of(info.attributes, described, writer.write_parts())
    with temporary_beside(folder / MANIFEST) as temporary:
        temporary.write_bytes(Manifest(info.attributes, digest, writer.entries).to_bytes())
        put_in_place(temporary, folder / MANIFEST)
    return digest


class _Writer:
    """The parts of a table; `entries` are what the manifest says of those that were written."""

    def __init__(
        self,
        folder: Path,
        info: TableInfo,
        columns: Sequence[Column],
        chunks: Chunks,
        digests: Digests | None,
        part_bytes: int,
        report: Report,
    ) -> None:
        self.entries: dict[str, ColumnEntry] = {}
        self._folder, self._table = folder, info.name
        self._chunks, self._digests = chunks, digests or self._from_chunks
        self._stored = stored_as(columns)
        self._shares = _all_shares(columns, self._stored, part_bytes)
        self._names = {
            part_name(shares.stored.column.name, number)
            for shares in self._shares
            for number in range(shares.parts)
        }
        self._report, self._done = report, 0
        self._total = sum(column.nbytes for column in columns)

    def write_parts(self) -> Iterator[bytes]:
        """Write one part after the other; gives the digests of the chunks of each."""
        for shares in self._shares:
            column, parts = shares.stored.column, list[PartEntry]()
            for number in range(shares.parts):
                entry, digests = self._kept(shares, number) or self._write(shares, number)
                parts.append(entry)
                first, end = shares.chunks_of(number)
                self._count((end - first) * shares.stored.chunk_bytes)
                yield digests
            chunk = shares.stored.chunk_bytes
            self.entries[column.name] = ColumnEntry(column.attributes, chunk, tuple(parts))

    def refuse_folders(self) -> None:
        """Look for folders where files will be put, before there is work to be lost.

        Raises:
            BuildError: there is one.
        """
        for name in (MANIFEST, *self._names):
            path = self._folder / name
            if path.is_dir() and not path.is_symlink():
                raise BuildError(f"'{path}' is a folder: expected a file, or nothing there")

    def remove_others(self) -> None:
        """Remove what an earlier run has left, if it shared the chunks in another way."""
        for path in list(self._folder.iterdir()):
            is_ours = _OURS.fullmatch(path.name) and path.name not in self._names
            if is_ours and (path.is_symlink() or not path.is_dir()):
                path.unlink()

    def _kept(self, shares: Shares, number: int) -> tuple[PartEntry, bytes] | None:
        """A part that is there already, if it is whole and the right one."""
        column, part = shares.stored.column, shares.column_of(number)
        attributes = part_attributes(self._table, part.name, number * shares.elements)
        try:
            with closing(open_part(self._folder, self._table, shares, number)) as file:
                digests = file.columns[column.name].digests
                # Of its attributes too: another version may have given it more than ours.
                described = {part.name: part.attributes}
                if file.digest != table_digest(attributes, described, {part.name: digests}):
                    return None
                if digests != self._digests(column, *shares.chunks_of(number)):
                    return None
                in_threads(lambda at: file.read_chunk(column.name, at), len(digests) // 32)
                entry = PartEntry(part.length, file.size, file.digest)
                return entry, digests
        except TableFileError:
            return None

    def _write(self, shares: Shares, number: int) -> tuple[PartEntry, bytes]:
        whole, part = shares.stored.column, shares.column_of(number)
        path = self._folder / part_name(part.name, number)
        attributes = part_attributes(self._table, part.name, number * shares.elements)
        before = shares.chunks_of(number)[0]

        def chunks(_: Column, first: int, end: int) -> Iterable[Encoded]:
            return self._chunks(whole, before + first, before + end)

        with temporary_beside(path) as temporary:
            done = write_file(temporary, attributes, [part], self._stored, chunks, self._tell)
            size = temporary.stat().st_size
            put_in_place(temporary, path)
        return PartEntry(part.length, size, done.digest), done.digests[part.name]

    def _from_chunks(self, column: Column, first: int, end: int) -> bytes:
        return b"".join(encoded.digest for encoded in self._chunks(column, first, end))

    def _tell(self, of_part: int) -> None:
        self._report(min(self._done + of_part, self._total), self._total)

    def _count(self, of_part: int) -> None:
        self._done += of_part
        self._tell(0)


def _all_shares(
    columns: Sequence[Column], stored: Mapping[str, tuple[int, int]], part_bytes: int
) -> list[Shares]:
    """Those of all columns in alphabetical order; parts are larger if there were too many."""
    ordered = sorted(columns, key=lambda column: column.name)
    while True:
        shares = [_shares(column, stored[column.name][0], part_bytes) for column in ordered]
        if sum(one.parts for one in shares) <= MOST_PARTS:
            return shares
        part_bytes *= 2


def _shares(column: Column, chunk: int, part_bytes: int) -> Shares:
    """So many chunks a part as `part_bytes` have room for, if that is a power of two; else fewer."""
    fitting = max(1, part_bytes // chunk)
    return Shares(StoredColumn(column, chunk), 1 << fitting.bit_length() - 1)
