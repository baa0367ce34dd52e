"""One suite over every registered game; and broken games, to see that the suite finds them out."""

from __future__ import annotations

import re
from functools import cached_property
from typing import TYPE_CHECKING, Any

import pytest

from builder.conformance import (
    CHECKS,
    check_moves,
    check_predecessors,
    check_shape,
    check_successors,
    check_symmetries,
    check_texts,
    sample_indices,
)
from lookup import GAMES, GameError, Outcome, find_game, open_table
from lookup.games.rota import Rota
from lookup.games.tactics import Tactics
from tests.conftest import same_values

if TYPE_CHECKING:
    from collections.abc import Callable, MutableSequence
    from pathlib import Path

    from lookup.games.base import Game

GAME_NAMES = [
    "tactics-1x1", "tactics-1x5", "tactics-2x2-normal", "tactics-3x3", "tactics-3x4-run2",
    "tactics-4x4", "tactics-4x4-run1-normal", "tactics-5x5", "tactics-5x6-normal", "tactics-1x30",
    "rota", "rota-diameters",
]  # fmt: skip


def test_every_registered_game_is_checked() -> None:
    assert {find_game(name).name for name in GAME_NAMES} == set(GAMES)
    assert all(GAMES[name].name == name for name in GAMES)


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("name", GAME_NAMES)
def test_conformance(name: str, check: Callable[..., None]) -> None:
    game = find_game(name)
    indices = sample_indices(game)
    if check is not check_texts:
        indices = indices[:: max(1, len(indices) // 1024)]
    check(game, indices)


@pytest.mark.parametrize("name", ["rota", "rota-diameters"])
def test_symmetries_keep_values(name: str, built: Callable[[str], Path]) -> None:
    with open_table(built(name)) as table:
        game = table.game
        everything = range(game.size)
        values = table.probe_many(everything)
        for k in range(game.symmetries):
            images = table.probe_many([game.transform(index, k) for index in everything])
            assert same_values(images, values)


def test_turning_a_tactics_board_keeps_values(built: Callable[[str], Path]) -> None:
    """Tactics declares no symmetries, so this checks its values against a fact it does not use."""
    with open_table(built("tactics-4x4")) as table:
        for index in range(0, table.game.size, 97):
            rows = table.game.format(index).split("/")
            turned = "/".join("".join(column) for column in zip(*rows[::-1], strict=True))
            assert table.probe(turned) == table.probe_index(index)


# --- games that break the contract in one way each ------------------------------------------------


class StartsNowhere(Tactics):
    @property
    def start(self) -> int:
        return self.size


class ForgetsRow(Tactics):
    def format(self, index: int) -> str:
        return super().format(index & ~1)


class ToleratesSpace(Tactics):
    def parse(self, text: str) -> int:
        return super().parse(text.strip())


class MovesTwice(Tactics):
    @cached_property
    def successors(self) -> Any:
        def successors(index: int, out: MutableSequence[int]) -> int:
            out[0] = out[1] = index | 1
            return 0 if index & 1 else 2

        return successors


class MovesOut(Tactics):
    @cached_property
    def successors(self) -> Any:
        def successors(index: int, out: MutableSequence[int]) -> int:
            out[0] = index + 16
            return 1

        return successors


class NeverEnds(Tactics):
    @cached_property
    def terminal(self) -> Any:
        return lambda index: 0


class EndsEarly(Tactics):
    @cached_property
    def terminal(self) -> Any:
        return lambda index: Outcome.WIN


class SameName(Tactics):
    def move_name(self, index: int, after: int) -> str:
        return "move"


class NoWayBack(Tactics):
    @cached_property
    def predecessors(self) -> Any:
        return lambda index, out: 0


class WrongWayBack(Rota):
    @cached_property
    def predecessors(self) -> Any:
        right = Rota().predecessors

        def predecessors(index: int, out: MutableSequence[int]) -> int:
            count = right(index, out)
            if index == 0:
                out[count] = 0
                count += 1
            return count

        return predecessors


class TwistedSymmetry(Rota):
    @property
    def transform(self) -> Any:
        return lambda index, k: index if k == 0 else Rota().transform(index, 1)


@pytest.mark.parametrize(
    ("game", "check", "words"),
    [
        (StartsNowhere(2, 2), check_shape, "index 16, is not a position"),
        (ForgetsRow(2, 2), check_texts, "index 1 formats as '../..', which parses as index 0"),
        (ToleratesSpace(2, 2), check_texts, "' ../..' is not the text of a position"),
        (MovesTwice(2, 2), check_successors, "index 0 ('../..') lists a neighbour twice"),
        (MovesOut(2, 2), check_successors, "index 0 ('../..') lists 16, which is not a position"),
        (NeverEnds(2, 2), check_successors, "index 15 ('XX/XX') has no moves, yet"),
        (EndsEarly(2, 2), check_successors, "index 0 ('../..') is over, yet has 8 moves"),
        (SameName(2, 2), check_moves, "two moves of index 0 ('../..') have the same name"),
        (NoWayBack(2, 2), check_predecessors, "which lacks it as predecessor"),
        (WrongWayBack(), check_predecessors, "which does not move to it"),
        (TwistedSymmetry(), check_symmetries, "no symmetry undoes symmetry 1"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_broken_games_are_explained(game: Game, check: Callable[..., None], words: str) -> None:
    with pytest.raises(GameError, match=re.escape(words)):
        check(game, range(game.size))
