"""Run the shards of a plan here: in threads, as far as they do not need each other.

Kernels are compiled code that releases the interpreter's lock, so threads use all cores and share the
plan's arrays. Finished shards are told to the checkpoints, in the thread that ran them.
"""

from __future__ import annotations

import os
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from typing import TYPE_CHECKING

from lookup.progress import silent

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from concurrent.futures import Future

    from builder.checkpoints import Checkpoints, Restored
    from builder.solvers.plan import Plan, Shard
    from builder.solvers.solution import Solution
    from lookup.progress import Report


def execute(
    plan: Plan,
    report: Report = silent,
    checkpoints: Checkpoints | None = None,
    restored: Restored | None = None,
    workers: int | None = None,
) -> Solution:
    """Run what is left of a plan, of which some was restored; returns its solution."""
    workers = (workers or os.cpu_count() or 1) if plan.parallel else 1
    kept, done = restored or (frozenset(), 0)
    # What is done already is reported first: it says nothing of the rate.
    done += sum(shard.weight for shard in kept)
    report(done, plan.total)

    def run(shard: Shard) -> None:
        plan.run(shard)
        if checkpoints and plan.settles:
            checkpoints.shard_finished(plan, shard)

    def told(shard: Shard) -> None:
        nonlocal done
        done += shard.weight
        report(done, plan.total)

    with ThreadPoolExecutor(workers) as pool:
        for shards in plan.stages():
            if checkpoints and done and not plan.settles:
                checkpoints.between_stages(plan, done)
            places = {place for place, shard in enumerate(shards) if shard in kept}
            try:
                _run_stage(shards, places, pool, run, told, workers)
            except BaseException:
                # Shards that run go on to their end; none is begun.
                pool.shutdown(wait=False, cancel_futures=True)
                raise
    report(plan.total, plan.total)
    return plan.solution()


def _run_stage(
    shards: Sequence[Shard],
    finished: set[int],
    pool: ThreadPoolExecutor,
    run: Callable[[Shard], None],
    told: Callable[[Shard], None],
    workers: int,
) -> None:
    """Run all shards of a stage but those finished before, each as soon as what it needs is there.

    Only as many are begun as there are workers: the first in the list that can be, so that whoever
    lists them says which are the more urgent.
    """
    waiting = [place for place in range(len(shards)) if place not in finished]
    running: dict[Future[None], int] = {}
    while waiting or running:
        ready = (place for place in waiting if finished.issuperset(shards[place].needs))
        for _, place in zip(range(workers - len(running)), ready, strict=False):
            running[pool.submit(run, shards[place])] = place
        begun = set(running.values())
        waiting = [place for place in waiting if place not in begun]
        assert running, "no shard can be begun: they need each other"
        for future in wait(running, return_when=FIRST_COMPLETED).done:
            place = running.pop(future)
            future.result()
            finished.add(place)
            told(shards[place])
