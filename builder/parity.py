"""Compiled rules against interpreted ones: the same functions must say the same."""

from __future__ import annotations

from typing import TYPE_CHECKING

from builder.compile import Engine, buffer, rule
from builder.conformance import named
from builder.fallback import rules_of
from lookup.errors import GameError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lookup.games.base import Game

_LISTS = ("successors", "predecessors", "steps", "leaps")


def check_compiled(game: Game, indices: Sequence[int]) -> None:
    """Compare compiled rules with interpreted ones at some indices.

    Raises:
        GameError: they differ, as numbers beyond 64 bits would make them.
    """
    rules = {name: (rule(one, Engine.NUMBA), one) for name, one in rules_of(game).items()}
    most = max(game.max_moves, game.max_predecessors) * game.parts
    room = buffer(most, Engine.NUMBA)

    def compare(name: str, index: int, *further: int) -> None:
        compiled, interpreted = (one(index, *further) for one in rules[name])
        if compiled != interpreted:
            _differ(game, f"{name} of {named(game, index)}", compiled, interpreted)

    def compare_lists(name: str, index: int) -> None:
        compiled, interpreted = rules[name]
        out = buffer(most, Engine.PYTHON)
        counts = compiled(index, room), interpreted(index, out)
        parts = game.parts if name == "successors" else 1
        listed = [
            list(map(int, of[: max(0, count) * parts]))
            for of, count in zip((room, out), counts, strict=True)
        ]
        if listed[0] != listed[1]:
            _differ(game, f"{name} of {named(game, index)}", *listed)

    lists = [name for name in _LISTS if name in rules]
    for index in indices:
        compare("is_position", index)
        if not game.is_position(index):
            continue
        for k in range(1, game.symmetries):
            compare("transform", index, k)
        if "terminal" in rules:
            compare("terminal", index)
        if not game.terminal(index):
            for name in lists:
                compare_lists(name, index)


def _differ(game: Game, what: str, compiled: object, interpreted: object) -> None:
    raise GameError(
        f"{what} in {game.table_name} says {compiled} compiled and {interpreted} interpreted: expected "
        "the same, with numbers below 2^63"
    )
