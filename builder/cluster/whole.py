"""The job of a game that is solved by one worker: it is small, or nobody knows how to cut it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from builder.build import solver_of
from builder.cluster.job import Job, StoredPart, Task, totals_as_json, totals_from_json
from builder.cluster.objects import Stretch
from builder.executor import execute
from builder.writer import stored_as
from lookup.format import COLUMN_KINDS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from builder.cluster.job import Summary
    from builder.cluster.store import Store
    from builder.compile import Engine
    from lookup.format import Column, Totals
    from lookup.games.base import Game

_NAME = "solve/whole"


class WholeJob(Job):
    """One task, which leaves the columns as the table stores them."""

    def __init__(self, game: Game, engine: Engine) -> None:
        self._game, self._engine = game, engine

    def stages(self, done: Mapping[str, Summary]) -> Iterator[Sequence[Task]]:  # noqa: ARG002 - nothing to decide
        """One stage."""
        yield [Task(_NAME)]

    def run(self, task: Task, store: Store) -> None:
        """Solve the game as it is solved on one machine, in one thread."""
        solution = execute(solver_of(self._game).plan(self._game, self._engine), workers=1)
        stored = stored_as([packed.column for packed in solution.columns])
        summary = {
            "totals": totals_as_json(solution.totals),
            "columns": [
                [one.column.name, one.column.bits, one.column.items] for one in solution.columns
            ],
        }
        arrays = {
            one.column.name: Stretch(one.data, 0, *stored[one.column.name]) for one in solution.columns
        }
        store.write(task.name, summary, arrays)

    def totals(self, done: Mapping[str, Summary]) -> Totals:
        """As the solver counted them."""
        return totals_from_json(done[_NAME]["totals"])

    def columns(self, totals: Totals, done: Mapping[str, Summary]) -> tuple[Column, ...]:  # noqa: ARG002 - as solved
        """As the solver packed them."""
        return tuple(COLUMN_KINDS[name](bits, items) for name, bits, items in done[_NAME]["columns"])

    def stored(self, columns: Sequence[Column]) -> dict[str, list[StoredPart]]:
        """Each column in one part."""
        return {one.name: [StoredPart(_NAME, one.name, 0, one.length)] for one in columns}

    def packed(
        self, store: Store, totals: Totals, columns: Sequence[Column], low: int, high: int
    ) -> dict[str, NDArray[np.unsignedinteger]]:
        """Never asked for: all columns are stored as they are."""
        raise NotImplementedError
