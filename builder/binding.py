"""Rules written as methods, as functions that a compiler takes: `self.rows` becomes a constant.

`bound(game.successors)` gives a function with the code of the method, in which every attribute of
`self` that it reads is a global constant: a parameter, a tuple, a constant of the class, or another
method, bound in the same way. It is made from the method's own source, line by line, so rules exist
once and errors name the user's lines. Functions and static methods are what they are.
"""

from __future__ import annotations

import ast
from types import FunctionType, MethodType
from typing import TYPE_CHECKING, Any

from lookup.errors import GameError
from lookup.games.sources import definition_of

if TYPE_CHECKING:
    from collections.abc import Callable


_PREFIX = "__endtable"


class UnboundError(GameError):
    """A method that uses `self` in a way that no constant can stand for."""

    def __init__(self, function: FunctionType, line: int, problem: str) -> None:
        super().__init__(problem)
        self.file, self.line = function.__code__.co_filename, line
        self.problem = problem


def bound(function: Callable[..., Any]) -> FunctionType:
    """A rule as a plain function.

    Raises:
        UnboundError: the rule is a method that cannot be one.
    """
    return _bound(function, [])


def _bound(function: Callable[..., Any], outside: list[Callable[..., Any]]) -> FunctionType:
    if isinstance(function, FunctionType):
        return function
    if not isinstance(function, MethodType) or not isinstance(function.__func__, FunctionType):
        raise GameError(f"{function!r} is no rule: expected a function or a method")
    method, game = function.__func__, function.__self__
    first = method.__code__.co_firstlineno
    if function in outside:
        raise UnboundError(method, first, f"{method.__qualname__} calls itself")
    definition = definition_of(method)
    if not isinstance(definition, ast.FunctionDef) or not definition.args.args:
        raise UnboundError(method, first, f"the source of {method.__qualname__} cannot be read")
    if method.__closure__:
        raise UnboundError(method, first, f"{method.__qualname__} closes over other variables")
    itself = definition.args.args[0].arg
    constants = _Constants(itself, method)
    body = [constants.visit(statement) for statement in definition.body]
    values = {
        name: _value(game, attribute, method, line, [*outside, function])
        for name, (attribute, line) in constants.used.items()
    }
    # Under a name of its own: a method may call a global function that is called as itself.
    module = ast.parse(f"def {_PREFIX}(): pass")
    plain_definition = module.body[0]
    assert isinstance(plain_definition, ast.FunctionDef)
    plain_definition.args, plain_definition.body = _without_self(definition.args), body
    ast.copy_location(plain_definition, definition)
    # Global names and not closed-over ones: numba would not find compiled helpers among these again.
    known = {**method.__globals__, **values}
    ast.fix_missing_locations(module)
    exec(compile(module, method.__code__.co_filename, "exec"), known)  # noqa: S102 - the user's own code
    plain = known.pop(_PREFIX)
    assert isinstance(plain, FunctionType)
    plain.__code__ = plain.__code__.replace(co_name=method.__name__)
    plain.__defaults__, plain.__kwdefaults__ = method.__defaults__, method.__kwdefaults__
    plain.__name__, plain.__qualname__ = method.__name__, method.__qualname__
    plain.__module__ = method.__module__
    return plain


def _without_self(arguments: ast.arguments) -> ast.arguments:
    """The same arguments but the first; their defaults are set later, from those of the method."""
    del arguments.args[0]
    for one in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs):
        one.annotation = None
    nothing = ast.Constant(None)
    arguments.defaults = [nothing for _ in arguments.defaults]
    arguments.kw_defaults = [one and nothing for one in arguments.kw_defaults]
    return arguments


class _Constants(ast.NodeTransformer):
    """Replaces each `self.name` by a variable; `used` is what the variables stand for, and where."""

    def __init__(self, itself: str, method: FunctionType) -> None:
        self._itself, self._method = itself, method
        self.used: dict[str, tuple[str, int]] = {}

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        """An attribute of `self`, or of something else."""
        if not (isinstance(node.value, ast.Name) and node.value.id == self._itself):
            return self.generic_visit(node)
        if not isinstance(node.ctx, ast.Load):
            raise UnboundError(self._method, node.lineno, f"it assigns to {self._itself}.{node.attr}")
        attribute = node.attr
        if attribute.startswith("__") and not attribute.endswith("__"):
            attribute = f"_{self._method.__qualname__.split('.')[-2].lstrip('_')}{attribute}"
        name = f"{_PREFIX}_{attribute}"  # no name that anybody writes
        self.used.setdefault(name, (attribute, node.lineno))
        return ast.copy_location(ast.Name(name, ast.Load()), node)

    def visit_Name(self, node: ast.Name) -> ast.AST:
        """`self` on its own has no place in compiled code."""
        if node.id == self._itself:
            problem = f"it uses {self._itself} other than for attributes of it"
            raise UnboundError(self._method, node.lineno, problem)
        return node


def _value(
    game: object, attribute: str, method: FunctionType, line: int, outside: list[Callable[..., Any]]
) -> object:
    """What an attribute is, for compiled code."""
    try:
        value = getattr(game, attribute)
    except AttributeError as error:
        raise UnboundError(method, line, str(error)) from None
    return _bound(value, outside) if isinstance(value, MethodType) else value
