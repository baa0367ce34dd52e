"""The tables as they are served: opened when first asked for, and again when their file is replaced.

A name without a file is answered by the closed form of its game, if it has one.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from functools import cached_property
from threading import Lock
from time import monotonic, time_ns
from typing import TYPE_CHECKING, Any, TypeAlias

from lookup import __version__
from lookup.errors import CallerError, MissingTableError, TableFileError
from lookup.games import closed_form
from lookup.records import decode_records
from lookup.response import info_fields, is_unknown
from lookup.table import Table

if TYPE_CHECKING:
    from pathlib import Path

    from lookup.answers import Answers
    from lookup.records import Decode
    from lookup.tablebase import Tablebase

NOTICED_AFTER = 1.0
"""Seconds in which a table is not looked for again: a replaced file is noticed no later."""

MOST_BITS = 2000
"""Games of more than 2^2000 positions are not played here: a single move would take seconds."""

MOST_KEPT = 1000
"""Closed forms that are remembered; there is no end to the names that people can think of."""

FileIdentity: TypeAlias = tuple[int, int, int, int]

_STARTED = f"{time_ns():x}"
"""Somebody else's rules are the same as long as the server runs: no version tells more of them."""

log = logging.getLogger("lookup.service")


@dataclass(eq=False)
class Served:
    """What answers for a name, and when it was last looked for."""

    answers: Answers
    file: FileIdentity | None  # None: a closed form
    looked: float

    @cached_property
    def is_ours(self) -> bool:
        """Whether the rules are those of a game of ours, which this version fixes."""
        return self.answers.game.is_ours() and not is_unknown(self.answers)

    @cached_property
    def is_quick(self) -> bool:
        """Whether a probe takes microseconds: in memory, by rules that we know."""
        return self.is_ours and (not isinstance(self.answers, Table) or self.answers.is_in_memory)

    @cached_property
    def digest(self) -> str | None:
        """The digest of the table; None for a formula."""
        return self.answers.digest if isinstance(self.answers, Table) else None

    @cached_property
    def entity_tag(self) -> str:
        """Names this version of the answers: the same tag, the same content."""
        version = self.digest[:16] if self.digest else "formula"
        return f'W/"{version}-{__version__ if self.is_ours else _STARTED}"'

    @cached_property
    def info(self) -> dict[str, Any]:
        """What it says of itself. Counted once: a histogram reads the whole table."""
        return info_fields(self.answers)


class Shelf:
    """What answers for a name. Safe to share between threads.

    A table stays as it was opened until its path holds another file that is a table, too: while a new
    one is being copied there, the old one answers. Tables larger than memory should be replaced by
    renaming, as `build-tables` does: they are read from their file as long as they are open.
    """

    def __init__(self, tables: Tablebase, decode: Decode = decode_records) -> None:
        self.tables = tables
        self._decode = decode
        self._served: dict[str, Served] = {}
        self._lock = Lock()

    def known(self, name: str) -> Served | None:
        """What answers for a name, if it was looked for just now: no file is touched."""
        served = self._served.get(name)
        if served is None or monotonic() - served.looked > NOTICED_AFTER:
            return None
        return served

    def find(self, name: str) -> Served:
        """What answers for a name.

        Raises:
            MissingTableError: there is no such table, and no closed form.
            TableFileError: its file cannot be used.
        """
        if served := self.known(name):
            return served
        with self._lock:
            if served := self.known(name):
                return served
            return self._look(name)

    def stored(self, answers: Answers) -> Table:
        """The table that answers, where a formula will not do: it knows nothing of indices.

        Raises:
            MissingTableError: it is a formula.
        """
        if isinstance(answers, Table):
            return answers
        raise MissingTableError(answers.name, self.tables.directories, answers.game.build_command)

    def _look(self, name: str) -> Served:
        try:
            path = self.tables.find(name)
        except MissingTableError as missing:
            self._served.pop(name, None)
            served = Served(_formula(name, missing), None, monotonic())
            if len(self._served) < MOST_KEPT:
                self._served[name] = served
            return served
        old, file = self._served.get(name), _identity(path)
        if old is None or old.file != file:
            self._served[name] = self._open(name, old, file)
        self._served[name].looked = monotonic()
        return self._served[name]

    def _open(self, name: str, old: Served | None, file: FileIdentity) -> Served:
        try:
            table = self.tables.open(name, self._decode)
            table.close_when_unused()
            return Served(table, file, monotonic())
        except (TableFileError, MissingTableError) as error:
            if old is None or old.file is None:
                raise
            log.warning("%s stays as it was: its new file cannot be used (%s)", name, error)
            return old


def _formula(name: str, missing: MissingTableError) -> Answers:
    try:
        answers = closed_form(name)
    except CallerError:
        raise missing from None
    if answers.game.size.bit_length() > MOST_BITS:
        raise missing
    return answers


def _identity(path: Path) -> FileIdentity:
    """What differs when another file stands at a path, or other bytes in it."""
    status = path.stat()
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns
