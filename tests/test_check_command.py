"""`build-tables check`: a broken game gets an explanation of one line, a sound one a summary."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest

from builder.build import build_table
from builder.compile import Engine
from builder.parity import check_compiled
from builder.thorough import check_symmetric_values, check_thoroughly
from lookup import BuildError, GameError
from lookup.progress import silent
from tests.commands import one_line, run
from tests.own_games import SUBTRACT, own_game, write_game

if TYPE_CHECKING:
    from pathlib import Path

GRID = '''
from lookup import Game, Outcome

class Grid(Game):
    """A king walks to the far corner of a board; one player."""

    side: int = 9
    solver = "distance"
    max_moves = 4
    start = 0
    symmetries = 2

    @property
    def size(self):
        return self.side * self.side

    def terminal(self, index):
        return Outcome.WIN if index == self.side * self.side - 1 else 0

    def successors(self, index, out):
        row, column, count = index // self.side, index % self.side, 0
        if row + 1 < self.side:
            out[count] = index + self.side
            count += 1
        if column + 1 < self.side:
            out[count] = index + 1
            count += 1
        if row > 0:
            out[count] = index - self.side
            count += 1
        return count

    def predecessors(self, index, out):
        row, column, count = index // self.side, index % self.side, 0
        if row > 0:
            out[count] = index - self.side
            count += 1
        if column > 0:
            out[count] = index - 1
            count += 1
        if row + 1 < self.side:
            out[count] = index + self.side
            count += 1
        return count

    def transform(self, index, k):
        return index
'''
MIRRORED = "return index % self.side * self.side + index // self.side if k else index"


SUMMARY = (
    "subtract-20: the contract holds at all 21 indices; compiled rules say the same as interpreted "
    "ones; it was solved and verified\n"
)


def test_a_sound_game_is_described(tmp_path: Path) -> None:
    write_game(tmp_path)
    result = run("build-tables", "check", "own.py", cwd=tmp_path)
    assert (result.code, result.out) == (
        0,
        SUMMARY,
    )
    fields = json.loads(run("build-tables", "check", "own.py", "--json", cwd=tmp_path).out)
    assert fields["ok"]
    assert (fields["table"], fields["indices"], fields["solved"]) == ("subtract-20", 21, True)
    write_game(tmp_path, GRID)
    assert run("build-tables", "check", "own.py", "--set", "side=4", cwd=tmp_path).code == 0


BROKEN = [
    (
        SUBTRACT.replace("index - taken", "index - taken - 1"),
        "index 1 ('1') lists -1: expected an index",
    ),
    (
        SUBTRACT.replace("max_moves = 3", "max_moves = 2"),
        "successors of index 3 ('3') lists 3: expected at most max_moves = 2",
    ),
    (
        SUBTRACT.replace("return self.heap\n", "return 99\n"),
        "the start of subtract-20 is 99: expected an index from 0 to 20",
    ),
    (
        SUBTRACT.replace("index, out", "index, moves").replace("out[count]", "moves[count]"),
        "there is successors(index, moves): expected successors(index, out)",
    ),
    (
        SUBTRACT + "\n    def terminal(self, index):\n        return 7 if index == 2 else 0\n",
        "index 2 ('2') has plies left, which only 'ordered' can solve",
    ),
    (
        SUBTRACT + "\n    def format(self, index):\n        return 'heap' + 'X'[index]\n",
        "own.py, line 27: format fails: IndexError: string index out of range",
    ),
    (
        SUBTRACT + "\n    def format(self, index):\n        return str(index // 2)\n",
        "index 0 and index 1 have the same text '0'",
    ),
    (
        GRID.replace("out[count] = index - 1\n", "out[count] = index\n"),
        "index 0 ('0') moves to index 1 ('1'), which lacks it as predecessor",
    ),
    (
        GRID.replace("return index\n", f"{MIRRORED}\n"),
        "symmetry 1 maps moves of index 1 ('1') to illegal ones",
    ),
    (
        GRID.replace("return index\n", "return index + k\n"),
        "no symmetry undoes symmetry 1 on index 0 ('0')",
    ),
    (SUBTRACT.replace("max_moves = 3", "max_moves = 3.0"), "max_moves is 3.0: expected a whole number"),
]


FACTS = [
    (
        "max_moves = 3",
        'max_moves = 3\n    solver = "Grundy"',
        "solver is 'Grundy': expected one of mask, retro",
    ),
    (
        "max_moves = 3",
        'max_moves = 3\n    solver = "mask"',
        "expected a class derived from lookup.MaskGame",
    ),
    (
        "max_moves = 3",
        'max_moves = 3\n    stuck = "draw"',
        "stuck is 'draw': expected Outcome.LOSS, Outcome",
    ),
    ("max_moves = 3", 'max_moves = 3\n    misere = "yes"', "misere is 'yes': expected True or False"),
    (
        "max_moves = 3",
        'max_moves = 3\n    misere = True\n    solver = "grundy"',
        "in 'grundy' whoever cannot move loses, but this game says otherwise: expected neither misere",
    ),
    (
        "max_moves = 3",
        'max_moves = 3\n    misere = True\n    solver = "distance"',
        "misere has no meaning for one player",
    ),
    (
        "max_moves = 3",
        "max_moves = 3\n    symmetries = 2",
        "symmetries is 2: expected a method transform",
    ),
    (
        "    @property\n    def size",
        "    def size",
        "size is a method: expected '@property' in the line above",
    ),
    ("return self.heap + 1", "return '21'", "size is '21': expected a whole number of at least 1"),
    (
        "return count",
        "print(count)",
        "successors of index 0 ('0') returns None: expected how many it has",
    ),
    (
        "out[count] = index - taken",
        "out.append(index - taken)",
        "makes out longer or shorter: expected out[0]",
    ),
    (
        "out[count] = index - taken",
        "pass",
        "successors of index 1 ('1') lists 1, yet does not write out[0]",
    ),
    (
        "out[count] = index - taken",
        "out[count] = 0",
        "successors of index 2 ('2') lists 0 twice: expected",
    ),
    (
        "max_moves = 3",
        "max_moves = 3\n    def format(self, index):\n        print(index)",
        "format returns None",
    ),
    (
        "max_moves = 3",
        "max_moves = 3\n    def board(self, text):\n        print(text)",
        "board returns None for '20': expected a text",
    ),
    (
        "max_moves = 3",
        "max_moves = 3\n    def move_name(self, index, after):\n        return after",
        "move_name returns 0 in index 1 ('1'): expected a text",
    ),
    (
        "max_moves = 3",
        "max_moves = 3\n    def terminal(self, index):\n        return index == 2",
        "terminal says False for index 0 ('0'): expected 0, Outcome.WIN, Outcome.DRAW or Outcome.LOSS",
    ),
    (
        "max_moves = 3",
        "max_moves = 3\n    def parse(self, text):\n        return int(text)",
        "parse raises ValueError for '', which is no position: expected InvalidPositionError(text",
    ),
    (
        "max_moves = 3",
        "max_moves = 3\n    def terminal(self, index):\n        return Outcome.LOSE if index else 0",
        "line 12: terminal fails: AttributeError",
    ),
]
"""What beginners write, and the words that help them on."""


WILD = [
    ("max_moves = 3", "max_moves = 3\n    max_predecessors = None", "max_predecessors is None"),
    ("max_moves = 3", "max_moves = 3\n    work = 'much'", "work is 'much': expected a whole number"),
    ("max_moves = 3", "max_moves = 1 << 60", "expected no more than any machine has room for"),
    ("max_moves = 3", "max_moves = 3\n    symmetries = -10**5000", "is a number of 16,610 bits"),
    ("return self.heap\n", "return 10**5000\n", "is a number of 16,610 bits: expected an index from"),
    ("max_moves = 3", "max_moves = 3\n    table_name = '../x'", "table_name is '../x': expected small"),
    ("max_moves = 3", "max_moves = 3\n    table_name = 'x--1'", "digits, '-' between words"),
    ("max_moves = 3", "max_moves = 3\n    rules = 5", "rules is 5: expected a text of at most 65,000"),
    ("max_moves = 3", "max_moves = 3\n    rules = 'x\\0'", r"rules is 'x\x00': expected a text"),
    ("max_moves = 3", "max_moves = 3\n    indexing = '\\ud800'", r"indexing is '\ud800': expected"),
    ("max_moves = 3", "max_moves = 3\n    notation = 'x' * 65001", "(65001 characters): expected a"),
    ("count = 0", "raise SystemExit(0)", "line 21: successors fails: SystemExit: 0"),
    ("return self.heap + 1", "raise SystemExit(0)", "line 14: size fails: SystemExit: 0"),
    (
        "max_moves = 3",
        "max_moves = 3\n    def terminal(self, index):\n        return 'x' * 10**5",
        f"terminal says '{'x' * 49}...{'x' * 49}' (100000 characters) for index 0",
    ),
    ("count = 0", "raise ValueError('x' * 10**6)", f"ValueError: {'x' * 280}"),
    (
        "max_moves = 3",
        "max_moves = 3\n    def format(self, index):\n        return chr(index + 9)",
        r"format returns '\t' for index 0, with the character '\t': expected a text that can be typed",
    ),
    (
        "max_moves = 3",
        "max_moves = 3\n    def move_name(self, index, after):\n        return chr(0xD800 + after)",
        r"move_name returns '\ud800' for index 1 ('1'), with the character '\ud800'",
    ),
]
"""What a fuzzer found, with the sentences that it is answered with now."""

FACTS += WILD


@pytest.mark.parametrize(("right", "wrong", "words"), FACTS, ids=[words[:40] for *_, words in FACTS])
def test_beginners_mistakes_are_explained(right: str, wrong: str, words: str, tmp_path: Path) -> None:
    assert SUBTRACT.count(right) == 1
    game = own_game(tmp_path, SUBTRACT.replace(right, wrong))
    for attempt in (lambda: check_thoroughly(game, silent), lambda: build_table(game, tmp_path)):
        with pytest.raises(GameError, match=re.escape(words)):
            attempt()


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("masks = [[0, 1]]", "[0, 1] is among the masks: expected a number with bits for the cells"),
        (
            "masks = [1, 8]",
            "8 is among the masks: expected a number with bits for the cells it fills, from 1 to 7",
        ),
        ("masks = [1, 1]", "a mask is listed twice"),
        ("masks = [1]\n    stuck = Outcome.DRAW", "expected misere alone to say how a mask game ends"),
        ("masks = [1]\n    def terminal(self, index):\n        return 0", "a mask game has no"),
    ],
)
def test_masks_are_explained(source: str, words: str, tmp_path: Path) -> None:
    whole = (
        f"from lookup import MaskGame, Outcome\n\n\nclass Own(MaskGame):\n    cells = 3\n    {source}\n"
    )
    with pytest.raises(GameError, match=re.escape(words)):
        check_thoroughly(own_game(tmp_path, whole), silent)


@pytest.mark.parametrize(("source", "words"), BROKEN, ids=[words[:40] for _, words in BROKEN])
def test_a_broken_game_is_explained(source: str, words: str, tmp_path: Path) -> None:
    game = own_game(tmp_path, source)
    for attempt in (lambda: check_thoroughly(game, silent), lambda: build_table(game, tmp_path)):
        with pytest.raises(GameError, match=re.escape(words)) as caught:
            attempt()
        assert "\n" not in str(caught.value)


def test_the_command_exits_with_1(tmp_path: Path) -> None:
    write_game(tmp_path, BROKEN[0][0])
    for command in ("check", "game"):
        result = run("build-tables", command, "own.py", cwd=tmp_path)
        assert (result.code, "lists -1" in one_line(result)) == (1, True)
    assert not list(tmp_path.glob("tables/*"))


@pytest.mark.parametrize("place", ["count = 0", "return self.heap + 1", "max_moves = 3"])
def test_a_game_does_not_end_the_command(place: str, tmp_path: Path) -> None:
    """With its exit code 0 a build would seem to have gone well."""
    write_game(tmp_path, SUBTRACT.replace(place, "raise SystemExit(0)"))
    for command in ("check", "game"):
        result = run("build-tables", command, "own.py", cwd=tmp_path)
        assert (result.code, "SystemExit: 0" in one_line(result)) == (2 if "3" in place else 1, True)


def test_a_game_of_few_positions_with_many_moves_is_checked(tmp_path: Path) -> None:
    """There may be fewer positions than are looked at of a larger game."""
    many = SUBTRACT.replace("max_moves = 3", "max_moves = 500")
    assert check_thoroughly(own_game(tmp_path, many, heap=1000), silent).indices == 1001


def test_a_game_beyond_all_machines_is_not_checked(tmp_path: Path) -> None:
    game = own_game(tmp_path, SUBTRACT.replace("return self.heap + 1", "return 10**5000"))
    with pytest.raises(BuildError, match="subtract-20 is larger than any machine"):
        check_thoroughly(game, silent)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("nowhere.py",), "'nowhere.py' cannot be read"),
        (("own.py", "--set", "heap"), "expected NAME=VALUE"),
        (("own.py", "--set", "heap=x"), "heap cannot be 'x': expected a whole number from 1 to 1000"),
        (("own.py", "--set", "rows=3"), "parameter cannot be 'rows': expected one of heap"),
        (("own.py:Nim",), "names no class of games: expected one of Subtract"),
    ],
)
def test_a_mistake_exits_with_2(words: tuple[str, ...], said: str, tmp_path: Path) -> None:
    write_game(tmp_path)
    for command in ("check", "game"):
        result = run("build-tables", command, *words, cwd=tmp_path)
        assert (result.code, said in one_line(result)) == (2, True), result.error


def test_a_symmetry_that_changes_values_is_named(tmp_path: Path) -> None:
    """Where the structure is not looked at everywhere, the values tell."""
    turned = "return index // self.side * self.side + self.side - 1 - index % self.side if k else index"
    game = own_game(tmp_path, GRID.replace("return index\n", f"{turned}\n"), side=4)
    for engine in Engine:
        words = "symmetry 1 changes the value of index "
        with pytest.raises(GameError, match=words):
            check_symmetric_values(game, engine)


def test_numbers_beyond_64_bits_are_noticed(tmp_path: Path) -> None:
    source = SUBTRACT.replace("return count", "return count if 2 ** (60 + index) > 0 else 0")
    game = own_game(tmp_path, source)
    with pytest.raises(GameError, match=r"successors of index 3 .* compiled and .* interpreted"):
        check_compiled(game, range(game.size))


@pytest.mark.parametrize("engine", Engine)
def test_rules_that_break_the_contract_far_away_are_explained_too(
    engine: Engine, tmp_path: Path
) -> None:
    """Beyond what is looked at before a build: nothing is written, and nothing crashes."""
    large = SUBTRACT.replace("most=1000", "most=10**6")
    for broken, words in (
        (
            "if index == 7001:\n            out[0] = 10**9\n        return count",
            "index 7001 .* lists 1000000000",
        ),
        (
            "if index == 7001:\n            return 9\n        return count",
            "index 7001 .* lists 9: expected at most max_moves",
        ),
    ):
        game = own_game(tmp_path, large.replace("return count", broken), heap=10_000)
        with pytest.raises(GameError, match=words):
            build_table(game, tmp_path, engine=engine)
    assert not list(tmp_path.glob("*.h5"))
