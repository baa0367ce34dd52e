"""A digest of a game's rules, to notice that a class has changed since its table was built.

It covers the methods and constants of the class, of the classes it derives from, and the functions and
constants that these use, wherever they are written: but nothing of Endtable itself, nor of other
libraries. Functions count by their syntax, so that comments, docstrings, annotations and layout may
change, and versions of Python do not matter. Texts for people (`rules`, `notation`, ...) do not count.
"""

from __future__ import annotations

import ast
import hashlib
import sys
from collections.abc import Iterable, Mapping, Sized
from enum import Enum
from functools import partial
from numbers import Number
from types import CodeType, FunctionType, ModuleType
from typing import TYPE_CHECKING, Any

from lookup.games.sources import definition_of

if TYPE_CHECKING:
    from collections.abc import Iterator

_NOT_RULES = {"name", "rules", "notation", "indexing", "board", "_abc_impl", "_parameters", "_is_named"}
_MADE = {"__init__", "__repr__", "__eq__", "__hash__", "__setattr__", "__delattr__", "__replace__"}
_PLAIN = (Number, str, bytes, bytearray, Enum, range, slice)
_DEEPEST = 16  # wrappers around a function
_NOT_SYNTAX = {"ctx", "kind", "type_comment", "annotation", "returns", "type_params"}
_LIBRARIES = {"builder", "numba", "numpy", *sys.stdlib_module_names}


def rules_digest(game: type) -> str:
    """The SHA-256 of the rules of a class of games, in hexadecimal."""
    digest = hashlib.sha256()
    for part in Parts().of_class(game):
        digest.update(part.encode("utf-8", "backslashreplace") + b"\0")
    return digest.hexdigest()


class Parts:
    """The pieces of text that a digest is made of; each function and class counts once."""

    def __init__(self) -> None:
        self._seen: set[int] = set()

    def of_class(self, kind: type) -> Iterator[str]:
        """What a class and those it derives from say."""
        if issubclass(kind, Enum):
            # Their private parts are others in another version of Python.
            yield from (f"{name} {member.value!r}" for name, member in kind.__members__.items())
            return
        for one in kind.__mro__:
            if id(one) in self._seen or _is_library(one.__module__):
                continue
            self._seen.add(id(one))
            fields = getattr(one, "__dataclass_fields__", {})
            for name, value in sorted(vars(one).items()):
                # Of the special methods only what somebody wrote counts, not what dataclasses make.
                written = not name.startswith("__") or isinstance(value, FunctionType)
                written = written and name not in _MADE
                if written and name not in _NOT_RULES and name not in fields:
                    yield name
                    yield from self.of(value)

    def of(self, value: object) -> Iterator[str]:
        """What a value is, as far as that does not change from run to run."""
        value = _unwrapped(value)
        if isinstance(value, FunctionType):
            yield from self._of_function(value)
        elif isinstance(value, type):
            yield value.__qualname__
            yield from self.of_class(value)
        elif isinstance(value, Mapping):
            for key, inside in value.items():
                yield from self.of(key)
                yield from self.of(inside)
        elif isinstance(value, set | frozenset):
            yield from sorted(part for inside in value for part in self.of(inside))
        elif value is None or isinstance(value, _PLAIN):
            yield repr(value)
        elif hasattr(value, "tobytes") and hasattr(value, "dtype"):  # an array; numpy may not be loaded
            yield f"{value.dtype} {getattr(value, 'shape', ())} {value.tobytes()!r}"
        elif isinstance(value, Sized) and isinstance(value, Iterable):
            yield f"{type(value).__name__} of {len(value)}"
            for inside in value:
                yield from self.of(inside)
        else:
            yield from self._of_object(value)

    def _of_object(self, value: object) -> Iterator[str]:
        """An object of another class, by that class and what it holds."""
        if id(value) in self._seen:
            return
        self._seen.add(id(value))
        yield type(value).__qualname__
        if isinstance(value, partial):
            for part in (value.func, value.args, value.keywords):
                yield from self.of(part)
        elif not isinstance(value, ModuleType):
            yield from self.of_class(type(value))
            yield from self.of(getattr(value, "__dict__", {}))

    def _of_function(self, function: FunctionType) -> Iterator[str]:
        yield function.__qualname__
        if id(function) in self._seen or _is_library(function.__module__):
            return
        self._seen.add(id(function))
        if definition := definition_of(function):
            yield _syntax(definition)
        else:
            yield from _compiled(function.__code__)
        yield from self.of(function.__defaults__)
        yield from self.of(function.__kwdefaults__)
        for cell in function.__closure__ or ():
            yield from self.of(cell.cell_contents)
        names = sorted(set(names_in(function.__code__)))
        for name in names:
            used = function.__globals__.get(name)
            if isinstance(used, ModuleType):
                if not _is_library(used.__name__):
                    for inside in (one for one in names if hasattr(used, one)):
                        yield from self.of(getattr(used, inside))
            elif name in function.__globals__:
                yield name
                yield from self.of(used)


def _unwrapped(value: object) -> object:
    """The function inside a static method, a property, a cache or another wrapper."""
    for _ in range(_DEEPEST):
        for name in ("__func__", "fget", "func", "__wrapped__", "py_func"):
            inside = getattr(value, name, None)
            if callable(inside) and not isinstance(value, FunctionType | type | partial):
                value = inside
                break
        else:
            break
    return value


def _is_library(module: str) -> bool:
    """Whether a module is not the game author's; our examples are games as anybody's."""
    top = module.partition(".")[0]
    return top in _LIBRARIES or (top == "lookup" and not module.startswith("lookup.games.examples"))


def names_in(code: CodeType) -> Iterator[str]:
    """The global names that a function mentions, or functions inside it."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from names_in(constant)


def _compiled(code: CodeType) -> Iterator[str]:
    """Byte code, for want of a source; it is another one in another version of Python."""
    yield repr((code.co_code, code.co_names, code.co_varnames))
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _compiled(constant)
        else:
            yield repr(constant)


def _syntax(node: Any) -> str:
    """A syntax tree in words that all versions of Python agree on."""
    if isinstance(node, list):
        return f"[{' '.join(map(_syntax, node))}]"
    if not isinstance(node, ast.AST):
        return f"{type(node).__name__} {node!r}"
    if isinstance(node, ast.Constant):
        return f"{type(node.value).__name__} {node.value!r}"
    fields = dict(ast.iter_fields(node))
    if isinstance(node, ast.FunctionDef) and ast.get_docstring(node, clean=False) is not None:
        fields["body"] = node.body[1:]
    said = [
        f"{name}={_syntax(value)}"
        for name, value in fields.items()
        if name not in _NOT_SYNTAX and value is not None and value != []
    ]
    return f"{type(node).__name__}({' '.join(said)})"
