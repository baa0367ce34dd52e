"""What can go wrong, in two layers: the caller's mistakes, and failures of files or builds.

    EndtableError
    ├── CallerError                 a user's mistake: commands exit with 2
    │   ├── InvalidPositionError    text or index that is no position of the game
    │   ├── InvalidMoveError        a move that the position does not have
    │   ├── InvalidParameterError   a game cannot have this parameter
    │   ├── UnknownGameError        no game of that name
    │   ├── InvalidGameError        a file or class that is no game
    │   ├── MissingGameError        needs the rules of a game that is not installed here
    │   └── MissingTableError       no such table here; says which command builds it
    └── FailureError                something broke: commands exit with 1
        ├── TableFileError          a file that cannot be used
        │   ├── NotATableError      not HDF5, or HDF5 of somebody else
        │   ├── FormatVersionError  written by a newer (or much older) Endtable
        │   ├── RulesChangedError   built when the rules of its game were others
        │   └── CorruptTableError   damaged, or altered after it was written
        ├── BundleError             a bundle that is not what its manifest says
        ├── DownloadError           what is at an address cannot be had
        ├── VerificationError       a record that the rules contradict
        ├── BuildError              a build that cannot start or finish
        └── GameError               a game whose functions break the contract

Every message is one sentence that quotes the offending input and says what was expected. The same
facts are attributes, for programs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


_LONGEST_QUOTE = 100
_LONGEST_NUMBER = 4096  # bits; Python itself refuses to write much longer ones


def quoted(value: object) -> str:
    """An input as it is shown in a message; the middle of a long one is left out."""
    if isinstance(value, int) and value.bit_length() > _LONGEST_NUMBER:
        return f"a number of {value.bit_length():,} bits"
    quote = repr(value)
    if len(quote) > _LONGEST_QUOTE:
        half = _LONGEST_QUOTE // 2
        quote = f"{quote[:half]}...{quote[-half:]} ({len(str(value))} characters)"
    return quote


class EndtableError(Exception):
    """Everything this package raises on purpose. It comes out of a pool of processes as it was."""

    def __reduce__(self) -> tuple[Any, ...]:
        # Exception would call the class with the message, where it wants the facts: a pool of
        # processes never ends if an error cannot be had back from it.
        return self._raised_elsewhere, (self.args, self.__dict__)

    @classmethod
    def _raised_elsewhere(cls, args: tuple[Any, ...], facts: dict[str, Any]) -> Self:
        """An error of another process."""
        error = cls.__new__(cls, *args)
        error.__dict__.update(facts)
        return error


class CallerError(EndtableError):
    """The caller asked for something that does not exist or makes no sense."""


class InvalidPositionError(CallerError):
    """Text or index that is not a position of the game."""

    def __init__(self, position: str | int, expected: str) -> None:
        super().__init__(f"{quoted(position)} is not a position: expected {expected}")
        self.position = position
        self.expected = expected


class InvalidMoveError(CallerError):
    """A move that is not legal in the position."""

    def __init__(self, move: str, position: str, expected: str) -> None:
        super().__init__(
            f"{quoted(move)} is not a legal move in {quoted(position)}: expected {expected}"
        )
        self.move = move
        self.position = position
        self.expected = expected


class InvalidParameterError(CallerError):
    """A parameter the game cannot have."""

    def __init__(self, parameter: str, value: object, expected: str) -> None:
        super().__init__(f"{parameter} cannot be {quoted(value)}: expected {expected}")
        self.parameter = parameter
        self.value = value
        self.expected = expected


class UnknownGameError(CallerError):
    """No registered game has this name."""

    def __init__(self, name: str, known: Sequence[str]) -> None:
        super().__init__(f"{quoted(name)} names no game: expected one of {', '.join(known)}")
        self.name = name
        self.known = tuple(known)


class InvalidGameError(CallerError):
    """A file or a class that was given as a game and is none."""

    def __init__(self, source: str, problem: str) -> None:
        super().__init__(f"{quoted(source)} {problem}")
        self.source = source
        self.problem = problem


class MissingGameError(CallerError):
    """What was asked for needs the rules of a game that is not known here."""

    def __init__(self, game: str, wanted: str) -> None:
        super().__init__(
            f"{wanted} needs the rules of {quoted(game)}, which is no game of Endtable and not "
            "installed: expected --game FILE.py, or open_table(..., game=...) in Python"
        )
        self.game = game
        self.wanted = wanted


class MissingTableError(CallerError):
    """The table is not in any of the searched places."""

    def __init__(
        self, name: str, searched: Sequence[Path], command: str | None = None, hint: str = ""
    ) -> None:
        places = ", ".join(f"'{place}'" for place in searched)
        hint = f"build it with: {command}" if command else hint or "'lookup list' shows what there is"
        super().__init__(f"no table {quoted(name)} in {places}; {hint}")
        self.name = name
        self.searched = tuple(searched)
        self.command = command


class FailureError(EndtableError):
    """Something broke that the caller could not know."""


class TableFileError(FailureError):
    """A file that cannot be used as a table."""

    def __init__(self, path: Path, problem: str) -> None:
        super().__init__(f"'{path}' {problem}")
        self.path = path
        self.problem = problem


class NotATableError(TableFileError):
    """Not an HDF5 file, or one that is not Endtable's."""


class FormatVersionError(TableFileError):
    """A format version this package does not read."""


class RulesChangedError(TableFileError):
    """Built when the rules of its game were others than those of the class at hand."""


class CorruptTableError(TableFileError):
    """Damaged, or altered after it was written."""


class BundleError(FailureError):
    """A bundle that cannot be used, or that is not what its manifest says."""

    def __init__(self, place: str, problem: str) -> None:
        super().__init__(f"'{place}' {problem}")
        self.place = place
        self.problem = problem


class DownloadError(FailureError):
    """What is at an address cannot be had; `is_passing` if it may come when asked for again."""

    def __init__(self, address: str, problem: str, *, is_passing: bool = False) -> None:
        super().__init__(f"'{address}' {problem}")
        self.address = address
        self.problem = problem
        self.is_passing = is_passing


class VerificationError(FailureError):
    """A stored record contradicts the rules of its game."""


class BuildError(FailureError):
    """A build that cannot start or finish."""


class GameError(FailureError):
    """A game whose functions break the contract in `lookup.games.base`."""
