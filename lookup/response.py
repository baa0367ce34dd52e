"""Answers as JSON: one place for the command line and the service."""

from __future__ import annotations

import json
from time import monotonic
from typing import TYPE_CHECKING, Any

import numpy as np

from lookup.errors import InvalidPositionError
from lookup.format import Period
from lookup.games.unknown import UnknownGame
from lookup.table import LARGEST_INDEX, Table
from lookup.values import WORDS, Outcome

if TYPE_CHECKING:
    from lookup.answers import Answers, Move
    from lookup.games.base import Game
    from lookup.values import Value


HISTOGRAM_STEPS = 1000
"""A histogram of remoteness has at most this many entries; longer games are counted in wider steps."""

_WORD_OBJECTS = np.array(WORDS, object)

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
    text, position, (outcome, remoteness, grundy) = move
    return {
        "move": text,
        "position": position,
        "outcome": WORDS[outcome],
        "remoteness": remoteness,
        "grundy": grundy,
    }


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


def batch_fields(table: Answers, positions: list[str]) -> list[dict[str, Any]]:
    """Many positions, each as `probe_fields` has it but without its moves."""
    name = table.name
    return [
        {
            "table": name,
            "position": position,
            "outcome": WORDS[outcome],
            "remoteness": remoteness,
            "grundy": grundy,
        }
        for position, (outcome, remoteness, grundy) in zip(
            positions, table.probe_texts(positions), strict=True
        )
    ]


def column_fields(table: Table, indices: list[int]) -> dict[str, Any]:
    """Many indices, as columns: an array for each field of a value, null if it is not stored.

    An index that is not a position has the outcome "not a position"; like a draw it has no remoteness.

    Raises:
        InvalidPositionError: an index is out of range.
    """
    try:
        values = table.probe_many(np.array(indices, np.int64))
    except OverflowError:
        index = max(indices, key=abs)
        raise InvalidPositionError(index, f"an index from 0 to {LARGEST_INDEX}") from None
    remoteness = None
    if values.remoteness is not None:
        ends = (values.outcome == Outcome.WIN) | (values.outcome == Outcome.LOSS)
        remoteness = values.remoteness.tolist()
        if not ends.all():
            remoteness = [plies if end else None for plies, end in zip(remoteness, ends, strict=True)]
    return {
        "table": table.name,
        "outcome": _WORD_OBJECTS[values.outcome].tolist(),
        "remoteness": remoteness,
        "grundy": None if values.grundy is None else values.grundy.tolist(),
    }


def single_move_fields(table: Answers, position: str, move: str) -> dict[str, Any]:
    """One move, whether or not `probe_fields` lists it: a row of sticks has moves that are alike."""
    return {"table": table.name, "from": position, **move_fields(table.move(position, move))}


def board_fields(table: Answers, position: str) -> dict[str, Any]:
    """A position as a picture in lines of text, and whether the game is over there."""
    table.probe(position)  # a picture may be drawn of anything; only of positions is it shown
    return {
        "position": position,
        "board": table.game.board(position),
        "over": not is_unknown(table) and not table.game.moves(position),
    }


def line_fields(
    table: Answers, position: str, limit: int | None = None, seconds: float | None = None
) -> dict[str, Any]:
    """Best play from a position; `repeats` if it ended where it had been before.

    `complete` is false if there would have been more than `limit` moves, or it took so many seconds.
    """
    line: list[Move] = []
    complete, begin = True, monotonic()
    for move in table.walk(position):
        if len(line) == limit or (seconds is not None and monotonic() - begin > seconds):
            complete = False
            break
        line.append(move)
    visited = [position, *(move.position for move in line)]
    return {
        "table": table.name,
        "position": position,
        **value_fields(table.probe(position)),
        "line": [move_fields(move) for move in line],
        "repeats": visited[-1] in visited[:-1],
        "complete": complete,
    }


def info_fields(table: Answers, count: bool = False) -> dict[str, Any]:
    """What the table says of itself, its histogram of remoteness and its counts of Grundy values.

    These two are null if they are not stored, and in a large table unless `count` asks for them. A
    closed form has rules, but nothing to count: all that is null.
    """
    if not isinstance(table, Table):
        return _formula_fields(table.name, table.game)
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
        "answered_by": "table",
        "form": table.form,
        "game": info.game,
        "players": table.game.players,
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


def _formula_fields(name: str, game: Game) -> dict[str, Any]:
    """The same fields where there is no file."""
    stored = ("builder", "format_version", "digest", "size", "positions", "counts")
    counted = ("longest_remoteness", "histogram", "histogram_width", "grundy", "period")
    return {
        "table": name,
        "answered_by": "closed form",
        "form": None,
        "game": game.name,
        "players": game.players,
        "parameters": game.parameters,
        "rules": game.rules,
        "notation": game.notation,
        "indexing": game.indexing,
        "solver": game.solver,
        **dict.fromkeys(stored + counted),
        "start": game.format(game.start),
    }
