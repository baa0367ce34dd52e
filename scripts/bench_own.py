"""The section `own`: a user's game of five million positions, written as plain methods."""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING

from bench_measure import SCRIPTS, Row, Workshop, race, run, seconds, solve

from builder.build import build_table
from builder.compile import Engine
from builder.solvers.retrograde import RetrogradePlan
from lookup import load_game

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lookup.games.base import Game

SOURCE = SCRIPTS / "bench_own_game.py"
SIDE, SMALL_SIDE = 40, 12
BOUNDS = {"Chase": 2e6, "ChaseBothWays": 5e6}
"""Positions a second that a solve reaches at least: from successors alone, and with predecessors."""


def own_section(shop: Workshop) -> Iterator[Row]:
    """Solves and builds of a user's game, and what its first start costs."""
    for name, bound in BOUNDS.items():
        kind = load_game(f"{SOURCE}:{name}")
        large, small = (kind.from_parameters({"side": side}) for side in (SIDE, SMALL_SIDE))
        what = f"{large.table_name}, {large.size:,} positions"
        cores = os.cpu_count() or 1
        (solved,) = race(partial(solve, RetrogradePlan, large, Engine.NUMBA, workers=cores), rounds=3)
        rate = large.size / solved
        yield Row(f"solve {what}", f"{bound / 1e6:g} million a second", rate, bound, "positions/s", 1)
        plain = small.size / _build_seconds(shop, small, Engine.PYTHON)
        whole = large.size / min(_build_seconds(shop, large, Engine.NUMBA) for _ in range(2))
        against = f"interpreted, {small.size:,} positions"
        yield Row(f"build {what}", against, whole, plain, "positions/s")
    cache = shop.new_folder()

    def start() -> float:
        words = "-m", "builder.cli", "game", f"{SOURCE}:Chase", "--set", "side=18", "--out"
        return seconds(lambda: run(*words, str(shop.new_folder()), cache=cache))

    first = start()
    yield Row("build-tables game, second start", "first start", start(), first, "s")


def _build_seconds(shop: Workshop, game: Game, engine: Engine) -> float:
    """Solve, write and verify, once compiled."""
    return seconds(lambda: build_table(game, shop.new_folder(), engine=engine))
