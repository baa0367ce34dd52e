"""The never-lose machine: what a player can meet who never gives away what the position is worth.

One good move is enough for the machine; all of the opponent's must be survivable. So there are states
of two kinds, breadth first from the start of the game:

    the machine's     with its safe moves, all those that are as good as the best: a draw stays a draw,
                      a win stays a win and comes nearer (where no remoteness is stored, no position
                      ever comes again, and every winning move will do)
    the opponent's    with all legal moves

Whichever safe move the machine makes each time, it never loses, and wins whatever was won once. With
`best` it has one of them a state, the first that `Table.moves` lists, and meets fewer states.

A state is a position and whose turn it is: in impartial games the position does not tell.
"""

from __future__ import annotations

from array import array
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from lookup.errors import CallerError, MissingGameError, VerificationError
from lookup.games.unknown import UnknownGame
from lookup.progress import silent
from lookup.values import Outcome

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from lookup.games.base import Step
    from lookup.progress import Report
    from lookup.table import Table
    from lookup.values import Value

MOST_STATES = 1_000_000
"""States of the largest machine, which are all in memory: a few hundred bytes each."""

REPORT_EVERY = 1 << 10


class Seat(StrEnum):
    """The side that a machine plays."""

    FIRST = "first"
    SECOND = "second"


class NeverLose(NamedTuple):
    """Which machine is wanted."""

    side: Seat
    best: bool = False  # one move a state, in place of all that are safe


class State(NamedTuple):
    """A position that the machine can meet."""

    position: str
    is_mine: bool  # the machine is to move, else its opponent
    outcome: Outcome  # for the machine: a draw or a win
    moves: list[tuple[str, int]]  # texts, and numbers of the states after them; none if it is over


class Machine:
    """States by their numbers; 0 is the start, and others are in the order in which they are found."""

    def __init__(self) -> None:
        # Moves as numbers in arrays take a tenth of what they would as tuples.
        self._positions: list[str] = []
        self._is_mine, self._outcomes = bytearray(), bytearray()
        self._first_moves, self._texts, self._targets = array("Q", [0]), array("I"), array("I")
        self._text_numbers: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self._positions)

    def __iter__(self) -> Iterator[State]:
        texts = list(self._text_numbers)
        for number, position in enumerate(self._positions):
            low, high = self._first_moves[number : number + 2]
            pairs = zip(self._texts[low:high], self._targets[low:high], strict=True)
            moves = [(texts[text], target) for text, target in pairs]
            yield State(position, bool(self._is_mine[number]), self.outcome(number), moves)

    def outcome(self, number: int) -> Outcome:
        """What a state is worth to the machine."""
        return Outcome(self._outcomes[number])

    def add(self, position: str, is_mine: bool, outcome: Outcome) -> None:
        """The next state, as yet without its moves."""
        self._positions.append(position)
        self._is_mine.append(is_mine)
        self._outcomes.append(outcome)

    def add_moves(self, moves: Iterable[tuple[str, int]]) -> None:
        """All moves of the first state that has not been given any."""
        numbers = self._text_numbers
        for text, target in moves:
            self._texts.append(numbers.setdefault(text, len(numbers)))
            self._targets.append(target)
        self._first_moves.append(len(self._targets))


_Key: TypeAlias = tuple[str, bool, Outcome | None]
"""Position, whether the machine is to move, and the end that a move outside the index has led to."""


def never_lose(table: Table, wanted: NeverLose, *, report: Report = silent) -> Machine:
    """The machine for one side of a game, in time O(its moves); all states are in memory.

    Raises:
        CallerError: it must lose from the start, or is too large, or there is no game of two to play.
        VerificationError: the table contradicts the rules.
    """
    machine, numbers, found = Machine(), dict[_Key, int](), list[_Key]()

    def number_of(key: _Key, outcome: Outcome) -> int:
        if key not in numbers:
            if len(found) == MOST_STATES:
                raise _too_large(table, wanted)
            numbers[key] = len(found)
            found.append(key)
            machine.add(*key[:2], outcome)
        return numbers[key]

    number_of(*_start(table, wanted.side))
    for number, (position, is_mine, end) in enumerate(found):  # which grows
        ranked = [] if end is not None else table.ranked(position)
        if ranked and for_machine(ranked[0][1], is_mine) is not machine.outcome(number):
            problem = f"does not say of {position!r} what its moves are worth"
            raise VerificationError(f"'{table.path}' {problem}: build-tables verify tells more")
        machine.add_moves(
            (step.text, number_of((step.position, not is_mine, step.end), for_machine(value, is_mine)))
            for step, value in (_safe(ranked, wanted.best) if is_mine else ranked)
        )
        if number % REPORT_EVERY == 0 or number + 1 == len(found):
            report(number + 1, len(found))
    return machine


def for_machine(value: Value, is_its_move: bool) -> Outcome:
    """An outcome for the machine, from what is worth so much to whoever moves."""
    return value.outcome if is_its_move else -value.outcome


def _start(table: Table, side: Seat) -> tuple[_Key, Outcome]:
    """The first state, and what it is worth to the machine: not a loss."""
    game, is_mine = table.game, side is Seat.FIRST
    if isinstance(game, UnknownGame):
        raise MissingGameError(table.info.game, "a never-lose machine")
    if game.players == 1:
        raise CallerError(f"{table.name} has one player: expected a game of two for --never-lose")
    start = game.format(game.start)
    outcome = for_machine(table.probe(start), is_mine)
    if outcome is Outcome.LOSS:
        other = Seat.SECOND if is_mine else Seat.FIRST
        raise CallerError(
            f"{side} cannot avoid losing {table.name}, whose start is won for {other}: "
            f"expected --never-lose {other}"
        )
    return (start, is_mine, None), outcome


def _safe(ranked: list[tuple[Step, Value]], best: bool) -> list[tuple[Step, Value]]:
    """The moves that are as good as the best one, or that one alone."""
    if best:
        return ranked[:1]
    # Of a draw there is no remoteness; of a win it falls with each of these moves, and so it ends.
    return [one for one in ranked if one[1][:2] == ranked[0][1][:2]]


def _too_large(table: Table, wanted: NeverLose) -> CallerError:
    expected = "a smaller table" if wanted.best else "--best, or a smaller table"
    return CallerError(
        f"the never-lose machine for {wanted.side} in {table.name} has more than {MOST_STATES:,} "
        f"states: expected {expected}"
    )
