"""Games drawn by hand: a graph of a few nodes, to test solvers without a game."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

from lookup.errors import InvalidPositionError
from lookup.games.base import Game, IndexTest, Neighbours, SolverKind

if TYPE_CHECKING:
    from collections.abc import MutableSequence


@dataclass(frozen=True)
class GraphGame(Game):
    """Moves as pairs of nodes; `ends` gives an outcome code to each node without moves."""

    nodes: int
    moves_: tuple[tuple[int, int], ...]
    ends: tuple[tuple[int, int], ...]
    with_predecessors: bool = False
    holes: tuple[int, ...] = ()

    name: ClassVar[str] = "graph"
    solver: ClassVar[SolverKind] = "retrograde"

    @property
    def table_name(self) -> str:
        return "graph"

    @property
    def size(self) -> int:
        return self.nodes

    @property
    def start(self) -> int:
        return 0

    @property
    def max_moves(self) -> int:
        return max(1, len(self.moves_))

    @cached_property
    def successors(self) -> Neighbours:
        return _step(*zip(*self.moves_, strict=True)) if self.moves_ else _step((-1,), (-1,))

    @cached_property
    def predecessors(self) -> Neighbours | None:
        if not self.with_predecessors:
            return None
        sources, targets = zip(*self.moves_, strict=True)
        return _step(targets, sources)

    @cached_property
    def terminal(self) -> IndexTest:
        codes = tuple(int(dict(self.ends).get(node, 0)) for node in range(self.nodes))

        def terminal(index: int) -> int:
            return codes[index]

        return terminal

    @cached_property
    def is_position(self) -> IndexTest:
        valid = tuple(0 if node in self.holes else 1 for node in range(self.nodes))

        def is_position(index: int) -> int:
            return valid[index]

        return is_position

    def parse(self, text: str) -> int:
        if text not in map(str, range(self.nodes)):
            raise InvalidPositionError(text, "the number of a node")
        return int(text)

    def format(self, index: int) -> str:
        return str(index)

    def move_name(self, index: int, after: int) -> str:
        return f"{index}>{after}"


def _step(sources: tuple[int, ...], targets: tuple[int, ...]) -> Neighbours:
    def step(index: int, out: MutableSequence[int]) -> int:
        count = 0
        for at in range(len(sources)):
            if sources[at] == index:
                out[count] = targets[at]
                count += 1
        return count

    return step
