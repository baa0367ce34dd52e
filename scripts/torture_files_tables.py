"""One small table of each kind, and what is right about it; a judge of files that may be damaged."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple
from unittest.mock import patch

import numpy as np
from torture_children import Ending

import lookup
from builder import writer
from builder.build import build_table
from builder.compile import Engine
from builder.solvers.solution import PackedColumn
from builder.verify import verify_file
from builder.writer import write_table
from lookup import CorruptTableError, Game, Outcome, UnknownGame, records
from lookup.errors import (
    EndtableError,
    FormatVersionError,
    InvalidGameError,
    MissingGameError,
    NotATableError,
    RulesChangedError,
    TableFileError,
    VerificationError,
)
from lookup.format import LARGE_TABLE, OUTCOME, Column, TableInfo
from lookup.games.sticks_heaps import SticksRun
from lookup.reader import TableFile

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from lookup import Table, Value, Values

RIGHT = "right answers"
LONGEST_MESSAGE = 1000
_ACCIDENTS = (CorruptTableError, NotATableError, FormatVersionError)
_FORGERIES = (RulesChangedError, InvalidGameError)  # true of a file that says so, digests and all


class Duel(Game):
    """Two pieces on a strip of eight cells. A move is one or two steps; whoever is hit has lost.

    A small game with all that makes tables large: positions come again, some are drawn, there are holes
    in the index, and the mirror makes classes.
    """

    name = "duel"
    size = 65
    start = 7
    max_moves = 4
    symmetries = 2

    def successors(self, index: int, out: Any) -> int:
        """Steps of the mover's piece, the high digit; then the other is to move."""
        mine, other = divmod(index, 8)
        count = 0
        for step in (-2, -1, 1, 2):
            there = mine + step
            if 0 <= there < 8:
                out[count] = 64 if there == other else other * 8 + there
                count += 1
        return count

    def terminal(self, index: int) -> int:
        """The last index: the mover has been hit."""
        return 1 if index == 64 else 0

    def is_position(self, index: int) -> int:
        """Two pieces are on two cells."""
        return 1 if index == 64 or index // 8 != index % 8 else 0

    def transform(self, index: int, k: int) -> int:
        """The mirror."""
        return index if k == 0 or index == 64 else 63 - index


class Place(NamedTuple):
    """Where a chunk is stored."""

    column: str
    number: int
    address: int
    size: int


class Sample(NamedTuple):
    """A table: its file, the rules to open it with, and what it says if it is right."""

    kind: str
    data: bytes
    rules: type[Game] | None
    info: TableInfo
    values: Values
    scalars: dict[int, Value | None]
    moves: list[Any]
    line: list[Any]

    @property
    def is_known(self) -> bool:
        """Whether its rules are at hand."""
        return self.rules is not UnknownGame


class Judge:
    """Opens files that were a sample's once, and says how that ended.

    What a splice made of it may be one of the `others`, whole.
    """

    def __init__(self, sample: Sample, others: Sequence[Sample] = (), *, forged: bool = False) -> None:
        self.sample, self.others, self.forged = sample, others, forged

    def ending(self, path: Path) -> Ending:
        """Open a file decoded whole and chunk by chunk, and compare all that it answers."""
        whole, chunked = self._opened(path, records.DECODED_LIMIT), self._opened(path, 0)
        if whole.problem:
            return whole
        if chunked.problem or chunked.name == whole.name:
            return chunked
        if RIGHT in (whole.name, chunked.name) and not self.forged:
            return Ending("disagreement", f"{whole.name} whole, {chunked.name} by chunks")
        return whole

    def _opened(self, path: Path, limit: int) -> Ending:
        sample = self.sample
        try:
            with (
                patch.object(records, "DECODED_LIMIT", limit),
                lookup.open_table(path, game=sample.rules) as table,
            ):
                wrong = difference(table, sample)
                if not wrong:
                    return Ending(RIGHT)
                if any(not difference(table, other) for other in self.others):
                    return Ending("right answers, of another table")
                if self.forged and _claims_less(table, sample):
                    return Ending("forged: a period is not claimed any more")
                if not self.forged:
                    return Ending("wrong", wrong)
        except TableFileError as error:
            allowed = _ACCIDENTS + (_FORGERIES if self.forged else ())
            return refusal(error, path, isinstance(error, allowed))
        except EndtableError as error:
            return refusal(error, path, self.forged and isinstance(error, _FORGERIES))
        except Exception as error:  # noqa: BLE001 - just what is looked for
            return Ending("exception", f"{type(error).__name__}: {error}")
        return self._verified(path, wrong) if sample.is_known else Ending("forged: nobody can know")

    def _verified(self, path: Path, wrong: str) -> Ending:
        """A forger's values: whoever knows the rules can refuse them."""
        try:
            verify_file(path, Engine.PYTHON, rules=self.sample.rules)
        except (VerificationError, TableFileError) as error:
            checked = refusal(error, path, allowed=True)
            return checked if checked.problem else Ending("forged: refused by verify")
        except MissingGameError:
            return Ending("forged: a game that is not known")
        except Exception as error:  # noqa: BLE001
            return Ending("exception of verify", f"{type(error).__name__}: {error}")
        if wrong == "builder":
            return Ending("forged: nobody can know")  # the name of whoever built it
        return Ending("verify believes it", wrong)


def refusal(error: EndtableError, path: Path, allowed: bool) -> Ending:
    """The ending of a file that was refused: by the class of the error, if its message is sound."""
    name, words = type(error).__name__, str(error)
    is_named = f"'{path}'" in words or f"'{path}/" in words  # a part of a folder
    sound = words.isprintable() and len(words) < LONGEST_MESSAGE and is_named
    if not allowed or not sound or words.endswith("is damaged: "):
        return Ending("bad refusal", f"{name}: {words[:LONGEST_MESSAGE]!r}")
    return Ending(name)


def _claims_less(table: Table, sample: Sample) -> bool:
    """Whether a table is right in all it says, and only does not claim a period."""
    inside = {index: value for index, value in sample.scalars.items() if index < sample.info.size}
    without = sample._replace(info=sample.info._replace(period=""), scalars=inside)
    return bool(sample.info.period) and not difference(table, without)


def difference(table: Table, sample: Sample) -> str:
    """What a table says other than it should; empty if it is right."""
    if table.info != sample.info:
        pairs = zip(table.info._fields, table.info, sample.info, strict=True)
        return next(name for name, found, right in pairs if found != right)
    if any(table_value(table, index) != right for index, right in sample.scalars.items()):
        return "a value"
    values = table.probe_many(np.arange(sample.info.size))
    for name, found, right in zip(values._fields, values, sample.values, strict=True):
        if (found is None) != (right is None) or (found is not None and (found != right).any()):
            return name
    if table.is_in_memory and (moves(table), line(table)) != (sample.moves, sample.line):
        return "moves"
    return ""


def table_value(table: Table, index: int) -> Value | None:
    """The value of an index; None if it is not a position."""
    try:
        return table.probe_index(index)
    except lookup.InvalidPositionError:
        return None


def moves(table: Table) -> list[Any]:
    """The moves at the start, if the rules are known."""
    known = not isinstance(table.game, UnknownGame)
    return table.moves(table.game.format(table.game.start)) if known else []


def line(table: Table) -> list[Any]:
    """Best play from the start, if the rules are known and it ends."""
    start = moves(table)
    ends = start and start[0].value.outcome is not Outcome.DRAW
    return table.line() if ends else []


# --- building them -----------------------------------------------------------------------------------


def samples(folder: Path, wanted: Sequence[str] | None = None) -> list[Sample]:
    """The tables of the campaign, built in a folder; those of some kinds, if told."""
    duel = Duel
    kinds: list[tuple[str, Game, int, type[Game] | None]] = [
        ("mask", lookup.find_game("tactics-3x3"), 32, None),
        ("retrograde", lookup.find_game("rota"), 4096, None),
        ("retrograde, own game", duel(), 16, duel),
        ("retrograde, unknown game", duel(), 16, UnknownGame),
        ("ordered", lookup.find_game("winners-losers-6"), 16, None),
        ("grundy", lookup.find_game("kayles-18"), 4, None),
        ("distance", lookup.find_game("clock-3-2"), 8, None),
        ("heaps with a period", lookup.find_game("sticks-any-1-3"), 32, None),
        ("heaps, sums", SticksRun(1, 2, 20), 4, None),
        ("steps", lookup.find_game("sticks-special-8"), 16, None),
    ]
    found = []
    for kind, game, chunk, rules in kinds:
        if wanted is not None and kind not in wanted:
            continue
        path = build_table(game, folder, engine=Engine.PYTHON).path
        small = rechunked(path, folder / f"small-{path.name}", chunk)
        found.append(sample(kind, small, rules))
        if not game.is_ours():
            # It takes longer than all the rest of opening a table, and classes stay as they are here.
            type(game).rules_digest = staticmethod(partial(str, game.rules_digest()))  # type: ignore[method-assign]
        if kind == "mask":
            bare = rechunked(path, folder / f"bare-{path.name}", chunk, only_outcomes=True)
            found.append(sample("mask, outcomes alone", bare, None))
    return found


def rechunked(source: Path, target: Path, chunk_bytes: int, *, only_outcomes: bool = False) -> Path:
    """A copy of a table in small chunks, so that it has several; of its outcomes alone, if told."""
    file = TableFile(source, UnknownGame if "duel" in source.name else None)
    info, columns = file.info, []
    for name, stored in file.columns.items():
        data = file.read_elements(name, 0, stored.count)[: stored.column.length]
        if name == OUTCOME or not only_outcomes:
            columns.append(PackedColumn(stored.column, data))
    file.close()
    if only_outcomes:
        info = info._replace(longest_remoteness=-1, largest_grundy=-1)
    write(target, info, columns, chunk_bytes)
    return target


def write(path: Path, info: TableInfo, columns: list[PackedColumn], chunk_bytes: int) -> None:
    """A table in small chunks, whatever it says."""

    def smaller(column: Column, _: int) -> int:
        return min(chunk_bytes, column.nbytes)

    with (
        patch.object(writer, "chunk_bytes", smaller),
        patch.object(writer, "LEVELS", ((LARGE_TABLE, 3),)),
    ):
        write_table(path, info, columns)


def sample(kind: str, path: Path, rules: type[Game] | None) -> Sample:
    """What a whole table says."""
    with lookup.open_table(path, game=rules) as table:
        size = table.info.size
        some = {int(index) for index in np.linspace(0, size - 1, 7)}
        if table.info.period:
            some |= {size, size + 1, 10**9 + 7}
        return Sample(
            kind=kind,
            data=path.read_bytes(),
            rules=rules,
            info=table.info,
            values=table.probe_many(np.arange(size)),
            scalars={index: table_value(table, index) for index in sorted(some)},
            moves=moves(table),
            line=line(table),
        )


def stored_chunks(path: Path, rules: type[Game] | None) -> Iterator[Place]:
    """The places of all chunks of a file."""
    file = TableFile(path, rules)
    file.close()
    for name, stored in file.columns.items():
        for number, (at, size) in enumerate(zip(stored.offsets, stored.sizes, strict=True)):
            yield Place(name, number, at, size)
