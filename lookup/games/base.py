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
    terminal(index)           0 while the game goes on; else the `Outcome` code for the player to move
    parse(text)               text to index; strict, raises `InvalidPositionError`
    format(index)             index to its text
    move_name(index, after)   the text of the move between two indices

OPTIONAL, with what holds without it
    predecessors(index, out)  distinct indices with a move to this one   (solvers find them by search)
    max_predecessors          no position has more of them than this     (max_moves)
    is_position(index)        0 for holes in the index                   (there are no holes)
    symmetries, transform     number of symmetries, and index under k    (1: none but the identity)
    moves(text)               legal moves where the text says more
                              than the index                             (made from those above)
    rules, notation, indexing the file's description in words            (the docstring; nothing)
    table_name, from_table_name, build_command                           (made from name and parameters)

Games whose moves fill cells that must be empty need none of the functions: see `MaskGame`.
"""

from __future__ import annotations

import dataclasses
import inspect
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, MutableSequence
from typing import ClassVar, Literal, NamedTuple, Self, TypeAlias

from lookup.errors import InvalidParameterError, InvalidPositionError

Neighbours: TypeAlias = Callable[[int, MutableSequence[int]], int]
IndexTest: TypeAlias = Callable[[int], int]
Transform: TypeAlias = Callable[[int, int], int]
Parameters: TypeAlias = dict[str, int | bool]
SolverKind: TypeAlias = Literal["mask", "retrograde"]


def _always(index: int) -> int:  # noqa: ARG001 - the fallback for games without holes
    return 1


def _identity(index: int, k: int) -> int:  # noqa: ARG001 - the fallback knows one symmetry
    return index


class Step(NamedTuple):
    """One legal move: its text, the position after it as text, and that position's index."""

    text: str
    position: str
    after: int


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
            Step(self.move_name(index, after), self.format(after), after)
            for after in self.successors_of(index)
        ]

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

    @property
    def build_command(self) -> str:
        """The command that builds this game's table."""
        words = ["build-tables", self.name]
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

    def successors_of(self, index: int) -> list[int]:
        """The indices after each legal move, as a list."""
        out = [0] * self.max_moves
        return out[: self.successors(index, out)]

    def require_position(self, index: int) -> int:
        """The same index.

        Raises:
            InvalidPositionError: it is outside the index or a hole in it.
        """
        if not 0 <= index < self.size:
            raise InvalidPositionError(index, f"an index from 0 to {self.size - 1}")
        if not self.is_position(index):
            raise InvalidPositionError(index, "the index of a position; this one is a hole")
        return index
