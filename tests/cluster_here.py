"""Run a job of the cluster in this process, task after task, in any order that the job allows."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from builder.cluster.store import Store

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from builder.cluster.job import Job, Summary, Task
    from builder.solvers.solution import Solution
    from lookup.format import Column, Totals


def new_store(folder: Path) -> Store:
    """A store in a folder, which is made: a store never makes its own."""
    folder.mkdir()
    return Store(str(folder), "a build")


class Finished(NamedTuple):
    """A job that is done: all summaries, and the table in memory."""

    done: dict[str, Summary]
    totals: Totals
    columns: tuple[Column, ...]
    packed: dict[str, NDArray[np.unsignedinteger]]

    def same_as(self, solution: Solution) -> bool:
        """Whether it is what a solver found: the same totals, columns and bytes."""
        theirs = {part.column: part.data.tobytes() for part in solution.columns}
        ours = {column: self.packed[column.name].tobytes() for column in self.columns}
        return self.totals == solution.totals and ours == theirs


def run_stages(
    job: Job,
    store: Store,
    chance: random.Random | None = None,
    before: Callable[[Task], None] | None = None,
) -> dict[str, Summary]:
    """Run all tasks, with `chance` in random order and some of them twice; returns their summaries."""
    done: dict[str, Summary] = {}
    for stage in job.stages(done):
        for task in _ordered(stage, chance):
            if before:
                before(task)
            job.run(task, store)
            if chance and chance.random() < 0.2:
                job.run(task, store)
        done |= {task.name: store.summary(task.name) for task in stage}
    return done


def finish(
    job: Job, store: Store, chance: random.Random | None = None, step: int | None = None
) -> Finished:
    """Run a job, and put its table together from stretches of `step` items, a multiple of 8."""
    done = run_stages(job, store, chance)
    totals = job.totals(done)
    columns = job.columns(totals, done)
    packed: dict[str, NDArray[np.unsignedinteger]] = {}
    for items in {column.items for column in columns}:
        alike = [column for column in columns if column.items == items]
        parts = [
            job.packed(store, totals, alike, low, min(low + (step or items), items))
            for low in range(0, items, step or items)
        ]
        packed |= {
            column.name: np.concatenate([part[column.name] for part in parts]) for column in alike
        }
    return Finished(done, totals, columns, packed)


def _ordered(stage: Sequence[Task], chance: random.Random | None) -> list[Task]:
    """The tasks of a stage, each after those that it needs."""
    waiting, ordered = list(stage), []
    finished: set[str] = set()
    while waiting:
        ready = [task for task in waiting if finished.issuperset(task.needs)]
        task = chance.choice(ready) if chance else ready[0]
        waiting.remove(task)
        ordered.append(task)
        finished.add(task.name)
    return ordered
