"""One table file as bytes: open it, check it, read decoded chunks. Knows nothing of positions.

The library of HDF5 has no part in it: `lookup.hdf5` says why. Its own pipeline would also need a plugin
and cost a hundred times more a probe.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
from collections.abc import Mapping
from threading import Lock
from typing import TYPE_CHECKING, BinaryIO, NamedTuple, TypeAlias, cast, get_args

import numpy as np

from lookup.blocks import BlockError, decode, dtype_of
from lookup.errors import (
    CallerError,
    CorruptTableError,
    FormatVersionError,
    InvalidGameError,
    MissingTableError,
    NotATableError,
    RulesChangedError,
    TableFileError,
    UnknownGameError,
    quoted,
)
from lookup.format import (
    CHUNK_BYTES,
    COLUMNS,
    DIGESTS,
    FORMAT,
    GRUNDY,
    REMOTENESS,
    VERSION,
    ZSTD_FILTER,
    Column,
    Period,
    TableInfo,
    canonical,
    heaps_needed,
    is_sound,
    table_digest,
)
from lookup.games import game_class
from lookup.games.base import Game, SolverKind
from lookup.games.heap_game import HeapGame
from lookup.games.unknown import UnknownGame
from lookup.hdf5 import SIGNATURE, Structure, StructureError
from lookup.threads import in_threads

if TYPE_CHECKING:
    from array import array
    from collections.abc import Callable
    from pathlib import Path

    from numpy.typing import NDArray

    from lookup.hdf5 import Dataset, Group
    from lookup.progress import Report

FLETCHER32_FILTER = 3
Rules: TypeAlias = Game | type[Game] | Mapping[str, type[Game]]
"""A game, or the class of it, whose parameters are in the file; or classes by the names of games."""

NO_WAITING = getattr(os, "O_NONBLOCK", 0)
"""To open a pipe without waiting for somebody who writes; nothing to files."""

_CHECKED = 1024  # chunks between two reports of how far a check is

# Reads at a place without moving there, so that threads need not take turns; Windows lacks it.
_pread: Callable[[int, int, int], bytes] | None = getattr(os, "pread", None)


class StoredColumn(NamedTuple):
    """A column and where its chunks lie in the file."""

    column: Column
    chunk_bytes: int
    offsets: array[int]
    sizes: array[int]
    digests: bytes

    @property
    def share(self) -> int:
        """How many items a chunk holds."""
        return self.chunk_bytes * 8 // self.column.bits


class TableFile:
    """An open table file whose metadata has been checked; raises what `open_table` raises.

    `rules` are those of its game, if they are not to be found by its name. Without any, `game` is an
    `UnknownGame`. A file never makes anything be imported but an installed game of the name it gives.
    Chunks are checked when they are read. Safe to share between threads; keeps reading the file it
    opened when another is put in its place.
    """

    path: Path
    info: TableInfo
    digest: str
    game: Game
    columns: dict[str, StoredColumn]

    def __init__(self, path: Path, rules: Rules | None = None) -> None:
        self.path = path
        self._rules = rules
        self._lock = Lock()
        self._file = _open(path)
        try:
            self._read_structure()
        except BaseException:
            self._file.close()
            raise

    def close(self) -> None:
        """Close the file; what was read stays valid."""
        self._file.close()

    @property
    def is_closed(self) -> bool:
        """Whether it was closed."""
        return self._file.closed

    def read_chunk(self, name: str, number: int) -> bytes:
        """The decoded bytes of one chunk.

        Raises:
            CorruptTableError: the chunk is not what was written.
        """
        stored = self.columns[name]
        raw = self._read_at(stored.offsets[number], stored.sizes[number])
        try:
            chunk = decode(raw, stored.chunk_bytes)
        except BlockError as error:
            raise self._damaged(number, name, str(error)) from None
        if hashlib.sha256(chunk).digest() != stored.digests[32 * number : 32 * number + 32]:
            raise self._damaged(number, name, "is not the one its digest names")
        return chunk

    def _damaged(self, number: int, name: str, problem: str) -> TableFileError:
        """What is wrong with a chunk; if another thread closed the file, it may be of another file."""
        if self._file.closed:
            return self._closed()
        return CorruptTableError(self.path, f"is damaged: chunk {number} of {name} {problem}")

    def _closed(self) -> TableFileError:
        return TableFileError(self.path, "cannot be read: it was closed")

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
        """Read every chunk once, and keep none.

        Raises:
            CorruptTableError: a chunk is not what was written.
        """
        chunks = [
            (name, number)
            for name, stored in self.columns.items()
            for number in range(len(stored.offsets))
        ]
        for first in range(0, len(chunks), _CHECKED):
            some = chunks[first : first + _CHECKED]
            in_threads(lambda at, some=some: self.read_chunk(*some[at]), len(some))  # type: ignore[misc]
            if report:
                report(first + len(some), len(chunks))

    def _read_at(self, offset: int, size: int) -> bytes:
        try:
            if _pread is None:
                with self._lock:
                    self._file.seek(offset)
                    return self._file.read(size)
            handle, raw = self._file.fileno(), b""
            while len(raw) < size and (more := _pread(handle, size - len(raw), offset + len(raw))):
                raw += more
        except OSError as error:
            if self._file.closed:
                raise self._closed() from None
            raise TableFileError(self.path, f"cannot be read: {error.strerror or error}") from None
        except ValueError:
            raise self._closed() from None
        return raw

    # --- opening ----------------------------------------------------------------------------------

    def _read_structure(self) -> None:
        if self._read_at(0, len(SIGNATURE)) != SIGNATURE:
            raise NotATableError(self.path, "is not a table: expected an HDF5 file")
        if any(self._read_at(len(SIGNATURE), 4)):
            raise NotATableError(self.path, "is not a table: expected a superblock of version 0")
        other: RulesChangedError | InvalidGameError | None = None
        try:
            file = Structure(self._read_at, os.fstat(self._file.fileno()).st_size)
            self._check_format(file)
            root = file.group(file.root)
            attributes = _attributes("the file", root.attributes)
            self.digest = str(attributes.pop("digest", ""))
            self.info = TableInfo.from_attributes(attributes)
            try:
                self.game = self._game()
            except (RulesChangedError, InvalidGameError) as error:
                # True of a table that is whole; else what names its game may be what is damaged.
                self.game, other = UnknownGame(self.info), error
            columns, described = self._columns(file, root)
            if not other:
                self._check_period()
            digests = {name: stored.digests for name, stored in columns.items()}
            found = table_digest(attributes, described, digests)
        except (TableFileError, MemoryError):
            raise
        except Exception as error:  # noqa: BLE001 - an installed game may raise what it likes
            reason = " ".join(str(error).split()) or type(error).__name__
            raise CorruptTableError(self.path, f"is damaged: {reason}") from None
        if found != self.digest:
            raise CorruptTableError(self.path, "is damaged: its metadata does not match its digest")
        if other:
            raise other
        # What later versions add counts for the digest, and for nothing else here.
        self.columns = {name: columns[name] for name in COLUMNS if name in columns}

    def _check_format(self, file: Structure) -> None:
        named, version = file.said(file.root, "format", "format_version")
        if named != FORMAT:
            problem = f"is not a table: expected the attribute format = {FORMAT!r}"
            raise NotATableError(self.path, problem)
        if version != VERSION:
            problem = f"has format version {quoted(version)}; this Endtable reads version {VERSION}"
            raise FormatVersionError(self.path, problem)

    def _game(self) -> Game:
        """The game the file names; if it is known, it fixes every size that the file may have."""
        if self.info.solver not in get_args(SolverKind):
            raise ValueError(f"{quoted(self.info.solver)} is no kind of solver")
        parameters = _parameters(self.info.parameters)
        kind = self._kind()
        if kind is None or kind is UnknownGame:
            return UnknownGame(self.info)
        if kind.rules_digest() != self.info.rules_digest:
            raise RulesChangedError(self.path, f"was built from other rules of {self._others(kind)}")
        try:
            game = kind.from_parameters(parameters)
        except CallerError as error:
            raise CorruptTableError(self.path, f"is damaged: {error}") from None
        said = (self.info.name, self.info.size, self.info.solver)
        if (game.table_name, game.size, game.solver) != said:
            claim = f"{quoted(self.info.name)} with {self.info.size} indices"
            problem = f"is damaged: {claim} is not its game"
            raise CorruptTableError(self.path, problem)
        return game

    def _kind(self) -> type[Game] | None:
        """The class of its game: the one that was given, one of ours, or an installed one."""
        rules = self._rules
        kind = type(rules) if isinstance(rules, Game) else rules
        if isinstance(kind, Mapping):
            kind = kind.get(self.info.game)
        if kind is None:
            try:
                return game_class(self.info.game)
            except UnknownGameError:
                return None
        if kind.name != self.info.game and kind is not UnknownGame:
            problem = f"is not the game of '{self.path}', which is a table of {quoted(self.info.game)}"
            raise InvalidGameError(kind.name, problem)
        return kind

    def _others(self, kind: type[Game]) -> str:
        """The rules that are not those the table was built from, and what to do about it."""
        given = self._rules.get(kind.name) if isinstance(self._rules, Mapping) else self._rules
        if given is None:
            found = f"{kind.name!r} than those of {kind.__module__}"
            return f"{found}: build it again, or name its own with --game FILE.py"
        return f"{kind.name!r} than those at hand: build it again"

    def _columns(
        self, file: Structure, root: Group
    ) -> tuple[dict[str, StoredColumn], dict[str, dict[str, int | str]]]:
        """The columns by name, and what they say of themselves."""
        members = dict(root.members)
        if DIGESTS not in members:
            raise ValueError(f"it has no {DIGESTS}")
        digests = file.group(members.pop(DIGESTS)).members
        datasets = {name: file.dataset(address) for name, address in sorted(members.items())}
        said = {name: _attributes(name, dataset.attributes) for name, dataset in datasets.items()}
        described = {name: Column.from_attributes(name, one) for name, one in said.items()}
        sound = is_sound(self.info, described) and set(digests) == set(described)
        # What a game does not have nobody has checked; and without Grundy values a sum has no value.
        sound = sound and (GRUNDY not in described or self.game.stores_grundy)
        sound = sound and (REMOTENESS not in described or self.game.stores_remoteness)
        if not sound or (self.game.parts > 1 and GRUNDY not in described):
            problem = f"is damaged: expected totals and {', '.join(COLUMNS)} that fit its size"
            raise CorruptTableError(self.path, problem)
        columns = {
            name: _stored_column(file, datasets[name], file.dataset(digests[name]), column)
            for name, column in described.items()
        }
        return columns, said

    def _check_period(self) -> None:
        """Refuse a period that was not computed far enough to go on for ever."""
        if not self.info.period:
            return
        period, game = Period.from_text(self.info.period), self.game
        if (
            not isinstance(game, HeapGame)
            or heaps_needed(period.preperiod, period.period, game.takes[1]) > period.checked + 1
            or period.plies > max(0, self.info.longest_remoteness)
        ):
            raise ValueError(f"its game does not prove the period {quoted(self.info.period)}")


def _stored_column(file: Structure, dataset: Dataset, digests: Dataset, column: Column) -> StoredColumn:
    """A column and its chunks, each of which is there.

    Raises:
        ValueError: they are not as those of a column.
    """
    name, dtype = column.name, dtype_of(column.bits)
    if dataset.shape != (column.length,) or dataset.itemsize != dtype.itemsize or not dataset.chunk:
        raise ValueError(f"{name} has an unexpected shape or type")
    size = dataset.chunk * dtype.itemsize
    if dataset.filters != [ZSTD_FILTER, FLETCHER32_FILTER] or size > CHUNK_BYTES:
        raise ValueError(f"{name} has unexpected filters or chunks")
    count = -(-column.length // dataset.chunk)
    if count > 1 and dataset.chunk & dataset.chunk - 1:
        raise ValueError(f"{name} has chunks of another length than a power of two")
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
    return StoredColumn(column, size, offsets, sizes, file.contiguous(digests))


def _open(path: Path) -> BinaryIO:
    missing = MissingTableError(path.name or str(path), [path.parent])
    try:
        if path.is_file() or not path.exists():
            file = open(path, "rb", opener=_open_at_once)  # noqa: SIM115 - a path has no opener
            if stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                return file
            file.close()
    except (FileNotFoundError, NotADirectoryError):
        raise missing from None
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        reason = getattr(error, "strerror", None) or error
        raise TableFileError(path, f"cannot be read: {reason}") from None
    raise missing  # a folder, or a pipe that would never answer


def _parameters(text: str) -> dict[str, object]:
    """The parameters that an attribute says."""
    parameters = json.loads(text)
    if not isinstance(parameters, dict) or canonical(parameters).decode() != text:
        raise ValueError(f"parameters is {quoted(text)}: expected a JSON object in canonical form")
    if any(type(value) not in (int, bool) for value in parameters.values()):
        raise ValueError(f"parameters is {quoted(text)}: expected integers and booleans")
    return parameters


def _open_at_once(path: str, flags: int) -> int:
    """A pipe that was put there this very moment is opened too, but not waited for."""
    return os.open(path, flags | NO_WAITING)


def _attributes(what: str, attributes: Mapping[str, int | str | None]) -> dict[str, int | str]:
    """The attributes of a file or a column, if all are of the two types that tables have."""
    for name, value in attributes.items():
        if value is None:
            raise TypeError(f"attribute {name} of {what} is neither a string nor a 64-bit integer")
    return cast("dict[str, int | str]", dict(attributes))
