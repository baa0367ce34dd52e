"""The clock, or prefer-max game: n digits from 0 to k round a clock, and one hand.

The player either sets the digit under the hand to zero (`0`) or leaves it (`X`); the hand moves on.
Then the machine moves until it is the player's turn. All zeros wins.

The machine looks at *windows*: the digits as a number in base k + 1, the digit under the hand least
significant. Moving the hand on turns a window by one digit. The machine raises the digit under the
hand, and moves on, as long as the raised window, turned until no zero leads, would be the largest of
all its turns; else it leaves the digit alone, and if that is 0 moves on as well. It is the player's
turn when the machine has left a digit, or the hand has come to a k.

This is the shift game of Amram, Rubin, Svoray and Weiss (arXiv 1805.02405). Best play goes backwards
through the prefer-max De Bruijn sequence, by which `clock_walk` fills a table without any search.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

from lookup.answers import ClosedForm
from lookup.errors import InvalidParameterError, InvalidPositionError
from lookup.games.base import Game, Neighbours, SolverKind, Step
from lookup.games.clock_walk import PreferMax
from lookup.games.parameters import parameter
from lookup.values import Outcome, Value

if TYPE_CHECKING:
    from collections.abc import MutableSequence

    from lookup.games.filling import Filling

WIN = 3  # the code of Outcome.WIN; compiled functions know only integers
ZERO, LEAVE = "0", "X"
MOST_DIGITS, LARGEST_DIGIT = 1000, 1_000_000


def reverse(number: int, digits: int, base: int) -> int:
    """The number with its digits in the opposite order: index to window and back."""
    turned = 0
    for _ in range(digits):
        turned = turned * base + number % base
        number //= base
    return turned


def is_largest(window: int, base: int, top: int) -> bool:
    """Whether a window other than 0, turned until no zero leads, is the largest of its turns.

    `top` is the weight of the leading digit.
    """
    largest = window
    while largest < top:
        largest *= base  # the leading digit is 0: this turns it to the end
    turned = largest
    while True:
        turned = turned % base * top + turned // base
        if turned > largest:
            return False
        if turned == largest:
            return True


def resolve(window: int, base: int, top: int) -> int:
    """What the machine makes of a window, if it is its turn."""
    if top == 1:
        return base - 1 if window else 0  # a single digit is raised until it is the largest
    while window and window % base != base - 1:
        if is_largest(window + 1, base, top):
            window += 1
        elif window % base:
            break
        window = window % base * top + window // base
    return window


class Clock(Game):
    """Bring all digits of a clock to zero, against a machine that raises them (the prefer-max game)."""

    n: int = parameter(help="Digits round the clock.", bounded=False)
    k: int = parameter(help="Largest digit.", bounded=False)

    name: ClassVar[str] = "clock"
    solver: ClassVar[SolverKind] = "distance"
    max_moves: ClassVar[int] = 2

    def __post_init__(self) -> None:
        if not 1 <= self.n <= MOST_DIGITS:
            raise InvalidParameterError("n", self.n, f"1 to {MOST_DIGITS} digits")
        if not 1 <= self.k <= LARGEST_DIGIT:
            raise InvalidParameterError("k", self.k, f"1 to {LARGEST_DIGIT} for the largest digit")

    @cached_property
    def _bases(self) -> tuple[int, int]:
        """The base of windows and indices, and the weight of the leading digit."""
        return self.k + 1, (self.k + 1) ** (self.n - 1)

    @cached_property
    def size(self) -> int:
        """Every clock, as if it were the player's turn."""
        base, top = self._bases
        return base * top

    @cached_property
    def start(self) -> int:
        """What the machine makes of 0 .. 0 1."""
        base, top = self._bases
        return reverse(resolve(top, base, top), self.n, base)

    @cached_property
    def successors(self) -> Neighbours:
        """Zero the digit or leave it, which is the same if it is 0."""
        digits, (base, top) = self.n, self._bases

        def successors(index: int, out: MutableSequence[int]) -> int:
            if index == 0:
                return 0
            rest = index % top * base
            out[0] = reverse(resolve(reverse(rest, digits, base), base, top), digits, base)
            rest += index // top
            out[1] = reverse(resolve(reverse(rest, digits, base), base, top), digits, base)
            return 1 if out[0] == out[1] else 2

        return successors

    @staticmethod
    def terminal(index: int) -> int:
        """All zeros wins."""
        return 0 if index else WIN

    @property
    def filling(self) -> Filling:
        """The walk of best play backwards."""
        return PreferMax(self.n, self.k + 1)

    @property
    def rules(self) -> str:
        """The rules with this table's parameters."""
        return (
            f"{self.n} digits from 0 to {self.k} round a clock, and a hand. On the player's turn, '0' "
            "sets the digit under the hand to zero and moves the hand on, 'X' moves the hand on. All "
            "zeros wins. Then the machine moves: it raises the digit under the hand by one and moves "
            "the hand on, if the digits, so raised, read counter-clockwise and turned until no zero "
            f"leads, would be the largest of all their turns in base {self.k + 1}; otherwise it leaves "
            "the digit alone, and if that is 0 moves the hand on too. It goes on until the hand points "
            f"to {self.k}, or it has left alone a digit other than 0: then it is the player's turn. "
            "The start is what the machine makes of 0 .. 0 1. Remoteness counts the player's commands."
        )

    @property
    def notation(self) -> str:
        """How clocks and commands are written, with an example of this size."""
        comma = " with commas between them" if self.k >= 10 else ""
        example = self.format(self.start) if self.n <= 100 else "..."
        return (
            f"The {self.n} digits from the hand clockwise{comma}: '{example}'. A command is '0' or 'X'."
        )

    @property
    def indexing(self) -> str:
        """A number."""
        return (
            f"The digits as a number in base {self.k + 1}, the digit under the hand most significant."
        )

    def parse(self, text: str) -> int:
        """Text to index."""
        base = self.k + 1
        words = text.split(",") if self.k >= 10 else text
        if len(words) != self.n:
            raise InvalidPositionError(text, f"{self._expected()}, not {len(words)}")
        index = 0
        for word in words:
            if len(word) > len(str(LARGEST_DIGIT)):
                raise InvalidPositionError(text, self._expected())
            if not (word.isascii() and word.isdecimal() and str(int(word)) == word):
                raise InvalidPositionError(text, self._expected())
            if (digit := int(word)) > self.k:
                raise InvalidPositionError(text, f"digits from 0 to {self.k}, not {digit}")
            index = index * base + digit
        return index

    def format(self, index: int) -> str:
        """Index to text."""
        base = self.k + 1
        digits = []
        for _ in range(self.n):
            digits.append(str(index % base))
            index //= base
        return ("," if self.k >= 10 else "").join(reversed(digits))

    def board(self, text: str) -> str:
        """The digits clockwise, the one under the hand marked.

        >>> Clock(4, 2).board("2100")
        '[2] 1 0 0'
        """
        self.parse(text)
        hand, *others = text.split(",") if self.k >= 10 else list(text)
        return " ".join([f"[{hand}]", *others])

    def moves(self, text: str) -> list[Step]:
        """Both commands, also where they do the same."""
        after = self.successors_of(self.parse(text))
        steps = ((ZERO, after[0]), (LEAVE, after[-1])) if after else ()
        return [Step(name, self.format(index), (index,)) for name, index in steps]

    def move_name(self, index: int, after: int) -> str:
        """`0` where both commands do the same."""
        return ZERO if after == self.successors_of(index)[0] else LEAVE

    @property
    def closed_form(self) -> ClosedForm:
        """The rule of the largest turn: see `LargestTurn`."""
        return LargestTurn(self)

    def _expected(self) -> str:
        comma = " separated by commas" if self.k >= 10 else ""
        return f"{self.n} digits from 0 to {self.k}{comma}"


class LargestTurn(ClosedForm):
    """The best command for any clock: `0` if and only if its window is the largest of its turns.

    The window is read counter-clockwise and turned until no zero leads. On a player's turn this is the
    optimal strategy of the paper named above; for all other clocks it was compared with every table of
    up to 10^5 clocks, and held. The number of commands to the win is not known without a table.
    """

    def probe(self, position: str) -> Value:
        """Every clock is won; how far it is from the end is known at the end only."""
        return Value(Outcome.WIN, None if self.game.parse(position) else 0)

    def _steps(self, position: str) -> list[Step]:
        """The best command first: by value alone they are equal."""
        steps = super()._steps(position)
        base = self.game.parameters["k"] + 1
        window = reverse(self.game.parse(position), self.game.parameters["n"], base)
        if steps and not is_largest(window, base, self.game.size // base):
            steps.reverse()
        return steps
