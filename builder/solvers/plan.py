"""A solve cut into shards: what a solver states, and all that whoever runs it must know.

A solver gives a `Plan`. It holds arrays, and lists *shards*: pieces of work on these arrays, each with
the shards it needs to be finished before. Shards that do not need each other may run at once, in any
order, in threads or elsewhere; the plan does not know who runs them. A small solve is one shard.

Most plans are a `RangePlan`: their shards settle ranges of the index. Of such a plan one shard can be
run without the others, if what it reads is put into the arrays before; arrays made by another `zeros`
than numpy's take memory only where they are used (`builder.cluster.sparse`).

What a shard leaves in the arrays is the unit of checkpoints. In most plans it never changes again, so a
finished shard can be kept, and skipped when the build is started anew. Plans that go over the same
arrays many times (`settles` is False) list their shards in stages, and only between two stages can all
arrays together be kept; such a plan finds its place again from what is in them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import reduce
from itertools import starmap
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, TypeAlias

from builder.solvers.solution import Solution, slices
from lookup.format import Totals

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from builder.solvers.solution import PackedColumn
    from lookup.format import Column

Zeros: TypeAlias = "Callable[[int, Any], NDArray[Any]]"
"""Makes an array of so many zeros of a type, as `np.zeros` does."""

_STRETCH = 1 << 22  # indices counted at a time


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


class RangePlan(Plan):
    """A plan whose shards settle ranges of the index, each of which can be looked at by itself."""

    @abstractmethod
    def count(self, low: int, high: int) -> Totals:
        """What the indices from `low` to `high`, which are settled, are in all."""

    @abstractmethod
    def packed(self, totals: Totals) -> tuple[PackedColumn, ...]:
        """The columns, whose widths follow from the totals; what is asked for must be settled."""

    def reads(self, shard: Shard) -> Sequence[Piece] | None:  # noqa: ARG002 - of a shard, by those who know
        """What a shard reads besides what it leaves; None if only the rules can tell."""
        return None

    def solution(self) -> Solution:
        """All arrays."""
        size = self.size
        totals = reduce(Totals.joined, starmap(self.count, slices(0, size, _STRETCH)))
        return Solution(self.packed(totals), totals)

    size: int
    """How many indices there are."""

    packs: tuple[str, ...] | None = None
    """The arrays that the columns are made of, if they are not made of all."""


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
