"""Recheck a finished table from the rules alone.

Every record, or those of a random sample, is compared with those after each move: `builder.checks` says
how, and why the values of a table that passes are right, whatever made it. Without remoteness that
holds for games in which no position can come again; of others the check refuses such tables. What the
file says of itself, its symmetry classes, its period and all its checksums are compared too.

Records are decoded whole if that fits in memory, and otherwise read through a cache of chunks.
"""

from __future__ import annotations

import random
from itertools import starmap
from typing import TYPE_CHECKING, Any, NamedTuple

from builder.checks import classes, grundy, masks, moves, period, steps, totals
from builder.checks.check import STRETCH, in_words
from builder.compile import Engine
from builder.fallback import engine_for
from builder.limits import require_memory, usable_memory
from builder.solvers.solution import slices
from builder.workers import Steps, Workers, cores
from lookup.blocks import dtype_of
from lookup.errors import InvalidParameterError, MissingGameError, VerificationError, quoted
from lookup.folder import open_reader
from lookup.format import (
    CHUNK_BYTES,
    CHUNK_BYTES_LARGE,
    CLASSES,
    COLUMN_KINDS,
    Period,
    TableInfo,
    Totals,
)
from lookup.games.mask_game import MaskGame
from lookup.games.step_game import StepGame
from lookup.games.unknown import UnknownGame
from lookup.progress import silent
from lookup.records import (
    DECODED_LIMIT,
    ChunkedRecords,
    Layout,
    Palette,
    decode_records,
    decoded_bytes,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from builder.checks.check import Check, Wrong
    from lookup.claims import Rules
    from lookup.games.base import Game, SolverKind
    from lookup.progress import Report
    from lookup.reader import TableReader

LOOPY: tuple[SolverKind, ...] = ("retrograde", "distance")
"""Kinds of games in which a position can come again."""

WHOLE = {Engine.NUMBA: 1 << 26, Engine.PYTHON: 1 << 20}
"""Tables of up to this `Game.work` are checked whole, even in brief."""

WHOLE_BY_WORDS = {Engine.NUMBA: 1 << 36, Engine.PYTHON: 1 << 30}
"""The same for tables that `checks.masks` checks, 64 positions at a time."""

SAMPLED = {Engine.NUMBA: 1 << 22, Engine.PYTHON: 1 << 17}
"""The `Game.work` that is checked of others in brief."""

_LONGEST_STRETCH, _FEWEST_STRETCHES = 1024, 64  # of a sample
_OBJECTS = 1 << 19  # bytes of an open file, of threads and all that has no size of its own
_FACTS = 320  # bytes that an open file keeps for each chunk, measured
_CHUNK = 16  # bytes for each byte of a chunk while it is decoded
_COMPARED = 12  # bytes for each index while records are compared
_PLACE = 64  # bytes for each successor while records are not all in memory, measured
_LEAST_ROOM, _BEST_ROOM = 1 << 14, 1 << 18  # successors that are looked up at a time
_LEAST_CACHE = 4 * CHUNK_BYTES
_STEP_BYTES = 10  # what `checks.steps` keeps of an index


class Verified(NamedTuple):
    """A table that agrees with the rules: its file, closed, and how many indices were checked."""

    file: TableReader
    checked: int

    @property
    def info(self) -> TableInfo:
        """What the table says of itself."""
        return self.file.info


def verify_file(
    path: Path,
    engine: Engine | None = None,
    report: Report = silent,
    sample: int | None = None,
    seed: int = 0,
    memory: int | None = None,
    *,
    rules: Rules | None = None,
    recount: bool = True,
    brief: bool = False,
) -> Verified:
    """Check a table file in so many bytes of memory; by default, in what can be spared.

    `rules` are those of its game, if it is neither ours nor installed.

    With a `sample`, about so many positions are checked, in random stretches that `seed` chooses; with
    `brief`, a sample of large tables. Tables with a period are checked as far as it asks for in any
    case. Without `recount` the totals are believed, and chunks that nothing else needs are not read.

    Raises:
        VerificationError: a record, a class or the description contradicts the rules.
        BuildError: it does not fit in memory.
        TableFileError: the file cannot be read.
        MissingTableError: there is no such file.
        InvalidParameterError: the sample is not a positive number.
        MissingGameError: its rules are not known here.
    """
    if sample is not None and sample < 1:
        raise InvalidParameterError("sample", sample, "1 position or more")
    file = open_reader(path, rules)
    try:
        if isinstance(file.game, UnknownGame):
            raise MissingGameError(file.info.game, "to verify a table")
        engine = engine_for(file.game, engine)
        check_columns(file)
        memory = usable_memory() if memory is None else memory
        if brief and sample is None:
            sample = _sample_size(file, engine, memory)
        known = Layout.of(file).dtype.itemsize, file.known_chunks
        require_memory(memory_needed(file.game, *known), path.name, memory)
        memory -= _reading_bytes(file.game, *known)
        file.check_digest()
        with Workers() as workers:
            if CLASSES in file.columns:
                classes.check(file, engine)
            check = _check_for(file, engine, workers, memory, sampled=sample is not None)
            ranges = _ranges(file, check, sample, seed)
            checked = _check_all(file, check, ranges, engine, workers, report, recount)
    finally:
        file.close()
    return Verified(file, checked)


def _check_all(
    file: TableReader,
    check: Check,
    ranges: Sequence[tuple[int, int]],
    engine: Engine,
    workers: Workers,
    report: Report,
    recount: bool,
) -> int:
    """Check records, period and description; returns how many records."""
    size, checked = file.info.size, sum(high - low for low, high in ranges)
    counted = check.totals if checked == size else None
    to_count = totals.steps(file) if recount and counted is None else 0
    done = Steps(report, checked + to_count + (size if check.prepare else 0))
    _check_records(file, check, ranges, workers if engine == Engine.NUMBA else None, done)
    if file.info.period:
        period.check(file)
    if counted is not None:
        _check_description(file, counted())
    elif recount:
        _check_description(file, totals.recount(file, workers, done))
    else:
        _check_description(file, _claimed_totals(file))
    return checked


def _check_records(
    file: TableReader,
    check: Check,
    ranges: Sequence[tuple[int, int]],
    workers: Workers | None,
    done: Steps,
) -> None:
    """Compare the records in each range of indices with those of their successors."""
    parallel = workers.in_order if workers and check.parallel else starmap

    def stretches() -> Iterator[tuple[int, int]]:
        return (part for low, high in ranges for part in slices(low, high, check.stretch))

    if check.prepare:
        whole = list(slices(0, file.info.size, check.stretch))
        for (low, high), _ in zip(whole, parallel(check.prepare, whole), strict=True):
            done.add(high - low)
    for (low, high), wrong in zip(stretches(), parallel(check.first_wrong, stretches()), strict=True):
        if wrong:
            raise VerificationError(_explain(file, wrong))
        done.add(high - low)


def _check_for(
    file: TableReader, engine: Engine, workers: Workers, memory: int, sampled: bool
) -> Check:
    """The check of this kind of table; with records as they fit into so many bytes."""
    game, layout = file.game, Layout.of(file)
    if game.solver == "grundy":
        grundy.require_ends(game, engine)
    if game.solver in ("heaps", "grundy"):
        return grundy.check(game, layout, decode_records(file), engine)
    if isinstance(game, StepGame):
        return steps.check(game, layout, decode_records(file), engine)
    if masks.applies_to(file):
        return masks.check(file, engine, workers, memory, sampled)
    # Of a large table a sample needs little, and decoding all of it would take longer.
    in_chunks = sampled and decoded_bytes(file) > DECODED_LIMIT and _chunked_bytes(game) <= memory
    if _decoding_bytes(file) <= memory and not in_chunks:
        return moves.check(game, layout, decode_records(file), engine)
    room = memory // 4 // cores() // _PLACE
    room = max(_LEAST_ROOM, game.max_moves, min(room, _BEST_ROOM))
    records = ChunkedRecords(file, memory - cores() * room * _PLACE)
    return moves.check(game, layout, records, engine, room)


# --- samples --------------------------------------------------------------------------------------


def _sample_size(file: TableReader, engine: Engine, memory: int) -> int | None:
    """How many indices are checked in brief; None for all.

    Words are checked as quickly only if all of them are in memory, as they are where they were solved.
    """
    game, by_words = file.game, masks.applies_to(file) and file.game.size // 8 <= memory
    if game.work <= (WHOLE_BY_WORDS if by_words else WHOLE)[engine]:
        return None
    return max(1, SAMPLED[engine] * game.size // game.work)


def _ranges(file: TableReader, check: Check, sample: int | None, seed: int) -> list[tuple[int, int]]:
    """The ranges of indices to check: all of them, or random ones."""
    size = file.info.size
    if file.info.period:
        # Beyond these the period says it all, and every record is compared with it.
        return [(0, Period.from_text(file.info.period).checked + 1)]
    if sample is None:
        return [(0, size)]
    stretch = max(1, min(_LONGEST_STRETCH, sample // _FEWEST_STRETCHES))
    stretch = -(-stretch // check.grain) * check.grain
    places = range(0, size, stretch)
    count = min(len(places), -(-sample // stretch))
    starts = random.Random(seed).sample(places, count)  # noqa: S311 - not a secret
    return [(start, min(start + stretch, size)) for start in sorted(starts)]


# --- memory ---------------------------------------------------------------------------------------


def memory_needed(game: Game, record_bytes: int, chunks: int | None = None) -> int:
    """The least bytes that verifying a table with such records takes, without those of numba.

    A bound that is closer if `TableReader.known_chunks` is given.
    """
    # Items of all columns, two copies of one while its chunks are joined, and two of the records.
    whole = game.size * (6 * record_bytes + 1 + (12 if game.symmetries > 1 else 0))
    if isinstance(game, StepGame):
        least = whole + game.size * _STEP_BYTES
    elif game.solver in ("heaps", "grundy"):
        least = whole + game.size
    else:
        least = min(whole, _chunked_bytes(game))
    if isinstance(game, MaskGame):
        least = max(least, masks.memory_needed(game, cores()))
    return _reading_bytes(game, record_bytes, chunks) + least


def _reading_bytes(game: Game, record_bytes: int, chunks: int | None) -> int:
    """What every check takes: an open file, chunks while they are decoded and counted, classes."""
    symmetric = game.symmetries > 1
    column = game.size * max(record_bytes, 4 if symmetric else 1)
    if chunks is None:
        chunks = 4 + 3 * column // CHUNK_BYTES_LARGE
    decoded = _CHUNK * min(column, cores() * CHUNK_BYTES)
    compared = _COMPARED * min(game.size, cores() * max(STRETCH.values()))
    listed = 16 * cores() * game.max_moves * game.parts
    if symmetric:
        decoded += 17 * min(game.size, cores() * CHUNK_BYTES * 8) + 20 * game.size
    return _OBJECTS + _FACTS * chunks + decoded + compared + listed


def _decoding_bytes(file: TableReader) -> int:
    """What decoding all records takes at its peak."""
    columns = [stored.column for stored in file.columns.values()]
    items = sum(column.items * dtype_of(column.bits).itemsize for column in columns)
    return items + 2 * max(column.nbytes for column in columns) + 2 * decoded_bytes(file)


def _chunked_bytes(game: Game) -> int:
    """The least that records take which are read as they are needed."""
    return _LEAST_CACHE + cores() * max(_LEAST_ROOM, game.max_moves) * _PLACE


# --- what the file says of itself -----------------------------------------------------------------


def check_columns(file: TableReader) -> None:
    """Refuse tables that lack what a proof needs."""
    layout, game = Layout.of(file), file.game
    if not layout.has_remoteness and game.solver in LOOPY:
        problem = "stores no remoteness, without which the outcomes of a game with loops prove nothing"
        raise VerificationError(f"'{file.path}' {problem}")
    if (missing := _lacks(game, layout)) is not None:
        raise VerificationError(f"'{file.path}' stores no {missing}, which a table of {game.name} has")


def _lacks(game: Game, layout: Layout) -> str | None:
    """A column that tables of such a game have, and this one has not."""
    if not game.stores_grundy:
        return None
    if not layout.has_grundy:
        return "Grundy values"
    return "remoteness" if game.stores_remoteness and not layout.has_remoteness else None


def _claimed_totals(file: TableReader) -> Totals:
    """What the file says of its records in all."""
    info = file.info
    period = Period.from_text(info.period) if info.period else None
    counts = info.losses, info.draws, info.wins
    return Totals(counts, info.longest_remoteness, info.largest_grundy, period)


def _check_description(file: TableReader, found: Totals) -> None:
    """Compare what the file says of itself with its game and with the totals of its records."""
    right = TableInfo.describe(file.game, file.info.builder, found)
    _compare(file, "it", file.info.attributes, right.attributes)
    for name, stored in file.columns.items():
        column = COLUMN_KINDS[name](stored.column.bits, stored.column.items)
        _compare(file, name, stored.column.attributes, column.attributes)


def _compare(file: TableReader, what: str, said: dict[str, Any], right: dict[str, Any]) -> None:
    for key, value in right.items():
        if said[key] != value:
            claim = f"'{file.path}' says of {what} that {key} is {quoted(said[key])}"
            raise VerificationError(f"{claim}, but it is {quoted(value)}")


def _explain(file: TableReader, wrong: Wrong) -> str:
    """What a record says, and what it should say."""
    game, layout, index = file.game, Layout.of(file), wrong.at
    said = Palette(layout)[wrong.stored] or "not a position"
    text = f" ({game.format(index)!r})" if game.is_position(index) else ""
    truth = in_words(layout, wrong.expected)
    return f"'{file.path}' says that index {index}{text} is a {said}, but {truth}"
