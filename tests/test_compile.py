"""Compiling: the same functions, from the disk cache at the second start, never from a stale one."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from builder import compile as compiling
from builder.compile import Engine, Kernel, choose_engine, rule
from lookup.errors import BuildError, GameError
from lookup.games.clock import Clock
from lookup.games.rota import Rota
from lookup.games.step_game import StepGame
from lookup.games.sticks_heaps import SticksAny, SticksRun
from lookup.games.sticks_special import SticksSpecial
from lookup.games.tactics import Tactics
from lookup.games.winners_losers import WinnersLosers
from tests.conftest import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

PROGRAM = """
import builder.compile as compiling
from builder.compile import Engine, rule, Kernel
import numpy as np, sys
sys.path.insert(0, sys.argv[1])
import rules

@Kernel
def total(step, size, out):
    count = 0
    for index in range(size):
        count += step(index, out)
    return count

hits = []
real = compiling._make_dispatcher.__wrapped__
def spy(function, signature):
    dispatcher = real(function, signature)
    if signature is not None:
        hits.append(sum(dispatcher.stats.cache_hits.values()))
    return dispatcher
compiling._make_dispatcher = compiling.cache(spy)
print(total(Engine.NUMBA)(rule(rules.step, Engine.NUMBA), 10, np.zeros(4, np.int64)), hits)
"""


def run_program(folder: Path) -> str:
    (folder / "program.py").write_text(PROGRAM)
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(folder / "cache"), "PYTHONPATH": str(ROOT)}
    command = [sys.executable, str(folder / "program.py"), str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=True)
    return done.stdout.strip()


def test_the_second_start_does_not_compile_and_changed_rules_do(tmp_path: Path) -> None:
    (tmp_path / "helpers.py").write_text("def half(index):\n    return index // 2\n")
    (tmp_path / "rules.py").write_text(
        "from helpers import half\n"
        "def step(index, out):\n    out[0] = half(index)\n    return half(index)\n"
    )
    assert run_program(tmp_path) == "20 [0, 0]"
    assert run_program(tmp_path) == "20 [1, 1]"
    # A helper in another file: numba alone would not notice and answer 20 for ever.
    (tmp_path / "helpers.py").write_text("def half(index):\n    return index // 2 + 1\n")
    assert run_program(tmp_path) == "30 [0, 1]"


GAMES = [
    Tactics(3, 3), Tactics(2, 4, 2, True), Rota(), Rota(True), SticksAny(2, 5), SticksRun(2, 4, 30),
    SticksSpecial(20), Clock(4, 3), Clock(1, 1), WinnersLosers(9),
]  # fmt: skip


@pytest.mark.parametrize("game", GAMES, ids=str)
def test_compiled_rules_are_the_interpreted_ones(game: Any) -> None:
    step = max(1, game.size // 2000)
    room = np.zeros(game.parts * max(game.max_moves, game.max_predecessors), np.int64)
    is_of_steps = isinstance(game, StepGame)
    lists = ("steps", "leaps") if is_of_steps else ("successors", "predecessors")
    for index in range(0, game.size, step):
        for name in ("is_position",) if is_of_steps else ("terminal", "is_position"):
            function = getattr(game, name)
            assert rule(function, Engine.NUMBA)(index) == function(index)
        if not game.is_position(index):
            continue
        for name in lists:
            if (function := getattr(game, name)) is None:
                continue
            out = [0] * len(room)
            count = function(index, out)
            assert rule(function, Engine.NUMBA)(index, room) == count
            assert room[: count * game.parts].tolist() == out[: count * game.parts]
        for k in range(game.symmetries):
            assert rule(game.transform, Engine.NUMBA)(index, k) == game.transform(index, k)


def test_long_tuples_are_compiled_as_arrays() -> None:
    """As tuples of numba they would take minutes."""
    squares = tuple(number * number for number in range(5000))

    def square(index: int) -> int:
        return squares[index]

    assert rule(square, Engine.NUMBA)(4999) == 4999**2


def twice(number: int) -> int:
    return 2 * number


def endless(number: int) -> int:
    return endless(number)


def test_helpers_may_be_held_by_closures() -> None:
    def made_of(helper: Callable[[int], int]) -> Callable[[int], int]:
        def rule_of_game(index: int) -> int:
            return helper(index) + 1

        return rule_of_game

    assert rule(made_of(twice), Engine.NUMBA)(20) == 41


def test_recursive_rules_are_refused_in_words() -> None:
    with pytest.raises(GameError, match="endless calls itself: expected rules without recursion"):
        rule(endless, Engine.NUMBA)


@pytest.mark.parametrize("folder", ["a file in the way", None])
def test_an_unwritable_cache_only_costs_time(
    folder: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a file in the way").write_text("not a folder")
    monkeypatch.setattr(compiling, "cache_folder", lambda: tmp_path / folder if folder else None)

    @Kernel
    def double(number: int) -> int:
        return number * 2

    assert double(Engine.NUMBA)(21) == 42


def test_small_games_are_not_worth_compiling(monkeypatch: pytest.MonkeyPatch) -> None:
    assert choose_engine(None, 1000) is Engine.PYTHON
    assert choose_engine(None, 10_000_000) is Engine.NUMBA
    assert choose_engine(Engine.NUMBA, 10) is Engine.NUMBA
    monkeypatch.setattr(compiling, "has_numba", lambda: False)
    assert choose_engine(None, 10_000_000) is Engine.PYTHON
    with pytest.raises(BuildError, match="expected the extra 'fast'"):
        choose_engine(Engine.NUMBA, 10)


def test_without_numba_a_table_is_built_and_nothing_tries_to_import_it(tmp_path: Path) -> None:
    code = (
        "import sys; sys.modules['numba'] = None\n"
        "import importlib.util; real = importlib.util.find_spec\n"
        "importlib.util.find_spec = lambda n, *a: None if n == 'numba' else real(n, *a)\n"
        "from builder.build import build_table; import lookup; from pathlib import Path\n"
        "for name in ('tactics-1x17-run2', 'rota'):\n"  # the first is large enough to be compiled
        "    build_table(lookup.find_game(name), Path(sys.argv[1]))\n"
    )
    subprocess.run([sys.executable, "-c", code, tmp_path], check=True, cwd=ROOT)
    assert {file.name for file in tmp_path.iterdir()} == {"tactics-1x17-run2.h5", "rota.h5"}


def test_games_from_files_share_the_cache_whatever_else_a_process_has_loaded(tmp_path: Path) -> None:
    """Their modules are numbered, and the cache must not depend on it."""
    rules = "def successors(self, index, out): return 0"
    for name in ("one", "other"):
        body = f"size, start, max_moves = 4, 0, 1\n    {rules}"
        (tmp_path / f"{name}.py").write_text(
            f"from lookup import Game\nclass Mine(Game):\n    {body}\n"
        )
    program = (
        "import sys\nfrom builder.fallback import first_problem\nfrom lookup import load_game\n"
        "print([first_problem(load_game(path)()) for path in sys.argv[1:]])"
    )
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache"), "PYTHONPATH": str(ROOT)}
    for names in (["one"], ["other", "one"], ["one", "other"]):
        paths = [str(tmp_path / f"{name}.py") for name in names]
        command = [sys.executable, "-c", program, *paths]
        done = subprocess.run(command, capture_output=True, text=True, env=environment, check=True)
        assert done.stdout.strip() == str([None] * len(names))
