"""Recheck a finished table from the rules alone.

Every index is compared with its successors: a win in r has a lost successor in r - 1 and none in
less, a loss in r has only won successors, the slowest in r - 1, a draw has a drawn successor and no
lost one. Remoteness falls along these proofs, so wins and losses follow by induction; from a draw the
mover can always move to a draw and never has a win. So the values of a table that passes are right,
whatever made it. Without remoteness the same holds for games in which no position can come again;
for others the check refuses such tables. What the file says of itself, its symmetry classes and all
its checksums are compared too.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import numpy as np

from builder.compile import Engine, Kernel, choose_engine, rule
from builder.limits import require_memory
from builder.solvers.solution import silent
from lookup.columns import read_items
from lookup.errors import VerificationError
from lookup.format import CLASSES, COLUMN_KINDS, REMOTENESS, TableInfo
from lookup.reader import TableFile
from lookup.records import Palette, decode_records, decoded_bytes
from lookup.values import Outcome

if TYPE_CHECKING:
    from collections.abc import Iterable, MutableSequence, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from builder.solvers.solution import Report
    from lookup.games.base import IndexTest, Neighbours, Transform

# Compiled code knows no enums.
LOSS, DRAW, WIN = int(Outcome.LOSS), int(Outcome.DRAW), int(Outcome.WIN)
CONTRADICTION = -1
ACYCLIC = ("mask",)
"""Kinds of games in which no position can come again."""

_SLICE, _COMPILED_SLICE = 1 << 12, 1 << 16  # indices between two reports


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
        require_memory(2 * decoded_bytes(file), path.name)
        engine = choose_engine(engine, file.info.size)
        records = decode_records(file)
        if CLASSES in file.columns:
            _check_classes(file, engine)
        ranges = [(0, file.info.size)] if sample is None else list(sample)
        _check_records(file, records, engine, ranges, report)
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
    if REMOTENESS not in file.columns and file.game.solver not in ACYCLIC:
        problem = "stores no remoteness, without which the outcomes of a game with loops prove nothing"
        raise VerificationError(f"'{file.path}' {problem}")
    game, numba = file.game, engine == Engine.NUMBA
    successors, terminal = rule(game.successors, engine), rule(game.terminal, engine)
    is_position = rule(game.is_position, engine)
    # Interpreted code is several times faster with builtin sequences than with numpy arrays.
    stored = records if numba else records.data
    with_remoteness = REMOTENESS in file.columns

    def room() -> Any:
        return np.zeros(game.max_moves, np.int64) if numba else [0] * game.max_moves

    kernel = _first_bad(engine)

    def first_bad(part: tuple[int, int]) -> int:
        bad: int = kernel(successors, terminal, is_position, stored, with_remoteness, *part, room())
        return bad

    step = _COMPILED_SLICE if numba else _SLICE
    parts = [(low, min(low + step, end)) for begin, end in ranges for low in range(begin, end, step)]
    total, done = sum(high - low for low, high in parts), 0
    # Compiled kernels run without the interpreter's lock, so threads use all cores.
    with ThreadPoolExecutor(os.cpu_count() if numba else 1) as pool:
        for (low, high), bad in zip(parts, pool.map(first_bad, parts), strict=True):
            if bad >= 0:
                pool.shutdown(wait=False, cancel_futures=True)
                raise VerificationError(_explain(file, records, bad))
            done += high - low
            report(done, total)


def _check_description(file: TableFile, records: NDArray[np.unsignedinteger]) -> None:
    """Compare what the file says of itself with its game and its records."""
    counts = np.zeros(4, np.int64)
    longest = 0
    for low in range(0, len(records), 1 << 22):
        part = records[low : low + (1 << 22)]
        counts += np.bincount(part & part.dtype.type(3), minlength=4)
        longest = max(longest, int(part.max()) >> 2)
    losses, draws, wins = counts[1:].tolist()
    longest = longest if REMOTENESS in file.columns else -1
    right = TableInfo.describe(file.game, file.info.builder, (losses, draws, wins), longest)
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


def _explain(file: TableFile, records: NDArray[np.unsignedinteger], index: int) -> str:
    """What a record says, and what it should say."""
    game, with_remoteness = file.game, REMOTENESS in file.columns
    # The plain functions on plain integers: narrow numpy numbers would overflow.
    expected = _expected(
        game.successors,
        game.terminal,
        game.is_position,
        records.data,
        with_remoteness,
        index,
        [0] * game.max_moves,
    )
    palette = Palette(with_remoteness)
    said = palette[int(records[index])] or "not a position"
    if expected == CONTRADICTION:
        truth = "one of its moves leads to what the table does not call a position"
    elif not expected:
        truth = "by the rules it is not a position"
    else:
        truth = f"by the rules and its successors it is a {palette[expected]}"
    text = f" ({game.format(index)!r})" if game.is_position(index) else ""
    return f"'{file.path}' says that index {index}{text} is a {said}, but {truth}"


# --- kernels --------------------------------------------------------------------------------------


@Kernel
def _first_bad(
    successors: Neighbours,
    terminal: IndexTest,
    is_position: IndexTest,
    records: Sequence[int] | NDArray[np.unsignedinteger],
    with_remoteness: bool,
    low: int,
    high: int,
    out: MutableSequence[int],
) -> int:
    """The first index whose record is not what the rules and its successors make of it, or -1."""
    for index in range(low, high):
        if records[index] != _expected(
            successors, terminal, is_position, records, with_remoteness, index, out
        ):
            return index
    return -1


def _expected(
    successors: Neighbours,
    terminal: IndexTest,
    is_position: IndexTest,
    records: Sequence[int] | NDArray[np.unsignedinteger],
    with_remoteness: bool,
    index: int,
    out: MutableSequence[int],
) -> int:
    """The record that an index must have if those of its successors are right."""
    if is_position(index) == 0:
        return 0
    end = terminal(index)
    if end:
        return end
    quickest = slowest = -1
    drawn = False
    for at in range(successors(index, out)):
        after = records[out[at]] + 0  # to numba, a sum of unsigned and signed is signed, and wide
        outcome, remoteness = after & 3, after >> 2
        if outcome == LOSS:
            quickest = remoteness if quickest < 0 else min(quickest, remoteness)
        elif outcome == WIN:
            slowest = max(slowest, remoteness)
        elif outcome == DRAW:
            drawn = True
        else:
            return CONTRADICTION
    if quickest < 0 and drawn:
        return DRAW
    outcome, remoteness = (WIN, quickest + 1) if quickest >= 0 else (LOSS, slowest + 1)
    return int(remoteness << 2 | outcome) if with_remoteness else outcome


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
