"""Pictures of the explorer for the README: each board in the middle of a game, with all hints.

Usage: .venv/bin/python scripts/pictures.py [NAME ...]

Starts `lookup serve` on the packaged tables, plays some moves in Chromium as the tests of the page do,
and writes scripts/pictures/NAME.png.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from playwright.sync_api import sync_playwright

from tests.browser import ARGUMENTS
from tests.explorer import Explorer
from tests.serving import running
from tests.tools import find_chromium

if TYPE_CHECKING:
    from playwright.sync_api import Browser, ViewportSize

FOLDER = Path(__file__).parent / "pictures"
WIDTH, HEIGHT = 1060, 1000  # which leaves about a thousand for what is shown
LARGEST = 120_000  # bytes; a README is read on slow lines, too


class Picture(NamedTuple):
    """A game under way: a table, where it begins, and the moves made so far, of which some are bad.

    The rules are below the board; only where it is small there is room for them.
    """

    table: str
    position: str
    moves: tuple[str, ...]
    rules: bool = False
    theme: str = "light"


ROTA = Picture("rota", ".../.../... x", ("w", "sw", "s", "nw", "ne", "se", "ne-n", "se-e"))
PICTURES = {
    "tactics": Picture("tactics-4x4", "..../..../..../....", ("b2", "a4-d4", "d1-d3", "c1-c3")),
    "rota": ROTA,
    "rota-dark": ROTA._replace(theme="dark"),
    "sticks": Picture("sticks-run-1-2", "|" * 11, ("11", "9", "7", "1-2")),
    "clock": Picture("clock-4-2", "1010", tuple("0XXX000X00XXX0")),
    "letters": Picture(
        "winners-losers-20", "WLLWLWWLWLLW", ("right", "left", "right", "right"), rules=True
    ),
}


def main(names: list[str]) -> None:
    executable = find_chromium()
    if unknown := set(names) - set(PICTURES):
        sys.exit(f"no picture {', '.join(sorted(unknown))}: expected some of {', '.join(PICTURES)}")
    if executable is None:
        sys.exit("no Chromium: scripts/test installs one if it may")
    FOLDER.mkdir(exist_ok=True)
    with running() as server, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=ARGUMENTS)
        for name in names or PICTURES:
            image = take(browser, str(server.client.base_url), PICTURES[name])
            assert len(image) < LARGEST, f"{name} has {len(image)} bytes: expected less than {LARGEST}"
            path = FOLDER / f"{name}.png"
            path.write_bytes(image)
            print(f"{path.relative_to(Path.cwd())}: {len(image):,} bytes")
        browser.close()


def take(browser: Browser, address: str, picture: Picture) -> bytes:
    """The board and what stands beside it, as PNG; what the table says of itself is left out."""
    screen: ViewportSize = {"width": WIDTH, "height": HEIGHT}
    with browser.new_context(base_url=address, viewport=screen) as context:
        page = context.new_page()
        explorer = Explorer(page)
        explorer.open(picture.table, picture.position)
        explorer.choose("theme", picture.theme)
        explorer.hints("best")
        for move in picture.moves:
            explorer.play(move)
        page.mouse.move(0, 0)  # nothing is pointed at
        page.evaluate("document.activeElement.blur()")
        for part in ("#about",) if picture.rules else ("#about", "#how"):
            page.locator(part).evaluate("(part) => { part.hidden = true }")
        return page.locator("main").screenshot()


if __name__ == "__main__":
    main(sys.argv[1:])
