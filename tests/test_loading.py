"""Games from files and from installed packages: found, chosen, given parameters; mistakes explained."""

from __future__ import annotations

import importlib
import os
import sys
from typing import TYPE_CHECKING

import pytest

from lookup import Game, InvalidGameError, InvalidParameterError, UnknownGameError, find_game, load_game
from lookup.games import game_class, loading
from lookup.games.loading import with_settings
from tests.own_games import SUBTRACT, write_game

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ODD = """
class Odd:
    __class__ = property(lambda self: 1 / 0)

odd = Odd()
"""
TWO = f"{SUBTRACT}\n\n\nclass Other(Subtract):\n    pass\n"


def test_a_class_in_a_file_and_its_parameters(tmp_path: Path) -> None:
    kind = load_game(write_game(tmp_path))
    assert issubclass(kind, Game)
    assert (kind.name, kind(heap=5).table_name, kind().table_name) == (  # type: ignore[call-arg]
        "subtract",
        "subtract-5",
        "subtract-20",
    )
    assert load_game(tmp_path / "own.py") is kind, "the same content is run once"
    assert load_game(f"{tmp_path}/own.py:Subtract") is kind


def test_a_changed_file_is_run_again(tmp_path: Path) -> None:
    kind = load_game(write_game(tmp_path))
    changed = load_game(write_game(tmp_path, SUBTRACT.replace("max_moves = 3", "max_moves = 4")))
    assert (kind().max_moves, changed().max_moves) == (3, 4)


def test_one_of_several_classes_is_named(tmp_path: Path) -> None:
    path = write_game(tmp_path, TWO)
    assert load_game(f"{path}:Other").name == "other"
    with pytest.raises(InvalidGameError, match=r"several games, Subtract, Other: .* own\.py:Subtract"):
        load_game(path)
    with pytest.raises(InvalidGameError, match="no class of games: expected one of Subtract, Other"):
        load_game(f"{path}:Third")


def test_modules_beside_the_file_are_found(tmp_path: Path) -> None:
    (tmp_path / "most_taken_by_own.py").write_text("MOST = 2\n")
    source = "from most_taken_by_own import MOST\n" + SUBTRACT.replace("min(3,", "min(MOST,")
    game = load_game(write_game(tmp_path, source))()
    assert game.successors_of(9) == [8, 7]


@pytest.mark.parametrize(
    ("source", "words"),
    [
        (
            "class Game:\n    pass",
            "own.py' defines no game: expected a class derived from lookup.Game",
        ),
        ("def broken(:\n    pass", "'own.py' is not Python, line 1: invalid syntax"),
        ("x = 1\ny = x / 0", "'own.py' fails in line 2: ZeroDivisionError: division by zero"),
        ("import sys\nsys.exit(3)", "'own.py' fails in line 2: SystemExit: 3"),
        ("import no_such_module_here", "'own.py' fails in line 1: ModuleNotFoundError"),
        (
            "from lookup import Game\nclass Half(Game):\n    size = 3",
            r"lacks max_moves \(the most moves .*\), start \(.*\), successors \(.*\) in class Half",
        ),
        (SUBTRACT.replace("max_moves = 3", 'max_moves = 3\n    name = "../x"'), "has the name '../x'"),
        (SUBTRACT.replace("Subtract", "Rota"), "has the name of a game of Endtable, 'rota'"),
        (SUBTRACT.replace("max_moves = 3", "max_moves: int = 3"), "'max_moves' .*is no parameter"),
        (
            SUBTRACT.replace("max_moves = 3", 'max_moves = 3\n    title: str = "Take"'),
            "declares 'title' with a type, .* is neither int nor bool: expected `title = ...` without",
        ),
        # What a fuzzer found.
        (f"x = {'+'.join('1' * 100_000)}", "'own.py' is not Python: RecursionError"),
        ("class Odd(BaseException):\n    pass\nraise Odd", "'own.py' fails in line 3: Odd"),
        ("raise ValueError('x' * 10**6)", r"'own.py' fails in line 1: ValueError: x{280,300}\.\.\.$"),
        (
            "class Odd(Exception):\n    __str__ = lambda self: 5\nraise Odd",
            "'own.py' fails in line 3: Odd$",
        ),
        ("raise ValueError('\\ud800')", r"'own.py' fails in line 1: ValueError: \\ud800$"),
        ("import sys\ndel sys.modules[__name__]\nx = 1 / 0", "fails in line 3: ZeroDivisionError"),
        (SUBTRACT.replace("max_moves = 3", "max_moves = 3\n    name = []"), r"has the name \[\]"),
        (f"{SUBTRACT}\n{ODD}", "cannot be used: ZeroDivisionError: division by zero"),
    ],
    ids=lambda value: value.splitlines()[-1][:30],
)
def test_what_is_no_game_is_explained(source: str, words: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidGameError, match=words) as caught:
        load_game(write_game(tmp_path, source))
    assert "\n" not in str(caught.value)


def test_what_a_file_does_to_its_surroundings_is_no_matter(tmp_path: Path) -> None:
    before = list(sys.path)
    try:
        odd = f"import sys\nsys.path = []\nsys.modules.pop(__name__)\n{SUBTRACT}\ndel __name__"
        assert load_game(write_game(tmp_path, odd))().table_name == "subtract-20"
    finally:
        sys.path = before


@pytest.mark.parametrize(
    ("written", "comment"),
    [("utf-8-sig", ""), ("latin-1", "# -*- coding: latin-1 -*-\n")],
)
def test_the_rules_of_a_file_in_any_encoding_are_the_same(
    written: str, comment: str, tmp_path: Path
) -> None:
    """Editors put a mark at the beginning; of a source that is not read, versions of Python count."""
    source = comment + SUBTRACT.replace("count = 0", "count = len('\xe9') - 1")
    (tmp_path / "own.py").write_bytes(source.encode(written))
    kind = load_game(tmp_path / "own.py")
    plain = load_game(write_game(tmp_path, source.removeprefix(comment), "plain.py"))
    assert kind.rules_digest() == plain.rules_digest()


def test_a_pipe_is_no_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "own.py")
    with pytest.raises(InvalidGameError, match=r"own\.py' cannot be read: it is no file"):
        load_game(tmp_path / "own.py")


@pytest.mark.parametrize(
    ("method", "words"),
    [
        ("def __post_init__(self): raise SystemExit(0)", "cannot have these parameters: SystemExit: 0"),
        ("def __new__(cls, **_): return 7", "makes 7: expected a game of its class"),
    ],
)
def test_what_makes_no_game_is_explained(method: str, words: str, tmp_path: Path) -> None:
    kind = load_game(write_game(tmp_path, f"{SUBTRACT}\n    {method}"))
    with pytest.raises(InvalidGameError, match=words):
        with_settings(kind, {})


@pytest.mark.parametrize("source", ["nowhere.py", "nowhere.py:Nim", "a\0b.py", "tests", ""])
def test_what_is_no_file_is_explained(source: str) -> None:
    with pytest.raises(InvalidGameError, match=r"cannot be read|expected FILE.py, FILE.py:Class"):
        load_game(source)


def test_settings_are_checked(tmp_path: Path) -> None:
    flagged = SUBTRACT.replace("max_moves = 3", "misere: bool = False\n    max_moves = 3")
    kind = load_game(write_game(tmp_path, flagged))
    assert with_settings(kind, {}).parameters == {"heap": 20, "misere": False}
    assert with_settings(kind, {"heap": "7", "misere": "yes"}).parameters == {"heap": 7, "misere": True}
    for settings, words in (
        ({"heaps": "7"}, "parameter cannot be 'heaps': expected one of heap, misere"),
        ({"heap": "seven"}, "heap cannot be 'seven': expected a whole number from 1 to 1000"),
        ({"heap": "1001"}, "heap cannot be 1001: expected a whole number from 1 to 1000"),
        ({"heap": "0"}, "heap cannot be 0"),
        ({"misere": "2"}, "misere cannot be '2': expected true or false"),
    ):
        with pytest.raises(InvalidParameterError, match=words):
            with_settings(kind, settings)


def test_a_parameter_without_a_default_must_be_given(tmp_path: Path) -> None:
    kind = load_game(write_game(tmp_path, SUBTRACT.replace("parameter(default=20, ", "parameter(")))
    with pytest.raises(InvalidParameterError, match=r"expected .*, as in --set heap=3"):
        with_settings(kind, {})


def test_plain_parameters_are_bounded_too(tmp_path: Path) -> None:
    """A table file from a stranger names parameters: it must not ask a class for anything."""
    plain = SUBTRACT.replace(
        'parameter(default=20, least=1, most=1000, help="Counters at the start.")', "20"
    )
    kind = load_game(write_game(tmp_path, plain))
    for bad in (-1, 1_001, 10**30):
        with pytest.raises(InvalidParameterError, match="expected a whole number from 0 to 1000"):
            kind.from_parameters({"heap": bad})


def test_a_class_that_fails_with_its_parameters_is_explained(tmp_path: Path) -> None:
    failing = SUBTRACT + "\n    def __post_init__(self):\n        raise KeyError('no such heap')\n"
    kind = load_game(write_game(tmp_path, failing))
    with pytest.raises(InvalidGameError, match="'subtract' cannot have these parameters: KeyError"):
        with_settings(kind, {})


# --- installed games ------------------------------------------------------------------------------


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder like one of installed packages: a module, and what announces the games in it."""
    broken = "class Broken:\n    pass\nraise_later = {}['x']\n"
    write_game(tmp_path, name="games_of_somebody.py")
    write_game(tmp_path, broken, name="broken_games_of_somebody.py")
    write_game(tmp_path, "raise SystemExit('no licence')\n", name="ending_games_of_somebody.py")
    about = tmp_path / "somebody-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: somebody\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(
        "[endtable.games]\nsubtract = games_of_somebody:Subtract\n"
        "broken = broken_games_of_somebody:Broken\n"
        "ending = ending_games_of_somebody:Broken\n"
        "misnamed = games_of_somebody:Subtract\nno-class = games_of_somebody:Outcome\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    importlib.invalidate_caches()
    loading._entry_points.cache_clear()
    yield tmp_path
    loading._entry_points.cache_clear()


def test_installed_games_are_found_by_name(installed: Path) -> None:
    assert game_class("subtract").name == "subtract"
    assert find_game("subtract-31").parameters == {"heap": 31}
    assert load_game("subtract") is game_class("subtract")
    assert find_game("subtract-31").build_command == "build-tables game subtract --set heap=31"
    with pytest.raises(UnknownGameError, match=r"one of tactics, .*subtract"):
        game_class("chess")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("broken", "'broken' cannot be loaded from 'broken_games_of_somebody:Broken': KeyError"),
        ("ending", "'ending' cannot be loaded from .*: SystemExit: no licence"),
        ("misnamed", "'misnamed' is announced for a game that calls itself 'subtract'"),
        ("no-class", "expected a class derived from lookup.Game"),
    ],
)
def test_installed_games_that_are_none_are_explained(name: str, words: str, installed: Path) -> None:
    with pytest.raises(InvalidGameError, match=words):
        game_class(name)


def test_no_other_package_is_loaded_than_the_one_that_a_name_is_of(installed: Path) -> None:
    """`broken` would fail if it were loaded."""
    with pytest.raises(UnknownGameError):
        find_game("subtraction-7")
    assert find_game("subtract-7").size == 8
