"""Every distance of a clock by one walk: best play backwards, in stretches that need not wait.

Best play, from the win backwards, passes all windows (see `clock`) in the order in which the prefer-max
De Bruijn sequence does: its letters come in at the front, under the hand, and the oldest goes out at
the end. The sequence is the falling list of words that are the largest of their turns, a repetition
being written once (Fredricksen, Kessler and Maiorana). The next word is made by lowering the last
digit that is not 0 and repeating what stands up to there; it is listed if this fits a whole number of
times. Every letter but 0 is a command of the player, except the lowered digit.

The windows need not be made letter by letter: a listed word, and the place lowered before it, name all
of its own. The word before has only zeros after that place, so from there on the letters come in upon
zeros, and the windows are beginnings of the word. The word after begins like this one up to the last
digit that is not 0, so while it comes in the windows are turns of this word. (If this one is a
repetition, the word after supplies the letters that were not written again.) And words that differ in
the last digit alone follow each other, so their turns are done together.

A beginning of half the digits at most, followed by zeros, is always a listed word, and not a
repetition. So the walk can start behind any such word, and is cut there into stretches.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from lookup.games.filling import Filling

if TYPE_CHECKING:
    from collections.abc import Iterator, MutableSequence, Sequence

    from numpy.typing import NDArray

    from lookup.games.filling import Run

MOST_STRETCHES = 64
FEWEST_INDICES = 1 << 20
"""A stretch with fewer would hardly repay that its commands are counted beforehand."""

_EVENNESS = 16  # beginnings for each stretch, as some have many more words than others


def walk(
    commands: MutableSequence[int],
    count: int,
    beginnings: int,
    cut: int,
    base: int,
    powers: Sequence[int],
    word: MutableSequence[int],
    values: MutableSequence[int],
    nonzero: MutableSequence[int],
) -> int:
    """Count the commands from each window to the win, and return the number for the last window.

    It is written at the index from which the window comes if the hand moves on: the oldest letter is
    the leading digit. Without room in `commands` they are only counted. `count` is the number for the
    window that `word` leaves; the walk goes on from there through so many beginnings of `cut` letters.

    `powers` are those of the base. `values` and `nonzero` are room for one more than the digits: the
    first letters of the word as a number, the first least significant, and how many of them are not 0.
    """
    digits = len(word)
    note(word, 0, powers, values, nonzero)
    last = lowered = last_letter(word)
    while True:
        if last < cut:
            if beginnings == 0:
                return count
            beginnings -= 1
        if last < 0:  # behind the last word, 0 .. 0, stands the first
            last, word[0] = 0, base
            if len(commands):
                commands[0] = count
        length, more = last + 1, 0
        if length == digits > 1:
            more, word[last] = word[last] - 1, 0  # so many words, and then the one that ends in 0
        else:
            lower(word, last)
        note(word, last, powers, values, nonzero)
        last = last_letter(word)
        if digits % length or last < 0:
            continue
        before = count - nonzero[lowered + 1]
        count = before + nonzero[digits] + more * nonzero[digits - 1]
        if more and lowered < digits - 1:
            count += 1  # the last letter of the first of these words
        end = last - digits + length
        if len(commands):
            for at in range(max(lowered, 0), digits - 1):
                commands[values[at + 1] * powers[digits - 2 - at]] = before + nonzero[at + 1]
            if more:
                write_all_turns(commands, values[digits], count, more, end, base, powers, word, nonzero)
            else:
                index, top = values[digits] * powers[digits - 1 - last], powers[digits - 1]
                write_turns(commands, index, count + nonzero[end], end, base, top, word)
        count += nonzero[end]
        lowered = last


def write_turns(
    commands: MutableSequence[int],
    index: int,
    count: int,
    end: int,
    base: int,
    top: int,
    word: Sequence[int],
) -> None:
    """Write the turns of a word at which its first letters, at most `end`, have come in once more.

    `index` and `count` are those of the turn with `end` of them. (Counts by `nonzero` would be read
    between writes all over the memory, which takes longer than to count.)
    """
    letter = word[end]
    for at in range(end - 1, -1, -1):
        commands[index] = count
        index = (index - letter * top) * base + letter
        letter = word[at]
        if letter:
            count -= 1
    commands[index] = count


def write_all_turns(
    commands: MutableSequence[int],
    index: int,
    count: int,
    more: int,
    end: int,
    base: int,
    powers: Sequence[int],
    word: Sequence[int],
    nonzero: Sequence[int],
) -> None:
    """The same, and all turns of the words before, which end in `more` to 1 instead of 0.

    `index` is that of the turn of this word with all letters but the last, `count` that with none.
    """
    digits = len(word)
    top, each = powers[digits - 1], nonzero[digits - 1]
    for at in range(digits - 1, -1, -1):
        place, left = index, count + nonzero[at]
        if at <= end:
            commands[place] = left
        step = powers[digits - 2 - at]  # of the last letter; first powers[-1], as the leading digit
        for _ in range(more):
            place += step
            left -= each
            commands[place] = left
        letter = word[at]
        index = (index - letter * top) * base + letter


def last_letter(word: Sequence[int]) -> int:
    """The place of the last letter that is not 0; -1 if all are."""
    last = len(word) - 1
    while last >= 0 and word[last] == 0:
        last -= 1
    return last


def lower(word: MutableSequence[int], last: int) -> None:
    """Lower the letter at a place, and repeat what stands up to there."""
    word[last] -= 1
    for at in range(last + 1, len(word)):
        word[at] = word[at - last - 1]


def note(
    word: Sequence[int],
    first: int,
    powers: Sequence[int],
    values: MutableSequence[int],
    nonzero: MutableSequence[int],
) -> None:
    """Bring `values` and `nonzero` up to date for letters from a place on."""
    for at in range(first, len(word)):
        values[at + 1] = values[at] + word[at] * powers[at]
        nonzero[at + 1] = nonzero[at] + (word[at] > 0)


class Stretch(NamedTuple):
    """Where a stretch of the walk starts, behind which beginning, and through how many it goes."""

    behind: tuple[int, ...]
    beginnings: int


@dataclass(frozen=True)
class PreferMax(Filling):
    """The distances of a clock with so many digits, in a base.

    The array holds the number of commands to the win if the first of them leaves the digit.
    """

    digits: int
    base: int
    most: int = MOST_STRETCHES
    fewest: int = FEWEST_INDICES

    @cached_property
    def wanted(self) -> int:
        """How many stretches there should be."""
        size: int = self.base**self.digits
        return max(1, min(self.most, size // self.fewest))

    @cached_property
    def cut(self) -> int:
        """How many letters make a beginning."""
        cut = 0
        if self.wanted > 1:
            while cut < self.digits // 2 and self.base**cut < _EVENNESS * self.wanted:
                cut += 1
        return cut

    @cached_property
    def parts(self) -> list[Stretch]:
        """The stretches, in the order of the walk."""
        beginnings = list(beginnings_of(self.base, self.cut))
        share = -(-len(beginnings) // self.wanted)
        return [
            Stretch(beginnings[at - 1], min(share, len(beginnings) - at))
            for at in range(0, len(beginnings), share)
        ]

    @property
    def stretches(self) -> int:
        """One for each part of the list of words."""
        return len(self.parts)

    def measure(self, number: int, run: Run) -> int:
        """How many commands a stretch has."""
        return self._walk(number, 0, np.empty(0, np.uint32), run)

    def fill(self, number: int, before: int, array: NDArray[np.uint32], run: Run) -> None:
        """Walk through a stretch."""
        self._walk(number, 1 + before, array, run)

    def _walk(self, number: int, count: int, array: NDArray[np.uint32], run: Run) -> int:
        behind, beginnings = self.parts[number]
        digits, base = self.digits, self.base
        word = [*behind, *[0] * (digits - len(behind))]
        powers = [base**at for at in range(digits)]
        values, nonzero = [0] * (digits + 1), [0] * (digits + 1)
        return run(walk, array, count, beginnings, self.cut, base, powers, word, values, nonzero)

    def read(self, array: NDArray[np.uint32], low: int, high: int) -> NDArray[np.uint32]:
        """Zeroing the digit is leaving a digit that is 0."""
        remoteness, top = array[low:high].copy(), self.base ** (self.digits - 1)
        at = low
        while at < high:
            place = at % top
            rows = 1 if place else max(1, (high - at) // top)
            end = min(high, at - place + rows * top)
            part = remoteness[at - low : end - low].reshape(rows, -1)
            np.minimum(part, array[place : place + part.shape[1]], out=part)
            at = end
        if low == 0 < high:
            remoteness[0] = 0
        return remoteness


def beginnings_of(base: int, letters: int) -> Iterator[tuple[int, ...]]:
    """The beginnings of all words, in falling order."""
    word = [base - 1] * letters
    yield tuple(word)
    while (last := last_letter(word)) >= 0:
        lower(word, last)
        yield tuple(word)
