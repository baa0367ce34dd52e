"""Tables and games in other processes: handed there, or inherited by a fork.

What is pickled is where something is found, not what it holds: the other process opens the file again,
and takes nothing for it but the very same table. A child that was forked while other threads of its
parent were at work inherits their locks, which nobody there would ever release: it gets new ones.
"""

from __future__ import annotations

import os
import sys
from functools import cached_property
from threading import RLock
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, cast
from weakref import WeakSet

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lookup.games.base import Game
    from lookup.games.named import Named

    Found: TypeAlias = str | type[Game]
    """How a class of games is found elsewhere: a file and a name, or by itself, as Python does it."""


class Forked(Protocol):
    """Something with a lock."""

    def in_child(self) -> None:
        """Called in a forked child, before anything else is there: nobody holds the lock any more."""


_forked: WeakSet[Forked] = WeakSet()


def tell_in_child(one: Forked) -> None:
    """Have something told in each child that is forked."""
    _forked.add(one)


def _in_child() -> None:
    for one in list(_forked):
        one.in_child()
    if sys.version_info < (3, 12):  # later ones have no locks
        from lookup.answers import Answers
        from lookup.games.named import Named

        for kind in (*_kinds(Answers), *_kinds(Named)):
            for attribute in vars(kind).values():
                if isinstance(attribute, cached_property):
                    attribute.lock = RLock()  # type: ignore[attr-defined]  # not for typeshed


def _kinds(base: type[Any]) -> Iterator[type[Any]]:
    yield base
    for kind in type.__subclasses__(base):
        yield from _kinds(kind)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)


def found_by(kind: type[Named]) -> Found:
    """How a class of games is found in another process."""
    from lookup.games.sources import SOURCE

    module = sys.modules.get(kind.__module__)
    if module is not None and hasattr(module, SOURCE):  # run from a file, and no module of anybody's
        names = (name for name, value in vars(module).items() if value is kind)  # not always its own
        return f"{module.__file__}:{next(names, kind.__qualname__)}"
    return cast("type[Game]", kind)


moved: dict[str, str] = {}
"""Files of games that are elsewhere in this process: on a worker that has only their text."""


def found(by: Found) -> type[Game]:
    """The class of games that is found so.

    Raises:
        InvalidGameError: the file is not there any more, or has no such class.
    """
    if isinstance(by, str):
        from lookup.games import load_game

        path, _, name = by.rpartition(":")
        return load_game(f"{moved.get(path, path)}:{name}")
    return by


def game_again(by: Found, fields: dict[str, Any]) -> Game:
    """A game as it was."""
    return found(by)(**fields)
