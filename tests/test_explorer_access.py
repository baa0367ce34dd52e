"""The page for those who have no mouse, or do not see it."""

from __future__ import annotations

import re
from collections import deque
from itertools import pairwise
from typing import TYPE_CHECKING

from playwright.sync_api import expect

from tests.browser import SITE_ALONE

if TYPE_CHECKING:
    from tests.explorer import Explorer

pytestmark = SITE_ALONE

ARROWS = ("ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown")
NAMED = "button|combobox|textbox|spinbutton|checkbox|link|img|region|list|dialog|heading|option"


class Hands:
    """Only a keyboard: Tab to the board, the arrow keys about it, Enter."""

    def __init__(self, explorer: Explorer) -> None:
        self.explorer, self.page = explorer, explorer.page
        self.ways: dict[str, dict[str, str]] = {}
        self.home: dict[str, str] = {}

    def press(self, key: str) -> None:
        self.page.keyboard.press(key)
        self.explorer.settle()
        assert self.explorer.focused != "BODY", f"{key} has lost the focus"

    def tab_to_the_board(self) -> None:
        for _ in range(20):
            self.press("Tab")
            if self.page.evaluate("document.activeElement.matches('#board [data-cell]')"):
                return
        raise AssertionError("Tab does not reach the board")

    def explore(self) -> None:
        """Learns where each arrow key leads from each cell, and so how to get from one to another."""
        self.press("Home")
        self.home = {"Home": self.explorer.focused}
        unknown = deque(self.home.values())
        while unknown:
            cell = unknown.popleft()
            if cell not in self.ways:
                self.ways[cell] = dict(self.home)
                for arrow in ARROWS:
                    self.go(cell)
                    self.press(arrow)
                    self.ways[cell][arrow] = self.explorer.focused
                    unknown.append(self.explorer.focused)

    def go(self, cell: str) -> None:
        for key in self.way(self.explorer.focused, cell):
            self.press(key)
        assert self.explorer.focused == cell

    def way(self, here: str, cell: str) -> list[str]:
        """The keys to press, as few as possible."""
        ways: dict[str, list[str]] = {here: []}
        unknown = deque([here])
        while cell not in ways:
            assert unknown, f"no way is known from {here} to {cell}"
            at = unknown.popleft()
            for key, to in self.ways.get(at, self.home).items():
                if to not in ways:
                    ways[to] = [*ways[at], key]
                    unknown.append(to)
        return ways[cell]

    def play(self, *cells: str) -> None:
        for cell in cells:
            self.go(cell)
            self.press("Enter")


def grid(columns: str, rows: str) -> dict[str, dict[str, str]]:
    """Where arrow keys lead on a board of squares."""
    ways: dict[str, dict[str, str]] = {column + row: {} for column in columns for row in rows}
    for row in rows:
        for left, right in pairwise(columns):
            ways[left + row]["ArrowRight"], ways[right + row]["ArrowLeft"] = right + row, left + row
    for column in columns:
        for top, bottom in pairwise(rows):
            ways[column + top]["ArrowDown"], ways[column + bottom]["ArrowUp"] = (
                column + bottom,
                column + top,
            )
    return ways


def test_tactics_is_won_by_keyboard_alone(explorer: Explorer) -> None:
    explorer.open("tactics-3x3")
    explorer.hints("best")
    explorer.players("you", "perfect")
    hands = Hands(explorer)
    hands.tab_to_the_board()
    hands.ways = grid("abc", "123")

    hands.play("b2")
    assert explorer.marked("anchor") == ["b2"]
    hands.press("Escape")
    assert (explorer.marked("anchor"), explorer.position) == ([], ".../.../...")
    while not explorer.is_over:
        first, _, last = explorer.best.partition("-")
        hands.play(first, last or first)
    assert explorer.status.endswith("you win.")


def test_rota_is_placed_and_slid_by_keyboard_alone(explorer: Explorer) -> None:
    explorer.open("rota")
    explorer.players("you", "you")
    hands = Hands(explorer)
    hands.tab_to_the_board()
    hands.explore()
    assert len(hands.ways) == 9
    for cell in ("c", "n", "ne", "sw", "w", "e"):
        hands.play(cell)
    assert explorer.position == ".ox/xxo/o.. x"
    hands.play("c")
    assert explorer.marked("picked") == ["c"]
    hands.press("Escape")
    assert explorer.marked("picked") == []
    hands.play("c", "s")
    assert explorer.position == ".ox/x.o/ox. o"
    assert explorer.focused == "s"


def test_sticks_and_letters_are_taken_by_keys(explorer: Explorer) -> None:
    explorer.open("sticks-run-1-2", "|||||")
    hands = Hands(explorer)
    hands.tab_to_the_board()
    for key in ("ArrowRight", "Enter", "ArrowRight", "Space"):
        hands.press(key)
    assert explorer.marked("picked") == ["2", "3"]
    hands.press("Escape")
    assert explorer.marked("picked") == []
    for key in ("End", "Enter", "t"):
        hands.press(key)
    assert explorer.position == "||||."
    explorer.open("winners-losers-20", "WLWL")
    explorer.cell("left").focus()
    hands.press("ArrowRight")
    assert explorer.focused == "right"
    for key in ("Enter", "Shift+ArrowLeft", "ArrowLeft", "Enter"):
        hands.press(key)
    assert explorer.position == "W"


def test_controls_keep_the_focus_when_they_have_done_their_work(explorer: Explorer) -> None:
    explorer.open("tactics-3x3")
    page = explorer.page
    hands = Hands(explorer)
    page.locator("#moves button").first.focus()
    hands.press("Enter")
    assert page.evaluate("document.activeElement.matches('#moves button')")
    page.locator("#undo").focus()
    hands.press("Enter")  # there is nothing to undo any more
    assert (explorer.focused, explorer.at) == ("undo", 0)
    page.locator("#redo").focus()
    hands.press("Enter")
    assert (explorer.focused, explorer.at) == ("redo", 1)
    page.locator("#history button").first.focus()
    hands.press("Enter")
    assert page.evaluate("document.activeElement.matches('#history [aria-current]')")
    page.locator("#new-game").focus()
    hands.press("Enter")
    assert page.evaluate("document.querySelector('dialog').contains(document.activeElement)")
    hands.press("Escape")
    assert explorer.focused == "new-game"
    page.locator("#best-line").focus()
    hands.press("Enter")
    assert explorer.focused == "line-heading"


def test_a_screen_reader_finds_its_way(explorer: Explorer) -> None:
    explorer.open("tactics-3x3", "X../.X./...")
    explorer.hints("best")
    page = explorer.page
    expect(page.get_by_role("heading", level=1)).to_have_count(1)
    for landmark in ("banner", "main"):
        expect(page.get_by_role(landmark)).to_have_count(1)
    for region in ("Players and hints", "Moves", "History", "How to play", "About this table"):
        expect(page.get_by_role("region", name=region, exact=True)).to_have_count(1)
    board = page.get_by_role("group", name="Board")
    expect(board).to_match_aria_snapshot(
        """
        - group "Board":
          - button "a1, filled" [disabled]
          - button /b1, empty/
          - button /c1, empty/
          - button /a2, empty/
          - button "b2, filled" [disabled]
        """
    )
    expect(board.get_by_role("button", name="in the best move")).to_have_count(
        len(explorer.marked("best"))
    )
    explorer.press("b1")
    expect(board.get_by_role("button", name="b1, empty, chosen")).to_have_count(1)
    expect(page.locator("#prompt[aria-live=polite]")).to_contain_text("From b1: press the other end")
    explorer.press("b1")
    expect(page.get_by_role("status").first).to_contain_text("First player plays b1.")


def test_whatever_can_be_used_has_a_name(explorer: Explorer) -> None:
    """As Chromium names it: the snapshot is of the tree that a screen reader is given."""
    places = [
        ("tactics-3x3", "X../.X./..."),
        ("rota", "x.o/.x./..o x"),
        ("sticks-run-1-2", "||||.|||"),
        ("clock-4-2", "1010"),
        ("winners-losers-20", "WLWLL"),
    ]
    for table, position in places:
        explorer.open(table, position)
        explorer.page.locator("#moves button").first.click()
        explorer.settle()
        assert nameless(explorer) == []
        explorer.click("#set-up")
        assert nameless(explorer) == []
    explorer.click("#best-line")
    assert nameless(explorer) == []
    explorer.page.click("#new-game")
    assert nameless(explorer) == []
    explorer.page.click("#new-game-cancel")
    explorer.page.evaluate("document.body.append(document.createElement('button'))")
    assert nameless(explorer) == ["- button"]  # it would be noticed


def nameless(explorer: Explorer) -> list[str]:
    lines = [line.strip() for line in explorer.page.locator("body").aria_snapshot().splitlines()]
    assert len(lines) > 20
    return [line for line in lines if re.match(rf'- ({NAMED})\b(?! ["/])', line)]
