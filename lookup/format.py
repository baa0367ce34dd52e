"""The on-disk format, version 1: one HDF5 file a table.

    /                   attributes: `TableInfo`, one attribute a field, and `digest`
    /outcome            how each record ends for its mover; 2 bits with the codes of `Outcome`, or
                        1 bit (1 = win) when every index is a win or a loss
    /remoteness         plies to the end under best play; 0 where there is none. Optional
    /classes            index -> record, when records are symmetry classes; record 0 then stands for
                        the indices that are not positions. Without it, the record is the index
    /sha256/<column>    for each column above, 32 bytes for each of its decoded chunks

A column is a one-dimensional little-endian array of 8, 16 or 32-bit elements, chunked, filters zstd
(32015) and fletcher32 in this order; see `blocks.py` for what a chunk holds and how items of less
than a byte share one. Its attributes are the fields of `Column` and its `packing` in words. The last
chunk is padded with zeros to full size. Nothing is compressed but the columns.

`digest` is the SHA-256 of the canonical metadata (`canonical`) followed by the chunk digests of the
columns in alphabetical order. A chunk digest alone would not notice a changed attribute, and a
frame checksum alone would not notice two chunks that changed places.

Strings are fixed-length UTF-8, numbers 64-bit integers, `parameters` is JSON with sorted keys.

History
    1   0.1.0   the first
"""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, NamedTuple, get_type_hints

from lookup.blocks import PACKED_BITS, dtype_of, packed_length, smallest_bits

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from lookup.games.base import Game

FORMAT = "endtable"
VERSION = 1
ZSTD_FILTER = 32015
OUTCOME, REMOTENESS, CLASSES = "outcome", "remoteness", "classes"
COLUMNS = (CLASSES, OUTCOME, REMOTENESS)
DIGESTS = "sha256"
CHUNK_BYTES = 256 * 1024
CHUNK_BYTES_LARGE = 64 * 1024
LARGE_TABLE = 256 * 1024 * 1024

INTEGRITY = (
    "sha256/<column> holds the SHA-256 of each decoded chunk of a column; digest is the SHA-256 of the "
    "canonical metadata followed by these, columns in alphabetical order."
)
CODES = {1: "0 loss, 1 win", 2: "0 not a position, 1 loss, 2 draw, 3 win"}
"""What the items of `outcome` mean, by their width."""


class Column(NamedTuple):
    """The shape and meaning of one column."""

    name: str
    bits: int
    items: int
    meaning: str

    @property
    def length(self) -> int:
        """How many elements hold the items."""
        return packed_length(self.items, self.bits)

    @property
    def nbytes(self) -> int:
        """How many bytes hold the items."""
        return self.length * dtype_of(self.bits).itemsize

    @property
    def packing(self) -> str:
        """How items lie in the array, in words."""
        if self.bits < 8:
            return f"{8 // self.bits} items a byte, the first in the least significant bits"
        return f"one item an element, an unsigned little-endian integer of {self.bits} bits"

    @property
    def attributes(self) -> dict[str, int | str]:
        """What the dataset says of itself."""
        return {
            "bits": self.bits,
            "items": self.items,
            "meaning": self.meaning,
            "packing": self.packing,
        }

    @classmethod
    def from_attributes(cls, name: str, attributes: Mapping[str, int | str]) -> Column:
        """The column that a dataset describes.

        Raises:
            TypeError, ValueError: the attributes are not those of a column.
        """
        bits, items, meaning = (attributes.get(key) for key in ("bits", "items", "meaning"))
        if not (isinstance(bits, int) and isinstance(items, int) and isinstance(meaning, str)):
            raise TypeError(f"{name} does not describe itself")
        column = cls(name, bits, items, meaning)
        if bits not in PACKED_BITS or column.attributes != attributes:
            raise ValueError(f"{name} does not describe itself as expected")
        return column


def outcome_column(bits: int, items: int) -> Column:
    """The column of outcomes; `bits` is 1 or 2."""
    meaning = f"The end of the game for the player to move, under best play: {CODES[bits]}."
    return Column(OUTCOME, bits, items, meaning)


def remoteness_column(bits: int, items: int) -> Column:
    """The column of plies to the end."""
    meaning = "Plies to the end: a winner hurries, a loser delays. 0 if not a win or a loss."
    return Column(REMOTENESS, bits, items, meaning)


def classes_column(bits: int, items: int) -> Column:
    """The map from index to record."""
    meaning = "The record of each index: one for each symmetry class, 0 if not a position."
    return Column(CLASSES, bits, items, meaning)


COLUMN_KINDS = {OUTCOME: outcome_column, REMOTENESS: remoteness_column, CLASSES: classes_column}
"""How each column describes itself, from its width and length."""


class TableInfo(NamedTuple):
    """What a table says of itself: the root attributes of its file."""

    format: str
    format_version: int
    name: str
    game: str
    parameters: str
    rules: str
    notation: str
    indexing: str
    integrity: str
    solver: str
    builder: str
    size: int
    positions: int
    losses: int
    draws: int
    wins: int
    longest_remoteness: int  # -1 if remoteness is not stored

    @classmethod
    def describe(
        cls, game: Game, builder: str, counts: tuple[int, int, int], longest: int
    ) -> TableInfo:
        """The description of a solved game; `counts` are losses, draws, wins."""
        return cls(
            format=FORMAT,
            format_version=VERSION,
            name=game.table_name,
            game=game.name,
            parameters=canonical(game.parameters).decode(),
            rules=game.rules,
            notation=game.notation,
            indexing=game.indexing,
            integrity=INTEGRITY,
            solver=game.solver,
            builder=builder,
            size=game.size,
            positions=sum(counts),
            losses=counts[0],
            draws=counts[1],
            wins=counts[2],
            longest_remoteness=longest,
        )

    @classmethod
    def from_attributes(cls, attributes: Mapping[str, object]) -> TableInfo:
        """The description read from a file.

        Raises:
            ValueError: an attribute is missing, of the wrong type or unknown.
        """
        wanted = get_type_hints(cls)
        if set(attributes) != set(wanted):
            odd = sorted(set(attributes) ^ set(wanted))
            raise ValueError(f"attributes missing or unknown: {', '.join(odd)}")
        for name, value in attributes.items():
            if type(value) is not wanted[name]:
                raise ValueError(f"attribute {name} is {value!r}, not of type {wanted[name].__name__}")
        return cls(**attributes)  # type: ignore[arg-type]  # the types were checked above

    @property
    def attributes(self) -> dict[str, int | str]:
        """The root attributes but `digest`."""
        return self._asdict()

    def same_content(self, other: TableInfo) -> bool:
        """Equal but for the version of the builder."""
        return self == other._replace(builder=self.builder)


def is_sound(info: TableInfo, columns: Mapping[str, Column]) -> bool:
    """Whether totals, widths and lengths are such as a table of this size can have."""
    totals = (info.losses, info.draws, info.wins)
    if min(totals) < 0 or sum(totals) != info.positions or not 1 <= info.positions <= info.size:
        return False
    outcome, remoteness, classes = (columns.get(name) for name in (OUTCOME, REMOTENESS, CLASSES))
    if outcome is None or outcome.bits not in CODES or not set(columns) <= set(COLUMNS):
        return False
    if remoteness is None:
        fits = info.longest_remoteness == -1
    else:
        # A position r plies from the end has r others on its way.
        fits = 0 <= info.longest_remoteness < info.size and remoteness.items == outcome.items
        fits = fits and remoteness.bits == smallest_bits(info.longest_remoteness)
    if classes is None:
        return fits and outcome.items == info.size
    return fits and classes.items == info.size and 1 <= outcome.items <= info.size + 1


def canonical(value: object) -> bytes:
    """The one JSON text of a value: sorted keys, no spaces, ASCII."""
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode("ascii")


def table_digest(info: TableInfo, columns: Iterable[Column], digests: Mapping[str, bytes]) -> str:
    """The digest of a whole table, from its metadata and the chunk digests of each column."""
    described = {column.name: column.attributes for column in columns}
    digest = hashlib.sha256(canonical({"table": info.attributes, "columns": described}))
    for name in sorted(described):
        digest.update(digests[name])
    return digest.hexdigest()


def chunk_bytes(column: Column, table_bytes: int) -> int:
    """How many decoded bytes a chunk of a column holds in a table of `table_bytes` in all."""
    largest = CHUNK_BYTES_LARGE if table_bytes > LARGE_TABLE else CHUNK_BYTES
    return min(largest, column.nbytes)
