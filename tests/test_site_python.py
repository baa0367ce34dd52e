"""Translated Python means the same: a program's functions return the same in both languages."""

from __future__ import annotations

import ast
import inspect
import json
import re
import shutil
import subprocess
from typing import Any

import pytest

from lookup.site.export import SCRIPTS
from lookup.site.expressions import UntranslatableError
from lookup.site.translate import BUILTINS, LIBRARY, MODULES, Module
from tests import translated_program
from tests.conftest import ROOT
from tests.tools import need

FUNCTIONS = [
    name
    for name, found in vars(translated_program).items()
    if inspect.isfunction(found)
    and found.__module__ == translated_program.__name__
    and not inspect.signature(found).parameters
]


def nowhere(module: str, name: str) -> str | None:
    """Nothing is imported but what python.js has."""
    return None


def plain(value: Any) -> Any:
    """A value as program_driver.mjs writes it."""
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    if type(value) is int and abs(value) > (1 << 53) - 1:
        return {"big": str(value)}
    return value


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    need("nodejs")
    folder = tmp_path_factory.mktemp("program")
    shutil.copytree(SCRIPTS, folder, dirs_exist_ok=True)
    program = Module("program", inspect.getsource(translated_program), nowhere).translated()
    text = f'import * as $ from "./python.js";\n{program}\nexport default program;\n'
    (folder / "program.js").write_text(text, "utf-8")
    (folder / "package.json").write_text('{"type": "module"}')
    command = ["node", str(ROOT / "tests" / "program_driver.mjs"), str(folder)]
    ran = subprocess.run(
        command, input="\n".join(FUNCTIONS), capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr
    return dict(zip(FUNCTIONS, map(json.loads, ran.stdout.splitlines()), strict=True))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_translated_function_returns_the_same(answers: dict[str, Any], name: str) -> None:
    expected = json.loads(json.dumps(plain(getattr(translated_program, name)())))
    found = answers[name]
    assert len(found) == len(expected)
    for at, (one, other) in enumerate(zip(found, expected, strict=True)):
        assert one == other, at


REFUSED = {
    "1 / 2": "the operator of '1 / 2'",
    "open('x')": "the name 'open'",
    "eval('1')": "the name 'eval'",
    "1.5": "the constant 1.5",
    "[*a, (yield)]": "'(yield)' has no translation",
    "await a": "'await a' has no translation",
}


@pytest.mark.parametrize("expression", REFUSED)
def test_what_has_no_translation_is_refused_by_line(expression: str) -> None:
    source = f"def fine(a):\n    return a\n\n\ndef bad(a):\n    return {expression}\n"
    with pytest.raises(UntranslatableError) as caught:
        Module("program", source, nowhere).translated()
    assert (caught.value.line, caught.value.what) == (6, REFUSED[expression])


@pytest.mark.parametrize(
    "statement",
    [
        "async def f(): pass",
        "def f():\n    with a as b: pass",
        "def f():\n    global a",
        "class A(B, C): pass",
        "def f(**words): pass",
        "class A:\n    @decorated\n    def f(self): pass",
        "def f():\n    with suppress(ValueError): pass",
        "class A:\n    def __eq__(self, other): pass",
        "class A:\n    def constructor(self): pass",
        "class A:\n    x = 1\n    def f(self, y=x): pass",
        "class A:\n    def f(self, known={}): pass",
        "@dataclass\nclass A:\n    x: int",
        "def f(*a, b=1): pass",
        "from mine import gcd\nb = gcd(1, 2)",
        "def f(b): return '%d' % b",
        "def f(b): return f'{b!a}'",
        "def f(b): return b.title()",
        "def f(b):\n    c = {*b} | {1}\n    for one in c: pass",
        "def f(b): return [one for one in set(b)]",
        "def f():\n    try: a\n    except ValueError: a\n    else: a",
    ],
)
def test_statements_without_a_translation_are_refused(statement: str) -> None:
    ast.parse(statement)
    source = f"a = 1\nB = C = object\n{statement}\n"
    with pytest.raises(UntranslatableError):
        Module("program", source, nowhere, attributes=()).translated()


def test_all_names_that_are_translated_are_there() -> None:
    scripts = "".join(script.read_text("utf-8") for script in SCRIPTS.glob("python*.js"))
    exported = set(re.findall(r"^export (?:const|class|function\*?) (\w+)", scripts, re.MULTILINE))
    for listed in re.findall(r"^export \{([^}]*)\}", scripts, re.MULTILINE):
        exported |= {name.split(" as ")[-1].strip() for name in listed.split(",")}
    syntax = {"IntEnum", "NamedTuple"}  # bases of classes, which the translation knows itself
    assert not BUILTINS.union(MODULES, *LIBRARY.values()) - syntax - exported
