"""Games from outside: a class in a file that the user names, or one that a package announces.

A package announces its games as entry points of the group `endtable.games`, whose names are those of
the games. Nothing is imported because a table file says so: a file is run only if the user names it,
and of the entry points, which the user has installed, only the one with the wanted name is loaded.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import inspect
import re
import stat
import sys
import traceback
from contextlib import suppress
from dataclasses import fields
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from lookup.errors import EndtableError, InvalidGameError, InvalidParameterError, quoted
from lookup.games import GAMES
from lookup.games.base import Game
from lookup.games.sources import SOURCE, said

if TYPE_CHECKING:
    from collections.abc import Mapping

GROUP = "endtable.games"
SUFFIX = ".py"
NAME = re.compile(r"(?=.{1,60}$)[a-z0-9]+(-[a-z0-9]+)*")
_FLAGS = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
_REQUIRED = {
    "size": "how many positions there are",
    "start": "the number of the first",
    "max_moves": "the most moves that a position has",
    "successors": "a method (index, out) that lists what moves lead to",
}
_NUMBER = re.compile(r"-?[0-9]{1,18}")


def load_game(source: str | Path) -> type[Game]:
    """The class of games in a file, `FILE.py` or `FILE.py:Class`, or of an installed game by its name.

    The file is run as a module, once for each content.

    Raises:
        InvalidGameError: there is no such file or game, or it holds no class of games.
    """
    source = str(source)
    path, colon, name = source.rpartition(":")
    if not colon or not path.endswith(SUFFIX):
        path, name = source, ""
    if not path.endswith(SUFFIX):
        if found := installed_game(source):
            return found
        problem = f"is no game: expected FILE.py, FILE.py:Class or one of {_known()}"
        raise InvalidGameError(source, problem)
    module = _run(Path(path))
    try:
        return _usable(_choose(source, module, name), source)
    except InvalidGameError:
        raise
    except Exception as error:  # noqa: BLE001 - a user's classes may raise anything when looked at
        raise InvalidGameError(source, f"cannot be used: {said(error)}") from None


def installed_game(name: str) -> type[Game] | None:
    """The class that an installed package announces as the game of this name, or None.

    Raises:
        InvalidGameError: it is announced, but cannot be loaded or is no game.
    """
    announced = _entry_points().get(name) if NAME.fullmatch(name) else None
    if announced is None:
        return None
    try:
        found = announced.load()
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # noqa: BLE001 - somebody else's module may raise anything
        problem = f"cannot be loaded from {announced.value!r}: {said(error)}"
        raise InvalidGameError(name, problem) from None
    if not (inspect.isclass(found) and issubclass(found, Game)):
        problem = f"is announced as {announced.value!r}: expected a class derived from lookup.Game"
        raise InvalidGameError(name, problem)
    game = _usable(found, name)
    if game.name != name:
        raise InvalidGameError(name, f"is announced for a game that calls itself {game.name!r}")
    return game


def installed_games() -> list[str]:
    """The names of all games that installed packages announce, in alphabetical order."""
    return sorted(_entry_points())


@cache
def _entry_points() -> dict[str, importlib.metadata.EntryPoint]:
    return {one.name: one for one in importlib.metadata.entry_points(group=GROUP)}


def _known() -> str:
    return ", ".join(installed_games()) or "the installed games, of which there are none"


def _run(path: Path) -> ModuleType:
    """The module of a file, run if it has not been in this process."""
    try:
        if not (stat.S_ISREG(mode := path.stat().st_mode) or stat.S_ISDIR(mode)):
            raise InvalidGameError(str(path), "cannot be read: it is no file")  # a pipe may never end
        content = path.read_bytes()
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        reason = getattr(error, "strerror", None) or error
        raise InvalidGameError(str(path), f"cannot be read: {reason}") from None
    return _module(path.absolute(), content)


@cache
def _module(path: Path, content: bytes) -> ModuleType:
    name = f"endtable_game_{len(_modules)}_{re.sub(r'[^A-Za-z0-9_]', '_', path.stem)}"
    module = ModuleType(name)
    module.__file__ = str(path)
    try:
        code = compile(content, str(path), "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:  # the last two: nesting
        line = f", line {error.lineno}" if isinstance(error, SyntaxError) and error.lineno else ""
        reason = getattr(error, "msg", None) or said(error)
        raise InvalidGameError(path.name, f"is not Python{line}: {reason}") from None
    setattr(module, SOURCE, importlib.util.decode_source(content))
    sys.modules[name] = module
    sys.path.insert(0, str(path.parent))  # as if it were run: modules beside it are found
    try:
        exec(code, module.__dict__)  # noqa: S102 - the file that the user asked to run
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # noqa: BLE001 - a user's file may raise anything
        sys.modules.pop(name, None)
        raise InvalidGameError(path.name, f"fails{_where(error, path)}: {said(error)}") from None
    finally:
        with suppress(ValueError):  # the file may have changed it, or taken another
            sys.path.remove(str(path.parent))
    module.__name__ = name
    _modules.append(module)
    return module


_modules: list[ModuleType] = []


def _where(error: BaseException, path: Path) -> str:
    """The last line of a file that led to an error."""
    lines = [at.lineno for at in traceback.extract_tb(error.__traceback__) if at.filename == str(path)]
    return f" in line {lines[-1]}" if lines else ""


def _choose(source: str, module: ModuleType, name: str) -> type[Game]:
    """The class of a module with this name, or its only class of games."""
    games = {
        key: value
        for key, value in vars(module).items()
        if inspect.isclass(value) and issubclass(value, Game) and value.__module__ == module.__name__
    }
    if name:
        if name not in games:
            expected = f"expected one of {', '.join(games)}" if games else "it defines none"
            raise InvalidGameError(source, f"names no class of games: {expected}")
        return games[name]
    whole = {key: game for key, game in games.items() if not inspect.isabstract(game)} or games
    if not whole:
        raise InvalidGameError(source, "defines no game: expected a class derived from lookup.Game")
    if len(whole) > 1:
        example = f"{Path(source).name}:{next(iter(whole))}"
        problem = f"defines several games, {', '.join(whole)}: expected one of them, as in {example}"
        raise InvalidGameError(source, problem)
    return next(iter(whole.values()))


def _usable(game: type[Game], source: str) -> type[Game]:
    """The same class, if games can be made of it and their tables have names."""
    if missing := sorted(getattr(game, "__abstractmethods__", ())):
        said = (f"{name} ({_REQUIRED[name]})" if name in _REQUIRED else name for name in missing)
        raise InvalidGameError(source, f"lacks {', '.join(said)} in class {game.__name__}")
    if not isinstance(game.name, str) or not NAME.fullmatch(game.name):
        problem = f"has the name {quoted(game.name)}: expected small letters, digits, '-' between words"
        raise InvalidGameError(source, problem)
    if game.name in GAMES and not game.is_ours():
        raise InvalidGameError(
            source, f"has the name of a game of Endtable, {game.name!r}: expected another"
        )
    for field in fields(game):
        if field.type not in (int, bool, "int", "bool") or field.name in _REQUIRED:
            what = "is no parameter" if field.name in _REQUIRED else "is neither int nor bool"
            problem = f"declares {field.name!r} with a type, as parameters are, but it {what}"
            raise InvalidGameError(source, f"{problem}: expected `{field.name} = ...` without a type")
    return game


def with_settings(game: type[Game], settings: Mapping[str, str]) -> Game:
    """The game with parameters as a user writes them; those that are not given have their defaults.

    Raises:
        InvalidParameterError: an unknown, missing or bad parameter.
        InvalidGameError: the class raises something else.
    """
    declared = {one.name: one for one in game.declared_parameters()}
    values: dict[str, object] = {}
    for name, text in settings.items():
        if name not in declared:
            expected = f"one of {', '.join(declared)}" if declared else f"none: {game.name} has none"
            raise InvalidParameterError("parameter", name, expected)
        if declared[name].type is bool and text.lower() in _FLAGS:
            values[name] = _FLAGS[text.lower()]
        elif declared[name].type is int and _NUMBER.fullmatch(text):
            values[name] = int(text)
        else:
            raise InvalidParameterError(name, text, declared[name].expected)
    for name, one in declared.items():
        if name not in values and one.default is None:
            raise InvalidParameterError(
                name, None, f"{one.expected}, as in --set {name}=3, or a default"
            )
        values.setdefault(name, one.default)
    try:
        made = game.from_parameters(values)
    except (EndtableError, KeyboardInterrupt):
        raise
    except BaseException as error:  # noqa: BLE001 - a user's class may raise anything
        raise InvalidGameError(game.name, f"cannot have these parameters: {said(error)}") from None
    if not issubclass(type(made), Game):  # by its type: what the object says of itself may be anything
        raise InvalidGameError(game.name, f"makes {quoted(made)}: expected a game of its class")
    return made
