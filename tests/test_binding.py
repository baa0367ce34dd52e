"""Rules as methods: compiled as they stand, and once; where that cannot be, interpreted."""

from __future__ import annotations

import re
import shutil
from typing import TYPE_CHECKING

import numpy as np
import pytest

from builder.binding import UnboundError, bound
from builder.build import build_table
from builder.compile import Engine, rule
from builder.fallback import InterpretedWarning, engine_for, first_problem, rules_of
from lookup import GameError, open_table
from tests.commands import one_line, run
from tests.conftest import same_values
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
    source = UNCOMPILABLE.replace("most=1000", "most=200000")
    write_game(tmp_path, source)
    result = run("build-tables", "game", "own.py", "--set", "heap=110000", cwd=tmp_path)
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
        result = run(*words, cwd=tmp_path, **settings)
        assert result.code == 0, result.error
        return (result.out + result.error).count("data saved")

    assert saved() > 3
    assert saved() == 0
    write_game(tmp_path, ELABORATE.replace("STEPS = [1, 3, 4]", "STEPS = [1, 2, 4]"))
    assert saved() == 3
