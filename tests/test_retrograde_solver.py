"""The retrograde solver on graphs drawn by hand and at random, with and without predecessors."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest

from builder.compile import Engine
from builder.solvers import mask, retrograde
from lookup.blocks import unpack
from lookup.errors import GameError
from lookup.games.tactics import Tactics
from lookup.values import Outcome, Value
from tests.graph_game import GraphGame
from tests.solving import solve

if TYPE_CHECKING:
    from lookup.games.base import Game

LOSS, DRAW, WIN = Outcome.LOSS, Outcome.DRAW, Outcome.WIN


def values(game: Game, engine: Engine) -> list[Value | None]:
    columns = {
        part.column.name: part for part in solve(retrograde.RetrogradePlan, game, engine).columns
    }
    numbers = {
        name: unpack(part.data, part.column.bits, part.column.items) for name, part in columns.items()
    }
    stored: list[Value | None] = []
    for code, plies in zip(numbers["outcome"], numbers["remoteness"], strict=True):
        if "outcome" in columns and columns["outcome"].column.bits == 1:
            code = WIN if code else LOSS
        outcome = Outcome(int(code))
        if outcome is Outcome.NOT_A_POSITION:
            stored.append(None)
        else:
            stored.append(Value(outcome, None if outcome is DRAW else int(plies)))
    return stored


def twin(game: GraphGame) -> list[Value | None]:
    """By the definition: repeat over all nodes until nothing changes."""
    known: dict[int, Value] = {}
    for node, code in game.ends:
        known[node] = Value(Outcome(code), None if code == DRAW else 0)
    after = {node: [b for a, b in game.moves_ if a == node] for node in range(game.nodes)}
    for plies in range(1, game.nodes + 1):
        settled: dict[int, Value] = {}
        for node in range(game.nodes):
            if node in known or node in game.holes:
                continue
            seen = [known.get(other) for other in after[node]]
            if any(value and value.outcome is LOSS for value in seen):
                settled[node] = Value(WIN, plies)
            elif all(value and value.outcome is WIN for value in seen):
                settled[node] = Value(LOSS, plies)
        known |= settled
    return [None if n in game.holes else known.get(n, Value(DRAW)) for n in range(game.nodes)]


@pytest.mark.parametrize("engine", Engine)
@pytest.mark.parametrize("with_predecessors", [False, True])
def test_four_nodes_by_hand(engine: Engine, with_predecessors: bool) -> None:
    # 0 <-> 1 may go round for ever; 1 -> 2 -> 3, and 3 is lost.
    game = GraphGame(4, ((0, 1), (1, 0), (1, 2), (2, 3)), ((3, LOSS),), with_predecessors)
    assert values(game, engine) == [Value(DRAW), Value(DRAW), Value(WIN, 1), Value(LOSS, 0)]


@pytest.mark.parametrize("engine", Engine)
def test_a_loser_delays_and_a_winner_hurries(engine: Engine) -> None:
    # 0 must lose: by 1 at once, or by 2 two plies later. 5 wins at once or by a detour.
    moves = ((0, 1), (0, 2), (1, 3), (2, 4), (4, 1), (5, 3), (5, 4))
    game = GraphGame(6, moves, ((3, LOSS),))
    assert values(game, engine) == [
        Value(LOSS, 4), Value(WIN, 1), Value(WIN, 3), Value(LOSS, 0), Value(LOSS, 2), Value(WIN, 1)
    ]  # fmt: skip


@pytest.mark.parametrize("engine", Engine)
def test_all_three_ends_and_holes(engine: Engine) -> None:
    # 0 prefers the drawn end to the end that is won for the other player; 5 is not a position.
    moves = ((0, 2), (0, 3), (1, 3))
    game = GraphGame(6, moves, ((2, DRAW), (3, WIN), (4, LOSS)), holes=(5,))
    assert values(game, engine) == [
        Value(DRAW), Value(LOSS, 1), Value(DRAW), Value(WIN, 0), Value(LOSS, 0), None
    ]  # fmt: skip


@pytest.mark.parametrize("engine", Engine)
def test_no_end_at_all_is_a_draw(engine: Engine) -> None:
    game = GraphGame(2, ((0, 1), (1, 0)), ())
    assert values(game, engine) == [Value(DRAW), Value(DRAW)]


@pytest.mark.parametrize("seed", range(40))
def test_random_graphs_agree_with_the_definition(seed: int) -> None:
    chance = random.Random(seed)
    nodes = chance.randrange(2, 40)
    ends = tuple(
        (n, chance.choice([LOSS, LOSS, DRAW, WIN])) for n in range(nodes) if chance.random() < 0.3
    )
    ended = {node for node, _ in ends}
    moves = {
        (node, other)
        for node in range(nodes)
        if node not in ended
        for other in chance.sample(range(nodes), chance.randrange(1, min(nodes, 5)))
    }
    for with_predecessors in (False, True) if moves else (False,):
        game = GraphGame(nodes, tuple(sorted(moves)), ends, with_predecessors)
        assert values(game, Engine.PYTHON) == twin(game)
        if seed < 4:  # compiling takes longer than solving
            assert values(game, Engine.NUMBA) == twin(game)


class Misere(GraphGame):
    misere = True


class Stalemate(GraphGame):
    stuck = Outcome.DRAW


@pytest.mark.parametrize("engine", Engine)
@pytest.mark.parametrize(
    ("game", "codes"), [(GraphGame, [WIN, LOSS]), (Misere, [LOSS, WIN]), (Stalemate, [DRAW, DRAW])]
)
def test_whoever_cannot_move_loses_or_as_the_game_says(
    game: type[GraphGame], codes: list[int], engine: Engine
) -> None:
    solution = solve(retrograde.RetrogradePlan, game(2, ((0, 1),), ()), engine)
    outcome = solution.columns[0]
    assert unpack(outcome.data, outcome.column.bits, 2).tolist() == [
        code if outcome.column.bits == 2 else code == WIN for code in codes
    ]


@pytest.mark.parametrize("normal", [False, True])
def test_two_solvers_give_the_same_bytes(normal: bool) -> None:
    game = Tactics(3, 4, normal=normal)
    one = solve(mask.plan, game, Engine.PYTHON)
    for engine in Engine:
        other = solve(retrograde.RetrogradePlan, game, engine)
        assert (one.totals.counts, one.totals.longest) == (other.totals.counts, other.totals.longest)
        for left, right in zip(one.columns, other.columns, strict=True):
            assert left.column == right.column
            assert left.data.tobytes() == right.data.tobytes()


def test_too_large_a_game_is_refused() -> None:
    with pytest.raises(GameError, match="graph is too large"):
        solve(retrograde.RetrogradePlan, GraphGame(2**31, ((0, 1),), ()), Engine.PYTHON)


@pytest.mark.parametrize("engine", Engine)
@pytest.mark.parametrize("successor", [-1, 2, 10**12])
def test_a_successor_out_of_range_is_refused_not_followed(engine: Engine, successor: int) -> None:
    game = GraphGame(2, ((0, successor), (1, 0)), ())
    with pytest.raises(GameError, match=r"index 0 .* lists .*: expected an index from 0 to 1"):
        solve(retrograde.RetrogradePlan, game, engine)
