"""Rules as methods: compiled as they stand, and once; where that cannot be, interpreted."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import numpy as np
import pytest

from builder.binding import UnboundError, bound
from builder.build import build_table
from builder.compile import Engine, rule
from builder.fallback import InterpretedWarning, engine_for, first_problem, rules_of
from lookup import GameError, open_table
from tests.commands import one_line, run, run_apart
from tests.conftest import ROOT, same_values
from tests.own_games import SUBTRACT, own_game, write_game

if TYPE_CHECKING:
    from pathlib import Path

    from lookup import Game

ELABORATE = '''
from lookup import Game, Outcome

STEPS = [1, 3, 4]


def smaller(a, b):
    return a if a < b else b


class Elaborate(Game):
    """Take 1, 3 or 4; methods, constants of the class, lists, helpers, outcomes by name."""

    heap: int = 30
    max_moves = 3
    start = 0
    bonus = (0, 0, 1)

    @property
    def size(self):
        return self.heap + 1

    @property
    def largest(self):
        return smaller(self.heap, 4)

    def fits(self, index, step):
        return step <= index and step <= self.largest

    def successors(self, index, out):
        """A docstring."""
        count: int = 0
        for step in STEPS:
            if self.fits(index, step):
                out[count] = index - step + self.bonus[0]
                count += self.bonus[2]
        return count

    def terminal(self, index):
        return Outcome.LOSS if index == 0 else 0
'''


def test_methods_are_bound_to_constants(tmp_path: Path) -> None:
    game = own_game(tmp_path, ELABORATE)
    plain = bound(game.successors)
    out = [0] * 3
    assert (plain(5, out), out) == (3, [4, 2, 1])
    assert plain.__code__.co_filename == str(tmp_path / "own.py"), "errors name the user's file"
    assert (
        plain.__code__.co_firstlineno == ELABORATE[: ELABORATE.index("def successors")].count("\n") + 1
    )


def test_compiled_methods_are_the_interpreted_ones(tmp_path: Path) -> None:
    game = own_game(tmp_path, ELABORATE)
    assert first_problem(game) is None
    room = np.zeros(3, np.int64)
    for name, function in rules_of(game).items():
        compiled = rule(function, Engine.NUMBA)
        for index in range(game.size):
            if name == "successors":
                out = [0] * 3
                assert compiled(index, room) == function(index, out)
                assert room[: function(index, out)].tolist() == out[: function(index, out)]
            else:
                assert compiled(index) == function(index)


def test_both_engines_build_the_same_table(tmp_path: Path) -> None:
    game = own_game(tmp_path, ELABORATE)
    digests = {build_table(game, tmp_path / engine, engine=engine).digest for engine in Engine}
    assert len(digests) == 1


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("other = {0: self}", "it uses self other than for attributes of it"),
        ("self.seen = 1", "it assigns to self.seen"),
        ("return self.successors(index - 1, out)", "calls itself"),
        ("return self.nothing", "has no attribute 'nothing'"),
    ],
)
def test_what_cannot_be_bound_names_its_line(line: str, problem: str, tmp_path: Path) -> None:
    source = SUBTRACT.replace("count = 0", f"count = 0\n        {line}")
    with pytest.raises(UnboundError, match=problem) as caught:
        bound(own_game(tmp_path, source).successors)
    assert source.splitlines()[caught.value.line - 1].strip() in (
        line,
        "def successors(self, index, out):",
    )


UNCOMPILABLE = SUBTRACT.replace(
    "count = 0", 'count = 0\n        words = {"a": index}\n        words["b"] = [words]'
)


def test_what_numba_cannot_compile_is_interpreted_with_a_warning(tmp_path: Path) -> None:
    game = own_game(tmp_path, UNCOMPILABLE, heap=50)
    problem = first_problem(game)
    assert problem is not None
    assert (problem.rule, UNCOMPILABLE.splitlines()[problem.line - 1].strip()) == (
        "successors",
        'words["b"] = [words]',
    )
    with pytest.raises(GameError, match=rf"own.py, line {problem.line}: successors cannot be compiled"):
        engine_for(game, Engine.NUMBA)
    with pytest.warns(InterpretedWarning, match=rf"own.py, line {problem.line}: .* interpreted$"):
        assert engine_for(_large(game), None) is Engine.PYTHON
    right = build_table(own_game(tmp_path / "..", heap=50), tmp_path / "right").path
    with open_table(build_table(game, tmp_path).path) as one, open_table(right) as other:
        assert same_values(one.probe_many(range(51)), other.probe_many(range(51)))


def _large(game: Game) -> Game:
    """The same game, worth compiling."""
    kind = type(game)
    large: Game = type(kind.__name__, (kind,), {"work": 10**7})(**game.parameters)
    return large


def test_the_command_warns_in_one_line(tmp_path: Path) -> None:
    write_game(tmp_path, UNCOMPILABLE.replace("max_moves = 3", "max_moves = 3\n    work = 10**7"))
    result = run("build-tables", "game", "own.py", cwd=tmp_path)
    assert result.code == 0
    (warning,) = [line for line in result.error.splitlines() if line.startswith("warning: ")]
    assert re.fullmatch(r"warning: own.py, line \d+: successors cannot be compiled: .*", warning)
    refused = run("build-tables", "game", "own.py", "--engine", "numba", cwd=tmp_path)
    assert (refused.code, "cannot be compiled" in one_line(refused)) == (1, True)


def test_the_second_start_does_not_compile(tmp_path: Path) -> None:
    """numba says what it saves. A changed file has its three functions compiled, and no kernel."""
    write_game(tmp_path, ELABORATE)
    settings = {"NUMBA_CACHE_DIR": str(tmp_path / "cache"), "NUMBA_DEBUG_CACHE": "1"}

    def saved() -> int:
        shutil.rmtree(tmp_path / "tables", ignore_errors=True)
        words = "build-tables", "game", "own.py", "--engine", "numba"
        result = run_apart(*words, cwd=tmp_path, **settings)
        assert result.code == 0, result.error
        return (result.out + result.error).count("data saved")

    assert saved() > 3
    assert saved() == 0
    write_game(tmp_path, ELABORATE.replace("STEPS = [1, 3, 4]", "STEPS = [1, 2, 4]"))
    assert saved() == 3


# --- what the compiled form must not get wrong ----------------------------------------------------

SHADOWED = SUBTRACT.replace("max_moves = 3", "max_moves = 3\n    most = 3").replace(
    "for taken in range(1, min(3, index) + 1)",
    "self_most = 1\n        for taken in range(self_most, min(self.most, index) + 1)",
)
KEYWORDS = (
    SUBTRACT.replace("min(3, index)", "self.least(index)").replace("class S", "most = 1\n\n\nclass S")
    + "\n    def least(self, index, *, most=3):\n        return min(most, index)\n"
)
DEFAULTS = KEYWORDS.replace("index, *, most=3", "index, most=3")
NAMESAKE = (
    SUBTRACT.replace("min(3, index)", "self.most(index)").replace(
        "class S", "def most(index):\n    return min(3, index)\n\n\nclass S"
    )
    + "\n    def most(self, index):\n        return most(index)\n"
)
PRIVATE = SUBTRACT.replace("max_moves = 3", "max_moves = 3\n    __most = 3").replace(
    "min(3,", "min(self.__most,"
)


@pytest.mark.parametrize("source", [SHADOWED, DEFAULTS, NAMESAKE, PRIVATE])
def test_names_and_arguments_mean_what_they_mean(source: str, tmp_path: Path) -> None:
    game = own_game(tmp_path, source)
    assert game.successors_of(9) == [8, 7, 6]
    assert first_problem(game) is None
    room = np.zeros(3, np.int64)
    assert rule(game.successors, Engine.NUMBA)(9, room) == 3
    assert room.tolist() == [8, 7, 6]


NESTED = (
    SUBTRACT.replace("most=1000", "most=1000")
    .replace("count = 0\n", "count = 0\n        steps = [taken for taken in range(1, self.most + 1)]\n")
    .replace("for taken in range(1, min(3, index) + 1)", "for taken in steps[: min(self.most, index)]")
    .replace("max_moves = 3", "most: int = 3\n    max_moves = 3")
)


def test_a_constant_inside_an_inner_function_is_noticed(tmp_path: Path) -> None:
    """It is no name of the outer code: the machine code of another parameter would do for it."""
    for most in (3, 2, 1):
        game = own_game(tmp_path, NESTED, most=most)
        room = np.zeros(3, np.int64)
        assert rule(game.successors, Engine.NUMBA)(9, room) == most


@pytest.mark.parametrize(
    ("helper", "used"),
    [
        ("MOST = {}", "min(helper_of_binding.MOST, index)"),
        ("def least(index, most={}):\n    return min(most, index)", "least(index)"),
        ("from enum import IntEnum\nclass Most(IntEnum):\n    ALL = {}", "min(Most.ALL.value, index)"),
    ],
)
def test_what_changes_in_another_file_is_compiled_again(helper: str, used: str, tmp_path: Path) -> None:
    """In processes of their own: a module is imported once in each."""
    imports = "import helper_of_binding\nfrom helper_of_binding import *\n"
    write_game(tmp_path, imports + SUBTRACT.replace("min(3, index)", used))
    program = (
        "import sys, numpy; sys.path.insert(0, sys.argv[1])\n"
        "from lookup import load_game; from builder.compile import Engine, rule\n"
        "game = load_game(sys.argv[1] + '/own.py')(); room = numpy.zeros(3, numpy.int64)\n"
        "print(rule(game.successors, Engine.NUMBA)(9, room))"
    )
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "NUMBA_CACHE_DIR": str(tmp_path / "cache"),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    for most in (3, 2):
        (tmp_path / "helper_of_binding.py").write_text(helper.format(most) + "\n")
        command = [sys.executable, "-c", program, str(tmp_path)]
        done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
        assert done.stdout == f"{most}\n"


FAR = SUBTRACT.replace("most=1000", "most=10**6")
WILD = [
    ("return count", "return count + (index == 7001)", "lists 4: expected at most max_moves"),
    ("return count", "return 1 if index == 7001 else count * (index != 7002)", ""),
    (
        "count = 0\n",
        "count = 0\n        if index == 7001:\n            return 1\n",
        "yet does not write out",
    ),
    (
        "count = 0\n",
        "count = 0\n        for at in range(10**6 * (index == 7001)):\n            out[at] = 1\n",
        "fails: IndexError",
    ),
    (
        "count = 0\n",
        "count = 0 if index != 7001 else 5 // (index - 7001)\n",
        "fails: ZeroDivisionError",
    ),
]


@pytest.mark.parametrize("engine", Engine)
@pytest.mark.parametrize(("right", "wrong", "words"), WILD, ids=[words for *_, words in WILD])
def test_wild_rules_neither_crash_nor_make_a_wrong_table(
    right: str, wrong: str, words: str, engine: Engine, tmp_path: Path
) -> None:
    """At an index that nobody has looked at before; compiled, in a process that may die of it."""
    write_game(tmp_path, FAR.replace(right, wrong, 1))
    setting = "--set", "heap=10000", "--engine", engine
    how = run_apart if engine == Engine.NUMBA else run
    result = how("build-tables", "game", "own.py", *setting, cwd=tmp_path)
    if words:
        assert (result.code, words in one_line(result)) == (1, True), result.error
        assert not list(tmp_path.glob("tables/*"))
    else:
        assert result.code == 0


def test_too_many_predecessors_are_explained(tmp_path: Path) -> None:
    """`max_predecessors` is easily forgotten: without it, `max_moves` must do."""
    sink = SUBTRACT.replace("most=1000", "most=10**6").replace(
        "for taken in range(1, min(3, index) + 1):", "for taken in (index,) if index else ():"
    ) + (
        "\n    def predecessors(self, index, out):\n        count = 0\n        if index == 0:\n"
        "            for before in range(1, self.heap + 1):\n                out[count] = before\n"
        "                count += 1\n        return count\n"
    )
    write_game(tmp_path, sink)
    for heap in (100, 5_000):
        result = run("build-tables", "game", "own.py", "--set", f"heap={heap}", cwd=tmp_path)
        assert result.code == 1
        assert "predecessors of index 0 ('0')" in one_line(result) or "IndexError" in one_line(result)
