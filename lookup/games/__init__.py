"""The games that have tables: one visible list."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from lookup.errors import EndtableError, InvalidGameError, InvalidParameterError, UnknownGameError
from lookup.games.base import Game
from lookup.games.clock import Clock
from lookup.games.rota import Rota
from lookup.games.sticks_heaps import SticksAny, SticksRun
from lookup.games.sticks_special import SticksSpecial
from lookup.games.tactics import Tactics
from lookup.games.winners_losers import WinnersLosers

if TYPE_CHECKING:
    from lookup.answers import ClosedForm

GAMES: dict[str, type[Game]] = {
    Tactics.name: Tactics,
    Rota.name: Rota,
    SticksAny.name: SticksAny,
    SticksRun.name: SticksRun,
    SticksSpecial.name: SticksSpecial,
    Clock.name: Clock,
    WinnersLosers.name: WinnersLosers,
}


def game_class(name: str) -> type[Game]:
    """The class of the game called `name`: one of ours, or of an installed package.

    Raises:
        UnknownGameError: there is none.
        InvalidGameError: an installed package announces it, but it is no game.
    """
    if name in GAMES:
        return GAMES[name]
    from lookup.games.loading import installed_game, installed_games  # our own games do without it

    if game := installed_game(name):
        return game
    raise UnknownGameError(name, [*GAMES, *installed_games()])


def load_game(source: str | os.PathLike[str]) -> type[Game]:
    """The class of a game of the user's own, for `open_table` and for building its table.

    It is found in a file, `FILE.py` or `FILE.py:Class`, which is run; or by an installed game's name.

    Raises:
        InvalidGameError: there is no such file or game, or it holds no class of games.
    """
    from lookup.games.loading import load_game  # our own games do without it

    return load_game(os.fspath(source))


def find_game(table_name: str) -> Game:
    """The game, with its parameters, whose table is called `table_name`.

    Raises:
        UnknownGameError: no game has tables with such a name.
        InvalidParameterError: a game has, but not with these parameters.
    """
    for game in GAMES.values():
        if found := game.from_table_name(table_name):
            return found
    from lookup.games.loading import installed_games  # our own games do without it

    installed = installed_games()
    for name in installed:
        # Of other people's packages, only those are loaded that the name is of.
        if not f"{table_name}-".startswith(f"{name}-"):
            continue
        try:
            found = game_class(name).from_table_name(table_name)
        except EndtableError:
            raise
        except Exception as error:  # noqa: BLE001 - somebody else's class may raise anything
            problem = f"cannot be had: {type(error).__name__}: {error}"
            raise InvalidGameError(table_name, problem) from None
        if found:
            return found
    raise UnknownGameError(table_name, [*GAMES, *installed])


def closed_form(name: str, **parameters: int) -> ClosedForm:
    """Answers from a formula, where a game has one: no table, positions of any size.

    The game is given by its name and parameters, or by the name of a table.

    >>> closed_form("clock", n=12, k=9).best("590000000001").text
    'X'
    >>> print(closed_form("winners-losers").probe("WLLWLWWLWLWWLWWLLWWLLLWWWLLW"))
    loss in 28

    Raises:
        UnknownGameError: no game of that name.
        InvalidParameterError: the game cannot have these parameters, or has no closed form.
    """
    with_formula = [one for one in GAMES.values() if one.closed_form is not Game.closed_form]
    by_name = name in GAMES or parameters
    kind = game_class(name) if by_name else type(find_game(name))
    if kind not in with_formula:
        expected = ", ".join(one.name for one in with_formula)
        raise InvalidParameterError("closed form", name, f"one of {expected}")
    known: dict[str, object] = {**kind.unlimited, **parameters}
    answers = (kind.from_parameters(known) if by_name else find_game(name)).closed_form
    assert answers is not None
    return answers
