"""The solver of heaps against least values not reached, found by trying every move; and periods."""

from __future__ import annotations

import random
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from builder.compile import Engine
from builder.periods import find_period
from builder.solvers import heaps
from builder.solvers.solution import (
    Solution,
    packed_grundy,
    packed_outcome,
    packed_remoteness,
)
from builder.verify import verify_file
from lookup import closed_form, find_game, open_table
from lookup.blocks import unpack
from lookup.errors import CorruptTableError, GameError, VerificationError
from lookup.format import Period, Totals, heaps_needed
from lookup.games.heap_game import HeapGame
from lookup.games.sticks_heaps import SticksAny, SticksRun
from lookup.values import Outcome
from tests.solving import solve
from tests.test_verify import with_item, write

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path


KAYLES_PERIOD = Period(preperiod=71, period=12, checked=167, plies=0)


@cache
def naive(fewest: int, most: int, size: int) -> list[int]:
    """Grundy values of rows in which a move takes sticks side by side: every move is tried."""
    values = np.zeros(size, np.int64)
    for heap in range(size):
        reached = np.zeros(4096, np.bool_)
        for taken in range(fewest, min(most, heap) + 1):
            left = heap - taken
            reached[values[: left + 1] ^ values[left::-1]] = True
        values[heap] = np.argmin(reached)
    return [int(value) for value in values]


def column(solution: Solution, name: str) -> list[int]:
    part = next(part for part in solution.columns if part.column.name == name)
    items = unpack(part.data, part.column.bits, part.column.items)
    return [int(item) for item in items]


def grundy(game: HeapGame, engine: Engine) -> list[int]:
    return column(solve(heaps.HeapsPlan, game, engine), "grundy")


# --- Grundy values --------------------------------------------------------------------------------

PAIRS = [(fewest, most) for fewest in range(1, 6) for most in range(fewest, 6)]
SOME_PAIRS = [*PAIRS, (1, 9), (3, 17), (7, 7), (10, 40), (64, 80), (200, 300), (500, 1000)]


@pytest.mark.parametrize("engine", Engine)
@pytest.mark.parametrize(("fewest", "most"), SOME_PAIRS)
def test_values_are_the_least_that_no_move_reaches(fewest: int, most: int, engine: Engine) -> None:
    assert grundy(SticksRun(fewest, most, 250), engine) == naive(fewest, most, 251)


@pytest.mark.parametrize("engine", Engine)
@pytest.mark.parametrize(("fewest", "most"), [(1, 2), (1, 3), (2, 5), (3, 3), (4, 9)])
def test_values_are_right_beyond_the_heaps_that_choose_a_sparse_space(
    fewest: int, most: int, engine: Engine
) -> None:
    longest = 1500 if engine == Engine.NUMBA else 1100
    assert grundy(SticksRun(fewest, most, longest), engine) == naive(fewest, most, longest + 1)


@pytest.mark.parametrize("first", [1, 2, 7, 32])
@pytest.mark.parametrize(("fewest", "most"), SOME_PAIRS)
def test_a_sparse_space_chosen_too_early_costs_time_and_no_value(
    fewest: int, most: int, first: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(heaps, "_FIRST_SPACE", first)
    assert grundy(SticksRun(fewest, most, 250), Engine.NUMBA) == naive(fewest, most, 251)


def test_the_interpreted_solver_does_the_same_with_an_early_sparse_space(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(heaps, "_FIRST_SPACE", 16)
    for fewest, most in ((1, 3), (2, 5), (3, 3), (4, 9)):
        assert grundy(SticksRun(fewest, most, 200), Engine.PYTHON) == naive(fewest, most, 201)


def test_a_sparse_space_is_found_and_keeps_most_heaps_out() -> None:
    """Without one the tests above would not show that it is used well."""
    values = np.array(naive(1, 3, 1024), np.uint16)
    odd = heaps._odd_values(values)
    inside = int(np.count_nonzero(~odd[values]))
    assert 0 < inside < 256
    assert not odd[0]


@pytest.mark.parametrize("engine", Engine)
def test_outcomes_and_totals_follow_from_the_values(engine: Engine) -> None:
    for game in (SticksRun(2, 2, 300), SticksAny(2, 3)):
        solution = solve(heaps.HeapsPlan, game, engine)
        values, outcomes = column(solution, "grundy"), column(solution, "outcome")
        assert outcomes == [int(value > 0) for value in values]
        losses = values.count(0)
        assert solution.totals.counts == (losses, 0, game.size - losses)
        assert solution.totals.largest_grundy == max(values)
    assert solution.totals.longest == max(column(solution, "remoteness"))


@pytest.mark.parametrize("engine", Engine)
@pytest.mark.parametrize(
    ("fewest", "most"), [(1, 1), (1, 50), (7, 30), (13, 13), (13, 300), (100, 101), (250, 250)]
)
def test_single_heaps_agree_with_the_remainders(fewest: int, most: int, engine: Engine) -> None:
    game = SticksAny(fewest, most)
    solution = solve(heaps.HeapsPlan, game, engine)
    formula = closed_form("sticks-any", min=fewest, max=most)
    expected = [formula.probe(game.format(heap)) for heap in range(game.size)]
    assert column(solution, "grundy") == [value.grundy for value in expected]
    assert column(solution, "remoteness") == [value.remoteness for value in expected]
    period = solution.totals.period
    assert period is not None
    assert (period.preperiod, period.period, period.plies) == (0, fewest + most, 2)


@pytest.mark.parametrize("engine", Engine)
def test_values_too_large_for_the_solver_are_refused(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Kayles has no value above 7 before heap 27, which has 8."""
    monkeypatch.setattr(heaps, "VALUES", 8)
    assert grundy(SticksRun(1, 2, 26), engine) == naive(1, 2, 27)
    with pytest.raises(GameError, match="sticks-run-1-2-to27 has Grundy values of 8 and more"):
        solve(heaps.HeapsPlan, SticksRun(1, 2, 27), engine)


def test_single_heaps_have_values_of_any_size() -> None:
    """Taking 1 to b leads to all values below: those of two bytes are not the end."""
    solution = solve(heaps.HeapsPlan, SticksAny(1, 300), Engine.PYTHON)
    assert solution.totals.largest_grundy == 300
    assert column(solution, "grundy")[:602] == [*range(301), *range(301)]


# --- periods --------------------------------------------------------------------------------------


def periodic(before: Sequence[int], block: Sequence[int], size: int) -> list[int]:
    """Some values, and then a block again and again."""
    values = list(before)
    while len(values) < size:
        values += block
    return values[:size]


def found(
    values: Sequence[int], most: int, engine: Engine, remoteness: Sequence[int] | None = None
) -> Period | None:
    plies = None if remoteness is None else np.array(remoteness, np.uint32)
    return find_period(np.array(values, np.uint16), plies, most, engine)


def searched(values: list[int], most: int) -> Period | None:
    """The smallest proven period with its smallest preperiod, by trying all."""
    size = len(values)
    for period in range(1, size):
        for preperiod in range(size - period):
            if values[preperiod + period :] == values[preperiod : size - period]:
                # From the first n0 on, known as far as n = 2 * n0 + p + b - 1 and its n + p.
                if 2 * preperiod + period + most - 1 + period < size:
                    return Period(preperiod, period, size - 1, 0)
                break
    return None


@pytest.mark.parametrize("engine", Engine)
@pytest.mark.parametrize(
    ("before", "block"),
    [
        ([], [0]),
        ([], [0, 1]),
        ([9], [0]),
        ([9], [0, 1, 2]),
        ([5, 5, 3], [0, 1, 0, 2]),
        ([0, 1, 0, 2, 9, 9], [0, 1, 0, 2]),
        ([7] * 20, [1] * 11 + [2]),
        (list(range(40)), list(range(34))),
    ],
    ids=str,
)
@pytest.mark.parametrize("most", [1, 2, 9])
def test_a_period_needs_exactly_as_many_values_as_its_proof(
    before: list[int], block: list[int], most: int, engine: Engine
) -> None:
    size = 2 * len(before) + 2 * len(block) + most
    values = periodic(before, block, size)
    assert found(values, most, engine) == Period(len(before), len(block), size - 1, 0)
    assert found(values[:-1], most, engine) is None
    assert heaps_needed(len(before), len(block), most) == size


@pytest.mark.parametrize("engine", Engine)
def test_periods_are_those_that_trying_all_finds(engine: Engine) -> None:
    chance = random.Random(3)
    proven = 0
    for _ in range(400):
        before = chance.choices(range(3), k=chance.randrange(8))
        block = chance.choices(range(2), k=chance.randrange(1, 7))
        size, most = chance.randrange(1, 40), chance.randrange(1, 5)
        values = periodic(before, block, size)
        if chance.random() < 0.2:
            values[-1] += 1
        expected = searched(values, most)
        assert found(values, most, engine) == expected, (values, most)
        proven += expected is not None
    assert 100 < proven < 300


@pytest.mark.parametrize("engine", Engine)
def test_one_wrong_value_at_the_end_is_no_period(engine: Engine) -> None:
    values = periodic([3], [0, 1, 2], 60)
    assert found(values, 2, engine) == Period(1, 3, 59, 0)
    values[-1] += 1
    assert found(values, 2, engine) is None


@pytest.mark.parametrize("engine", Engine)
def test_remoteness_must_grow_by_the_same_number_of_plies(engine: Engine) -> None:
    values = periodic([], [0, 1], 40)
    steady = [3 * (heap // 2) for heap in range(40)]
    assert found(values, 1, engine, steady) == Period(0, 2, 39, 3)
    assert found(values, 1, engine, [0] * 40) == Period(0, 2, 39, 0)
    late = [*steady[:-1], steady[-1] + 1]
    assert found(values, 1, engine, late) is None


@pytest.mark.parametrize("engine", Engine)
def test_remoteness_may_have_a_longer_period_than_the_values(engine: Engine) -> None:
    """It grows by 0 and by 4 in turns from one heap to the one two further: by 4 over four heaps."""
    values = periodic([], [0, 1], 40)
    plies = [4 * ((heap // 2 + 1) // 2) for heap in range(40)]
    assert found(values, 1, engine, plies) == Period(0, 4, 39, 4)


@pytest.mark.parametrize("engine", Engine)
@pytest.mark.parametrize(
    ("fewest", "most", "preperiod", "period"), [(1, 2, 71, 12), (2, 2, 53, 34), (1, 1, 0, 2)]
)
def test_the_shortest_table_that_proves_a_published_period(
    fewest: int, most: int, preperiod: int, period: int, engine: Engine
) -> None:
    enough = 2 * preperiod + 2 * period + most - 1
    solution = solve(heaps.HeapsPlan, SticksRun(fewest, most, enough), engine)
    assert solution.totals.period == Period(preperiod, period, enough, 0)
    solution = solve(heaps.HeapsPlan, SticksRun(fewest, most, enough - 1), engine)
    assert solution.totals.period is None


@pytest.mark.parametrize(("fewest", "most"), PAIRS)
def test_what_a_short_table_proves_holds_in_a_long_one(fewest: int, most: int) -> None:
    period = solve(heaps.HeapsPlan, SticksRun(fewest, most, 400), Engine.NUMBA).totals.period
    if period is not None:
        assert period.checked == 400
        values = naive(fewest, most, 900)
        start, step = period.preperiod, period.period
        assert values[start + step :] == values[start:-step]
        assert start == 0 or values[start - 1] != values[start - 1 + step]


def test_some_short_tables_prove_a_period_and_some_do_not() -> None:
    periods = [
        solve(heaps.HeapsPlan, SticksRun(*pair, 400), Engine.NUMBA).totals.period for pair in PAIRS
    ]
    assert 2 <= sum(period is None for period in periods) <= len(PAIRS) - 2


def test_values_after_a_proven_period_are_repeated_and_not_computed() -> None:
    solution = solve(heaps.HeapsPlan, SticksRun(1, 2, 3000), Engine.NUMBA)
    assert solution.totals.period == Period(71, 12, 511, 0)
    assert column(solution, "grundy") == naive(1, 2, 3001)


# --- verification ---------------------------------------------------------------------------------

KAYLES, SINGLE = "sticks-run-1-2-to40", "sticks-any-2-3"


def solved(name: str) -> tuple[HeapGame, Solution]:
    game = find_game(name)
    assert isinstance(game, HeapGame)
    return game, solve(heaps.HeapsPlan, game, Engine.PYTHON)


@pytest.mark.parametrize("engine", Engine)
@pytest.mark.parametrize(
    "name", [KAYLES, SINGLE, "sticks-run-1-2-to167", "sticks-run-2-5-to60", "sticks-any-3-3"]
)
def test_right_tables_pass(name: str, engine: Engine, tmp_path: Path) -> None:
    assert verify_file(write(tmp_path / "t.h5", *solved(name)), engine).info.name == name


@pytest.mark.parametrize("engine", Engine)
@pytest.mark.parametrize("name", [KAYLES, SINGLE])
def test_any_one_wrong_grundy_value_is_found_where_it_is(
    name: str, engine: Engine, tmp_path: Path
) -> None:
    game, solution = solved(name)
    values = column(solution, "grundy")
    for at in range(0, game.size, 13 if game.size > 50 else 3):
        value = (values[at] + 1) % (max(values) + 1)
        forged = with_item(solution, "grundy", at, value)
        changes = {"largest_grundy": max([*values[:at], value, *values[at + 1 :]])}
        with pytest.raises(VerificationError, match=f"says that index {at} .* but by the rules"):
            verify_file(write(tmp_path / "t.h5", game, forged, **changes), engine)


@pytest.mark.parametrize("engine", Engine)
@pytest.mark.parametrize("more", [-1, 1])
def test_any_one_wrong_remoteness_is_found_where_it_is(
    more: int, engine: Engine, tmp_path: Path
) -> None:
    game, solution = solved(SINGLE)
    plies = column(solution, "remoteness")
    for at in range(0, 95, 17):
        if plies[at] + more >= 0:
            forged = with_item(solution, "remoteness", at, plies[at] + more)
            with pytest.raises(VerificationError, match=f"says that index {at} .* but by the rules"):
                verify_file(write(tmp_path / "t.h5", game, forged), engine)


@pytest.mark.parametrize("engine", Engine)
@pytest.mark.parametrize("name", [KAYLES, SINGLE])
def test_any_one_wrong_outcome_is_found_where_it_is(name: str, engine: Engine, tmp_path: Path) -> None:
    game, solution = solved(name)
    losses, _, wins = solution.totals.counts
    for at, was in list(enumerate(column(solution, "outcome")))[::13]:
        forged = with_item(solution, "outcome", at, 1 - was)
        changes = {"losses": losses + 2 * was - 1, "wins": wins + 1 - 2 * was}
        with pytest.raises(VerificationError, match=f"says that index {at} .* but by the rules"):
            verify_file(write(tmp_path / "t.h5", game, forged, **changes), engine)


def test_the_message_says_what_the_rules_say(tmp_path: Path) -> None:
    game, solution = solved(KAYLES)
    path = write(tmp_path / "t.h5", game, with_item(solution, "grundy", 3, 5))
    with pytest.raises(VerificationError) as caught:
        verify_file(path)
    assert str(caught.value) == (
        f"'{path}' says that index 3 ('|||') is a win (grundy 5), "
        "but by the rules and its successors it is a win (grundy 3)"
    )


@pytest.mark.parametrize("engine", Engine)
@pytest.mark.parametrize("with_values", [True, False])
def test_a_table_that_calls_every_row_a_win_of_value_0_is_found(
    with_values: bool, engine: Engine, tmp_path: Path
) -> None:
    game = SticksAny(1, 2)
    codes = np.full(game.size, Outcome.WIN, np.uint8)
    codes[0] = Outcome.LOSS
    plies = np.array([0, *(2 * ((heap + 1) // 2) - 1 for heap in range(1, game.size))], np.uint8)
    longest = int(plies.max())
    columns = [packed_outcome(codes, narrow=True), packed_remoteness(plies, longest)]
    if with_values:
        columns.append(packed_grundy(np.zeros(game.size, np.uint8), 0))
    totals = Totals((1, 0, game.size - 1), longest, 0 if with_values else -1)
    path = write(tmp_path / "t.h5", game, Solution(tuple(columns), totals))
    with pytest.raises(VerificationError):
        verify_file(path, engine)


# --- verification of periods ----------------------------------------------------------------------


@pytest.mark.parametrize("engine", Engine)
@pytest.mark.parametrize(
    "claim",
    [
        {"preperiod": 70},
        {"preperiod": 0},
        {"period": 11},
        {"period": 6},
        {"period": 13},
    ],
    ids=str,
)
def test_a_period_that_does_not_hold_is_found(
    claim: dict[str, int], engine: Engine, tmp_path: Path
) -> None:
    game, solution = solved("sticks-run-1-2-to200")
    claimed = KAYLES_PERIOD._replace(checked=200)._replace(**claim)
    path = write(tmp_path / "t.h5", game, solution, period=claimed.text)
    with pytest.raises(VerificationError, match=r"values repeat after \d+ from .*, but not those of"):
        verify_file(path, engine)


def test_the_first_index_where_a_period_fails_is_named(tmp_path: Path) -> None:
    game, solution = solved("sticks-run-1-2-to200")
    claimed = Period(preperiod=60, period=12, checked=200, plies=0)
    path = write(tmp_path / "t.h5", game, solution, period=claimed.text)
    with pytest.raises(VerificationError) as caught:
        verify_file(path)
    assert str(caught.value) == (
        f"'{path}' says that values repeat after 12 from index 60 on, but not those of index 70"
    )


@pytest.mark.parametrize(
    ("preperiod", "period", "checked"), [(71, 12, 166), (71, 12, 100), (72, 12, 168), (71, 24, 190)]
)
def test_a_period_that_is_right_but_not_proven_is_refused(
    preperiod: int, period: int, checked: int, tmp_path: Path
) -> None:
    game, solution = solved("sticks-run-1-2-to200")
    short = Period(preperiod, period, checked, 0)
    path = write(tmp_path / "t.h5", game, solution, period=short.text)
    with pytest.raises(CorruptTableError, match="is damaged"):
        verify_file(path)
    enough = short._replace(checked=2 * preperiod + 2 * period + 2 - 1)
    verify_file(write(tmp_path / "t.h5", game, solution, period=enough.text))


@pytest.mark.parametrize("name", ["sticks-run-1-2-to166", "sticks-run-1-3-to300"])
def test_a_table_too_short_for_a_proof_has_no_period(name: str, tmp_path: Path) -> None:
    game, solution = solved(name)
    assert solution.totals.period is None
    claimed = KAYLES_PERIOD._replace(checked=game.size - 1)
    path = write(tmp_path / "t.h5", game, solution, period=claimed.text)
    with pytest.raises(
        (VerificationError, CorruptTableError), match=r"says that values repeat|damaged"
    ):
        verify_file(path)


@pytest.mark.parametrize("engine", Engine)
@pytest.mark.parametrize("claim", [{"plies": 1}, {"plies": 3}, {"plies": 0}, {"period": 10}], ids=str)
def test_a_period_with_the_wrong_growth_of_remoteness_is_found(
    claim: dict[str, int], engine: Engine, tmp_path: Path
) -> None:
    game, solution = solved(SINGLE)
    right = solution.totals.period
    assert right == Period(0, 5, 100, 2)
    path = write(tmp_path / "t.h5", game, solution, period=right._replace(**claim).text)
    with pytest.raises(VerificationError, match="but not those of index 0"):
        verify_file(path, engine)


@pytest.mark.parametrize(
    "text",
    [
        Period(71, 0, 200, 0).text,
        Period(71, 12, 201, 0).text,
        Period(190, 12, 200, 0).text,
        Period(71, 12, 200, 2).text,
        Period(-1, 12, 200, 0).text,
        '{"checked":200,"period":12,"preperiod":71}',
        '{"checked":200, "period":12, "plies":0, "preperiod":71}',
        '{"checked":200,"period":12.0,"plies":0,"preperiod":71}',
        '{"checked":200,"period":true,"plies":0,"preperiod":71}',
        "12",
        "soon",
    ],
)
@pytest.mark.parametrize("read", [verify_file, open_table])
def test_a_period_that_no_table_can_have_is_refused_at_once(
    read: Callable[[Path], Any], text: str, tmp_path: Path
) -> None:
    game, solution = solved("sticks-run-1-2-to200")
    path = write(tmp_path / "t.h5", game, solution, period=text)
    with pytest.raises(CorruptTableError):
        read(path)
