"""The contract of a game: what a class must say so that it can be solved, stored and asked about.

A game is a frozen dataclass whose fields are its parameters: integers and flags, whose metadata may
have a `help` for the command line. Its rules are plain functions on
integers: `lookup` calls them as they are, `builder` compiles the very same functions. They may use
integers, tuples of integers, loops and other functions of this kind, and nothing else. A function
that needs parameters is a closure made once, in a `cached_property`; one that needs none is a
`staticmethod`.

REQUIRED
    name                      the game's name in table names, commands and `GAMES`
    solver                    the kind of solver it needs, see `SolverKind`
    size, start               indices run from 0 to size - 1; the index of the starting position
    max_moves                 no position has more successors than this
    successors(index, out)    write the distinct indices after each legal move, return their number
    terminal(index)           0 while the game goes on; else the `Outcome` code for the player to move,
                              plus 4 for each ply that is still to be made outside the index (in
                              kind `ordered` only)
    parse(text)               text to index; strict, raises `InvalidPositionError`
    format(index)             index to its text
    move_name(index, after)   the text of the move between two indices

OPTIONAL, with what holds without it
    predecessors(index, out)  distinct indices with a move to this one   (solvers find them by search)
    max_predecessors          no position has more of them than this     (max_moves)
    is_position(index)        0 for holes in the index                   (there are no holes)
    symmetries, transform     number of symmetries, and index under k    (1: none but the identity)
    parts, components(text)   positions that are sums of others: see `parts`     (1: they are not)
    filling                   every remoteness by a shorter way, see `Filling`   (solvers search)
    work                      the work of solving it, in usual indices   (size)
    board(text)               the picture of a position, for people      (the text itself)
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

import dataclasses
import inspect
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, MutableSequence
from typing import TYPE_CHECKING, ClassVar, Literal, NamedTuple, Self, TypeAlias

from lookup.errors import InvalidMoveError, InvalidParameterError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from lookup.answers import ClosedForm
    from lookup.values import Outcome

Neighbours: TypeAlias = Callable[[int, MutableSequence[int]], int]
IndexTest: TypeAlias = Callable[[int], int]
Transform: TypeAlias = Callable[[int, int], int]
Parameters: TypeAlias = dict[str, int | bool]
SolverKind: TypeAlias = Literal["mask", "retrograde", "ordered", "distance", "heaps", "steps"]
"""How a game is solved.

    mask         every move fills cells that were empty, see `MaskGame`
    retrograde   two players, positions may come again: backwards from the ends
    ordered      two players, every move leads to a smaller index: in the order of the index
    distance     one player, the shortest way to a win: `filling`, or backwards from the ends
    heaps        heaps of which a move takes some, see `HeapGame`
    steps        a move is a step, or two, or a leap, see `StepGame`
"""
Run: TypeAlias = Callable[..., int]
"""`run(function, *arguments)` calls a plain function on integers and sequences of them, compiled if
that is worth it. Sequences are arrays, or lists for the function's own use, and of the same kind
whenever that function is run."""


def _always(index: int) -> int:  # noqa: ARG001 - the fallback for games without holes
    return 1


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


class Filling(ABC):
    """A shorter way to every remoteness: stretches that together fill an array, one entry an index.

    Stretches may be filled in any order, and several at once. All that one needs of those before it is
    the sum of their measures. What comes out is trusted only as far as `verify` has checked it.
    """

    @property
    @abstractmethod
    def stretches(self) -> int:
        """How many there are."""

    @abstractmethod
    def measure(self, number: int, run: Run) -> int:
        """The measure of a stretch, whatever the filling counts; takes much less time than `fill`."""

    @abstractmethod
    def fill(self, number: int, before: int, array: NDArray[np.uint32], run: Run) -> None:
        """Write the entries of a stretch, `before` being the sum of the measures before it."""

    @abstractmethod
    def read(self, array: NDArray[np.uint32], low: int, high: int) -> NDArray[np.uint32]:
        """The remoteness of the indices from `low` to `high` - 1, when every stretch is filled."""


@dataclasses.dataclass(frozen=True)
class Game(ABC):
    """One game with its parameters fixed. The module docstring says what a subclass provides."""

    name: ClassVar[str]
    solver: ClassVar[SolverKind]

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

    @property
    @abstractmethod
    def terminal(self) -> IndexTest:
        """The function that says 0 while the game goes on, else the `Outcome` code for the mover."""

    @abstractmethod
    def parse(self, text: str) -> int:
        """The index of a position given as text.

        Raises:
            InvalidPositionError: the text is not exactly the text of a position.
        """

    @abstractmethod
    def format(self, index: int) -> str:
        """The text of a position; `parse` gives the index back."""

    @abstractmethod
    def move_name(self, index: int, after: int) -> str:
        """The text of the move that leads from one index to another."""

    # --- OPTIONAL ---------------------------------------------------------------------------------

    symmetries: ClassVar[int] = 1

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

    def moves(self, text: str) -> list[Step]:
        """The legal moves from a position given as text, in the order of `successors`."""
        index = self.parse(text)
        return [
            Step(self.move_name(index, after), self.format(after), (after,))
            for after in self.successors_of(index)
        ]

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
        raise InvalidMoveError(move, text, f"one of {', '.join(step.text for step in steps) or 'none'}")

    def board(self, text: str) -> str:
        """The picture of a position given as text, in as many lines as it takes; for people.

        Raises:
            InvalidPositionError: the text is not exactly the text of a position.
        """
        self.components(text)
        return text

    @property
    def stores_grundy(self) -> bool:
        """Whether tables of this game hold Grundy values; solver families say so."""
        return False

    @property
    def stores_remoteness(self) -> bool:
        """Whether tables of this game may hold remoteness."""
        return True

    parts: ClassVar[int] = 1
    """If more than 1, a move leads to a sum of so many positions, each of which is played on its own.
    Then `successors` writes so many indices for each move, ended ones in the place of missing ones,
    and `parse` takes only texts that are a single one."""

    def components(self, text: str) -> tuple[int, ...]:
        """The indices whose sum a position is.

        Raises:
            InvalidPositionError: the text is not exactly the text of a position.
        """
        return (self.parse(text),)

    @property
    def filling(self) -> Filling | None:
        """A way to every remoteness that is shorter than a search, of a game where all is won."""
        return None

    @property
    def work(self) -> int:
        """The work of solving it, in indices with a few dozen moves; tells whether to compile."""
        return self.size

    unlimited: ClassVar[Parameters] = {}
    """Parameters that bound a table and not the game: what the closed form takes for them."""

    @property
    def closed_form(self) -> ClosedForm | None:
        """Answers from a formula, for positions beyond any table."""
        return None

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

    @property
    def table_name(self) -> str:
        """The name of this game's table; the file is `<table_name>.h5`."""
        return "-".join([self.name, *(str(int(value)) for value in self.parameters.values())])

    @classmethod
    def from_table_name(cls, table_name: str) -> Self | None:
        """The game whose table has this name, or None if it is not a name of this kind."""
        names = [field.name for field in dataclasses.fields(cls)]
        pattern = re.escape(cls.name) + r"-(\d{1,9})" * len(names)
        if not (match := re.fullmatch(pattern, table_name)):
            return None
        types = cls.parameter_types()
        values = zip(names, map(int, match.groups()), strict=True)
        game = cls(**{name: types[name](value) for name, value in values})
        return game if game.table_name == table_name else None

    @classmethod
    def command(cls) -> tuple[str, ...]:
        """The words after `build-tables` that name this game."""
        return (cls.name,)

    @property
    def build_command(self) -> str:
        """The command that builds this game's table."""
        words = ["build-tables", *self.command()]
        for key, value in self.parameters.items():
            flag = f"--{key.replace('_', '-')}"
            if not isinstance(value, bool):
                words += [flag, str(value)]
            elif value:
                words.append(flag)
        return " ".join(words)

    # --- what every game has from the above -------------------------------------------------------

    @property
    def parameters(self) -> Parameters:
        """The parameters by name, as the table file records them."""
        return {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}

    @classmethod
    def from_parameters(cls, parameters: dict[str, object]) -> Self:
        """The game with these parameters, as `parameters` gave them.

        Raises:
            InvalidParameterError: a name or a type that this game does not have, or a bad value.
        """
        known = cls.parameter_types()
        if set(parameters) != set(known):
            expected = f"exactly {', '.join(known) or 'none'}"
            raise InvalidParameterError("parameters", sorted(parameters), expected)
        for key, value in parameters.items():
            if type(value) is not known[key]:
                raise InvalidParameterError(key, value, f"a value of type {known[key].__name__}")
        return cls(**parameters)

    @classmethod
    def parameter_types(cls) -> dict[str, type[int]]:
        """The type of each parameter: int or bool."""
        # A field's type is a class, or its name if the module postpones annotations.
        return {
            field.name: bool if field.type in (bool, "bool") else int
            for field in dataclasses.fields(cls)
        }

    @property
    def players(self) -> int:
        """1 if a single player looks for the shortest way to a win, else 2."""
        return 1 if self.solver == "distance" else 2

    def successors_of(self, index: int) -> list[int]:
        """The indices after each legal move, as a list; of a game without `parts`."""
        out = [0] * self.max_moves
        return out[: self.successors(index, out)]
