"""Endtable: ask solved games about positions. Perfect play in O(1), from tables built offline.

>>> import lookup
>>> with lookup.open_tablebase() as tables:
...     table = tables["tactics-4x4"]
...     print(table.probe("XXXX/..X./..X./...."))
...     print(table.best("XXXX/..X./..X./....").text)
win in 8
b3-b4
"""

from lookup.errors import (
    BuildError,
    CallerError,
    CorruptTableError,
    EndtableError,
    FailureError,
    FormatVersionError,
    GameError,
    InvalidParameterError,
    InvalidPositionError,
    MissingTableError,
    NotATableError,
    TableFileError,
    UnknownGameError,
    VerificationError,
)
from lookup.games import GAMES, find_game
from lookup.games.base import Game, Step
from lookup.games.mask_game import MaskGame
from lookup.table import Move, Table, open_table
from lookup.tablebase import Tablebase, open_tablebase
from lookup.values import Outcome, Value, Values

__version__ = "0.1.0"

__all__ = [
    "GAMES",
    "BuildError",
    "CallerError",
    "CorruptTableError",
    "EndtableError",
    "FailureError",
    "FormatVersionError",
    "Game",
    "GameError",
    "InvalidParameterError",
    "InvalidPositionError",
    "MaskGame",
    "MissingTableError",
    "Move",
    "NotATableError",
    "Outcome",
    "Step",
    "Table",
    "TableFileError",
    "Tablebase",
    "UnknownGameError",
    "Value",
    "Values",
    "VerificationError",
    "__version__",
    "find_game",
    "open_table",
    "open_tablebase",
]
