"""Winners and Losers against minimax, the AND/OR triangle of its text, and the law of the middle."""

from __future__ import annotations

import random
import re
from functools import cache
from itertools import pairwise, product
from typing import TYPE_CHECKING

import pytest

import lookup
from builder.compile import Engine
from builder.solvers import ordered
from lookup import InvalidMoveError, InvalidParameterError, InvalidPositionError, Outcome, Value
from lookup.blocks import unpack
from lookup.games.winners_losers import WinnersLosers
from tests.solving import solve

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@cache
def mover_wins(letters: str) -> bool:
    if len(letters) == 1:
        return letters == "W"
    return not mover_wins(letters[1:]) or not mover_wins(letters[:-1])


def triangle(letters: str) -> bool:
    """Whether whoever takes the last letter wins: neighbours by AND, then by OR, and so on."""
    row = [letter == "W" for letter in letters]
    takes_all = True
    while len(row) > 1:
        row = [a and b if takes_all else a or b for a, b in pairwise(row)]
        takes_all = not takes_all
    return row[0]


def strings(longest: int) -> list[str]:
    return ["".join(word) for length in range(1, longest + 1) for word in product("LW", repeat=length)]


def test_the_table_is_minimax_for_every_string_of_up_to_16(built: Callable[[str], Path]) -> None:
    with lookup.open_table(built("winners-losers-16")) as table:
        for text in strings(16):
            expected = Outcome.WIN if mover_wins(text) else Outcome.LOSS
            assert table.probe(text) == Value(expected, len(text))
    mover_wins.cache_clear()


def test_the_triangle_agrees_with_the_table(tables: lookup.Tablebase) -> None:
    table, chance = tables["winners-losers-20"], random.Random(3)
    for length in range(1, 21):
        for _ in range(200):
            text = "".join(chance.choices("WL", k=length))
            mover_takes_the_last = length % 2 == 1
            won = triangle(text) == mover_takes_the_last
            assert (table.probe(text).outcome is Outcome.WIN) == won, text


def test_the_law_is_the_table_for_every_string(built: Callable[[str], Path]) -> None:
    law = lookup.closed_form("winners-losers")
    with lookup.open_table(built("winners-losers-12")) as table:
        for text in strings(12):
            assert law.probe(text) == table.probe(text)
            assert law.moves(text) == table.moves(text)


def test_the_law_answers_strings_of_any_length() -> None:
    law, chance = lookup.closed_form("winners-losers"), random.Random(5)
    for length in (40, 55, 301):
        text = "".join(chance.choices("WL", k=length))
        assert (law.probe(text).outcome is Outcome.WIN) == (triangle(text) == (length % 2 == 1))
        line = law.line(text)
        assert len(line) == length
        # The players take turns, and the winner keeps winning.
        outcomes = [move.value.outcome for move in line]
        assert set(outcomes[::2]) == {law.probe(text).outcome}
        assert set(outcomes[1::2]) == {-law.probe(text).outcome}
    assert law.probe("W" * 100_001).outcome is Outcome.WIN


def test_the_index_is_the_public_one() -> None:
    game = WinnersLosers(3)
    in_order = [game.format(index) for index in range(game.size)]
    assert in_order == [
        "L", "W", "LL", "WL", "LW", "WW", "LLL", "WLL", "LWL", "WWL", "LLW", "WLW", "LWW", "WWW",
    ]  # fmt: skip
    assert WinnersLosers(5).parse("WLWLL") == 2**5 - 2 + 0b00101


def test_the_last_letter_ends_the_game(tables: lookup.Tablebase) -> None:
    table = tables["winners-losers-20"]
    for letter, outcome in (("W", Outcome.WIN), ("L", Outcome.LOSS)):
        moves = table.moves(letter)
        assert [(move.text, move.position, move.value) for move in moves] == [
            ("left", "", Value(outcome, 0)),
            ("right", "", Value(outcome, 0)),
        ]
        assert table.line(letter) == moves[:1]
        assert table.move(letter, "right") == moves[1]
    with pytest.raises(InvalidMoveError, match=r"'top' is not a legal move in 'WL'"):
        table.move("WL", "top")


def test_a_line_takes_one_letter_at_a_time(tables: lookup.Tablebase) -> None:
    line = tables["winners-losers-20"].line("WLWLL")
    assert [len(move.position) for move in line] == [4, 3, 2, 1, 0]
    assert [move.value.remoteness for move in line] == [4, 3, 2, 1, 0]


@pytest.mark.parametrize("engine", Engine)
def test_the_solver_gives_the_same_columns_with_both_engines(engine: Engine) -> None:
    solution = solve(ordered.OrderedPlan, WinnersLosers(9), engine)
    outcome, remoteness = (
        unpack(part.data, part.column.bits, part.column.items).tolist() for part in solution.columns
    )
    everything = strings(9)
    in_order = sorted(everything, key=WinnersLosers(9).parse)
    assert outcome == [mover_wins(text) for text in in_order]
    assert remoteness == [len(text) for text in in_order]
    assert solution.totals.counts == (outcome.count(0), 0, outcome.count(1))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "one or more letters, each W or L"),
        ("WXL", "one or more letters, each W or L"),
        ("wl", "one or more letters, each W or L"),
        ("W" * 21, "at most 20 letters"),
    ],
)
def test_bad_strings_are_explained(text: str, expected: str, tables: lookup.Tablebase) -> None:
    words = f"{text!r} is not a position: expected {expected}"
    for ask in (tables["winners-losers-20"].probe, tables["winners-losers-20"].moves):
        with pytest.raises(InvalidPositionError, match=re.escape(words)):
            ask(text)


def test_bad_lengths_are_explained() -> None:
    with pytest.raises(InvalidParameterError, match="length cannot be 0"):
        WinnersLosers(0)


def test_a_closed_form_that_is_not_there_is_explained() -> None:
    with pytest.raises(
        InvalidParameterError, match="expected one of sticks-any, sticks-run, clock, winners-losers"
    ):
        lookup.closed_form("rota")
    with pytest.raises(lookup.UnknownGameError, match="'chess' names no game"):
        lookup.closed_form("chess", n=8)
    with pytest.raises(InvalidParameterError, match="expected exactly n, k"):
        lookup.closed_form("clock", n=8)
