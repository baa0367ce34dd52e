"""Links, good and bad, and the browser's Back; positions that are set up by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

import lookup
from tests.browser import SITE_ALONE
from tests.explorer import Explorer

if TYPE_CHECKING:
    from playwright.sync_api import Dialog

    from lookup import Tablebase
    from tests.browser import Visit

ROTA = "x.o/.x./..o x"


def forgive(complaints: list[str], words: str, hosting: str) -> None:
    """Takes out what was expected, of which there has to be something; a site asks nobody."""
    left = [one for one in complaints if words not in one]
    assert (len(left) < len(complaints)) == (hosting == "served"), complaints
    complaints[:] = left


def refused(answers: lookup.Answers, position: str) -> str:
    """What the library says of what is no position."""
    with pytest.raises(lookup.InvalidPositionError) as raised:
        answers.probe(position)
    return str(raised.value)


@SITE_ALONE
def test_a_link_shows_somebody_else_the_same(
    explorer: Explorer, visit: Visit, tables: Tablebase
) -> None:
    explorer.open("rota")
    links = [explorer.link]
    for move in ("c", "n", "se", "nw"):
        explorer.play(move)
        links.append(explorer.link)
    assert len(set(links)) == len(links)
    assert links[-1] == "#rota=oo./.x./..x%20x"

    other = Explorer(visit())
    other.page.goto(explorer.page.url)
    expect(other.page.locator("#board")).to_have_attribute("data-position", explorer.position)
    other.settle()
    assert other.moves == explorer.moves
    assert other.status == f"First player to move. {tables['rota'].probe(explorer.position)}"
    assert explorer.status.endswith(other.status)

    other.open("winners-losers-20", "W")
    other.press("left")
    again = Explorer(visit())
    again.page.goto(other.page.url)  # the game is over there, and no position is left
    expect(again.page.locator("#status")).to_have_text(other.status)
    assert other.status.endswith("First player wins.")


@SITE_ALONE
def test_back_leads_to_the_game_before_as_it_was_left(explorer: Explorer) -> None:
    explorer.open("rota")
    explorer.press("c")
    explorer.press("n")
    left = explorer.position
    explorer.choose("table", "tactics-3x3")
    explorer.play("a1")
    explorer.new_game("Sticks", mode=1, length=7, to=3)
    assert explorer.position == "|" * 7
    explorer.page.go_back()
    expect(explorer.page.locator("#board")).to_have_attribute("data-position", "X../.../...")
    explorer.page.go_back()
    expect(explorer.page.locator("#board")).to_have_attribute("data-position", left)
    assert explorer.table == "rota"
    explorer.settle()
    explorer.page.go_forward()
    expect(explorer.page.locator("#table-name")).to_have_text("tactics-3x3")
    assert explorer.page.input_value("#table") == "tactics-3x3"


BAD_LINKS = {
    "#nosuch": "no table 'nosuch'",
    "#nosuch=x": "no table 'nosuch'",
    "#%": "'%'",
    "#rota=%": "'%' is not a position",
    "#rota=": "'' is not a position",
    "#rota=<img src=x onerror=alert(1)>": "'<img src=x onerror=alert(1)>' is not a position",
    "#<img src=x onerror=alert(1)>": "no table '<img src'",
    "#rota=.../.../...%20x&move=zz": "'zz'",
}


def test_a_bad_link_is_answered_by_a_sentence_below_which_one_can_play(
    explorer: Explorer, visit: Visit, complaints: list[str], hosting: str
) -> None:
    page = explorer.page
    asked: list[str] = []

    def refuse(dialog: Dialog) -> None:
        asked.append(dialog.message)
        dialog.dismiss()

    page.on("dialog", refuse)
    explorer.open("tactics-4x4")
    for link, sentence in BAD_LINKS.items():
        page.goto(f"/{link}")  # on a page that is open already
        expect(page.locator("#error")).to_contain_text(sentence)
        explorer.settle()
        assert page.locator("img").count() == 0
        assert explorer.link == f"#tactics-4x4={explorer.position}"
        explorer.play(explorer.possible[0])
        assert explorer.error == ""
    for link in ("#nosuch", "#rota=<img src=x onerror=alert(1)>"):
        fresh = Explorer(visit())
        fresh.page.goto(f"/{link}")
        expect(fresh.page.locator("#error")).to_contain_text(BAD_LINKS[link])
        fresh.settle()
        assert fresh.page.locator("img").count() == 0
        fresh.page.locator("#moves button").first.click()
        fresh.settle()
        assert len(fresh.history) == 1
    assert asked == []
    forgive(complaints, "status of 4", hosting)


SET_UP = {
    "tactics-3x3": (["a1", "c3", "b2", "b2"], "X../.../..X"),
    "rota": (["c", "n", "n"], ".o./.x./... x"),
    "sticks-any-1-3": (["1", "3", "3"], "." + "|" * 19),
    "clock-4-2": (["1", "1", "3"], "0020"),
    "winners-losers-20": (["1", "20"], "LLWLWLWLWLWLWLWLWLWW"),
}


@SITE_ALONE
def test_a_position_is_set_up_on_each_board(explorer: Explorer, tables: Tablebase) -> None:
    page = explorer.page
    for table, (presses, position) in SET_UP.items():
        explorer.open(table)
        before = explorer.position
        explorer.click("#set-up")
        explorer.press(presses[0])
        assert explorer.position != before
        explorer.click("#setup-cancel")
        assert (explorer.position, explorer.focused) == (before, "set-up")

        explorer.click("#set-up")
        for cell in presses:
            explorer.press(cell)
        assert page.input_value("#position") == explorer.position == position
        assert explorer.history == []
        page.get_by_role("button", name="Play from here").click()
        explorer.settle()
        assert not page.locator("#setup").is_visible()
        assert explorer.position == position
        assert len(explorer.moves) == len(tables[table].moves(position))


def test_what_is_no_position_is_refused_in_the_words_of_the_library(
    explorer: Explorer, tables: Tablebase, complaints: list[str], hosting: str
) -> None:
    page = explorer.page
    start = page.get_by_role("button", name="Play from here")
    bad = {
        "rota": "xxx/.../... x",
        "tactics-3x3": "X../...",
        "sticks-special-50": "|" * 51,
        "clock-4-2": "0003",
        "winners-losers-20": "WXL",
    }
    for table, text in bad.items():
        explorer.open(table)
        before = explorer.position
        explorer.click("#set-up")
        page.fill("#position", text)
        start.click()
        expect(page.locator("#setup-error")).to_have_text(refused(tables[table], text))
        page.keyboard.press("Escape")
        assert (explorer.position, explorer.error) == (before, "")
    forgive(complaints, "status of 400", hosting)

    explorer.open("rota")
    explorer.click("#set-up")
    page.fill("#position", ROTA)  # the board follows what is typed
    assert explorer.position == ROTA
    page.select_option("#mover", "o")
    assert page.input_value("#position") == ROTA.replace(" x", " o")
    explorer.open("sticks-run-1-2")
    explorer.click("#set-up")
    page.fill("#row-length", "4")
    page.keyboard.press("Tab")
    assert page.input_value("#position") == "||||"
    start.click()
    expect(page.locator("#board")).to_have_attribute("data-position", "||||")
    explorer.settle()
    assert explorer.at == 0


@SITE_ALONE
def test_a_new_game_that_cannot_be_is_refused_in_the_dialog(explorer: Explorer) -> None:
    page = explorer.page
    explorer.open("winners-losers-20")
    explorer.click("#new-game")
    page.fill("#new-letters", "WXY")
    explorer.click("#start")
    expect(page.locator("#new-game-error")).to_contain_text('the letters cannot be "WXY"')
    page.keyboard.press("Escape")
    expect(page.locator("#new-game-dialog")).not_to_be_visible()
    assert explorer.table == "winners-losers-20"
