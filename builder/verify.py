"""Recheck a finished table from the rules alone.

Every record is compared with those after each move: `builder.checks` says how, and why the values of a
table that passes are right, whatever made it. Without remoteness that holds for games in which no
position can come again; of others the check refuses such tables. What the file says of itself, its
symmetry classes, its period and all its checksums are compared too.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import numpy as np

from builder.checks import heaps, moves, steps
from builder.checks.check import in_words
from builder.compile import Engine, Kernel, choose_engine, rule
from builder.limits import available_memory, require_memory
from builder.solvers.solution import silent, slices
from lookup.columns import read_items
from lookup.errors import VerificationError
from lookup.format import CLASSES, COLUMN_KINDS, Period, TableInfo, Totals
from lookup.games.heap_game import HeapGame
from lookup.games.step_game import StepGame
from lookup.reader import TableFile
from lookup.records import Layout, Palette, decode_records, decoded, decoded_bytes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from builder.checks.check import Check
    from builder.solvers.solution import Report
    from lookup.games.base import Game, IndexTest, SolverKind, Transform

LOOPY: tuple[SolverKind, ...] = ("retrograde", "distance")
"""Kinds of games in which a position can come again."""

_STEP_BYTES = 10  # what `checks.steps` keeps of an index
_SLICE, _COMPILED_SLICE = 1 << 12, 1 << 16  # indices between two reports


def memory_needed(game: Game, record_bytes: int) -> int:
    """Bytes that reading a table back and checking it takes at its peak."""
    kept = _STEP_BYTES if isinstance(game, StepGame) else 0
    return game.size * (3 * record_bytes + kept)


def verify_file(
    path: Path,
    engine: Engine | None = None,
    report: Report = silent,
    sample: Iterable[tuple[int, int]] | None = None,
) -> TableFile:
    """Check a table file, or of its records only the `sample` ranges; returns it, closed.

    Raises:
        VerificationError: a record, a class or the description contradicts the rules.
        BuildError: it does not fit in memory.
        TableFileError: the file cannot be read.
        MissingTableError: there is no such file.
    """
    file = TableFile(path)
    try:
        require_memory(
            memory_needed(file.game, decoded_bytes(file) // file.info.size),
            path.name,
            available_memory(),
        )
        engine = choose_engine(engine, file.game.work)
        records = decode_records(file)
        if CLASSES in file.columns:
            _check_classes(file, engine)
        ranges = [(0, file.info.size)] if sample is None else list(sample)
        if file.info.period:
            # Beyond these the period says it all, and it is compared with every record below.
            ranges = [(0, Period.from_text(file.info.period).checked + 1)]
        _check_records(file, records, engine, ranges, report)
        if file.info.period:
            period = Period.from_text(file.info.period)
            heaps.check_period(str(path), period, Layout.of(file), records)
        _check_description(file, records)
    finally:
        file.close()
    return file


def _check_records(
    file: TableFile,
    records: NDArray[np.unsignedinteger],
    engine: Engine,
    ranges: Sequence[tuple[int, int]],
    report: Report,
) -> None:
    """Compare the records in each range of indices with those of their successors."""
    layout, game = Layout.of(file), file.game
    if not layout.has_remoteness and game.solver in LOOPY:
        problem = "stores no remoteness, without which the outcomes of a game with loops prove nothing"
        raise VerificationError(f"'{file.path}' {problem}")
    if (missing := _lacks(game, layout)) is not None:
        raise VerificationError(f"'{file.path}' stores no {missing}, which a table of {game.name} has")
    check = _check_for(game, layout, records, engine)
    whole = [(0, game.size)] if check.prepare else []
    total = sum(high - low for low, high in (*whole, *ranges))
    done = 0
    if check.prepare:
        for done, _ in _in_threads(check.prepare, whole, engine):
            report(done, total)
    for more, bad in _in_threads(check.first_bad, ranges, engine):
        if bad >= 0:
            raise VerificationError(_explain(file, records, check, bad))
        report(done + more, total)


def _lacks(game: Game, layout: Layout) -> str | None:
    """A column that tables of such a game have, and this one has not."""
    single_heaps = isinstance(game, HeapGame) and game.parts == 1
    valued = isinstance(game, StepGame) and game.stores_values
    if not layout.has_grundy and (isinstance(game, HeapGame) or valued):
        return "Grundy values"
    return "remoteness" if not layout.has_remoteness and (single_heaps or valued) else None


def _check_for(
    game: Game, layout: Layout, records: NDArray[np.unsignedinteger], engine: Engine
) -> Check:
    if isinstance(game, HeapGame):
        return heaps.check(game, layout, records, engine)
    if isinstance(game, StepGame):
        return steps.check(game, layout, records, engine)
    return moves.check(game, layout, records, engine)


def _in_threads(
    work: Callable[[int, int], Any], ranges: Iterable[tuple[int, int]], engine: Engine
) -> Iterator[tuple[int, Any]]:
    """Work through ranges in stretches; yields how much is done, and what each stretch returned."""
    compiled = engine == Engine.NUMBA
    step = _COMPILED_SLICE if compiled else _SLICE
    parts = [part for low, high in ranges for part in slices(low, high, step)]
    done = 0
    # Compiled kernels run without the interpreter's lock, so threads use all cores.
    with ThreadPoolExecutor(os.cpu_count() if compiled else 1) as pool:
        try:
            for (low, high), result in zip(
                parts, pool.map(lambda part: work(*part), parts), strict=True
            ):
                done += high - low
                yield done, result
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def _check_description(file: TableFile, records: NDArray[np.unsignedinteger]) -> None:
    """Compare what the file says of itself with its game and its records."""
    layout = Layout.of(file)
    counts = np.zeros(4, np.int64)
    longest = largest = 0
    for low, high in slices(0, len(records), 1 << 22):
        values = decoded(records[low:high].copy(), layout)
        counts += np.bincount(values.outcome, minlength=4)
        longest = max(longest, -1 if values.remoteness is None else int(values.remoteness.max()))
        largest = max(largest, -1 if values.grundy is None else int(values.grundy.max()))
    losses, draws, wins = counts[1:].tolist()
    totals = Totals(
        (losses, draws, wins),
        longest if layout.has_remoteness else -1,
        largest if layout.has_grundy else -1,
        Period.from_text(file.info.period) if file.info.period else None,
    )
    right = TableInfo.describe(file.game, file.info.builder, totals)
    _compare(file, "it", file.info.attributes, right.attributes)
    for name, stored in file.columns.items():
        column = COLUMN_KINDS[name](stored.column.bits, stored.column.items)
        _compare(file, name, stored.column.attributes, column.attributes)


def _compare(file: TableFile, what: str, said: dict[str, Any], right: dict[str, Any]) -> None:
    for key, value in right.items():
        if said[key] != value:
            claim = f"'{file.path}' says of {what} that {key} is {said[key]!r}"
            raise VerificationError(f"{claim}, but it is {value!r}")


def _check_classes(file: TableFile, engine: Engine) -> None:
    """Compare the stored classes with the orbits of the game's symmetries."""
    game, classes = file.game, read_items(file, CLASSES)
    smallest = np.zeros(game.size, np.int64)
    _smallest_images(engine)(
        rule(game.is_position, engine), rule(game.transform, engine), game.symmetries, smallest
    )
    positions = smallest >= 0
    expected = np.zeros(game.size, np.int64)
    expected[positions] = np.unique(smallest[positions], return_inverse=True)[1] + 1
    wrong = np.flatnonzero(classes != expected)
    if len(wrong):
        index = int(wrong[0])
        raise VerificationError(
            f"'{file.path}' puts index {index} into class {classes[index]}, but the symmetries of "
            f"{game.name} put it into class {expected[index]}"
        )


def _explain(file: TableFile, records: NDArray[np.unsignedinteger], check: Check, index: int) -> str:
    """What a record says, and what it should say."""
    game, layout = file.game, Layout.of(file)
    said = Palette(layout)[int(records[index])] or "not a position"
    text = f" ({game.format(index)!r})" if game.is_position(index) else ""
    truth = in_words(layout, check.expected(index))
    return f"'{file.path}' says that index {index}{text} is a {said}, but {truth}"


@Kernel
def _smallest_images(
    is_position: IndexTest, transform: Transform, symmetries: int, smallest: NDArray[np.int64]
) -> None:
    """The smallest index that symmetries make of each index; -1 for what is not a position."""
    for index in range(len(smallest)):
        smallest[index] = -1
        if is_position(index):
            least = index
            for k in range(symmetries):
                least = min(least, transform(index, k))
            smallest[index] = least
