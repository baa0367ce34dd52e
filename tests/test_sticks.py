"""Sticks against a twin that knows the words of the rules and no more: sets of sticks, as bits."""

from __future__ import annotations

from contextlib import ExitStack
from functools import cache, partial
from itertools import count, groupby, pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pytest

from lookup import (
    InvalidMoveError,
    InvalidParameterError,
    InvalidPositionError,
    Outcome,
    Tablebase,
    UnknownGameError,
    Value,
    closed_form,
    find_game,
    open_table,
)
from lookup.games.sticks_heaps import DEFAULT_HEAPS, SticksAny, SticksRun
from lookup.games.sticks_special import SticksSpecial

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from lookup import Game, Table

LOSS, WIN = Outcome.LOSS, Outcome.WIN
PLACES, LONGEST_ROW = 11, 16


class Mode(NamedTuple):
    """A rule and its table; `sums` are those whose table holds no remoteness."""

    table: str
    allows: Callable[[Sequence[int]], bool]
    sums: bool = False
    places: int = PLACES


def side_by_side(sticks: Sequence[int]) -> bool:
    return all(right == left + 1 for left, right in pairwise(sticks))


def anywhere(fewest: int, most: int, places: int = PLACES) -> Mode:
    return Mode(
        f"sticks-any-{fewest}-{most}", lambda sticks: fewest <= len(sticks) <= most, places=places
    )


def in_a_run(fewest: int, most: int, places: int = PLACES) -> Mode:
    return Mode(
        f"sticks-run-{fewest}-{most}-to40",
        lambda sticks: fewest <= len(sticks) <= most and side_by_side(sticks),
        sums=True,
        places=places,
    )


SPECIAL = Mode(
    "sticks-special-16",
    lambda sticks: len(sticks) in (1, 2) or (len(sticks) == 3 and side_by_side(sticks)),
    places=LONGEST_ROW,
)
ANY = [
    anywhere(1, 1),
    anywhere(1, 2, LONGEST_ROW),
    anywhere(1, 3),
    anywhere(2, 2),
    anywhere(2, 3),
    anywhere(2, 4),
    anywhere(3, 3),
    anywhere(3, 5),
]
RUN = [
    in_a_run(1, 1),
    in_a_run(1, 2, LONGEST_ROW),
    in_a_run(1, 3),
    in_a_run(2, 2),
    in_a_run(2, 3),
    in_a_run(2, 5),
    in_a_run(3, 3),
    in_a_run(4, 6),
]
MODES = [*ANY, *RUN, SPECIAL]
BY_TABLE = {mode.table: mode for mode in MODES}
TABLES = list(BY_TABLE)


def sticks_in(mask: int) -> list[int]:
    """The numbers of the sticks, from 1."""
    return [at + 1 for at in range(mask.bit_length()) if mask >> at & 1]


def row(left: int, places: int) -> str:
    return "".join("|" if left >> at & 1 else "." for at in range(places))


def with_hyphens(sticks: Sequence[int]) -> str:
    """As the rules write a move: `2,5` and `4-6`."""
    words = []
    for _, stretch in groupby(enumerate(sticks), lambda pair: pair[1] - pair[0]):
        run = [stick for _, stick in stretch]
        words.append(f"{run[0]}-{run[-1]}" if len(run) > 1 else f"{run[0]}")
    return ",".join(words)


@cache
def raw_moves(table: str, places: int) -> list[int]:
    """Every set of sticks that may be taken at once, if all of them are there."""
    allows = BY_TABLE[table].allows
    return [taken for taken in range(1, 1 << places) if allows(sticks_in(taken))]


@cache
def twin(table: str) -> list[Value]:
    """The value of every set of sticks: a set comes after all that can be left of it."""
    mode = BY_TABLE[table]
    moves = raw_moves(table, mode.places)
    known: list[tuple[int, int]] = []
    for left in range(1 << mode.places):
        after = {known[left ^ taken] for taken in moves if taken & left == taken}
        reached = {grundy for grundy, _ in after}
        grundy = next(number for number in count() if number not in reached)
        if grundy:
            plies = 1 + min(plies for value, plies in after if value == 0)
        else:
            plies = 1 + max(plies for _, plies in after) if after else 0
        known.append((grundy, plies))
    return [
        Value(WIN if grundy else LOSS, None if mode.sums else plies, grundy) for grundy, plies in known
    ]


def legal(table: str, left: int) -> list[int]:
    return [taken for taken in raw_moves(table, left.bit_length()) if taken & left == taken]


@pytest.fixture(scope="module")
def opened(built: Callable[[str], Path]) -> Iterator[Callable[[str], Table]]:
    """A table by its name, built and opened when first asked for."""
    with ExitStack() as stack:
        yield cache(lambda name: stack.enter_context(open_table(built(name))))


# --- values and moves of all sets of sticks -------------------------------------------------------


@pytest.mark.parametrize("name", TABLES)
def test_every_subset_of_eleven_sticks_agrees_with_the_twin(
    name: str, opened: Callable[[str], Table]
) -> None:
    values = twin(name)
    table = opened(name)
    for left in range(1 << PLACES):
        assert table.probe(row(left, PLACES)) == values[left], row(left, PLACES)


@pytest.mark.parametrize("name", TABLES)
def test_whole_rows_agree_with_the_twin(name: str, opened: Callable[[str], Table]) -> None:
    values = twin(name)
    table = opened(name)
    for sticks in range(1, BY_TABLE[name].places + 1):
        assert table.probe("|" * sticks) == values[(1 << sticks) - 1]


@pytest.mark.parametrize("name", TABLES)
def test_every_set_of_sticks_is_a_move_if_and_only_if_the_rules_say_so(
    name: str, opened: Callable[[str], Table]
) -> None:
    places = 6
    values, allowed = twin(name), set(raw_moves(name, places))
    table = opened(name)
    for left in range(1 << places):
        text = row(left, places)
        for taken in range(1, 1 << places):
            sticks = sticks_in(taken)
            words = ",".join(map(str, sticks))
            if taken & left == taken and taken in allowed:
                found = table.move(text, words)
                assert found.text == with_hyphens(sticks)
                assert found.position == row(left ^ taken, places)
                assert found.value == -values[left ^ taken]
                assert table.move(text, found.text) == found
            else:
                with pytest.raises(InvalidMoveError):
                    table.move(text, words)


@pytest.mark.parametrize("name", [mode.table for mode in (*RUN, SPECIAL)])
def test_all_moves_are_listed(name: str, opened: Callable[[str], Table]) -> None:
    places = 9
    values = twin(name)
    table = opened(name)
    for left in range(1 << places):
        expected = [
            (with_hyphens(sticks_in(taken)), row(left ^ taken, places), -values[left ^ taken])
            for taken in legal(name, left)
        ]
        assert sorted(table.moves(row(left, places))) == sorted(expected)


@pytest.mark.parametrize("name", [mode.table for mode in ANY])
def test_one_move_is_listed_for_each_number_of_sticks(
    name: str, opened: Callable[[str], Table]
) -> None:
    places = 9
    values = twin(name)
    table = opened(name)
    for left in range(1 << places):
        numbers = {taken.bit_count() for taken in legal(name, left)}
        expected = []
        for number in numbers:
            first = sticks_in(left)[:number]
            rest = left ^ sum(1 << stick - 1 for stick in first)
            expected.append((with_hyphens(first), row(rest, places), -values[rest]))
        assert sorted(table.moves(row(left, places))) == sorted(expected)


@pytest.mark.parametrize("name", TABLES)
def test_best_moves_keep_the_value_and_stand_first(name: str, opened: Callable[[str], Table]) -> None:
    """A winner hurries; a loser holds out as long as the twin says is possible."""
    places = 8
    values = twin(name)
    table = opened(name)
    for left in range(1 << places):
        text = row(left, places)
        best, moves = table.best(text), table.moves(text)
        assert best == (moves[0] if moves else None)
        assert (best is None) == (not legal(name, left))
        if best:
            assert best.value.outcome is values[left].outcome
            outcomes = [move.value.outcome for move in moves]
            assert outcomes == sorted(outcomes, reverse=True)
            if (plies := values[left].remoteness) is not None:
                assert best.value.remoteness == plies - 1


@pytest.mark.parametrize("name", TABLES)
def test_a_line_of_best_play_is_as_long_as_the_twin_says_and_the_winner_moves_last(
    name: str, opened: Callable[[str], Table]
) -> None:
    values = twin(name)
    table = opened(name)
    for left in range(1, 1 << 8, 5):
        line = table.line(row(left, 8))
        end = row(left, 8) if not line else line[-1].position
        assert not table.moves(end)
        assert (len(line) % 2 == 1) == (values[left].outcome is WIN)
        if values[left].remoteness is not None:
            assert len(line) == values[left].remoteness


def test_the_twins_have_wins_and_losses_and_values_that_differ() -> None:
    """Otherwise the comparisons above would show nothing."""
    for name in TABLES:
        values = twin(name)[: 1 << PLACES]
        assert {value.outcome for value in values} == {LOSS, WIN}
    assert max(value.grundy or 0 for value in twin("sticks-run-1-2-to40")) >= 7
    assert max(value.remoteness or 0 for value in twin("sticks-special-16")) >= 8


def test_two_segments_of_the_special_game_are_not_a_sum(opened: Callable[[str], Table]) -> None:
    """Two equal segments would be a loss; one move takes a stick of each."""
    table = opened("sticks-special-16")
    one, two = table.probe("|"), table.probe("|.|")
    assert one.grundy == 1
    assert two == Value(WIN, 1, 2)
    assert table.move("|.|", "1,3").value == Value(WIN, 0, 0)


@pytest.mark.parametrize("name", TABLES)
def test_places_of_taken_sticks_at_the_ends_change_nothing(
    name: str, opened: Callable[[str], Table]
) -> None:
    table = opened(name)
    for text in ("|", "||.|||", "|||||"):
        assert table.probe(f"...{text}..") == table.probe(text)
    nothing = Value(LOSS, None if BY_TABLE[name].sums else 0, 0)
    assert table.probe(".") == table.probe("....") == nothing
    assert table.moves("....") == []
    assert table.best(".") is None


def test_a_stick_keeps_its_number_when_others_are_taken(opened: Callable[[str], Table]) -> None:
    table = opened("sticks-run-1-2-to40")
    assert table.move(".||.|", "5").position == ".||.."
    assert table.move(".||.|", "2-3") == table.move(".||.|", "2,3")
    assert table.move(".||.|", "3-3").text == "3"


# --- published values -----------------------------------------------------------------------------

KAYLES = """
0 1 2 3 1 4 3 2 1 4 2 6   4 1 2 7 1 4 3 2 1 4 6 7   4 1 2 8 5 4 7 2 1 8 6 7   4 1 2 3 1 4 7 2 1 8 2 7
4 1 2 8 1 4 7 2 1 4 2 7   4 1 2 8 1 4 7 2 1 8 6 7   4 1 2 8 1 4 7 2 1 8 2 7   4 1 2 8 1 4 7 2 1 8 2 7
"""
DAWSON = """
0 0 1 1 2 0 3 1 1 0 3 3 2 2 4 0 5 2 2 3 3 0 1 1 3 0 2 1 1 0 4 5 2 7
4 0 1 1 2 0 3 1 1 0 3 3 2 2 4 4 5 5 2 3 3 0 1 1 3 0 2 1 1 0 4 5 3 7
4 8 1 1 2 0 3 1 1 0 3 3 2 2 4 4 5 5 9 3 3 0 1 1 3 0 2 1 1 0 4 5 3 7
"""


class Published(NamedTuple):
    table: str
    values: str
    preperiod: int
    period: int


PUBLISHED = [
    Published("sticks-run-1-2", KAYLES, 71, 12),
    Published("sticks-run-2-2", DAWSON, 53, 34),
]


@pytest.mark.parametrize("known", PUBLISHED, ids=["Kayles", "Dawson's Kayles"])
def test_published_values_and_periods(known: Published, opened: Callable[[str], Table]) -> None:
    values = [int(value) for value in known.values.split()]
    table = opened(known.table)
    stored = [table.probe_index(heap) for heap in range(table.info.size)]
    assert [value.grundy for value in stored[: len(values)]] == values
    repeated = values[-known.period :]
    for heap, value in enumerate(stored[len(values) :], len(values)):
        grundy = repeated[(heap - len(values)) % known.period]
        assert value == Value(WIN if grundy else LOSS, None, grundy)
    last = known.preperiod - 1
    assert stored[last] != stored[last + known.period]
    assert f'"period":{known.period},' in table.info.period
    assert f'"preperiod":{known.preperiod}}}' in table.info.period


@pytest.mark.parametrize("known", PUBLISHED, ids=["Kayles", "Dawson's Kayles"])
def test_rows_of_any_length_repeat_the_published_period(
    known: Published, opened: Callable[[str], Table]
) -> None:
    values = [int(value) for value in known.values.split()]
    repeated = values[-known.period :]
    far = [10_000, 10_001, 10_002, 123_456, *range(10**12, 10**12 + known.period), 2**62]
    table = opened(known.table)
    for heap in far:
        grundy = repeated[(heap - len(values)) % known.period]
        assert table.probe_index(heap).grundy == grundy
    assert table.probe("|" * 12_345) == table.probe_index(12_345)
    some = [*far, 0, 1, 7]
    many = table.probe_many(some)
    assert many.remoteness is None
    assert many.grundy is not None
    assert many.grundy.tolist() == [table.probe_index(heap).grundy for heap in some]
    assert many.outcome.tolist() == [table.probe_index(heap).outcome for heap in some]
    shaped = table.probe_many(np.array(some[:6]).reshape(2, 3))
    assert shaped.grundy is not None
    assert shaped.grundy.tolist() == [many.grundy.tolist()[:3], many.grundy.tolist()[3:6]]
    assert shaped.outcome.shape == (2, 3)


def test_long_rows_of_several_segments_are_the_sum_of_them(opened: Callable[[str], Table]) -> None:
    kayles = [int(value) for value in KAYLES.split()]
    table = opened("sticks-run-1-2")
    for lengths in ((20_000, 5), (9_999, 10_001, 3), (4, 4), (84, 72, 12_000)):
        text = ".".join("|" * length for length in lengths)
        grundy = 0
        for length in lengths:
            grundy ^= kayles[length] if length < 72 else kayles[72 + length % 12]
        assert table.probe(text) == Value(WIN if grundy else LOSS, None, grundy)


def test_one_stick_at_a_time_is_a_matter_of_parity(opened: Callable[[str], Table]) -> None:
    for name in ("sticks-run-1-1-to40", "sticks-any-1-1"):
        table = opened(name)
        assert [table.probe_index(n).grundy for n in range(41)] == [n % 2 for n in range(41)]


def test_remoteness_grows_from_period_to_period(opened: Callable[[str], Table]) -> None:
    """Two moves together take five of two to three sticks, and leave what is lost lost."""
    table = opened("sticks-any-2-3")
    for sticks in (*range(90, 120), 10**12, 10**12 + 1, 10**12 + 2, 10**12 + 3, 10**12 + 4):
        fives, rest = divmod(sticks, 5)
        won = rest >= 2
        expected = Value(WIN if won else LOSS, 2 * fives + won, rest // 2)
        assert table.probe_index(sticks) == expected
        many = table.probe_many([sticks, 0])
        assert many.remoteness is not None
        assert many.grundy is not None
        assert (many.outcome[0], many.remoteness[0], many.grundy[0]) == expected
        assert (many.outcome[1], many.remoteness[1], many.grundy[1]) == (LOSS, 0, 0)
    assert table.probe("|" * 777) == table.probe_index(777)


# --- a table without a period ---------------------------------------------------------------------


def refusal(ask: Callable[[], object]) -> str:
    """The sentence with which a position is refused."""
    with pytest.raises(InvalidPositionError) as caught:
        ask()
    message = str(caught.value)
    assert "is not a position: expected" in message
    assert "\n" not in message
    assert ". " not in caught.value.expected
    return message


def test_without_a_period_longer_rows_are_refused(opened: Callable[[str], Table]) -> None:
    table = opened("sticks-run-1-3-to600")
    assert not table.info.period
    asked: list[Callable[[], object]] = [
        lambda: table.probe("|" * 601),
        lambda: table.probe(f"|.{'|' * 601}"),
        lambda: table.probe_index(601),
        lambda: table.probe_many([601]),
        lambda: table.probe_many([[0, 600], [601, 3]]),
    ]
    for ask in asked:
        assert "expected heaps of at most 600" in refusal(ask)
    assert "1000000000000" in refusal(lambda: table.probe_index(10**12))
    assert "1000000000000" in refusal(lambda: table.probe_many([5, 10**12]))
    assert table.get("|" * 601) is None
    refusal(lambda: table.moves("|" * 700))
    refusal(lambda: table.move("|" * 700, "1"))


def test_without_a_period_the_longest_segments_are_still_answered(
    opened: Callable[[str], Table],
) -> None:
    table = opened("sticks-run-1-3-to600")
    longest = table.probe_index(600)
    assert table.probe("|" * 600) == longest
    assert table.probe(f"{'|' * 600}.{'|' * 600}") == Value(LOSS, None, 0)
    assert table.probe_many([600]).outcome.tolist() == [longest.outcome]


@pytest.mark.parametrize("name", ["sticks-run-1-2", "sticks-run-1-3-to600", "sticks-any-2-3"])
def test_negative_indices_are_refused_with_and_without_a_period(
    name: str, opened: Callable[[str], Table]
) -> None:
    table = opened(name)
    assert refusal(lambda: table.probe_index(-1)).startswith("-1 ")
    assert refusal(lambda: table.probe_many([3, -1])).startswith("-1 ")
    assert refusal(lambda: table.probe_many([10**9, -1]))


# --- rows of the special game ---------------------------------------------------------------------


def test_special_rows_are_answered_if_their_segments_fit_and_refused_otherwise(
    opened: Callable[[str], Table],
) -> None:
    places, fits = 9, 5
    values = twin("sticks-special-16")
    answered = refused = 0
    table = opened(f"sticks-special-{fits}")
    for left in range(1 << places):
        text = row(left, places)
        segments = [segment for segment in text.split(".") if segment]
        if len(".".join(segments)) <= fits:
            assert table.probe(text) == values[left]
            assert {move.position for move in table.moves(text)} == {
                row(left ^ taken, places) for taken in legal("sticks-special-16", left)
            }
            answered += 1
        else:
            assert refusal(partial(table.probe, text)).startswith(repr(text))
            assert refusal(partial(table.moves, text)).startswith(repr(text))
            assert table.get(text) is None
            refused += 1
    assert min(answered, refused) > 100


def test_gaps_of_any_width_are_the_same_special_position(opened: Callable[[str], Table]) -> None:
    table = opened("sticks-special-5")
    assert table.probe(f"||{'.' * 500}||") == table.probe("||.||")
    assert table.move(f"||{'.' * 500}||", "1,504").position == f".|{'.' * 500}|."


@pytest.mark.parametrize(
    "move",
    [
        "1",
        "4",
        "1,3",
        "1,7",
        "3-5",
    ],
)
def test_a_move_in_a_special_row_that_does_not_fit_is_refused_for_the_row(
    move: str, opened: Callable[[str], Table]
) -> None:
    table = opened("sticks-special-5")
    assert refusal(lambda: table.move("|||||||", move)).startswith("'|||||||'")


# --- closed form ----------------------------------------------------------------------------------


def count_down(fewest: int, most: int, longest: int) -> list[Value]:
    """Values by the number of sticks alone, from the definitions."""
    values: list[Value] = []
    for sticks in range(longest + 1):
        after = [values[sticks - taken] for taken in range(fewest, most + 1) if taken <= sticks]
        grundy = next(number for number in count() if number not in {value.grundy for value in after})
        quick = [value.remoteness or 0 for value in after if value.outcome is LOSS]
        slow = [value.remoteness or 0 for value in after]
        if quick:
            values.append(Value(WIN, 1 + min(quick), grundy))
        else:
            values.append(Value(LOSS, 1 + max(slow) if slow else 0, grundy))
    return values


@pytest.mark.parametrize(("fewest", "most"), [(a, b) for a in range(1, 7) for b in range(a, 7)])
def test_the_closed_form_the_table_and_the_definition_agree(
    fewest: int, most: int, opened: Callable[[str], Table]
) -> None:
    formula = closed_form("sticks-any", min=fewest, max=most)
    expected = count_down(fewest, most, 60)
    assert formula.probe(".") == expected[0]
    table = opened(f"sticks-any-{fewest}-{most}")
    assert table.probe(".") == expected[0]
    for sticks in range(1, 61):
        text = "|" * sticks
        assert formula.probe(text) == expected[sticks]
        assert table.probe(text) == expected[sticks]
        assert formula.moves(text) == table.moves(text)


def test_the_closed_form_takes_rows_longer_than_any_table(opened: Callable[[str], Table]) -> None:
    formula = closed_form("sticks-any-2-5")
    table = opened("sticks-any-2-5")
    for sticks in (1_000, 99_999, 100_000, 100_001):
        assert formula.probe("|" * sticks) == table.probe_index(sticks)
    text = f"{'|.' * 300}||"
    assert formula.probe(text) == table.probe_index(302)
    assert formula.best(text) == table.best(text)
    assert formula.move(text, "1,3,5") == table.move(text, "1,3,5")
    assert formula.line("|" * 30) == table.line("|" * 30)


def test_a_lost_row_has_a_move_that_holds_out_longest() -> None:
    formula = closed_form("sticks-any", min=1, max=3)
    best = formula.best("||||||||")
    assert best is not None
    assert best.value.outcome is LOSS
    assert best.value.remoteness == 3


@pytest.mark.parametrize(
    ("name", "parameters", "words"),
    [
        ("sticks-any", {"min": 0, "max": 2}, "min cannot be 0: expected at least 1"),
        ("sticks-any", {"min": 3, "max": 2}, "max cannot be 2: expected 3 (min)"),
        ("sticks-any", {"min": 1}, "expected exactly min, max"),
        ("sticks-any", {"min": 1, "max": True}, "max cannot be True: expected a value of type int"),
        ("sticks-special", {"length": 9}, "closed form cannot be 'sticks-special'"),
        ("sticks-special-9", {}, "closed form cannot be 'sticks-special-9'"),
    ],
    ids=str,
)
def test_closed_forms_that_do_not_exist(name: str, parameters: dict[str, int], words: str) -> None:
    with pytest.raises(InvalidParameterError) as caught:
        closed_form(name, **parameters)
    assert words in str(caught.value)


def test_the_closed_form_refuses_what_the_table_refuses() -> None:
    formula = closed_form("sticks-any-2-3")
    assert refusal(lambda: formula.probe("")).startswith("''")
    assert refusal(lambda: formula.moves("|a|")).startswith("'|a|'")
    with pytest.raises(InvalidMoveError, match=r"'1' is not a legal move in '\|\|\|\|'"):
        formula.move("||||", "1")


# --- parameters and names -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: SticksAny(0, 2), "min cannot be 0: expected at least 1 stick a move"),
        (lambda: SticksAny(-1, 2), "min cannot be -1: expected at least 1 stick a move"),
        (lambda: SticksAny(3, 2), "max cannot be 2: expected 3 (min) to 10000 sticks"),
        (lambda: SticksAny(1, 10**7), "max cannot be 10000000: expected 1 (min) to 10000 sticks"),
        (lambda: SticksRun(0, 2), "min cannot be 0: expected at least 1 stick a move"),
        (lambda: SticksRun(3, 2), "max cannot be 2: expected 3 (min) to 10000 sticks"),
        (lambda: SticksRun(1, 2, 0), "heaps cannot be 0: expected 1 to 100000000 sticks"),
        (lambda: SticksSpecial(0), "length cannot be 0: expected a row of 1 to 120 sticks"),
        (lambda: SticksSpecial(121), "length cannot be 121: expected a row of 1 to 120 sticks"),
        (lambda: find_game("sticks-any-3-2"), "max cannot be 2: expected 3 (min) to 10000 sticks"),
        (lambda: find_game("sticks-run-0-2"), "min cannot be 0: expected at least 1 stick a move"),
        (lambda: find_game("sticks-run-1-2-to0"), "heaps cannot be 0: expected 1 to 100000000 sticks"),
        (lambda: find_game("sticks-special-121"), "length cannot be 121: expected a row of 1 to 120"),
    ],
)
def test_parameters_that_no_game_has(make: Callable[[], Game], words: str) -> None:
    with pytest.raises(InvalidParameterError) as caught:
        make()
    assert str(caught.value).startswith(words)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "name",
    ["sticks-any-1-2", "sticks-run-1-2", "sticks-run-1-2-to40", "sticks-run-3-3", "sticks-special-36"],
)
def test_names_lead_to_games_and_back(name: str) -> None:
    game = find_game(name)
    assert game.table_name == name
    assert type(game).from_parameters(dict(game.parameters)) == game


@pytest.mark.parametrize(
    "name",
    [
        "sticks",
        "sticks-any",
        "sticks-any-1",
        "sticks-any-01-2",
        f"sticks-run-1-2-to{DEFAULT_HEAPS}",
        "sticks-run-1-2-40",
        "sticks-run-1-2-to040",
        "sticks-any-1-2-to40",
        "sticks-special",
        "sticks-special-1-2",
    ],
)
def test_other_names_are_no_games(name: str) -> None:
    with pytest.raises(UnknownGameError, match=f"'{name}' names no game"):
        find_game(name)


@pytest.mark.parametrize(
    "name",
    [
        "sticks-run-1-2-to1",
        "sticks-run-5-9-to3",
        "sticks-run-40-50-to45",
        "sticks-special-1",
        "sticks-special-2",
        "sticks-special-3",
        "sticks-any-60-60",
    ],
)
def test_the_smallest_tables_can_be_built_and_asked(name: str, opened: Callable[[str], Table]) -> None:
    table = opened(name)
    line = table.line()
    value = table.probe(table.game.format(table.game.start))
    assert (len(line) % 2 == 1) == (value.outcome is WIN)
    assert table.probe_index(0).outcome is LOSS


# --- bad texts ------------------------------------------------------------------------------------

BAD_INPUT_TABLES = ["sticks-any-2-3", "sticks-run-2-3-to40", "sticks-special-16"]
GAPPED = "|||.|||||||||"


@pytest.mark.parametrize("text", ["", " ", "||x|", " ||", "||\n", "|| ||", "|-|", "12", "|\0|", "¦¦"])
@pytest.mark.parametrize("name", BAD_INPUT_TABLES)
def test_bad_rows_are_refused_in_one_sentence(
    name: str, text: str, opened: Callable[[str], Table]
) -> None:
    table = opened(name)
    asked: list[Callable[[], object]] = [
        lambda: table.probe(text),
        lambda: table.moves(text),
        lambda: table.best(text),
        lambda: table.line(text),
        lambda: table.move(text, "1-2"),
        lambda: table.game.parse(text),
    ]
    words = "a row of at least one stick" if not text else "only '|' for a stick and '.'"
    for ask in asked:
        message = refusal(ask)
        assert message.startswith(f"{text!r} is not a position: expected {words}")


NUMBERS, THERE, ONCE = "numbers of sticks such as", "sticks that are there", "each stick once"


@pytest.mark.parametrize(
    ("move", "words"),
    [
        ("", NUMBERS),
        ("0", NUMBERS),
        ("-3", NUMBERS),
        ("1-", NUMBERS),
        ("a", NUMBERS),
        ("1,", NUMBERS),
        (",1", NUMBERS),
        ("1,,2", NUMBERS),
        ("1;2", NUMBERS),
        ("1 2", NUMBERS),
        (" 1", NUMBERS),
        ("1-2\n", NUMBERS),
        ("01", NUMBERS),
        ("+1", NUMBERS),
        ("1-2-3", NUMBERS),
        ("\N{FULLWIDTH DIGIT ONE}", NUMBERS),
        ("0-2", NUMBERS),
        ("1" * 11, NUMBERS),
        ("4", THERE),
        ("3-5", THERE),
        ("1,4", THERE),
        ("14", THERE),
        ("13-14", THERE),
        ("1-9999999999", THERE),
        ("2,2", ONCE),
        ("2,1", ONCE),
        ("5-6,6", ONCE),
        ("5-7,6-8", ONCE),
        ("9-8", ""),
        ("9-7", ""),
        ("99-1", ""),
    ],
)
@pytest.mark.parametrize("name", BAD_INPUT_TABLES)
def test_bad_moves_are_refused_in_one_sentence(
    name: str, move: str, words: str, opened: Callable[[str], Table]
) -> None:
    table = opened(name)
    with pytest.raises(InvalidMoveError) as caught:
        table.move(GAPPED, move)
    message = str(caught.value)
    assert message.startswith(f"{move!r} is not a legal move in {GAPPED!r}: expected {words}")
    assert "\n" not in message
    assert ". " not in caught.value.expected
    assert (caught.value.move, caught.value.position) == (move, GAPPED)


@pytest.mark.parametrize(
    ("name", "move"),
    [
        ("sticks-any-2-3", "1,2,9-8"),
        ("sticks-any-2-3", "99-1,2-3"),
        ("sticks-run-2-3-to40", "6-5,6-7"),
        ("sticks-run-2-3-to40", "1-2,99-3"),
        ("sticks-special-16", "1,9-8"),
        ("sticks-special-16", "9-8,10"),
    ],
)
def test_a_reversed_range_is_no_move_even_beside_others(
    name: str, move: str, opened: Callable[[str], Table]
) -> None:
    table = opened(name)
    with pytest.raises(InvalidMoveError):
        table.move(GAPPED, move)


@pytest.mark.parametrize(
    ("name", "move", "words"),
    [
        ("sticks-any-2-3", "1", "2 to 3 sticks, not 1"),
        ("sticks-any-2-3", "1-3,5", "2 to 3 sticks, not 4"),
        ("sticks-any-2-3", "5-13", "2 to 3 sticks, not 9"),
        ("sticks-any-3-3", "1-2", "3 sticks, not 2"),
        ("sticks-run-2-3-to40", "1", "2 to 3 sticks side by side"),
        ("sticks-run-2-3-to40", "5-8", "2 to 3 sticks side by side"),
        ("sticks-run-2-3-to40", "1,3", "2 to 3 sticks side by side"),
        ("sticks-run-2-3-to40", "3,5", "2 to 3 sticks side by side"),
        ("sticks-run-2-3-to40", "2-3,5", "2 to 3 sticks side by side"),
        ("sticks-run-2-2-to40", "1-3", "2 sticks side by side"),
        ("sticks-special-16", "5-8", "one stick, two sticks, or three side by side"),
        ("sticks-special-16", "1-2,5", "one stick, two sticks, or three side by side"),
        ("sticks-special-16", "2-3,5", "one stick, two sticks, or three side by side"),
        ("sticks-special-16", "5,7,9", "one stick, two sticks, or three side by side"),
    ],
)
def test_sticks_that_may_not_be_taken_together(
    name: str, move: str, words: str, opened: Callable[[str], Table]
) -> None:
    table = opened(name)
    with pytest.raises(InvalidMoveError) as caught:
        table.move(GAPPED, move)
    assert str(caught.value) == f"{move!r} is not a legal move in {GAPPED!r}: expected {words}"


def test_a_run_table_has_indices_of_single_segments_only(opened: Callable[[str], Table]) -> None:
    table = opened("sticks-run-1-2-to40")
    game = table.game
    assert game.parse("..|||.") == 3
    assert game.parse("...") == 0
    assert game.components(".||.|||.|") == (2, 3, 1)
    assert refusal(lambda: game.parse("||.|")).startswith("'||.|'")


@pytest.mark.parametrize(
    ("name", "row"),
    [
        ("sticks-any-1-10000", "|" * 50_000),
        ("sticks-run-1-2", "|" * 50_000),
        ("sticks-special-16", "|" * 16 + "." * 1_000_000),
    ],
)
def test_rows_whose_moves_would_fill_the_memory_are_refused(name: str, row: str) -> None:
    with pytest.raises(InvalidPositionError, match="expected a row whose moves can be listed"):
        find_game(name).moves(row)


# --- short rows without a table -------------------------------------------------------------------


@pytest.mark.parametrize(("fewest", "most"), [(1, 1), (1, 2), (1, 3), (2, 2), (2, 5), (3, 7), (4, 40)])
def test_short_rows_agree_with_the_definition(fewest: int, most: int) -> None:
    """The twin: the least value that no move leads to, move by move, as `moves` lists them."""
    formula = closed_form("sticks-run", min=fewest, max=most)
    known: dict[tuple[int, ...], int] = {(): 0}

    def grundy(lengths: tuple[int, ...]) -> int:
        if lengths not in known:
            row = ".".join("|" * length for length in lengths)
            after = {
                grundy(tuple(sorted(len(part) for part in step.position.split(".") if part)))
                for step in formula.game.moves(row)
            }
            known[lengths] = next(value for value in range(len(after) + 1) if value not in after)
        return known[lengths]

    for length in range(1, 15):
        value = formula.probe("|" * length)
        assert value.grundy == grundy((length,))
        assert (value.outcome is Outcome.WIN) == (value.grundy != 0)
    for row in ("||||.|||", "|.||.|||||", "...", "||.||"):
        segments = tuple(sorted(len(part) for part in row.split(".") if part))
        assert formula.probe(row).grundy == grundy(segments)


@pytest.mark.parametrize("name", ["sticks-run-1-2", "sticks-run-1-3"])
def test_short_rows_agree_with_the_table(tables: Tablebase, name: str) -> None:
    formula = closed_form(name)
    for length in (1000, *range(1, 300)):
        assert formula.probe("|" * length) == tables[name].probe("|" * length)
    row = "|||.||||||.|"
    assert formula.moves(row) == tables[name].moves(row)


def test_rows_that_are_not_short_need_a_table() -> None:
    with pytest.raises(InvalidPositionError, match="at most 1000 sticks; a table answers"):
        closed_form("sticks-run-1-2").probe("|" * 1001)
    assert closed_form("sticks-run-4-9").probe("||||.|||").grundy == 1
