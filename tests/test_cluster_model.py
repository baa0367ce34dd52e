"""The model of builds on a cluster: against plans, times found by hand, and a slow simulation."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from cluster_events import FIGURES, NOW, run_tasks
from cluster_model import (
    Cluster,
    Load,
    ShardGraph,
    TaskCosts,
    TaskRecord,
    least_seconds,
    shard_graph,
    simulate,
)
from cluster_sample import name_of, sampled, shard_of
from cluster_tables import WORKERS, builds, cuts

from builder.cluster.sparse import sparse_zeros
from builder.cluster.store import Store
from builder.compile import Engine
from builder.solvers import mask
from lookup.format import OUTCOME
from lookup.games.tactics import Tactics

if TYPE_CHECKING:
    from pathlib import Path

COSTS = TaskCosts(
    "made up", overhead=0.02, read=1e-9, solve=3e-9, write=2.5e-9, stored=0.3, base_bytes=1 << 20
)
FREE = TaskCosts("nothing", 0.0, 0.0, 0.0, 0.0, 0.0, 0)


@dataclass(frozen=True)
class Cells:
    """A board of which every move fills one cell."""

    cells: int

    @property
    def masks(self) -> tuple[int, ...]:
        return tuple(1 << cell for cell in range(self.cells))


# --- the graph ------------------------------------------------------------------------------------


@pytest.mark.parametrize("shard_cells", [18, 20])
@pytest.mark.parametrize("board", [(2, 13), (13, 2), (4, 7)])
def test_shards_need_and_read_what_those_of_the_plan_do(
    board: tuple[int, int], shard_cells: int
) -> None:
    game = Tactics(*board)
    plan = mask.BitsPlan(game, Engine.PYTHON, sparse_zeros, shard_cells)
    (stage,) = plan.stages()
    last = len(stage) - 1
    graph = shard_graph(game, shard_cells)
    assert graph.shards == len(stage) == 1 << game.cells - shard_cells
    for place, shard in enumerate(stage):
        number = last - place
        assert shard._replace(needs=()) == shard_of(graph, number)
        assert sorted(graph.needs(number)) == sorted(last - need for need in shard.needs)
        assert [piece.low // graph.shard_bytes for piece in plan.reads(shard)] == sorted(
            graph.reads(number)
        )


@pytest.mark.parametrize("board", [(3, 4), (4, 3), (1, 12), (2, 5)])
def test_shards_read_those_to_which_their_positions_lead(board: tuple[int, int]) -> None:
    game = Tactics(*board)
    graph = shard_graph(game, 6)
    reached: list[set[int]] = [set() for _ in range(graph.shards)]
    out = [0] * game.max_moves
    for index in range(game.size):
        for after in out[: game.successors(index, out)]:
            reached[index >> 6].add(after >> 6)
    for number, found in enumerate(reached):
        reads = graph.reads(number)
        assert set(reads) == found - {number}
        assert len(reads) == len(set(reads)) == graph.read_counts[number]


def test_levels_are_as_wide_as_binomials() -> None:
    graph = shard_graph(Cells(12), 5)
    assert [len(shards) for shards in graph.levels] == [math.comb(7, k) for k in range(8)]
    assert graph.levels[0].tolist() == [127]


@pytest.mark.parametrize("shard_cells", [2, 13])
def test_shards_that_cannot_be(shard_cells: int) -> None:
    with pytest.raises(ValueError, match=f"shards of {shard_cells} cells: expected 3 to 12"):
        shard_graph(Cells(12), shard_cells)


# --- times by hand --------------------------------------------------------------------------------


def diamond() -> ShardGraph:
    """Four shards of a byte: 3 is read by 1 and 2, and all of these by 0."""
    return ShardGraph(5, 3, (1, 2, 3))


def test_one_task() -> None:
    costs = TaskCosts("", overhead=1.0, read=99.0, solve=0.25, write=4.0, stored=0.5, base_bytes=7)
    found = simulate(shard_graph(Cells(4), 4), costs, Cluster(3, link=0.125, tasks_a_second=0.1))
    # 10 s until it is handed out, 1 s, 16 positions, 2 bytes that become 1, which takes 8 s.
    assert found.seconds == 10 + 1 + 4 + 8 + 8
    assert found.critical_seconds == found.busy_seconds == found.seconds
    assert (found.at_once, found.all_busy_seconds, found.task_bytes) == (1, 0, 9)
    assert (found.moved_bytes, found.stored_bytes, found.decoded_bytes_read) == (1, 1, 0)


def test_a_diamond_whose_middle_shares_the_store() -> None:
    costs = replace(FREE, solve=0.5, read=0.25, stored=1.0, base_bytes=100)
    found = simulate(diamond(), costs, Cluster(2, link=1.0, store=1.0))
    # 3: 4 s of solving, 1 s of writing. 1 and 2: 2 s for a byte each way, beside 0.25 + 4 s. 0: alone.
    assert found.finished.tolist() == [5 + 8.25 + 8.75, 5 + 8.25, 5 + 8.25, 5]
    assert found.seconds == 22
    assert found.at_once == 2
    assert found.all_busy_seconds == 8.25
    assert found.busy_share == (5 + 2 * 8.25 + 8.75) / 44
    assert found.critical_seconds == 5 + 6.25 + 8.75  # nobody shares
    assert found.moved_bytes == (0 + 1 + 1 + 3) + 4
    assert found.decoded_bytes_read == 5
    assert found.stored_bytes == 4
    assert found.task_bytes == 104


def test_a_diamond_whose_store_gives_every_link_its_due() -> None:
    costs = replace(FREE, solve=0.5, read=0.25, stored=1.0)
    found = simulate(diamond(), costs, Cluster(2, link=1.0, store=2.0))
    assert found.seconds == found.critical_seconds == 20


def test_one_worker_takes_the_first_of_the_plan_that_is_ready() -> None:
    found = simulate(shard_graph(Cells(6), 3), replace(FREE, overhead=1.0), Cluster(1))
    assert np.argsort(found.finished).tolist() == [7, 6, 5, 4, 3, 2, 1, 0]
    assert found.seconds == 8
    assert found.busy_share == 1


def test_the_scheduler_hands_out_one_task_after_the_other() -> None:
    found = simulate(shard_graph(Cells(6), 3), FREE, Cluster(8, tasks_a_second=4.0))
    assert found.seconds == 8 / 4


def test_every_request_waits_for_its_answer() -> None:
    costs = replace(FREE, stored=1.0)
    found = simulate(diamond(), costs, Cluster(2, latency=1.0, request_bytes=1))
    # To read an object takes three requests, to write one more: 1, then 1 + 3, then 1 + 9.
    assert found.finished.tolist() == [15, 5, 5, 1]


# --- against another simulation, and bounds -------------------------------------------------------


def slowly(graph: ShardGraph, load: Load, cluster: Cluster) -> list[float]:
    """When each shard is finished: everybody's remaining work, brought forward from event to event."""
    now, next_handing = 0.0, 0.0
    finished: dict[int, float] = {}
    running: dict[int, list[list[float]]] = {}  # phases left: [seconds, bytes]
    while len(finished) < graph.shards:
        for number in range(graph.shards - 1, -1, -1):
            ready = all(need in finished for need in graph.needs(number))
            idle = number not in running and number not in finished
            if idle and ready and len(running) < cluster.workers:
                next_handing = max(next_handing, now) + 1 / cluster.tasks_a_second
                running[number] = [
                    [next_handing - now + load.waits[number], 0.0],
                    [0.0, load.reads[number]],
                    [load.computes[number], 0.0],
                    [0.0, load.writes[number]],
                ]
        moving = sum(phases[0][1] > 0 for phases in running.values())
        pace = min(cluster.link, cluster.store / max(1, moving))
        left = {number: phases[0][0] + phases[0][1] / pace for number, phases in running.items()}
        first = min(left, key=lambda number: left[number])
        step = left[first]
        for phases in running.values():
            if phases[0][1] > 0:
                phases[0][1] -= step * pace
            else:
                phases[0][0] -= step
        now += step
        running[first].pop(0)
        if not running[first]:
            del running[first]
            finished[first] = now
    return [finished[number] for number in range(graph.shards)]


@pytest.mark.parametrize("workers", [1, 2, 5, 40])
@pytest.mark.parametrize("store", [2.0, 7.0, math.inf])
def test_the_same_times_as_a_slow_simulation(workers: int, store: float) -> None:
    graph = shard_graph(Tactics(2, 5), 4)
    cluster = Cluster(workers, link=1.0, store=store, tasks_a_second=3.0)
    random = np.random.default_rng(workers)
    # Of all lengths, so that no two events fall together: which is first would be anybody's guess.
    load = Load(*(random.exponential(size, graph.shards) for size in (0.3, 2.0, 1.0, 1.0)))
    finished, figures = np.zeros(graph.shards), np.zeros(FIGURES)
    run_tasks(Engine.PYTHON)(graph.leading, *load, workers, 1.0, store, 1 / 3, finished, figures)
    np.testing.assert_allclose(finished, slowly(graph, load, cluster), rtol=1e-9)
    assert figures[NOW] == finished[0]


@pytest.mark.parametrize("shard_cells", [10, 12, 14])
@pytest.mark.parametrize("store", [2e5, 1e7])
@pytest.mark.parametrize("rate", [50.0, math.inf])
def test_no_simulation_beats_the_bound(shard_cells: int, store: float, rate: float) -> None:
    graph = shard_graph(Tactics(4, 5), shard_cells)
    costs = replace(COSTS, overhead=0.002, solve=1e-6)
    for workers in (1, 3, 20, 1000):
        cluster = Cluster(workers, 1e5, store, rate, latency=1e-4)
        found = simulate(graph, costs, cluster, Engine.PYTHON)
        least = least_seconds(graph, costs, cluster)
        assert least * (1 - 1e-9) <= found.seconds
        assert found.critical_seconds <= least
        assert found.at_once <= min(workers, graph.shards)
        assert 0 < found.busy_share <= 1 + 1e-9


def test_bounds_that_are_reached() -> None:
    graph = shard_graph(Tactics(4, 5), 14)
    one, many = Cluster(1, 1e5, 1e6), Cluster(64, 1e5, math.inf)
    alone = Load.of(graph, COSTS, one).alone(one)
    assert simulate(graph, COSTS, one).seconds == pytest.approx(alone.sum(), rel=1e-12)
    found = simulate(graph, COSTS, many)
    assert found.seconds == pytest.approx(found.critical_seconds, rel=1e-12)


# --- costs from measured tasks --------------------------------------------------------------------


def record(reads: int, costs: TaskCosts, own: int = 1 << 20) -> TaskRecord:
    """A task that took what the costs say; a quarter of what a byte read costs is spent in solving."""
    read = reads * own
    reading, writing = 0.75 * costs.read * read, costs.write * own
    solving = 8 * own * costs.solve + 0.25 * costs.read * read
    return TaskRecord(
        8 * own,
        read,
        round(read * costs.stored),
        round(own * costs.stored),
        reading,
        solving,
        writing,
        costs.overhead + reading + solving + writing,
        costs.base_bytes + read + own,
    )


def test_costs_are_found_again() -> None:
    costs = TaskCosts.fitted([record(reads, COSTS) for reads in (0, 1, 3, 3, 9)], "made up")
    for name in ("overhead", "read", "solve", "write", "stored"):
        assert getattr(costs, name) == pytest.approx(getattr(COSTS, name), rel=1e-5), name
    assert (costs.source, costs.base_bytes) == ("made up", COSTS.base_bytes)


@pytest.mark.parametrize("solving", [0.5, 0.0])
def test_costs_where_no_slope_can_be_fitted(solving: float) -> None:
    """Tasks that read nothing, or are quicker the more they read: solving is by position alone."""
    alone = [record(0, COSTS), record(0, COSTS, 1 << 18)]
    costs = TaskCosts.fitted(alone, "")
    assert costs.solve == pytest.approx(COSTS.solve)
    assert costs.read == 0
    odd = [record(1, COSTS)._replace(solving=1.0), record(9, COSTS)._replace(solving=solving)]
    costs = TaskCosts.fitted(odd, "")
    assert costs.solve == pytest.approx((1 + solving) / (2 * 8 << 20))
    assert costs.read == pytest.approx(0.75 * COSTS.read)


# --- 7x6 ------------------------------------------------------------------------------------------


def test_tasks_of_7x6_run_for_real(tmp_path: Path) -> None:
    game = Tactics(7, 6)
    graph = shard_graph(game, 16)
    last = graph.shards - 1
    number = last ^ 0b11 ^ 1 << 20
    store = Store(str(tmp_path), "a sample")
    records = list(sampled(game, graph, number, store, Engine.PYTHON))
    numbers = [other for other in range(last, number - 1, -1) if other & number == number]
    assert len(records) == len(numbers) == 8
    plan = mask.BitsPlan(game, Engine.PYTHON, sparse_zeros, 16)
    for other, found in zip(numbers, records, strict=True):
        shard = shard_of(graph, other)
        plan.run(shard)
        (own,) = shard.leaves
        kept = store.read(name_of(own), OUTCOME)
        assert np.array_equal(kept, plan.arrays[OUTCOME][own.low : own.high])
        assert found.positions == 1 << 16
        assert found.decoded_read == len(graph.reads(other)) << 13
        assert found.seconds >= found.reading + found.solving + found.writing
        assert (found.stored_read > 0) == (other != last)
    assert sum(found.stored_written for found in records) == sum(
        file.stat().st_size for file in tmp_path.rglob("*") if file.is_file()
    )
    assert TaskCosts.fitted(records, "").read > 0


def test_the_tables_for_7x6() -> None:
    """Compiled, too: it has 14 leading cells."""
    graph = shard_graph(Tactics(7, 6), 28)
    cluster = Cluster(1, 125e6, 10e9, 1000.0)
    lines = builds(graph, COSTS, cluster)
    assert [line.workers for line in lines] == list(WORKERS)
    for line in lines:
        assert line.least_seconds * (1 - 1e-9) <= line.seconds <= 1.5 * line.least_seconds
        assert len(line.cells) == len(line.HEAD)
        assert line.cells[0] == line.fields["source"] == "made up"
    assert lines[0].stored_bytes == pytest.approx(2**42 / 8 * 0.3)
    assert lines[0].starved_seconds == 0
    assert lines[-1].task_bytes == (1 << 20) + (55 + 1) * 2**25
    (cut,) = cuts(Tactics(7, 6), COSTS, cluster, [28])
    assert cut.seconds == {line.workers: line.seconds for line in lines}
    assert set(cut.fields["seconds"]) == {"1", "10", "100", "1000"}
    assert len(cut.cells) == len(cut.HEAD)
    slow = simulate(shard_graph(Tactics(7, 6), 33), COSTS, cluster, Engine.PYTHON)
    quick = simulate(shard_graph(Tactics(7, 6), 33), COSTS, cluster, Engine.NUMBA)
    assert np.array_equal(slow.finished, quick.finished)
    assert replace(slow, finished=quick.finished) == quick
