"""Classes of games: what their parameters are, and what their tables and commands are called."""

from __future__ import annotations

import dataclasses
import re
from abc import ABC
from typing import Any, ClassVar, Self, dataclass_transform

from lookup.errors import InvalidParameterError
from lookup.games.parameters import Parameter, Parameters, checked, declared, parameter
from lookup.processes import found_by, game_again


@dataclass_transform(frozen_default=True, field_specifiers=(dataclasses.field, parameter))
class Named(ABC):
    """What all games have whatever their rules: a name, parameters, and names made from both."""

    name: ClassVar[str]
    _parameters: ClassVar[tuple[Parameter, ...]] = ()
    _is_named: ClassVar[bool] = False

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls._is_named = cls._is_named or "name" in cls.__dict__
        if not cls._is_named:
            # TicTacToe is tic-tac-toe, KRKEndgame is krk-endgame.
            border = r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])"
            cls.name = re.sub(border, "-", cls.__name__).replace("_", "-").strip("-").lower()
        dataclasses.dataclass(frozen=True)(cls)
        # A user's own decorator makes the class once more. It would stumble over these two, which
        # `Game` has as well, and forget what is said of the parameters.
        del cls.__setattr__, cls.__delattr__
        cls._parameters = declared(cls)

    def __setattr__(self, name: str, value: object) -> None:
        problem = f"cannot assign to {name!r} of a game: expected it in the body of the class"
        raise dataclasses.FrozenInstanceError(problem)

    def __delattr__(self, name: str) -> None:
        raise dataclasses.FrozenInstanceError(f"cannot delete {name!r} of a game")

    def __reduce__(self) -> tuple[Any, ...]:
        fields = {one.name: getattr(self, one.name) for one in self._parameters}
        return game_again, (found_by(type(self)), fields)

    def __copy__(self) -> Self:
        return self  # it never changes; its file, by which it is found elsewhere, may

    def __deepcopy__(self, _memo: dict[int, Any]) -> Self:
        return self

    @property
    def table_name(self) -> str:
        """The name of this game's table; the file is `<table_name>.h5`."""
        return "-".join([self.name, *(str(int(value)) for value in self.parameters.values())])

    @classmethod
    def from_table_name(cls, table_name: str) -> Self | None:
        """The game whose table has this name, or None if it is not a name of this kind."""
        types = cls.parameter_types()
        pattern = re.escape(cls.name) + r"-(\d{1,9})" * len(types)
        if not (match := re.fullmatch(pattern, table_name)):
            return None
        values = zip(types.items(), map(int, match.groups()), strict=True)
        game = cls.from_parameters({name: kind(value) for (name, kind), value in values})
        return game if game.table_name == table_name else None

    @classmethod
    def command(cls) -> tuple[str, ...]:
        """The words after `build-tables` that name this game."""
        return (cls.name,) if cls.is_ours() else ("game", cls.name)

    @property
    def build_command(self) -> str:
        """The command that builds this game's table."""
        words = ["build-tables", *self.command()]
        for key, value in self.parameters.items():
            flag = f"--{key.replace('_', '-')}"
            if words[1] == "game":
                words += ["--set", f"{key}={int(value)}"]
            elif not isinstance(value, bool):
                words += [flag, str(value)]
            elif value:
                words.append(flag)
        return " ".join(words)

    @property
    def parameters(self) -> Parameters:
        """The parameters by name, as the table file records them."""
        return {one.name: getattr(self, one.name) for one in self._parameters}

    @classmethod
    def declared_parameters(cls) -> tuple[Parameter, ...]:
        """The parameters with their types, defaults, bounds and help."""
        return cls._parameters

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
        return cls(**checked(cls._parameters, parameters))

    @classmethod
    def is_ours(cls) -> bool:
        """Whether it comes with Endtable, so that its version says what the rules are."""
        return cls.__module__.rpartition(".")[0] == __package__

    @classmethod
    def parameter_types(cls) -> dict[str, type[int]]:
        """The type of each parameter: int or bool."""
        return {one.name: one.type for one in cls._parameters}
