"""The games, their answers and their formulas as one JavaScript module, `rules.js`."""

from __future__ import annotations

import ast
import importlib
import inspect
import sys
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from lookup.games import GAMES
from lookup.games.sources import SOURCE
from lookup.site.expressions import name_of
from lookup.site.syntax import stored
from lookup.site.translate import Module, identifier

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lookup.games.base import Game

HEAD = """\
// The rules, texts and formulas of games, translated from the Python of Endtable {version}: the same
// functions that answer there. Not to be edited; python.js has what both languages need.

import * as $ from "./python.js";
"""


class Wanted(NamedTuple):
    """A module of ours, the definitions that a page needs (all, if None) and what it can do without."""

    name: str
    names: frozenset[str] | None = None
    skipped: frozenset[str] = frozenset()


_NAMED = (
    *("__init_subclass__", "__setattr__", "__delattr__", "__reduce__", "__copy__", "__deepcopy__"),
    *("is_ours", "command", "build_command"),
)
_ERRORS = ("__reduce__", "_raised_elsewhere")
_RESPONSES = ("value", "move", "probe", "single_move", "board", "line", "_formula")

FIRST = (
    Wanted("lookup.errors", None, frozenset(f"EndtableError.{name}" for name in _ERRORS)),
    Wanted("lookup.values", frozenset(("Outcome", "_OPPOSITES", "WORDS", "Value"))),
    Wanted("lookup.answers"),
    Wanted("lookup.games.parameters", frozenset(("MOST", "Parameter", "checked"))),
    Wanted("lookup.games.named", None, frozenset(f"Named.{name}" for name in _NAMED)),
    Wanted("lookup.games.base", None, frozenset(("Game.rules_digest",))),
    Wanted("lookup.games.mask_game"),
    Wanted("lookup.games.heap_game"),
    Wanted("lookup.games.step_game"),
    Wanted("lookup.games.unknown", None, frozenset(("UnknownGame.parameters",))),
    Wanted("lookup.format", frozenset(("Period",)), frozenset(("Period.from_text", "Period.text"))),
    Wanted("lookup.stored"),
    Wanted("lookup.response", frozenset((*(f"{name}_fields" for name in _RESPONSES), "is_unknown"))),
)
"""What all games need, each after those it needs itself. The modules of games follow."""

SKIPPED = {"lookup.games.clock": frozenset(("Clock.filling",))}
"""What only builders ask a game for, and what they need for it."""

BUILDING = frozenset(("lookup.games.clock_walk", "lookup.games.filling"))

EXPORTED = {
    "lookup.errors": ("CallerError", "InvalidPositionError"),
    "lookup.values": ("Outcome", "Value"),
    "lookup.games.unknown": ("UnknownGame",),
    "lookup.format": ("Period",),
    "lookup.stored": ("StoredAnswers",),
    "lookup.response": tuple(f"{name}_fields" for name in _RESPONSES),
}
"""What the page's own modules use."""


def rules_module(version: str, games: Iterable[type[Game]] = ()) -> str:
    """The text of `rules.js`: our games, and those of other people whose classes are given.

    Raises:
        UntranslatableError: a game is written in Python that has no translation.
    """
    parts = [_translated(wanted) for wanted in _ours().values()]
    classes = {one.name: identifier(one.__module__) for one in GAMES.values()}
    for game in games:
        module = f"own.{len(classes)}"
        source = Module(module, _source_of(game), _elsewhere, attributes=_attributes())
        parts.append(source.translated())
        classes[game.name] = identifier(module)
    of_class = {one.name: one.__name__ for one in (*GAMES.values(), *games)}
    listed = "".join(
        f'  "{name}": {module}.{name_of(of_class[name])},\n' for name, module in classes.items()
    )
    exports = [
        f"export const {{ {', '.join(names)} }} = {identifier(module)};"
        for module, names in EXPORTED.items()
    ]
    games_of = f"// Classes by the names of games.\nexport const games = $.named({{\n{listed}}});"
    return "\n\n".join([HEAD.format(version=version), *parts, "\n".join(exports), games_of]) + "\n"


@cache
def _ours() -> dict[str, Wanted]:
    """The modules to translate, by name, each after those it needs."""
    wanted = {one.name: one for one in FIRST}

    def add(module: str) -> None:
        if module in wanted or module in BUILDING:
            return
        for node in ast.parse(_source(module)).body:
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("lookup.games."):
                add(node.module or "")
        wanted[module] = Wanted(module, None, SKIPPED.get(module, frozenset()))

    for game in GAMES.values():
        add(game.__module__)
    return wanted


@cache
def _attributes() -> frozenset[str]:
    """What our own things have: all names that are given in their modules."""
    return frozenset(name for module in _ours() for name in stored(ast.parse(_source(module))))


def _translated(wanted: Wanted) -> str:
    source = _source(wanted.name)
    return Module(wanted.name, source, _elsewhere, wanted.names, wanted.skipped).translated()


def _source(module: str) -> str:
    return inspect.getsource(importlib.import_module(module))


def _source_of(game: type[Game]) -> str:
    """The text of the module that a game is from; that of a user's file as it was run."""
    module = sys.modules[game.__module__]
    return getattr(module, SOURCE, None) or inspect.getsource(module)


def _elsewhere(module: str, name: str) -> str | None:
    """The translated module that has what an import names."""
    if module.split(".")[0] != "lookup":
        return None
    if name == "parameter":
        return "$"
    found = getattr(importlib.import_module(module), name, None)
    for home in (module, getattr(found, "__module__", "")):
        wanted = _ours().get(home)
        if wanted and (wanted.names is None or name in wanted.names):
            return home
    return None
