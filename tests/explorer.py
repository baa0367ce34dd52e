"""The explorer as a person sees and uses it, so that tests read like what somebody does.

Every action ends when the page has settled: no answer and no machine's move is awaited any more. What
the page's parts are called stands at the head of lookup/service/static/explorer.js.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import quote

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

POINTS = ("nw", "n", "ne", "w", "c", "e", "sw", "s", "se")

# All that following a hint needs, at once: games have many moves.
SEEN = """() => [
    document.querySelector("#table-name").textContent,
    document.querySelector("#board").dataset.position,
    document.querySelector("#moves .best")?.dataset.move ?? "",
    [...document.querySelectorAll("#board [data-cell].best")].map((cell) => cell.dataset.cell),
]"""


class Explorer:
    """One page. Its parts are read as text; `page` is there for all else."""

    def __init__(self, page: Page) -> None:
        self.page = page
        page.emulate_media(reduced_motion="reduce")

    # --- going somewhere ----------------------------------------------------------------------------

    def open(self, table: str, position: str | None = None) -> None:
        """By address, as from a link."""
        if position is None:
            self.page.goto(f"/#{table}")
            self.page.wait_for_url(lambda url: f"#{table}=" in url)  # filled in when all is there
        else:
            self.page.goto(f"/#{table}={quote(position, safe='/,')}")
            self.page.locator(f'main:has(#table-name:text-is("{table}"))').wait_for()
            self.page.locator(f'#board[data-position="{position}"]').wait_for()
        self.settle()

    def settle(self) -> None:
        self.page.locator("body:not([data-busy])").wait_for(state="attached")

    def new_game(self, family: str, **fields: str | int) -> None:
        """By the dialog; `mode=3` is the field #new-mode."""
        self.click("#new-game")
        self.page.select_option("#new-family", family)
        for name, value in fields.items():
            field = self.page.locator(f"#new-{name.replace('_', '-')}")
            if field.evaluate("field => field.matches('select')"):
                field.select_option(str(value))
            else:
                field.fill(str(value))
        self.click("#start")
        self.page.locator("#new-game-dialog").wait_for(state="hidden")
        self.settle()

    # --- choosing -----------------------------------------------------------------------------------

    def hints(self, level: str) -> None:
        self.choose("hints", level)

    def players(self, first: str, second: str | None = None) -> None:
        self.choose("first", first)
        if second is not None:
            self.choose("second", second)

    def choose(self, name: str, value: str) -> None:
        self.page.select_option(f"#{name}", value)
        self.settle()

    def click(self, selector: str) -> None:
        self.page.locator(selector).click()
        self.settle()

    # --- the board ----------------------------------------------------------------------------------

    def cell(self, name: str) -> Locator:
        return self.page.locator(f'#board [data-cell="{name}"]')

    def press(self, name: str) -> None:
        """A click, which waits in vain for a cell that is disabled."""
        self.cell(name).click()
        self.settle()

    def press_in_vain(self, name: str) -> None:
        """A click on whatever is there, though it is disabled."""
        assert self.cell(name).get_attribute("aria-disabled") == "true"
        self.cell(name).click(force=True)
        self.settle()

    def drag(self, first: str, last: str) -> None:
        mouse = self.page.mouse
        mouse.move(*middle(self.cell(first)))
        mouse.down()
        mouse.move(*middle(self.cell(last)), steps=4)
        mouse.up()
        self.settle()

    def play(self, move: str) -> None:
        """Makes a move on the board: by its ends, by piece and target, stick by stick."""
        self._make(self.table, move)

    def _make(self, table: str, move: str) -> None:
        if table.startswith("sticks"):
            for stick in cells_of(table, move):
                if self.cell(stick).get_attribute("aria-pressed") == "false":
                    self.cell(stick).click()
            self.page.locator("#take").click()
        else:
            for cell in presses(table, move):
                self.cell(cell).click()
        self.settle()

    def follow(self) -> str:
        """Makes the move that is called best, of which the board has to mark all cells and no other.

        Without a best move, as when the game is over, nothing happens: the move is empty.
        """
        table, position, move, marked = self.page.evaluate(SEEN)
        if move:
            # A single letter is both ends of its row.
            assert marked == cells_of(table, move) or len(position) == 1, (position, move)
            self._make(table, move)
        return str(move)

    def marked(self, mark: str) -> list[str]:
        """The cells with a class such as best or last, as they are ordered on the board."""
        return self._all(f"#board [data-cell].{mark}", "cell")

    @property
    def position(self) -> str:
        return self.page.locator("#board").get_attribute("data-position") or ""

    @property
    def possible(self) -> list[str]:
        """The cells that can be pressed."""
        return self._all('#board [data-cell][aria-disabled="false"]', "cell")

    # --- the rest of the page -----------------------------------------------------------------------

    @property
    def table(self) -> str:
        return self.text("#table-name")

    @property
    def status(self) -> str:
        return self.text("#status")

    @property
    def error(self) -> str:
        return self.text("#error")

    @property
    def is_over(self) -> bool:
        return "The game is over" in self.status

    @property
    def best(self) -> str:
        (move,) = self._all("#moves .best", "move")
        return move

    @property
    def moves(self) -> list[str]:
        """Each with as much of its value as hints tell."""
        return self.page.locator("#moves button").all_text_contents()

    @property
    def history(self) -> list[str]:
        """The moves so far, with what was wrong with them."""
        return self.page.locator("#history button").all_text_contents()[1:]

    @property
    def at(self) -> int:
        """How many moves of the history have been made; the others are undone."""
        current = self.page.locator("#history [aria-current=step]")
        return int(current.get_attribute("data-at") or -1)

    @property
    def link(self) -> str:
        return str(self.page.evaluate("location.hash"))

    @property
    def focused(self) -> str:
        """What has the focus: the name of a cell, else an id, else a tag."""
        script = "(({dataset, id, tagName}) => dataset.cell || id || tagName)(document.activeElement)"
        return str(self.page.evaluate(script))

    def text(self, selector: str) -> str:
        return self.page.locator(selector).text_content() or ""

    def _all(self, selector: str, name: str) -> list[str]:
        script = "(all, name) => all.map((one) => one.dataset[name])"
        return list(self.page.locator(selector).evaluate_all(script, name))


def middle(cell: Locator) -> tuple[float, float]:
    box = cell.bounding_box()
    assert box is not None
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def presses(table: str, move: str) -> list[str]:
    """The cells to press for a move: one twice if it is both ends of a run."""
    ends = move.split("-")
    return ends * 2 if table.startswith("tactics") and len(ends) == 1 else ends


def cells_of(table: str, move: str) -> list[str]:
    """All cells of a move, as they are ordered on the board."""
    if table.startswith("sticks"):
        parts = [[int(end) for end in part.split("-")] for part in move.split(",")]
        return [str(stick) for part in parts for stick in range(part[0], part[-1] + 1)]
    if table.startswith("rota"):
        return sorted(move.split("-"), key=POINTS.index)
    if table.startswith("tactics"):
        ends = [(ord(end[0]), int(end[1:])) for end in move.split("-")]
        (left, top), (right, bottom) = ends[0], ends[-1]
        rows, columns = range(top, bottom + 1), range(left, right + 1)
        return [f"{chr(column)}{row}" for row in rows for column in columns]
    return [move]
