"""What a game gets from the base class when it says nothing itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import pytest

from lookup import InvalidParameterError, InvalidPositionError
from lookup.games.clock import Clock
from lookup.games.mask_game import MaskGame
from lookup.games.rota import Rota


@dataclass(frozen=True)
class Strip(MaskGame):
    """Fill a cell of a strip."""

    length: int
    from_left: bool = False

    name: ClassVar[str] = "strip"

    @property
    def cells(self) -> int:
        return self.length

    @property
    def misere(self) -> bool:
        return False

    @property
    def masks(self) -> tuple[int, ...]:
        return tuple(1 << at for at in range(self.length))

    def parse(self, text: str) -> int:
        raise InvalidPositionError(text, "nothing")

    def format(self, index: int) -> str:
        return str(index)

    def move_name(self, index: int, after: int) -> str:
        return str(index ^ after)


def test_names_and_commands() -> None:
    assert Strip(5).table_name == "strip-5-0"
    assert Strip(5).build_command == "build-tables game strip --set length=5 --set from_left=0"
    assert Clock(4, 2).build_command == "build-tables clock --n 4 --k 2"
    assert Rota(diameters=True).command() == ("rota",)
    assert Strip.from_table_name("strip-5-1") == Strip(5, from_left=True)
    assert Strip.from_table_name("strip-5-1") != Strip(5)
    for name in ("strip", "strip-5", "strip-05-0", "strip-5-7", "strip-5-0-0", "strips-5-0"):
        assert Strip.from_table_name(name) is None


def test_parameters_are_strict() -> None:
    assert Strip.from_parameters({"length": 5, "from_left": True}) == Strip(5, from_left=True)
    wrong: tuple[dict[str, object], ...] = (
        {"length": 5},
        {"length": 5, "from_left": 1},
        {"length": True, "from_left": True},
        {"length": "5", "from_left": True},
        {"length": 5, "from_left": True, "more": 1},
    )
    for parameters in wrong:
        with pytest.raises(InvalidParameterError):
            Strip.from_parameters(parameters)


def test_optional_parts() -> None:
    game = Strip(4)
    assert game.rules == "Fill a cell of a strip."
    assert (game.notation, game.indexing) == ("", "")
    assert game.symmetries == 1
    assert game.transform(3, 0) == 3
    assert all(game.is_position(index) for index in range(game.size))
    assert game.max_predecessors == game.max_moves == 4
