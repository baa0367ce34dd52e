"""The default set of tables: small, shipped with the package, rebuilt by the tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lookup.games.rota import Rota
from lookup.games.tactics import Tactics

if TYPE_CHECKING:
    from lookup.games.base import Game

CATALOGUE: tuple[Game, ...] = (
    Tactics(3, 3),
    Tactics(4, 4),
    Tactics(4, 4, normal=True),
    Tactics(4, 5),
    Rota(),
    Rota(diameters=True),
)
