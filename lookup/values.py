"""What a table says about a position: outcomes and values, typed."""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple


class Outcome(IntEnum):
    """How a position ends under best play, seen by the player to move.

    The numbers are the codes on disk and in batches of values.
    """

    NOT_A_POSITION = 0
    LOSS = 1
    DRAW = 2
    WIN = 3

    def __neg__(self) -> Outcome:
        """The same end seen by the other player.

        >>> -Outcome.WIN is Outcome.LOSS
        True
        """
        return Outcome(4 - self) if self else self

    def __str__(self) -> str:
        return self.name.lower().replace("_", " ")

    def __format__(self, spec: str) -> str:
        return format(str(self), spec)  # an f-string shows the word, not the number


class Value(NamedTuple):
    """The value of one position for the player to move; None where a table does not store it.

    A draw has no remoteness: it is None there too.
    """

    outcome: Outcome
    remoteness: int | None = None
    grundy: int | None = None

    def __neg__(self) -> Value:
        """The same value seen by the other player."""
        return self._replace(outcome=-self.outcome)

    def __str__(self) -> str:
        words = str(self.outcome)
        if self.remoteness is not None:
            words += f" in {self.remoteness}"
        return words if self.grundy is None else f"{words} (grundy {self.grundy})"
