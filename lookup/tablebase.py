"""Many tables: a search path, and tables by name."""

from __future__ import annotations

import os
import re
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Self, TypeAlias

from lookup.errors import CallerError, CorruptTableError, MissingTableError, UnknownGameError
from lookup.games import find_game, load_game
from lookup.records import decode_records
from lookup.table import CACHE_BYTES, Table

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from types import TracebackType

    from lookup.games.base import Game
    from lookup.records import Decode

Place: TypeAlias = str | os.PathLike[str]
SUFFIX = ".h5"
PATH_VARIABLE = "ENDTABLE_PATH"
_NAME = re.compile(r"(?=.{1,100}$)[a-z0-9]+(-[a-z0-9]+)*")


def packaged_tables() -> Path:
    """The folder of the tables that ship with the package."""
    installed = Path(__file__).parent / "tables"
    return installed if installed.is_dir() else Path(__file__).parent.parent / "tables"


def search_path(directories: Iterable[Place] = ()) -> list[Path]:
    """The given folders, then those of $ENDTABLE_PATH, then the packaged one; each once."""
    from_variable = filter(None, os.environ.get(PATH_VARIABLE, "").split(os.pathsep))
    places = [*map(Path, directories), *map(Path, from_variable), packaged_tables()]
    distinct: dict[Path, Path] = {}
    for place in places:
        distinct.setdefault(place.resolve(), place)
    return list(distinct.values())


class Tablebase:
    """Tables found by name on a search path, opened when first asked for and then kept open."""

    def __init__(
        self, directories: Iterable[Place], cache_bytes: int, games: Iterable[type[Game]] = ()
    ) -> None:
        self.directories = search_path(directories)
        self._games = {game.name: game for game in games}
        self._cache_bytes = cache_bytes
        self._open: dict[str, Table] = {}
        self._lock = Lock()

    def __getitem__(self, name: str) -> Table:
        """The table called `name`.

        Raises:
            MissingTableError: it is nowhere on the search path; says which command builds it.
            TableFileError: its file cannot be used.
        """
        with self._lock:
            if name not in self._open:
                self._open[name] = self.open(name)
            return self._open[name]

    def get(self, name: str) -> Table | None:
        """The table called `name`, or None if there is none."""
        try:
            return self[name]
        except MissingTableError:
            return None

    def __contains__(self, name: object) -> bool:
        return name in set(self)

    def __iter__(self) -> Iterator[str]:
        """The names of all tables on the search path, in alphabetical order."""
        files = (file for place in self.directories for file in place.glob(f"*{SUFFIX}"))
        names = {file.stem for file in files if _NAME.fullmatch(file.stem) and file.is_file()}
        return iter(sorted(names))

    def close(self) -> None:
        """Close every table."""
        for table in self._open.values():
            table.close()
        self._open.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def open(self, name: str, decode: Decode = decode_records) -> Table:
        """Open the table called `name` once more, for the caller to close.

        It is the file that its path holds now, where `tables[name]` stays what it was. `decode` reads
        the records of tables that are held in memory.

        Raises:
            MissingTableError: it is nowhere on the search path; says which command builds it.
            TableFileError: its file cannot be used.
        """
        path = self.find(name)
        table = Table(path, rules=self._games, cache_bytes=self._cache_bytes, decode=decode)
        if table.name != name:
            table.close()
            raise CorruptTableError(table.path, f"holds the table {table.name!r}, not {name!r}")
        return table

    def find(self, name: str) -> Path:
        """The file of the table called `name`.

        Raises:
            MissingTableError: it is nowhere on the search path; says which command builds it.
        """
        # A name is matched before it is joined to a folder: it can never lead out of one.
        if _NAME.fullmatch(name):
            for place in self.directories:
                if (path := place / f"{name}{SUFFIX}").is_file():
                    return path
        raise self._missing(name)

    def _missing(self, name: str) -> MissingTableError:
        """The error that helps on: how to build the table, or what may have been meant."""
        try:
            return MissingTableError(name, self.directories, find_game(name).build_command)
        except UnknownGameError:
            from difflib import get_close_matches  # needed once in a blue moon

            alike = get_close_matches(name.lower(), list(self), n=1)
            hint = f"did you mean {alike[0]!r}?" if alike else ""
        except CallerError as error:
            hint = str(error)
        return MissingTableError(name, self.directories, hint=hint)


def open_tablebase(
    *directories: Place | Iterable[Place],
    games: Iterable[type[Game] | Place] = (),
    cache_bytes: int = CACHE_BYTES,
) -> Tablebase:
    """All tables in the given folders, then in those of $ENDTABLE_PATH, then the packaged ones.

    `games` are the rules of tables whose games are neither ours nor installed: classes, or the files
    they are written in, which are then run (see `open_table`).

    Folders are given one by one or in lists. Each table has a cache of its own of `cache_bytes`; see
    `open_table`.

    >>> with open_tablebase() as tables:
    ...     print(tables["tactics-4x4"].probe("XXXX/..X./..X./...."))
    win in 8
    """
    places: list[Place] = []
    for given in directories:
        places.extend([given] if isinstance(given, str | os.PathLike) else given)
    rules = [game if isinstance(game, type) else load_game(game) for game in games]
    return Tablebase(places, cache_bytes, rules)
