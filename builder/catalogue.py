"""The default set of tables: small, shipped with the package, rebuilt by the tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lookup.games.clock import Clock
from lookup.games.rota import Rota
from lookup.games.sticks_heaps import SticksAny, SticksRun
from lookup.games.sticks_special import SticksSpecial
from lookup.games.tactics import Tactics
from lookup.games.winners_losers import WinnersLosers

if TYPE_CHECKING:
    from lookup.games.base import Game

CATALOGUE: tuple[Game, ...] = (
    Tactics(3, 3),
    Tactics(4, 4),
    Tactics(4, 4, normal=True),
    Tactics(4, 5),
    Rota(),
    Rota(diameters=True),
    SticksAny(1, 3),
    SticksRun(1, 2),
    SticksRun(1, 3),
    SticksSpecial(50),
    Clock(4, 2),
    Clock(4, 5),
    WinnersLosers(20),
)

LARGER: tuple[Game, ...] = (
    Tactics(5, 5),
    Tactics(5, 6),
    Tactics(6, 6),
    SticksRun(2, 5),
    SticksRun(1, 4, 1_000_000),
    SticksSpecial(64),
    SticksSpecial(80),
    SticksSpecial(100),
    Clock(6, 9),
    Clock(8, 9),
    Clock(9, 9),
    WinnersLosers(24),
    WinnersLosers(28),
)
"""A few of the many others, to show in `build-tables list` what they take."""
