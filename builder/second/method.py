"""What every second method offers to `deep`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from builder.compile import Engine
    from builder.workers import Workers
    from lookup.games.base import Game
    from lookup.progress import Report
    from lookup.values import Values


class Method(ABC):
    """One way to solve a game: `solve` once, then ask for values."""

    words: ClassVar[str]
    """What it does: 'solved again ...'."""

    @abstractmethod
    def __init__(self, game: Game, engine: Engine) -> None: ...

    @staticmethod
    @abstractmethod
    def memory_needed(game: Game) -> int:
        """Bytes that it takes at its peak."""

    @abstractmethod
    def solve(self, report: Report, workers: Workers) -> None:
        """Find all values.

        Raises:
            GameError: a rule breaks the contract, or a position comes again where none may.
        """

    @abstractmethod
    def values(self, low: int, high: int) -> Values:
        """Those from index `low` to before `high`: all columns that it knows, whatever a table stores.

        0 stands for the outcome of an index that is not a position, and for a remoteness and a Grundy
        value that there is not.
        """
