"""The Grundy solver against recursion on graphs of any numbering; sums; loops; what verify finds."""

from __future__ import annotations

import itertools
import random
import re
from functools import cache
from typing import TYPE_CHECKING, Any

import pytest

from builder.build import build_table
from builder.compile import Engine
from builder.solvers import grundy
from builder.verify import verify_file
from builder.writer import write_table
from lookup import (
    CorruptTableError,
    GameError,
    InvalidPositionError,
    Outcome,
    Value,
    VerificationError,
    open_table,
)
from lookup.blocks import pack, unpack
from lookup.format import TableInfo
from tests.graph_game import GraphGame
from tests.own_games import SUBTRACT, own_game
from tests.solving import solve

if TYPE_CHECKING:
    from pathlib import Path


class Impartial(GraphGame):
    """A graph whose nodes have Grundy values."""

    solver = "grundy"


def random_graph(seed: int, nodes: int) -> Impartial:
    """A graph without loops whose numbering says nothing of its order; some nodes are holes."""
    chosen = random.Random(seed)
    order = list(range(nodes))
    chosen.shuffle(order)
    holes = tuple(sorted(chosen.sample(order[1:], nodes // 5)))
    moves = {
        (order[one], order[other])
        for one in range(nodes)
        for other in range(one)
        if chosen.random() < 3 / nodes and order[one] not in holes and order[other] not in holes
    }
    return Impartial(nodes, tuple(sorted(moves)), (), holes=holes)


def values_of(game: Impartial) -> dict[int, tuple[int, int]]:
    """Grundy value and remoteness of every node, by recursion."""
    after = {node: [to for at, to in game.moves_ if at == node] for node in range(game.nodes)}

    @cache
    def value(node: int) -> tuple[int, int]:
        reached = [value(one) for one in after[node]]
        least = next(one for one in range(len(reached) + 1) if one not in {g for g, _ in reached})
        if least:
            return least, 1 + min(plies for g, plies in reached if g == 0)
        return 0, 1 + max((plies for _, plies in reached), default=-1)

    return {node: value(node) for node in range(game.nodes) if node not in game.holes}


@pytest.mark.parametrize("engine", Engine)
@pytest.mark.parametrize("seed", range(12))
def test_any_numbering_without_loops(seed: int, engine: Engine) -> None:
    game = random_graph(seed, 30 + seed)
    solution = solve(grundy.GrundyPlan, game, engine)
    outcome, value, remoteness = (
        unpack(one.data, one.column.bits, game.nodes).tolist() for one in solution.columns
    )
    right = values_of(game)
    for node in range(game.nodes):
        if node in game.holes:
            assert (outcome[node], value[node], remoteness[node]) == (0, 0, 0)
        else:
            assert (value[node], remoteness[node]) == right[node]
            assert outcome[node] == (Outcome.WIN if right[node][0] else Outcome.LOSS)
    assert solution.totals.counts[1] == 0
    assert sum(solution.totals.counts) == game.nodes - len(game.holes)


@pytest.mark.parametrize("engine", Engine)
def test_a_numbering_upwards_and_one_that_turns_round(engine: Engine) -> None:
    """A path up, and one that jumps from end to end: as many sweeps as it has turns."""
    zigzag = [0, 9, 1, 8, 2, 7, 3, 6, 4, 5]
    for order in (list(range(10)), zigzag):
        game = Impartial(10, tuple(itertools.pairwise(order)), ())
        remoteness = solve(grundy.GrundyPlan, game, engine).columns[2]
        plies = unpack(remoteness.data, remoteness.column.bits, 10).tolist()
        assert [plies[node] for node in order] == list(range(9, -1, -1))


@pytest.mark.parametrize("engine", Engine)
def test_a_loop_is_named(engine: Engine) -> None:
    game = Impartial(5, ((0, 1), (1, 2), (2, 3), (3, 1), (2, 4)), ())
    words = "positions of graph can come again, '1' -> '2' -> '3' -> '1': expected a game that ends"
    with pytest.raises(GameError, match=re.escape(words)):
        solve(grundy.GrundyPlan, game, engine)


@pytest.mark.parametrize("engine", Engine)
@pytest.mark.parametrize("target", [-1, 5, 10**12])
def test_a_move_to_nowhere_is_explained(engine: Engine, target: int) -> None:
    with pytest.raises(GameError, match=rf"index 1 .* lists {target}: expected an index from 0 to 4"):
        solve(grundy.GrundyPlan, Impartial(5, ((1, target), (4, 0)), ()), engine)


def test_an_end_that_is_no_loss_is_refused() -> None:
    with pytest.raises(GameError, match=r"terminal says 3 for index 0 .* expected 0 or a loss"):
        solve(grundy.GrundyPlan, Impartial(2, ((1, 0),), ((0, Outcome.WIN),)), Engine.PYTHON)


# --- a game of one's own, with sums ---------------------------------------------------------------

NIM = SUBTRACT.replace("max_moves = 3", 'max_moves = 3\n    solver = "grundy"')
SPLIT = '''
from lookup import Game

class Split(Game):
    """Split a heap into two that differ in size (Grundy's game); whoever cannot loses."""

    heap: int = 40
    solver = "grundy"
    parts = 2

    @property
    def size(self):
        return self.heap + 1

    @property
    def start(self):
        return self.heap

    @property
    def max_moves(self):
        return self.heap // 2 + 1

    def successors(self, index, out):
        count = 0
        for small in range(1, (index + 1) // 2):
            out[2 * count] = small
            out[2 * count + 1] = index - small
            count += 1
        return count
'''
GRUNDYS_GAME = [
    0,
    0,
    0,
    1,
    0,
    2,
    1,
    0,
    2,
    1,
    0,
    2,
    1,
    3,
    2,
    1,
    3,
    2,
    4,
    3,
    0,
    4,
    3,
    0,
    4,
    3,
    0,
    4,
    1,
    2,
]
"""OEIS A002188: heaps of 0, 1, 2, ..."""


def test_sums_are_played_by_exclusive_or(tmp_path: Path) -> None:
    game = own_game(tmp_path, NIM)
    with open_table(build_table(game, tmp_path).path, game=game) as table:
        assert [table.probe_index(heap).grundy for heap in range(9)] == [0, 1, 2, 3, 0, 1, 2, 3, 0]
        assert table.probe("5") == Value(Outcome.WIN, 3, 1)
        assert table.probe("5 + 6") == Value(Outcome.WIN, None, 3)
        assert table.probe("5 + 9").outcome is Outcome.LOSS
        best = table.best("5 + 6")
        assert best is not None
        assert (best.text, best.position) == ("5: 2", "2 + 6")
        assert [move.text for move in table.game.moves("2 + 2")] == ["2: 1", "2: 0"], "alike ones once"
        line = table.line("3 + 2")
        assert line[-1].value.outcome is Outcome.WIN
        assert table.moves(line[-1].position) == []
        for bad in ("5 +6", "5 + ", "5 + 21", " + ", "5 + x"):
            with pytest.raises(InvalidPositionError, match=r"joined by ' \+ '|the index of a position"):
                table.probe(bad)


@pytest.mark.parametrize("engine", Engine)
def test_moves_to_sums(tmp_path: Path, engine: Engine) -> None:
    game = own_game(tmp_path, SPLIT)
    path = build_table(game, tmp_path, engine=engine).path
    with open_table(path, game=game) as table:
        assert [table.probe_index(heap).grundy for heap in range(30)] == GRUNDYS_GAME
        assert table.probe_index(7).remoteness is None
        assert [move.text for move in table.game.moves("5")] == ["4", "3"], "what is over is left out"
        moves = table.moves("9")
        assert {move.position for move in moves} == {"8", "7", "3 + 6", "4 + 5"}
        for move in moves:
            assert table.probe(move.position).grundy == move.value.grundy
    assert verify_file(path, engine, rules=game).checked == 41


# --- verify ---------------------------------------------------------------------------------------


def test_any_one_wrong_value_is_found(tmp_path: Path) -> None:
    game = own_game(tmp_path, NIM, heap=30)
    solution = solve(grundy.GrundyPlan, game, Engine.PYTHON)
    column = next(one for one in solution.columns if one.column.name == "grundy")
    values = unpack(column.data, column.column.bits, 31)
    for at in range(0, 31, 3):
        forged = values.copy()
        forged[at] ^= 1
        columns = [
            type(one)(one.column, pack(forged, one.column.bits)) if one is column else one
            for one in solution.columns
        ]
        info = TableInfo.describe(game, "endtable test", solution.totals)
        path = tmp_path / "forged.h5"
        write_table(path, info, columns)
        with pytest.raises(VerificationError, match="by the rules"):
            verify_file(path, Engine.PYTHON, rules=game)


@pytest.mark.parametrize("engine", Engine)
def test_values_of_a_game_with_loops_prove_nothing(engine: Engine, tmp_path: Path) -> None:
    """0 <-> 1 with values 0 and 1 agree with the rules, and mean nothing."""
    looped = NIM.replace("return count", "if index == 1:\n            out[0] = 0\n        return count")
    source = looped.replace("min(3, index)", "min(3, index or 1)").replace(
        "out[count] = index - taken", "out[count] = index - taken if index else 1"
    )
    game = own_game(tmp_path, source, heap=1)
    assert (game.successors_of(0), game.successors_of(1)) == ([1], [0])
    honest = own_game(tmp_path, NIM, heap=1)
    solution = solve(grundy.GrundyPlan, honest, Engine.PYTHON)
    info = TableInfo.describe(game, "endtable test", solution.totals)
    write_table(tmp_path / "looped.h5", info, solution.columns)
    with pytest.raises(VerificationError, match="from there play need not end"):
        verify_file(tmp_path / "looped.h5", engine, rules=game)


def test_a_table_without_values_is_no_table_of_sums(tmp_path: Path) -> None:
    game: Any = own_game(tmp_path, SPLIT)
    solution = solve(grundy.GrundyPlan, game, Engine.PYTHON)
    info = TableInfo.describe(game, "endtable test", solution.totals)
    without = [one for one in solution.columns if one.column.name != "grundy"]
    write_table(tmp_path / "t.h5", info._replace(largest_grundy=-1), without)
    with pytest.raises(CorruptTableError):
        open_table(tmp_path / "t.h5", game=game)
