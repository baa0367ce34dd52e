"""One suite over every registered game; and broken games, to see that the suite finds them out."""

from __future__ import annotations

import re
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, ClassVar

import pytest

from builder.conformance import (
    CHECKS,
    check_moves,
    check_order,
    check_predecessors,
    check_shape,
    check_successors,
    check_symmetries,
    check_texts,
    sample_indices,
)
from lookup import GAMES, GameError, Outcome, find_game, open_table
from lookup.games.base import Step
from lookup.games.rota import Rota
from lookup.games.sticks_special import SticksSpecial
from lookup.games.tactics import Tactics
from tests.conftest import examples, same_values
from tests.test_golden import golden_lines

if TYPE_CHECKING:
    from collections.abc import Callable, MutableSequence, Sequence
    from pathlib import Path

    from lookup.games.base import Game, SolverKind

MORE_NAMES = [
    "tactics-1x1", "tactics-1x5", "tactics-2x2-normal", "tactics-3x4-run2", "tactics-4x4-run1-normal",
    "tactics-5x5", "tactics-5x6-normal", "tactics-1x30",
    "sticks-any-1-1", "sticks-any-3-7", "sticks-run-1-1", "sticks-run-2-4-to60", "sticks-run-5-5-to3",
    "sticks-special-1", "sticks-special-2", "sticks-special-14", "sticks-special-90",
    "clock-1-1", "clock-1-4", "clock-2-12", "clock-6-2", "clock-9-9",
    "winners-losers-1", "winners-losers-9", "winners-losers-30",
]  # fmt: skip
GAME_NAMES = sorted({*MORE_NAMES, *(row["table"] for _, _, row in golden_lines())})


def test_every_registered_game_and_every_example_is_checked() -> None:
    """Through its golden values, which it must have."""
    assert {find_game(name).name for name in GAME_NAMES} == {*GAMES, *examples()}
    assert all(GAMES[name].name == name for name in GAMES)


@lru_cache(1)  # for one check after the other
def sampled(name: str) -> tuple[Game, Sequence[int]]:
    game = find_game(name)
    return game, sample_indices(game)


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("name", GAME_NAMES)
def test_conformance(name: str, check: Callable[..., None]) -> None:
    game, indices = sampled(name)
    if check is not check_texts:
        moves = len(indices) * game.max_moves
        indices = indices[:: max(1, len(indices) // 1024, min(moves >> 15, len(indices) // 64))]
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


class WanderingIdentity(Rota):
    @property
    def transform(self) -> Any:
        return lambda index, k: Rota().transform(index, k + 1)


class SymmetryOfNothing(Rota):
    @property
    def transform(self) -> Any:
        return lambda index, k: index if k == 0 else 1


class SwappedWithTheNext(Tactics):
    """A one to one map that is no symmetry: it swaps each index with its neighbour."""

    symmetries = 2

    @property
    def transform(self) -> Any:
        return lambda index, k: index ^ k


class OneSidedEnd(Rota):
    """One of eight alike positions is over."""

    @cached_property
    def terminal(self) -> Any:
        return lambda index: Outcome.LOSS if index == 2 else Rota().terminal(index)


class MirroredFirstRow(Tactics):
    """Keeps ends but not moves: it turns round the first row only."""

    symmetries = 2

    @property
    def transform(self) -> Any:
        return lambda index, k: index & ~3 | (index & 1) << 1 | index >> 1 & 1 if k else index


class TooManyMoves(Tactics):
    @property
    def max_moves(self) -> int:
        return 3


class WritesBeyond(Tactics):
    @cached_property
    def successors(self) -> Any:
        right = Tactics(2, 2).successors

        def successors(index: int, out: MutableSequence[int]) -> int:
            out[self.max_moves] = 0
            return right(index, out)

        return successors


class OddEnd(Tactics):
    @cached_property
    def terminal(self) -> Any:
        return lambda index: 8 if index == 15 else 0


class EndsLater(Tactics):
    """Says that a ply is still to be made, and has no move for it."""

    solver: ClassVar[SolverKind] = "ordered"

    @cached_property
    def terminal(self) -> Any:
        return lambda index: Outcome.WIN + 4 if index == 15 else 0

    def moves(self, text: str) -> Any:
        if text == "XX/XX":
            return [Step("stay", text, (15,))]
        return super().moves(text)


class EndsLaterInAnotherKind(EndsLater):
    solver: ClassVar[SolverKind] = "mask"


class PlaysAnother(Tactics):
    def play(self, text: str, move: str) -> Any:
        return self.moves(text)[0]


class MovesUp(Tactics):
    solver = "ordered"


class StepsUp(SticksSpecial):
    @cached_property
    def steps(self) -> Any:
        def steps(index: int, out: MutableSequence[int]) -> int:
            out[0] = index + 1
            return 1 if index + 1 < self.size else 0

        return steps


class OnlyLeaps(SticksSpecial):
    @cached_property
    def steps(self) -> Any:
        return lambda index, out: 0


class LosesAMove(Tactics):
    def moves(self, text: str) -> Any:
        return super().moves(text)[1:]


class ShowsAnother(Tactics):
    def moves(self, text: str) -> Any:
        steps = super().moves(text)
        return [step._replace(position="XX/XX") for step in steps]


class ForgetsParameters(Tactics):
    @classmethod
    def from_parameters(cls, parameters: Any) -> Any:
        return cls(1, 1)


class ForgetsItsName(Tactics):
    @classmethod
    def from_table_name(cls, table_name: str) -> Any:
        return None


class HasNoPositions(Tactics):
    @property
    def is_position(self) -> Any:
        return lambda index: 0


@pytest.mark.parametrize(
    ("game", "check", "words"),
    [
        (
            StartsNowhere(2, 2),
            check_shape,
            "the start of tactics-2x2 is 16: expected an index from 0 to 15",
        ),
        (ForgetsRow(2, 2), check_texts, "index 1 formats as '../..', which parses as index 0"),
        (ToleratesSpace(2, 2), check_texts, "' ../..' is not the text of a position"),
        (MovesTwice(2, 2), check_successors, "index 0 ('../..') lists 1 twice: expected each once"),
        (
            MovesOut(2, 2),
            check_successors,
            "index 0 ('../..') lists 16: expected an index from 0",
        ),
        (SameName(2, 2), check_moves, "two moves of index 0 ('../..') have the same name"),
        (NoWayBack(2, 2), check_predecessors, "which lacks it as predecessor"),
        (WrongWayBack(), check_predecessors, "which does not move to it"),
        (TwistedSymmetry(), check_symmetries, "no symmetry undoes symmetry 1"),
        (WanderingIdentity(), check_symmetries, "symmetry 0 must be the identity"),
        (SymmetryOfNothing(), check_symmetries, "to 1, not a position"),
        (SwappedWithTheNext(2, 2), check_symmetries, "symmetry 1 maps moves of index 0"),
        (OneSidedEnd(), check_symmetries, "symmetry 1 changes the end of index 2"),
        (MirroredFirstRow(2, 2), check_symmetries, "maps moves of index 0 ('../..') to illegal ones"),
        (TooManyMoves(2, 2), check_successors, "lists 8: expected at most max_moves = 3"),
        (WritesBeyond(2, 2), check_successors, "writes beyond the 8 places that it may use"),
        (OddEnd(2, 2), check_successors, "terminal says 8 for index 15 ('XX/XX'): expected 0, Outcome"),
        (EndsLater(2, 2), check_successors, "has plies left, yet no move that ends the game"),
        (EndsLaterInAnotherKind(2, 2), check_successors, "which only 'ordered' can solve"),
        (PlaysAnother(2, 2), check_moves, "in index 0 ('../..') is not that move"),
        (MovesUp(2, 2), check_order, "index 0 ('../..') does not move to smaller indices only"),
        (StepsUp(4), check_order, "index 0 ('.') does not move to smaller indices only"),
        (OnlyLeaps(4), check_order, "has a leap, yet no step"),
        (LosesAMove(2, 2), check_moves, "the moves of index 0 ('../..') are not its successors"),
        (ShowsAnother(2, 2), check_moves, "move 'a1' of index 0 ('../..') shows another position"),
        (ForgetsParameters(2, 2), check_shape, "the parameters of tactics-2x2 do not lead back"),
        (ForgetsItsName(2, 2), check_shape, "the name 'tactics-2x2' does not lead back"),
        (HasNoPositions(2, 2), check_shape, "index 0, is not a position"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_broken_games_are_explained(game: Game, check: Callable[..., None], words: str) -> None:
    with pytest.raises(GameError, match=re.escape(words)):
        check(game, range(game.size))
