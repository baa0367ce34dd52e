"""A whole table for other tools: rows as CSV or JSON, arrays for numpy, a graph for Graphviz.

    csv    a header, then a row for each position; empty where nothing is stored
    json   {"table", "game", "parameters", "positions": [{...}, ...]}; null where nothing is stored
    npz    arrays `index`, `outcome` (codes) and, if stored, `remoteness` (0 for a draw) and `grundy`
    dot    positions as nodes, moves as edges; of small games only

All but `dot` go through the table in stretches: memory is bounded, however large it is. Indices that
are not positions are left out.
"""

from __future__ import annotations

import csv
import json
from contextlib import contextmanager
from enum import StrEnum
from typing import TYPE_CHECKING, Any, TypeAlias
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

import numpy as np

from lookup.atomic import put_in_place, temporary_beside
from lookup.errors import CallerError, CorruptTableError, FailureError, InvalidParameterError
from lookup.progress import silent
from lookup.values import Outcome

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from typing import IO, TextIO

    from numpy.typing import NDArray

    from lookup.progress import Report
    from lookup.table import Table

MOST_DRAWN = 5000
"""Positions of the largest game that is drawn as a graph: Graphviz would not lay out more."""

ROWS_AT_ONCE = 1 << 14
"""Rows that exist as Python's numbers at a time; a stretch of a table holds millions."""

COLOURS = {Outcome.WIN: "palegreen", Outcome.DRAW: "lightgrey", Outcome.LOSS: "lightpink"}


class Format(StrEnum):
    """What a table can be exported to."""

    CSV = "csv"
    JSON = "json"
    NPZ = "npz"
    DOT = "dot"


COLUMNS = ("index", "position", "outcome", "remoteness", "grundy")
Row: TypeAlias = tuple[int, str | None, str, int | None, int | None]
"""One position; None where a table does not store it, and for the remoteness of a draw."""


def rows(table: Table, *, text: bool = True, report: Report = silent) -> Iterator[Row]:
    """The positions of a table in the order of their indices; without their texts, if not wanted."""
    words = [str(outcome) for outcome in Outcome]
    size, draw = table.info.size, str(Outcome.DRAW)
    for first, values in table.scan():
        for low in range(0, len(values.outcome), ROWS_AT_ONCE):
            outcomes, remoteness, grundy = (
                None if column is None else column[low : low + ROWS_AT_ONCE].tolist()
                for column in values
            )
            assert outcomes is not None
            for at, code in enumerate(outcomes):
                if code:
                    index, outcome = first + low + at, words[code]
                    yield (
                        index,
                        table.game.format(index) if text else None,
                        outcome,
                        remoteness[at] if remoteness and outcome != draw else None,
                        grundy[at] if grundy else None,
                    )
            report(first + low + len(outcomes), size)


def export_text(
    table: Table, to: Format, file: TextIO, *, text: bool = True, report: Report = silent
) -> None:
    """Write a table to an open text file.

    Raises:
        CallerError: the format is not text, or the table cannot be drawn as a graph.
    """
    match to:
        case Format.CSV:
            _write_csv(table, file, text, report)
        case Format.JSON:
            _write_json(table, file, text, report)
        case Format.DOT:
            _write_dot(table, file)
        case Format.NPZ:
            raise CallerError("'npz' cannot go to standard output: expected --output FILE")


def export_file(
    table: Table, to: Format, path: Path, *, text: bool = True, report: Report = silent
) -> None:
    """Write a table to a file, which appears when it is whole; an older one is kept until then.

    Raises:
        CallerError: the path cannot be that of an export, or the table cannot be drawn as a graph.
        FailureError: the file cannot be written.
    """
    with _failures(f"'{path}'"):
        if not path.parent.is_dir():
            raise InvalidParameterError("output", str(path), "a file in a folder that is there")
        # What is no file, such as /dev/null, must not be replaced by one.
        if path.exists() and (not path.is_file() or path.samefile(table.path)):
            raise InvalidParameterError("output", str(path), "a file that is not the table's")
        with temporary_beside(path) as temporary:
            if to is Format.NPZ:
                _write_npz(table, temporary, report)
            else:
                with temporary.open("w", encoding="utf-8", newline="\n") as file:
                    export_text(table, to, file, text=text, report=report)
            put_in_place(temporary, path)


def export_descriptor(
    table: Table, to: Format, descriptor: int, *, text: bool = True, report: Report = silent
) -> None:
    """Write a table to an open file descriptor, such as that of standard output.

    Raises:
        CallerError: the format is not text, or the table cannot be drawn as a graph.
        BrokenPipeError: whoever read it has gone.
        FailureError: it cannot be written.
    """
    # A buffer of our own: what it still holds after a failure is not written once more at the exit.
    with (
        _failures("standard output"),
        open(descriptor, "w", encoding="utf-8", newline="\n", closefd=False) as file,
    ):
        export_text(table, to, file, text=text, report=report)


@contextmanager
def _failures(name: str) -> Iterator[None]:
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise FailureError(f"{name} cannot be written: {error.strerror or error}") from None


def _write_csv(table: Table, file: TextIO, text: bool, report: Report) -> None:
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(_named(COLUMNS, text))
    for row in rows(table, text=text, report=report):
        writer.writerow(_named(row, text))


def _write_json(table: Table, file: TextIO, text: bool, report: Report) -> None:
    info = table.info
    head = {"table": info.name, "game": info.game, "parameters": json.loads(info.parameters)}
    file.write(f'{json.dumps(head)[:-1]}, "positions": [')
    names = _named(COLUMNS, text)
    between = "\n"
    for row in rows(table, text=text, report=report):
        file.write(between + json.dumps(dict(zip(names, _named(row, text), strict=True))))
        between = ",\n"
    file.write("\n]}\n")


def _named(row: tuple[Any, ...], text: bool) -> tuple[Any, ...]:
    """A row with its position as text or without."""
    return row if text else (row[0], *row[2:])


# --- arrays ---------------------------------------------------------------------------------------


def _write_npz(table: Table, path: Path, report: Report) -> None:
    """As `numpy.savez_compressed` writes it, but array by array and stretch by stretch."""
    info = table.info
    columns: dict[str, Any] = {"index": np.int64, "outcome": np.uint8}
    if info.longest_remoteness >= 0:
        columns["remoteness"] = np.min_scalar_type(info.longest_remoteness)
    if info.largest_grundy >= 0:
        columns["grundy"] = np.min_scalar_type(info.largest_grundy)
    with ZipFile(path, "w") as archive:
        for number, (name, dtype) in enumerate(columns.items()):
            # Without a date of its own, the same table gives the same bytes.
            member = ZipInfo(f"{name}.npy")
            member.compress_type = ZIP_DEFLATED
            with archive.open(member, "w", force_zip64=True) as file:

                def scanned(done: int, size: int, before: int = number) -> None:
                    report(before * size + done, len(columns) * size)

                _write_array(table, name, np.dtype(dtype), file, scanned)


def _write_array(
    table: Table, name: str, dtype: np.dtype[Any], file: IO[bytes], report: Report
) -> None:
    wanted, size = table.info.positions, table.info.size
    header = {"descr": dtype.str, "fortran_order": False, "shape": (wanted,)}
    np.lib.format.write_array_header_1_0(file, header)
    for first, values in table.scan():
        at = np.flatnonzero(values.outcome)
        column: NDArray[Any] = first + at if name == "index" else getattr(values, name)[at]
        file.write(column.astype(dtype).tobytes())
        wanted -= len(at)
        report(first + len(values.outcome), size)
    if wanted:
        # The header was written before anything was counted.
        raise CorruptTableError(table.path, "does not hold as many positions as it says")


# --- graphs ---------------------------------------------------------------------------------------


def _write_dot(table: Table, file: TextIO) -> None:
    """Positions and moves. Where a move ends the game outside the index, it leads to its outcome."""
    game = table.game
    if game.parts > 1:
        expected = "csv, json or npz: its moves lead to sums of positions, which no graph shows"
        raise InvalidParameterError(f"the format for {table.name}", "dot", expected)
    if table.info.positions > MOST_DRAWN:
        expected = f"csv, json or npz for more than {MOST_DRAWN:,} positions, here "
        raise InvalidParameterError(
            f"the format for {table.name}", "dot", expected + f"{table.info.positions:,}"
        )
    file.write(f"digraph {_quoted(table.name)} {{\n  node [shape=box, style=filled];\n")
    ends: set[Outcome] = set()
    for index, *_ in rows(table, text=False):
        position, value = game.format(index), table.probe_index(index)
        label, colour = _quoted(f"{position}\n{value}"), COLOURS[value.outcome]
        file.write(f"  {index} [label={label}, fillcolor={colour}];\n")
        for step in game.moves(position):
            target = f"end_{step.end}" if step.end is not None else str(step.after[0])
            file.write(f"  {index} -> {target} [label={_quoted(step.text)}];\n")
            if step.end is not None:
                ends.add(step.end)
    for end in sorted(ends):  # noqa: FURB122 - nodes are written as those above
        file.write(f"  end_{end} [label={_quoted(f'{end} for the mover')}, shape=oval];\n")
    file.write("}\n")


def _quoted(text: str) -> str:
    """A string of Graphviz; as in JSON, but for characters beyond ASCII, which stand as they are."""
    return json.dumps(text, ensure_ascii=False)
