"""The source of a function as a syntax tree, and what users' code raised, and where."""

from __future__ import annotations

import ast
import copy
import linecache
import traceback
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from lookup.errors import EndtableError, GameError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FunctionType

SOURCE = "__endtable_source__"
"""Where a module that we have run keeps its source: its file may be another by now."""

_LONGEST_SAID = 300


def failed_at(error: BaseException) -> str:
    """The line that raised an error, and its function: if it can be, one of a user's game."""
    lines = list(traceback.walk_tb(error.__traceback__))
    own = [line for line in lines if SOURCE in line[0].f_globals]
    frame, number = (own or lines)[-1]
    return f"{Path(frame.f_code.co_filename).name}, line {number}: {frame.f_code.co_name}"


def said(error: BaseException) -> str:
    """What an error of somebody else's code says: in one line, and not at any length."""
    try:
        words = f"{type(error).__name__}: {error}"
    except Exception:  # noqa: BLE001 - a user's class may have any text, or none
        words = type(error).__name__
    # Half of a character can be in a text, and not be printed.
    words = " ".join(words.encode("utf-8", "backslashreplace").decode().split())
    return words if len(words) <= _LONGEST_SAID else f"{words[:_LONGEST_SAID]}..."


@contextmanager
def explained() -> Iterator[None]:
    """Whatever a user's code raises inside is said in one sentence; it may even try to end the process.

    Raises:
        GameError: it raised something.
    """
    try:
        yield
    except (EndtableError, KeyboardInterrupt):
        raise
    except BaseException as error:
        raise GameError(f"{failed_at(error)} fails: {said(error)}") from error


def is_of_own_game(error: BaseException) -> bool:
    """Whether a user's game led to an error."""
    return any(SOURCE in frame.f_globals for frame, _ in traceback.walk_tb(error.__traceback__))


def definition_of(function: FunctionType) -> ast.FunctionDef | ast.Lambda | None:
    """A copy of the definition of a function, or None if its source is not to be had."""
    code = function.__code__
    source = function.__globals__.get(SOURCE)
    if not isinstance(source, str):
        linecache.checkcache(code.co_filename)
        source = "".join(linecache.getlines(code.co_filename, function.__globals__))
    found = _definitions(source).get((code.co_name, code.co_firstlineno), [])
    return copy.deepcopy(found[0]) if len(found) == 1 else None


@lru_cache(maxsize=32)
def _definitions(source: str) -> dict[tuple[str, int], list[ast.FunctionDef | ast.Lambda]]:
    """All functions in a source by name and first line, that of the first decorator if there is one."""
    found: dict[tuple[str, int], list[ast.FunctionDef | ast.Lambda]] = {}
    try:
        tree = ast.parse(source)
    except SyntaxError:
        return found
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            line = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            found.setdefault((node.name, line), []).append(node)
        elif isinstance(node, ast.Lambda):
            found.setdefault(("<lambda>", node.lineno), []).append(node)
    return found
