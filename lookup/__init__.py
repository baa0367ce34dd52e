"""Endtable: ask solved games about positions. Perfect play in O(1), from tables built offline.

>>> import lookup
>>> with lookup.open_tablebase() as tables:
...     table = tables["tactics-4x4"]
...     print(table.probe("XXXX/..X./..X./...."))
...     print(table.best("XXXX/..X./..X./....").text)
win in 8
b3-b4
"""

from lookup.answers import Answers, ClosedForm, Move
from lookup.errors import (
    BuildError,
    BundleError,
    CallerError,
    CorruptTableError,
    DownloadError,
    EndtableError,
    FailureError,
    FormatVersionError,
    GameError,
    InvalidGameError,
    InvalidMoveError,
    InvalidParameterError,
    InvalidPositionError,
    MissingGameError,
    MissingTableError,
    NotATableError,
    RulesChangedError,
    TableFileError,
    UnknownGameError,
    VerificationError,
)
from lookup.games import GAMES, closed_form, find_game, load_game
from lookup.games.base import Game, Step
from lookup.games.heap_game import HeapGame
from lookup.games.mask_game import MaskGame
from lookup.games.parameters import parameter
from lookup.games.step_game import StepGame
from lookup.games.unknown import UnknownGame
from lookup.table import Table, open_table
from lookup.tablebase import Tablebase, open_tablebase
from lookup.values import Outcome, Value, Values

__version__ = "0.1.0"

__all__ = [
    "GAMES",
    "Answers",
    "BuildError",
    "BundleError",
    "CallerError",
    "ClosedForm",
    "CorruptTableError",
    "DownloadError",
    "EndtableError",
    "FailureError",
    "FormatVersionError",
    "Game",
    "GameError",
    "HeapGame",
    "InvalidGameError",
    "InvalidMoveError",
    "InvalidParameterError",
    "InvalidPositionError",
    "MaskGame",
    "MissingGameError",
    "MissingTableError",
    "Move",
    "NotATableError",
    "Outcome",
    "RulesChangedError",
    "Step",
    "StepGame",
    "Table",
    "TableFileError",
    "Tablebase",
    "UnknownGame",
    "UnknownGameError",
    "Value",
    "Values",
    "VerificationError",
    "__version__",
    "closed_form",
    "find_game",
    "load_game",
    "open_table",
    "open_tablebase",
    "parameter",
]
