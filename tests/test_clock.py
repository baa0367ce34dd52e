"""The clock against the machine of its write-up, De Bruijn sequences, and a plain backward search."""

from __future__ import annotations

import itertools
import random
import re
import tracemalloc
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import lookup
from builder.build import build_table
from builder.compile import Engine
from builder.solvers import distance
from lookup import (
    InvalidMoveError,
    InvalidParameterError,
    InvalidPositionError,
    Outcome,
    VerificationError,
)
from lookup.blocks import unpack
from lookup.games import clock_walk
from lookup.games.clock import Clock, is_largest
from lookup.games.clock_walk import PreferMax
from tests.solving import solve

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from numpy.typing import NDArray

    from builder.solvers.solution import Solution
    from lookup.games.filling import Filling

Digits = tuple[int, ...]

LINE_4_2 = "0XXX000X0XXX00XXX0XXXXX0XXX00XXX0XXXXX0XXXXX0000"
LINE_4_5 = (
    "0XXX000X0XXX00XXX0XXXXX0XXX00XXX0XXXXX0XXXXX000XX0XXXXX0XXXXX00XXXXX0XXXXXXXX0XXXXXXXX0XXX00XXXXX"
    "0XXXXXXXX0XXXXXXXX0XXXXXX00XXXXX0XXXXXXXX0XXXXXXXX0XXXXXXXX000XXX0XXXXXXX0XXXXXXX0XXXXXXX00XXXXXX"
    "X0XXXXXXXXXXX0XXXXXXXXXXX0XXXXXXXXXXX0XXX00XXXXXXX0XXXXXXXXXXX0XXXXXXXXXXX0XXXXXXXXXXX0XXXXXX00XX"
    "XXXXX0XXXXXXXXXXX0XXXXXXXXXXX0XXXXXXXXXXX0XXXXXXXXX00XXXXXXX0XXXXXXXXXXX0XXXXXXXXXXX0XXXXXXXXXXX0"
    "XXXXXXXXXXX000XXXX0XXXXXXXXX0XXXXXXXXX0XXXXXXXXX0XXXXXXXXX00XXXXXXXXX0XXXXXXXXXXXXXX0XXXXXXXXXXXXXX"
    "0XXXXXXXXXXXXXX0XXXXXXXXXXXXXX0XXX00XXXXXXXXX0XXXXXXXXXXXXXX0XXXXXXXXXXXXXX0XXXXXXXXXXXXXX0XXXXXXXX"
    "XXXXXX0XXXXXX00XXXXXXXXX0XXXXXXXXXXXXXX0XXXXXXXXXXXXXX0XXXXXXXXXXXXXX0XXXXXXXXXXXXXX0XXXXXXXXX00XXXXX"
    "XXXX0XXXXXXXXXXXXXX0XXXXXXXXXXXXXX0XXXXXXXXXXXXXX0XXXXXXXXXXXXXX0XXXXXXXXXXXX00XXXXXXXXX0XXXXXXXXXXXX"
    "XX0XXXXXXXXXXXXXX0XXXXXXXXXXXXXX0XXXXXXXXXXXXXX0XXXXXXXXXXXXXX0000"
)


# --- a twin: the machine of the write-up on tuples, and a search backwards ------------------------


def machine(clock: Digits, largest: int) -> Digits:
    """What the machine makes of a clock that was just moved on, by the text of the write-up."""
    size = len(clock)

    def turned(digits: Digits) -> Digits:
        return (*digits[1:], digits[0])

    def is_last(digits: Digits) -> bool:
        raised = (digits[0] + 1, *digits[1:])
        place = 0
        while raised[place - 1] == 0:
            place = (place - 1) % size
        readings = [(raised[at:] + raised[:at])[::-1] for at in range(size)]
        return readings[place] == max(readings)

    players = clock[0] == largest
    while any(clock) and not players:
        if is_last(clock):
            clock = turned((clock[0] + 1, *clock[1:]))
            players = clock[0] == largest
        elif clock[0] == 0:
            clock = turned(clock)
            players = clock[0] == largest
        else:
            players = True
    return clock


def after(clock: Digits, command: str, largest: int) -> Digits:
    digit = 0 if command == "0" else clock[0]
    return machine((*clock[1:], digit), largest)


def distances(size: int, largest: int) -> dict[Digits, int]:
    """Commands to the win for every clock that can reach it."""
    sources: dict[Digits, set[Digits]] = {}
    for clock in itertools.product(range(largest + 1), repeat=size):
        if any(clock):
            for command in "0X":
                sources.setdefault(after(clock, command, largest), set()).add(clock)
    won = (0,) * size
    found, layer = {won: 0}, [won]
    while layer:
        nearer, layer = layer, []
        for clock in nearer:
            for source in sources.get(clock, ()):
                if source not in found:
                    found[source] = found[clock] + 1
                    layer.append(source)
    return found


def prefer_max(size: int, letters: int) -> list[int]:
    """The greedy De Bruijn sequence from 0 .. 0: always the largest letter that makes a new window."""
    window = (0,) * size
    seen = {window}
    sequence: list[int] = []
    while True:
        for letter in range(letters - 1, -1, -1):
            if (following := (*window[1:], letter)) not in seen:
                break
        else:
            return sequence
        seen.add(following)
        sequence.append(letter)
        window = following


def small_clocks(limit: int) -> Iterator[tuple[int, int]]:
    for n in range(1, limit.bit_length()):
        for k in itertools.count(1):
            if (k + 1) ** n > limit:
                break
            yield n, k


def letter_by_letter(size: int, largest: int) -> list[int]:
    """The walk as one letter after the other comes in: commands to the win if the digit is left."""
    base, window, count = largest + 1, (0,) * size, 1
    commands = {window: count}
    word, length, lowered = [largest] * size, 1, -1
    while any(word):
        is_listed = size % length == 0
        for at in range(length if is_listed else 0):
            window = (word[at], *window[:-1])
            count += word[at] > 0 and at != lowered
            commands[window] = count
        last = max(at for at in range(size) if word[at])
        lowered = last if is_listed else lowered
        word[last] -= 1
        length = last + 1
        word = [word[at % length] for at in range(size)]
    # What the digit under the hand is moved behind.
    return [commands[(*clock[1:], clock[0])] for clock in itertools.product(range(base), repeat=size)]


def filled(filling: PreferMax, engine: Engine, chance: random.Random | None = None) -> list[int]:
    """The array after all stretches; with `chance`, measured and filled in any order."""
    plan = distance.FillingPlan(filling, filling.base**filling.digits, engine)
    plan.arrays["entries"][:] = 2**32 - 1  # what no stretch writes shows
    (shards,) = plan.stages()
    left = set(range(len(shards)))
    while left:
        ready = sorted(place for place in left if not left.intersection(shards[place].needs))
        place = chance.choice(ready) if chance else ready[0]
        plan.run(shards[place])
        left.remove(place)
    numbers: list[int] = plan.arrays["entries"].tolist()
    return numbers


def remoteness(solution: Solution) -> list[int]:
    (column,) = (part for part in solution.columns if part.column.name == "remoteness")
    numbers: list[int] = unpack(column.data, column.column.bits, column.column.items).tolist()
    return numbers


@pytest.mark.parametrize("engine", Engine)
def test_every_distance_is_that_of_a_backward_search(engine: Engine) -> None:
    for n, k in small_clocks(700):
        if k > (5 if engine == Engine.NUMBA else 30 // n):
            continue
        twin = distances(n, k)
        assert len(twin) == (k + 1) ** n, "a clock cannot be won"
        clocks = itertools.product(range(k + 1), repeat=n)
        solution = solve(distance.plan, Clock(n, k), engine)
        assert remoteness(solution) == [twin[clock] for clock in clocks], (n, k)
        assert solution.totals.counts == (0, 0, (k + 1) ** n)


class Searched(Clock):
    @property
    def filling(self) -> Filling | None:  # type: ignore[override]  # to be searched
        return None


@pytest.mark.parametrize("engine", Engine)
def test_the_walk_and_the_search_agree(engine: Engine) -> None:
    for n, k in [(1, 1), (1, 30), (3, 3), (7, 2), (10, 1), (4, 6)]:
        walked, searched = (solve(distance.plan, kind(n, k), engine) for kind in (Clock, Searched))
        assert remoteness(walked) == remoteness(searched), (n, k)
        assert walked.totals == searched.totals


def test_stretches_in_any_order_give_the_walk_letter_by_letter() -> None:
    chance = random.Random(5)
    most_stretches = 0
    for n, k in [*small_clocks(300), (12, 1), (7, 2), (6, 3), (4, 11)]:
        if n == 1 and k > 20:
            continue
        expected = letter_by_letter(n, k)
        for most in (1, 2, 3, 10, 10**9):  # the last wants longer beginnings than there are digits
            filling = PreferMax(n, k + 1, most, fewest=1)
            assert filled(filling, Engine.PYTHON, chance) == expected, (n, k, most)
            assert filling.stretches <= most
            most_stretches = max(most_stretches, filling.stretches)
        assert (filling.stretches > 1) == (n > 1)
    assert most_stretches > 60


def test_compiled_stretches_give_the_walk_letter_by_letter() -> None:
    for n, k, most in [(1, 1, 9), (1, 12, 9), (2, 40, 9), (3, 11, 64), (9, 2, 64), (15, 1, 64)]:
        filling = PreferMax(n, k + 1, most, fewest=1)
        assert filled(filling, Engine.NUMBA) == letter_by_letter(n, k), (n, k)


def test_a_large_clock_is_cut_evenly_and_a_small_one_not_at_all() -> None:
    assert Clock(7, 6).filling.stretches == 1
    for n, k in [(32, 1), (9, 9), (8, 15), (2, 65_535), (3, 1624)]:
        assert 32 < Clock(n, k).filling.stretches <= clock_walk.MOST_STRETCHES, (n, k)
    plan = distance.FillingPlan(PreferMax(20, 2, fewest=1), 1, Engine.NUMBA)
    measures = plan.arrays["measures"]
    (shards,) = plan.stages()
    for shard in shards[: len(measures)]:
        plan.run(shard)
    assert 0 < measures.max() < 0.05 * 2**20


def test_solving_takes_little_more_than_four_bytes_a_clock() -> None:
    game = Clock(7, 9)
    solve(distance.plan, Clock(7, 3), Engine.NUMBA)  # compiles
    tracemalloc.start()
    solve(distance.plan, game, Engine.NUMBA)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < distance.memory_needed(game, Engine.NUMBA) < 5 * game.size
    assert distance.memory_needed(Clock(9, 9), Engine.NUMBA) < 4.2 * 10**9


@pytest.mark.parametrize(("n", "k"), [(1, 9), (2, 4), (3, 3), (5, 1)])
def test_any_range_can_be_read_and_looks_at_nothing_behind_it(n: int, k: int) -> None:
    filling, size = PreferMax(n, k + 1), (k + 1) ** n
    array = np.array(letter_by_letter(n, k), np.uint32)
    twin = distances(n, k)
    expected = [twin[clock] for clock in itertools.product(range(k + 1), repeat=n)]
    for low, high in itertools.combinations_with_replacement(range(size + 1), 2):
        assert filling.read(array[:high], low, high).tolist() == expected[low:high]


@pytest.mark.parametrize(("name", "line"), [("clock-4-2", LINE_4_2), ("clock-4-5", LINE_4_5)])
def test_the_printed_lines_come_out_letter_by_letter(
    name: str, line: str, tables: lookup.Tablebase
) -> None:
    table = tables[name]
    assert "".join(move.text for move in table.line()) == line
    assert table.line()[-1].position == "0000"
    assert "".join(move.text for move in lookup.closed_form(name).line()) == line
    assert table.probe(table.game.format(table.game.start)).remoteness == len(line)


def test_every_rule_is_the_machine_of_the_write_up() -> None:
    for n, k in [(1, 3), (2, 4), (4, 2), (3, 11), (6, 1)]:
        game = Clock(n, k)
        separator = "," if k >= 10 else ""

        def text(clock: Digits, separator: str = separator) -> str:
            return separator.join(map(str, clock))

        for clock in itertools.product(range(k + 1), repeat=n):
            moves = {step.text: step.position for step in game.moves(text(clock))}
            expected = (
                {command: text(after(clock, command, k)) for command in "0X"} if any(clock) else {}
            )
            assert moves == expected
        first = machine((*(0,) * (n - 1), 1), k)
        assert game.format(game.start) == text(first)


@pytest.mark.parametrize(("n", "k"), [(1, 1), (2, 3), (3, 4), (4, 2), (4, 5), (5, 3), (8, 1), (3, 12)])
def test_the_best_line_walks_the_prefer_max_sequence_backwards(n: int, k: int) -> None:
    """Every step of the hand, the machine's too, on the best line from the first clock to the win."""
    sequence = prefer_max(n, k + 1)
    assert len(sequence) == (k + 1) ** n - 1
    answers = lookup.closed_form("clock", n=n, k=k)
    clock: Digits = (*(0,) * (n - 1), 1)
    windows = [clock]
    letters: list[int] = []

    def move_hand(digit: int) -> None:
        nonlocal clock
        letters.append(clock[0])
        clock = (*clock[1:], digit)
        windows.append(clock)

    players = clock[0] == k
    while any(clock):
        if players:
            best = answers.best((",".join if k >= 10 else "".join)(map(str, clock)))
            assert best is not None
            move_hand(0 if best.text == "0" else clock[0])
            players = clock[0] == k
            continue
        window = sum(digit * (k + 1) ** at for at, digit in enumerate(clock))
        if is_largest(window + 1, k + 1, (k + 1) ** (n - 1)):
            move_hand(clock[0] + 1)
            players = clock[0] == k
        elif clock[0] == 0:
            move_hand(0)
            players = clock[0] == k
        else:
            players = True
    # The hand never comes to the same window twice, and meets them in the order of the sequence.
    assert len(set(windows)) == len(windows)
    assert len(windows) >= (k + 1) ** n - n
    assert letters[::-1] == sequence[: len(letters)]


def largest_turns(n: int, k: int) -> NDArray[np.bool_]:
    """For every index whether '0' is best by the rule of the largest turn, all at once."""
    base, size = k + 1, (k + 1) ** n
    top = size // base
    index = np.arange(size)
    # Read counter-clockwise, the digit under the hand comes last.
    window = np.zeros(size, np.int64)
    for _ in range(n):
        window, index = window * base + index % base, index // base
    for _ in range(n):
        window = np.where((window > 0) & (window < top), window * base, window)
    turned = window.copy()
    largest = np.ones(size, np.bool_)
    for _ in range(n - 1):
        turned = turned % base * top + turned // base
        largest &= turned <= window
    return largest


def test_the_closed_form_is_best_for_every_clock_of_every_table_of_up_to_1e5() -> None:
    sizes = [(n, k) for n, k in small_clocks(100_000) if n > 1 or k < 200 or k == 99_999]
    assert {(16, 1), (2, 315), (1, 99_999), (5, 9)} <= set(sizes)
    for n, k in sizes:
        base, size = k + 1, (k + 1) ** n
        to_leave = np.array(filled(PreferMax(n, base), Engine.NUMBA))
        to_zero = to_leave[np.arange(size) % (size // base)]
        table = (
            np.array(remoteness(solve(distance.plan, Clock(n, k), Engine.PYTHON)))
            if size < 3000
            else None
        )
        if table is not None:
            assert (table[1:] == np.minimum(to_zero, to_leave)[1:]).all()
        rule = largest_turns(n, k)
        assert (np.where(rule, to_zero <= to_leave, to_leave <= to_zero))[1:].all(), (n, k)
        game = Clock(n, k)
        for at in range(1, size, 1 + size // 20):
            best = game.closed_form.best(game.format(at))
            assert best is not None
            assert best.text == ("0" if rule[at] else "X")


def test_a_clock_beyond_any_table_is_played_by_the_closed_form() -> None:
    answers = lookup.closed_form("clock", n=30, k=9)
    assert lookup.closed_form("clock-30-9").name == answers.name == "clock-30-9"
    line = answers.line(limit=1000)
    assert len(line) == 1000
    assert len({move.position for move in line}) == 1000
    assert all(move.value == lookup.Value(Outcome.WIN) for move in line)
    assert answers.probe("0" * 30) == lookup.Value(Outcome.WIN, 0)
    assert answers.moves("0" * 30) == []
    assert answers.best("9" * 30) is not None
    assert answers.get("1") is None


def test_one_player_does_not_see_values_from_the_other_side(tables: lookup.Tablebase) -> None:
    table = tables["clock-4-2"]
    moves = table.moves("2222")
    assert [move.text for move in moves] == ["0", "X"]
    assert all(move.value == table.probe(move.position) for move in moves)
    assert table.move("2222", "X") == moves[1]
    with pytest.raises(
        InvalidMoveError, match=r"'Y' is not a legal move in '2222': expected one of 0, X"
    ):
        table.move("2222", "Y")


def test_ten_and_more_are_separated_by_commas(built: Callable[[str], Path]) -> None:
    with lookup.open_table(built("clock-3-11")) as table:
        assert table.game.format(table.game.parse("10,0,11")) == "10,0,11"
        assert table.game.parse("10,0,11") == (10 * 12 + 0) * 12 + 11
        assert table.probe("0,0,0").remoteness == 0


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("clock-4-2", "0003", "digits from 0 to 2, not 3"),
        ("clock-4-2", "000", "4 digits from 0 to 2, not 3"),
        ("clock-4-2", "00000", "4 digits from 0 to 2, not 5"),
        ("clock-4-2", "000a", "4 digits from 0 to 2"),
        ("clock-4-2", "0,0,0,0", "4 digits from 0 to 2"),
        ("clock-3-11", "1011", "3 digits from 0 to 11 separated by commas"),
        ("clock-3-11", "01,0,0", "3 digits from 0 to 11 separated by commas"),
        ("clock-3-11", "12,0,0", "digits from 0 to 11, not 12"),
        ("clock-3-11", f"1,{'9' * 5000},0", ""),
        ("clock-3-11", "1,,0", "3 digits from 0 to 11 separated by commas"),
    ],
)
def test_bad_clocks_are_explained(name: str, text: str, expected: str) -> None:
    with pytest.raises(
        InvalidPositionError, match=re.escape(f"is not a position: expected {expected}")
    ) as caught:
        lookup.find_game(name).parse(text)
    assert str(caught.value).startswith(repr(text)[:40])


@pytest.mark.parametrize("parameters", [(0, 2), (2, 0), (-1, 3), (1001, 1), (1, 1_000_001)])
def test_bad_parameters_are_explained(parameters: tuple[int, int]) -> None:
    with pytest.raises(InvalidParameterError, match="cannot be"):
        Clock(*parameters)


def test_a_wrong_walk_is_found_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    right = clock_walk.walk

    def wrong(commands: Any, *arguments: Any) -> int:
        count = right(commands, *arguments)
        commands[1] += 1
        return count

    monkeypatch.setattr(clock_walk, "walk", wrong)
    with pytest.raises(VerificationError, match="by the rules and its successors it is a win"):
        build_table(Clock(3, 3), tmp_path)
