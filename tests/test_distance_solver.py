"""Games of one player, on graphs drawn by hand and at random; and games solved in the index's order."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import pytest

from builder.checks import moves as moves_check
from builder.compile import Engine
from builder.solvers import distance, ordered
from lookup.blocks import unpack
from lookup.errors import GameError
from lookup.games.filling import Filling
from lookup.records import Layout
from lookup.values import Outcome, Value
from tests.graph_game import GraphGame
from tests.solving import solve

if TYPE_CHECKING:
    from collections.abc import MutableSequence

    from numpy.typing import NDArray

    from builder.solvers.solution import Solution
    from lookup.games.base import SolverKind
    from lookup.games.filling import Run


LOSS, DRAW, WIN = Outcome.LOSS, Outcome.DRAW, Outcome.WIN


class Maze(GraphGame):
    solver: ClassVar[SolverKind] = "distance"


class Stairs(GraphGame):
    solver: ClassVar[SolverKind] = "ordered"


def values(solution: Solution) -> list[Value | None]:
    outcome, remoteness = (
        unpack(part.data, part.column.bits, part.column.items).tolist() for part in solution.columns
    )
    if solution.columns[0].column.bits == 1:
        outcome = [WIN if bit else LOSS for bit in outcome]
    ends = zip(map(Outcome, outcome), remoteness, strict=True)
    return [Value(end, plies if end in (WIN, LOSS) else None) if end else None for end, plies in ends]


def shortest_ways(game: GraphGame) -> list[Value | None]:
    """Relax every move until nothing changes."""
    ends = {node: Outcome(code) for node, code in game.ends}
    plies = {node: 0 for node, end in ends.items() if end is WIN}
    for _ in range(game.nodes):
        for node, after in game.moves_:
            if after in plies:
                plies[node] = min(plies.get(node, game.nodes), plies[after] + 1)
    return [
        Value(WIN, plies[node])
        if node in plies
        else Value(LOSS, 0)
        if ends.get(node) is LOSS
        else Value(DRAW)
        for node in range(game.nodes)
    ]


def random_graph(seed: int, kind: type[GraphGame], falling: bool) -> GraphGame:
    chance = random.Random(seed)
    nodes = chance.randrange(3, 40)
    ended = {node for node in range(nodes) if chance.random() < 0.25} | {0}
    ends = tuple((node, chance.choice([LOSS, DRAW, WIN])) for node in sorted(ended))
    moves = {
        (node, chance.randrange(node if falling else nodes))
        for node in range(nodes)
        if node not in ended
        for _ in range(chance.randrange(1, 4))
    }
    return kind(nodes, tuple(sorted(moves)), ends)


@pytest.mark.parametrize("engine", Engine)
def test_a_way_a_dead_end_and_a_loop(engine: Engine) -> None:
    # 0 -> 1 -> 2 wins; 3 can only lose; 4 and 5 go round for ever.
    moves = ((0, 1), (0, 3), (1, 2), (3, 6), (4, 5), (5, 4))
    game = Maze(7, moves, ((2, WIN), (6, LOSS)))
    assert values(solve(distance.plan, game, engine)) == [
        Value(WIN, 2), Value(WIN, 1), Value(WIN, 0), *[Value(DRAW)] * 3, Value(LOSS, 0)
    ]  # fmt: skip


@pytest.mark.parametrize("seed", range(30))
def test_random_mazes_agree_with_the_definition_and_pass_the_check(seed: int) -> None:
    game = random_graph(seed, Maze, falling=False)
    for engine in Engine if seed < 2 else [Engine.PYTHON]:
        solution = solve(distance.plan, game, engine)
        assert values(solution) == shortest_ways(game)
        layout = Layout(False, 0, False, True, np.dtype(np.uint8))
        records = np.array(
            [(value.remoteness or 0) << 2 | value.outcome for value in values(solution) if value],
            np.uint8,
        )
        check = moves_check.check(game, layout, records, engine)
        assert check.first_wrong(0, game.nodes) is None
        for index in range(game.nodes):
            wrong = records.copy()
            wrong[index] = 5 << 2 | WIN if records[index] != (5 << 2 | WIN) else DRAW
            check = moves_check.check(game, layout, wrong, engine)
            assert check.first_wrong(0, game.nodes) is not None
            if index not in game.successors_of(index):
                assert check.first_wrong(index, index + 1) == (index, wrong[index], records[index])


def count_up(numbers: MutableSequence[int], low: int, high: int, first: int) -> int:
    for at in range(low, high):
        numbers[at] = first + at - low
    return high - low


class Climb(Filling):
    """A ladder of which each node leads to the one below it, seven nodes a stretch."""

    stretches = 3

    def measure(self, number: int, run: Run) -> int:
        return run(count_up, np.zeros(7, np.uint32), 0, 7, 0)

    def fill(self, number: int, before: int, array: NDArray[np.uint32], run: Run) -> None:
        run(count_up, array, before, min(before + 7, len(array)), 100 + before)

    def read(self, array: NDArray[np.uint32], low: int, high: int) -> NDArray[np.uint32]:
        assert array[0] == 100
        remoteness: NDArray[np.uint32] = array[low:high] - array[0]
        return remoteness


class Ladder(Maze):
    filling = Climb()


@pytest.mark.parametrize("engine", Engine)
def test_a_filling_takes_the_place_of_a_search(engine: Engine) -> None:
    moves = tuple((node, node - 1) for node in range(1, 20))
    reports: list[tuple[int, int]] = []
    filled, searched = (
        solve(
            distance.plan, kind(20, moves, ((0, WIN),)), engine, lambda *report: reports.append(report)
        )
        for kind in (Ladder, Maze)
    )
    assert values(filled) == values(searched) == [Value(WIN, node) for node in range(20)]
    assert filled.totals == searched.totals
    # Two are measured, which counts nothing, and three filled.
    assert sorted({done for done, _ in reports[:7]}) == [0, 6, 12, 18, 20]


def test_many_small_slices_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(distance, "_SLICE", 3)
    moves = tuple((node, node - 1) for node in range(1, 20))
    solution = solve(distance.plan, Ladder(20, moves, ((0, WIN),)), Engine.PYTHON)
    assert values(solution) == [Value(WIN, node) for node in range(20)]


def test_a_filling_is_refused_where_its_numbers_might_not_fit() -> None:
    with pytest.raises(GameError, match="graph is too large: at most 4294967296 indices"):
        solve(distance.plan, Ladder(2**32 + 1, ((1, 0),), ((0, WIN),)), Engine.PYTHON)


def by_recursion(game: GraphGame, node: int) -> Value:
    ends = dict(game.ends)
    if node in ends:
        end = Outcome(ends[node] & 3)
        return Value(end, None if end is DRAW else ends[node] >> 2)
    after = [by_recursion(game, to) for source, to in game.moves_ if source == node]
    lost = [value.remoteness or 0 for value in after if value.outcome is LOSS]
    if lost:
        return Value(WIN, 1 + min(lost))
    if any(value.outcome is DRAW for value in after):
        return Value(DRAW)
    return Value(LOSS, 1 + max(value.remoteness or 0 for value in after))


@pytest.mark.parametrize("seed", range(30))
def test_random_stairs_agree_with_recursion(seed: int) -> None:
    game = random_graph(seed, Stairs, falling=True)
    for engine in Engine if seed < 2 else [Engine.PYTHON]:
        expected = [by_recursion(game, node) for node in range(game.nodes)]
        assert values(solve(ordered.OrderedPlan, game, engine)) == expected


@pytest.mark.parametrize("engine", Engine)
def test_plies_left_at_the_end_and_holes_count(engine: Engine) -> None:
    game = Stairs(4, ((2, 0), (3, 2)), ((0, WIN + 4 * 3),), holes=(1,))
    assert values(solve(ordered.OrderedPlan, game, engine)) == [
        Value(WIN, 3),
        None,
        Value(LOSS, 4),
        Value(WIN, 5),
    ]


@pytest.mark.parametrize("engine", Engine)
@pytest.mark.parametrize("target", [1, 2, -1, 10**12])
def test_moves_that_do_not_lead_down_are_refused_not_followed(engine: Engine, target: int) -> None:
    game = Stairs(3, ((1, target), (2, 0)), ((0, LOSS),))
    with pytest.raises(GameError, match=r"index 1 .*(smaller indices only|expected an index)"):
        solve(ordered.OrderedPlan, game, engine)


def test_too_long_a_game_is_refused() -> None:
    moves = tuple((node, node - 1) for node in range(1, 300))
    with pytest.raises(GameError, match="at most 255 plies"):
        solve(ordered.OrderedPlan, Stairs(300, moves, ((0, LOSS),)), Engine.PYTHON)


@pytest.mark.parametrize("engine", Engine)
def test_a_loss_in_255_is_not_overlooked(engine: Engine) -> None:
    """It would make a win in 256, which has no room; calling it a loss would be wrong."""
    moves = (*((node, node - 1) for node in range(1, 257)), (256, 2))
    with pytest.raises(GameError, match="index 256 of graph cannot be solved in order"):
        solve(ordered.OrderedPlan, Stairs(257, moves, ((0, WIN),)), engine)
