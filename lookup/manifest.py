"""The folder form of a table, for those too large for one file: what is in its manifest. Version 1.

    <name>.parts/manifest.json              what the table says of itself, and which parts it has
    <name>.parts/<column>-<number>.h5       a stretch of a column, its number of six digits

The manifest is JSON in ASCII on one line, the objects in it with sorted keys, without spaces:

    {"columns": {<column>: {"attributes", "chunk_bytes", "parts": [{"bytes", "digest", "elements",
                            "file"}, ...]}, ...},
     "digest": that of the same table in one file,
     "format": "endtable-parts", "format_version": 1,
     "table": all root attributes of the same table in one file, but its digest,
     "sha256": of all bytes of the file before this field: it comes last}

A part is an HDF5 file, built as a table is: one column with its four attributes, as if there were no
others, its chunks of the length that `chunk_bytes` says, and `sha256/<column>`. Its own attributes are
`part_attributes` and a digest, made as that of a table. All parts of a column but the last hold the
same whole number of chunks; the last has the rest, and a chunk at least that is full. So the number
of a chunk tells its part.

`tables/FORMAT.md` has all this for readers in any language.
"""

from __future__ import annotations

import hashlib
import json
import re
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

from lookup.blocks import dtype_of
from lookup.chunk_file import StoredColumn, check_chunk_bytes, check_format
from lookup.errors import CorruptTableError, NotATableError
from lookup.format import DIGESTS, FORMAT, VERSION, canonical
from lookup.hdf5 import is_name

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from lookup.format import Attributes, Column

PARTS_SUFFIX = ".parts"
PARTS_FORMAT, PART_FORMAT = "endtable-parts", "endtable-part"
MANIFEST = "manifest.json"

MOST_MANIFEST = 16 << 20
"""Bytes of the largest manifest that is read, of some hundred thousand parts."""

_MOST_COLUMNS = 63  # a group has 64 members at most, and one is `sha256`
_MOST_TEXT = 65_000  # bytes of a string
_MOST_ATTRIBUTES = 4 << 20  # bytes of all of an object
_AN_ATTRIBUTE = 40  # bytes of one in a file, at least, but for its name and value
_MOST_VALUES = 65_536  # of JSON: so many, and one more for each so many bytes
_BYTES_A_VALUE = 16
_MOST_PARTS = 1_000_000  # of a column: numbers have six digits
_COLUMN = re.compile(r"[a-z][a-z0-9_]{0,63}")  # of which file names are made
_SHA256 = re.compile(r"[0-9a-f]{64}")
_TAIL = re.compile(rb',"sha256":"([0-9a-f]{64})"}\n')
_TAIL_BYTES = len(',"sha256":"') + 64 + len('"}\n')


class PartEntry(NamedTuple):
    """What a manifest says of a part: its elements, the bytes of its file, and its digest."""

    elements: int
    size: int
    digest: str


class ColumnEntry(NamedTuple):
    """What a manifest says of a column."""

    attributes: Attributes
    chunk_bytes: int
    parts: tuple[PartEntry, ...]

    def fields(self, name: str) -> dict[str, Any]:
        """As JSON."""
        parts = [
            {"file": part_name(name, at), "elements": elements, "bytes": size, "digest": digest}
            for at, (elements, size, digest) in enumerate(self.parts)
        ]
        return {"attributes": self.attributes, "chunk_bytes": self.chunk_bytes, "parts": parts}

    @classmethod
    def from_fields(cls, name: str, fields: Any) -> ColumnEntry:
        """The entry that a manifest has written down.

        Raises:
            ValueError: it is none.
        """
        if not _COLUMN.fullmatch(name) or name == DIGESTS or not isinstance(fields, dict):
            raise ValueError(f"{name[:100]!r} is no column's name, or not described")
        size, parts = fields.get("chunk_bytes"), fields.get("parts")
        if type(size) is not int or not isinstance(parts, list) or not 0 < len(parts) <= _MOST_PARTS:
            raise ValueError(f"{name} has no chunk_bytes or no parts")
        entries = tuple(_part(name, at, part) for at, part in enumerate(parts))
        return cls(_attributes(name, fields.get("attributes")), size, entries)


def _part(column: str, at: int, fields: Any) -> PartEntry:
    known = fields if isinstance(fields, dict) else {}
    elements, size, digest = (known.get(key) for key in ("elements", "bytes", "digest"))
    if known.get("file") != part_name(column, at):
        raise ValueError(f"part {at} of {column} is not in {part_name(column, at)}")
    # Not isinstance, for which True is a number.
    if type(elements) is not int or type(size) is not int or min(elements, size) < 1:
        raise ValueError(f"part {at} of {column} has no elements or no bytes")
    if not isinstance(digest, str) or not _SHA256.fullmatch(digest):
        raise ValueError(f"part {at} of {column} has no digest")
    return PartEntry(elements, size, digest)


def _attributes(what: str, fields: Any) -> dict[str, int | str]:
    """Such as a file can have: strings in UTF-8 and 64-bit integers, and not too many."""
    if not isinstance(fields, dict) or not all(map(_is_attribute, fields.values())):
        raise ValueError(f"{what} has no attributes, or others than strings and 64-bit integers")
    texts = (value for value in fields.values() if isinstance(value, str))
    if sum(map(len, (*fields, *texts))) + _AN_ATTRIBUTE * len(fields) > _MOST_ATTRIBUTES:
        raise ValueError(f"{what} has attributes of more than {_MOST_ATTRIBUTES:,} bytes")
    if not all(name.isascii() and is_name(name.encode()) for name in fields):
        raise ValueError(f"{what} has attributes whose names are not printable ASCII, or too long")
    return fields


def _is_attribute(value: Any) -> bool:
    if isinstance(value, str):
        try:
            return len(value.encode()) <= _MOST_TEXT and not value.endswith("\0")
        except UnicodeEncodeError:  # half of a character
            return False
    return type(value) is int and -(1 << 63) <= value < 1 << 63


class Manifest(NamedTuple):
    """What a folder of parts says of its table."""

    table: Attributes
    digest: str
    columns: Mapping[str, ColumnEntry]

    def to_bytes(self) -> bytes:
        """The file: the same bytes for the same parts."""
        fields = {
            "format": PARTS_FORMAT,
            "format_version": VERSION,
            "table": self.table,
            "digest": self.digest,
            "columns": {name: entry.fields(name) for name, entry in self.columns.items()},
        }
        return sealed(canonical(fields))

    @classmethod
    def from_bytes(cls, text: bytes, path: Path) -> Manifest:
        """The manifest that a file holds, and that is as it was written.

        Raises:
            NotATableError, FormatVersionError: it is none, or none that this version reads.
            CorruptTableError: it is damaged.
            ValueError: it was made by no Endtable.
        """
        before, tail = text[:-_TAIL_BYTES], _TAIL.fullmatch(text[-_TAIL_BYTES:])
        if not tail or hashlib.sha256(before).hexdigest().encode() != tail[1]:
            if canonical({"format": PARTS_FORMAT})[1:-1] not in text:
                raise NotATableError(path, f"is not a table: expected a manifest of {PARTS_FORMAT!r}")
            raise CorruptTableError(path, "is damaged: it does not match its own SHA-256")
        fields = _parsed(before + b"}")
        check_format(path, PARTS_FORMAT, fields.get("format"), fields.get("format_version"))
        if canonical(fields) != before + b"}":
            raise ValueError("it is not in canonical form")
        table, digest, columns = (fields.get(key) for key in ("table", "digest", "columns"))
        if not isinstance(digest, str) or not _SHA256.fullmatch(digest):
            raise ValueError("it has no digest")
        if not isinstance(columns, dict) or len(columns) > _MOST_COLUMNS:
            raise ValueError("it has no columns, or too many")
        attributes = _attributes("the table", table)
        check_format(path, FORMAT, attributes.get("format"), attributes.get("format_version"))
        return cls(
            attributes,
            digest,
            {name: ColumnEntry.from_fields(name, columns[name]) for name in sorted(columns)},
        )


def sealed(text: bytes) -> bytes:
    """An object in JSON as the file of a manifest, with its SHA-256 behind it."""
    before = text.removesuffix(b"}")
    return before + b',"sha256":"%b"}\n' % hashlib.sha256(before).hexdigest().encode()


def _parsed(text: bytes) -> dict[str, Any]:
    """An object in JSON that does not take many times the memory of its text.

    Raises:
        ValueError: it is none.
    """
    # Each value but the first has a comma or a bracket before it; `{}` takes 30 times its length.
    if sum(map(text.count, (b",", b"[", b"{"))) > _MOST_VALUES + len(text) // _BYTES_A_VALUE:
        raise ValueError("it has more values than any manifest")
    try:
        fields = json.loads(text.decode("ascii"), parse_constant=_no_number)
    except (ValueError, RecursionError):
        fields = None
    if not isinstance(fields, dict):
        raise ValueError("it is no object in JSON, in ASCII")  # noqa: TRY004 - text, not a type
    return fields


def _no_number(text: str) -> NoReturn:
    raise ValueError(text)  # NaN, or Infinity


def part_name(column: str, number: int) -> str:
    """The file of a part."""
    return f"{column}-{number:06}.h5"


def part_attributes(table: str, column: str, first: int) -> dict[str, int | str]:
    """The attributes of a part but its digest; `first` is the number of its first element."""
    return {
        "format": PART_FORMAT,
        "format_version": VERSION,
        "name": table,
        "column": column,
        "first": first,
    }


class Shares(NamedTuple):
    """How chunks of a column are shared between parts: so many in each, and the rest in the last."""

    stored: StoredColumn
    chunks: int

    @property
    def parts(self) -> int:
        """How many parts there are; a chunk that is not full has none for itself."""
        full = self.stored.column.nbytes // self.stored.chunk_bytes
        return max(1, -(-full // self.chunks))

    @property
    def elements(self) -> int:
        """How many elements a part has, but for the last."""
        return self.chunks * self.stored.chunk_bytes // dtype_of(self.stored.column.bits).itemsize

    def part_of(self, number: int) -> tuple[int, int]:
        """The part that has a chunk, and the number of that chunk in it."""
        part = min(number // self.chunks, self.parts - 1)
        return part, number - part * self.chunks

    def chunks_of(self, part: int) -> tuple[int, int]:
        """The first chunk of a part, and the first that follows it."""
        first = part * self.chunks
        return first, self.stored.count if part == self.parts - 1 else first + self.chunks

    def column_of(self, part: int) -> Column:
        """The stretch of the column that a part holds, as a column."""
        column = self.stored.column
        first, end = self.chunks_of(part)
        share = self.stored.share
        return column._replace(items=min(end * share, column.items) - first * share)

    @classmethod
    def of(cls, column: Column, entry: ColumnEntry) -> Shares:
        """How a manifest has them shared.

        Raises:
            ValueError: in a way that no column has.
        """
        if column.items < 1:
            raise ValueError(f"{column.name} has {column.items} items, expected one at least")
        check_chunk_bytes(column, entry.chunk_bytes)
        stored = StoredColumn(column, entry.chunk_bytes)
        itemsize = dtype_of(column.bits).itemsize
        chunks = stored.count
        if len(entry.parts) > 1:
            chunks, rest = divmod(entry.parts[0].elements * itemsize, entry.chunk_bytes)
            if rest or not chunks:
                raise ValueError(f"{column.name} has parts that do not end with a chunk")
        shares = cls(stored, chunks)
        found = [part.elements for part in entry.parts]
        whole = len(found) == shares.parts and set(found[:-1]) <= {shares.elements}
        if not whole or sum(found) != column.length:
            raise ValueError(f"{column.name} has other parts than its length asks for")
        return shares
