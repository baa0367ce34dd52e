"""Answers as JSON: one place for the command line and the service."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lookup.table import Move, Table
    from lookup.values import Value


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


def probe_fields(table: Table, position: str) -> dict[str, Any]:
    """A position with all its moves, best first."""
    return {
        "table": table.name,
        "position": position,
        **value_fields(table.probe(position)),
        "moves": [move_fields(move) for move in table.moves(position)],
    }


def line_fields(table: Table, position: str) -> dict[str, Any]:
    """Best play from a position; `repeats` if it ended where it had been before."""
    line = table.line(position)
    return {
        "table": table.name,
        "position": position,
        **value_fields(table.probe(position)),
        "line": [move_fields(move) for move in line],
        "repeats": bool(line and table.game.moves(line[-1].position)),
    }


def info_fields(table: Table) -> dict[str, Any]:
    """What the table says of itself, and its histogram of remoteness."""
    info = table.info
    histogram = {str(end): counts for end, counts in table.histogram().items()}
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
        "histogram": histogram if info.longest_remoteness >= 0 else None,
        "start": table.game.format(table.game.start),
    }
