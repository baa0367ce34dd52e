"""What a build on a cluster consists of: stages of tasks, each of which leaves one object in a store.

A job is handed to every worker, so it holds no more than what it takes to begin: the game, and how it is
cut. Tasks of one stage may need each other; a stage is finished before the next is asked for. What a
task found out is the summary of its object: stages are decided from summaries alone, and so are the same
whoever ran the ones before, and when. Nobody but a task ever holds a stretch of an array.

A task may be run twice, or again after it was finished: it leaves the same object.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from builder.cluster.store import Store
    from lookup.format import Column, Totals

Summary: TypeAlias = "dict[str, Any]"
"""What a task found out, as JSON; small, since the client keeps it."""


class Task(NamedTuple):
    """A piece of work, named as the object that it leaves: `<stage>/<number>`.

    `about` is whatever the job needs to know of it. `needs` are the tasks of the same stage that must
    be finished before. `weight` is what progress counts.
    """

    name: str
    about: tuple[int, ...] = ()
    needs: tuple[str, ...] = ()
    weight: int = 1


class Job(ABC):
    """One build. It is pickled, and must not hold anything large."""

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

    @abstractmethod
    def totals(self, done: Mapping[str, Summary]) -> Totals:
        """What the records are in all, when every stage is finished."""

    @abstractmethod
    def columns(self, totals: Totals, done: Mapping[str, Summary]) -> tuple[Column, ...]:
        """The columns that the table has."""

    @abstractmethod
    def packed(
        self, store: Store, totals: Totals, columns: Sequence[Column], low: int, high: int
    ) -> dict[str, NDArray[np.unsignedinteger]]:
        """The packed elements of some columns, all with equally many items, for the items from `low` on.

        `low` is a multiple of 8, and so is `high` unless it is the end.

        Raises:
            LostObjectError: an object that it reads is missing or damaged.
        """
