"""Who plays, and going back: persons and machines, undo and redo, history, chart."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from playwright.sync_api import expect

from tests.browser import SITE_ALONE

if TYPE_CHECKING:
    from lookup import Tablebase
    from tests.explorer import Explorer

pytestmark = SITE_ALONE


def test_two_persons_share_a_board(explorer: Explorer) -> None:
    explorer.open("rota")
    explorer.hints("none")
    explorer.players("you", "you")
    assert explorer.status == "First player to move."
    explorer.press("c")
    assert explorer.status == "First player plays c. Second player to move."
    assert explorer.marked("last") == ["c"]
    explorer.press("n")
    assert explorer.status == "Second player plays n. First player to move."
    assert explorer.position == ".o./.x./... x"


def test_perfect_play_moves_first_and_answers_with_the_best_move(
    explorer: Explorer, tables: Tablebase
) -> None:
    explorer.open("tactics-3x3")
    explorer.hints("none")
    explorer.players("perfect", "you")
    best = tables["tactics-3x3"].best(".../.../...")
    assert best is not None
    assert (explorer.history, explorer.position) == ([f"1. {best.text}"], best.position)
    assert explorer.status == f"Perfect plays {best.text}. Your move."
    before = explorer.position
    mine = tables["tactics-3x3"].moves(before)[-1]
    explorer.play(mine.text)
    answer = tables["tactics-3x3"].best(mine.position)
    assert answer is not None
    assert explorer.position == answer.position
    assert explorer.status == f"You play {mine.text}. Perfect plays {answer.text}. Your move."
    explorer.click("#undo")  # both moves: back to one's own turn
    assert (explorer.position, explorer.at) == (before, 1)


def test_chance_makes_some_legal_move(explorer: Explorer, tables: Tablebase) -> None:
    explorer.open("rota")
    explorer.players("you", "random")
    explorer.press("c")
    (move,) = re.findall(r"Random plays (\w+)\.", explorer.status)
    after = {one.text: one.position for one in tables["rota"].moves(".../.x./... o")}
    assert explorer.position == after[move]


def test_two_machines_are_watched_until_they_go_round(explorer: Explorer, tables: Tablebase) -> None:
    explorer.open("rota")
    explorer.hints("value")
    explorer.players("perfect", "perfect")
    expected = [f"{number}. {move.text}" for number, move in enumerate(tables["rota"].line(), 1)]
    assert explorer.history == expected
    words = "This position has been before: it would go on for ever. Paused."
    assert words in explorer.status
    assert explorer.possible == []  # nothing for a person to press
    expect(explorer.page.locator("#pause")).to_have_text("Resume")
    explorer.click("#pause")
    assert len(explorer.history) > len(expected)
    assert words in explorer.status


def test_machines_pause_and_go_step_by_step(explorer: Explorer) -> None:
    page = explorer.page
    explorer.open("rota")
    page.select_option("#first", "perfect")
    page.select_option("#second", "perfect")
    page.click("#pause")
    explorer.settle()  # no move is on its way any more
    made = len(explorer.history)
    assert "Paused." in explorer.status
    explorer.click("#step")
    assert len(explorer.history) == made + 1
    assert "Paused." in explorer.status
    page.click("#pause")
    expect(page.locator("#history button")).not_to_have_count(made + 2)
    explorer.choose("first", "you")
    explorer.choose("second", "you")
    assert not page.locator("#watch").is_visible()


def test_perfect_play_wins_against_chance_while_one_watches(explorer: Explorer) -> None:
    explorer.open("tactics-3x3")
    explorer.players("perfect", "random")
    assert explorer.position == "XXX/XXX/XXX"
    assert explorer.status.endswith("First player (perfect) wins.")
    assert not explorer.page.locator("#watch").is_visible()


def test_a_clock_is_watched_to_its_end(explorer: Explorer, tables: Tablebase) -> None:
    explorer.open("clock-4-2", tables["clock-4-2"].line()[-5].position)
    explorer.players("perfect")
    assert len(explorer.history) == 4
    assert explorer.position == "0000"
    assert explorer.status.endswith("The game is over: Perfect play wins.")


def test_moves_are_undone_to_the_start_and_redone_to_the_end(explorer: Explorer) -> None:
    explorer.open("tactics-4x4")
    explorer.players("you", "you")
    explorer.hints("value")
    moves = ["a1-d1", "a2-a4", "b2", "c3-d3"]
    positions = [explorer.position]
    for move in moves:
        explorer.play(move)
        positions.append(explorer.position)
    listed = [f"{number}. {move}" for number, move in enumerate(moves, 1)]
    for at in (3, 2, 1, 0):
        explorer.click("#undo")
        assert (explorer.position, explorer.at) == (positions[at], at)
        assert [words.split(" mistake")[0] for words in explorer.history] == listed
        assert explorer.link == f"#tactics-4x4={positions[at]}"
    expect(explorer.page.locator("#undo")).to_have_attribute("aria-disabled", "true")
    for at in (1, 2, 3, 4):
        explorer.click("#redo")
        assert (explorer.position, explorer.at) == (positions[at], at)
    expect(explorer.page.locator("#redo")).to_have_attribute("aria-disabled", "true")

    explorer.click("#history [data-at='2']")
    assert (explorer.position, explorer.at) == (positions[2], 2)
    assert explorer.page.locator("#chart .chart-dot").count() == len(positions)
    explorer.play("d2-d4")  # another move than before: the rest is gone
    assert [words.split()[1] for words in explorer.history] == ["a1-d1", "a2-a4", "d2-d4"]
    assert explorer.page.locator("#chart .chart-dot").count() == 4


def test_mistakes_stand_in_the_history(explorer: Explorer, tables: Tablebase) -> None:
    explorer.open("tactics-3x3")
    explorer.hints("distance")
    moves = tables["tactics-3x3"].moves(explorer.position)
    best, bad = moves[0], moves[-1]
    slow = next(move for move in moves if move.text == "a1")
    worth = [str(move.value) for move in (best, slow, bad)]
    assert worth == ["win in 5", "win in 7", "loss in 4"]
    expected = {
        best.text: f"1. {best.text}",
        slow.text: f"1. {slow.text} slower by 2",
        bad.text: f"1. {bad.text} mistake: win → loss",
    }
    for move, words in expected.items():
        explorer.play(move)
        assert explorer.history == [words]
        explorer.click("#undo")
    explorer.click("#redo")
    explorer.hints("value")
    assert explorer.history == [expected[bad.text]]
    explorer.hints("none")
    assert explorer.history == [f"1. {bad.text}"]
