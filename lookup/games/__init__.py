"""The games that have tables: one visible list."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lookup.errors import UnknownGameError
from lookup.games.rota import Rota
from lookup.games.tactics import Tactics

if TYPE_CHECKING:
    from lookup.games.base import Game

GAMES: dict[str, type[Game]] = {
    Tactics.name: Tactics,
    Rota.name: Rota,
}


def game_class(name: str) -> type[Game]:
    """The class of the game called `name`.

    Raises:
        UnknownGameError: there is none.
    """
    if name not in GAMES:
        raise UnknownGameError(name, list(GAMES))
    return GAMES[name]


def find_game(table_name: str) -> Game:
    """The game, with its parameters, whose table is called `table_name`.

    Raises:
        UnknownGameError: no game has tables with such a name.
        InvalidParameterError: a game has, but not with these parameters.
    """
    for game in GAMES.values():
        if found := game.from_table_name(table_name):
            return found
    raise UnknownGameError(table_name, list(GAMES))
