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
from lookup.errors import TableFileError
from lookup.folder import open_part
from lookup.format import digest_of
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
    from collections.abc import Callable, Iterable, Iterator, Sequence
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

    It may hold parts that an earlier run has left. One that is whole, and has the digests that it
    should have, is not written again; what else looks like a part is removed. `digests` saves reading
    all chunks of such a part to know them.

    Raises:
        OSError: it cannot be written.
    """
    writer = _Writer(folder, info, columns, chunks, digests, part_bytes, report)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / MANIFEST).unlink(missing_ok=True)
    described = {column.name: column.attributes for column in columns}
    digest = digest_of(info.attributes, described, writer.write_parts())
    writer.remove_others()
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
        self._shares = [
            _shares(column, self._stored[column.name][0], part_bytes)
            for column in sorted(columns, key=lambda column: column.name)
        ]
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

    def remove_others(self) -> None:
        """Remove what an earlier run has left, if it shared the chunks in another way."""
        wanted = {
            part_name(shares.stored.column.name, number)
            for shares in self._shares
            for number in range(shares.parts)
        }
        for path in list(self._folder.iterdir()):
            if _OURS.fullmatch(path.name) and path.name not in wanted:
                path.unlink()

    def _kept(self, shares: Shares, number: int) -> tuple[PartEntry, bytes] | None:
        """A part that is there already, if it is whole and the right one."""
        column = shares.stored.column
        try:
            with closing(open_part(self._folder, self._table, shares, number)) as file:
                digests = file.columns[column.name].digests
                if digests != self._digests(column, *shares.chunks_of(number)):
                    return None
                in_threads(lambda at: file.read_chunk(column.name, at), len(digests) // 32)
                entry = PartEntry(shares.column_of(number).length, file.size, file.digest)
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


def _shares(column: Column, chunk: int, part_bytes: int) -> Shares:
    """So many chunks a part as `part_bytes` have room for, if that is a power of two; else fewer."""
    fitting = max(1, part_bytes // chunk)
    return Shares(StoredColumn(column, chunk), 1 << fitting.bit_length() - 1)
