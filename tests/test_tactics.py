"""Tactics: names, texts, parameters, and theorems that the tables must obey."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lookup import InvalidParameterError, InvalidPositionError, Outcome, find_game, open_table
from lookup.games.tactics import Tactics

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.mark.parametrize(
    ("game", "name", "command"),
    [
        (Tactics(4, 4), "tactics-4x4", "build-tables tactics --rows 4 --cols 4"),
        (Tactics(4, 4, 4), "tactics-4x4", "build-tables tactics --rows 4 --cols 4"),
        (
            Tactics(4, 4, normal=True),
            "tactics-4x4-normal",
            "build-tables tactics --rows 4 --cols 4 --normal",
        ),
        (Tactics(5, 5, 4), "tactics-5x5-run4", "build-tables tactics --rows 5 --cols 5 --max-run 4"),
    ],
)
def test_names(game: Tactics, name: str, command: str) -> None:
    assert game.table_name == name
    assert game.build_command == command
    assert find_game(name) == game


def test_a_name_in_another_spelling_is_not_a_name() -> None:
    assert Tactics.from_table_name("tactics-04x4") is None
    assert Tactics.from_table_name("tactics-4x4-run4") is None


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((0, 4), "rows cannot be 0: expected 1 to 48"),
        ((4, -1), "cols cannot be -1: expected 1 to 48"),
        ((7, 7), "board cannot be '7x7': expected 1 to 48 cells, not 49"),
        ((4, 4, 5), "max_run cannot be 5: expected 1 to 4, or 0 for that"),
        ((4, 4, -1), "max_run cannot be -1: expected 1 to 4, or 0 for that"),
    ],
)
def test_bad_parameters(arguments: Any, words: str) -> None:
    with pytest.raises(InvalidParameterError, match=words):
        Tactics(*arguments)


def test_index_and_text_of_the_documents() -> None:
    game = Tactics(4, 4)
    assert game.parse("XXXX/..X./..X./....") == 0b0000_0100_0100_1111
    assert game.parse("X.../..../..../....") == 1
    assert game.parse("..../..../..../...X") == 1 << 15


def test_move_names() -> None:
    names = {step.text for step in Tactics(2, 3).moves(".../.X.")}
    assert names == {"a1", "b1", "c1", "a2", "c2", "a1-b1", "b1-c1", "a1-c1", "a1-a2", "c1-c2"}
    long = Tactics(1, 36)
    assert long.move_name(0, 1 << 25) == "z1"
    assert long.move_name(0, 0b11 << 26) == "aa1-ab1"
    assert long.move_name(0, 1 << 35) == "aj1"
    assert Tactics(36, 1).move_name(0, 0b11 << 34) == "a35-a36"


def test_the_largest_board() -> None:
    game = find_game("tactics-6x6")
    assert (game.size, game.start, game.max_moves) == (1 << 36, 0, 36 + 2 * 6 * (5 + 4 + 3 + 2 + 1))
    corner = "....../....../....../....../....../.....X"
    assert game.parse(corner) == 1 << 35
    assert game.format(1 << 35) == corner
    assert game.play(corner, "a1-f1").position.startswith("XXXXXX/")


@pytest.mark.parametrize(
    "text", ["", "..../..../....", "...../..../..../....", "..../..../..../...x", "." * 16]
)
def test_bad_text_is_refused(text: str) -> None:
    with pytest.raises(InvalidPositionError) as caught:
        Tactics(4, 4).parse(text)
    assert repr(text) in str(caught.value)


@given(st.text(alphabet=".X/x \n0", max_size=12))
def test_what_parses_formats_back(text: str) -> None:
    game = Tactics(3, 3)
    try:
        index = game.parse(text)
    except InvalidPositionError:
        return
    assert game.format(index) == text


def heaps(game: Tactics, index: int) -> list[int] | None:
    """Sizes of the groups of empty cells, if each is one cell or two: then the game is Nim."""
    left = {at for at in range(game.cells) if not index >> at & 1}
    sizes = []
    while left:
        group, edge = set(), {left.pop()}
        while edge:
            at = edge.pop()
            group.add(at)
            near = {at - game.cols, at + game.cols}
            near |= {at - 1} if at % game.cols else set()
            near |= {at + 1} if (at + 1) % game.cols else set()
            edge |= near & left
            left -= edge
        if len(group) > 2:
            return None
        sizes.append(len(group))
    return sizes


@pytest.mark.parametrize("name", ["tactics-4x4", "tactics-4x4-normal", "tactics-4x5"])
def test_scattered_boards_follow_boutons_theorem(name: str, built: Callable[[str], Path]) -> None:
    """Groups of one and two cells are heaps of Nim, whose solution is from 1901."""
    checked = 0
    with open_table(built(name)) as table:
        game = table.game
        assert isinstance(game, Tactics)
        for index in range(0, game.size, 1 if game.cells <= 16 else 7):
            sizes = heaps(game, index)
            if sizes is None:
                continue
            ones, twos = sizes.count(1), sizes.count(2)
            first_wins = bool(ones % 2 or twos % 2)
            if game.misere and not twos:
                first_wins = ones % 2 == 0
            expected = Outcome.WIN if first_wins else Outcome.LOSS
            assert table.probe_index(index).outcome is expected, game.format(index)
            checked += 1
    assert checked > 1000
