"""Many tables: a search path, and tables by name."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple, Self, TypeAlias

from lookup.errors import CallerError, CorruptTableError, MissingTableError, UnknownGameError, quoted
from lookup.folder import is_folder
from lookup.games import find_game, load_game
from lookup.manifest import PARTS_SUFFIX
from lookup.processes import found, found_by, tell_in_child
from lookup.records import decode_records
from lookup.table import CACHE_BYTES, Table

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from types import TracebackType

    from lookup.games.base import Game
    from lookup.processes import Found
    from lookup.records import Decode

Place: TypeAlias = str | os.PathLike[str]
SUFFIX = ".h5"
PATH_VARIABLE = "ENDTABLE_PATH"
GIVEN, VARIABLE, USER, PACKAGED = "given", f"${PATH_VARIABLE}", "user", "packaged"
_NAME = re.compile(r"(?=.{1,100}$)[a-z0-9]+(-[a-z0-9]+)*")


class SearchedFolder(NamedTuple):
    """A folder on the search path, and why it is there: `GIVEN`, `VARIABLE`, `USER` or `PACKAGED`."""

    path: Path
    origin: str

    def tables(self) -> dict[str, Path]:
        """The files of its tables by name, in alphabetical order; none if it cannot be read."""
        try:
            with os.scandir(self.path) as entries:
                suffixes = (SUFFIX, PARTS_SUFFIX)
                stems = {Path(one.name).stem for one in entries if one.name.endswith(suffixes)}
        except OSError:
            return {}
        found = {stem: self.file_of(stem) for stem in sorted(stems) if is_table_name(stem)}
        return {name: path for name, path in found.items() if path}

    def file_of(self, name: str) -> Path | None:
        """The file of a table, or its folder of parts, if there is one here; the name is one."""
        path, folder = self.path / f"{name}{SUFFIX}", self.path / f"{name}{PARTS_SUFFIX}"
        # Not `Path.is_file`, which raises where a folder may not be looked into.
        if os.path.isfile(path):  # noqa: PTH113 - see above
            return path
        return folder if is_folder(folder) else None


def is_table_name(name: str) -> bool:
    """Whether a table can be called so: such a name, joined to a folder, never leads out of it."""
    return _NAME.fullmatch(name) is not None


def packaged_tables() -> Path:
    """The folder of the tables that ship with the package."""
    installed = Path(__file__).parent / "tables"
    return installed if installed.is_dir() else Path(__file__).parent.parent / "tables"


def user_tables() -> Path | None:
    """The user's own folder of tables, where `lookup fetch` puts them; None for users without a home.

    It is `endtable/tables` in $XDG_DATA_HOME, if that is set, or where the system keeps such data:
    `~/.local/share`, `~/Library/Application Support` or `%LOCALAPPDATA%`. It need not be there.
    """
    data = Path(os.environ.get("XDG_DATA_HOME", ""))
    if not data.is_absolute():  # as the standard has it, a relative one counts for nothing
        try:
            home = Path.home()
        except RuntimeError:
            return None
        if sys.platform == "darwin":
            data = home / "Library" / "Application Support"
        elif sys.platform == "win32":
            data = Path(os.environ.get("LOCALAPPDATA") or home / "AppData" / "Local")
        else:
            data = home / ".local" / "share"
    return data / "endtable" / "tables"


def search_path(directories: Iterable[Place] = ()) -> list[SearchedFolder]:
    """The given folders, those of $ENDTABLE_PATH, the user's, and the packaged one; each once."""
    user = user_tables()
    places = [
        *((place, GIVEN) for place in directories),
        *((place, VARIABLE) for place in os.environ.get(PATH_VARIABLE, "").split(os.pathsep) if place),
        *([(user, USER)] if user else []),
        (packaged_tables(), PACKAGED),
    ]
    distinct: dict[Path, SearchedFolder] = {}
    for place, origin in places:
        distinct.setdefault(Path(place).resolve(), SearchedFolder(Path(place), origin))
    return list(distinct.values())


class Tablebase:
    """Tables found by name on a search path, opened when first asked for and then kept open.

    Safe to share between threads, forked while they ask, and pickled, as tables are: see `Table`. What
    is pickled is the search path; each process opens its tables by itself.
    """

    def __init__(
        self, directories: Iterable[Place], cache_bytes: int, games: Iterable[type[Game]] = ()
    ) -> None:
        self.folders = search_path(directories)
        self._games = {game.name: game for game in games}
        self._cache_bytes = cache_bytes
        self._open: dict[str, Table] = {}
        self._lock = Lock()
        tell_in_child(self)

    def in_child(self) -> None:
        """Another thread of the parent may have been opening a table."""
        self._lock = Lock()

    def __reduce__(self) -> tuple[Any, ...]:
        folders = [folder._replace(path=folder.path.absolute()) for folder in self.folders]
        games = [found_by(game) for game in self._games.values()]
        return _again, (folders, self._cache_bytes, games)

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
        return iter(sorted({name for folder in self.folders for name in folder.tables()}))

    @property
    def directories(self) -> list[Path]:
        """The folders of the search path, in order."""
        return [folder.path for folder in self.folders]

    def close(self) -> None:
        """Close every table; one that is asked for later is opened again."""
        with self._lock:
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
            raise CorruptTableError(table.path, f"holds the table {quoted(table.name)}, not {name!r}")
        return table

    def find(self, name: str) -> Path:
        """The file of the table called `name`, or its folder of parts.

        Raises:
            MissingTableError: it is nowhere on the search path; says which command builds it.
        """
        # A name is matched before it is joined to a folder: it can never lead out of one.
        if is_table_name(name):
            for folder in self.folders:
                if path := folder.file_of(name):
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


def _again(folders: list[SearchedFolder], cache_bytes: int, games: list[Found]) -> Tablebase:
    """A tablebase in another process: the same folders, whatever the environment is there."""
    tables = Tablebase((), cache_bytes, map(found, games))
    tables.folders = folders
    return tables


def open_tablebase(
    *directories: Place | Iterable[Place],
    games: Iterable[type[Game] | Place] = (),
    cache_bytes: int = CACHE_BYTES,
) -> Tablebase:
    """All tables in the given folders, those of $ENDTABLE_PATH, the user's, and the packaged ones.

    The first that has a table of a name counts. The user's folder is where `lookup fetch` puts tables:
    see `lookup.tablebase.user_tables`.

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
