"""The source of a function as a syntax tree: what a compiler and a digest of rules start from."""

from __future__ import annotations

import ast
import copy
import linecache
import traceback
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import FunctionType

SOURCE = "__endtable_source__"
"""Where a module that we have run keeps its source: its file may be another by now."""


def failed_at(error: BaseException) -> str:
    """The line that raised an error, and its function: if it can be, one of a user's game."""
    lines = list(traceback.walk_tb(error.__traceback__))
    own = [line for line in lines if SOURCE in line[0].f_globals]
    frame, number = (own or lines)[-1]
    return f"{Path(frame.f_code.co_filename).name}, line {number}: {frame.f_code.co_name}"


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
