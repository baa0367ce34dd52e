"""Winners and Losers: take the first or the last letter of a string of W and L.

Whoever takes the last letter of all wins with a W and loses with an L. The string without letters has
no index, since its value depends on the letter that was taken last: a string of one letter is the end,
with one ply still to be made.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from lookup.answers import ClosedForm
from lookup.errors import InvalidParameterError, InvalidPositionError
from lookup.games.base import Game, SolverKind, Step
from lookup.games.parameters import Parameters, parameter
from lookup.values import Outcome, Value

if TYPE_CHECKING:
    from collections.abc import MutableSequence

ONE_MORE_PLY = 4
_TO_BITS, _TO_TEXT = str.maketrans("LW", "01"), str.maketrans("01", "LW")


def letters(index: int) -> int:
    """The length of the string with this index, below 2^63: the bits of index + 2 but the first."""
    rest, length = index + 2, 0
    for step in (32, 16, 8, 4, 2, 1):
        if rest >> step:
            rest >>= step
            length += step
    return length


class WinnersLosers(Game):
    """Take the first or the last letter of a string; whoever takes the last wins if it is a W."""

    length: int = parameter(help="Longest string.", bounded=False)

    name: ClassVar[str] = "winners-losers"
    solver: ClassVar[SolverKind] = "ordered"
    max_moves: ClassVar[int] = 2
    unlimited: ClassVar[Parameters] = {"length": 1_000_000}

    def __post_init__(self) -> None:
        if not 1 <= self.length <= self.unlimited["length"]:
            raise InvalidParameterError(
                "length", self.length, f"1 to {self.unlimited['length']} letters"
            )

    @property
    def size(self) -> int:
        """All strings of 1 to N letters."""
        return (2 << self.length) - 2

    @property
    def start(self) -> int:
        """A string for a first look, W and L by turns: players choose their own."""
        return self.parse(("WL" * 10)[: self.length])

    @staticmethod
    def successors(index: int, out: MutableSequence[int]) -> int:
        """Without the first letter, and without the last unless it makes the same string."""
        length = letters(index)
        if length == 1:
            return 0
        bits = index + 2 - (1 << length)
        base = (1 << length - 1) - 2
        out[0] = base + (bits >> 1)
        out[1] = base + (bits & (1 << length - 1) - 1)
        return 1 if out[0] == out[1] else 2

    @staticmethod
    def terminal(index: int) -> int:
        """One letter: whoever takes it wins with a W."""
        if index > 1:
            return 0
        return ONE_MORE_PLY + (3 if index else 1)  # WIN or LOSS; compiled functions know only integers

    @property
    def rules(self) -> str:
        """The rules."""
        return (
            "A string of W and L. Players by turns remove the first or the last letter. Whoever "
            "removes the last letter of all wins if it is a W and loses if it is an L."
        )

    @property
    def notation(self) -> str:
        """How strings and moves are written."""
        return "The letters: 'WLWLL'. A move is 'left' or 'right', the end that loses its letter."

    @property
    def indexing(self) -> str:
        """Lengths one after the other."""
        return (
            "For a string of m letters 2^m - 2 + bits, where bit j is set if letter j, counted from 0 "
            "at the left, is W. So strings of one letter come first, then those of two, and so on."
        )

    def parse(self, text: str) -> int:
        """Text to index."""
        self.checked(text)
        return (1 << len(text)) - 2 + int(text[::-1].translate(_TO_BITS), 2)

    def format(self, index: int) -> str:
        """Index to text."""
        return bin(index + 2)[3:][::-1].translate(_TO_TEXT)

    def moves(self, text: str) -> list[Step]:
        """Both ends, also where they make the same string; the last letter leads out of the index."""
        self.checked(text)
        if len(text) == 1:
            end = Outcome.WIN if text == "W" else Outcome.LOSS
            return [Step("left", "", (), end), Step("right", "", (), end)]
        both = (("left", text[1:]), ("right", text[:-1]))
        return [Step(name, after, (self.parse(after),)) for name, after in both]

    def move_name(self, index: int, after: int) -> str:
        """`left` where both ends make the same string."""
        return "left" if self.format(index)[1:] == self.format(after) else "right"

    @property
    def closed_form(self) -> ClosedForm:
        """The letters in the middle: see `MiddleLetters`."""
        return MiddleLetters(self)

    def checked(self, text: str) -> str:
        """The same string.

        Raises:
            InvalidPositionError: it is empty, too long or has other letters.
        """
        if not text or text.count("W") + text.count("L") != len(text):
            raise InvalidPositionError(text, "one or more letters, each W or L")
        if len(text) > self.length:
            raise InvalidPositionError(text, f"at most {self.length} letters")
        return text


class MiddleLetters(ClosedForm):
    """Winners and Losers in O(1): the two or three letters in the middle decide.

    Parity says who takes the last letter; call that player T, who wants it to be a W.
    An even string, the other player to move: T wins if and only if both middle letters are W.
    An odd string, T to move: T wins if and only if the middle letter is W and, if there are more,
    one beside it is W too.

    Proof by induction on the length. One letter: the rule. Odd, longer: T moves to one of the two even
    strings whose middle letters are the middle letter and its left or its right neighbour, and needs
    one where both are W. Even, with b and c in the middle: the other player moves to one of the two odd
    strings, with b or with c in the middle; T needs both to be won, so b and c must be W, and that is
    enough, since each is a neighbour of the other. (From two letters, b and c themselves are left.)
    """

    def __init__(self, game: WinnersLosers) -> None:
        super().__init__(game)
        self._checked = game.checked

    def probe(self, position: str) -> Value:
        """The value of a string of any length."""
        length = len(self._checked(position))
        middle = length // 2
        if length % 2 == 0:
            won = position[middle - 1 : middle + 1] != "WW"
        elif length > 1:
            won = position[middle] == "W" and "W" in (position[middle - 1], position[middle + 1])
        else:
            won = position == "W"
        return Value(Outcome.WIN if won else Outcome.LOSS, length)
