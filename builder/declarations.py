"""What a class of games declares, looked at before any of its rules is called: facts and signatures."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any, get_args

from lookup.errors import GameError, quoted
from lookup.games.base import Game, SolverKind
from lookup.games.heap_game import HeapGame
from lookup.games.mask_game import MaskGame
from lookup.games.sources import explained
from lookup.games.step_game import StepGame
from lookup.tablebase import is_table_name
from lookup.values import Outcome

if TYPE_CHECKING:
    from collections.abc import Callable

_FAMILIES: dict[str, Any] = {"mask": MaskGame, "heaps": HeapGame, "steps": StepGame}
_NUMBERS = {
    "size": 1,
    "start": 0,
    "max_moves": 0,
    "max_predecessors": 0,
    "symmetries": 1,
    "parts": 1,
    "work": 0,
}
_MOST = 1 << 48
"""Of what there is room made for; more would be refused by the machine, in other words."""
_TEXTS = ("rules", "notation", "indexing")
_LONGEST_TEXT = 65_000  # bytes, as tables/FORMAT.md says
_METHODS = {
    "successors": ("index", "out"),
    "predecessors": ("index", "out"),
    "terminal": ("index",),
    "is_position": ("index",),
    "transform": ("index", "k"),
    "format": ("index",),
    "parse": ("text",),
    "move_name": ("index", "after"),
    "board": ("text",),
}


def check_declarations(game: Game) -> None:
    """See that a game says what it must, in a form that solvers can use.

    Raises:
        GameError: the first thing that is wrong, in words.
    """
    with explained():  # a property may raise anything
        _check_declarations(game)


def _check_declarations(game: Game) -> None:
    for what, least in _NUMBERS.items():
        _check_number(game, what, least)
    name: object = game.table_name
    if not isinstance(name, str) or not is_table_name(name):
        expected = "small letters and digits, '-' between words, at most 100 in all"
        raise GameError(f"table_name is {quoted(name)}: expected {expected}")
    for what in _TEXTS:
        _check_text(game, what)
    _check_solver(game)
    _check_ends(game)
    for name, wanted in _METHODS.items():
        _check_signature(name, getattr(game, name), wanted)
    if game.symmetries > 1 and type(game).transform is Game.transform:
        raise GameError(f"symmetries is {game.symmetries}: expected a method transform(index, k) too")
    if not game.start < game.size:
        expected = f"an index from 0 to {quoted(game.size - 1)}"
        raise GameError(f"the start of {game.table_name} is {quoted(game.start)}: expected {expected}")
    if isinstance(game, MaskGame):
        _check_masks(game)


def _check_number(game: Game, what: str, least: int) -> None:
    value = getattr(game, what)
    if callable(value):
        raise GameError(f"{what} is a method: expected '@property' in the line above it")
    if type(value) is not int or value < least:
        raise GameError(f"{what} is {quoted(value)}: expected a whole number of at least {least}")
    if value > _MOST and what not in ("size", "start", "work"):
        raise GameError(f"{what} is {quoted(value)}: expected no more than any machine has room for")


def _check_text(game: Game, what: str) -> None:
    """A table can hold it: found here, and not when all is solved."""
    text: object = getattr(game, what)
    fits = isinstance(text, str) and "\0" not in text
    try:
        fits = fits and len(str(text).encode()) <= _LONGEST_TEXT
    except UnicodeEncodeError:  # halves of characters
        fits = False
    if not fits:
        expected = f"a text of at most {_LONGEST_TEXT:,} bytes in UTF-8, without NUL"
        raise GameError(f"{what} is {quoted(text)}: expected {expected}")


def _check_solver(game: Game) -> None:
    if game.solver not in get_args(SolverKind):
        raise GameError(
            f"solver is {quoted(game.solver)}: expected one of {', '.join(get_args(SolverKind))}"
        )
    family = _FAMILIES.get(game.solver)
    if family and not isinstance(game, family):
        problem = (
            f"solver is {quoted(game.solver)}: expected a class derived from lookup.{family.__name__}"
        )
        raise GameError(problem)


def _check_ends(game: Game) -> None:
    """`misere` and `stuck` say what the kind of solver can do."""
    if type(game.misere) is not bool:
        raise GameError(f"misere is {quoted(game.misere)}: expected True or False")
    stuck = game.stuck
    if type(stuck) not in (int, Outcome) or stuck not in (Outcome.LOSS, Outcome.DRAW, Outcome.WIN):
        raise GameError(f"stuck is {quoted(stuck)}: expected Outcome.LOSS, Outcome.DRAW or Outcome.WIN")
    if game.solver in ("grundy", "heaps", "steps") and stuck != Outcome.LOSS:
        problem = f"in {game.solver!r} whoever cannot move loses, but this game says otherwise"
        raise GameError(f"{problem}: expected neither misere nor stuck, or solver 'retrograde'")
    if game.players == 1 and game.misere:
        raise GameError("misere has no meaning for one player: expected none, or solver 'retrograde'")
    if game.solver == "mask" and stuck != (Outcome.WIN if game.misere else Outcome.LOSS):
        raise GameError(f"stuck is {quoted(stuck)}: expected misere alone to say how a mask game ends")


def _check_signature(
    name: str, function: Callable[..., object] | None, wanted: tuple[str, ...]
) -> None:
    if function is None:
        return
    if not callable(function):
        raise GameError(f"{name} is {quoted(function)}: expected a method {name}({', '.join(wanted)})")
    taken = list(inspect.signature(function).parameters.values())
    fits = len([one for one in taken if one.default is one.empty]) <= len(wanted) <= len(taken)
    # The second one is an array to compiled code if that is its name, and a number otherwise.
    if not fits or (wanted[-1] == "out" and taken[1].name != "out"):
        shown = f"{name}({', '.join(one.name for one in taken)})"
        raise GameError(
            f"there is {shown}: expected {name}({', '.join(wanted)}), after self in a method"
        )


def _check_masks(game: MaskGame) -> None:
    """Moves are masks and the game ends without them: the solver asks for nothing else."""
    for what in ("terminal", "successors"):
        if getattr(type(game), what) is not getattr(MaskGame, what):
            raise GameError(
                f"a mask game has no {what} of its own: expected masks alone, or a plain Game"
            )
    if type(game.cells) is not int or game.cells < 0:
        raise GameError(f"cells is {quoted(game.cells)}: expected a whole number")
    for mask in game.masks:
        if type(mask) is not int or not 0 < mask < 1 << game.cells:
            expected = f"a number with bits for the cells it fills, from 1 to {(1 << game.cells) - 1}"
            raise GameError(f"{quoted(mask)} is among the masks: expected {expected}")
    if len(set(game.masks)) != len(game.masks):
        raise GameError("a mask is listed twice: expected each once")
