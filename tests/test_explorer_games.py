"""Whole games on the page's own boards, each as a person would play it, with hints to follow."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import lookup
from tests.browser import SITE_ALONE

if TYPE_CHECKING:
    from lookup import Tablebase
    from tests.explorer import Explorer

pytestmark = SITE_ALONE

LINE_OF_THE_CLOCK = "0XXX000X0XXX00XXX0XXXXX0XXX00XXX0XXXXX0XXXXX0000"  # from the seed
MANY = 60  # moves; no game here has as many


def follow_to_the_end(explorer: Explorer) -> list[str]:
    """One's own moves. When there are no more, the page has to say that the game is over."""
    moves: list[str] = []
    while move := explorer.follow():
        moves.append(move)
        assert len(moves) < MANY
    assert explorer.is_over
    assert explorer.moves == []
    assert explorer.possible == []
    assert explorer.text("#moves-note") == "None: the game is over."
    return moves


def test_tactics_is_won_by_pressing_both_ends_of_each_best_run(explorer: Explorer) -> None:
    explorer.open("tactics-3x3")
    explorer.hints("best")
    explorer.players("you", "perfect")
    follow_to_the_end(explorer)
    assert explorer.position == "XXX/XXX/XXX"
    assert explorer.status.endswith("The game is over: you win.")
    assert len(explorer.history) == 6  # as the table says of the start


def test_tactics_is_won_by_dragging_across_each_best_run(explorer: Explorer) -> None:
    explorer.open("tactics-4x4", "XXXX/..X./..X./....")
    explorer.hints("best")
    explorer.players("you", "perfect")
    while not explorer.is_over:
        first, _, last = explorer.best.partition("-")
        if last:
            explorer.drag(first, last)
        else:
            explorer.play(first)
        assert len(explorer.history) < MANY
    assert explorer.status.endswith("you win.")
    assert len(explorer.history) == 8


@pytest.mark.parametrize("opponent", ["perfect", "random"])
def test_rota_is_not_lost_in_thirty_moves(explorer: Explorer, opponent: str) -> None:
    explorer.open("rota")
    explorer.hints("best")
    explorer.players("you", opponent)
    while explorer.follow() and len(explorer.history) < 30:
        pass
    assert (opponent == "random" and explorer.status.endswith("you win.")) or not explorer.is_over


@pytest.mark.parametrize(
    ("mode", "length", "a", "b", "table"),
    [
        (1, 10, None, 3, "sticks-any-1-3"),
        (2, 9, 2, 4, "sticks-any-2-4"),
        (3, 9, None, 2, "sticks-run-1-2"),
        (4, 11, 2, 3, "sticks-run-2-3"),
        (5, 8, None, None, "sticks-special-50"),
    ],
)
def test_sticks_are_won_in_each_mode(
    explorer: Explorer,
    tables: Tablebase,
    mode: int,
    length: int,
    a: int | None,
    b: int | None,
    table: str,
) -> None:
    explorer.open("rota")
    bounds = {name: value for name, value in (("from", a), ("to", b)) if value is not None}
    explorer.new_game("Sticks", mode=mode, length=length, **bounds)
    answers = tables.get(table) or lookup.closed_form(table)
    assert (explorer.table, explorer.position) == (table, "|" * length)
    assert explorer.text("#rules") == answers.game.rules
    assert answers.probe(explorer.position).outcome is lookup.Outcome.WIN
    explorer.hints("best")
    explorer.players("you", "perfect")

    first = explorer.follow()
    assert explorer.position.count("|") < length
    explorer.click("#undo")
    assert (explorer.position, explorer.at) == ("|" * length, 0)
    assert explorer.best == first

    follow_to_the_end(explorer)
    assert explorer.status.endswith("you win.")
    assert answers.moves(explorer.position) == []


def test_the_clock_is_set_to_zeros_by_its_two_buttons(explorer: Explorer) -> None:
    explorer.open("rota")
    explorer.new_game("Clock", digits=4, largest=2)
    assert explorer.table == "clock-4-2"
    explorer.hints("best")
    moves = follow_to_the_end(explorer)
    assert "".join(moves) == LINE_OF_THE_CLOCK
    assert explorer.position == "0000"
    assert explorer.status == "You play 0. The game is over: you win."


def test_the_clock_is_set_to_zeros_by_two_keys(explorer: Explorer, tables: Tablebase) -> None:
    explorer.open("clock-4-2", tables["clock-4-2"].line()[-17].position)
    for number, command in enumerate(LINE_OF_THE_CLOCK[-16:]):
        explorer.page.keyboard.press(command.lower() if number % 2 else command)
        explorer.settle()
    assert len(explorer.history) == 16
    assert explorer.position == "0000"
    assert explorer.status.endswith("you win.")


def test_five_letters_that_were_typed_are_taken_to_the_end(
    explorer: Explorer, tables: Tablebase
) -> None:
    explorer.open("rota")
    explorer.new_game("Winners and Losers", letters="wlwlw")
    assert (explorer.table, explorer.position) == ("winners-losers-20", "WLWLW")
    explorer.hints("best")
    explorer.players("you", "perfect")
    wins = tables[explorer.table].probe("WLWLW").outcome is lookup.Outcome.WIN
    follow_to_the_end(explorer)
    assert explorer.position == ""
    assert explorer.status.endswith("you win." if wins else "Perfect wins.")


def test_fifty_letters_by_chance_are_answered_by_a_formula(explorer: Explorer) -> None:
    explorer.open("winners-losers-20")
    explorer.click("#new-game")
    explorer.page.fill("#new-letters-length", "50")
    explorer.click("#new-random")
    letters = explorer.page.input_value("#new-letters")
    assert len(letters) == 50
    assert set(letters) == {"W", "L"}
    explorer.click("#start")
    assert (explorer.table, explorer.position) == ("winners-losers-50", letters)
    assert explorer.text("#facts") == "Answered by a formula; no table is needed."
    explorer.hints("best")
    value = lookup.closed_form("winners-losers-50").probe(letters)
    assert explorer.status == f"First player to move. {value}"
    follow_to_the_end(explorer)
    assert len(explorer.history) == 50
    winner = "First" if value.outcome is lookup.Outcome.WIN else "Second"
    assert explorer.status.endswith(f"{winner} player wins.")
