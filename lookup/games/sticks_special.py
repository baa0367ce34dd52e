"""Sticks, mode 5: take any one stick, or any two, or three that lie side by side.

Two sticks may come from two segments, so segments are not independent games: the position is the
multiset of their lengths. Written with a part of s + 1 for a segment of s sticks and ones for the
rest, it is a partition of N + 1, where N is the longest row of the table. Then a step splits a part in
two, taking two sticks is two steps, and taking three side by side turns a part into x, 1, 1, y.

The index is the rank of the partition, its parts written in falling order, among all partitions of
N + 1 in lexicographic order: the partitions before it that agree with its first i parts and have a
smaller one next are `counts` of what is left, in parts smaller than that next part. A step makes a
part smaller, and thereby the rank.
"""

from __future__ import annotations

from functools import cache, cached_property
from itertools import combinations
from typing import TYPE_CHECKING, ClassVar

from lookup.errors import InvalidMoveError, InvalidParameterError, InvalidPositionError
from lookup.games.base import Neighbours, Step
from lookup.games.parameters import parameter
from lookup.games.step_game import StepGame
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

if TYPE_CHECKING:
    from collections.abc import MutableSequence, Sequence

LONGEST_WITH_VALUES = 80
"""Longer rows keep outcomes alone, which take a twelfth of the memory to solve and half of the time;
with 18,004,327 positions this one took 42 seconds of processor time to build."""
LONGEST = 120


@cache
def partition_counts(total: int) -> tuple[int, ...]:
    """At `m * (total + 1) + k`, the number of partitions of m into parts of at most k; m <= total."""
    width = total + 1
    counts = [0] * (width * width)
    for most in range(width):
        counts[most] = 1
    for whole in range(1, width):
        for most in range(1, width):
            fewer = counts[whole * width + most - 1]
            using = counts[(whole - most) * width + most] if most <= whole else 0
            counts[whole * width + most] = fewer + using
    return tuple(counts)


class SticksSpecial(StepGame):
    """Take one stick, any two, or three side by side; whoever cannot loses (sticks, mode 5)."""

    length: int = parameter(help="Longest row.", bounded=False)

    name: ClassVar[str] = "sticks-special"

    def __post_init__(self) -> None:
        if not 1 <= self.length <= LONGEST:
            raise InvalidParameterError("length", self.length, f"a row of 1 to {LONGEST} sticks")

    @classmethod
    def command(cls) -> tuple[str, ...]:
        """`sticks special`."""
        return "sticks", "special"

    @property
    def stores_values(self) -> bool:
        """Up to `LONGEST_WITH_VALUES` sticks."""
        return self.length <= LONGEST_WITH_VALUES

    @cached_property
    def size(self) -> int:
        """One index for every partition of N + 1."""
        return partition_counts(self.length + 1)[-1]

    @property
    def start(self) -> int:
        """The whole row, which is the last partition."""
        return self.size - 1

    @property
    def rules(self) -> str:
        """The rules."""
        return (
            "A row of sticks. A move takes any one stick, or any two sticks, or three sticks that lie "
            "side by side without a gap between them. Whoever cannot move loses."
        )

    @property
    def notation(self) -> str:
        """How rows and moves are written."""
        return NOTATION

    @property
    def indexing(self) -> str:
        """The rank, in words that are enough to compute it."""
        total = self.length + 1
        return (
            "Write s + 1 for each segment of s sticks (a stretch without a gap) in falling order, then "
            f"ones until the sum is {total}: a partition of {total}. Its index is its rank, from 0, "
            f"among all partitions of {total} so written, in lexicographic order: the sum over its "
            "parts p of the number of partitions, into parts smaller than p, of what p and the parts "
            "after it add up to."
        )

    # --- rules ------------------------------------------------------------------------------------

    @property
    def max_steps(self) -> int:
        """Each of a part and its half, and room to write down the parts of a position three times."""
        return self._listed + 3 * (self.length + 2)

    @property
    def _listed(self) -> int:
        """More than the steps of any position: splits of distinct parts, whose sum is N + 1."""
        return self.length + 2

    @cached_property
    def steps(self) -> Neighbours:
        """Split a part in two."""
        return self._splitter(0)

    @cached_property
    def leaps(self) -> Neighbours:
        """Split a part in two and two ones."""
        return self._splitter(2)

    def _splitter(self, ones: int) -> Neighbours:
        """The function that turns any part into x, y and so many ones."""
        total = self.length + 1
        width = total + 1
        counts = partition_counts(total)
        # A position is written down behind the results: its parts above 1, what they and the parts
        # after them add up to, and the rank that the parts before them contribute.
        parts_at = self._listed
        rests_at, ranks_at = parts_at + width, parts_at + 2 * width

        def split(index: int, out: MutableSequence[int]) -> int:
            parts, rank, rest, most = 0, 0, total, total
            while rank < index:
                # The next part: the largest with at most the wanted rank before it.
                wanted = index - rank
                low, high = 1, min(most, rest)
                while low < high:
                    middle = (low + high + 1) // 2
                    if counts[rest * width + middle - 1] <= wanted:
                        low = middle
                    else:
                        high = middle - 1
                out[parts_at + parts] = most = low
                out[rests_at + parts] = rest
                out[ranks_at + parts] = rank
                rank += counts[rest * width + low - 1]
                rest -= low
                parts += 1
            out[ranks_at + parts] = rank
            found = 0
            for at in range(parts):
                part = out[parts_at + at]
                if at + 1 < parts and out[parts_at + at + 1] == part:
                    continue  # of equal parts, the last
                for small in range(1, (part - ones) // 2 + 1):
                    large = part - ones - small
                    rank, rest = out[ranks_at + at], out[rests_at + at]
                    # Parts after the one that is split keep their order around the two new ones.
                    after = at + 1
                    while after < parts and out[parts_at + after] > large:
                        rank += counts[rest * width + out[parts_at + after] - 1]
                        rest -= out[parts_at + after]
                        after += 1
                    rank += counts[rest * width + large - 1]
                    rest -= large
                    while after < parts and out[parts_at + after] > small:
                        rank += counts[rest * width + out[parts_at + after] - 1]
                        rest -= out[parts_at + after]
                        after += 1
                    rank += counts[rest * width + small - 1]
                    rest -= small
                    if ones == 0:
                        # From here on, the same parts of the same rest as before.
                        rank += index - out[ranks_at + after]
                    else:
                        while after < parts:
                            rank += counts[rest * width + out[parts_at + after] - 1]
                            rest -= out[parts_at + after]
                            after += 1
                    out[found] = rank
                    found += 1
            return found

        return split

    # --- texts ------------------------------------------------------------------------------------

    def parse(self, text: str) -> int:
        """The rank of the row's segments."""
        return self._rank(self._lengths(checked(text), text))

    def format(self, index: int) -> str:
        """The shortest row with these segments, the longest first."""
        return written(self._unrank(index))

    def moves(self, text: str) -> list[Step]:
        """Every move: sticks one by one, all pairs, and three side by side."""
        there = [at for at, stick in enumerate(checked(text), 1) if stick == STICK]
        self._lengths(text, text)
        require_listable(text, len(there) * (len(there) + 3) // 2)
        taken: list[tuple[int, ...]] = [(stick,) for stick in there]
        taken += combinations(there, 2)
        taken += [(at, at + 1, at + 2) for at in there if text[at - 1 : at + 2] == STICK * 3]
        known: dict[tuple[int, ...], int] = {}
        return [self._step(text, sticks, known) for sticks in taken]

    def board(self, text: str) -> str:
        """The row with the numbers of its sticks."""
        self.parse(text)  # drawn or not, a row must fit the table
        return drawn(text)

    def play(self, text: str, move: str) -> Step:
        """The move that takes the named sticks."""
        sticks = chosen(text, move)
        self._lengths(text, text)
        if len(sticks) > 3 or (len(sticks) == 3 and sticks[2] - sticks[0] != 2):
            raise InvalidMoveError(move, text, "one stick, two sticks, or three side by side")
        return self._step(text, sticks, {})

    def move_name(self, index: int, after: int) -> str:
        """The first move that leads there."""
        return next(step.text for step in self.moves(self.format(index)) if step.after == (after,))

    def _step(self, row: str, sticks: Sequence[int], known: dict[tuple[int, ...], int]) -> Step:
        after = without(row, sticks)
        lengths = self._lengths(after, row)
        if lengths not in known:
            known[lengths] = self._rank(lengths)
        return Step(named(sticks), after, (known[lengths],))

    def _lengths(self, row: str, text: str) -> tuple[int, ...]:
        """The segments of a row that this table has, the longest first; errors quote the text."""
        lengths = tuple(sorted(segments(row), reverse=True))
        if sum(lengths) + len(lengths) > self.length + 1:
            expected = f"segments that fit into a row of {self.length} sticks with gaps between them"
            raise InvalidPositionError(text, expected)
        return lengths

    def _rank(self, lengths: Sequence[int]) -> int:
        total = self.length + 1
        counts = partition_counts(total)
        rank, rest = 0, total
        for length in lengths:
            rank += counts[rest * (total + 1) + length]
            rest -= length + 1
        return rank

    def _unrank(self, index: int) -> list[int]:
        total = self.length + 1
        counts = partition_counts(total)
        lengths: list[int] = []
        rest = total
        while index:
            length = 1
            while length < rest - 1 and counts[rest * (total + 1) + length + 1] <= index:
                length += 1
            lengths.append(length)
            index -= counts[rest * (total + 1) + length]
            rest -= length + 1
        return lengths
