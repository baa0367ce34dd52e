"""Games whose moves are a step, or two steps one after the other, or a leap.

All of them lead to smaller indices. A solver that remembers what one step leads to gets two for
nothing, so such a game states its steps and leaps and not their many combinations.
"""

from __future__ import annotations

from abc import abstractmethod
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

from lookup.games.base import Game, IndexTest, Neighbours, SolverKind

if TYPE_CHECKING:
    from collections.abc import MutableSequence

LOSS = 1  # the code of Outcome.LOSS; compiled functions know only integers


class StepGame(Game):
    """Step once or twice, or leap; whoever cannot loses. REQUIRED: those below, the texts of `Game`.

    A position without a step is over: it must not have a leap either.
    """

    solver: ClassVar[SolverKind] = "steps"

    @property
    @abstractmethod
    def steps(self) -> Neighbours:
        """The function that lists the distinct indices after one step."""

    @property
    @abstractmethod
    def leaps(self) -> Neighbours:
        """The function that lists the distinct indices after a leap."""

    @property
    @abstractmethod
    def max_steps(self) -> int:
        """No position has more steps or more leaps than this; both may use this much of `out`."""

    @property
    @abstractmethod
    def stores_values(self) -> bool:
        """Whether the table holds Grundy values and remoteness, or outcomes alone."""

    @property
    def stores_grundy(self) -> bool:
        """With remoteness, or neither."""
        return self.stores_values

    @property
    def stores_remoteness(self) -> bool:
        """With Grundy values, or neither."""
        return self.stores_values

    @property
    def max_moves(self) -> int:
        """A bound that is never reached: pairs of steps lead to the same place many times."""
        return self.max_steps * (self.max_steps + 2)

    @property
    def work(self) -> int:
        """Both steps and leaps are listed, and an index is often long to compute."""
        return 4 * self.size

    @cached_property
    def successors(self) -> Neighbours:
        """All moves. Solvers never ask: they know how moves are made up."""
        steps, leaps, room = self.steps, self.leaps, self.max_steps

        def listed(step: Neighbours, index: int) -> list[int]:
            buffer = [0] * room
            return buffer[: step(index, buffer)]

        def successors(index: int, out: MutableSequence[int]) -> int:
            once = listed(steps, index)
            after = {*once, *listed(leaps, index)}
            for between in once:
                after.update(listed(steps, between))
            for count, one in enumerate(sorted(after)):
                out[count] = one
            return len(after)

        return successors

    @cached_property
    def terminal(self) -> IndexTest:
        """A game without a step is over."""
        steps, room = self.steps, self.max_steps

        def terminal(index: int) -> int:
            return 0 if steps(index, [0] * room) else LOSS

        return terminal
