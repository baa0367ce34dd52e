"""The digest of rules changes with the rules, and with nothing else."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from lookup import load_game
from lookup.games.rota import Rota
from lookup.games.rules_digest import rules_digest
from tests.conftest import ROOT
from tests.own_games import SUBTRACT, write_game

if TYPE_CHECKING:
    from pathlib import Path

HELPED = (
    "import helpers_of_digest\n\nTAKES = [1, 2, 3]\n\n"
    "def largest(index):\n    return min(TAKES[-1], index)\n\n"
    + SUBTRACT.replace("min(3, index)", "largest(index) * helpers_of_digest.ONE")
)


def digest(folder: Path, source: str) -> str:
    (folder / "helpers_of_digest.py").write_text("ONE = 1\n")
    return rules_digest(load_game(write_game(folder, source)))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("min(TAKES[-1], index)", "min(TAKES[0], index)"),
        ("TAKES = [1, 2, 3]", "TAKES = [1, 2, 4]"),
        ("max_moves = 3", "max_moves = 5"),
        ("out[count] = index - taken", "out[count] = index - taken + 0"),
        ("max_moves = 3", "max_moves = 3\n    misere = True"),
        ("max_moves = 3", "max_moves = 3\n\n    def format(self, index):\n        return hex(index)"),
        ("return self.heap + 1", "return self.heap + 2"),
    ],
)
def test_what_changes_it(before: str, after: str, tmp_path: Path) -> None:
    assert HELPED.count(before) == 1
    assert digest(tmp_path, HELPED) != digest(tmp_path, HELPED.replace(before, after))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("count = 0", "count = 0  # none so far"),
        ("def largest(index):", "def largest(index: int) -> int:\n    '''The most.'''"),
        ("range(1, min", "range(\n                1, min"),
        ('"""Take one to three; whoever cannot move loses."""', '"""Take 1, 2 or 3."""'),
        ("default=20, ", "default=21, "),
        ("max_moves = 3", "max_moves = 3\n    notation = 'The number of counters.'"),
        ("TAKES = [1, 2, 3]", "UNUSED = 7\nTAKES = [1, 2, 3]"),
    ],
)
def test_what_does_not_change_it(before: str, after: str, tmp_path: Path) -> None:
    source = HELPED.replace("largest(index) * helpers", "min(99, largest(index)) * helpers")
    assert source.count(before) == 1
    assert digest(tmp_path, source) == digest(tmp_path, source.replace(before, after))


@pytest.mark.parametrize(
    "source",
    [
        "TAKES = range(1, 2)\ndef largest(index):\n    return TAKES[-1]",
        "S = 2\ndef largest(index, s=S):\n    return s",
        "def made(s):\n    def of(index):\n        return s\n    return of\nlargest = made(2)",
        "from functools import partial\ndef of(s, index):\n    return s\nlargest = partial(of, 2)",
        "from functools import cache\n@cache\ndef largest(index):\n    return 2",
        "class A:\n    pass\nB = A()\nB.s = 2\ndef largest(index):\n    return B.s",
        "class A:\n    def __call__(self, at):\n        return 2\nlargest = A()",
        "from enum import IntEnum\nclass A(IntEnum):\n    B = 2\ndef largest(index):\n    return A.B",
        "from fractions import Fraction\nHALF = Fraction(2)\ndef largest(index):\n    return int(HALF)",
        "from collections import deque\nROW = deque([2])\ndef largest(index):\n    return ROW[0]",
        "def wrap(f):\n    return lambda index: f(index)\n@wrap\ndef largest(index):\n    return 2",
    ],
)
def test_wherever_a_number_hides_it_counts(source: str, tmp_path: Path) -> None:
    game = SUBTRACT.replace("min(3, index)", "largest(index)")
    assert source.count("2") == 1
    digests = {
        digest(tmp_path, f"{source.replace('2', number)}\n\n\n{game}") for number in ("2", "3", "2")
    }
    assert len(digests) == 2


def test_a_helper_in_another_file_counts(tmp_path: Path) -> None:
    """In processes of their own: a module is imported once in each."""
    program = (
        "import sys; from lookup import load_game; from lookup.games.rules_digest import rules_digest\n"
        "print(rules_digest(load_game(sys.argv[1])))"
    )

    def printed(helper: str) -> str:
        (tmp_path / "helpers_of_digest.py").write_text(helper)
        command = [sys.executable, "-c", program, str(write_game(tmp_path, HELPED))]
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"}
        done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
        return done.stdout

    assert printed("ONE = 1\nTWO = 2\n") == printed("ONE = 1\n") != printed("ONE = 2\n")


def test_it_is_the_same_in_every_version_of_python(tmp_path: Path) -> None:
    """Written down once: byte code, or the words of `ast.dump`, would be others in 3.12."""
    known = "33ffb42c1ff7eb18aca3ecfc2ddeb5f63b95aafbc93bde146d9f3810dbb77b4f"
    assert digest(tmp_path, SUBTRACT) == known


def test_games_of_ours_have_none() -> None:
    assert Rota.rules_digest() == ""
