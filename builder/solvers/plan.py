"""A solve cut into shards: what a solver states, and all that whoever runs it must know.

A solver gives a `Plan`. It holds arrays, and lists *shards*: pieces of work on these arrays, each with
the shards it needs to be finished before. Shards that do not need each other may run at once, in any
order, in threads or elsewhere; the plan does not know who runs them. A small solve is one shard.

What a shard leaves in the arrays is the unit of checkpoints. In most plans it never changes again, so a
finished shard can be kept, and skipped when the build is started anew. Plans that go over the same
arrays many times (`settles` is False) list their shards in stages, and only between two stages can all
arrays together be kept; such a plan finds its place again from what is in them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from builder.solvers.solution import Solution
    from lookup.format import Column


class Piece(NamedTuple):
    """A stretch of one of a plan's arrays."""

    array: str
    low: int
    high: int


class Shard(NamedTuple):
    """A piece of work: a range whose meaning the plan knows.

    `needs` are places in the list of shards of the same stage. `weight` is what progress counts, in
    positions. `leaves` is what must be kept so that the shard need not be run again.
    """

    low: int
    high: int
    weight: int
    needs: tuple[int, ...] = ()
    leaves: tuple[Piece, ...] = ()


class Plan(ABC):
    """One solve: arrays, shards that fill them, and the solution at the end."""

    settles: ClassVar[bool] = True
    """Whether what a shard leaves never changes again."""

    arrays: dict[str, NDArray[Any]]
    """All that the plan's shards read and write, by name."""

    total: int
    """The weight of all shards of all stages, about."""

    columns: tuple[Column, ...] = ()
    """Where arrays are the packed columns of the table, as they are and by their names: all columns."""

    parallel: bool
    """Whether shards gain from running side by side: interpreted ones would wait for each other."""

    @abstractmethod
    def stages(self) -> Iterator[Sequence[Shard]]:
        """The shards, in stages: those of one are finished before the next is asked for."""

    @abstractmethod
    def run(self, shard: Shard) -> None:
        """Do the work of a shard; whatever it needs has been done."""

    def state(self) -> Sequence[Piece]:
        """What must be kept between two stages."""
        return [Piece(name, 0, len(array)) for name, array in self.arrays.items()]

    @abstractmethod
    def solution(self) -> Solution:
        """What the arrays say when every shard has been run."""


def chain(ranges: Iterable[tuple[int, int]], arrays: Iterable[str]) -> list[Shard]:
    """A shard for each range of the index: it needs the one before, and leaves its part of arrays."""
    names = tuple(arrays)
    return [
        Shard(
            low,
            high,
            high - low,
            (number - 1,) if number else (),
            tuple(Piece(name, low, high) for name in names),
        )
        for number, (low, high) in enumerate(ranges)
    ]
