"""One table as bytes: open it, check it, read decoded chunks. Knows nothing of positions.

Here is the table that is one file; the one that is a folder of parts is in `lookup.folder`, and so is
`open_reader`, which opens either.
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from lookup.blocks import dtype_of
from lookup.chunk_file import ChunkFile, damage_in
from lookup.claims import Claims
from lookup.format import COLUMNS, FORMAT
from lookup.threads import in_threads

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from numpy.typing import NDArray

    from lookup.chunk_file import PlacedColumn, StoredColumn
    from lookup.claims import Rules
    from lookup.format import TableInfo
    from lookup.games.base import Game
    from lookup.progress import Report

_CHECKED = 1024  # chunks between two reports of how far a check is


class TableReader(ABC):
    """An open table whose metadata has been checked, whatever form it has on disk.

    Chunks are checked when they are read. Safe to share between threads.
    """

    form: ClassVar[str]
    path: Path
    info: TableInfo
    digest: str
    game: Game
    columns: Mapping[str, StoredColumn]

    @abstractmethod
    def close(self) -> None:
        """Close its files; what was read stays valid."""

    @property
    @abstractmethod
    def is_closed(self) -> bool:
        """Whether it was closed."""

    @property
    @abstractmethod
    def known_chunks(self) -> int:
        """Of how many chunks, at most, it keeps in memory where they are and what they hash to."""

    @abstractmethod
    def read_chunk(self, name: str, number: int) -> bytes:
        """The decoded bytes of one chunk.

        Raises:
            CorruptTableError: the chunk is not what was written.
        """

    @abstractmethod
    def chunk_digests(self, name: str) -> Iterable[bytes]:
        """The SHA-256 of each chunk of a column, in order, many at a time.

        Raises:
            TableFileError: they cannot be read.
        """

    @abstractmethod
    def check_digest(self) -> None:
        """Compare the digest with all that it covers, but for the chunks themselves.

        Raises:
            CorruptTableError: it is another.
        """

    def column_digest(self, name: str) -> bytes:
        """One SHA-256 of a whole column: equal ones, equal columns."""
        digest = hashlib.sha256()
        for some in self.chunk_digests(name):
            digest.update(some)
        return digest.digest()

    def read_elements(self, name: str, first: int, end: int) -> NDArray[np.unsignedinteger]:
        """The packed elements of the chunks from `first` to before `end`, padding included.

        Many chunks are decoded by several threads.

        Raises:
            CorruptTableError: a chunk is not what was written.
        """
        stored = self.columns[name]
        chunks = np.empty((end - first, stored.chunk_bytes), np.uint8)

        def read(at: int) -> None:
            chunks[at] = np.frombuffer(self.read_chunk(name, first + at), np.uint8)

        in_threads(read, end - first)
        return chunks.reshape(-1).view(dtype_of(stored.column.bits))

    def check_chunks(self, report: Report | None = None) -> None:
        """Read every chunk once, and keep none; compare the digest too.

        Raises:
            CorruptTableError: a chunk is not what was written.
        """
        self.check_digest()
        done, total = 0, sum(stored.count for stored in self.columns.values())
        for name, first, end in self._stretches():

            def read(at: int, name: str = name, first: int = first) -> None:
                self.read_chunk(name, first + at)

            in_threads(read, end - first)
            done += end - first
            if report:
                report(done, total)

    def _stretches(self) -> Iterator[tuple[str, int, int]]:
        """All chunks, some at a time: column, first and end."""
        for name, stored in self.columns.items():
            for first in range(0, stored.count, _CHECKED):
                yield name, first, min(first + _CHECKED, stored.count)


class TableFile(TableReader):
    """A table that is one file; raises what `open_table` raises.

    `rules` are those of its game, if they are not to be found by its name. Without any, `game` is an
    `UnknownGame`. A file never makes anything be imported but an installed game of the name it gives.
    Keeps reading the file it opened when another is put in its place.
    """

    form = "file"
    columns: Mapping[str, PlacedColumn]

    def __init__(self, path: Path, rules: Rules | None = None) -> None:
        self.path = path
        self._file = ChunkFile(path, FORMAT)
        try:
            self._read_claims(rules)
        except BaseException:
            self._file.close()
            raise

    def _read_claims(self, rules: Rules | None) -> None:
        with damage_in(self.path):
            claims = Claims.of(self.path, self._file.attributes, self._file.described, rules)
        columns = self._file.place_columns(claims.columns)
        if claims.error:
            raise claims.error
        self.info, self.game, self.digest = claims.info, claims.game, self._file.digest
        # What later versions add counts for the digest, and for nothing else here.
        self.columns = {name: columns[name] for name in COLUMNS if name in columns}

    def close(self) -> None:
        """Close the file; what was read stays valid."""
        self._file.close()

    @property
    def is_closed(self) -> bool:
        """Whether it was closed."""
        return self._file.is_closed

    @property
    def known_chunks(self) -> int:
        """All of them."""
        return sum(stored.count for stored in self.columns.values())

    def read_chunk(self, name: str, number: int) -> bytes:
        """The decoded bytes of one chunk."""
        return self._file.read_chunk(name, number)

    def chunk_digests(self, name: str) -> list[bytes]:
        """The SHA-256 of each chunk of a column."""
        return [self.columns[name].digests]

    def check_digest(self) -> None:
        """Nothing: that was done when it was opened."""
