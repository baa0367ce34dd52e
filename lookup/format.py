"""The on-disk format, version 1: one HDF5 file a table.

    /                   attributes: `TableInfo`, one attribute a field, and `digest`
    /outcome            how each record ends for its mover; 2 bits with the codes of `Outcome`, or
                        1 bit (1 = win) when every index is a win or a loss
    /remoteness         plies to the end under best play; 0 where there is none. Optional
    /grundy             the nim-value of an impartial game under normal play. Optional
    /classes            index -> record, when records are symmetry classes; record 0 then stands for
                        the indices that are not positions. Without it, the record is the index
    /sha256/<column>    for each column above, 32 bytes for each of its decoded chunks

A table too large for one file is a folder of parts that are built alike: `lookup/manifest.py`.

This is the short form. `tables/FORMAT.md` has the whole specification, for readers in any language:
types, packing, chunks, the index of each game, digests, limits, what may change and what has.
Whoever changes the format changes it there; `tests/test_format_document.py` compares the two.

A chunk digest alone would not notice a changed attribute, and a frame checksum alone would not notice
two chunks that changed places: so `digest` covers both. It counts whatever attributes and columns a
file has; but for that, a reader ignores those it does not know.
"""

from __future__ import annotations

import hashlib
import json
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, get_type_hints

from lookup.blocks import PACKED_BITS, dtype_of, packed_length, smallest_bits
from lookup.errors import quoted

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from lookup.games.base import Game

    Attributes: TypeAlias = Mapping[str, int | str]
    """What a file, or a column of it, says of itself."""

FORMAT = "endtable"
VERSION = 1
ZSTD_FILTER = 32015
OUTCOME, REMOTENESS, GRUNDY, CLASSES = "outcome", "remoteness", "grundy", "classes"
COLUMNS = (CLASSES, GRUNDY, OUTCOME, REMOTENESS)
DIGESTS = "sha256"
MOST_GRUNDY = 1 << 17
_LARGEST = (1 << PACKED_BITS[-1]) - 1  # of all items
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
    def from_attributes(cls, name: str, attributes: Attributes) -> Column:
        """The column that a dataset describes. Attributes that later versions add are left alone.

        Raises:
            TypeError, ValueError: the attributes are not those of a column.
        """
        bits, items, meaning = (attributes.get(key) for key in ("bits", "items", "meaning"))
        if not (isinstance(bits, int) and isinstance(items, int) and isinstance(meaning, str)):
            raise TypeError(f"{name} does not describe itself")
        column = cls(name, bits, items, meaning)
        if bits not in PACKED_BITS or not column.attributes.items() <= attributes.items():
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


def grundy_column(bits: int, items: int) -> Column:
    """The column of nim-values."""
    meaning = "The Grundy value: the least number that no move leads to; 0 is a loss."
    return Column(GRUNDY, bits, items, meaning)


def classes_column(bits: int, items: int) -> Column:
    """The map from index to record."""
    meaning = "The record of each index: one for each symmetry class, 0 if not a position."
    return Column(CLASSES, bits, items, meaning)


COLUMN_KINDS = {
    OUTCOME: outcome_column,
    REMOTENESS: remoteness_column,
    GRUNDY: grundy_column,
    CLASSES: classes_column,
}
"""How each column describes itself, from its width and length."""


class Totals(NamedTuple):
    """What a solver says of all positions together."""

    counts: tuple[int, int, int]  # losses, draws, wins
    longest: int = -1  # remoteness, -1 if it is not stored
    largest_grundy: int = -1  # -1 if they are not stored
    period: Period | None = None

    def joined(self, other: Totals) -> Totals:
        """Those of all positions of two kinds together; without a period, which is of all or none."""
        losses, draws, wins = (a + b for a, b in zip(self.counts, other.counts, strict=True))
        longest = max(self.longest, other.longest)
        return Totals((losses, draws, wins), longest, max(self.largest_grundy, other.largest_grundy))


class Period(NamedTuple):
    """The proof that values beyond the table repeat those inside.

    For every index from `preperiod` on, the index `period` further has the same outcome and Grundy
    value, and a remoteness larger by `plies`. All values up to the index `checked` were computed and
    compared, which is far enough to hold for ever: see `builder/periods.py`.
    """

    preperiod: int
    period: int
    checked: int
    plies: int

    @classmethod
    def from_text(cls, text: str) -> Period:
        """The period that an attribute describes.

        Raises:
            ValueError: the text is not that of a period.
        """
        fields = json.loads(text)
        if not isinstance(fields, dict) or set(fields) != set(cls._fields):
            raise ValueError(f"period is {quoted(text)}: expected {', '.join(cls._fields)}")
        period = cls(**fields)
        if period.text != text or any(type(one) is not int or one < 0 for one in period):
            raise ValueError(f"period is {quoted(text)}: expected numbers")
        return period

    @property
    def text(self) -> str:
        """The attribute that describes it."""
        return canonical(self._asdict()).decode()

    def fold(self, index: int) -> tuple[int, int]:
        """The index inside the table that stands for one beyond it, and the periods between them."""
        periods, rest = divmod(index - self.preperiod, self.period)
        return self.preperiod + rest, periods


def heaps_needed(preperiod: Any, period: Any, most: int) -> Any:
    """How many heaps must be known to prove a period; `most` is the most that a move takes."""
    return 2 * preperiod + 2 * period + most


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
    largest_grundy: int  # -1 if Grundy values are not stored
    period: str  # empty if none is proven
    # Of games that do not come with Endtable; others leave them out.
    rules_digest: str = ""
    start: int = -1  # the index of the starting position

    @classmethod
    def describe(cls, game: Game, builder: str, totals: Totals) -> TableInfo:
        """The description of a solved game."""
        losses, draws, wins = totals.counts
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
            positions=losses + draws + wins,
            losses=losses,
            draws=draws,
            wins=wins,
            longest_remoteness=totals.longest,
            largest_grundy=totals.largest_grundy,
            period=totals.period.text if totals.period else "",
            rules_digest=game.rules_digest(),
            start=-1 if game.is_ours() else game.start,
        )

    @classmethod
    def from_attributes(cls, attributes: Mapping[str, object]) -> TableInfo:
        """The description read from a file. Attributes that later versions add are left out.

        Raises:
            ValueError: an attribute is missing or of the wrong type.
        """
        wanted = _types()
        known = {name: value for name, value in attributes.items() if name in wanted}
        missing = set(wanted) - set(known)
        if missing and missing != set(cls._field_defaults):
            absent = missing - set(cls._field_defaults) or missing
            raise ValueError(f"attributes missing: {', '.join(sorted(absent))}")
        for name, value in known.items():
            if type(value) is not wanted[name]:
                raise ValueError(f"{name} is {quoted(value)}, not of type {wanted[name].__name__}")
        return cls(**known)  # type: ignore[arg-type]  # the types were checked above

    @property
    def attributes(self) -> dict[str, int | str]:
        """The root attributes but `digest`; without those that only games from outside have."""
        known = self._asdict()
        return known if self.rules_digest else {name: known[name] for name in list(known)[:-2]}

    def same_content(self, other: TableInfo) -> bool:
        """Equal but for the version of the builder."""
        return self == other._replace(builder=self.builder)


@cache
def _types() -> dict[str, type]:
    """The types of the fields of `TableInfo`: to find them takes half as long as to open a table."""
    return get_type_hints(TableInfo)


def is_sound(info: TableInfo, columns: Mapping[str, Column]) -> bool:
    """Whether totals, widths and lengths are such as a table of this size can have."""
    totals = (info.losses, info.draws, info.wins)
    if min(totals) < 0 or sum(totals) != info.positions or not 1 <= info.positions <= info.size:
        return False
    outcome, classes = columns.get(OUTCOME), columns.get(CLASSES)
    if outcome is None or outcome.bits not in CODES:
        return False
    for name, largest in ((REMOTENESS, info.longest_remoteness), (GRUNDY, info.largest_grundy)):
        column = columns.get(name)
        if column is None:
            fits = largest == -1
        else:
            # A position r plies from the end has r others on its way, and perhaps one outside the
            # index; one with Grundy value g has moves to g others.
            fits = 0 <= largest <= min(info.size, _LARGEST) and column.items == outcome.items
            # Whoever counts them makes room for as many: no solver of ours finds larger ones.
            fits = fits and (name != GRUNDY or largest < MOST_GRUNDY)
            fits = fits and column.bits == smallest_bits(largest)
        if not fits:
            return False
    if info.period and not _is_sound_period(Period.from_text(info.period), info):
        return False
    if classes is None:
        return outcome.items == info.size
    return classes.items == info.size and 1 <= outcome.items <= info.size + 1


def _is_sound_period(period: Period, info: TableInfo) -> bool:
    inside = period.period >= 1 and period.preperiod + period.period <= period.checked < info.size
    fits = info.positions == info.size and (info.longest_remoteness >= 0 or not period.plies)
    return inside and fits and info.solver == "heaps"


def canonical(value: object) -> bytes:
    """The one JSON text of a value: sorted keys, no spaces, ASCII."""
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode("ascii")


def table_digest(
    table: Attributes, columns: Mapping[str, Attributes], digests: Mapping[str, bytes]
) -> str:
    """The digest of a whole table: from all its attributes, those of each column, and chunk digests."""
    return digest_of(table, columns, (digests[name] for name in sorted(columns)))


def digest_of(table: Attributes, columns: Mapping[str, Attributes], digests: Iterable[bytes]) -> str:
    """The same from chunk digests in order, some at a time: columns in alphabetical order."""
    digest = hashlib.sha256(canonical({"table": table, "columns": columns}))
    for some in digests:
        digest.update(some)
    return digest.hexdigest()


def chunk_bytes(column: Column, table_bytes: int) -> int:
    """How many decoded bytes a chunk of a column holds in a table of `table_bytes` in all."""
    largest = CHUNK_BYTES_LARGE if table_bytes > LARGE_TABLE else CHUNK_BYTES
    return min(largest, column.nbytes)
