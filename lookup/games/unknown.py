"""A stand-in for a game whose rules are not known here: its table still answers for indices."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, cast

from lookup.errors import MissingGameError
from lookup.games.base import Game, Neighbours

if TYPE_CHECKING:
    from lookup.games.parameters import Parameters


class UnknownGame(Game):
    """Positions are indices, written as numbers; moves are not known."""

    info: Any  # what the table says of itself, a TableInfo

    @property
    def size(self) -> int:
        """As the table says."""
        return cast("int", self.info.size)

    @property
    def start(self) -> int:
        """As the table says.

        Raises:
            MissingGameError: it does not say.
        """
        if self.info.start < 0:
            raise MissingGameError(self.info.game, "the starting position")
        return cast("int", self.info.start)

    @property
    def max_moves(self) -> int:
        """Not to be had.

        Raises:
            MissingGameError: always.
        """
        raise MissingGameError(self.info.game, "a move")

    @property
    def successors(self) -> Neighbours:
        """Not to be had.

        Raises:
            MissingGameError: always.
        """
        raise MissingGameError(self.info.game, "a move")

    @property
    def players(self) -> int:
        """As the kind of solver tells."""
        return 1 if self.info.solver == "distance" else 2

    @property
    def parameters(self) -> Parameters:
        """As the table says."""
        return cast("Parameters", json.loads(self.info.parameters))

    @property
    def table_name(self) -> str:
        """As the table says."""
        return cast("str", self.info.name)

    @property
    def stores_grundy(self) -> bool:
        """Perhaps: the table tells."""
        return True
