"""The tables as they are served: opened when first asked for, and again when their file is replaced.

A name without a file is answered by the closed form of its game, if it has one.
"""

from __future__ import annotations

import logging
import os
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from threading import Lock
from time import monotonic, time_ns
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from lookup import __version__
from lookup.errors import CallerError, EndtableError, MissingTableError, TableFileError
from lookup.folder import TableFolder, is_folder
from lookup.games import closed_form
from lookup.handle import NO_WAITING
from lookup.manifest import MANIFEST
from lookup.records import decode_records
from lookup.response import info_fields, is_unknown
from lookup.service.errors import BusyError, NoFileError, TooLargeError
from lookup.table import Table

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from lookup.answers import Answers
    from lookup.records import Decode
    from lookup.tablebase import Tablebase

NOTICED_AFTER = 1.0
"""Seconds in which a table is not looked for again: a replaced file is noticed no later."""

MOST_BITS = 1000
"""Games of more than 2^1000 positions are not played here: a single move would take seconds."""

REMEMBERED_FORMULAS = 256
_TRIES = 5

Answer = TypeVar("Answer")
FileIdentity: TypeAlias = tuple[int, int, int, int]

_STARTED = f"{time_ns():x}"
"""Somebody else's rules are the same as long as the server runs: no version tells more of them."""

log = logging.getLogger("lookup.service")


@dataclass(eq=False)
class Served:
    """What answers for a name."""

    answers: Answers
    _counting: Lock = field(default_factory=Lock)

    @cached_property
    def is_ours(self) -> bool:
        """Whether the rules are those of a game of ours, which this version fixes."""
        return self.answers.game.is_ours() and not is_unknown(self.answers)

    @cached_property
    def is_quick(self) -> bool:
        """Whether a probe takes microseconds: a table in memory, by rules that we know."""
        return self.is_ours and isinstance(self.answers, Table) and self.answers.is_in_memory

    @cached_property
    def digest(self) -> str | None:
        """The digest of the table; None for a formula."""
        return self.answers.digest if isinstance(self.answers, Table) else None

    @cached_property
    def entity_tag(self) -> str:
        """Names this version of the answers: the same tag, the same content."""
        version = "formula"
        if isinstance(self.answers, Table):  # which also says in which form it is
            version = f"{self.answers.digest[:16]}-{self.answers.form}"
        return f'W/"{version}-{__version__ if self.is_ours else _STARTED}"'

    @property
    def info(self) -> dict[str, Any]:
        """What it says of itself. Counted once, whoever asks: a histogram reads the whole table."""
        with self._counting:
            return self._info

    @cached_property
    def _info(self) -> dict[str, Any]:
        return info_fields(self.answers)


class Place:
    """A name on the shelf that has, or had, a file: what was found there, and when."""

    def __init__(self) -> None:
        self.lock = Lock()
        self.file: FileIdentity | None = None
        self.served: Served | None = None
        self.error: EndtableError | None = None  # of the file, if it is no table
        self.looked = float("-inf")

    @property
    def is_fresh(self) -> bool:
        """Whether it was looked for just now."""
        return monotonic() - self.looked <= NOTICED_AFTER


class Shelf:
    """What answers for a name. Safe to share between threads.

    A table stays as it was opened until its path holds another file that is a table, too: while a new
    one is being copied there, the old one answers. Tables larger than memory should be replaced by
    renaming, as `build-tables` does: they are read from their file as long as they are open. Of a
    folder of parts only those that are open can still be read then; `ask` turns to the new one.
    """

    def __init__(self, tables: Tablebase, decode: Decode = decode_records) -> None:
        self.tables = tables
        self._decode = decode
        self._places: dict[str, Place] = {}

    def known(self, name: str) -> Served | None:
        """The table of a name, if it was looked for just now: no file is touched."""
        place = self._places.get(name)
        return place.served if place and place.is_fresh else None

    def ask(self, name: str, asked: Callable[[Served], Answer]) -> Answer:
        """What is answered for a name; asked once more if a folder was replaced just now.

        Raises what `find` raises, and what `asked` does.
        """
        served = self.find(name)
        try:
            return asked(served)
        except TableFileError:
            if not isinstance(served.answers, Table) or served.answers.form != TableFolder.form:
                raise
            if place := self._places.get(name):
                place.looked = float("-inf")
            again = self.find(name)
            if again is served:
                raise
        return asked(again)

    def find(self, name: str) -> Served:
        """What answers for a name.

        Raises:
            MissingTableError: there is no such table, and no closed form.
            TooLargeError: there is a closed form, but of a game that is too large to be played here.
            TableFileError: its file cannot be used.
        """
        if served := self.known(name):
            return served
        try:
            place = self._place(name)
        except MissingTableError:
            if served := _formula(name):
                return served
            raise
        if place.served is None:
            assert place.error
            raise place.error
        return place.served

    def open_file(self, name: str) -> tuple[Path, int]:
        """The path of a table, and its file, opened, as it stands there now.

        Nothing but tables is given away, whatever a link in a folder leads to.

        Raises:
            MissingTableError: there is no such file.
            NoFileError: the table is a folder of parts.
            TableFileError: it cannot be used, also where an older table still answers.
            BusyError: it is being replaced, again and again.
        """
        for _ in range(_TRIES):
            place = self._place(name)
            if place.error:
                raise place.error
            path = self.tables.find(name)
            if is_folder(path):
                raise NoFileError(name)
            with suppress(OSError):  # gone, or another one: the next look tells
                held = os.open(path, os.O_RDONLY | NO_WAITING)
                if _identity(os.fstat(held)) == place.file:
                    return path, held
                os.close(held)
        raise BusyError(f"the table {name!r} is being replaced")

    def _place(self, name: str) -> Place:
        """What stands at a name now.

        Raises:
            MissingTableError: nothing.
        """
        try:
            path = self.tables.find(name)
            in_parts = is_folder(path)
            file = _identity((path / MANIFEST if in_parts else path).stat())
        except (MissingTableError, OSError) as error:
            self._places.pop(name, None)
            raise error if isinstance(error, MissingTableError) else self.missing(name) from None
        place = self._places.setdefault(name, Place())  # there are no more than files
        with place.lock:
            if not place.is_fresh or place.file != file:
                # Parts that came after the manifest do not change it.
                self._look(name, place, file, again=in_parts and place.error is not None)
        return place

    def stored(self, answers: Answers) -> Table:
        """The table that answers, where a formula will not do: it knows nothing of indices.

        Raises:
            MissingTableError: it is a formula.
        """
        if isinstance(answers, Table):
            return answers
        raise self.missing(answers.name)

    def missing(self, name: str) -> MissingTableError:
        """The error that says which command builds a table that is not there."""
        try:
            self.tables.find(name)
        except MissingTableError as error:
            return error
        return MissingTableError(name, self.tables.directories)  # it has come back this moment

    def _look(self, name: str, place: Place, file: FileIdentity, *, again: bool) -> None:
        """Open the file of a name, unless it is the one that was looked at before; or `again`."""
        if again or place.file != file:
            try:
                table = self.tables.open(name, self._decode)
                table.close_when_unused()
                place.served, place.error = Served(table), None
            except (TableFileError, CallerError) as error:
                # CallerError: it is gone, or a package announces its game and has none.
                is_news = place.file != file or str(place.error) != str(error)
                place.error = error
                if place.served and is_news:
                    log.warning("%s stays as it was: its new file cannot be used (%s)", name, error)
        place.file, place.looked = file, monotonic()


@lru_cache(maxsize=REMEMBERED_FORMULAS)
def _formula(name: str) -> Served | None:
    """What answers for a name without a table, if there is a formula."""
    try:
        answers = closed_form(name)
    except CallerError:
        return None
    if answers.game.size.bit_length() > MOST_BITS:
        raise TooLargeError(
            f"{name!r} is too large to be played here: expected at most 2^{MOST_BITS} positions"
        )
    return Served(answers)


def _identity(status: os.stat_result) -> FileIdentity:
    """What differs when another file stands at a path, or other bytes in it."""
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns
