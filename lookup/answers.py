"""What can be asked about positions given as text, whether a table answers or a formula."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from lookup.errors import InvalidPositionError
from lookup.values import Outcome, Value

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from lookup.games.base import Game, Step


_PLY_BITS = 64  # more than any remoteness has


class Move(NamedTuple):
    """A legal move and what it is worth to the player who makes it.

    `value.outcome` is seen by that player; `value.remoteness` counts from the position after the
    move, and `value.grundy` is that of the position after it.
    """

    text: str
    position: str
    value: Value


class Answers(ABC):
    """Values and best play of one game: a `Table`, or a `ClosedForm` where there is no table."""

    @property
    @abstractmethod
    def game(self) -> Game:
        """The game, with its parameters: text to index and back, rules, starting position."""

    @property
    @abstractmethod
    def name(self) -> str:
        """The table's name."""

    @abstractmethod
    def probe(self, position: str) -> Value:
        """The value of a position given as text.

        Raises:
            InvalidPositionError: the text is not a position of this game.
        """

    @abstractmethod
    def _probe_after(self, step: Step) -> Value:
        """The value of the position after a move, for whoever is to move there."""

    def get(self, position: str) -> Value | None:
        """The value of a position, or None if the text is no position of this table."""
        try:
            return self.probe(position)
        except InvalidPositionError:
            return None

    def probe_texts(self, positions: Iterable[str]) -> list[Value]:
        """The values of many positions given as text.

        Raises:
            InvalidPositionError: one of them is not a position of this game.
        """
        return [self.probe(position) for position in positions]

    def moves(self, position: str) -> list[Move]:
        """The legal moves, best first: fast wins, slow wins, draws, slow losses, fast losses.

        Raises:
            InvalidPositionError: the text is not a position of this game.
        """
        return [Move(step.text, step.position, value) for step, value in self.ranked(position)]

    def ranked(self, position: str) -> list[tuple[Step, Value]]:
        """The moves as in `moves`, with all that the game says of each: indices, whether it ends.

        Raises:
            InvalidPositionError: the text is not a position of this game.
        """
        worth = self._worth
        ranked = [(step, worth(step)) for step in self._steps(position)]
        ranked.sort(key=lambda one: preference(one[1]))
        return ranked

    def best(self, position: str) -> Move | None:
        """A best move, or None if the game is over.

        Raises:
            InvalidPositionError: the text is not a position of this game.
        """
        moves = self.moves(position)
        return moves[0] if moves else None

    def move(self, position: str, move: str) -> Move:
        """One move, given as text, and what it is worth.

        Raises:
            InvalidPositionError: the text is not a position of this game.
            InvalidMoveError: the move is not legal there.
        """
        step = self.game.play(position, move)
        return Move(step.text, step.position, self._worth(step))

    def line(self, position: str | None = None, limit: int | None = None) -> list[Move]:
        """Best play from a position (default: the start) to the end, or to a repeat if drawn.

        At most `limit` moves, if given.

        Raises:
            InvalidPositionError: the text is not a position of this game.
        """
        return list(islice(self.walk(position), limit))

    def walk(self, position: str | None = None) -> Iterator[Move]:
        """The moves of `line`, one by one: for callers that may have enough before the end.

        Raises:
            InvalidPositionError: the text is not a position of this game.
        """
        position = self.game.format(self.game.start) if position is None else position
        seen: set[str] = set()
        while position not in seen:
            seen.add(position)
            valued = [(step, self._worth(step)) for step in self._steps(position)]
            if not valued:
                return
            step, value = min(valued, key=lambda one: preference(one[1]))
            yield Move(step.text, step.position, value)
            if step.end is not None:
                return
            position = step.position

    def _steps(self, position: str) -> list[Step]:
        """The legal moves; of those that are worth the same, the first is the best."""
        return self.game.moves(position)

    def _worth(self, step: Step) -> Value:
        """What a move is worth to the player who makes it."""
        if step.end is not None:
            return Value(step.end, 0)
        after = self._probe_after(step)
        return after if self._is_alone else -after

    @cached_property
    def _is_alone(self) -> bool:
        return self.game.players == 1


class ClosedForm(Answers):
    """Answers from a formula, for positions of any size."""

    def __init__(self, game: Game) -> None:
        self._game = game

    @property
    def game(self) -> Game:
        """The game, with its parameters."""
        return self._game

    @property
    def name(self) -> str:
        """The name that a table would have."""
        return self._game.table_name

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self.name}>"

    def _probe_after(self, step: Step) -> Value:
        return self.probe(step.position)


def preference(value: Value) -> int:
    """What comes first is smaller: wins, draws, losses; a winner hurries, a loser delays."""
    outcome, remoteness, _ = value
    plies = remoteness or 0
    return (Outcome.WIN - outcome << _PLY_BITS) + (-plies if outcome is Outcome.LOSS else plies)
