"""The solvers that `bench.py` measures ours against: as one would write them first.

They share nothing with the product but the rules in words. Those of the clock, of sticks and of Winners
and Losers work the way that the puzzles' own programs do.
"""

from __future__ import annotations

from collections import deque
from itertools import combinations, count, pairwise, product
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

LOSS, DRAW, WIN = 1, 2, 3  # the codes of Outcome
COPS, ROBBER = 0, 1

Cell: TypeAlias = tuple[int, int]
Chase: TypeAlias = tuple[Cell, Cell, Cell, int]


# --- tactics --------------------------------------------------------------------------------------


def recursive_wins(masks: Sequence[int], size: int) -> dict[int, bool]:
    """Every position of a misere mask game by memoised recursion."""
    wins: dict[int, bool] = {}

    def solve(filled: int) -> bool:
        if filled not in wins:
            after = [filled | mask for mask in masks if not filled & mask]
            wins[filled] = not after or any(not solve(position) for position in after)
        return wins[filled]

    for filled in range(size):
        solve(filled)
    return wins


def numpy_wins(masks: Sequence[int], cells: int) -> NDArray[np.bool_]:
    """The same with numpy: all positions with equally many filled cells at once."""
    positions = np.arange(1 << cells)
    filled = np.bitwise_count(positions)
    wins = np.zeros(len(positions), np.bool_)
    for level in range(cells, -1, -1):
        some = positions[filled == level]
        won, stuck = np.zeros(len(some), np.bool_), np.ones(len(some), np.bool_)
        for mask in masks:
            able = some & mask == 0
            won[able] |= ~wins[some[able] | mask]
            stuck &= ~able
        wins[some] = won | stuck
    return wins


# --- pursuit --------------------------------------------------------------------------------------


def dict_pursuit(side: int) -> dict[Chase, tuple[int, int]]:
    """Outcome and remoteness of every position of `Pursuit`, with dicts, tuples and a deque."""
    cells: list[Cell] = [(row, col) for row in range(side) for col in range(side)]
    ways = ((-1, 0), (1, 0), (0, -1), (0, 1))
    near = {(r, c): [((r + down) % side, (c + right) % side) for down, right in ways] for r, c in cells}

    def moves(position: Chase) -> Iterator[Chase]:
        robber, first, second, turn = position
        if turn == ROBBER:
            yield from ((to, first, second, COPS) for to in near[robber])
        else:
            yield from ((robber, to, second, ROBBER) for to in near[first])
            yield from ((robber, first, to, ROBBER) for to in near[second])

    values: dict[Chase, tuple[int, int]] = {}
    before: dict[Chase, list[Chase]] = {}
    unrefuted: dict[Chase, int] = {}
    for position in product(cells, cells, cells, (COPS, ROBBER)):
        robber, first, second, turn = position
        caught = robber in (first, second)
        if caught or robber == (0, 0):
            values[position] = (WIN if caught == (turn == COPS) else LOSS, 0)
            continue
        after = list(moves(position))
        unrefuted[position] = len(after)
        for target in after:
            before.setdefault(target, []).append(position)
    queue = deque(values)
    while queue:
        settled = queue.popleft()
        outcome, remoteness = values[settled]
        for position in before.get(settled, ()):
            if position in values:
                continue
            unrefuted[position] -= 1
            if outcome == LOSS or not unrefuted[position]:
                values[position] = (WIN if outcome == LOSS else LOSS, remoteness + 1)
                queue.append(position)
    for position in unrefuted:
        values.setdefault(position, (DRAW, 0))
    return values


def in_index_order(values: dict[Chase, tuple[int, int]]) -> NDArray[np.int64]:
    """The outcomes and remotenesses of `dict_pursuit` as two rows, by the index of `Pursuit`."""
    return np.array([values[position] for position in sorted(values)]).T


def numpy_pursuit(side: int) -> NDArray[np.int64]:
    """The same as two rows, with numpy: all positions are looked at again, ply after ply."""
    cells = np.arange(side**2)
    rows, cols = np.divmod(cells, side)
    near = [(rows + way) % side * side + cols for way in (1, -1)]
    near += [rows * side + (cols + way) % side for way in (1, -1)]
    robber, first, second = np.ix_(cells, cells, cells)
    caught = (robber == first) | (robber == second)
    ended = caught | (robber == 0)
    outcome = np.zeros((*ended.shape, 2), np.int64)  # 0 for what is not settled
    remoteness = np.zeros_like(outcome)
    outcome[..., COPS] = np.where(ended, np.where(caught, WIN, LOSS), 0)
    outcome[..., ROBBER] = np.where(ended, np.where(caught, LOSS, WIN), 0)
    for ply in count(1):
        robbers, cops = outcome[..., ROBBER], outcome[..., COPS]
        after = {
            COPS: [robbers[:, to] for to in near] + [robbers[:, :, to] for to in near],
            ROBBER: [cops[to] for to in near],
        }
        found = np.zeros_like(outcome)
        for turn, values in after.items():
            lost = np.all([value == WIN for value in values], axis=0)
            won = np.any([value == LOSS for value in values], axis=0)
            found[..., turn] = np.where(won, WIN, np.where(lost, LOSS, 0))
        new = (outcome == 0) & (found > 0)
        if not new.any():
            break
        outcome[new], remoteness[new] = found[new], ply
    outcome[outcome == 0] = DRAW
    return np.stack([outcome.ravel(), remoteness.ravel()])


# --- clock ----------------------------------------------------------------------------------------


class Clockwise(NamedTuple):
    """The digits from the hand on, and whether the player is to move."""

    digits: tuple[int, ...]
    is_players: bool


def clock_by_search(n: int, k: int) -> list[int]:
    """The commands to the win from every clock: both commands played out, then a search backwards.

    The puzzle's own search goes forward from one start; a whole table that way would take far longer.
    """
    base = k + 1
    resolve = clock_machine(n, k)

    def digits_of(number: int) -> tuple[int, ...]:
        digits = []
        for _ in range(n):
            digits.append(number % base)
            number //= base
        return tuple(reversed(digits))

    before: dict[int, list[int]] = {}
    for number in range(base**n):
        for zeroes in (True, False):
            first, *others = digits_of(number)
            after = resolve(_moved_on(0 if zeroes else first, tuple(others), k))
            target = int("".join(str(digit) for digit in after.digits), base)
            before.setdefault(target, []).append(number)
    commands = {0: 0}
    queue = deque(commands)
    while queue:
        reached = queue.popleft()
        for number in before.get(reached, ()):
            if number not in commands:
                commands[number] = commands[reached] + 1
                queue.append(number)
    return [commands[number] for number in range(base**n)]


def clock_machine(n: int, k: int) -> Callable[[Clockwise], Clockwise]:
    """The function that plays the machine's moves until it is the player's turn.

    It judges a clock by all its turns, each written as a string of digits and read as a number.
    """

    def is_largest(digits: tuple[int, ...], hand: int) -> bool:
        around = [digits[at:] + digits[:at] for at in range(n)]
        turns = ["".join(str(digit) for digit in reversed(turn)) for turn in around]
        numbers = [int(turn, k + 1) for turn in turns]
        return numbers[hand] == max(numbers)

    def is_raised(digits: tuple[int, ...]) -> bool:
        raised = (digits[0] + 1, *digits[1:])
        hand = 0
        while raised[hand - 1] == 0:
            hand = (hand - 1) % n
        return is_largest(raised, hand)

    def resolve(clock: Clockwise) -> Clockwise:
        while any(clock.digits) and not clock.is_players:
            first, others = clock.digits[0], clock.digits[1:]
            if is_raised(clock.digits):
                clock = _moved_on(first + 1, others, k)
            elif first == 0:
                clock = _moved_on(first, others, k)
            else:
                clock = Clockwise(clock.digits, is_players=True)
        return clock

    return resolve


def _moved_on(first: int, others: tuple[int, ...], k: int) -> Clockwise:
    """The clock after the hand has left its first digit: the player's turn if it has come to a k."""
    digits = (*others, first)
    return Clockwise(digits, digits[0] == k)


# --- sticks ---------------------------------------------------------------------------------------


def mex(values: set[int]) -> int:
    """The least number that is missing."""
    least = 0
    while least in values:
        least += 1
    return least


def recursive_special(length: int) -> dict[tuple[int, ...], int]:
    """The Grundy value of all that a row of sticks can become in `sticks-special`, by its segments.

    Memoised recursion: the row is laid out, and every stick, pair and three side by side taken from it.
    """
    grundy: dict[tuple[int, ...], int] = {}

    def solve(segments: tuple[int, ...]) -> int:
        if segments not in grundy:
            row = "0".join("1" * segment for segment in segments)
            after = {solve(_without(row, taken)) for taken in _special_moves(row)}
            grundy[segments] = mex(after)
        return grundy[segments]

    solve((length,))
    return grundy


def _special_moves(row: str) -> Iterator[tuple[int, ...]]:
    there = [place for place, stick in enumerate(row) if stick == "1"]
    for place in there:
        yield (place,)
    yield from combinations(there, 2)
    for place in there:
        if row[place : place + 3] == "111":
            yield place, place + 1, place + 2


def _without(row: str, taken: tuple[int, ...]) -> tuple[int, ...]:
    """The segments, in order, of a row from which sticks were taken."""
    left = list(row)
    for place in taken:
        left[place] = "0"
    return tuple(sorted(len(segment) for segment in "".join(left).split("0") if segment))


def heaps_by_mex(heaps: int, fewest: int, most: int) -> list[int]:
    """The Grundy values of heaps in `sticks-run`: for each, every run at every place, and the mex."""
    grundy = [0]
    for heap in range(1, heaps):
        after = set()
        for taken in range(fewest, min(most, heap) + 1):
            for left in range(heap - taken + 1):
                after.add(grundy[left] ^ grundy[heap - taken - left])
        grundy.append(mex(after))
    return grundy


# --- winners and losers ---------------------------------------------------------------------------


def triangle_wins(letters: str) -> bool:
    """Whether the player to move wins a string of W and L.

    From the bottom: the letter that is left last, then by turns what the other player makes of two
    (a W only of two) and what the player who takes the last letter does (a W of any).
    """
    row, is_others = letters[::-1], True
    while len(row) > 1:
        if is_others:
            row = "".join("W" if one == two == "W" else "L" for one, two in pairwise(row))
        else:
            row = "".join("L" if one == two == "L" else "W" for one, two in pairwise(row))
        is_others = not is_others
    return (row == "W") == is_others


def dict_letters(length: int) -> dict[str, bool]:
    """Whether the player to move wins, for every string of up to so many letters: a dict, in order."""
    wins = {"L": False, "W": True}
    for letters in range(2, length + 1):
        for string in map("".join, product("LW", repeat=letters)):
            wins[string] = not (wins[string[1:]] and wins[string[:-1]])
    return wins


def numpy_letters(length: int) -> NDArray[np.bool_]:
    """The same by index, with numpy: all strings of a length at once, from those one shorter."""
    wins = [np.array([False, True])]
    for letters in range(2, length + 1):
        bits = np.arange(1 << letters)
        wins.append(~(wins[-1][bits >> 1] & wins[-1][bits & (1 << letters - 1) - 1]))
    return np.concatenate(wins)
