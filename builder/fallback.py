"""The engine for a game: compiled if its rules can be, else interpreted, and a warning says why."""

from __future__ import annotations

import re
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from builder.binding import UnboundError
from builder.compile import Engine, choose_engine, rule
from lookup.errors import GameError
from lookup.games.heap_game import HeapGame
from lookup.games.mask_game import MaskGame
from lookup.games.step_game import StepGame

if TYPE_CHECKING:
    from collections.abc import Callable

    from lookup.games.base import Game

_PLACE = re.compile(r'File "(?P<file>[^"\n]+)", line (?P<line>\d+)')
_LONGEST = 200
_HINTS = {
    "getitem(Tuple(": " (tuples of different lengths have no common type: make them equally long)",
    "int(unicode_type": " (texts are not for rules)",
}
_HEADINGS = ("Failed in", "No implementation", "During:", "File ", "Internal error")


class InterpretedWarning(UserWarning):
    """A game's rules cannot be compiled, so a build takes much longer."""


class Problem(NamedTuple):
    """Why a rule cannot be compiled, and where."""

    rule: str
    file: str
    line: int
    reason: str

    def __str__(self) -> str:
        place = f"{Path(self.file).name}, line {self.line}"
        return f"{place}: {self.rule} cannot be compiled: {self.reason}"


def engine_for(game: Game, wanted: Engine | None, times: int = 1) -> Engine:
    """The engine that runs a game's rules, for so many times the work of solving it.

    Warns (`InterpretedWarning`) if they cannot be compiled and are interpreted for that reason.

    Raises:
        BuildError: numba was asked for and is not installed.
        GameError: numba was asked for, and the rules cannot be compiled.
    """
    engine = choose_engine(wanted, times * game.work)
    if engine != Engine.NUMBA or game.is_ours() or (problem := first_problem(game)) is None:
        return engine
    if wanted == Engine.NUMBA:
        raise GameError(str(problem))
    warnings.warn(f"{problem}; all rules are interpreted", InterpretedWarning, stacklevel=2)
    return Engine.PYTHON


def rules_of(game: Game) -> dict[str, Callable[..., int]]:
    """The functions of a game that solvers and checks compile, by name."""
    if isinstance(game, StepGame):
        return {"steps": game.steps, "leaps": game.leaps, "is_position": game.is_position}
    rules: dict[str, Callable[..., int]] = {
        "successors": game.successors,
        "terminal": game.terminal,
        "is_position": game.is_position,
    }
    if game.predecessors is not None and not isinstance(game, MaskGame | HeapGame):
        rules["predecessors"] = game.predecessors
    if game.symmetries > 1:
        rules["transform"] = game.transform
    return rules


def first_problem(game: Game) -> Problem | None:
    """The first rule that cannot be compiled, or None."""
    for name, function in rules_of(game).items():
        code = getattr(function, "__code__", None)  # a callable object has none
        place = (code.co_filename, code.co_firstlineno) if code else ("", 0)
        try:
            rule(function, Engine.NUMBA)
        except UnboundError as error:
            return Problem(name, error.file, error.line, error.problem)
        except GameError as error:
            return Problem(name, place[0], place[1], str(error))
        except Exception as error:  # noqa: BLE001 - numba raises its own, and whatever it stumbles over
            return Problem(name, place[0], _line(error, place), _reason(error))
    return None


def _line(error: Exception, place: tuple[str, int]) -> int:
    """The line that an error of numba is about: the last one that it names in the file of the rule."""
    named = [
        int(match["line"])
        for match in _PLACE.finditer(str(error))
        if Path(match["file"]).name == Path(place[0]).name
    ]
    return named[-1] if named else place[1]


def _reason(error: Exception) -> str:
    """What numba says, without its headings and advice."""
    lines = [re.sub(r"\x1b\[[0-9;]*m", "", line).strip(" -|") for line in str(error).splitlines()]
    said = [line.removeprefix(">>> ") for line in lines if line and not line.startswith(_HEADINGS)]
    reason = said[0] if said else type(error).__name__
    hint = next((hint for start, hint in _HINTS.items() if reason.startswith(start)), "")
    return f"{reason[:_LONGEST]}{hint}"
