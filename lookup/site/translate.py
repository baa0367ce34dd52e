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

from lookup.site.expressions import UntranslatableError, name_of, text_of, words
from lookup.site.statements import Statements
from lookup.site.syntax import (
    decorators,
    defines,
    indented,
    is_alias,
    is_docstring,
    is_for_types,
    is_remembered,
    stored,
    yields,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

BUILTINS = words("""
    abs all any bin bool chr dict divmod enumerate filter format frozenset getattr hasattr int
    isinstance iter len list map max min next object ord pow range repr reversed set
    sorted str sum tuple type zip Exception IndexError KeyError LookupError NotImplementedError
    AttributeError RuntimeError StopIteration TypeError ValueError ZeroDivisionError
""")
"""What python.js has of Python's own names."""

LIBRARY = words("""
    ABC IntEnum Lock NamedTuple accumulate cache cached_property chain combinations comb gcd islice
    isqrt lru_cache monotonic pairwise permutations prod product reduce repeat xor
""")
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
        self._defined = set(stored(self._tree))
        self._statements = Statements(self._is_known)
        self._expressions = self._statements.expressions

    def translated(self) -> str:
        """The JavaScript of the module: a constant named like it, with dots as underlines.

        Raises:
            UntranslatableError: something in it has no translation.
        """
        body = [line for node in self._tree.body if self._is_wanted(node) for line in self._top(node)]
        exported = [name for node in self._tree.body if self._is_wanted(node) for name in defines(node)]
        known = (self._mentioned - set(exported)) & (BUILTINS | LIBRARY) - set(self._imports)
        head = [f"const {{ {name_of(name)} }} = {module};" for name, module in self._imports.items()]
        head += [f"const {name_of(name)} = $.{name_of(name)};" for name in sorted(known)]
        returned = ", ".join(map(name_of, exported))
        lines = indented([*head, *body, f"return {{ {returned} }};"])
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
        return any(name in self._names for name in defines(node))

    def _top(self, node: ast.stmt) -> Iterator[str]:
        if isinstance(node, ast.Import | ast.ImportFrom):
            self._note_imports(node)
        elif isinstance(node, ast.ClassDef):
            yield from self._class(node)
        elif isinstance(node, ast.FunctionDef):
            yield f"const {name_of(node.name)} = {self._statements.function(node)};"
        elif isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            if not is_alias(node):
                value = self._expressions.of(node.value)
                yield f"const {self._expressions.target(target)} = {value};"
        elif not (is_docstring(node) or is_for_types(node)):
            raise UntranslatableError(node, f"'{ast.unparse(node).splitlines()[0]}' outside a function")

    def _note_imports(self, node: ast.Import | ast.ImportFrom) -> None:
        for one in node.names:
            called = one.asname or one.name
            if isinstance(node, ast.Import):
                if one.name in MODULES:
                    self._imports[called] = "$"
            elif (module := self._elsewhere(node.module or "", one.name)) and not one.asname:
                self._imports[called] = identifier(module)

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
            elif not (is_docstring(one) or isinstance(one, ast.Pass)):
                facts.append(self._member(node, one))
        extends = "$.Object" if base in ("object", "NamedTuple", "IntEnum", "ABC") else base
        kind = {"NamedTuple": "namedTuple", "IntEnum": "intEnum"}.get(base, "class_")
        yield f"const {name_of(node.name)} = $.{kind}(class {name_of(node.name)} extends {extends} {{"
        yield from indented(methods)
        yield "}, ($class) => ({"
        yield from indented(f"{fact}," for fact in facts if fact)
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
        members = {name for one in owner.body for name in defines(one)}
        if isinstance(node, ast.Name) and node.id in members:
            return f"() => $.attribute($class, {text_of(node.id)})"
        used = {one.id for one in ast.walk(node) if isinstance(one, ast.Name)} & members
        heads = "".join(
            f"const {name_of(name)} = $.attribute($class, {text_of(name)}); " for name in sorted(used)
        )
        value = self._expressions.of(node)
        return f"() => {{ {heads}return {value}; }}" if heads else f"() => ({value})"

    def _method(self, node: ast.FunctionDef) -> list[str]:
        kinds = decorators(node)
        head = "get " if kinds & {"property", "cached_property"} else "*" if yields(node) else ""
        parameters = self._expressions.parameters(node.args)
        if "classmethod" in kinds:
            first = "const cls = this.prototype ? this : this.constructor;"
        else:
            first = "" if "staticmethod" in kinds else "const self = this;"
        body = self._statements.body(node, [first] if first else [])
        return [f"{head}{node.name}{parameters} {{", *body, "}"]

    def _kind_of(self, node: ast.FunctionDef) -> str:
        """How python.js treats a method: what is kept, and what a class has as well as its objects."""
        kinds = decorators(node)
        unknown = kinds - UNNEEDED - {"property", "cached_property", "staticmethod", "classmethod"}
        if unknown - {"cache", "lru_cache"}:
            raise UntranslatableError(node, f"the decorator '{min(unknown)}'")
        names = self._expressions.names(node.args)
        for kind in ("property", "cached_property", "staticmethod", "classmethod"):
            if kind in kinds:
                remembered = ", true" if is_remembered(node) else ""
                return f"$.{kind}({names}{remembered})"
        return f"$.plain({names})"


def identifier(module: str) -> str:
    """The name of the constant that holds a module."""
    return module.replace(".", "_").replace("-", "_")
