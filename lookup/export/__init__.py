"""A whole table for other tools: rows, columns, a graph; or what a player needs who never loses.

    csv       a header, then a row for each position; empty where nothing is stored
    json      {"table", "game", "parameters", "positions": [{...}, ...]}; null where nothing is stored
    npz       arrays `index`, `outcome` (codes) and, if stored, `remoteness` (0 for a draw) and `grundy`
    parquet   columns `index`, `position`, `outcome` (words), `remoteness`, `grundy`; null where nothing
              is stored; needs the extra `parquet`
    dot       positions as nodes, moves as edges; of small games only

All but `dot` go through the table in stretches: memory is bounded, however large it is. Indices that
are not positions are left out. The same table gives the same bytes.

The never-lose machine of one side (`NeverLose`, see `machine.py`) is exported in place of the table:

    json   {"table", "game", "parameters", "digest", "side", "best", "states": [{"position", "to_move",
           "outcome", "moves": [{"move", "state"}, ...]}, ...]}. `to_move` is "machine" or "opponent",
           `outcome` is for the machine; a `state` is a place in the list, 0 the start
    dot    the machine's states as boxes, the opponent's as ellipses, ends with two lines around them
"""

from __future__ import annotations

from contextlib import contextmanager
from enum import StrEnum
from typing import TYPE_CHECKING

from lookup.atomic import put_in_place, temporary_beside
from lookup.errors import CallerError, FailureError, InvalidParameterError
from lookup.export.arrays import write_npz
from lookup.export.graph import write_dot
from lookup.export.machine import NeverLose, Seat
from lookup.export.machine_files import write_machine_dot, write_machine_json
from lookup.export.rows import write_csv, write_json
from lookup.progress import silent

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from typing import IO, TextIO

    from lookup.progress import Report
    from lookup.table import Table

__all__ = ["Format", "NeverLose", "Seat", "export_descriptor", "export_file", "export_text"]


class Format(StrEnum):
    """What a table can be exported to."""

    CSV = "csv"
    JSON = "json"
    NPZ = "npz"
    PARQUET = "parquet"
    DOT = "dot"


BINARY = (Format.NPZ, Format.PARQUET)


def export_text(
    table: Table,
    to: Format,
    file: TextIO,
    *,
    text: bool = True,
    machine: NeverLose | None = None,
    report: Report = silent,
) -> int:
    """Write a table to an open text file, or its never-lose machine.

    Returns the number of positions, or of states.

    Raises:
        CallerError: the format is not text, or it cannot hold this.
    """
    if machine is not None:
        return _export_machine(table, to, file, machine, report)
    match to:
        case Format.CSV:
            write_csv(table, file, text=text, report=report)
        case Format.JSON:
            write_json(table, file, text=text, report=report)
        case Format.DOT:
            write_dot(table, file)
        case _:
            raise CallerError(f"'{to}' cannot go to standard output: expected --output FILE")
    return table.info.positions


def export_file(
    table: Table,
    to: Format,
    path: Path,
    *,
    text: bool = True,
    machine: NeverLose | None = None,
    report: Report = silent,
) -> int:
    """Write a table, or its never-lose machine, to a file; an older one is kept until it is whole.

    Returns the number of positions, or of states.

    Raises:
        CallerError: the path cannot be that of an export, or the format cannot hold this.
        FailureError: the file cannot be written.
    """
    with _failures(f"'{path}'"):
        if not path.parent.is_dir():
            raise InvalidParameterError("output", str(path), "a file in a folder that is there")
        # What is no file, such as /dev/null, must not be replaced by one.
        if path.exists() and (not path.is_file() or path.samefile(table.path)):
            raise InvalidParameterError("output", str(path), "a file that is not the table's")
        with temporary_beside(path) as temporary:
            if to in BINARY and machine is None:
                with temporary.open("wb") as file:
                    count = _export_binary(table, to, file, text, report)
            else:
                with temporary.open("w", encoding="utf-8", newline="\n") as lines:
                    count = export_text(table, to, lines, text=text, machine=machine, report=report)
            put_in_place(temporary, path)
    return count


def export_descriptor(
    table: Table,
    to: Format,
    descriptor: int,
    *,
    text: bool = True,
    machine: NeverLose | None = None,
    report: Report = silent,
) -> None:
    """Write to an open file descriptor, such as that of standard output.

    Raises:
        CallerError: the format is not text, or it cannot hold this.
        BrokenPipeError: whoever read it has gone.
        FailureError: it cannot be written.
    """
    # A buffer of our own: what it still holds after a failure is not written once more at the exit.
    with (
        _failures("standard output"),
        open(descriptor, "w", encoding="utf-8", newline="\n", closefd=False) as file,
    ):
        export_text(table, to, file, text=text, machine=machine, report=report)


@contextmanager
def _failures(name: str) -> Iterator[None]:
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise FailureError(f"{name} cannot be written: {error.strerror or error}") from None


def _export_binary(table: Table, to: Format, file: IO[bytes], text: bool, report: Report) -> int:
    if to is Format.NPZ:
        write_npz(table, file, report=report)
    else:
        from lookup.export.parquet import write_parquet  # needs pyarrow, which nothing else does

        write_parquet(table, file, text=text, report=report)
    return table.info.positions


def _export_machine(table: Table, to: Format, file: TextIO, machine: NeverLose, report: Report) -> int:
    if to is Format.JSON:
        return write_machine_json(table, machine, file, report=report)
    if to is Format.DOT:
        return write_machine_dot(table, machine, file, report=report)
    raise InvalidParameterError("the format of a never-lose machine", str(to), "json or dot")
