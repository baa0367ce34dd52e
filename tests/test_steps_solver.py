"""The solver of steps against rows on which every move is tried; and the ranks of partitions."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from functools import cache, cached_property
from itertools import combinations, count
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import pytest

from builder.build import build_table
from builder.checks import steps as checks
from builder.checks.check import Wrong
from builder.compile import Engine
from builder.solvers import steps
from builder.solvers.solution import (
    PackedColumn,
    Solution,
    packed_grundy,
    packed_outcome,
    packed_remoteness,
)
from builder.verify import verify_file
from lookup import open_table
from lookup.blocks import unpack
from lookup.errors import CorruptTableError, GameError, InvalidPositionError, VerificationError
from lookup.format import Period, Totals
from lookup.games import sticks_special
from lookup.games.step_game import StepGame
from lookup.games.sticks_special import SticksSpecial, partition_counts
from lookup.records import Layout
from lookup.values import Outcome, Value
from tests.solving import solve
from tests.test_verify import with_item, write

if TYPE_CHECKING:
    from collections.abc import Iterator, MutableSequence
    from pathlib import Path

    from lookup.games.base import Neighbours

LOSS, WIN = Outcome.LOSS, Outcome.WIN


def partitions(total: int, largest: int) -> Iterator[tuple[int, ...]]:
    """All partitions into falling parts of at most `largest`, in lexicographic order."""
    if total == 0:
        yield ()
    for part in range(1, min(total, largest) + 1):
        for rest in partitions(total - part, part):
            yield (part, *rest)


def row_of(partition: tuple[int, ...]) -> str:
    return ".".join("|" * (part - 1) for part in partition if part > 1) or "."


def rows(longest: int) -> list[str]:
    """The row of every index, in order."""
    return [row_of(partition) for partition in partitions(longest + 1, longest + 1)]


def sorted_row(row: str) -> str:
    return ".".join(sorted(filter(None, row.split(".")), reverse=True)) or "."


@cache
def after_every_move(row: str) -> frozenset[str]:
    """The rows after each move, segments sorted: one stick, any two, three side by side."""
    places = [at for at, stick in enumerate(row) if stick == "|"]
    taken: list[tuple[int, ...]] = [*combinations(places, 1), *combinations(places, 2)]
    taken += [(at, at + 1, at + 2) for at in places if row[at : at + 3] == "|||"]
    return frozenset(
        sorted_row("".join("." if at in sticks else stick for at, stick in enumerate(row)))
        for sticks in taken
    )


def by_definition(after: list[Value]) -> Value:
    """The least value not reached; a winner hurries, a loser delays."""
    reached = {value.grundy for value in after}
    grundy = next(number for number in count() if number not in reached)
    losses = [value.remoteness or 0 for value in after if value.outcome is LOSS]
    if losses:
        return Value(WIN, 1 + min(losses), grundy)
    return Value(LOSS, max((1 + (value.remoteness or 0) for value in after), default=0), grundy)


@cache
def twin(row: str) -> Value:
    return by_definition([twin(other) for other in after_every_move(row)])


def column(solution: Solution, name: str) -> list[int]:
    part = next(part for part in solution.columns if part.column.name == name)
    items = unpack(part.data, part.column.bits, part.column.items)
    return [int(item) for item in items]


def values(solution: Solution) -> list[Value]:
    names = ("outcome", "remoteness", "grundy")
    listed = zip(*(column(solution, name) for name in names), strict=True)
    return [Value(WIN if won else LOSS, plies, grundy) for won, plies, grundy in listed]


# --- partitions and their ranks -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("longest", "expected"),
    [(1, 2), (4, 7), (9, 42), (36, 21_637), (50, 239_943), (64, 2_012_558), (80, 18_004_327)],
)
def test_a_row_has_as_many_positions_as_there_are_partitions(longest: int, expected: int) -> None:
    assert SticksSpecial(longest).size == expected


def test_partitions_into_small_parts_are_counted() -> None:
    counts = partition_counts(9)
    for whole in range(10):
        for most in range(10):
            assert counts[whole * 10 + most] == len(list(partitions(whole, most)))


@pytest.mark.parametrize("longest", [1, 2, 3, 10, 20, 30])
def test_indices_are_the_lexicographic_ranks_of_partitions(longest: int) -> None:
    game = SticksSpecial(longest)
    listed = list(partitions(longest + 1, longest + 1))
    assert listed == sorted(listed)
    assert game.size == len(listed)
    for index, partition in enumerate(listed):
        assert game.parse(row_of(partition)) == index
        assert game.format(index) == row_of(partition)


def test_every_index_of_twenty_sticks_formats_and_parses_back() -> None:
    game = SticksSpecial(20)
    texts = [game.format(index) for index in range(game.size)]
    assert [game.parse(text) for text in texts] == list(range(game.size))
    assert len(set(texts)) == game.size == 792
    assert max(map(len, texts)) == 20
    assert game.format(game.start) == "|" * 20
    assert game.format(0) == "."


def test_the_order_of_segments_and_the_width_of_gaps_do_not_matter() -> None:
    game = SticksSpecial(20)
    for index in range(0, game.size, 17):
        segments = [segment for segment in game.format(index).split(".") if segment]
        other = "..." + "...".join(reversed(segments)) + "."
        assert game.parse(other) == index


@pytest.mark.parametrize("longest", [4, 12, 20])
def test_rows_that_do_not_fit_are_no_positions(longest: int) -> None:
    game = SticksSpecial(longest)
    for text in (
        "|" * (longest + 1),
        f"..{'|' * (longest + 1)}",
        f"{'|' * (longest - 1)}.|",
        f"|{'.' * 99}{'|' * (longest - 1)}",
        "|." * ((longest + 3) // 2),
    ):
        with pytest.raises(InvalidPositionError, match=f"fit into a row of {longest} sticks") as caught:
            game.parse(text)
        assert str(caught.value).startswith("'")
        assert caught.value.position == text
    assert game.format(game.parse(f"{'|' * (longest - 2)}.|")) == f"{'|' * (longest - 2)}.|"


@pytest.mark.parametrize("longest", [1, 2, 3, 12])
def test_moves_between_indices_are_the_moves_between_rows(longest: int) -> None:
    game = SticksSpecial(longest)
    listed = rows(longest)
    for index, row in enumerate(listed):
        after = game.successors_of(index)
        assert len(after) == len(set(after))
        assert {listed[one] for one in after} == after_every_move(row)
        for one in after:
            move = game.move_name(index, one)
            assert game.play(row, move).after == (one,)


# --- values ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("engine", "longest"),
    [
        *((Engine.PYTHON, longest) for longest in (1, 2, 3, 8, 13, 20)),
        *((Engine.NUMBA, longest) for longest in (1, 12, 20)),
    ],
)
def test_every_index_has_the_value_of_its_row(longest: int, engine: Engine) -> None:
    assert values(solve(steps.StepsPlan, SticksSpecial(longest), engine)) == [
        twin(row) for row in rows(longest)
    ]


def test_the_twin_has_values_that_differ() -> None:
    found = [twin(row) for row in rows(20)]
    assert {value.outcome for value in found} == {LOSS, WIN}
    assert max(value.grundy or 0 for value in found) > 8
    assert max(value.remoteness or 0 for value in found) > 8


def test_both_engines_make_the_same_columns() -> None:
    compiled, interpreted = (solve(steps.StepsPlan, SticksSpecial(28), engine) for engine in Engine)
    assert compiled.totals == interpreted.totals
    for one, other in zip(compiled.columns, interpreted.columns, strict=True):
        assert one.column == other.column
        assert np.array_equal(one.data, other.data)


def test_the_value_of_a_row_does_not_depend_on_the_table() -> None:
    small, large = SticksSpecial(12), SticksSpecial(28)
    in_small = values(solve(steps.StepsPlan, small, Engine.NUMBA))
    in_large = values(solve(steps.StepsPlan, large, Engine.NUMBA))
    for index, value in enumerate(in_small):
        assert in_large[large.parse(small.format(index))] == value


def test_totals_are_those_of_the_columns() -> None:
    solution = solve(steps.StepsPlan, SticksSpecial(20), Engine.NUMBA)
    found = values(solution)
    losses = sum(value.outcome is LOSS for value in found)
    assert solution.totals == Totals(
        (losses, 0, len(found) - losses),
        max(value.remoteness or 0 for value in found),
        max(value.grundy or 0 for value in found),
    )


# --- outcomes alone -------------------------------------------------------------------------------


@pytest.mark.parametrize("engine", Engine)
def test_rows_too_long_for_values_have_the_same_outcomes(
    engine: Engine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    game = SticksSpecial(20)
    full = solve(steps.StepsPlan, game, engine)
    monkeypatch.setattr(sticks_special, "LONGEST_WITH_VALUES", 19)
    bare = solve(steps.StepsPlan, game, engine)
    assert [part.column.name for part in bare.columns] == ["outcome"]
    assert column(bare, "outcome") == column(full, "outcome")
    assert bare.totals == Totals(full.totals.counts)
    verify_file(write(tmp_path / "t.h5", game, bare), engine)


def test_a_table_of_outcomes_alone_is_built_and_asked(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(sticks_special, "LONGEST_WITH_VALUES", 13)
    build_table(SticksSpecial(14), tmp_path)
    with open_table(tmp_path / "sticks-special-14.h5") as table:
        assert table.info.largest_grundy == table.info.longest_remoteness == -1
        for row in rows(14):
            assert table.probe(row) == Value(twin(row).outcome)
            moves = table.moves(row)
            assert {sorted_row(move.position) for move in moves} == after_every_move(row)
            if moves:
                assert moves[0].value == Value(twin(row).outcome)
        end = table.line()[-1].position
        assert "|" not in end


def test_values_stop_where_the_table_says() -> None:
    assert SticksSpecial(80).stores_values
    assert not SticksSpecial(81).stores_values


@pytest.mark.parametrize("engine", Engine)
def test_one_wrong_outcome_among_outcomes_alone_is_found(
    engine: Engine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    game = SticksSpecial(12)
    monkeypatch.setattr(sticks_special, "LONGEST_WITH_VALUES", 11)
    solution = solve(steps.StepsPlan, game, Engine.PYTHON)
    for at in range(0, game.size, 17):
        forged, changes = with_other_outcome(solution, at)
        with pytest.raises(VerificationError, match=f"says that index {at} .* but by the rules"):
            verify_file(write(tmp_path / "t.h5", game, forged, **changes), engine)


# --- other games of steps -------------------------------------------------------------------------

Pairs = tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Drawn(StepGame):
    """Steps and leaps as pairs of an index and the one it leads to, in order."""

    size_: int
    steps_: Pairs
    leaps_: Pairs = ()
    values_: bool = True

    name: ClassVar[str] = "drawn"

    @property
    def table_name(self) -> str:
        return self.name

    @property
    def size(self) -> int:
        return self.size_

    @property
    def start(self) -> int:
        return self.size_ - 1

    @property
    def max_steps(self) -> int:
        return self.size_

    @property
    def stores_values(self) -> bool:
        return self.values_

    @cached_property
    def steps(self) -> Neighbours:
        return neighbours(self.size_, self.steps_)

    @cached_property
    def leaps(self) -> Neighbours:
        return neighbours(self.size_, self.leaps_)

    def parse(self, text: str) -> int:
        return int(text)

    def format(self, index: int) -> str:
        return str(index)

    def move_name(self, index: int, after: int) -> str:
        return f"{index}>{after}"

    def twin(self) -> list[Value]:
        """Values from the definition: all moves of all indices, one after the other."""
        found: list[Value] = []
        for index in range(self.size_):
            once = [after for at, after in self.steps_ if at == index]
            moves = {*once, *(after for at, after in self.leaps_ if at == index)}
            moves |= {after for at, after in self.steps_ if at in once}
            found.append(by_definition([found[after] for after in moves]))
        return found


def neighbours(size: int, pairs: Pairs) -> Neighbours:
    begins = np.searchsorted([index for index, _ in pairs], np.arange(size + 1))
    targets = np.array([after for _, after in pairs], np.int64)

    def listed(index: int, out: MutableSequence[int]) -> int:
        begin, end = int(begins[index]), int(begins[index + 1])
        for at in range(begin, end):
            out[at - begin] = int(targets[at])
        return end - begin

    return listed


def stairs(size: int) -> Pairs:
    """From each index one down; so a move leads one or two down."""
    return tuple((index, index - 1) for index in range(1, size))


def all_below(size: int) -> Pairs:
    return tuple((index, after) for index in range(size) for after in range(index))


def at_random(seed: int, values: bool = True) -> Drawn:
    """Each index has a few steps and leaps, or neither."""
    chance = random.Random(seed)
    size = chance.randrange(2, 40)
    steps_, leaps_ = [], []
    for index in range(1, size):
        below = range(max(0, index - 8), index)
        if chance.random() < 0.9:
            steps_ += [(index, one) for one in below if chance.random() < 0.25]
        if steps_ and steps_[-1][0] == index:
            leaps_ += [(index, one) for one in below if chance.random() < 0.15]
    return Drawn(size, tuple(steps_), tuple(leaps_), values)


LONGER_AFTER_TWO_STEPS = Drawn(7, stairs(7), ((5, 0),))
"""From 6, one step leads to a win in 1 and the next to a win in 3."""


@pytest.mark.parametrize("engine", Engine)
def test_a_loser_takes_two_steps_if_they_last_longer(engine: Engine) -> None:
    found = values(solve(steps.StepsPlan, LONGER_AFTER_TWO_STEPS, engine))
    assert [value.remoteness for value in found] == [0, 1, 1, 2, 3, 1, 4]
    assert [value.outcome is WIN for value in found] == [False, True, True, False, True, True, False]


@pytest.mark.parametrize("engine", Engine)
def test_games_drawn_at_random_agree_with_the_definition(engine: Engine) -> None:
    for seed in range(200 if engine == Engine.PYTHON else 3):
        game = at_random(seed)
        expected = game.twin()
        assert values(solve(steps.StepsPlan, game, engine)) == expected
        bare = solve(steps.StepsPlan, at_random(seed, values=False), engine)
        assert column(bare, "outcome") == [int(value.outcome is WIN) for value in expected]


@pytest.mark.parametrize("engine", Engine)
def test_the_check_finds_any_one_wrong_record_of_drawn_games(engine: Engine) -> None:
    some = [at_random(seed) for seed in range(20 if engine == Engine.PYTHON else 1)]
    for game in (LONGER_AFTER_TWO_STEPS, *some):
        expected = game.twin()
        bits = max(value.grundy or 0 for value in expected).bit_length()
        layout = Layout(True, bits, True, True, np.dtype(np.uint32))
        records = np.array(
            [
                (value.remoteness or 0) << bits + 2 | (value.grundy or 0) << 2 | value.outcome
                for value in expected
            ],
            np.uint32,
        )
        for at in range(-1, game.size, 1 if engine == Engine.PYTHON else 4):
            forged = records.copy()
            if at >= 0:
                forged[at] ^= (1, 3)[at % 2] << (2 + bits if at % 3 else 2 if bits else 1)
            check = checks.check(game, layout, forged, engine)
            assert check.prepare is not None
            check.prepare(0, game.size)
            wrong = Wrong(at, int(forged[at]), int(records[at])) if at >= 0 else None
            assert check.first_wrong(0, game.size) == wrong


@pytest.mark.parametrize("engine", Engine)
def test_one_or_two_steps_down_are_the_game_of_thirds(engine: Engine) -> None:
    for index, value in enumerate(values(solve(steps.StepsPlan, Drawn(200, stairs(200)), engine))):
        thirds, rest = divmod(index, 3)
        assert value == Value(WIN if rest else LOSS, 2 * thirds + (rest > 0), rest)


@pytest.mark.parametrize("engine", Engine)
@pytest.mark.parametrize("with_values", [True, False])
@pytest.mark.parametrize(
    "game",
    [
        Drawn(6, ((1, 0), (2, 1), (3, 3), (4, 3), (5, 4))),
        Drawn(6, ((1, 0), (2, 1), (3, 5), (4, 3), (5, 4))),
        Drawn(6, ((1, 0), (2, 1), (3, -1), (4, 3), (5, 4))),
        Drawn(6, stairs(6), ((3, 3),)),
        Drawn(6, stairs(6), ((3, 4),)),
        Drawn(6, stairs(6), ((3, -1),)),
    ],
    ids=str,
)
def test_a_move_that_does_not_lead_down_is_refused(
    game: Drawn, with_values: bool, engine: Engine
) -> None:
    """Index 3 is a loss but for what is wrong there, so nothing lets a solver look away."""
    with pytest.raises(GameError, match="index 3 of drawn cannot be solved in order: expected"):
        solve(steps.StepsPlan, replace(game, values_=with_values), engine)


@pytest.mark.parametrize("engine", Engine)
def test_the_largest_values_are_solved_and_larger_ones_refused(engine: Engine) -> None:
    found = values(solve(steps.StepsPlan, Drawn(63, stairs(63), all_below(63)), engine))
    assert [value.grundy for value in found] == list(range(63))
    with pytest.raises(GameError, match=r"index 63 of drawn .* Grundy values below 63"):
        solve(steps.StepsPlan, Drawn(64, stairs(64), all_below(64)), engine)


@pytest.mark.parametrize("engine", Engine)
def test_the_longest_games_are_solved_and_longer_ones_refused(engine: Engine) -> None:
    """A loss at 3 * 127 lasts 254 plies; the win beside it would last 255."""
    found = values(solve(steps.StepsPlan, Drawn(382, stairs(382)), engine))
    assert found[-1] == Value(LOSS, 254, 0)
    with pytest.raises(GameError, match=r"index 382 of drawn .* short games"):
        solve(steps.StepsPlan, Drawn(383, stairs(383)), engine)


@pytest.mark.parametrize("engine", Engine)
def test_outcomes_alone_know_no_such_limits(engine: Engine) -> None:
    found = column(solve(steps.StepsPlan, Drawn(900, stairs(900), values_=False), engine), "outcome")
    assert found == [int(index % 3 > 0) for index in range(900)]


@pytest.mark.parametrize("with_values", [True, False])
def test_reports_end_when_all_is_done(with_values: bool) -> None:
    seen: list[tuple[int, int]] = []
    size = 380 if with_values else 3000
    game = Drawn(size, stairs(size), values_=with_values)
    solve(steps.StepsPlan, game, Engine.PYTHON, lambda done, total: seen.append((done, total)))
    assert seen == sorted(seen)
    assert seen[-1] == (size, size)
    assert len(seen) > 1 or with_values


# --- verification ---------------------------------------------------------------------------------


def with_other_outcome(solution: Solution, at: int) -> tuple[Solution, dict[str, int]]:
    """One outcome reversed, and what the file must then say of itself."""
    was = column(solution, "outcome")[at]
    losses, _, wins = solution.totals.counts
    changes = {"losses": losses + 2 * was - 1, "wins": wins + 1 - 2 * was}
    return with_item(solution, "outcome", at, 1 - was), changes


@pytest.mark.parametrize("engine", Engine)
@pytest.mark.parametrize("longest", [1, 12, 20])
def test_right_tables_pass(longest: int, engine: Engine, tmp_path: Path) -> None:
    game = SticksSpecial(longest)
    path = write(tmp_path / "t.h5", game, solve(steps.StepsPlan, game, Engine.PYTHON))
    assert verify_file(path, engine).info.name == game.table_name


@pytest.mark.parametrize("engine", Engine)
def test_any_one_wrong_grundy_value_is_found_where_it_is(engine: Engine, tmp_path: Path) -> None:
    game = SticksSpecial(12)
    solution = solve(steps.StepsPlan, game, Engine.PYTHON)
    stored = column(solution, "grundy")
    for at in range(0, game.size, 9):
        value = (stored[at] + 1) % (max(stored) + 1)
        forged = with_item(solution, "grundy", at, value)
        changes = {"largest_grundy": max([*stored[:at], value, *stored[at + 1 :]])}
        with pytest.raises(VerificationError, match=f"says that index {at} .* but by the rules"):
            verify_file(write(tmp_path / "t.h5", game, forged, **changes), engine)


@pytest.mark.parametrize("engine", Engine)
@pytest.mark.parametrize("more", [-1, 1])
def test_any_one_wrong_remoteness_is_found_where_it_is(
    more: int, engine: Engine, tmp_path: Path
) -> None:
    game = SticksSpecial(12)
    solution = solve(steps.StepsPlan, game, Engine.PYTHON)
    stored = column(solution, "remoteness")
    for at in range(0, game.size, 17):
        plies = stored[at] + more
        if plies >= 0:
            forged = with_item(solution, "remoteness", at, plies)
            changes = {"longest_remoteness": max([*stored[:at], plies, *stored[at + 1 :]])}
            with pytest.raises(VerificationError, match=f"says that index {at} .* but by the rules"):
                verify_file(write(tmp_path / "t.h5", game, forged, **changes), engine)


@pytest.mark.parametrize("engine", Engine)
def test_any_one_wrong_outcome_is_found_where_it_is(engine: Engine, tmp_path: Path) -> None:
    game = SticksSpecial(12)
    solution = solve(steps.StepsPlan, game, Engine.PYTHON)
    for at in range(0, game.size, 17):
        forged, changes = with_other_outcome(solution, at)
        with pytest.raises(VerificationError, match=f"says that index {at} .* but by the rules"):
            verify_file(write(tmp_path / "t.h5", game, forged, **changes), engine)


def test_the_message_says_what_the_rules_say(tmp_path: Path) -> None:
    game = SticksSpecial(12)
    solution = solve(steps.StepsPlan, game, Engine.PYTHON)
    at = game.parse("|.|")
    path = write(tmp_path / "t.h5", game, with_item(solution, "remoteness", at, 3))
    with pytest.raises(VerificationError) as caught:
        verify_file(path)
    assert str(caught.value) == (
        f"'{path}' says that index {at} ('|.|') is a win in 3 (grundy 2), "
        "but by the rules and its successors it is a win in 1 (grundy 2)"
    )


def test_a_game_of_steps_has_no_period(tmp_path: Path) -> None:
    game = SticksSpecial(12)
    solution = solve(steps.StepsPlan, game, Engine.PYTHON)
    path = write(tmp_path / "t.h5", game, solution, period=Period(0, 1, 9, 0).text)
    with pytest.raises(CorruptTableError):
        verify_file(path)


@pytest.mark.parametrize("engine", Engine)
@pytest.mark.parametrize(("name", "value"), [("remoteness", 256), ("grundy", 63), ("grundy", 64)])
def test_numbers_larger_than_any_in_such_a_game_are_found(
    name: str, value: int, engine: Engine, tmp_path: Path
) -> None:
    game, at = SticksSpecial(20), 500
    solution = solve(steps.StepsPlan, game, Engine.PYTHON)
    stored = np.array(column(solution, name), np.uint16)
    stored[at] = value
    pack = packed_grundy if name == "grundy" else packed_remoteness
    columns = [pack(stored, value) if part.column.name == name else part for part in solution.columns]
    forged = Solution(tuple(columns), solution.totals)
    changes = {"largest_grundy" if name == "grundy" else "longest_remoteness": value}
    with pytest.raises(VerificationError, match=f"says that index {at} .* but by the rules"):
        verify_file(write(tmp_path / "t.h5", game, forged, **changes), engine)


@pytest.mark.parametrize("engine", Engine)
def test_a_table_that_calls_every_row_a_win_of_value_0_is_found(engine: Engine, tmp_path: Path) -> None:
    game = SticksSpecial(12)
    fewest_moves: dict[str, int] = {".": 0}
    for row in rows(12)[1:]:
        fewest_moves[row] = 1 + min(fewest_moves[other] for other in after_every_move(row))
    plies = np.array([max(0, 2 * moves - 1) for moves in fewest_moves.values()], np.uint8)
    codes = np.full(game.size, WIN, np.uint8)
    codes[0] = LOSS
    columns: list[PackedColumn] = [
        packed_outcome(codes, narrow=True),
        packed_grundy(np.zeros(game.size, np.uint8), 0),
        packed_remoteness(plies, int(plies.max())),
    ]
    totals = Totals((1, 0, game.size - 1), int(plies.max()), 0)
    path = write(tmp_path / "t.h5", game, Solution(tuple(columns), totals))
    with pytest.raises(VerificationError):
        verify_file(path, engine)
