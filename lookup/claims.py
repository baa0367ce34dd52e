"""What a table says of itself, compared with the rules of its game: before any value is read."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple, TypeAlias, get_args

from lookup.errors import (
    CallerError,
    CorruptTableError,
    InvalidGameError,
    RulesChangedError,
    UnknownGameError,
    quoted,
)
from lookup.format import (
    COLUMNS,
    GRUNDY,
    REMOTENESS,
    Column,
    Period,
    TableInfo,
    canonical,
    heaps_needed,
    is_sound,
)
from lookup.games import game_class
from lookup.games.base import Game, SolverKind
from lookup.games.heap_game import HeapGame
from lookup.games.unknown import UnknownGame

if TYPE_CHECKING:
    from pathlib import Path

    from lookup.format import Attributes

Rules: TypeAlias = Game | type[Game] | Mapping[str, type[Game]]
"""A game, or the class of it, whose parameters are in the file; or classes by the names of games."""


class Claims(NamedTuple):
    """What a table is, if it is whole: `error` is what is then wrong with the rules at hand."""

    info: TableInfo
    game: Game
    columns: dict[str, Column]
    error: RulesChangedError | InvalidGameError | None

    @classmethod
    def of(
        cls,
        path: Path,
        attributes: Attributes,
        columns: Mapping[str, Attributes],
        rules: Rules | None,
    ) -> Claims:
        """The claims of a table at a path, and of its columns, if they are such as a table can make.

        Raises:
            CorruptTableError, TypeError, ValueError: they are not.
        """
        info = TableInfo.from_attributes(attributes)
        error: RulesChangedError | InvalidGameError | None = None
        try:
            game = _game(path, info, rules)
        except (RulesChangedError, InvalidGameError) as changed:
            # True of a table that is whole; else what names its game may be what is damaged.
            game, error = UnknownGame(info), changed
        described = {name: Column.from_attributes(name, one) for name, one in columns.items()}
        # What a game does not have nobody has checked; and without Grundy values a sum has no value.
        sound = is_sound(info, described) and (GRUNDY not in described or game.stores_grundy)
        sound = sound and (REMOTENESS not in described or game.stores_remoteness)
        if not sound or (game.parts > 1 and GRUNDY not in described):
            problem = f"is damaged: expected totals and {', '.join(COLUMNS)} that fit its size"
            raise CorruptTableError(path, problem)
        if not error:
            _check_period(info, game)
        return cls(info, game, described, error)


def _game(path: Path, info: TableInfo, rules: Rules | None) -> Game:
    """The game a table names; if it is known, it fixes every size that the table may have."""
    if info.solver not in get_args(SolverKind):
        raise ValueError(f"{quoted(info.solver)} is no kind of solver")
    parameters = _parameters(info.parameters)
    kind = _kind(path, info, rules)
    if kind is None or kind is UnknownGame:
        return UnknownGame(info)
    if kind.rules_digest() != info.rules_digest:
        raise RulesChangedError(path, f"was built from other rules of {_others(kind, rules)}")
    try:
        game = kind.from_parameters(parameters)
    except CallerError as error:
        raise CorruptTableError(path, f"is damaged: {error}") from None
    if (game.table_name, game.size, game.solver) != (info.name, info.size, info.solver):
        claim = f"{quoted(info.name)} with {info.size} indices"
        raise CorruptTableError(path, f"is damaged: {claim} is not its game")
    return game


def _kind(path: Path, info: TableInfo, rules: Rules | None) -> type[Game] | None:
    """The class of its game: the one that was given, one of ours, or an installed one."""
    kind = type(rules) if isinstance(rules, Game) else rules
    if isinstance(kind, Mapping):
        kind = kind.get(info.game)
    if kind is None:
        try:
            return game_class(info.game)
        except UnknownGameError:
            return None
    if kind.name != info.game and kind is not UnknownGame:
        problem = f"is not the game of '{path}', which is a table of {quoted(info.game)}"
        raise InvalidGameError(kind.name, problem)
    return kind


def _others(kind: type[Game], rules: Rules | None) -> str:
    """The rules that are not those the table was built from, and what to do about it."""
    given = rules.get(kind.name) if isinstance(rules, Mapping) else rules
    if given is None:
        found = f"{kind.name!r} than those of {kind.__module__}"
        return f"{found}: build it again, or name its own with --game FILE.py"
    return f"{kind.name!r} than those at hand: build it again"


def _parameters(text: str) -> dict[str, object]:
    """The parameters that an attribute says."""
    parameters = json.loads(text)
    if not isinstance(parameters, dict) or canonical(parameters).decode() != text:
        raise ValueError(f"parameters is {quoted(text)}: expected a JSON object in canonical form")
    if any(type(value) not in (int, bool) for value in parameters.values()):
        raise ValueError(f"parameters is {quoted(text)}: expected integers and booleans")
    return parameters


def _check_period(info: TableInfo, game: Game) -> None:
    """Refuse a period that was not computed far enough to go on for ever."""
    if not info.period:
        return
    period = Period.from_text(info.period)
    if (
        not isinstance(game, HeapGame)
        or heaps_needed(period.preperiod, period.period, game.takes[1]) > period.checked + 1
        or period.plies > max(0, info.longest_remoteness)
    ):
        raise ValueError(f"its game does not prove the period {quoted(info.period)}")
