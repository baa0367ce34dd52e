"""The columns of a table from what a job left: chunks as the table stores them, in the store."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from builder.cluster.job import StoredPart, Task, Work
from builder.cluster.objects import Stretch
from builder.writer import stored_as
from lookup.blocks import packed_length

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from builder.cluster.job import Job, Summary
    from builder.cluster.store import Store
    from lookup.format import Column, Totals

ITEMS = 1 << 22
"""How many items a task packs: whole chunks of the narrowest columns."""


class PackWork(Work):
    """Packs all columns of a job that is finished; those with equally many items in the same tasks."""

    def __init__(self, job: Job, totals: Totals, columns: Sequence[Column], items: int = ITEMS) -> None:
        self._job, self._totals, self._items = job, totals, items
        self._stored = stored_as(columns)
        ordered = sorted(columns, key=lambda column: column.items)
        self._groups = [list(some) for _, some in groupby(ordered, lambda column: column.items)]

    def stages(self, done: Mapping[str, Summary]) -> Iterator[Sequence[Task]]:  # noqa: ARG002 - nothing to decide
        """One stage."""
        yield [
            Task(f"pack/{group}-{low}", (group, low, min(low + self._items, columns[0].items)))
            for group, columns in enumerate(self._groups)
            for low in range(0, columns[0].items, self._items)
        ]

    def run(self, task: Task, store: Store) -> None:
        """Pack a range of items."""
        group, low, high = task.about
        columns = self._groups[group]
        packed = self._job.packed(store, self._totals, columns, low, high)
        arrays = {
            column.name: Stretch(
                packed[column.name], packed_length(low, column.bits), *self._stored[column.name]
            )
            for column in columns
        }
        store.write(task.name, {}, arrays)

    def parts(self) -> dict[str, list[StoredPart]]:
        """Where the columns are, in order, when all is done."""
        (tasks,) = self.stages({})
        found: dict[str, list[StoredPart]] = {}
        for task in tasks:
            group, low, high = task.about
            for column in self._groups[group]:
                bounds = packed_length(low, column.bits), packed_length(high, column.bits)
                found.setdefault(column.name, []).append(StoredPart(task.name, column.name, *bounds))
        return found
