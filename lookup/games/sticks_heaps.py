"""Sticks, modes 1 to 4: take a to b of them, from anywhere (`sticks-any`) or in a run (`sticks-run`).

Taken from anywhere, it does not matter where the sticks lie: a position is one heap, their number.
Taken side by side, every segment is a heap of its own, which a move makes smaller and may split.
"""

from __future__ import annotations

import re
from threading import Lock
from typing import ClassVar, Self

from lookup.answers import ClosedForm
from lookup.errors import InvalidMoveError, InvalidParameterError, InvalidPositionError
from lookup.games.base import Step
from lookup.games.heap_game import HeapGame
from lookup.games.parameters import Parameters, parameter
from lookup.games.sticks_row import (
    NOTATION,
    STICK,
    checked,
    chosen,
    drawn,
    named,
    require_listable,
    segments,
    without,
    written,
)
from lookup.values import Outcome, Value

DEFAULT_START = 20
DEFAULT_HEAPS = 2000
MOST_TAKEN, MOST_HEAPS = 10_000, 100_000_000
LONGEST_SHORT = 1000
_RUN_NAME = re.compile(r"sticks-run-(\d{1,9})-(\d{1,9})(?:-to(\d{1,9}))?")


class _Sticks(HeapGame):
    """What both games share: the two parameters, and rows as texts."""

    min: int = parameter(help="Fewest sticks that a move takes.", bounded=False)
    max: int = parameter(help="Most sticks that a move takes.", bounded=False)

    def __post_init__(self) -> None:
        if self.min < 1:
            raise InvalidParameterError("min", self.min, "at least 1 stick a move")
        if not self.min <= self.max <= MOST_TAKEN:
            raise InvalidParameterError("max", self.max, f"{self.min} (min) to {MOST_TAKEN} sticks")

    @classmethod
    def command(cls) -> tuple[str, ...]:
        """`sticks any` and `sticks run`."""
        first, second = cls.name.split("-")
        return first, second

    @property
    def takes(self) -> tuple[int, int]:
        """The parameters."""
        return self.min, self.max

    @property
    def start(self) -> int:
        """A row of 20: the length of the row is for the players to choose."""
        return min(DEFAULT_START, self.largest)

    @property
    def notation(self) -> str:
        """How rows and moves are written."""
        return NOTATION

    def format(self, index: int) -> str:
        """The row of so many sticks without a gap."""
        return written([index] if index else [])

    def board(self, text: str) -> str:
        """The row with the numbers of its sticks."""
        return drawn(text)

    def move_name(self, index: int, after: int) -> str:
        """The first sticks of the row."""
        return named(range(1, index - after + 1))

    def _step(self, row: str, sticks: list[int] | range) -> Step:
        after = without(row, sticks)
        return Step(named(sticks), after, self.components(after))

    def _how_many(self) -> str:
        return f"{self.min} to {self.max}" if self.min < self.max else str(self.min)


class SticksAny(_Sticks):
    """Take a to b sticks from anywhere in a row; whoever cannot loses (sticks, modes 1 and 2)."""

    name: ClassVar[str] = "sticks-any"

    @property
    def largest(self) -> int:
        """Far enough to prove the period, which answers every longer row."""
        return max(100, 2 * (self.min + self.max) + self.max)

    @property
    def rules(self) -> str:
        """The rules with this table's parameters."""
        return (
            f"A row of sticks. A move takes {self._how_many()} sticks from anywhere in the row. "
            "Whoever cannot move loses."
        )

    @property
    def indexing(self) -> str:
        """Where the sticks lie does not matter."""
        return "The number of sticks in the row."

    def parse(self, text: str) -> int:
        """The number of sticks."""
        return checked(text).count(STICK)

    def moves(self, text: str) -> list[Step]:
        """One move for each number of sticks that may be taken: the first so many of the row.

        Which ones are taken makes no difference; `play` takes any.
        """
        there = [at for at, stick in enumerate(checked(text), 1) if stick == STICK]
        numbers = range(self.min, min(self.max, len(there)) + 1)
        require_listable(text, len(numbers))
        return [self._step(text, there[:number]) for number in numbers]

    def play(self, text: str, move: str) -> Step:
        """The move that takes the named sticks."""
        sticks = chosen(text, move)
        if not self.min <= len(sticks) <= self.max:
            raise InvalidMoveError(move, text, f"{self._how_many()} sticks, not {len(sticks)}")
        return self._step(text, sticks)

    @property
    def closed_form(self) -> ClosedForm:
        """Remainders: see `Remainders`."""
        return Remainders(self)


class Remainders(ClosedForm):
    """`sticks-any` by arithmetic: n sticks, n = q * (a + b) + r with 0 <= r < a + b, are worth r // a.

    Proof. Taking t <= r leads to remainders from max(0, r - b) to r - a, without a gap; as r - b < a
    they have all the values 0 .. r // a - 1. Taking t > r, one period down, leads to remainders of at
    least r + a, which are worth more than r // a. So r // a is the least value not reached.

    A loss (r < a) lasts 2q plies: two moves take 2a to 2b, which leads from one stretch of losses to
    the next one and no further. A win needs one ply to reach a loss with the same q.
    """

    def probe(self, position: str) -> Value:
        """The value of a row of any length."""
        fewest, most = self.game.parameters.values()
        periods, rest = divmod(self.game.parse(position), fewest + most)
        grundy = rest // fewest
        if grundy:
            return Value(Outcome.WIN, 2 * periods + 1, grundy)
        return Value(Outcome.LOSS, 2 * periods, grundy)


class SticksRun(_Sticks):
    """Take a to b sticks that lie side by side; whoever cannot loses (sticks, modes 3 and 4)."""

    heaps: int = parameter(
        default=DEFAULT_HEAPS, help="Longest row to compute; a proven period goes on.", bounded=False
    )

    name: ClassVar[str] = "sticks-run"
    parts: ClassVar[int] = 2
    unlimited: ClassVar[Parameters] = {"heaps": DEFAULT_HEAPS}

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 1 <= self.heaps <= MOST_HEAPS:
            raise InvalidParameterError("heaps", self.heaps, f"1 to {MOST_HEAPS} sticks")

    @property
    def largest(self) -> int:
        """A parameter."""
        return self.heaps

    @property
    def rules(self) -> str:
        """The rules with this table's parameters."""
        return (
            f"A row of sticks. A move takes {self._how_many()} sticks that lie side by side, without a "
            "gap between them. Whoever cannot move loses. Segments between gaps are independent: the "
            "Grundy value of a row is the exclusive or of those of its segments."
        )

    @property
    def indexing(self) -> str:
        """A segment is a heap."""
        return "The number of sticks in one segment, that is a stretch of the row without a gap."

    def parse(self, text: str) -> int:
        """The number of sticks in the only segment."""
        lengths = self.components(text)
        if len(lengths) > 1:
            raise InvalidPositionError(
                text, "one segment, as an index has; `probe` and `components` take several"
            )
        return lengths[0] if lengths else 0

    def components(self, text: str) -> tuple[int, ...]:
        """The lengths of the segments."""
        return tuple(segments(checked(text)))

    def moves(self, text: str) -> list[Step]:
        """Every run of sticks that may be taken, by its first stick."""
        require_listable(checked(text), text.count(STICK) * (min(self.max, len(text)) - self.min + 1))
        lengths = self.components(text)
        steps: list[Step] = []
        end = 0
        for number, length in enumerate(lengths):
            begin = text.index(STICK, end)
            end = begin + length
            for left in range(length):
                for taken in range(self.min, min(self.max, length - left) + 1):
                    kept = [part for part in (left, length - left - taken) if part]
                    after = (*lengths[:number], *kept, *lengths[number + 1 :])
                    sticks = range(begin + left + 1, begin + left + taken + 1)
                    steps.append(Step(named(sticks), without(text, sticks), after))
        return steps

    def play(self, text: str, move: str) -> Step:
        """The move that takes the named sticks."""
        sticks = chosen(text, move)
        if not self.min <= len(sticks) <= self.max or len(sticks) != sticks[-1] - sticks[0] + 1:
            raise InvalidMoveError(move, text, f"{self._how_many()} sticks side by side")
        return self._step(text, sticks)

    @property
    def closed_form(self) -> ClosedForm:
        """Short rows, worked out on demand: see `ShortRows`."""
        return ShortRows(self)

    @property
    def table_name(self) -> str:
        """`sticks-run-1-2`, and the longest row if it is not the usual one."""
        longest = "" if self.heaps == DEFAULT_HEAPS else f"-to{self.heaps}"
        return f"{self.name}-{self.min}-{self.max}{longest}"

    @classmethod
    def from_table_name(cls, table_name: str) -> Self | None:
        """The game that `table_name` names."""
        if not (match := _RUN_NAME.fullmatch(table_name)):
            return None
        fewest, most, heaps = match.groups()
        game = cls(int(fewest), int(most), int(heaps or DEFAULT_HEAPS))
        return game if game.table_name == table_name else None

    @property
    def build_command(self) -> str:
        """The flags that differ from the default."""
        command = f"build-tables sticks run --min {self.min} --max {self.max}"
        return command if self.heaps == DEFAULT_HEAPS else f"{command} --heaps {self.heaps}"


class ShortRows(ClosedForm):
    """`sticks-run` without a table: Grundy values of short rows, worked out when first asked for.

    A set of values is a number with a bit for each. Taking j of n sticks leaves m = n - j, in one part
    or two: the values of these do not depend on j, and are found once for each m.
    """

    game: SticksRun

    def __init__(self, game: SticksRun) -> None:
        super().__init__(game)
        self._values: list[int] = []  # by length
        self._splits: list[int] = []  # by length, the set of values that its two parts can have
        self._lock = Lock()

    def probe(self, position: str) -> Value:
        """The value of a row whose segments have at most `LONGEST_SHORT` sticks."""
        lengths = self.game.components(position)
        longest = max(lengths, default=0)
        if longest > LONGEST_SHORT:
            expected = f"segments of at most {LONGEST_SHORT} sticks; a table answers for longer ones"
            raise InvalidPositionError(position, expected)
        self._work_out(longest)
        grundy = 0
        for length in lengths:
            grundy ^= self._values[length]
        return Value(Outcome.WIN if grundy else Outcome.LOSS, None, grundy)

    def _work_out(self, longest: int) -> None:
        if longest < len(self._splits):
            return
        fewest, most = self.game.takes
        with self._lock:
            values, splits = self._values, self._splits
            for length in range(len(splits), longest + 1):
                reached = 0
                for left in range(max(0, length - most), length - fewest + 1):
                    reached |= splits[left]
                values.append((~reached & reached + 1).bit_length() - 1)  # the least that is missing
                parts = 0
                for part in range(length // 2 + 1):
                    parts |= 1 << (values[part] ^ values[length - part])
                splits.append(parts)
