"""Jobs of shards, run in this process in any order that they allow: the same as the local solver."""

from __future__ import annotations

import itertools
import random
import re
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builder.build import solver_of
from builder.cluster import sparse
from builder.cluster.order import joined_ranges
from builder.cluster.packing import PackWork
from builder.cluster.shards import ShardsJob
from builder.cluster.store import LostObjectError, Store
from builder.cluster.survey import blocks_read
from builder.cluster.whole import WholeJob
from builder.compile import Engine
from builder.solvers import grundy, mask
from lookup.errors import BuildError, GameError, InvalidParameterError
from lookup.games.clock import Clock
from lookup.games.examples.domineering import Domineering
from lookup.games.examples.kayles import Kayles
from lookup.games.sticks_heaps import SticksRun
from lookup.games.sticks_special import SticksSpecial
from lookup.games.tactics import Tactics
from lookup.games.winners_losers import WinnersLosers
from tests.cluster_here import finish, new_store, run_stages
from tests.own_games import own_game
from tests.solving import solve
from tests.test_grundy_solver import NIM, SPLIT, Impartial, random_graph

if TYPE_CHECKING:
    from lookup.games.base import Game, Neighbours

MEMORY = 1 << 30


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return new_store(tmp_path / "store")


def require_same(game: Game, engine: Engine, shard: int, store: Store, step: int | None = None) -> None:
    """A job in shards gives what the local solver gives, whatever the order of its tasks."""
    solution = solve(solver_of(game).plan, game, engine)
    job = ShardsJob(game, engine, shard, MEMORY)
    finished = finish(job, store, random.Random(shard), step)
    assert finished.same_as(solution)
    # The same from what the store holds in the form of the table, whichever way it came there.
    parts = job.stored(finished.columns)
    if parts is None:
        packing = PackWork(job, finished.totals, finished.columns, step or 1 << 22)
        (tasks,) = packing.stages({})
        for task in tasks:
            packing.run(task, store)
        parts = packing.parts()
    for one in solution.columns:
        stored = [
            store.read(part.name, part.array, part.low, part.high) for part in parts[one.column.name]
        ]
        assert np.concatenate(stored).tobytes() == one.data.tobytes()


# --- masks ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("engine", Engine)
@pytest.mark.parametrize("shard", [64, 512, 4096])
def test_masks_with_scores(engine: Engine, shard: int, store: Store) -> None:
    require_same(Tactics(3, 4), engine, shard, store, 1024)


@pytest.mark.parametrize("shard", [1 << 16, 1 << 17])
def test_masks_with_bits(shard: int, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mask, "REMOTENESS_CELLS", 17)
    game = Tactics(3, 6, normal=True)
    require_same(game, Engine.NUMBA, shard, store, 1 << 15)
    with pytest.raises(InvalidParameterError, match="shard cannot be 32768: expected a power of two"):
        ShardsJob(game, Engine.NUMBA, 1 << 15, MEMORY)
    with pytest.raises(InvalidParameterError, match="shard cannot be 196608: expected a power of two"):
        ShardsJob(game, Engine.PYTHON, 3 << 16, MEMORY)


@pytest.mark.parametrize("shard", [64, 256])
def test_masks_with_bits_interpreted(shard: int, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mask, "REMOTENESS_CELLS", 6)
    require_same(Tactics(3, 3), Engine.PYTHON, shard, store, 128)


# --- other kinds ----------------------------------------------------------------------------------


@pytest.mark.parametrize("engine", Engine)
@pytest.mark.parametrize("shard", [32, 128, 1 << 14])
@pytest.mark.parametrize("game", [WinnersLosers(5), Domineering(3, 3)], ids=str)
def test_in_order(game: Game, engine: Engine, shard: int, store: Store) -> None:
    require_same(game, engine, shard, store, 64)


@pytest.mark.parametrize("engine", Engine)
@pytest.mark.parametrize("shard", [16, 256])
@pytest.mark.parametrize("values", [True, False])
def test_steps(
    engine: Engine, shard: int, values: bool, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(SticksSpecial, "stores_values", values)
    require_same(SticksSpecial(16), engine, shard, store, 64)


@pytest.mark.parametrize("engine", Engine)
@pytest.mark.parametrize("shard", [1, 4, 16, 64])
def test_grundy_of_any_numbering(engine: Engine, shard: int, store: Store) -> None:
    require_same(random_graph(shard, 50), engine, shard, store, 8)


@pytest.mark.parametrize("shard", [2, 8])
@pytest.mark.parametrize("source", [NIM, SPLIT], ids=["nim", "sums"])
def test_grundy_of_ones_own(source: str, shard: int, store: Store, tmp_path: Path) -> None:
    require_same(own_game(tmp_path, source), Engine.NUMBA, shard, store, 16)


def test_grundy_of_an_example(store: Store) -> None:
    require_same(Kayles(60), Engine.PYTHON, 16, store)


def path_through(order: list[int]) -> Impartial:
    return Impartial(len(order), tuple(itertools.pairwise(order)), ())


@pytest.mark.parametrize(
    ("order", "solved"),
    [
        (list(range(16)), 4),  # up
        (list(range(15, -1, -1)), 4),  # down
        ([3, 2, 1, 0, 4, 5, 6, 7, 15, 14, 13, 12, 8, 9, 10, 11], 4),  # down and up
        ([0, 15, 1, 14, 2, 13, 3, 12, 4, 11, 5, 10, 6, 9, 7, 8], 1),  # all to and fro
        ([0, 7, 1, 6, 2, 5, 3, 4, 8, 15, 9, 14, 10, 13, 11, 12], 2),  # to and fro by halves
        ([12, 0, 13, 1, 14, 2, 15, 3, 4, 5, 6, 7, 8, 9, 10, 11], 1),  # with all between them
    ],
)
def test_shards_that_need_each_other_are_joined(order: list[int], solved: int, store: Store) -> None:
    game = path_through(order)
    require_same(game, Engine.PYTHON, 4, store, 8)
    assert len(store.names("survey")) == 4
    assert len(store.names("solve")) == solved


def test_stages_asked_for_again_are_the_same(store: Store) -> None:
    """As a build does that finds an object lost when all was done."""
    halves = path_through([0, 7, 1, 6, 2, 5, 3, 4, 8, 15, 9, 14, 10, 13, 11, 12])
    job = ShardsJob(halves, Engine.PYTHON, 4, MEMORY)
    done = run_stages(job, store)
    first = list(job.stages(done))
    assert list(job.stages(done)) == first
    assert {task.name for stage in first for task in stage} == set(done)


@pytest.mark.parametrize(
    "game", [Tactics(3, 3), Clock(3, 2), SticksRun(1, 2, 300), WinnersLosers(8)], ids=str
)
def test_a_game_in_one_task(game: Game, store: Store) -> None:
    engine = Engine.PYTHON
    job = WholeJob(game, engine)
    done = run_stages(job, store)
    solution = solve(solver_of(game).plan, game, engine)
    totals = job.totals(done)
    columns = job.columns(totals, done)
    assert totals == solution.totals
    assert columns == tuple(one.column for one in solution.columns)
    for one in solution.columns:
        (part,) = job.stored(columns)[one.column.name]
        assert store.read(part.name, part.array).tobytes() == one.data.tobytes()


# --- what a shard reads ---------------------------------------------------------------------------


@pytest.mark.parametrize("engine", Engine)
@pytest.mark.parametrize("game", [WinnersLosers(5), SticksSpecial(14), random_graph(3, 60)], ids=str)
@pytest.mark.parametrize("block", [1, 16])
def test_the_survey_finds_where_moves_lead(game: Game, engine: Engine, block: int) -> None:
    """Two steps one after the other read what one step reads."""
    listed = [game.successors]
    if isinstance(game, SticksSpecial):
        listed = [game.steps, game.leaps]
    low, high = game.size // 3, game.size
    expected = {
        after // block
        for index in range(low, high)
        if game.is_position(index) and not game.terminal(index)
        for rule in listed
        for after in listing(rule, index)
    }
    assert set(blocks_read(game, engine, low, high, block).tolist()) == expected


def listing(rule: Neighbours, index: int) -> list[int]:
    out = [0] * 1000
    return out[: rule(index, out)]


@given(
    st.integers(1, 8).flatmap(
        lambda n: st.lists(st.sets(st.integers(0, n - 1), max_size=3), min_size=n, max_size=n)
    )
)
def test_joined_ranges(links: list[set[int]]) -> None:
    ranges, order = joined_ranges(links)
    assert [number for low, high in ranges for number in range(low, high)] == list(range(len(links)))
    place = {number: at for at, (low, high) in enumerate(ranges) for number in range(low, high)}
    assert sorted(order) == list(range(len(ranges)))
    when = {at: turn for turn, at in enumerate(order)}
    for number, needed in enumerate(links):
        for other in needed:
            assert place[other] == place[number] or when[place[other]] < when[place[number]]
    assert ranges == finest(links), "none is joined that need not be"


def finest(links: list[set[int]]) -> list[tuple[int, int]]:
    """The finest cut of which no range needs itself by way of others, by trying all."""
    count = len(links)
    for cuts in range(count - 1, -1, -1):
        for chosen in itertools.combinations(range(1, count), cuts):
            ranges = list(itertools.pairwise((0, *chosen, count)))
            place = {n: at for at, (low, high) in enumerate(ranges) for n in range(low, high)}
            edges = {(place[n], place[m]) for n in range(count) for m in links[n]}
            if not circular(edges, len(ranges)):
                return ranges
    raise AssertionError("one range is always right")


def circular(edges: set[tuple[int, int]], count: int) -> bool:
    left = set(range(count))
    while free := {at for at in left if not any(a == at and b in left - {at} for a, b in edges)}:
        left -= free
    return bool(left)


# --- refusals -------------------------------------------------------------------------------------


def test_what_joined_shards_read_of_each_other_is_counted_once(store: Store) -> None:
    """Of 16 indices, in 7 bytes each and 8 while they are counted."""
    game = path_through([0, 15, 1, 14, *range(2, 14)])
    run_stages(ShardsJob(game, Engine.PYTHON, 4, 240), store)


def test_sweeps_over_joined_shards_have_an_end(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grundy, "MOST_SWEEPS", 3)
    game = path_through([0, 15, 1, 14, 2, 13, 3, 12, 4, 11, 5, 10, 6, 9, 7, 8])
    with pytest.raises(GameError, match="takes more than 3 sweeps"):
        run_stages(ShardsJob(game, Engine.PYTHON, 4, MEMORY), store)


def test_addresses_that_cannot_be_had() -> None:
    with pytest.raises(BuildError, match=r"addresses for .* cannot be had: expected no limit"):
        sparse.sparse_zeros(1 << 60, np.uint64)


def test_a_shard_that_reads_more_than_fits_is_refused(store: Store) -> None:
    job = ShardsJob(path_through([0, 15, 1, 14, *range(2, 14)]), Engine.PYTHON, 4, 100)
    with pytest.raises(
        BuildError, match=r"indices 0 to 16 of graph and what .* take 240 bytes, and .* 100"
    ):
        run_stages(job, store)


def test_positions_that_can_come_again_are_named(store: Store) -> None:
    game = Impartial(9, ((0, 1), (1, 2), (2, 7), (7, 1), (2, 4)), ())
    words = "positions of graph can come again, '1' -> '2' -> '7' -> '1': expected a game that ends"
    with pytest.raises(GameError, match=re.escape(words)):
        run_stages(ShardsJob(game, Engine.PYTHON, 2, MEMORY), store)


@pytest.mark.parametrize("engine", Engine)
@pytest.mark.parametrize("target", [-1, 9, 10**12])
def test_a_move_to_nowhere_is_explained(engine: Engine, target: int, store: Store) -> None:
    game = Impartial(9, ((5, target), (4, 0)), ())
    with pytest.raises(GameError, match=rf"index 5 .* lists {target}: expected an index from 0 to 8"):
        run_stages(ShardsJob(game, engine, 2, MEMORY), store)


def test_an_order_that_is_none_is_explained(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Impartial, "solver", "ordered")
    with pytest.raises(GameError, match=r"index 2 .*does not move to smaller indices only"):
        run_stages(ShardsJob(Impartial(9, ((2, 5), (5, 1)), ()), Engine.PYTHON, 4, MEMORY), store)


def test_a_task_whose_needs_are_lost_says_which(store: Store) -> None:
    game = Tactics(3, 4)
    job = ShardsJob(game, Engine.PYTHON, 512, MEMORY)
    (tasks,) = job.stages({})
    with pytest.raises(LostObjectError) as caught:
        job.run(tasks[-1], store)
    assert caught.value.name in tasks[-1].needs


# --- arrays beyond all memory ---------------------------------------------------------------------


def resident() -> int:
    """Bytes that this process has."""
    return int(Path("/proc/self/statm").read_text("ascii").split()[1]) * 4096


def test_only_what_is_used_of_an_array_takes_memory() -> None:
    before = resident()
    array = sparse.sparse_zeros(1 << 40, np.uint16)
    assert (len(array), array.itemsize, int(array[1 << 39])) == (1 << 40, 2, 0)
    for at in range(0, 1 << 40, 1 << 32):
        array[at] = 7
    assert resident() - before < 32 << 20
    assert len(sparse.sparse_zeros(0, np.uint8)) == 0
