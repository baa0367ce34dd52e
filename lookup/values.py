"""What a table says about a position: outcomes and values, typed."""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class Outcome(IntEnum):
    """How a position ends under best play, seen by the player to move.

    The numbers are the codes on disk and in `Values.outcome`.
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
        return _OPPOSITES[self]

    def __str__(self) -> str:
        return WORDS[self]

    def __format__(self, spec: str) -> str:
        return format(str(self), spec)  # an f-string shows the word, not the number


# Looked up, not worked out: a list of moves asks for them hundreds of times.
_OPPOSITES = (Outcome.NOT_A_POSITION, Outcome.WIN, Outcome.DRAW, Outcome.LOSS)
WORDS = ("not a position", "loss", "draw", "win")
"""Outcomes in words, by code."""


class Value(NamedTuple):
    """The value of one position for the player to move; None where a table does not store it.

    A draw has no remoteness: it is None there too.
    """

    outcome: Outcome
    remoteness: int | None = None
    grundy: int | None = None

    def __neg__(self) -> Value:
        """The same value seen by the other player."""
        return Value(_OPPOSITES[self.outcome], self.remoteness, self.grundy)

    def __str__(self) -> str:
        words = str(self.outcome)
        if self.remoteness is not None:
            words += f" in {self.remoteness}"
        return words if self.grundy is None else f"{words} (grundy {self.grundy})"


class Values(NamedTuple):
    """The values of many positions, as arrays of the same shape.

    `outcome` holds the codes of `Outcome`; 0 marks an index that is not a position. `remoteness` and
    `grundy` are None where the table does not store them. Remoteness means something only where the
    outcome is a win or a loss, and is 0 elsewhere.
    """

    outcome: NDArray[np.unsignedinteger]
    remoteness: NDArray[np.unsignedinteger] | None
    grundy: NDArray[np.unsignedinteger] | None
