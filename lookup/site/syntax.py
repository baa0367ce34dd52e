"""What can be said of Python's syntax before any of it is translated: names, decorators, docstrings."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


def indented(lines: Iterable[str]) -> list[str]:
    """Lines of what stands inside something."""
    return [f"  {line}" for line in lines]


def decorators(node: ast.FunctionDef | ast.ClassDef) -> set[str]:
    """The names of a function's or class's decorators, without their arguments."""
    calls = [one.func if isinstance(one, ast.Call) else one for one in node.decorator_list]
    return {one.attr if isinstance(one, ast.Attribute) else ast.unparse(one) for one in calls}


def is_remembered(node: ast.FunctionDef) -> bool:
    """Whether what a function returned is kept for the next call."""
    return bool(decorators(node) & {"cache", "lru_cache"})


def is_docstring(node: ast.stmt) -> bool:
    """A text, or `...`, that stands alone."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def is_for_types(node: ast.stmt) -> bool:
    """`if TYPE_CHECKING:`, which no program runs."""
    return isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING")


def is_for_commands(node: ast.stmt) -> bool:
    """`if __name__ == "__main__":`, which no program that imports the module runs."""
    return isinstance(node, ast.If) and ast.unparse(node.test) == "__name__ == '__main__'"


def is_alias(node: ast.stmt) -> bool:
    """The name of a type, which no program needs."""
    return isinstance(node, ast.AnnAssign) and "TypeAlias" in ast.unparse(node.annotation)


def yields(node: ast.FunctionDef) -> bool:
    """Whether a function is a generator."""
    return any(isinstance(one, ast.Yield | ast.YieldFrom) for one in _own(node))


def _own(node: ast.AST) -> Iterator[ast.AST]:
    """What belongs to a function itself: not to functions and comprehensions inside."""
    for child in ast.iter_child_nodes(node):
        yield child
        if not isinstance(child, ast.FunctionDef | ast.Lambda):
            yield from _own(child)


def assigned(node: ast.stmt) -> Iterator[str]:
    """The names that a statement of a function assigns to, but those of comprehensions."""
    if isinstance(node, ast.FunctionDef):
        yield node.name
        return
    own = set()
    for one in (node, *_own(node)):
        if isinstance(one, ast.comprehension):
            own |= {id(name) for name in ast.walk(one.target)}
        if isinstance(one, ast.ExceptHandler) and one.name:
            yield one.name
        if isinstance(one, ast.FunctionDef):
            yield one.name
    for one in (node, *_own(node)):
        if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store) and id(one) not in own:
            yield one.id


def stored(tree: ast.AST) -> Iterator[str]:
    """All names that anything in a module is given, attributes among them."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.attr
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.ExceptHandler) and node.name:
            yield node.name


def imports(node: ast.AST) -> Iterator[ast.Import | ast.ImportFrom]:
    """The imports of a module, those inside functions too, but not those for types."""
    for one in ast.iter_child_nodes(node):
        if isinstance(one, ast.Import | ast.ImportFrom):
            yield one
        elif not (isinstance(one, ast.stmt) and is_for_types(one)):
            yield from imports(one)


def defines(node: ast.stmt) -> list[str]:
    """The names that a statement at the top of a module, or in the body of a class, defines."""
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return [node.name]
    if is_alias(node) or (isinstance(node, ast.AnnAssign) and node.value is None):
        return []
    return list(dict.fromkeys(assigned(node)))


def is_set(node: ast.AST | None, names: Iterable[str] = ()) -> bool:
    """Whether an expression is a set, as far as can be seen; so are those names."""
    if isinstance(node, ast.Call):
        return isinstance(node.func, ast.Name) and node.func.id in ("set", "frozenset")
    if isinstance(node, ast.BinOp):
        return is_set(node.left, names)
    return isinstance(node, ast.Set | ast.SetComp) or (isinstance(node, ast.Name) and node.id in names)


def loops_over_sets(tree: ast.AST) -> Iterator[ast.expr]:
    """What goes through a set where the order matters: that of Python is its own."""
    assignments = [one for one in ast.walk(tree) if isinstance(one, ast.Assign) and is_set(one.value)]
    sets = {target.id for one in assignments for target in one.targets if isinstance(target, ast.Name)}
    for node in ast.walk(tree):
        through: list[ast.expr] = []
        if isinstance(node, ast.For):
            through = [node.iter]
        elif isinstance(node, ast.ListComp):
            through = [one.iter for one in node.generators]
        elif isinstance(node, ast.Call) and ast.unparse(node.func) in (
            "list",
            "tuple",
            "enumerate",
            "iter",
        ):
            through = node.args[:1]
        yield from (one for one in through if is_set(one, sets))


def loaded(target: ast.expr) -> ast.expr:
    """The same place, as something that is read."""
    return ast.parse(ast.unparse(target), mode="eval").body
