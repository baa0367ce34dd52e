"""The contract of a game: what a class must say so that it can be solved, stored and asked about.

A game is a class that derives from `Game`, or from one of the families at the end. Annotated names in
its body are its parameters, integers and flags: `rows: int = 3`, or with `parameter` for a help text
and bounds. (It is a frozen dataclass; nothing needs to be said for that.) All else is written without
an annotation: `size = 3**9`, or as a property where it depends on parameters.

The rules are plain functions on integers: `lookup` calls them as they are, `builder` compiles the very
same functions. They may use integers, tuples of integers, loops, parameters and other attributes of
`self` that are such, and other functions and methods of this kind. What a compiler cannot take is
interpreted, and slower. A rule is a method, a `staticmethod`, or (fastest when it is interpreted) a
closure over the parameters, made once in a `cached_property`.

REQUIRED
    size, start               indices run from 0 to size - 1; the index of the starting position
    max_moves                 no position has more successors than this
    successors(index, out)    write the distinct indices after each legal move to the list `out`,
                              return their number; not asked about positions that are over

OPTIONAL, with what holds without it
    name                      the game's name in table names and commands    (from the class's name)
    solver                    the kind of solver it needs, see `SolverKind`  ("retrograde")
    terminal(index)           0 while the game goes on; else the `Outcome` code for the player to move,
                              plus 4 for each ply that is still to be made outside the index (in
                              kind `ordered` only)                       (it ends when nobody can move)
    misere, stuck             how a position without moves ends, where `terminal` says 0: the player
                              to move wins if `misere`; `stuck` is any outcome   (a loss: normal play)
    format(index)             index to its text                          (the index as a number)
    parse(text)               text to index; strict, raises `InvalidPositionError`
                                                     (searched among the texts of all positions)
    move_name(index, after)   the text of the move between two indices   (the text of the second)
    board(text)               the position as a picture of several lines (the text)
    predecessors(index, out)  distinct indices with a move to this one   (solvers find them by search)
    max_predecessors          no position has more of them than this     (max_moves)
    is_position(index)        0 for holes in the index                   (there are no holes)
    symmetries, transform     number of symmetries, and index under k; used
                              by `retrograde` and `distance`             (1: none but the identity)
    parts, components(text)   positions that are sums of others: see `parts`     (1: moves make none)
    filling                   every remoteness by a shorter way, see `Filling`   (solvers search)
    work                      the work of solving it, in usual indices   (size)
    moves(text)               legal moves where the text says more
                              than the index                             (made from those above)
    play(text, move)          one move, where `moves` does not list all  (looked up in `moves`)
    closed_form, unlimited    answers without a table: see `closed_form` (there are none)
    rules, notation, indexing the file's description in words            (the docstring; nothing)
    table_name, from_table_name, command, build_command                  (made from name and parameters)

Three families need none of the functions: games whose moves fill empty cells (`MaskGame`), heaps that
are made smaller and perhaps split (`HeapGame`), and games that only state steps (`StepGame`).
"""

from __future__ import annotations

import inspect
from abc import abstractmethod
from collections.abc import Callable, MutableSequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, TypeAlias

from lookup.errors import GameError, InvalidMoveError, InvalidPositionError, quoted
from lookup.games.named import Named
from lookup.values import Outcome

if TYPE_CHECKING:
    from lookup.answers import ClosedForm
    from lookup.games.filling import Filling
    from lookup.games.parameters import Parameters

Neighbours: TypeAlias = Callable[[int, MutableSequence[int]], int]
IndexTest: TypeAlias = Callable[[int], int]
Transform: TypeAlias = Callable[[int, int], int]
SolverKind: TypeAlias = Literal["mask", "retrograde", "ordered", "grundy", "distance", "heaps", "steps"]
"""How a game is solved.

    mask         every move fills cells that were empty, see `MaskGame`
    retrograde   two players, positions may come again: backwards from the ends
    ordered      two players, every move leads to a smaller index: in the order of the index
    grundy       two players with the same moves, whoever cannot move loses, no position comes again:
                 Grundy values, so that positions can be sums: '3 + 5' is what texts of sums look like
    distance     one player, the shortest way to a win: `filling`, or backwards from the ends
    heaps        heaps of which a move takes some, see `HeapGame`
    steps        a move is a step, or two, or a leap, see `StepGame`
"""
SUM = " + "
SEARCHED = 1 << 18
"""Games of up to so many indices find the index of a text by writing all texts."""

_LONGEST_NUMBER = 20
_MOST_NAMED = 50  # moves in a message


def _always(index: int) -> int:  # noqa: ARG001 - the fallback for games without holes
    return 1


def _never(index: int) -> int:  # noqa: ARG001 - the fallback for games that end when nobody can move
    return 0


def _identity(index: int, k: int) -> int:  # noqa: ARG001 - the fallback knows one symmetry
    return index


class Step(NamedTuple):
    """One legal move: its text and the position after it, as text and as indices.

    `after` holds one index, or those of all components if positions are sums. `end` is set where a
    move ends the game and leads to no index: the outcome for the player who makes it.
    """

    text: str
    position: str
    after: tuple[int, ...]
    end: Outcome | None = None


class Game(Named):
    """One game with its parameters fixed. The module docstring says what a subclass provides."""

    solver: ClassVar[SolverKind] = "retrograde"

    # --- REQUIRED ---------------------------------------------------------------------------------

    @property
    @abstractmethod
    def size(self) -> int:
        """How many indices there are."""

    @property
    @abstractmethod
    def start(self) -> int:
        """The index of the starting position."""

    @property
    @abstractmethod
    def max_moves(self) -> int:
        """No position has more successors than this."""

    @property
    @abstractmethod
    def successors(self) -> Neighbours:
        """The function that lists the distinct indices after each legal move."""

    # --- OPTIONAL: rules --------------------------------------------------------------------------

    symmetries: ClassVar[int] = 1

    @property
    def terminal(self) -> IndexTest:
        """The function that says 0 while the game goes on, else the `Outcome` code for the mover."""
        return _never

    @property
    def misere(self) -> bool:
        """True if the player who makes the last move loses."""
        return False

    @property
    def stuck(self) -> Outcome:
        """How a position without moves ends that `terminal` does not call ended."""
        if self.players == 1:
            return Outcome.DRAW
        return Outcome.WIN if self.misere else Outcome.LOSS

    @property
    def predecessors(self) -> Neighbours | None:
        """The function that lists the distinct indices with a move to an index."""
        return None

    @property
    def max_predecessors(self) -> int:
        """No position has more predecessors than this."""
        return self.max_moves

    @property
    def is_position(self) -> IndexTest:
        """The function that says 0 for an index that is not a position."""
        return _always

    @property
    def transform(self) -> Transform:
        """The function that maps an index under symmetry k, 0 being the identity."""
        return _identity

    parts: ClassVar[int] = 1
    """If more than 1, a move leads to a sum of so many positions, each of which is played on its own.
    Then `successors` writes so many indices for each move, ended ones in the place of missing ones,
    and `parse` takes only texts that are a single one."""

    @property
    def filling(self) -> Filling | None:
        """A way to every remoteness that is shorter than a search, of a game where all is won."""
        return None

    @property
    def work(self) -> int:
        """The work of solving it, in indices with a few dozen moves; tells whether to compile."""
        return self.size

    # --- OPTIONAL: texts --------------------------------------------------------------------------

    def format(self, index: int) -> str:
        """The text of a position; `parse` gives the index back."""
        return str(index)

    def parse(self, text: str) -> int:
        """The index of a position given as text.

        Raises:
            InvalidPositionError: the text is not exactly the text of a position.
        """
        if type(self).format is not Game.format:
            if (index := self._texts.get(text)) is None:
                example = self.format(self.start)
                raise InvalidPositionError(text, f"a text such as {example!r}")
            return index
        if text.isascii() and text.isdecimal() and len(text) <= _LONGEST_NUMBER:
            index = int(text)
            if str(index) == text and index < self.size and self.is_position(index):
                return index
        raise InvalidPositionError(text, f"the index of a position, from 0 to {quoted(self.size - 1)}")

    @cached_property
    def _texts(self) -> dict[str, int]:
        """The texts of all positions."""
        if self.size > SEARCHED:
            raise GameError(
                f"{self.table_name} has over {SEARCHED:,} indices, too many to search for a text: "
                "expected a method `parse`"
            )
        return {self.format(index): index for index in range(self.size) if self.is_position(index)}

    def move_name(self, index: int, after: Any) -> str:  # noqa: ARG002 - the second position will do
        """The text of the move that leads from one index to another; to several, if it has `parts`."""
        indices = after if isinstance(after, tuple) else (after,)
        return "+".join(map(self.format, indices))

    @property
    def plays_sums(self) -> bool:
        """Whether texts may be sums of positions, each of which is played on its own."""
        return self.parts > 1 or self.solver == "grundy"

    def components(self, text: str) -> tuple[int, ...]:
        """The indices whose sum a position is.

        Raises:
            InvalidPositionError: the text is not exactly the text of a position.
        """
        if not self.plays_sums:
            return (self.parse(text),)
        try:
            return tuple(map(self.parse, text.split(SUM)))
        except InvalidPositionError as error:
            raise InvalidPositionError(text, f"{error.expected}, or several joined by ' + '") from None

    def moves(self, text: str) -> list[Step]:
        """The legal moves from a position given as text, in the order of `successors`.

        In a sum, a move in one of two alike components is listed once.
        """
        components = self.components(text)
        if not self.plays_sums:
            (index,) = components
            return [
                Step(self.named(index, after), self.format(after), (after,))
                for after in self.successors_of(index)
            ]
        steps = []
        for place, index in enumerate(components):
            if index in components[:place]:
                continue
            said = f"{self.format(index)}: " if len(components) > 1 else ""
            for options in self.options_of(index):
                name = self.named(index, options[0] if self.parts == 1 else self._in_play(options))
                after = self._in_play((*components[:place], *options, *components[place + 1 :]))
                steps.append(Step(said + name, SUM.join(map(self.format, after)), after))
        return steps

    def named(self, index: int, after: Any) -> str:
        """What `move_name` says, if it is a text: it may be a user's.

        Raises:
            GameError: it is something else.
        """
        name: Any = self.move_name(index, after)
        if not isinstance(name, str):
            where = f"index {index} ({self.format(index)!r})"
            raise GameError(f"move_name returns {quoted(name)} in {where}: expected a text")
        return name

    def _in_play(self, components: tuple[int, ...]) -> tuple[int, ...]:
        """A sum without the components that are over; one of them if all are."""
        return tuple(index for index in components if self._has_moves(index)) or components[:1]

    def _has_moves(self, index: int) -> bool:
        """Whether play goes on; remembered, since the same components come up in many sums."""
        known = self._goes_on
        if index not in known:
            known[index] = bool(self.options_of(index))
        return known[index]

    @cached_property
    def _goes_on(self) -> dict[int, bool]:
        return {}

    def play(self, text: str, move: str) -> Step:
        """The legal move with this text.

        Raises:
            InvalidPositionError: the text is not exactly the text of a position.
            InvalidMoveError: the position has no such move.
        """
        steps = self.moves(text)
        for step in steps:
            if step.text == move:
                return step
        names = ", ".join(step.text for step in steps[:_MOST_NAMED]) or "none"
        more = f" and {len(steps) - _MOST_NAMED} more" if len(steps) > _MOST_NAMED else ""
        raise InvalidMoveError(move, text, f"one of {names}{more}")

    def board(self, text: str) -> str:
        """The picture of a position given as text, in as many lines as it takes; for people.

        Raises:
            InvalidPositionError: the text is not exactly the text of a position.
        """
        self.components(text)
        return text

    @property
    def rules(self) -> str:
        """The rules in words, for people who have only the file."""
        return inspect.cleandoc(type(self).__doc__ or "")

    @property
    def notation(self) -> str:
        """How positions and moves are written, in words."""
        return ""

    @property
    def indexing(self) -> str:
        """What the bits or digits of an index mean, in words."""
        return ""

    # --- OPTIONAL: what is stored, and what needs no table ----------------------------------------

    @property
    def stores_grundy(self) -> bool:
        """Whether tables of this game hold Grundy values; solver families say so."""
        return self.solver == "grundy"

    @property
    def stores_remoteness(self) -> bool:
        """Whether tables of this game may hold remoteness: that of a sum does not follow."""
        return self.solver != "grundy" or self.parts == 1

    unlimited: ClassVar[Parameters] = {}
    """Parameters that bound a table and not the game: what the closed form takes for them."""

    @property
    def closed_form(self) -> ClosedForm | None:
        """Answers from a formula, for positions beyond any table."""
        return None

    # --- what every game has from the above -------------------------------------------------------

    @classmethod
    def rules_digest(cls) -> str:
        """What tells these rules from others under the same name; empty for games of ours."""
        if cls.is_ours():
            return ""
        from lookup.games.rules_digest import rules_digest  # our own games do without it

        return rules_digest(cls)

    @property
    def players(self) -> int:
        """1 if a single player looks for the shortest way to a win, else 2."""
        return 1 if self.solver == "distance" else 2

    def options_of(self, index: int) -> list[tuple[int, ...]]:
        """What each legal move leads to: one index, or `parts` of them."""
        if self.terminal(index):
            return []
        out = [0] * (self.max_moves * self.parts)
        count = self.successors(index, out)
        return [tuple(out[at : at + self.parts]) for at in range(0, count * self.parts, self.parts)]

    def successors_of(self, index: int) -> list[int]:
        """The indices after each legal move, as a list; of a game without `parts`."""
        if self.terminal(index):
            return []
        out = [0] * self.max_moves
        return out[: self.successors(index, out)]
