"""Other people's games on the page: with their rules, and without."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import lookup
from builder.build import build_table
from tests.own_games import SUBTRACT, own_game
from tests.serving import explorer_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.explorer import Explorer


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A game's file with its table, and a table whose game nobody names."""
    path = tmp_path_factory.mktemp("own")
    build_table(own_game(path, SUBTRACT.replace("Subtract", "Forgotten"), heap=20), path)
    build_table(own_game(path, heap=20), path)
    return path


@pytest.fixture(scope="module")
def address(folder: Path, hosting: str) -> Iterator[str]:
    words = ("--tables", folder, "--game", folder / "own.py")
    with explorer_of(hosting, folder / "site", *words) as address:
        yield address


def test_it_is_shown_as_text_and_played_from_the_list(explorer: Explorer, folder: Path) -> None:
    page = explorer.page
    explorer.open("subtract-20")
    with lookup.open_tablebase(folder, games=[folder / "own.py"]) as tables:
        table = tables["subtract-20"]
        assert explorer.text("#board pre") == table.game.board("20")
        assert explorer.text("#rules") == table.game.rules
        explorer.hints("best")
        expected = [f"{move.text} {move.value}" for move in table.moves("20")]
        assert explorer.moves == [f"{expected[0]} ★ best", *expected[1:]]
    explorer.players("perfect", "you")
    while not explorer.is_over:
        page.locator("#moves .best").click()
        explorer.settle()
        assert explorer.text("#board pre") == explorer.position
        assert len(explorer.history) < 20
    assert explorer.position == "0"
    assert explorer.status.endswith("you win.")  # a heap of twenty is lost to whoever begins
    assert len(explorer.history) == 10
    assert page.locator("#chart .chart-dot").count() == 11

    explorer.players("you", "you")
    explorer.click("#set-up")
    page.fill("#position", "7")
    page.get_by_role("button", name="Play from here").click()
    explorer.settle()
    explorer.click("#best-line")
    assert explorer.page.input_value("#line-text") == "4 3 0"
    explorer.click("#line-last")
    assert explorer.text("#board pre") == "0"
    assert explorer.text("#line-length") == "3 moves to the end: First player wins."


def test_without_its_rules_it_says_so_and_breaks_nothing(
    explorer: Explorer, complaints: list[str]
) -> None:
    page = explorer.page
    explorer.open("forgotten-20")
    note = "Not known here: --game FILE.py names the rules."
    assert explorer.text("#moves-note") == note
    assert (explorer.moves, explorer.position) == ([], "0")  # without rules, indices
    assert not explorer.is_over
    explorer.hints("distance")
    explorer.players("perfect", "perfect")  # who cannot know what to move
    assert explorer.history == []
    assert explorer.status.endswith("loss in 0")
    explorer.click("#set-up")
    page.fill("#position", "19")
    page.get_by_role("button", name="Play from here").click()
    explorer.settle()
    assert explorer.position == "19"
    assert explorer.status.endswith("win in 9")
    explorer.click("#best-line")
    assert "forgotten" in explorer.error
    explorer.players("you", "you")
    explorer.choose("table", "subtract-20")
    assert (explorer.error, explorer.position) == ("", "20")
    complaints[:] = [one for one in complaints if "/line?" not in one]
