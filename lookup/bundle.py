"""Bundles: tables to hand on, with a manifest that says what each file must be. Version 1.

    manifest.json       what is in it, below; all that `lookup fetch` goes by
    <name>.h5           the tables
    SHA256SUMS          of all files but itself, for the `sha256sum` command
    README.md           how to use them
    FORMAT.md           how to read them in other languages, where the tables that ship have it

A bundle is a folder of these files, or an archive of such a folder. The manifest is JSON:

    {"format": "endtable-bundle", "version": 1, "builder": "endtable 0.1.0", "tables": [
        {"name", "file", "game", "parameters", "positions", "size", "sha256", "digest",
         "format_version", "builder"}, ...]}

`size` (in bytes) and `sha256` are of the file; `digest`, `builder` and the rest are what the table says
of itself (`lookup/format.py`). Other fields may come and mean nothing to older readers; what must not
be passed over comes with a new version.

Nothing in a manifest is believed: names are matched before they are joined to a folder, and a table is
opened and compared with what the manifest says of it before it is used.
"""

from __future__ import annotations

import hashlib
import json
import re
from typing import TYPE_CHECKING, Any, NamedTuple, get_type_hints

from lookup.errors import BundleError, InvalidGameError, RulesChangedError, TableFileError
from lookup.format import VERSION as TABLE_VERSION
from lookup.format import canonical
from lookup.games.unknown import UnknownGame
from lookup.manifest import PARTS_FORMAT
from lookup.progress import silent
from lookup.reader import TableFile
from lookup.tablebase import SUFFIX, is_table_name

if TYPE_CHECKING:
    from pathlib import Path

    from lookup.progress import Report

FORMAT = "endtable-bundle"
VERSION = 1
MANIFEST, CHECKSUMS, README, SPECIFICATION = "manifest.json", "SHA256SUMS", "README.md", "FORMAT.md"
ARCHIVES = (".tar", ".zip")
"""Archives by the ends of their names: what Unix unpacks, and what a double click unpacks. They store
files as they are, for tables are compressed already: gzip would take 0.18 of 0.45 MB off the default
set, most of it HDF5's own structure in small files, and a twentieth off large ones. In return a
reader sees after a few bytes what is to come and how much, and can go on anywhere."""

MOST_MANIFEST = 4 << 20
"""Bytes of the largest manifest that is read, of some ten thousand tables."""

MOST_TABLE = 1 << 50
"""Bytes of the largest table that is believed in."""

_SHA256 = re.compile(r"[0-9a-f]{64}")


class Entry(NamedTuple):
    """What a manifest says of a table."""

    name: str
    file: str
    game: str
    parameters: dict[str, Any]
    positions: int
    size: int
    sha256: str
    digest: str
    format_version: int
    builder: str

    @classmethod
    def of(cls, table: TableFile, size: int, sha256: str) -> Entry:
        """The entry of an open table whose file has this size and hash."""
        info = table.info
        return cls(
            name=info.name,
            file=f"{info.name}{SUFFIX}",
            game=info.game,
            parameters=json.loads(info.parameters),
            positions=info.positions,
            size=size,
            sha256=sha256,
            digest=table.digest,
            format_version=info.format_version,
            builder=info.builder,
        )

    @classmethod
    def from_fields(cls, fields: object) -> Entry:
        """The entry that a manifest has written down.

        Raises:
            ValueError: it is none.
        """
        if not isinstance(fields, dict):
            raise ValueError("a table is described by no object")  # noqa: TRY004 - text, not a type
        for name in cls._fields:
            # Not isinstance, for which True is a number.
            if type(fields.get(name)) is not _TYPES[name]:
                raise ValueError(f"a table has no {name!r}, or an odd one")
        entry = cls(*(fields[name] for name in cls._fields))
        if not is_table_name(entry.name) or entry.file != f"{entry.name}{SUFFIX}":
            raise ValueError(
                f"{entry.name[:100]!r} in {entry.file[:100]!r} is no table's name and file"
            )
        if not (_SHA256.fullmatch(entry.sha256) and _SHA256.fullmatch(entry.digest)):
            raise ValueError(f"{entry.name} has a hash that is none")
        if any(isinstance(value, dict | list) for value in entry.parameters.values()):
            raise ValueError(f"{entry.name} has parameters that no game has")
        if not 0 < entry.size < MOST_TABLE:
            raise ValueError(f"{entry.name} has a size that no table has")
        return entry


_TYPES = {
    name: dict if name == "parameters" else kind
    for name, kind in get_type_hints(Entry, {"Any": Any}).items()
}


class Manifest(NamedTuple):
    """What a bundle says of itself."""

    builder: str
    tables: tuple[Entry, ...]

    def to_bytes(self) -> bytes:
        """The file: the same bytes for the same tables, in whatever order they came."""
        tables = [entry._asdict() for entry in sorted(self.tables)]
        fields = {"format": FORMAT, "version": VERSION, "builder": self.builder, "tables": tables}
        return (json.dumps(fields, indent=2) + "\n").encode("ascii")

    @classmethod
    def from_bytes(cls, text: bytes, place: str) -> Manifest:
        """The manifest that a file holds; `place` is how errors call the bundle.

        Raises:
            BundleError: it is none, or none that this version reads.
        """
        try:
            manifest = cls._from_fields(json.loads(text), place)
        except (ValueError, RecursionError) as error:
            reason = " ".join(str(error).split())
            raise BundleError(place, f"has a {MANIFEST} that is none: {reason}") from None
        for entry in manifest.tables:
            if entry.format_version != TABLE_VERSION:
                problem = f"holds {entry.name} in table format {entry.format_version}"
                raise BundleError(place, f"{problem}; this Endtable reads format {TABLE_VERSION}")
        return manifest

    @classmethod
    def _from_fields(cls, fields: Any, place: str) -> Manifest:
        if isinstance(fields, dict) and fields.get("format") == PARTS_FORMAT:
            problem = "is a table in a folder of parts: expected a bundle; copy the folder as it is"
            raise BundleError(place, problem)
        if not isinstance(fields, dict) or fields.get("format") != FORMAT:
            raise ValueError(f"expected format = {FORMAT!r}")
        version, builder, tables = (fields.get(name) for name in ("version", "builder", "tables"))
        if type(version) is int and version > VERSION:
            problem = f"is of version {version}; this Endtable reads version {VERSION}"
            raise BundleError(place, problem)
        if version != VERSION or not isinstance(builder, str) or not isinstance(tables, list):
            raise ValueError("expected a version, a builder and a list of tables")
        entries = tuple(map(Entry.from_fields, tables))
        if len({entry.name for entry in entries}) < len(entries):
            raise ValueError("it names a table twice")
        return cls(builder, entries)


def sha256_of(text: bytes) -> str:
    """The SHA-256 of some bytes."""
    return hashlib.sha256(text).hexdigest()


def open_any(path: Path) -> TableFile:
    """Open a table file to check it: by its rules if they are at hand, else as one of an unknown game.

    Raises:
        TableFileError: it is no table, or damaged.
    """
    try:
        return TableFile(path)
    except (RulesChangedError, InvalidGameError):
        # Of a game that goes by the same name here: sound all the same, for whoever has its rules.
        return TableFile(path, UnknownGame)


def check_table(path: Path, entry: Entry, place: str, report: Report = silent) -> None:
    """Check that a file, whose hash is right, is the table that a manifest describes: every chunk.

    Raises:
        BundleError: it is not.
    """
    try:
        table = open_any(path)
        try:
            found = Entry.of(table, entry.size, entry.sha256)
            # As text, in which 1 is not True.
            if odd := [
                name
                for name, one, other in zip(Entry._fields, found, entry, strict=True)
                if canonical(one) != canonical(other)
            ]:
                problem = f"holds {entry.file} with another {odd[0]} than its manifest says"
                raise BundleError(place, problem)
            table.check_chunks(report)
        finally:
            table.close()
    except TableFileError as error:
        raise BundleError(place, f"holds {entry.file}, which {error.problem}") from None
