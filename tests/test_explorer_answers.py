"""What the page tells, compared with what the library says; and what it does not tell without hints."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

import lookup
from lookup import Outcome
from tests.browser import SITE_ALONE

if TYPE_CHECKING:
    from lookup import Answers, Tablebase
    from tests.explorer import Explorer

PLACES = [
    ("tactics-4x4", "XXXX/..X./..X./...."),
    ("tactics-4x5", "...../...../...../....."),
    ("rota", "x.o/.x./..o x"),
    ("rota-diameters", ".../.../... x"),
    ("sticks-any-1-3", "|||.||||"),
    ("sticks-run-1-2", "||||.||||"),
    ("sticks-special-50", "|" * 12),
    ("sticks-run-2-3", "|||.||||||"),
    ("clock-4-5", "1234"),
    ("clock-3-11", "11,0,7"),
    ("winners-losers-20", "WLWLL"),
    ("winners-losers-50", "WWLLW" * 10),
]
TELLING = ":is(#play, #choose, #past) :is(.win, .draw, .loss, .worth, .badge, .best, .star, .flaw)"
WORDS = r"\b(win|wins|won|loss|loses|lost|draw|best|mistake|slower|grundy)\b"


def answers_for(tables: Tablebase, name: str) -> Answers:
    return tables.get(name) or lookup.closed_form(name)


def test_moves_and_values_are_those_of_the_library(explorer: Explorer, tables: Tablebase) -> None:
    for table, position in PLACES:
        explorer.open(table, position)
        explorer.hints("best")
        if explorer.page.locator("#all-moves").is_visible():
            explorer.click("#all-moves")
        answers = answers_for(tables, table)
        value, moves = answers.probe(position), answers.moves(position)
        expected = [f"{move.text} {move.value}" for move in moves]
        expected[0] += " ★ best"
        assert explorer.moves == expected
        assert explorer.status.endswith(f"to move. {value}") or explorer.status == f"Your move. {value}"
        assert explorer.best == moves[0].text


def test_a_table_is_counted_as_the_library_counts_it(explorer: Explorer, tables: Tablebase) -> None:
    for name in ("tactics-3x3", "rota", "clock-4-2", "sticks-special-50"):
        explorer.open(name)
        table = tables[name]
        counts = {"Won": table.info.wins, "Drawn": table.info.draws, "Lost": table.info.losses}
        total = sum(counts.values())
        shown = explorer.page.locator("#facts dd").all_text_contents()
        assert shown == [f"{count:,} ({100 * count / total:.1f}%)" for count in counts.values()]
        assert f"{table.info.positions:,} positions" in explorer.text("#facts")
        numbers = explorer.page.locator("#facts details", has_text="The numbers")
        numbers.locator("summary").click()
        lines = numbers.locator("tbody tr").all_inner_texts()
        rows = [[int(cell.replace(",", "")) for cell in line.split("\t")] for line in lines]
        histogram = table.histogram()
        wins, losses = histogram[Outcome.WIN], histogram[Outcome.LOSS]
        pairs = enumerate(zip(wins, losses, strict=True))
        assert rows == [[step, won, lost] for step, (won, lost) in pairs if won or lost]
        assert sum(won for _, won, _ in rows) == counts["Won"]
        assert sum(lost for _, _, lost in rows) == counts["Lost"]


def test_the_best_line_is_walked_on_the_board_and_played_on_from(
    explorer: Explorer, tables: Tablebase
) -> None:
    explorer.open("clock-4-2")
    line = tables["clock-4-2"].line()
    explorer.click("#best-line")
    assert explorer.text("#line-length") == "48 commands to the end."
    assert explorer.page.input_value("#line-text") == "".join(move.text for move in line)
    steps = explorer.page.locator("#line-moves button")
    assert steps.all_text_contents() == [f"{at}. {move.text}" for at, move in enumerate(line, 1)]
    explorer.click("#line-forward")
    assert explorer.position == line[0].position
    explorer.click("#line-last")
    assert explorer.position == "0000"
    explorer.click("#line-moves [data-step='10']")
    assert explorer.position == line[9].position
    assert explorer.text("#line-step") == f"Step 10 of 48: {line[9].text}."
    assert (explorer.history, explorer.at) == ([], 0)  # the game itself has waited
    explorer.click("#line-play-on")
    assert explorer.position == line[9].position
    assert explorer.at == 10
    assert not explorer.page.locator("#line").is_visible()


def test_a_line_that_goes_round_is_a_draw(explorer: Explorer, tables: Tablebase) -> None:
    explorer.open("rota")
    explorer.click("#best-line")
    line = tables["rota"].line()
    assert explorer.text("#line-length") == f"{len(line)} moves; then it repeats: a draw."
    assert explorer.page.input_value("#line-text") == " ".join(move.text for move in line)
    explorer.page.keyboard.press("Tab")
    explorer.click("#line-close")
    assert explorer.position == ".../.../... x"


@pytest.mark.parametrize(
    ("table", "position", "moves"),
    [
        ("tactics-4x4", "XXXX/..X./..X./....", ["a2", "b2-b4"]),
        ("rota", "x.o/.x./..o x", ["s", "n"]),
        ("sticks-run-1-2", "||||.||||", ["1", "3-4"]),
        ("winners-losers-20", "WLWLL", ["left", "right"]),
    ],
)
@SITE_ALONE
def test_hints_tell_as_much_as_is_asked_for(
    explorer: Explorer, tables: Tablebase, table: str, position: str, moves: list[str]
) -> None:
    answers = tables[table]
    explorer.open(table, position)
    for move in moves:
        explorer.play(move)
    told = explorer.page.locator(TELLING)
    best = answers.moves(explorer.position)

    explorer.hints("none")
    if table != "winners-losers-20":  # where a press is a move
        explorer.press(explorer.possible[0])
    assert told.count() == 0
    for part in ("#status", "#board", "#moves", "#history"):
        assert not re.search(WORDS, explorer.page.locator(part).inner_html()), part
    assert explorer.page.locator("#chart svg").count() == 0
    explorer.page.keyboard.press("Escape")
    assert sorted(explorer.moves) == sorted(move.text for move in best)
    by_name = sorted(explorer.moves, key=lambda move: [int(n) for n in re.findall(r"\d+", move)])
    assert explorer.moves == (by_name if table.startswith("sticks") else sorted(explorer.moves))

    explorer.hints("value")
    assert told.count() > 0
    assert explorer.moves == [f"{move.text} {move.value.outcome}" for move in best]
    assert explorer.page.locator("#chart .chart-dot").count() == len(moves) + 1
    assert not explorer.marked("best")

    explorer.hints("distance")
    assert explorer.moves == [f"{move.text} {move.value}" for move in best]
    assert explorer.status.endswith(str(answers.probe(explorer.position)))
    assert not explorer.marked("best")

    explorer.hints("best")
    assert explorer.moves[0].endswith("★ best")
    assert explorer.marked("best")


def possible(explorer: Explorer) -> list[str]:
    """What can be pressed; it has to look so, too."""
    assert explorer.marked("can") == explorer.possible
    return explorer.possible


@SITE_ALONE
def test_impossible_moves_cannot_be_made(explorer: Explorer) -> None:
    explorer.open("tactics-3x3", "X../.X./...")
    assert possible(explorer) == ["b1", "c1", "a2", "c2", "a3", "b3", "c3"]
    explorer.press_in_vain("a1")
    explorer.press("b1")
    assert possible(explorer) == ["b1", "c1"]
    explorer.press_in_vain("a3")
    explorer.drag("a2", "c2")
    assert explorer.position == "X../.X./..."

    explorer.open("rota", "xo./.x./o.. x")
    assert possible(explorer) == ["ne", "w", "e", "s", "se"]
    explorer.press_in_vain("nw")
    explorer.open("rota", "xox/oxo/... x")
    assert possible(explorer) == ["c"]  # the others have nowhere to go to
    explorer.press("c")
    assert possible(explorer) == ["c", "sw", "s", "se"]
    explorer.press_in_vain("n")
    explorer.press("c")
    assert explorer.position == "xox/oxo/... x"

    explorer.open("sticks-run-2-3", "|||.|.||||")
    assert possible(explorer) == ["1", "2", "3", "7", "8", "9", "10"]
    explorer.press_in_vain("5")  # it stands alone, and a move takes two at least
    assert explorer.page.locator("#take").is_disabled()
    explorer.press("8")
    assert possible(explorer) == ["7", "8", "9", "10"]
    explorer.press("10")  # the two ends of a run mean the run
    assert explorer.marked("picked") == ["8", "9", "10"]
    assert possible(explorer) == ["8", "9", "10"]
    assert explorer.text("#take") == "Take 8-10"

    explorer.open("clock-4-2", "0000")
    explorer.press_in_vain("X")
    explorer.page.keyboard.press("0")
    assert explorer.history == []
