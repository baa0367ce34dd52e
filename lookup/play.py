"""A game being played: whose turn it is, moves made and taken back, players that need no person.

Nothing here knows of a terminal; `play_loop` does.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from enum import StrEnum
from typing import TYPE_CHECKING, TypeAlias

from lookup.errors import InvalidMoveError, InvalidParameterError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lookup.answers import Answers
    from lookup.games.base import Game, Step
    from lookup.values import Outcome


class Side(StrEnum):
    """Which side a person plays."""

    FIRST = "first"
    SECOND = "second"
    BOTH = "both"
    NONE = "none"


class Against(StrEnum):
    """Who plays the sides that no person plays."""

    PERFECT = "perfect"
    RANDOM = "random"


Player: TypeAlias = Callable[["Session"], str]
"""Chooses a move, given as text, where the game is not over."""


def perfect_play(session: Session) -> str:
    """A best move: wins if it can, as fast as it can, and loses as late as it can."""
    best = session.table.best(session.position)
    assert best is not None
    return best.text


def random_play(seed: int | None = None) -> Player:
    """A player who makes any of the legal moves; the same ones for the same seed."""
    chance = random.Random(seed)  # noqa: S311 - a game has no secrets

    def choose(session: Session) -> str:
        return chance.choice(session.steps).text

    return choose


def seats(game: Game, side: Side, against: Against, seed: int | None = None) -> list[Player | None]:
    """Who plays: a person on a side, on both or on none, and another player on the others.

    Without a person, the first one plays perfectly, and the second is the player it is against.

    Raises:
        InvalidParameterError: a game of one player has no second one.
    """
    other = perfect_play if against is Against.PERFECT else random_play(seed)
    if game.players == 1:
        if side is Side.SECOND:
            expected = f"first or none: {game.table_name} has one player"
            raise InvalidParameterError("the side to play", str(side), expected)
        return [other if side is Side.NONE else None]
    taken: dict[Side, list[Player | None]] = {
        Side.FIRST: [None, other],
        Side.SECOND: [other, None],
        Side.BOTH: [None, None],
        Side.NONE: [perfect_play, other],
    }
    return taken[side]


class Session:
    """One game from a position on. Players are counted from 0, who moves first; None is a person.

    Moves that were taken back can be made again, until another one is made in their place.
    """

    def __init__(
        self,
        table: Answers,
        position: str | None = None,
        players: Sequence[Player | None] = (None, None),
    ) -> None:
        """Start a game, from the table's starting position if none is given.

        Raises:
            InvalidPositionError: the text is not a position of this game.
        """
        self.table = table
        self.start = table.game.format(table.game.start) if position is None else position
        self.players = tuple(players)[: table.game.players]
        self._made: list[Step] = []  # those that were taken back stand at the end
        self._at = 0
        table.probe(self.start)
        self.steps = table.game.moves(self.start)
        """The legal moves; none if the game is over."""

    @property
    def made(self) -> list[Step]:
        """The moves made, without those that were taken back."""
        return self._made[: self._at]

    @property
    def position(self) -> str:
        """The position on the board."""
        return self._made[self._at - 1].position if self._at else self.start

    @property
    def mover(self) -> int:
        """Who is to move: 0 or 1, and always 0 in a game of one player."""
        return self._at % len(self.players)

    @property
    def is_over(self) -> bool:
        """Whether no move can be made any more."""
        return not self.steps

    @property
    def is_outside(self) -> bool:
        """Whether the last move ended the game in what is no position of the table."""
        return self._at > 0 and self._made[self._at - 1].end is not None

    @property
    def repeats(self) -> bool:
        """Whether this position was there before."""
        return self.position in [self.start, *(step.position for step in self.made)][: self._at]

    @property
    def outcome(self) -> Outcome | None:
        """How the game ended, for player 0; None while it goes on."""
        if not self.is_over:
            return None
        if self._at and (end := self._made[self._at - 1].end) is not None:
            return end if (self._at - 1) % len(self.players) == 0 else -end
        end = self.table.probe(self.position).outcome
        return end if self.mover == 0 else -end

    def play(self, move: str) -> Step:
        """Make a move, given as text.

        Raises:
            InvalidMoveError: the move is not legal.
        """
        if self.is_over:
            raise InvalidMoveError(move, self.position, "no move: the game is over")
        step = self.table.game.play(self.position, move)
        self._made[self._at :] = [step]
        self._go(self._at + 1)
        return step

    def reply(self) -> Step | None:
        """Make the move of a player who is no person; None if the game is over or a person's turn."""
        player = self.players[self.mover]
        return None if self.is_over or player is None else self.play(player(self))

    def undo(self) -> bool:
        """Take moves back to the last turn of a person before this; False if there was none."""
        return self._go_to_a_person(range(self._at - 1, -1, -1))

    def redo(self) -> bool:
        """Make moves again that were taken back, to the next turn of a person or to the last one."""
        last = len(self._made)
        return self._go_to_a_person(range(self._at + 1, last)) or (self._at < last and self._go(last))

    def _go_to_a_person(self, turns: range) -> bool:
        """Go to the first of these turns that is a person's, if one is."""
        for at in turns:
            if self.players[at % len(self.players)] is None:
                return self._go(at)
        return False

    def _go(self, at: int) -> bool:
        self._at = at
        self.steps = [] if self.is_outside else self.table.game.moves(self.position)
        return True
