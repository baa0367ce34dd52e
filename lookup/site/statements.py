"""Python's statements and functions as JavaScript: see `translate.py`."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from lookup.site.expressions import Expressions, UntranslatableError, name_of, text_of
from lookup.site.syntax import (
    assigned,
    indented,
    is_docstring,
    is_remembered,
    loaded,
    yields,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator


class Statements:
    """Translates functions and what they consist of, line by line."""

    def __init__(self, known: Callable[[str], bool]) -> None:
        self.expressions = Expressions(known)

    def function(self, node: ast.FunctionDef) -> str:
        """A function as a value; decorators that remember what it returned are kept."""
        parameters, names = self.expressions.parameters(node.args), self.expressions.names(node.args)
        body = "\n".join(self.body(node))
        is_generator = yields(node)
        arrow = f"function* {parameters}" if is_generator else f"{parameters} =>"
        written = f"$.function({names}, {arrow} {{\n{body}\n}})"
        return f"$.remembered({written})" if is_remembered(node) else written

    def body(self, node: ast.FunctionDef, first: Iterable[str] = ()) -> list[str]:
        """The lines of a function, after those that come first: its local names, its statements."""
        arguments = node.args
        given = {one.arg for one in [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]}
        given |= {one.arg for one in (arguments.vararg, arguments.kwarg) if one}
        local = sorted({name for one in node.body for name in assigned(one)} - given)
        lines = [*first]
        if local:
            lines.append(f"let {', '.join(map(name_of, local))};")
        lines += [line for one in node.body for line in self._statement(one)]
        return indented(lines)

    # --- statements -------------------------------------------------------------------------------

    def _statement(self, node: ast.stmt) -> Iterator[str]:
        if is_docstring(node) or isinstance(node, ast.Pass | ast.Assert | ast.ImportFrom):
            return
        translate = getattr(self, f"_{type(node).__name__.lower()}", None)
        if translate is None:
            raise UntranslatableError(node, f"'{ast.unparse(node).splitlines()[0]}' has no translation")
        yield from translate(node)

    def _block(self, nodes: list[ast.stmt]) -> list[str]:
        return indented(line for node in nodes for line in self._statement(node))

    def _functiondef(self, node: ast.FunctionDef) -> Iterator[str]:
        yield f"{name_of(node.name)} = {self.function(node)};"

    def _expr(self, node: ast.Expr) -> Iterator[str]:
        if isinstance(node.value, ast.Yield):
            value = self.expressions.of(node.value.value) if node.value.value else "null"
            yield f"yield {value};"
        elif isinstance(node.value, ast.YieldFrom):
            yield f"yield* $.iter({self.expressions.of(node.value.value)});"
        else:
            yield f"{self.expressions.of(node.value)};"

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
            yield f"$.setAttribute({of(target.value)}, {text_of(target.attr)}, {value});"
        elif isinstance(target, ast.Subscript) and not isinstance(target.slice, ast.Slice):
            yield f"$.setItem({of(target.value)}, {of(target.slice)}, {value});"
        elif isinstance(target, ast.Tuple | ast.List):
            # All of the right side is known before anything on the left is changed.
            names = [f"$part{depth}_{number}" for number in range(len(target.elts))]
            starred = [isinstance(one, ast.Starred) for one in target.elts]
            parts = [f"...{name}" if star else name for name, star in zip(names, starred, strict=True)]
            taken = f"$.unpacked({value}, {len(names)})" if not any(starred) else f"$.iter({value})"
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
        head = f"for (const $each of $.iter({self.expressions.of(node.iter)})) {{"
        yield from self._loop(node, head, [*self._store(node.target, "$each")])

    def _loop(self, node: ast.For | ast.While, head: str, first: list[str]) -> Iterator[str]:
        body = [*indented(first), *self._block(node.body)]
        if not node.orelse:
            yield from [head, *body, "}"]
            return
        # What follows `else` happens unless the loop was left by `break`: then its label is left, too.
        label = f"$loop{node.lineno}"
        yield from [f"{label}: {{", head]
        yield from (line.replace("break;", f"break {label};") for line in body)
        yield "}"
        yield from self._block(node.orelse)
        yield "}"

    def _break(self, _: ast.Break) -> Iterator[str]:
        yield "break;"

    def _continue(self, _: ast.Continue) -> Iterator[str]:
        yield "continue;"

    def _raise(self, node: ast.Raise) -> Iterator[str]:
        yield f"throw {f'$.raised({self.expressions.of(node.exc)})' if node.exc else '$error'};"

    def _with(self, node: ast.With) -> Iterator[str]:
        """Locks: a page has one thread."""
        if any(item.optional_vars for item in node.items):
            raise UntranslatableError(node, "'with ... as' has no translation")
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
