"""Python's statements and functions as JavaScript: see `translate.py`."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from lookup.site.expressions import Expressions, UntranslatableError, name_of, text_of
from lookup.site.syntax import (
    assigned,
    decorators,
    indented,
    is_docstring,
    is_remembered,
    loaded,
    yields,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator


MEANT_OTHERWISE = frozenset(("__proto__", "constructor", "prototype", "toString", "valueOf"))
"""What all of JavaScript's objects have already."""


def check_member(node: ast.AST, name: str) -> None:
    """Whether something of a class can be called so.

    Raises:
        UntranslatableError: it cannot.
    """
    if name in MEANT_OTHERWISE:
        raise UntranslatableError(node, f"'{name}', which means something else in JavaScript,")


class Statements:
    """Translates functions and what they consist of, line by line."""

    def __init__(self, known: Callable[[str], bool], has: Callable[[str], bool]) -> None:
        self.expressions = Expressions(known, has)
        self._labels: list[str] = []  # of the loops that a statement is in; empty if they need none

    def function(self, node: ast.FunctionDef) -> str:
        """A function as a value; decorators that remember what it returned are kept."""
        unknown = decorators(node) - {"cache", "lru_cache"}
        if unknown:
            raise UntranslatableError(node, f"the decorator '{min(unknown)}'")
        body = "{\n" + "\n".join(self.body(node)) + "\n}"
        head = "function* {} " if yields(node) else "{} => "
        written = self.expressions.function(node.args, head + body)
        return f"$.remembered({written})" if is_remembered(node) else written

    def body(self, node: ast.FunctionDef, first: Iterable[str] = ()) -> list[str]:
        """The lines of a function, after those that come first: its local names, its statements."""
        arguments = node.args
        given = {one.arg for one in [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]}
        given |= {one.arg for one in (arguments.vararg, arguments.kwarg) if one}
        local = sorted({name for one in node.body for name in assigned(one)} - given)
        lines = [*first]
        if arguments.vararg:
            lines.append(f"$.tupleOf({name_of(arguments.vararg.arg)});")
        if local:
            lines.append(f"let {', '.join(map(name_of, local))};")
        lines += [line for one in node.body for line in self.statement(one)]
        return indented(lines)

    # --- statements -------------------------------------------------------------------------------

    def statement(self, node: ast.stmt) -> Iterator[str]:
        """The lines of one statement.

        Raises:
            UntranslatableError: it has none.
        """
        if is_docstring(node) or isinstance(node, ast.Pass | ast.ImportFrom):
            return
        translate = getattr(self, f"_{type(node).__name__.lower()}", None)
        if translate is None:
            raise UntranslatableError(node, f"'{ast.unparse(node).splitlines()[0]}' has no translation")
        yield from translate(node)

    def _block(self, nodes: list[ast.stmt]) -> list[str]:
        return indented(line for node in nodes for line in self.statement(node))

    def _functiondef(self, node: ast.FunctionDef) -> Iterator[str]:
        yield f"{name_of(node.name)} = {self.function(node)};"

    def _expr(self, node: ast.Expr) -> Iterator[str]:
        if isinstance(node.value, ast.Yield):
            value = self.expressions.of(node.value.value) if node.value.value else "null"
            yield f"yield {value};"
        elif isinstance(node.value, ast.YieldFrom):
            yield f"yield* $.each({self.expressions.of(node.value.value)});"
        else:
            yield f"{self.expressions.of(node.value)};"

    def _assert(self, node: ast.Assert) -> Iterator[str]:
        said = self.expressions.of(node.msg) if node.msg else text_of("")
        test = self.expressions.truth(node.test)
        yield f'if (!({test})) {{ $.fail("AssertionError", $.str({said})); }}'

    def _return(self, node: ast.Return) -> Iterator[str]:
        yield f"return {self.expressions.of(node.value) if node.value else 'null'};"

    def _assign(self, node: ast.Assign) -> Iterator[str]:
        value = self.expressions.of(node.value)
        if len(node.targets) == 1:
            yield from self._store(node.targets[0], value)
            return
        yield f"{{ const $value = {value};"
        for target in node.targets:
            yield from self._store(target, "$value")
        yield "}"

    def _annassign(self, node: ast.AnnAssign) -> Iterator[str]:
        if node.value is not None:
            yield from self._store(node.target, self.expressions.of(node.value))

    def _store(self, target: ast.expr, value: str, depth: int = 0) -> Iterator[str]:
        of = self.expressions.of
        if isinstance(target, ast.Name):
            yield f"{name_of(target.id)} = {value};"
        elif isinstance(target, ast.Attribute):
            check_member(target, target.attr)
            yield f"$.setAttribute({of(target.value)}, {text_of(target.attr)}, {value});"
        elif isinstance(target, ast.Subscript) and not isinstance(target.slice, ast.Slice):
            yield f"$.setItem({of(target.value)}, {of(target.slice)}, {value});"
        elif isinstance(target, ast.Tuple | ast.List):
            # All of the right side is known before anything on the left is changed.
            names = [f"$part{depth}_{number}" for number in range(len(target.elts))]
            starred = [isinstance(one, ast.Starred) for one in target.elts]
            parts = [f"...{name}" if star else name for name, star in zip(names, starred, strict=True)]
            taken = f"$.unpacked({value}, {len(names)})" if not any(starred) else f"$.each({value})"
            if any(starred[:-1]):
                raise UntranslatableError(target, "a '*' that is not the last of an assignment")
            yield f"{{ const [{', '.join(parts)}] = {taken};"
            for one, name in zip(target.elts, names, strict=True):
                yield from self._store(
                    one.value if isinstance(one, ast.Starred) else one, name, depth + 1
                )
            yield "}"
        else:
            raise UntranslatableError(target, f"an assignment to '{ast.unparse(target)}'")

    def _augassign(self, node: ast.AugAssign) -> Iterator[str]:
        of, target = self.expressions.of, node.target
        if isinstance(target, ast.Subscript) and not isinstance(target.slice, ast.Slice):
            yield f"{{ const $owner = {of(target.value)}, $at = {of(target.slice)};"
            value = self.expressions.augmented(node, "$.item($owner, $at)")
            yield f"$.setItem($owner, $at, {value}); }}"
            return
        yield from self._store(target, self.expressions.augmented(node, of(loaded(target))))

    def _delete(self, node: ast.Delete) -> Iterator[str]:
        for target in node.targets:
            if not isinstance(target, ast.Subscript) or isinstance(target.slice, ast.Slice):
                raise UntranslatableError(node, f"'{ast.unparse(node)}' has no translation")
            of = self.expressions.of
            yield f"$.deleteItem({of(target.value)}, {of(target.slice)});"

    def _if(self, node: ast.If) -> Iterator[str]:
        yield f"if ({self.expressions.truth(node.test)}) {{"
        yield from self._block(node.body)
        if node.orelse:
            yield "} else {"
            yield from self._block(node.orelse)
        yield "}"

    def _while(self, node: ast.While) -> Iterator[str]:
        yield from self._loop(node, f"while ({self.expressions.truth(node.test)}) {{", [])

    def _for(self, node: ast.For) -> Iterator[str]:
        head = f"for (const $each of $.each({self.expressions.of(node.iter)})) {{"
        yield from self._loop(node, head, [*self._store(node.target, "$each")])

    def _loop(self, node: ast.For | ast.While, head: str, first: list[str]) -> Iterator[str]:
        # What follows `else` happens unless the loop was left by `break`: then its label is left, too.
        label = f"$loop{node.lineno}_{node.col_offset}" if node.orelse else ""
        self._labels.append(label)
        body = [*indented(first), *self._block(node.body)]
        self._labels.pop()
        if not label:
            yield from [head, *body, "}"]
            return
        yield from [f"{label}: {{", head, *body, "}"]
        yield from self._block(node.orelse)
        yield "}"

    def _break(self, _: ast.Break) -> Iterator[str]:
        yield f"break {self._labels[-1]};" if self._labels[-1] else "break;"

    def _continue(self, _: ast.Continue) -> Iterator[str]:
        yield "continue;"

    def _raise(self, node: ast.Raise) -> Iterator[str]:
        yield f"throw {f'$.raised({self.expressions.of(node.exc)})' if node.exc else '$error'};"

    def _with(self, node: ast.With) -> Iterator[str]:
        """Locks: a page has one thread."""
        for item in node.items:
            if item.optional_vars or not ast.unparse(item.context_expr).lower().endswith("lock"):
                said = ast.unparse(node).splitlines()[0]
                raise UntranslatableError(node, f"'{said}' has no translation")
        yield "{"
        yield from self._block(node.body)
        yield "}"

    def _try(self, node: ast.Try) -> Iterator[str]:
        if node.orelse:
            raise UntranslatableError(node, "'else' after 'try' has no translation")
        yield "try {"
        yield from self._block(node.body)
        if node.handlers:
            yield "} catch ($error) {"
            for handler in node.handlers:
                kind = self.expressions.of(handler.type) if handler.type else "Exception"
                yield f"  if ($.isinstance($.raised($error), {kind})) {{"
                if handler.name:
                    yield f"    {name_of(handler.name)} = $.raised($error);"
                yield from indented(self._block(handler.body))
                yield "  } else"
            yield "  throw $error;"
        if node.finalbody:
            yield "} finally {"
            yield from self._block(node.finalbody)
        yield "}"
