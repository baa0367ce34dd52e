"""What a build on a cluster consists of: stages of tasks, each of which leaves one object in a store.

A job is handed to every worker, so it holds no more than what it takes to begin: the game, and how it
is cut. Tasks of one stage may need each other; a stage is finished before the next is asked for. What a
task found out is the summary of its object: stages are decided from summaries alone, and so are the
same whoever ran the ones before, and when. Nobody but a task ever holds a stretch of an array.

A task may be run twice, or again after it was finished: it leaves the same object.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from lookup.format import Period, Totals

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from builder.cluster.store import Store
    from lookup.format import Column

Summary: TypeAlias = "dict[str, Any]"
"""What a task found out, as JSON; small, since the client keeps it."""


class Task(NamedTuple):
    """A piece of work, named as the object that it leaves: `<stage>/<which>`.

    `about` is whatever the job needs to know of it. `needs` are the tasks of the same stage, listed
    before it, that must be finished before.
    """

    name: str
    about: tuple[int, ...] = ()
    needs: tuple[str, ...] = ()


class StoredPart(NamedTuple):
    """A stretch of a column's packed elements in the store, in chunks as the table stores them."""

    name: str
    array: str
    low: int
    high: int


class Work(ABC):
    """Stages of tasks. It is pickled, and must not hold anything large."""

    @property
    def spare(self) -> int:
        """Bytes of what a task may take that none of these takes: for what is `recent`."""
        return 0

    @abstractmethod
    def stages(self, done: Mapping[str, Summary]) -> Iterator[Sequence[Task]]:
        """The stages, one after the other; `done` holds the summaries of all tasks of those before."""

    @abstractmethod
    def run(self, task: Task, store: Store) -> None:
        """Do the work of a task, whose needs are there, and write its object.

        Raises:
            LostObjectError: an object that it reads is missing or damaged.
            GameError: a rule breaks the contract.
        """


class Job(Work):
    """The work of solving a game."""

    @abstractmethod
    def totals(self, done: Mapping[str, Summary]) -> Totals:
        """What the records are in all, when every stage is finished."""

    @abstractmethod
    def columns(self, totals: Totals, done: Mapping[str, Summary]) -> tuple[Column, ...]:
        """The columns that the table has."""

    def stored(self, columns: Sequence[Column]) -> dict[str, list[StoredPart]] | None:  # noqa: ARG002 - few have any
        """Where the columns are, in order, if what tasks left is in the form of the table already."""
        return None

    @abstractmethod
    def packed(
        self, store: Store, totals: Totals, columns: Sequence[Column], low: int, high: int
    ) -> dict[str, NDArray[np.unsignedinteger]]:
        """The packed elements of some columns, all with equally many items, for those from `low` on.

        `low` is a multiple of 8, and so is `high` unless it is the end.

        Raises:
            LostObjectError: an object that it reads is missing or damaged.
        """


def totals_as_json(totals: Totals) -> list[Any]:
    """Totals as they stand in a summary."""
    return [
        *totals.counts,
        totals.longest,
        totals.largest_grundy,
        totals.period.text if totals.period else "",
    ]


def totals_from_json(said: Sequence[Any]) -> Totals:
    """Totals from a summary."""
    losses, draws, wins, longest, largest, period = said
    return Totals((losses, draws, wins), longest, largest, Period.from_text(period) if period else None)
