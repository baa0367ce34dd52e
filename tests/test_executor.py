"""The executor on plans drawn by hand, and what solvers say of their shards."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import numpy as np
import pytest

from builder.cluster.sparse import sparse_zeros
from builder.compile import Engine
from builder.executor import execute
from builder.solvers import mask
from builder.solvers.plan import Plan, Shard
from builder.solvers.solution import Solution
from lookup.format import Totals
from lookup.games.tactics import Tactics

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

DIAMOND = (Shard(0, 1, 5), Shard(1, 2, 3, (0,)), Shard(2, 3, 2, (0,)), Shard(3, 4, 1, (1, 2)))


class Drawn(Plan):
    """Runs shards by noting that they were run."""

    def __init__(self, *stages: Sequence[Shard], parallel: bool = True, fails: int = -1) -> None:
        self._stages, self._fails = stages, fails
        self.parallel = parallel
        self.arrays = {"ran": np.zeros(sum(map(len, stages)), np.uint8)}
        self.total = sum(shard.weight for stage in stages for shard in stage)
        self.order: list[int] = []
        self.threads: set[int] = set()

    def stages(self) -> Iterator[Sequence[Shard]]:
        for stage in self._stages:
            self.order.append(-1)
            yield stage

    def run(self, shard: Shard) -> None:
        if shard.low == self._fails:
            raise ValueError("this shard fails")
        self.threads.add(threading.get_ident())
        self.order.append(shard.low)
        self.arrays["ran"][shard.low] += 1

    def solution(self) -> Solution:
        return Solution((), Totals((0, 0, int(self.arrays["ran"].sum()))))


@pytest.mark.parametrize("workers", [1, 2, 8])
def test_each_shard_runs_once_and_after_what_it_needs(workers: int) -> None:
    plan = Drawn(DIAMOND)
    seen: list[tuple[int, int]] = []
    solution = execute(plan, lambda done, total: seen.append((done, total)), workers=workers)
    assert solution.totals.counts[2] == 4
    assert (plan.order[1], plan.order[4]) == (0, 3)
    assert sorted(plan.order[2:4]) == [1, 2]
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)
    assert seen[-1] == (11, 11)


def test_one_worker_takes_shards_in_the_order_of_the_list() -> None:
    plan = Drawn([Shard(0, 1, 1, (2,)), Shard(1, 2, 1), Shard(2, 3, 1, (1,)), Shard(3, 4, 1)])
    execute(plan, workers=1)
    assert plan.order == [-1, 1, 2, 0, 3]


def test_a_stage_begins_when_the_one_before_has_ended() -> None:
    plan = Drawn([Shard(0, 1, 1), Shard(1, 2, 1)], [Shard(2, 3, 1)], [])
    execute(plan, workers=2)
    assert plan.order[0] == plan.order[3] == plan.order[5] == -1
    assert sorted(plan.order[1:3]) == [0, 1]


def test_shards_run_side_by_side_if_they_gain_from_it() -> None:
    meeting = threading.Barrier(2, timeout=60)  # passed only by two threads at once

    class Meets(Drawn):
        def run(self, shard: Shard) -> None:
            meeting.wait()

    execute(Meets([Shard(0, 1, 1), Shard(1, 2, 1)]), workers=2)
    plan = Drawn([Shard(at, at + 1, 1) for at in range(20)], parallel=False)
    execute(plan, workers=2)
    assert len(plan.threads) == 1


def test_a_failing_shard_ends_the_run() -> None:
    plan = Drawn(DIAMOND, fails=1)
    with pytest.raises(ValueError, match="this shard fails"):
        execute(plan, workers=2)
    assert 3 not in plan.order


def test_shards_that_need_each_other_are_a_fault() -> None:
    with pytest.raises(AssertionError, match="they need each other"):
        execute(Drawn([Shard(0, 1, 1, (1,)), Shard(1, 2, 1, (0,))]))


@pytest.mark.parametrize("game", [Tactics(2, 13), Tactics(4, 7), Tactics(6, 6)], ids=str)
def test_every_move_leads_to_a_shard_that_is_needed(game: Tactics) -> None:
    """Of a sample of positions; `needs` names the nearest shards only, and those name further ones."""
    plan = mask.BitsPlan(game, Engine.PYTHON, sparse_zeros)  # a large one must not take memory
    (shards,) = plan.stages()
    assert len(shards) in (64, 256)
    needed: dict[int, set[int]] = {}
    for place, shard in enumerate(shards):
        assert all(other < place for other in shard.needs)
        needed[place] = {place}.union(*(needed[other] for other in shard.needs))
    place_of = {shard.low: place for place, shard in enumerate(shards)}
    width = shards[0].weight
    assert sorted(place_of) == list(range(0, game.size, width))
    random = np.random.default_rng(4)
    for index in random.integers(0, game.size, 300).tolist():
        of = needed[place_of[index // width * width]]
        led_to = {after // width * width for after in game.successors_of(index)}
        assert {place_of[low] for low in led_to} <= of
        shard = shards[place_of[index // width * width]]
        assert led_to - {shard.low} <= {8 * piece.low for piece in plan.reads(shard)}


def test_shards_run_in_threads_and_alone_give_the_same_bits() -> None:
    game = Tactics(2, 13)
    one, two = (execute(mask.BitsPlan(game, Engine.NUMBA), workers=count) for count in (1, 2))
    assert one.totals == two.totals
    assert one.columns[0].data.tobytes() == two.columns[0].data.tobytes()
