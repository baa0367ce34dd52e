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
from lookup.site.statements import Statements, check_member
from lookup.site.syntax import (
    decorators,
    defines,
    imports,
    indented,
    is_alias,
    is_docstring,
    is_for_commands,
    is_for_types,
    is_remembered,
    loops_over_sets,
    stored,
    yields,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

BUILTINS = words("""
    abs all any bin bool chr dict divmod enumerate filter format frozenset getattr hasattr int
    isinstance iter len list map max min next object ord pow range repr reversed set
    sorted str sum tuple type zip AssertionError Exception IndexError KeyError LookupError
    NotImplementedError AttributeError RuntimeError StopIteration TypeError ValueError ZeroDivisionError
""")
"""What python.js has of Python's own names."""

LIBRARY = {
    "abc": words("ABC"),
    "enum": words("IntEnum"),
    "functools": words("cache cached_property lru_cache reduce"),
    "itertools": words("accumulate chain combinations islice pairwise permutations product repeat"),
    "math": words("comb gcd isqrt prod"),
    "operator": words("xor"),
    "threading": words("Lock"),
    "time": words("monotonic"),
    "typing": words("NamedTuple"),
}
"""What it has of the standard library, by name: `from functools import reduce`."""

MODULES = frozenset(("functools", "inspect", "itertools", "math", "re"))
"""What it has by module: `import re`."""

_NAMES = BUILTINS.union(*LIBRARY.values())

METHODS = words("""
    __name__ __str__ __repr__ _asdict _fields _replace add append bit_count bit_length capitalize center
    clear copy count difference discard endswith extend find format from_iterable fromkeys get index
    insert intersection isalnum isalpha isascii isdecimal isdigit isdisjoint islower isspace issubset
    issuperset isupper items join keys ljust lower lstrip maketrans name partition pop popitem remove
    removeprefix removesuffix replace reverse rfind rindex rjust rpartition rsplit rstrip setdefault
    sort split splitlines startswith strip swapcase symmetric_difference translate union update upper
    value values zfill
    accumulate cache cached_property chain cleandoc comb combinations compile escape findall fullmatch
    gcd group groups isqrt islice lru_cache match pairwise pattern permutations prod product reduce
    repeat search sub
""")
"""What the values of programs can be asked for, and what is taken from modules by a dot."""

SPECIAL = words("""
    __format__ __getitem__ __init__ __iter__ __len__ __neg__ __post_init__ __repr__ __setitem__ __str__
""")
"""Methods that Python calls by itself, as far as python.js does."""

UNNEEDED = frozenset(("abstractmethod", "override"))
"""Decorators that do nothing when a program runs."""


class Module:
    """One Python module, and what of it is wanted.

    `names` are the definitions to translate, all if None, without those in `skipped` (`Class.method`).
    `elsewhere` finds what an import means: the name of the translated module that has it, or None.
    `attributes` are those that imported things have; whatever else is not defined in the module and not
    Python's is refused. None if that is not to be checked.
    """

    def __init__(
        self,
        name: str,
        source: str,
        elsewhere: Callable[[str, str], str | None],
        names: Collection[str] | None = None,
        skipped: Collection[str] = (),
        attributes: Collection[str] | None = None,
    ) -> None:
        self.name = name
        self._tree = ast.parse(source)
        self._names, self._skipped, self._elsewhere = names, skipped, elsewhere
        self._attributes = attributes
        self._mentioned = {node.id for node in ast.walk(self._tree) if isinstance(node, ast.Name)}
        self._defined = set(stored(self._tree))
        self._imports: dict[str, str] = {}
        self._strange: set[str] = set()
        for node in imports(self._tree):
            if isinstance(node, ast.Import):
                self._note_modules(node)
            else:
                self._note_imports(node)
        self._statements = Statements(self._is_known, self._is_attribute)
        self._expressions = self._statements.expressions

    def translated(self) -> str:
        """The JavaScript of the module: a constant named like it, with dots as underlines.

        If something in it fails when it is run, the constant has nothing in it.

        Raises:
            UntranslatableError: something in it has no translation.
        """
        if self._attributes is not None:
            for node in loops_over_sets(self._tree):
                what = f"the order of the set '{ast.unparse(node)}', without 'sorted',"
                raise UntranslatableError(node, what)
        wanted = [node for node in self._tree.body if self._is_wanted(node)]
        body = [line for node in wanted for line in self._top(node)]
        exported = sorted({name_of(name) for node in wanted for name in defines(node)})
        known = (self._mentioned & _NAMES) - set(self._imports) - self._strange
        head = [f"const {name_of(name)} = {value};" for name, value in self._imports.items()]
        head += [f"const {name_of(name)} = $.{name_of(name)};" for name in sorted(known)]
        head = [line for line in head if line.split()[1] not in exported]
        if exported:
            head.append(f"let {', '.join(exported)};")
        lines = indented([*head, *body, f"return {{ {', '.join(exported)} }};"])
        opening = f"const {identifier(self.name)} = $.module({text_of(self.name)}, () => {{"
        return "\n".join([f"// {self.name}", opening, *lines, "});"])

    def _is_known(self, name: str) -> bool:
        if name in self._defined or name in self._imports:
            return True
        return name not in self._strange and name in _NAMES | {"__name__"}

    def _is_attribute(self, name: str) -> bool:
        return (
            self._attributes is None
            or name in METHODS
            or name in self._defined
            or name in self._attributes
        )

    def _is_wanted(self, node: ast.stmt) -> bool:
        unneeded = isinstance(node, ast.Import | ast.ImportFrom) or is_for_types(node)
        if unneeded or is_alias(node) or is_docstring(node) or is_for_commands(node):
            return False
        return self._names is None or any(name in self._names for name in defines(node))

    def _top(self, node: ast.stmt) -> Iterator[str]:
        if isinstance(node, ast.ClassDef):
            yield from self._class(node)
        else:
            yield from self._statements.statement(node)

    def _note_modules(self, node: ast.Import) -> None:
        for one in node.names:
            called = one.asname or one.name
            if one.name in MODULES:
                self._imports[called] = f"$.{one.name}"
            elif one.name == "lookup":
                used = {
                    found.attr: module
                    for found in ast.walk(self._tree)
                    if isinstance(found, ast.Attribute)
                    and ast.unparse(found.value) == called
                    and (module := self._elsewhere("lookup", found.attr))
                }
                facts = [f"{name}: {identifier(home)}.{name}" for name, home in sorted(used.items())]
                self._imports[called] = f"{{ {', '.join(facts)} }}"

    def _note_imports(self, node: ast.ImportFrom) -> None:
        for one in node.names:
            called = one.asname or one.name
            if module := self._elsewhere(node.module or "", one.name):
                self._imports[called] = f"{identifier(module)}.{name_of(one.name)}"
            elif one.name in LIBRARY.get(node.module or "", ()):
                self._imports[called] = f"$.{one.name}"
            else:
                self._strange.add(called)

    # --- classes ----------------------------------------------------------------------------------

    def _class(self, node: ast.ClassDef) -> Iterator[str]:
        bases = [self._expressions.of(base) for base in node.bases]
        if len(bases) > 1 or node.keywords:
            raise UntranslatableError(node, f"the class '{node.name}' with several bases")
        unneeded = {"dataclass", "dataclass_transform", "final"} if bases else {"final"}
        unknown = decorators(node) - unneeded
        if unknown:
            raise UntranslatableError(node, f"the decorator '{min(unknown)}'")
        base = bases[0] if bases else "object"
        methods: list[str] = []
        facts: list[str] = []
        for one in node.body:
            if isinstance(one, ast.FunctionDef):
                if f"{node.name}.{one.name}" not in self._skipped:
                    methods += self._method(node, one)
                    facts.append(f"{one.name}: {self._kind_of(one)}")
            elif not (is_docstring(one) or isinstance(one, ast.Pass)):
                facts += self._members(node, one)
        extends = "$.Object" if base in ("object", "NamedTuple", "IntEnum", "ABC") else base
        kind = {"NamedTuple": "namedTuple", "IntEnum": "intEnum"}.get(base, "class_")
        yield f"{name_of(node.name)} = $.{kind}(class {name_of(node.name)} extends {extends} {{"
        yield from indented(methods)
        yield "}, ($class) => ({"
        yield from indented(f"{fact}," for fact in facts if fact)
        yield "}));"

    def _members(self, owner: ast.ClassDef, node: ast.stmt) -> Iterator[str]:
        """Attributes of a class, or a parameter or field if it is annotated."""
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        names = [target.id for target in targets if isinstance(target, ast.Name)]
        for name in names:
            check_member(node, name)
        if isinstance(node, ast.Assign) and len(names) == len(targets):
            first, *others = names
            yield f"{first}: $.constant({self._inside(owner, node, node.value)})"
            for name in others:
                yield f"{name}: $.constant(() => $.attribute($class, {text_of(first)}))"
        elif isinstance(node, ast.AnnAssign) and names:
            kind = ast.unparse(node.annotation).strip("'\"")
            if not kind.startswith(("ClassVar", "typing.ClassVar")):
                default = f", {self._inside(owner, node, node.value)}" if node.value else ""
                yield f"{names[0]}: $.field({text_of(kind)}{default})"
            elif node.value:
                yield f"{names[0]}: $.constant({self._inside(owner, node, node.value)})"
        else:
            raise UntranslatableError(node, f"'{ast.unparse(node).splitlines()[0]}' in a class")

    def _inside(self, owner: ast.ClassDef, at: ast.stmt, node: ast.expr) -> str:
        """An expression in the body of a class, which may name what was defined there before."""
        before = owner.body[: owner.body.index(at)]
        members = {name for one in before for name in defines(one)}
        if isinstance(node, ast.Name) and node.id in members:
            return f"() => $.attribute($class, {text_of(node.id)})"
        used = {one.id for one in ast.walk(node) if isinstance(one, ast.Name)} & members
        heads = "".join(
            f"const {name_of(name)} = $.attribute($class, {text_of(name)}); " for name in sorted(used)
        )
        value = self._expressions.of(node)
        return f"() => {{ {heads}return {value}; }}" if heads else f"() => ({value})"

    def _method(self, owner: ast.ClassDef, node: ast.FunctionDef) -> list[str]:
        check_member(node, node.name)
        if node.name.startswith("__") and node.name.endswith("__") and node.name not in SPECIAL:
            raise UntranslatableError(node, f"the method '{node.name}'")
        kinds = decorators(node)
        head = "get " if kinds & {"property", "cached_property"} else "*" if yields(node) else ""
        bound = "staticmethod" not in kinds
        positional = [*node.args.posonlyargs, *node.args.args]
        if bound and not positional:
            raise UntranslatableError(node, f"the method '{node.name}' without a parameter")
        members = {name for one in owner.body for name in defines(one)}

        def default(value: ast.expr) -> str:
            """Worked out whenever the method is called: it must be the same every time."""
            names = {one.id for one in ast.walk(value) if isinstance(one, ast.Name)}
            plain = ast.Name | ast.Constant | ast.UnaryOp | ast.Tuple | ast.expr_context | ast.unaryop
            if names & members or not all(isinstance(one, plain) for one in ast.walk(value)):
                raise UntranslatableError(value, f"the default '{ast.unparse(value)}' of a method")
            return self._expressions.of(value)

        parameters = self._expressions.parameters(node.args, default, bound=bound)
        this = "this.prototype ? this : this.constructor" if "classmethod" in kinds else "this"
        first = [f"const {name_of(positional[0].arg)} = {this};"] if bound else []
        body = self._statements.body(node, first)
        return [f"{head}{node.name}{parameters} {{", *body, "}"]

    def _kind_of(self, node: ast.FunctionDef) -> str:
        """How python.js treats a method: what is kept, and what a class has as well as its objects."""
        kinds = decorators(node)
        unknown = kinds - UNNEEDED - {"property", "cached_property", "staticmethod", "classmethod"}
        if unknown - {"cache", "lru_cache"}:
            raise UntranslatableError(node, f"the decorator '{min(unknown)}'")
        names = self._expressions.names(node.args, bound="staticmethod" not in kinds)
        remembered = ", true" if is_remembered(node) else ""
        for kind in ("property", "cached_property", "staticmethod", "classmethod"):
            if kind in kinds:
                return f"$.{kind}({names}{remembered})"
        return f"$.plain({names}{remembered})"


def identifier(module: str) -> str:
    """The name of the constant that holds a module."""
    return module.replace(".", "_").replace("-", "_")
