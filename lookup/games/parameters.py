"""The parameters of a game: integers and flags, with a help text, a default and bounds."""

from __future__ import annotations

import dataclasses
from typing import Any, NamedTuple, TypeAlias

from lookup.errors import InvalidParameterError

Parameters: TypeAlias = dict[str, int | bool]

MOST = 1000
"""No parameter is larger unless the game says so. A table file names parameters, and the file may be
from a stranger: a game that is not prepared for it must not be asked for 3^(10^8) positions."""


class Parameter(NamedTuple):
    """One parameter as a class declares it; `default` is None if it has none."""

    name: str
    type: type[int]
    default: int | bool | None
    help: str | None = None
    least: int = 0
    most: int = MOST
    is_bounded: bool = True

    @property
    def expected(self) -> str:
        """What it may be, in words."""
        if self.type is bool:
            return "true or false"
        return f"a whole number from {self.least} to {self.most}"


def parameter(
    *,
    default: Any = dataclasses.MISSING,
    help: str | None = None,  # noqa: A002 - as typer and argparse call it
    least: int = 0,
    most: int = MOST,
    bounded: bool = True,
) -> Any:
    """A parameter of a game with more said of it than `rows: int = 3` says.

    `least` and `most` bound it, unless the game itself checks what it is given and is not `bounded`.
    """
    metadata = {"help": help, "least": least, "most": most, "is_bounded": bounded}
    return dataclasses.field(default=default, metadata=metadata)


def declared(game: type) -> tuple[Parameter, ...]:
    """The parameters that a class of games declares, made usable as attributes of its games."""
    found = []
    for field in dataclasses.fields(game):
        has_default = field.default is not dataclasses.MISSING
        if not has_default and isinstance(getattr(game, field.name, None), property):
            # A parameter may stand for what is a property elsewhere, and a property cannot be set.
            setattr(game, field.name, None)
        # A field's type is a class, or its name if the module postpones annotations.
        kind = bool if field.type in (bool, "bool") else int
        default: Any = field.default if has_default else None
        found.append(Parameter(field.name, kind, default, **field.metadata))
    return tuple(found)


def checked(declared: tuple[Parameter, ...], given: dict[str, object]) -> dict[str, Any]:
    """The given values, one for each declared parameter.

    Raises:
        InvalidParameterError: a value of another type, or out of bounds.
    """
    for one in declared:
        value = given[one.name]
        if type(value) is not one.type:
            raise InvalidParameterError(one.name, value, f"a value of type {one.type.__name__}")
        if one.type is int and one.is_bounded and not one.least <= value <= one.most:
            raise InvalidParameterError(one.name, value, one.expected)
    return dict(given)
