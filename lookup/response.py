"""Answers as JSON: one place for the command line and the service."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from lookup.format import Period
from lookup.games.unknown import UnknownGame

if TYPE_CHECKING:
    from lookup.answers import Answers, Move
    from lookup.table import Table
    from lookup.values import Value


HISTOGRAM_STEPS = 1000
"""A histogram of remoteness has at most this many entries; longer games are counted in wider steps."""

COUNTED_INDICES = 1 << 28
"""What a larger table holds is counted only on demand: all of it has to be read."""


def value_fields(value: Value) -> dict[str, Any]:
    """A value; what is not stored is null."""
    return {
        "outcome": str(value.outcome),
        "remoteness": value.remoteness,
        "grundy": value.grundy,
    }


def move_fields(move: Move) -> dict[str, Any]:
    """A move; its outcome is for the player who makes it, remoteness counts from after it."""
    return {"move": move.text, "position": move.position, **value_fields(move.value)}


def is_unknown(table: Answers) -> bool:
    """Whether the rules of the game are not known here, so that it has no moves to show."""
    return isinstance(table.game, UnknownGame)


def probe_fields(table: Answers, position: str) -> dict[str, Any]:
    """A position with all its moves, best first; null if the rules are not known here."""
    return {
        "table": table.name,
        "position": position,
        **value_fields(table.probe(position)),
        "moves": None if is_unknown(table) else [move_fields(move) for move in table.moves(position)],
    }


def line_fields(table: Answers, position: str, limit: int | None = None) -> dict[str, Any]:
    """Best play from a position; `repeats` if it ended where it had been before.

    `complete` is false if there would have been more than `limit` moves.
    """
    line = table.line(position, None if limit is None else limit + 1)
    complete = limit is None or len(line) <= limit
    line = line[:limit]
    visited = [position, *(move.position for move in line)]
    return {
        "table": table.name,
        "position": position,
        **value_fields(table.probe(position)),
        "line": [move_fields(move) for move in line],
        "repeats": visited[-1] in visited[:-1],
        "complete": complete,
    }


def info_fields(table: Table, count: bool = False) -> dict[str, Any]:
    """What the table says of itself, its histogram of remoteness and its counts of Grundy values.

    These two are null if they are not stored, and in a large table unless `count` asks for them.
    """
    info = table.info
    counted = count or info.size <= COUNTED_INDICES
    histogram = grundy = None
    width = max(info.longest_remoteness, 0) // HISTOGRAM_STEPS + 1
    if counted and info.longest_remoteness >= 0:
        histogram = {str(end): counts for end, counts in table.histogram(width).items()}
    if counted and info.largest_grundy >= 0:
        grundy = table.grundy_counts()
    return {
        "table": info.name,
        "game": info.game,
        "parameters": json.loads(info.parameters),
        "rules": info.rules,
        "notation": info.notation,
        "indexing": info.indexing,
        "solver": info.solver,
        "builder": info.builder,
        "format_version": info.format_version,
        "digest": table.digest,
        "size": info.size,
        "positions": info.positions,
        "counts": {"win": info.wins, "draw": info.draws, "loss": info.losses},
        "longest_remoteness": info.longest_remoteness if info.longest_remoteness >= 0 else None,
        "histogram": histogram,
        "histogram_width": width if histogram else None,
        "grundy": grundy,
        "period": Period.from_text(info.period)._asdict() if info.period else None,
        "start": None if is_unknown(table) else table.game.format(table.game.start),
    }
