"""Python's expressions as JavaScript: see `translate.py`."""

from __future__ import annotations

import ast
import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

LARGEST_EXACT = (1 << 53) - 1
"""Larger integers are BigInt in JavaScript; python.js changes between the two by itself."""

OPERATORS: dict[type[ast.AST], str] = {
    ast.Add: "add",
    ast.Sub: "sub",
    ast.Mult: "mul",
    ast.FloorDiv: "floordiv",
    ast.Mod: "mod",
    ast.Pow: "pow",
    ast.LShift: "lshift",
    ast.RShift: "rshift",
    ast.BitAnd: "and",
    ast.BitOr: "or",
    ast.BitXor: "xor",
}
COMPARISONS: dict[type[ast.AST], str] = {
    ast.Eq: "$.eq({}, {})",
    ast.NotEq: "!$.eq({}, {})",
    ast.Lt: "$.lt({}, {})",
    ast.Gt: "$.lt({1}, {0})",
    ast.LtE: "$.le({}, {})",
    ast.GtE: "$.le({1}, {0})",
    ast.In: "$.contains({1}, {0})",
    ast.NotIn: "!$.contains({1}, {0})",
    ast.Is: "{} === {}",
    ast.IsNot: "{} !== {}",
}


def words(text: str) -> frozenset[str]:
    """The words of a text."""
    return frozenset(text.split())


RESERVED = words("""
    arguments await break case catch class const continue debugger default delete do else enum eval
    export extends false finally for function if implements import in instanceof interface let new
    null package private protected public return static super switch this throw true try typeof
    undefined var void while with yield
""")


class UntranslatableError(Exception):
    """Python that has no translation here; says which line, and what it is."""

    def __init__(self, node: ast.AST, what: str) -> None:
        self.line = getattr(node, "lineno", 0)
        self.what = what
        super().__init__(f"line {self.line}: {what}")


def name_of(name: str) -> str:
    """A name that JavaScript can have, too; no name of Python's has a `$`."""
    return f"${name}" if name in RESERVED else name


def text_of(text: str) -> str:
    """A string literal."""
    return json.dumps(text)


class Expressions:
    """Translates expressions.

    `known` says whether a name means something where it stands, `has` whether anything that programs
    meet has an attribute.
    """

    def __init__(self, known: Callable[[str], bool], has: Callable[[str], bool]) -> None:
        self._known, self._has = known, has

    def of(self, node: ast.expr) -> str:
        """The JavaScript of an expression.

        Raises:
            UntranslatableError: there is none.
        """
        translate = getattr(self, f"_{type(node).__name__.lower()}", None)
        if translate is None:
            raise UntranslatableError(node, f"'{ast.unparse(node)}' has no translation")
        return str(translate(node))

    def truth(self, node: ast.expr) -> str:
        """An expression of which only the truth is wanted."""
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            return f"!{self._operand(node.operand)}"
        if isinstance(node, ast.BoolOp):
            sign = " && " if isinstance(node.op, ast.And) else " || "
            return f"({sign.join(self.truth(value) for value in node.values)})"
        if isinstance(node, ast.Compare):
            return self.of(node)
        return f"$.truth({self.of(node)})"

    def _operand(self, node: ast.expr) -> str:
        return f"({self.truth(node)})"

    def all_of(self, nodes: Sequence[ast.expr]) -> str:
        """Several, as the elements of a list or the arguments of a call."""
        return ", ".join(self.of(node) for node in nodes)

    def target(self, node: ast.expr) -> str:
        """What is assigned to, where JavaScript can take it apart itself: names, and lists of them."""
        if isinstance(node, ast.Name):
            return name_of(node.id)
        if isinstance(node, ast.Tuple | ast.List):
            return f"[{', '.join(self.target(one) for one in node.elts)}]"
        if isinstance(node, ast.Starred):
            return f"...{self.target(node.value)}"
        raise UntranslatableError(node, f"an assignment to '{ast.unparse(node)}' here")

    # --- literals ---------------------------------------------------------------------------------

    def _constant(self, node: ast.Constant) -> str:
        value = node.value
        if value is None:
            return "null"
        if isinstance(value, bool):
            return "true" if value else "false"
        if isinstance(value, str):
            return text_of(value)
        if isinstance(value, int):
            return str(value) if value <= LARGEST_EXACT else f"{value}n"
        raise UntranslatableError(node, f"the constant {value!r}")

    def _name(self, node: ast.Name) -> str:
        if not self._known(node.id):
            raise UntranslatableError(node, f"the name '{node.id}'")
        return name_of(node.id)

    def _tuple(self, node: ast.Tuple) -> str:
        return f"$.tupleOf([{self.all_of(node.elts)}])"

    def _list(self, node: ast.List) -> str:
        return f"[{self.all_of(node.elts)}]"

    def _set(self, node: ast.Set) -> str:
        return f"$.set([{self.all_of(node.elts)}])"

    def _dict(self, node: ast.Dict) -> str:
        items = [
            f"...$.items({self.of(value)})" if key is None else f"[{self.of(key)}, {self.of(value)}]"
            for key, value in zip(node.keys, node.values, strict=True)
        ]
        return f"$.dict([{', '.join(items)}])"

    def _starred(self, node: ast.Starred) -> str:
        return f"...$.each({self.of(node.value)})"

    def _joinedstr(self, node: ast.JoinedStr) -> str:
        parts = [self.of(part) for part in node.values]
        return f"[{', '.join(parts)}].join('')" if parts else '""'

    def _formattedvalue(self, node: ast.FormattedValue) -> str:
        value = self.of(node.value)
        if node.conversion == ord("a"):
            raise UntranslatableError(node, "'!a' in a text")
        if node.conversion in (ord("r"), ord("s")):
            value = f"$.{'repr' if node.conversion == ord('r') else 'str'}({value})"
        return f"$.format({value}, {self.of(node.format_spec) if node.format_spec else text_of('')})"

    # --- operators --------------------------------------------------------------------------------

    def _binop(self, node: ast.BinOp) -> str:
        if (operator := OPERATORS.get(type(node.op))) is None:
            raise UntranslatableError(node, f"the operator of '{ast.unparse(node)}'")
        if operator == "mod" and _is_text(node.left):
            raise UntranslatableError(
                node, f"'{ast.unparse(node)}', a text with values put into it by %"
            )
        return f"$.{operator}({self.of(node.left)}, {self.of(node.right)})"

    def augmented(self, node: ast.AugAssign, old: str) -> str:
        """The new value of what `+=` and the like change."""
        if (operator := OPERATORS.get(type(node.op))) is None:
            raise UntranslatableError(node, f"the operator of '{ast.unparse(node)}'")
        in_place = "i" if operator in ("add", "sub", "mul", "and", "or", "xor") else ""
        return f"$.{in_place}{operator}({old}, {self.of(node.value)})"

    def _unaryop(self, node: ast.UnaryOp) -> str:
        if isinstance(node.op, ast.Not):
            return self.truth(node)
        operators: dict[type[ast.AST], str] = {ast.USub: "neg", ast.Invert: "invert", ast.UAdd: "pos"}
        return f"$.{operators[type(node.op)]}({self.of(node.operand)})"

    def _boolop(self, node: ast.BoolOp) -> str:
        *others, last = node.values
        found = self.of(last)
        for value in reversed(others):
            word = "both" if isinstance(node.op, ast.And) else "either"
            found = f"$.{word}({self.of(value)}, () => {found})"
        return found

    def _compare(self, node: ast.Compare) -> str:
        if len(node.ops) == 1:
            return self._compared(node.ops[0], self.of(node.left), self.of(node.comparators[0]))
        # What stands in the middle is worked out once, and what follows only if it is needed.
        found = ""
        for number in reversed(range(len(node.ops))):
            left, right = f"$v{number}", f"$v{number + 1}"
            test = self._compared(node.ops[number], left, right)
            further = f" && {found}" if found else ""
            operand = self.of(node.comparators[number])
            found = f"(({right}) => {test}{further})({operand})"
        return f"(($v0) => {found})({self.of(node.left)})"

    def _compared(self, operator: ast.cmpop, left: str, right: str) -> str:
        return COMPARISONS[type(operator)].format(left, right)

    def _ifexp(self, node: ast.IfExp) -> str:
        return f"({self.truth(node.test)} ? {self.of(node.body)} : {self.of(node.orelse)})"

    def _namedexpr(self, node: ast.NamedExpr) -> str:
        return f"({name_of(node.target.id)} = {self.of(node.value)})"

    # --- parts of objects -------------------------------------------------------------------------

    def _attribute(self, node: ast.Attribute) -> str:
        if _is_super(node.value):
            return f"super.{node.attr}"
        return f"$.attribute({self.of(node.value)}, {self._attribute_name(node)})"

    def _attribute_name(self, node: ast.Attribute) -> str:
        if not self._has(node.attr):
            raise UntranslatableError(node, f"the attribute '{node.attr}'")
        return text_of(node.attr)

    def _subscript(self, node: ast.Subscript) -> str:
        value = self.of(node.value)
        if isinstance(node.slice, ast.Slice):
            ends = (node.slice.lower, node.slice.upper, node.slice.step)
            return f"$.slice({value}, {', '.join(self.of(one) if one else 'null' for one in ends)})"
        return f"$.item({value}, {self.of(node.slice)})"

    # --- functions --------------------------------------------------------------------------------

    def _call(self, node: ast.Call) -> str:
        function = node.func
        if isinstance(function, ast.Name) and function.id == "cast" and not self._known("cast"):
            return self.of(node.args[1])  # which is for those who check types
        arguments = self.all_of(node.args)
        words = self._keywords(node)
        if isinstance(function, ast.Attribute):
            if _is_super(function.value):
                if words:
                    raise UntranslatableError(node, f"'{ast.unparse(node)}', with arguments by name")
                return f"super.{function.attr}({arguments})"
            given = f"{self.of(function.value)}, {self._attribute_name(function)}, [{arguments}]"
            return f"$.method({given}{words})"
        return f"$.call({self.of(function)}, [{arguments}]{words})"

    def _keywords(self, node: ast.Call) -> str:
        if not node.keywords:
            return ""
        words = [
            f"...$.words({self.of(one.value)})"
            if one.arg is None
            else f"{text_of(one.arg)}: {self.of(one.value)}"
            for one in node.keywords
        ]
        return f", {{{', '.join(words)}}}"

    def _lambda(self, node: ast.Lambda) -> str:
        rest = f"$.tupleOf({name_of(node.args.vararg.arg)}), " if node.args.vararg else ""
        return self.function(node.args, "{} => " + f"({rest}{self.of(node.body)})")

    def function(self, arguments: ast.arguments, body: str) -> str:
        """A function as a value; `body` has a place for its parameters.

        Defaults are worked out where a function is defined, and not again when it is called.
        """
        defaults = [one for one in (*arguments.defaults, *arguments.kw_defaults) if one]
        named = [f"$default{number}" for number in range(len(defaults))]
        left = iter(named)
        written = body.replace("{}", self.parameters(arguments, lambda _: next(left)), 1)
        made = f"$.function({self.names(arguments)}, {written})"
        return f"(({', '.join(named)}) => {made})({self.all_of(defaults)})" if named else made

    def names(self, arguments: ast.arguments, *, bound: bool = False) -> str:
        """The names of a function's parameters, for calls that use them; of a method but the first."""
        every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
        return json.dumps([one.arg for one in every[bound:]])

    def parameters(
        self, arguments: ast.arguments, default: Callable[[ast.expr], str], *, bound: bool = False
    ) -> str:
        """The parameters of a function, with their defaults; of a method but the first."""
        if arguments.kwarg:
            raise UntranslatableError(arguments.kwarg, f"the parameter '**{arguments.kwarg.arg}'")
        if arguments.vararg and arguments.kwonlyargs:
            name = arguments.kwonlyargs[0].arg
            raise UntranslatableError(arguments.vararg, f"the parameter '{name}' after a '*'")
        plain = [*arguments.posonlyargs, *arguments.args]
        defaults: list[Any] = [None] * (len(plain) - len(arguments.defaults)) + arguments.defaults
        pairs = [*zip(plain, defaults, strict=True)]
        pairs += zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
        written = [
            name_of(one.arg) if value is None else f"{name_of(one.arg)} = {default(value)}"
            for one, value in pairs[bound:]
        ]
        if arguments.vararg:
            written.append(f"...{name_of(arguments.vararg.arg)}")
        return f"({', '.join(written)})"

    # --- comprehensions ---------------------------------------------------------------------------

    def _listcomp(self, node: ast.ListComp) -> str:
        return f"[...{self._generated(node.generators, self.of(node.elt))}]"

    def _setcomp(self, node: ast.SetComp) -> str:
        return f"$.set({self._generated(node.generators, self.of(node.elt))})"

    def _dictcomp(self, node: ast.DictComp) -> str:
        pair = f"[{self.of(node.key)}, {self.of(node.value)}]"
        return f"$.dict({self._generated(node.generators, pair)})"

    def _generatorexp(self, node: ast.GeneratorExp) -> str:
        return self._generated(node.generators, self.of(node.elt))

    def _generated(self, generators: list[ast.comprehension], element: str) -> str:
        """A generator; its variables are its own, and one for all rounds."""
        first, *_ = generators
        bound = {
            name_of(name.id)
            for one in generators
            for name in ast.walk(one.target)
            if isinstance(name, ast.Name)
        }
        head, tail = f"let {', '.join(sorted(bound))}; ", ""
        for number, one in enumerate(generators):
            source = "$source" if number == 0 else self.of(one.iter)
            head += f"for ({self.target(one.target)} of $.each({source})) {{ "
            head += "".join(f"if ({self.truth(test)}) {{ " for test in one.ifs)
            tail += " }" * (1 + len(one.ifs))
        body = f"function* ($source) {{ {head}yield {element};{tail} }}"
        return f"$.generate({body}, {self.of(first.iter)})"


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.JoinedStr) or (
        isinstance(node, ast.Constant) and isinstance(node.value, str)
    )


def _is_super(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "super"
