"""One table file as bytes: open it, check it, read decoded chunks. Knows nothing of positions.

HDF5 is used for the structure only. Chunks are read and decoded by us: the library's own pipeline
would need a plugin, costs a hundred times more a probe, and can crash on malformed files.
"""

from __future__ import annotations

import hashlib
import json
import os
from threading import Lock
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

import numpy as np

from lookup.blocks import BlockError, decode, dtype_of
from lookup.errors import (
    CallerError,
    CorruptTableError,
    FormatVersionError,
    MissingTableError,
    NotATableError,
    TableFileError,
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
    heaps_needed,
    is_sound,
    table_digest,
)
from lookup.games import game_class
from lookup.games.heap_game import HeapGame

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from lookup.games.base import Game

HDF5_SIGNATURE = b"\x89HDF\r\n\x1a\n"
FLETCHER32_FILTER = 3


class StoredColumn(NamedTuple):
    """A column and where its chunks lie in the file."""

    column: Column
    chunk_bytes: int
    offsets: tuple[int, ...]
    sizes: tuple[int, ...]
    digests: bytes


class TableFile:
    """An open table file whose metadata has been checked; raises what `open_table` raises.

    Chunks are checked when they are read. Safe to share between threads; keeps reading the file it
    opened when another is put in its place.
    """

    path: Path
    info: TableInfo
    digest: str
    game: Game
    columns: dict[str, StoredColumn]

    def __init__(self, path: Path) -> None:
        self.path = path
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

    def read_chunk(self, name: str, number: int) -> bytes:
        """The decoded bytes of one chunk.

        Raises:
            CorruptTableError: the chunk is not what was written.
        """
        stored = self.columns[name]
        try:
            with self._lock:
                self._file.seek(stored.offsets[number])
                raw = self._file.read(stored.sizes[number])
            chunk = decode(raw, stored.chunk_bytes)
        except OSError as error:
            raise TableFileError(self.path, f"cannot be read: {error.strerror or error}") from None
        except BlockError as error:
            raise CorruptTableError(
                self.path, f"is damaged: chunk {number} of {name} {error}"
            ) from None
        if hashlib.sha256(chunk).digest() != stored.digests[32 * number : 32 * number + 32]:
            problem = f"is damaged: chunk {number} of {name} is not the one its digest names"
            raise CorruptTableError(self.path, problem)
        return chunk

    def read_column(self, name: str) -> NDArray[np.unsignedinteger]:
        """All packed elements of a column."""
        stored = self.columns[name]
        whole = b"".join(self.read_chunk(name, number) for number in range(len(stored.offsets)))
        return np.frombuffer(whole, dtype_of(stored.column.bits), count=stored.column.length)

    # --- opening ----------------------------------------------------------------------------------

    def _read_structure(self) -> None:
        if self._file.read(len(HDF5_SIGNATURE)) != HDF5_SIGNATURE:
            raise NotATableError(self.path, "is not a table: expected an HDF5 file")
        import h5py  # importing lookup must stay light; this is what costs

        try:
            with h5py.File(self._file, "r") as file:
                self._check_format(file.attrs)
                attributes = _attributes(file)
                self.digest = str(attributes.pop("digest", ""))
                self.info = TableInfo.from_attributes(attributes)
                self.game = self._game()
                self.columns = self._columns(file)
        except TableFileError:
            raise
        except Exception as error:  # noqa: BLE001 - h5py raises half of all builtin exceptions
            reason = " ".join(str(error).split())
            raise CorruptTableError(self.path, f"is damaged: {reason}") from None
        described = [stored.column for stored in self.columns.values()]
        digests = {name: stored.digests for name, stored in self.columns.items()}
        if table_digest(self.info, described, digests) != self.digest:
            raise CorruptTableError(self.path, "is damaged: its metadata does not match its digest")

    def _check_format(self, attributes: Any) -> None:
        if attributes.get("format") != FORMAT.encode():
            problem = f"is not a table: expected the attribute format = {FORMAT!r}"
            raise NotATableError(self.path, problem)
        if (version := attributes.get("format_version")) != VERSION:
            problem = f"has format version {version}; this Endtable reads version {VERSION}"
            raise FormatVersionError(self.path, problem)

    def _game(self) -> Game:
        """The game the file names; it fixes every size that the file may have."""
        try:
            game = game_class(self.info.game).from_parameters(json.loads(self.info.parameters))
        except CallerError as error:
            raise CorruptTableError(self.path, f"is damaged: {error}") from None
        said = (self.info.name, self.info.size, self.info.solver)
        if (game.table_name, game.size, game.solver) != said:
            problem = f"is damaged: {self.info.name} with {self.info.size} indices is not its game"
            raise CorruptTableError(self.path, problem)
        return game

    def _columns(self, file: Any) -> dict[str, StoredColumn]:
        names = sorted(set(file) - {DIGESTS})
        described = {name: Column.from_attributes(name, _attributes(file[name])) for name in names}
        sound = is_sound(self.info, described) and set(file[DIGESTS]) == set(names)
        # What a game does not have nobody has checked; and without Grundy values a sum has no value.
        sound = sound and (GRUNDY not in described or self.game.stores_grundy)
        sound = sound and (REMOTENESS not in described or self.game.stores_remoteness)
        if not sound or (self.game.parts > 1 and GRUNDY not in described) or not self._is_proven():
            problem = f"is damaged: expected totals and {', '.join(COLUMNS)} that fit its size"
            raise CorruptTableError(self.path, problem)
        return {
            name: self._stored_column(file[name], file[DIGESTS][name], column)
            for name, column in described.items()
        }

    def _is_proven(self) -> bool:
        """Whether the period, if there is one, was computed far enough to go on for ever."""
        if not self.info.period:
            return True
        period = Period.from_text(self.info.period)
        return (
            isinstance(self.game, HeapGame)
            and heaps_needed(period.preperiod, period.period, self.game.takes[1]) <= period.checked + 1
            and period.plies <= max(0, self.info.longest_remoteness)
        )

    def _stored_column(self, dataset: Any, digests: Any, column: Column) -> StoredColumn:
        dtype = dtype_of(column.bits)
        filters = _filters(dataset)
        if dataset.shape != (column.length,) or dataset.dtype != dtype or dataset.chunks is None:
            raise ValueError(f"{column.name} has an unexpected shape or type")
        size = dataset.chunks[0] * dtype.itemsize
        if filters != [ZSTD_FILTER, FLETCHER32_FILTER] or size > CHUNK_BYTES:
            raise ValueError(f"{column.name} has unexpected filters or chunks")
        count = -(-column.length // dataset.chunks[0])
        places: dict[int, tuple[int, int]] = {}

        def note(chunk: Any) -> None:
            number, rest = divmod(chunk.chunk_offset[0], dataset.chunks[0])
            if rest or number >= count or chunk.filter_mask:
                raise ValueError(f"{column.name} has a misplaced chunk")
            places[number] = (chunk.byte_offset, chunk.size)

        dataset.id.chunk_iter(note)
        if len(places) != count:
            raise ValueError(f"{column.name} has {len(places)} chunks, not {count}")
        end = os.fstat(self._file.fileno()).st_size
        if any(offset < 0 or offset + length > end for offset, length in places.values()):
            raise ValueError(f"{column.name} has chunks beyond the end of the file")
        if digests.shape != (count, 32) or digests.dtype != np.uint8 or digests.chunks is not None:
            raise ValueError(f"the digests of {column.name} have an unexpected shape or type")
        offsets, sizes = zip(*(places[number] for number in range(count)), strict=True)
        return StoredColumn(column, size, offsets, sizes, digests[...].tobytes())


def _open(path: Path) -> BinaryIO:
    missing = MissingTableError(path.name or str(path), [path.parent])
    try:
        if path.is_file() or not path.exists():
            return path.open("rb")
    except (FileNotFoundError, NotADirectoryError):
        raise missing from None
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        reason = getattr(error, "strerror", None) or error
        raise TableFileError(path, f"cannot be read: {reason}") from None
    raise missing  # a folder, or a pipe that would never answer


def _filters(dataset: Any) -> list[int]:
    properties = dataset.id.get_create_plist()
    return [properties.get_filter(at)[0] for at in range(properties.get_nfilters())]


def _attributes(item: Any) -> dict[str, int | str]:
    """The attributes of a file or dataset; only the two types that tables have."""
    attributes: dict[str, int | str] = {}
    for name, value in item.attrs.items():
        if isinstance(value, np.bytes_):
            attributes[name] = value.decode()
        elif isinstance(value, np.int64):
            attributes[name] = int(value)
        else:
            raise TypeError(f"attribute {name} is neither a fixed-length string nor a 64-bit integer")
    return attributes
