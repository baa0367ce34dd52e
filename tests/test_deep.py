"""`verify --deep`: a second method agrees with every table, and notices whatever is altered."""

from __future__ import annotations

import dataclasses
import json
import random
import weakref
from contextlib import closing
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from torture_games import RandomOrder, RandomSums
from torture_values import games_at_random

import lookup
from builder import deep
from builder.build import SOLVERS, solver_of
from builder.catalogue import CATALOGUE
from builder.compile import Engine
from builder.deep import METHODS, compare, deep_verify, other_method, solve_again
from builder.second.depth import DepthFirst
from builder.second.rounds import Rounds
from builder.second.search import Search
from builder.solvers import mask
from builder.solvers.solution import PackedColumn
from builder.verify import verify_file
from builder.workers import Workers
from lookup import Game
from lookup.blocks import pack, unpack
from lookup.columns import read_items
from lookup.errors import BuildError, GameError, VerificationError
from lookup.games.clock import Clock
from lookup.games.sticks_heaps import SticksAny, SticksRun
from lookup.games.sticks_special import SticksSpecial
from lookup.games.tactics import Tactics
from lookup.progress import Progress, silent
from lookup.reader import TableFile
from lookup.values import Outcome
from tests.commands import one_line, run
from tests.conftest import ROOT
from tests.graph_game import GraphGame
from tests.solving import solve
from tests.test_verify import traced, with_item, write

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from builder.second.method import Method
    from builder.solvers.solution import Solution

OF_EVERY_KIND = (
    "tactics-3x3", "rota", "clock-4-2", "sticks-any-1-3", "sticks-run-1-2-to120", "sticks-special-12",
    "winners-losers-6", "nim-20", "kayles-20", "domineering-3-3", "cram-3-3-1",
)  # fmt: skip


@cache
def solved(name: str) -> tuple[Game, Solution]:
    game = lookup.find_game(name)
    return game, solve(solver_of(game).plan, game, Engine.PYTHON)


@cache
def solved_again(name: str) -> Method:
    return solve_again(lookup.find_game(name), Engine.PYTHON)


def compared(path: Path, engine: Engine | None = None, rules: Game | None = None) -> None:
    """What `deep_verify` does before it verifies."""
    with closing(TableFile(path, rules)) as file:
        compare(file, solve_again(file.game, engine))


# --- tables that are right ------------------------------------------------------------------------


@pytest.mark.parametrize("name", [game.table_name for game in CATALOGUE])
def test_every_default_table_is_the_same_by_another_method(name: str) -> None:
    compared(ROOT / "tables" / f"{name}.h5")


@pytest.mark.parametrize("name", OF_EVERY_KIND)
def test_every_kind_is_the_same_and_verified(name: str, tmp_path: Path) -> None:
    done = deep_verify(write(tmp_path / "t.h5", *solved(name)), Engine.PYTHON)
    assert done.verified.info.name == name
    assert done.verified.checked >= 1


def test_every_kind_of_solver_has_another_method() -> None:
    assert METHODS.keys() == SOLVERS.keys()
    assert {lookup.find_game(name).solver for name in OF_EVERY_KIND} == SOLVERS.keys()
    assert other_method(Clock(4, 2)) is Search  # it fills its table, and the others search
    assert other_method(lookup.find_game("eight-puzzle")) is Rounds


def test_games_at_random_are_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Holes, ends of all kinds, loops, symmetry and numberings without order."""
    # Which rules they are is known here, and takes longer to find out than they take to solve.
    monkeypatch.setattr(Game, "rules_digest", classmethod(lambda cls: cls.__name__))
    chosen, seen = random.Random(8), set()
    for _ in range(3):
        for game in games_at_random(chosen):
            solution = solve(solver_of(game).plan, game, Engine.PYTHON)
            path = write(tmp_path / "t.h5", game, solution)
            compared(path, Engine.PYTHON, game)
            seen |= {(game.solver, part.column.name) for part in solution.columns}
    assert {kind for kind, _ in seen} == SOLVERS.keys()
    assert {("retrograde", "classes"), ("distance", "classes"), ("grundy", "remoteness")} <= seen


@pytest.mark.parametrize("game", [RandomOrder(5, 60), RandomSums(5, 60)], ids=lambda game: game.name)
def test_compiled_and_interpreted_methods_are_the_same(game: Game) -> None:
    """The other two are compiled for the default tables."""
    one, other = (solve_again(game, engine).values(0, game.size) for engine in Engine)
    for column, same in zip(one, other, strict=True):
        assert (column is None and same is None) or bool(np.all(column == same))


def test_outcomes_alone_are_compared(tmp_path: Path) -> None:
    game = Tactics(3, 4)
    solution = solve(mask.BitsPlan, game, Engine.PYTHON)
    compared(write(tmp_path / "t.h5", game, solution))
    bit = int(unpack(solution.columns[0].data, 1, game.size)[77])
    with pytest.raises(VerificationError, match=r"says that index 77 \('.*'\) is a (win|loss), but"):
        compared(write(tmp_path / "t.h5", game, with_item(solution, "outcome", 77, 1 - bit)))


# --- tables that are wrong ------------------------------------------------------------------------


def _altered(solution: Solution, name: str, chosen: random.Random) -> tuple[int, Solution]:
    """Another number in one place of a column, among those that the file may hold there."""
    items = _items(solution, name)
    low, high = int(items.min()), int(items.max())
    at = chosen.randrange(1 if name != "outcome" and "classes" in _names(solution) else 0, len(items))
    value = chosen.choice([one for one in range(low, high + 1) if one != items[at]])
    return at, with_item(solution, name, at, value)


def _names(solution: Solution) -> list[str]:
    return [part.column.name for part in solution.columns]


def _items(solution: Solution, name: str) -> NDArray[np.unsignedinteger]:
    part = next(part for part in solution.columns if part.column.name == name)
    return unpack(part.data, part.column.bits, part.column.items)


@pytest.mark.parametrize("name", OF_EVERY_KIND)
def test_one_altered_number_in_any_column_is_found(name: str, tmp_path: Path) -> None:
    game, solution = solved(name)
    chosen, again = random.Random(name), solved_again(name)
    columns = [name for name in _names(solution) if np.ptp(_items(solution, name))]
    assert columns
    for column in columns:
        for _ in range(4):
            at, forged = _altered(solution, column, chosen)
            path = write(tmp_path / "t.h5", game, forged)
            with closing(TableFile(path)) as file:
                if column == "classes" and _same_record(solution, file, at):
                    continue
                with pytest.raises(VerificationError) as caught:
                    compare(file, again)
            said = f"'{path}' says that index "
            assert str(caught.value).startswith(said), column
            index = int(str(caught.value).removeprefix(said).split()[0])
            if "classes" not in _names(solution) or column == "classes":
                assert index == at
            assert f"but solved again {again.words} it is" in str(caught.value)


def _same_record(solution: Solution, file: TableFile, at: int) -> bool:
    """Whether an index was put into another class that has the same value."""
    parts = {part.column.name: part for part in solution.columns}
    before = unpack(parts["classes"].data, parts["classes"].column.bits, file.info.size)[at]
    after = read_items(file, "classes", at, at + 1)[0]
    records = [read_items(file, name) for name in parts if name != "classes"]
    return all(column[before] == column[after] for column in records)


@pytest.mark.parametrize(
    ("name", "more"),
    [
        ("tactics-3x3", {"wins": 1, "losses": -1}),
        ("tactics-3x3", {"longest_remoteness": 1}),
        ("rota", {"draws": -1, "wins": 1}),
        ("sticks-special-12", {"largest_grundy": 1}),
        ("kayles-20", {"largest_grundy": 1}),
    ],
    ids=str,
)
def test_wrong_totals_are_found(name: str, more: dict[str, int], tmp_path: Path) -> None:
    game, solution = solved(name)
    right = write(tmp_path / "right.h5", game, solution)
    with closing(TableFile(right)) as file:
        claim = {one: getattr(file.info, one) + number for one, number in more.items()}
    path = write(tmp_path / "t.h5", game, solution, **claim)
    with pytest.raises(
        VerificationError, match=rf"says of it that {min(claim)} is .*, but solved again"
    ):
        compared(path, Engine.PYTHON)


@pytest.mark.parametrize("game", [SticksRun(1, 2, 400), SticksAny(1, 3)], ids=lambda one: one.name)
def test_a_period_is_tried_beyond_the_table(game: Game, tmp_path: Path) -> None:
    """The reader refuses one that is not proven; so it is the other method that is altered here."""
    path = write(tmp_path / "t.h5", game, solve(solver_of(game).plan, game, Engine.PYTHON))
    with closing(TableFile(path)) as file:
        assert file.info.period
        method = solve_again(file.game, Engine.PYTHON)
        compare(file, method)
        assert isinstance(method, DepthFirst)
        method._grundy[game.size + 7] ^= 1
        with pytest.raises(VerificationError, match=f"says that index {game.size + 7} "):
            compare(file, method)


def test_the_message_names_position_and_truth(tmp_path: Path) -> None:
    game, solution = solved("tactics-2x2")
    path = write(tmp_path / "t.h5", game, with_item(solution, "remoteness", 0, 2))
    with pytest.raises(VerificationError) as caught:
        deep_verify(path)
    assert str(caught.value) == (
        f"'{path}' says that index 0 ('../..') is a loss in 2, "
        "but solved again by rounds, one for each ply it is a loss in 3"
    )


def test_draws_and_holes_are_told_apart(tmp_path: Path) -> None:
    game, solution = solved("rota")
    again = solved_again("rota")
    drawn = int((_items(solution, "outcome") == Outcome.DRAW).argmax())
    for column, record, value, message in (
        ("remoteness", drawn, 1, r"is a draw in 1, but solved again .* it is a draw$"),
        ("outcome", 0, Outcome.DRAW, r"index \d+ is a draw, but solved again .* it is not a position$"),
        ("remoteness", 0, 3, r"is not a position with remoteness 3, .* it is not a position$"),
    ):
        path = write(tmp_path / "t.h5", game, with_item(solution, column, record, value))
        with closing(TableFile(path)) as file, pytest.raises(VerificationError, match=message):
            compare(file, again)


def test_what_verify_finds_is_found_too(tmp_path: Path) -> None:
    """Classes of equal value may change numbers; no value is wrong then, and still not the format."""
    game, solution = solved("rota")
    classes = unpack(solution.columns[2].data, 16, game.size)
    values = list(
        zip(*(unpack(c.data, c.column.bits, c.column.items) for c in solution.columns[:2]), strict=True)
    )
    one, other = next(
        (a, b) for a in range(1, 273) for b in range(a + 1, 273) if values[a] == values[b]
    )
    swapped = classes.copy()
    swapped[classes == one], swapped[classes == other] = other, one
    column = solution.columns[2].column
    columns = (*solution.columns[:2], PackedColumn(column, pack(swapped, column.bits)))
    path = write(tmp_path / "t.h5", game, dataclasses.replace(solution, columns=columns))
    with pytest.raises(VerificationError, match="puts index"):
        deep_verify(path, Engine.PYTHON)


def test_loops_where_none_may_be_are_named() -> None:
    game = GraphGame(3, ((0, 1), (1, 2), (2, 0)), ())
    method = DepthFirst(game, Engine.PYTHON)
    with pytest.raises(
        GameError, match=r"positions of graph can come again, as from index \d \('\d'\)"
    ):
        method.solve(silent, None)  # type: ignore[arg-type]  # needs no workers


@pytest.mark.parametrize("method", [Rounds, Search, DepthFirst])
def test_moves_that_lead_nowhere_are_named(method: Any) -> None:
    game = GraphGame(3, ((0, 1), (1, 7)), ((2, Outcome.LOSS),))
    with Workers() as workers, pytest.raises(GameError, match="index 1"):
        method(game, Engine.PYTHON).solve(silent, workers)


# --- memory, progress and the command -------------------------------------------------------------


@pytest.mark.parametrize("game", [Tactics(3, 3), Clock(4, 3), SticksSpecial(12), SticksRun(1, 2, 120)])
def test_the_estimate_of_memory_is_enough(game: Game, tmp_path: Path) -> None:
    path = write(tmp_path / "t.h5", game, solve(solver_of(game).plan, game, Engine.PYTHON))
    with closing(TableFile(path)) as file:
        needed = deep.memory_needed(file)
    assert traced(lambda: deep_verify(path, Engine.PYTHON, memory=needed)) <= needed
    with pytest.raises(BuildError, match=r"t.h5 needs about .* it was not started"):
        deep_verify(path, Engine.PYTHON, memory=needed - 1)


def test_what_was_solved_again_is_gone_when_the_table_is_verified(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The estimate is of one or the other."""
    kept: list[weakref.ref[Method]] = []

    def solved_once(*words: Any) -> Method:
        method = solve_again(*words)
        kept.append(weakref.ref(method))
        return method

    def verified_later(*words: Any, **more: Any) -> Any:
        assert kept[0]() is None
        return verify_file(*words, **more)

    monkeypatch.setattr(deep, "solve_again", solved_once)
    monkeypatch.setattr(deep, "verify_file", verified_later)
    assert deep_verify(ROOT / "tables" / "clock-4-2.h5", Engine.PYTHON).method == Search.words


@pytest.mark.parametrize(
    "name", ["tactics-3x3", "clock-4-5", "sticks-run-1-2-to120", "sticks-special-12"]
)
def test_progress_tells_what_is_left(name: str) -> None:
    told: list[tuple[int, int]] = []
    solve_again(lookup.find_game(name), Engine.PYTHON, lambda *steps: told.append(steps))
    assert told == sorted(told)
    assert told[-1][0] == told[-1][1]
    assert len({total for _, total in told}) == 1


def test_both_stages_are_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []
    monkeypatch.setattr("lookup.progress.LOG_EVERY", 0.0)
    deep_verify(ROOT / "tables" / "clock-4-2.h5", progress=Progress(log=seen.append))
    assert any(line.startswith("clock-4-2: solve again: 100%") for line in seen)
    assert any(line.startswith("clock-4-2: verify: 100%") for line in seen)


def test_the_command_says_by_which_method(tmp_path: Path) -> None:
    result = run("build-tables", "verify", "clock-4-2", "tables/tactics-3x3.h5", "--deep")
    assert result.code == 0
    words = "positions follow from the rules, and are the same solved again"
    assert result.out.splitlines() == [
        f"clock-4-2: 81 {words} by a search backwards from the wins",
        f"tables/tactics-3x3.h5: 512 {words} by rounds, one for each ply",
    ]
    result = run("build-tables", "verify", "clock-4-2", "--deep", "--json")
    method = "by a search backwards from the wins"
    assert json.loads(result.out) == [
        {"file": "clock-4-2", "ok": True, "positions": 81, "deep": True, "method": method}
    ]
    game, solution = solved("tactics-3x3")
    bad = write(tmp_path / "t.h5", game, with_item(solution, "remoteness", 300, 1))
    result = run("build-tables", "verify", bad, "--deep")
    assert (result.code, result.out) == (1, "")
    assert "says that index 300 " in one_line(result)
    result = run("build-tables", "verify", bad, "--deep", "--max-memory", "20k")
    assert result.code == 1
    assert "t.h5 needs about" in one_line(result)


def test_a_sample_is_not_deep() -> None:
    result = run("build-tables", "verify", "rota", "--deep", "--sample", "5")
    assert (result.code, result.out) == (2, "")
    assert "--deep compares all positions: expected no --sample 5" in one_line(result)
