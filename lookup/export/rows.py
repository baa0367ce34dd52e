"""Rows: one position after the other, as CSV or JSON."""

from __future__ import annotations

import csv
import json
from typing import TYPE_CHECKING, Any, TypeAlias

from lookup.progress import silent
from lookup.values import Outcome

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import TextIO

    from lookup.progress import Report
    from lookup.table import Table

ROWS_AT_ONCE = 1 << 14
"""Rows that exist as Python's numbers at a time; a stretch of a table holds millions."""

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


def write_csv(table: Table, file: TextIO, *, text: bool = True, report: Report = silent) -> None:
    """A header, then a row for each position."""
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(_named(COLUMNS, text))
    for row in rows(table, text=text, report=report):
        writer.writerow(_named(row, text))


def write_json(table: Table, file: TextIO, *, text: bool = True, report: Report = silent) -> None:
    """One object; each position is a line of it."""
    file.write(f'{json.dumps(head(table))[:-1]}, "positions": [')
    names = _named(COLUMNS, text)
    between = "\n"
    for row in rows(table, text=text, report=report):
        file.write(between + json.dumps(dict(zip(names, _named(row, text), strict=True))))
        between = ",\n"
    file.write("\n]}\n")


def head(table: Table) -> dict[str, Any]:
    """What an object of JSON says first."""
    info = table.info
    return {"table": info.name, "game": info.game, "parameters": json.loads(info.parameters)}


def _named(row: tuple[Any, ...], text: bool) -> tuple[Any, ...]:
    """A row with its position as text or without."""
    return row if text else (row[0], *row[2:])
