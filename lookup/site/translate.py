"""Python as JavaScript: the rules of games, for a page that has no server to ask.

Rules exist once. `lookup` interprets them, `builder` compiles the very same functions, and this
translates them, with the texts, the formulas and the order of moves, when a site is written. What comes
out asks `static/python.js` for everything in which the two languages differ: integers of any size,
slices, what is true, how a number is written. It is a translation of what games are written in, not of
all Python; what it does not know it refuses by name and line.

    a module       a function that is called once and returns what it defines
    a function     the same; its local names are declared at its head, since Python has no blocks
    a class        a class; properties are getters, cached ones keep what they found
    int            a number, and a BigInt beyond 2^53
    list, tuple    an array
    dict, set      objects of python.js, whose keys may be tuples
    None           null
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from lookup.site.expressions import Expressions, UntranslatableError, name_of, text_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

BUILTINS = frozenset(
    [
        "abs",
        "all",
        "any",
        "bin",
        "bool",
        "chr",
        "dict",
        "divmod",
        "enumerate",
        "filter",
        "format",
        "getattr",
        "hasattr",
        "int",
        "isinstance",
        "iter",
        "len",
        "list",
        "map",
        "max",
        "min",
        "next",
        "object",
        "ord",
        "pow",
        "print",
        "range",
        "repr",
        "reversed",
        "round",
        "set",
        "sorted",
        "str",
        "sum",
        "tuple",
        "type",
        "zip",
        "Exception",
        "IndexError",
        "KeyError",
        "LookupError",
        "NotImplementedError",
        "RuntimeError",
        "TypeError",
        "ValueError",
        "frozenset",
    ]
)
"""What python.js has of Python's own names."""

LIBRARY = frozenset(
    [
        "ABC",
        "IntEnum",
        "Lock",
        "NamedTuple",
        "accumulate",
        "cache",
        "cached_property",
        "chain",
        "combinations",
        "comb",
        "gcd",
        "islice",
        "isqrt",
        "lru_cache",
        "monotonic",
        "pairwise",
        "permutations",
        "prod",
        "product",
        "reduce",
        "repeat",
        "xor",
    ]
)
"""What it has of the standard library, by name: `from functools import reduce`."""

MODULES = frozenset(("functools", "inspect", "itertools", "math", "re"))
"""What it has by module: `import re`."""

UNNEEDED = frozenset(("abstractmethod", "override"))
"""Decorators that do nothing when a program runs."""


class Module:
    """One Python module, and what of it is wanted.

    `names` are the definitions to translate, all if None, without those in `skipped` (`Class.method`).
    `elsewhere` finds what an import means: the name of the translated module that has it, or None.
    """

    def __init__(
        self,
        name: str,
        source: str,
        elsewhere: Callable[[str, str], str | None],
        names: Collection[str] | None = None,
        skipped: Collection[str] = (),
    ) -> None:
        self.name = name
        self._tree = ast.parse(source)
        self._names, self._skipped, self._elsewhere = names, skipped, elsewhere
        self._imports: dict[str, str] = {}
        self._mentioned = {node.id for node in ast.walk(self._tree) if isinstance(node, ast.Name)}
        self._defined = set(_stored(self._tree))
        self._expressions = Expressions(self._is_known)

    def translated(self) -> str:
        """The JavaScript of the module: a constant named like it, with dots as underlines.

        Raises:
            UntranslatableError: something in it has no translation.
        """
        body = [line for node in self._tree.body if self._is_wanted(node) for line in self._top(node)]
        exported = [
            name for node in self._tree.body if self._is_wanted(node) for name in _defines(node)
        ]
        known = (self._mentioned - set(exported)) & (BUILTINS | LIBRARY) - set(self._imports)
        head = [f"const {{ {name_of(name)} }} = {module};" for name, module in self._imports.items()]
        head += [f"const {name_of(name)} = $.{name_of(name)};" for name in sorted(known)]
        returned = ", ".join(map(name_of, exported))
        lines = _indented([*head, *body, f"return {{ {returned} }};"])
        return "\n".join(
            [f"// {self.name}", f"const {identifier(self.name)} = (() => {{", *lines, "})();"]
        )

    def _is_known(self, name: str) -> bool:
        return (
            name in self._defined or name in self._imports or name in BUILTINS | LIBRARY | {"__name__"}
        )

    def _is_wanted(self, node: ast.stmt) -> bool:
        if isinstance(node, ast.Import | ast.ImportFrom) or self._names is None:
            return True
        return any(name in self._names for name in _defines(node))

    def _top(self, node: ast.stmt) -> Iterator[str]:
        if isinstance(node, ast.Import | ast.ImportFrom):
            self._note_imports(node)
        elif isinstance(node, ast.ClassDef):
            yield from self._class(node)
        elif isinstance(node, ast.FunctionDef):
            yield f"const {name_of(node.name)} = {self._function(node)};"
        elif isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            if not _is_alias(node):
                value = self._expressions.of(node.value)
                yield f"const {self._expressions.target(target)} = {value};"
        elif not (_is_docstring(node) or _is_for_types(node)):
            raise UntranslatableError(node, f"'{ast.unparse(node).splitlines()[0]}' outside a function")

    def _note_imports(self, node: ast.Import | ast.ImportFrom) -> None:
        for one in node.names:
            called = one.asname or one.name
            if isinstance(node, ast.Import):
                if one.name in MODULES:
                    self._imports[called] = "$"
            elif (module := self._elsewhere(node.module or "", one.name)) and not one.asname:
                self._imports[called] = identifier(module)

    # --- functions --------------------------------------------------------------------------------

    def _function(self, node: ast.FunctionDef) -> str:
        """A function as a value; decorators that remember what it returned are kept."""
        parameters, names = self._expressions.parameters(node.args), self._expressions.names(node.args)
        body = "\n".join(self._body(node))
        is_generator = _yields(node)
        arrow = f"function* {parameters}" if is_generator else f"{parameters} =>"
        written = f"$.function({names}, {arrow} {{\n{body}\n}})"
        return f"$.remembered({written})" if _is_remembered(node) else written

    def _body(self, node: ast.FunctionDef, first: Iterable[str] = ()) -> list[str]:
        arguments = node.args
        given = {one.arg for one in [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]}
        given |= {one.arg for one in (arguments.vararg, arguments.kwarg) if one}
        local = sorted({name for one in node.body for name in _assigned(one)} - given)
        lines = [*first]
        if local:
            lines.append(f"let {', '.join(map(name_of, local))};")
        lines += [line for one in node.body for line in self._statement(one)]
        return _indented(lines)

    # --- statements -------------------------------------------------------------------------------

    def _statement(self, node: ast.stmt) -> Iterator[str]:
        if _is_docstring(node) or isinstance(node, ast.Pass | ast.Assert | ast.ImportFrom):
            return
        translate = getattr(self, f"_{type(node).__name__.lower()}", None)
        if translate is None:
            raise UntranslatableError(node, f"'{ast.unparse(node).splitlines()[0]}' has no translation")
        yield from translate(node)

    def _block(self, nodes: list[ast.stmt]) -> list[str]:
        return _indented(line for node in nodes for line in self._statement(node))

    def _functiondef(self, node: ast.FunctionDef) -> Iterator[str]:
        yield f"{name_of(node.name)} = {self._function(node)};"

    def _expr(self, node: ast.Expr) -> Iterator[str]:
        if isinstance(node.value, ast.Yield):
            value = self._expressions.of(node.value.value) if node.value.value else "null"
            yield f"yield {value};"
        elif isinstance(node.value, ast.YieldFrom):
            yield f"yield* $.iter({self._expressions.of(node.value.value)});"
        else:
            yield f"{self._expressions.of(node.value)};"

    def _return(self, node: ast.Return) -> Iterator[str]:
        yield f"return {self._expressions.of(node.value) if node.value else 'null'};"

    def _assign(self, node: ast.Assign) -> Iterator[str]:
        value = self._expressions.of(node.value)
        if len(node.targets) == 1:
            yield from self._store(node.targets[0], value)
            return
        yield f"{{ const $value = {value};"
        for target in node.targets:
            yield from self._store(target, "$value")
        yield "}"

    def _annassign(self, node: ast.AnnAssign) -> Iterator[str]:
        if node.value is not None:
            yield from self._store(node.target, self._expressions.of(node.value))

    def _store(self, target: ast.expr, value: str, depth: int = 0) -> Iterator[str]:
        of = self._expressions.of
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
        of, target = self._expressions.of, node.target
        if isinstance(target, ast.Subscript) and not isinstance(target.slice, ast.Slice):
            yield f"{{ const $owner = {of(target.value)}, $at = {of(target.slice)};"
            yield f"$.setItem($owner, $at, {self._expressions.augmented(node, '$.item($owner, $at)')}); }}"
            return
        yield from self._store(target, self._expressions.augmented(node, of(_loaded(target))))

    def _delete(self, node: ast.Delete) -> Iterator[str]:
        for target in node.targets:
            if not isinstance(target, ast.Subscript) or isinstance(target.slice, ast.Slice):
                raise UntranslatableError(node, f"'{ast.unparse(node)}' has no translation")
            of = self._expressions.of
            yield f"$.deleteItem({of(target.value)}, {of(target.slice)});"

    def _if(self, node: ast.If) -> Iterator[str]:
        yield f"if ({self._expressions.truth(node.test)}) {{"
        yield from self._block(node.body)
        if node.orelse:
            yield "} else {"
            yield from self._block(node.orelse)
        yield "}"

    def _while(self, node: ast.While) -> Iterator[str]:
        yield from self._loop(node, f"while ({self._expressions.truth(node.test)}) {{", [])

    def _for(self, node: ast.For) -> Iterator[str]:
        head = f"for (const $each of $.iter({self._expressions.of(node.iter)})) {{"
        yield from self._loop(node, head, [*self._store(node.target, "$each")])

    def _loop(self, node: ast.For | ast.While, head: str, first: list[str]) -> Iterator[str]:
        body = [*_indented(first), *self._block(node.body)]
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
        yield f"throw {f'$.raised({self._expressions.of(node.exc)})' if node.exc else '$error'};"

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
                kind = self._expressions.of(handler.type) if handler.type else "Exception"
                yield f"  if ($.isinstance($.raised($error), {kind})) {{"
                if handler.name:
                    yield f"    {name_of(handler.name)} = $.raised($error);"
                yield from _indented(self._block(handler.body))
                yield "  } else"
            yield "  throw $error;"
        if node.finalbody:
            yield "} finally {"
            yield from self._block(node.finalbody)
        yield "}"

    # --- classes ----------------------------------------------------------------------------------

    def _class(self, node: ast.ClassDef) -> Iterator[str]:
        bases = [self._expressions.of(base) for base in node.bases]
        if len(bases) > 1 or node.keywords:
            raise UntranslatableError(node, f"the class '{node.name}' with several bases")
        base = bases[0] if bases else "object"
        methods: list[str] = []
        facts: list[str] = []
        for one in node.body:
            if isinstance(one, ast.FunctionDef):
                if f"{node.name}.{one.name}" not in self._skipped:
                    methods += self._method(one)
                    facts.append(f"{one.name}: {self._kind_of(one)}")
            elif not (_is_docstring(one) or isinstance(one, ast.Pass)):
                facts.append(self._member(node, one))
        extends = "$.Object" if base in ("object", "NamedTuple", "IntEnum", "ABC") else base
        kind = {"NamedTuple": "namedTuple", "IntEnum": "intEnum"}.get(base, "class_")
        yield f"const {name_of(node.name)} = $.{kind}(class {name_of(node.name)} extends {extends} {{"
        yield from _indented(methods)
        yield "}, ($class) => ({"
        yield from _indented(f"{fact}," for fact in facts if fact)
        yield "}));"

    def _member(self, owner: ast.ClassDef, node: ast.stmt) -> str:
        """An attribute of a class, or a parameter or field if it is annotated."""
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            return f"{node.targets[0].id}: $.constant({self._inside(owner, node.value)})"
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            if ast.unparse(node.annotation).startswith(("ClassVar", "typing.ClassVar")):
                if node.value is None:
                    return ""
                return f"{node.target.id}: $.constant({self._inside(owner, node.value)})"
            kind = text_of(ast.unparse(node.annotation).strip("'\""))
            default = f", {self._inside(owner, node.value)}" if node.value else ""
            return f"{node.target.id}: $.field({kind}{default})"
        raise UntranslatableError(node, f"'{ast.unparse(node).splitlines()[0]}' in a class")

    def _inside(self, owner: ast.ClassDef, node: ast.expr) -> str:
        """An expression in the body of a class, which may name what was defined there before."""
        members = {name for one in owner.body for name in _defines(one)}
        if isinstance(node, ast.Name) and node.id in members:
            return f"() => $.attribute($class, {text_of(node.id)})"
        used = {one.id for one in ast.walk(node) if isinstance(one, ast.Name)} & members
        heads = "".join(
            f"const {name_of(name)} = $.attribute($class, {text_of(name)}); " for name in sorted(used)
        )
        value = self._expressions.of(node)
        return f"() => {{ {heads}return {value}; }}" if heads else f"() => ({value})"

    def _method(self, node: ast.FunctionDef) -> list[str]:
        kinds = _decorators(node)
        head = "get " if kinds & {"property", "cached_property"} else "*" if _yields(node) else ""
        parameters = self._expressions.parameters(node.args)
        if "classmethod" in kinds:
            first = "const cls = this.prototype ? this : this.constructor;"
        else:
            first = "" if "staticmethod" in kinds else "const self = this;"
        body = self._body(node, [first] if first else [])
        return [f"{head}{node.name}{parameters} {{", *body, "}"]

    def _kind_of(self, node: ast.FunctionDef) -> str:
        """How python.js treats a method: what is kept, and what a class has as well as its objects."""
        kinds = _decorators(node)
        unknown = kinds - UNNEEDED - {"property", "cached_property", "staticmethod", "classmethod"}
        if unknown - {"cache", "lru_cache"}:
            raise UntranslatableError(node, f"the decorator '{sorted(unknown)[0]}'")
        names = self._expressions.names(node.args)
        for kind in ("property", "cached_property", "staticmethod", "classmethod"):
            if kind in kinds:
                remembered = ", true" if _is_remembered(node) else ""
                return f"$.{kind}({names}{remembered})"
        return f"$.plain({names})"


def identifier(module: str) -> str:
    """The name of the constant that holds a module."""
    return module.replace(".", "_").replace("-", "_")


def _indented(lines: Iterable[str]) -> list[str]:
    return [f"  {line}" for line in lines]


def _decorators(node: ast.FunctionDef) -> set[str]:
    """The names of a function's decorators, without their arguments."""
    calls = [one.func if isinstance(one, ast.Call) else one for one in node.decorator_list]
    return {one.attr if isinstance(one, ast.Attribute) else ast.unparse(one) for one in calls}


def _is_remembered(node: ast.FunctionDef) -> bool:
    return bool(_decorators(node) & {"cache", "lru_cache"})


def _is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _is_for_types(node: ast.stmt) -> bool:
    """`if TYPE_CHECKING:`, which no program runs."""
    return isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING")


def _is_alias(node: ast.Assign | ast.AnnAssign) -> bool:
    """The name of a type, which no program needs."""
    return isinstance(node, ast.AnnAssign) and "TypeAlias" in ast.unparse(node.annotation)


def _yields(node: ast.FunctionDef) -> bool:
    return any(isinstance(one, ast.Yield | ast.YieldFrom) for one in _own(node))


def _own(node: ast.AST) -> Iterator[ast.AST]:
    """What belongs to a function itself: not to functions and comprehensions inside."""
    for child in ast.iter_child_nodes(node):
        yield child
        if not isinstance(child, ast.FunctionDef | ast.Lambda):
            yield from _own(child)


def _assigned(node: ast.stmt) -> Iterator[str]:
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


def _stored(tree: ast.AST) -> Iterator[str]:
    """All names that anything in a module is given."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.ExceptHandler) and node.name:
            yield node.name


def _defines(node: ast.stmt) -> list[str]:
    """The names that a statement at the top of a module, or in the body of a class, defines."""
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return [node.name]
    if isinstance(node, ast.Assign):
        return [one.id for one in ast.walk(node.targets[0]) if isinstance(one, ast.Name)]
    if isinstance(node, ast.AnnAssign) and node.value is not None and not _is_alias(node):
        return [ast.unparse(node.target)]
    return []


def _loaded(target: ast.expr) -> ast.expr:
    """The same place, as something that is read."""
    return ast.parse(ast.unparse(target), mode="eval").body


def translated(modules: Mapping[str, Module]) -> str:
    """Modules, each after those it needs, as one text; the caller adds what is exported."""
    return "\n\n".join(module.translated() for module in modules.values())
