"""How it looks: on a phone, and in light and dark."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.browser import SITE_ALONE
from tests.explorer import Explorer

if TYPE_CHECKING:
    from playwright.sync_api import Page

    from tests.browser import Visit

pytestmark = SITE_ALONE

PHONE = {
    "viewport": {"width": 390, "height": 844},
    "device_scale_factor": 1,
    "has_touch": True,
    "is_mobile": True,
}
LARGE = [
    ("tactics-4x5", "...../...../...../....."),
    ("rota", "x.o/.x./..o x"),
    ("sticks-run-1-2", "|" * 300),
    ("sticks-special-50", "|" * 50),
    ("clock-30-1", "10" * 15),
    ("clock-30-1000", ",".join(["1000"] * 30)),
    ("winners-losers-300", "WLL" * 100),
]

# Text whose contrast with what is behind it is below 4.5, as WCAG counts it: it leaves out what is
# disabled, and asks for 3 of large text.
FAINT = """() => {
  const canvas = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
  const rgba = (colour) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = colour;
    canvas.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
    return [r, g, b, a / 255];
  };
  const over = (colour, ground) =>
    colour.map((part, at) => (at < 3 ? part * colour[3] + ground[at] * (1 - colour[3]) : 1));
  const linear = (part) => (part /= 255) <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  const light = ([r, g, b]) => 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
  const behind = (element) => {
    const { parentElement, previousElementSibling } = element;
    const ground = parentElement ? behind(parentElement) : [255, 255, 255, 1];
    const isOnADisc = parentElement?.tagName === "g" && previousElementSibling?.tagName === "circle";
    const drawn = isOnADisc ? getComputedStyle(previousElementSibling).fill : "none";
    return over(rgba(drawn !== "none" ? drawn : getComputedStyle(element).backgroundColor), ground);
  };
  const seen = (element) => element.checkVisibility({ visibilityProperty: true });
  const isText = ({ nodeType, data }) => nodeType === Node.TEXT_NODE && data.trim();
  const words = (element) => [...element.childNodes].some(isText);
  const found = [];
  let looked = 0;
  for (const element of document.querySelectorAll("body *")) {
    const disabled = element.closest("[aria-disabled=true], :disabled, option, script, noscript");
    if (disabled || !words(element) || !seen(element)) {
      continue;
    }
    looked += 1;
    const style = getComputedStyle(element);
    const ground = behind(element);
    const colour = element.closest("svg") && element.tagName === "text" ? style.fill : style.color;
    const [one, other] = [light(over(rgba(colour), ground)), light(ground)].sort((a, b) => b - a);
    const contrast = (one + 0.05) / (other + 0.05);
    const size = parseFloat(style.fontSize);
    const large = size >= 24 || (size >= 18.66 && style.fontWeight >= 700);
    if (contrast < (large ? 3 : 4.5)) {
      found.push(`${contrast.toFixed(2)}: ${element.outerHTML}`);
    }
  }
  return { looked, found };
}"""


def overflow(page: Page) -> int:
    """By how many pixels the page is wider than its screen, or a board than its place.

    The window is no measure: a phone's grows with the page.
    """
    assert page.viewport_size
    boards = page.locator("#board, #board .row, #board .holder")
    hidden = boards.evaluate_all("(all) => all.map((one) => one.scrollWidth - one.clientWidth)")
    wide = page.evaluate("document.documentElement.scrollWidth") - page.viewport_size["width"]
    return int(max(wide, *hidden))


def test_nothing_is_wider_than_a_phone(visit: Visit) -> None:
    explorer = Explorer(visit(**PHONE))
    page = explorer.page
    for table, position in LARGE:
        explorer.open(table, position)
        explorer.hints("best")
        page.locator("#moves button").first.tap()
        explorer.settle()
        assert len(explorer.history) == 1
        assert overflow(page) == 0, table
        page.locator("#set-up").tap()
        assert overflow(page) == 0, table
    page.locator("#best-line").tap()
    explorer.settle()
    assert overflow(page) == 0
    page.locator("#new-game").tap()
    dialog = page.locator("#new-game-dialog").bounding_box()
    assert dialog is not None
    assert dialog["x"] >= 0
    assert dialog["x"] + dialog["width"] <= 390
    page.locator("#new-game-cancel").tap()
    page.evaluate("document.querySelector('#status').style.width = '500px'")
    assert overflow(page) > 0  # it would be noticed


def test_a_phone_is_played_on_by_taps(visit: Visit) -> None:
    explorer = Explorer(visit(**PHONE))
    explorer.open("tactics-3x3", "XXX/X../...")
    explorer.players("you", "perfect")
    explorer.hints("best")

    def tap(*cells: str) -> None:
        for cell in cells:
            explorer.cell(cell).tap()
        explorer.settle()

    while not explorer.is_over:
        first, _, last = explorer.best.partition("-")
        tap(first, last or first)
    assert explorer.position == "XXX/XXX/XXX"
    explorer.players("you", "you")
    explorer.open("rota", "x.o/.x./..o x")
    tap("s")
    tap("n")
    tap("c", "e")
    assert explorer.position == "xoo/..x/.xo o"
    explorer.open("sticks-run-1-2", "|||||")
    tap("2", "3")
    explorer.page.locator("#take").tap()
    explorer.settle()
    assert explorer.position == "|..||"
    explorer.open("clock-4-2", "1010")
    tap("0")
    assert len(explorer.history) == 1
    explorer.open("winners-losers-20", "WLW")
    tap("right")
    assert explorer.position == "WL"


def test_targets_are_large_enough_for_a_finger(visit: Visit) -> None:
    explorer = Explorer(visit(**PHONE))
    for table, position in LARGE[:4]:
        explorer.open(table, position)
        buttons = explorer.page.locator(":is(button, [role=button], select):visible")
        small = buttons.evaluate_all(
            """(all) => all.map((one) => [one.outerHTML.slice(0, 80), one.getBoundingClientRect()])
                .filter(([, { width, height }]) => Math.min(width, height) < 24)
                .map(([html]) => html)"""
        )
        assert small == [], table  # 24 by 24 is what WCAG 2.2 asks for


def test_text_can_be_read_in_light_and_in_dark(explorer: Explorer) -> None:
    page = explorer.page
    looked = 0
    for table, position in [*LARGE[:2], ("sticks-run-1-2", "||||.|||"), ("clock-4-2", "1010")]:
        explorer.open(table, position)
        explorer.hints("best")
        page.locator("#moves button").last.click()
        explorer.settle()
        page.locator("#moves button").first.click()
        explorer.settle()
        explorer.click("#history [data-at='1']")
        for theme in ("light", "dark"):
            explorer.choose("theme", theme)
            answer = page.evaluate(FAINT)
            assert answer["found"] == [], (table, theme)
            looked += answer["looked"]
    assert looked > 400
    page.evaluate("document.querySelector('#rules').style.color = '#777'")
    assert len(page.evaluate(FAINT)["found"]) == 1  # it would be noticed


def test_the_theme_is_chosen_or_the_system_s(explorer: Explorer) -> None:
    page = explorer.page

    def ground() -> str:
        return str(page.evaluate("getComputedStyle(document.body).backgroundColor"))

    page.emulate_media(color_scheme="light")
    explorer.open("rota")
    light = ground()
    page.emulate_media(color_scheme="dark")
    dark = ground()
    assert light != dark
    explorer.choose("theme", "light")
    assert ground() == light
    page.emulate_media(color_scheme="light")
    explorer.choose("theme", "dark")
    assert ground() == dark
    explorer.hints("none")
    page.reload()  # what was chosen is kept
    page.locator("main").wait_for()
    assert ground() == dark
    assert page.input_value("#hints") == "none"
