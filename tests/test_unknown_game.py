"""Tables of games from outside: known by their class, noticed when it changed, read without it.

And tables from strangers: whatever they say, nothing is imported for it and nothing large allocated.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tracemalloc
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from builder.build import build_table
from builder.solvers.solution import PackedColumn
from builder.verify import verify_file
from builder.writer import write_table
from lookup import (
    CorruptTableError,
    InvalidGameError,
    InvalidPositionError,
    MissingGameError,
    Outcome,
    RulesChangedError,
    UnknownGame,
    Value,
    load_game,
    open_table,
    open_tablebase,
)
from lookup.blocks import smallest_bits
from lookup.format import canonical, grundy_column, outcome_column
from lookup.games import loading
from tests.commands import one_line, run
from tests.conftest import ROOT
from tests.own_games import SUBTRACT, own_game, write_game
from tests.strangers import described, stranger

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def subtract(tmp_path: Path) -> Path:
    """The table of a game of one's own; its class is in `own.py` beside it."""
    return build_table(own_game(tmp_path), tmp_path).path


def test_with_its_class_it_is_a_table_as_any_other(subtract: Path) -> None:
    source = subtract.parent / "own.py"
    for game in (source, str(source), load_game(source), own_game(subtract.parent, heap=20)):
        with open_table(subtract, game=game) as table:
            assert table.game.name == "subtract"
            assert table.probe("20") == Value(Outcome.LOSS, 10)
            assert table.best("19") is not None
            assert len(table.line()) == 10
    with open_tablebase(subtract.parent, games=[source]) as tables:
        assert tables["subtract-20"].moves("3")[0].position == "0"
        assert tables["rota"].probe("x.o/.x./..o x").outcome is Outcome.DRAW


def test_without_its_class_indices_work(subtract: Path) -> None:
    with open_table(subtract) as table:
        assert isinstance(table.game, UnknownGame)
        assert [table.probe_index(index).outcome for index in (0, 1, 4)] == [
            Outcome.LOSS,
            Outcome.WIN,
            Outcome.LOSS,
        ]
        assert table.probe_many(range(21)).outcome.tolist() == [1, 3, 3, 3] * 5 + [1]
        assert table.probe("7") == table.probe_index(7)
        assert table.game.parameters == {"heap": 20}
        assert sum(table.histogram()[Outcome.LOSS]) == 6
        for bad in ("21", "-1", "07", "x", "", "9" * 99):
            with pytest.raises(InvalidPositionError, match="expected the index of a position"):
                table.probe(bad)
        assert table.game.start == 20
        for ask in (lambda: table.moves("7"), lambda: table.line(), lambda: table.best("7")):
            with pytest.raises(MissingGameError, match=r"the rules of 'subtract', .* --game FILE.py"):
                ask()
    with pytest.raises(MissingGameError, match="to verify a table needs the rules of 'subtract'"):
        verify_file(subtract)


def test_a_class_that_has_changed_is_noticed(subtract: Path) -> None:
    changed = write_game(subtract.parent, SUBTRACT.replace("min(3, index)", "min(2, index)"))
    with pytest.raises(RulesChangedError, match="was built from other rules of 'subtract'"):
        open_table(subtract, game=changed)
    with open_table(subtract) as table:
        assert table.probe_index(4).outcome is Outcome.LOSS, "indices work all the same"
    rebuilt = build_table(load_game(changed)(), subtract.parent)
    assert rebuilt.changed
    with open_table(subtract, game=changed) as table:
        assert table.probe("4").outcome is Outcome.WIN


def test_installed_rules_that_are_others_are_named(
    subtract: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same name, by chance or by an update: texts are not taken for those of another game."""
    other = write_game(subtract.parent, SUBTRACT.replace("min(3, index)", "min(2, index)"))
    monkeypatch.setattr(loading, "installed_game", {"subtract": load_game(other)}.get)
    words = r"than those of .*own: build it again, or name its own with --game FILE.py"
    with pytest.raises(RulesChangedError, match=words):
        open_table(subtract)
    write_game(subtract.parent)
    with open_table(subtract, game=subtract.parent / "own.py") as table:
        assert table.probe("4").outcome is Outcome.LOSS
    with open_table(subtract, game=UnknownGame) as table:
        assert table.probe_index(4).outcome is Outcome.LOSS


def test_another_game_is_refused(subtract: Path) -> None:
    other = write_game(subtract.parent, SUBTRACT.replace("class Subtract", "class Other"), "other.py")
    with pytest.raises(InvalidGameError, match=r"'other' is not the game of .* a table of 'subtract'"):
        open_table(subtract, game=other)


def test_a_rebuild_that_changes_nothing_leaves_the_file(subtract: Path) -> None:
    assert not build_table(own_game(subtract.parent), subtract.parent).changed


def test_it_is_verified_by_its_class(subtract: Path) -> None:
    rules = load_game(subtract.parent / "own.py")
    assert verify_file(subtract, rules=rules).checked == 21


def test_the_commands(subtract: Path) -> None:
    folder = subtract.parent
    own = ["--game", "own.py"]
    assert "to move: loss in 10" in run("lookup", "probe", subtract, *own, cwd=folder).out
    assert run("lookup", "line", subtract, *own, "--moves", cwd=folder).out.count(" ") == 9
    assert "positions:  21 of 21" in run("lookup", "info", subtract, cwd=folder).out
    without = run("lookup", "probe", subtract, "7", cwd=folder)
    assert (without.code, "to move: win in 3" in without.out) == (0, True)
    assert '"moves": null' in run("lookup", "probe", subtract, "7", "--json", cwd=folder).out
    assert "needs the rules of 'subtract'" in one_line(run("lookup", "line", subtract, "7", cwd=folder))
    assert "subtract-20  20" in run("lookup", "probe", subtract, cwd=folder).out, "the start is known"
    assert run("build-tables", "verify", subtract, *own, cwd=folder).code == 0
    refused = run("build-tables", "verify", subtract, cwd=folder)
    assert (refused.code, "--game FILE.py" in one_line(refused)) == (2, True)
    missing = run("lookup", "probe", subtract, "--game", "nowhere.py", cwd=folder)
    assert (missing.code, "'nowhere.py' cannot be read" in one_line(missing)) == (2, True)


# --- tables from strangers ------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    ["os", "os.path", "trap_module", "trap_module:Trap", "../trap_module", "lookup.cli", "a b", ""],
)
def test_a_name_in_a_table_imports_nothing(name: str, tmp_path: Path) -> None:
    """Not even a module that lies ready to be imported."""
    (tmp_path / "trap_module.py").write_text("open('sprung', 'w').close()\nclass Trap:\n    pass\n")
    table = stranger(tmp_path / "trap.h5", game=name)
    program = (
        "import sys, lookup; before = set(sys.modules)\n"
        "table = lookup.open_table('trap.h5'); table.probe_index(0); table.info\n"
        "new = {name for name in set(sys.modules) - before}\n"
        "assert not any('trap' in name for name in new), new\n"
        "assert type(table.game).__name__ == 'UnknownGame'\n"
    )
    environment = {"PYTHONPATH": f"{ROOT}:{tmp_path}", "PATH": ""}
    subprocess.run([sys.executable, "-c", program], cwd=tmp_path, check=True, env=environment)
    assert not (tmp_path / "sprung").exists()
    with pytest.raises(MissingGameError):
        verify_file(table)


@pytest.mark.parametrize(
    "changes",
    [
        {"parameters": "[1]"},
        {"parameters": "{"},
        {"solver": "os.system"},
        {"period": '{"checked":40,"period":1,"plies":0,"preperiod":0}'},
    ],
    ids=str,
)
def test_what_no_table_says_is_damage(changes: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(CorruptTableError):
        open_table(stranger(tmp_path / "trap.h5", **changes))


def test_absurd_sizes_allocate_nothing_large(tmp_path: Path) -> None:
    """2^31 positions in a file of some kilobytes: opened, probed and described in a few megabytes."""
    path = stranger(tmp_path / "trap.h5", 1 << 31)
    assert path.stat().st_size < 1 << 21
    with open_table(path) as table:  # loads whatever is loaded once
        table.probe_index(0)
    tracemalloc.start()
    try:
        with open_table(path) as table:
            assert table.probe_index((1 << 31) - 1).outcome is Outcome.LOSS
            assert set(table.probe_many(range(0, 1 << 31, 1 << 26)).outcome.tolist()) == {1}
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 16 << 20, peak


def test_no_room_is_made_for_absurd_grundy_values(tmp_path: Path) -> None:
    size = 1 << 24
    info = described(size=size, positions=size, losses=size, solver="grundy", largest_grundy=size - 1)

    class Zeros:
        def __getitem__(self, key: slice, /) -> Any:
            return np.zeros(key.stop - key.start, np.uint8)

    columns = [PackedColumn(outcome_column(1, size), Zeros())]
    columns.append(PackedColumn(grundy_column(smallest_bits(size - 1), size), Zeros()))
    write_table(tmp_path / "trap.h5", info, columns)
    with pytest.raises(CorruptTableError):
        open_table(tmp_path / "trap.h5")


def test_what_a_file_says_does_not_steer_the_terminal(tmp_path: Path) -> None:
    path = stranger(tmp_path / "trap.h5", rules="nice \x1b]0;pwned\x07 game", notation="a\rb")
    result = run("lookup", "info", path)
    assert result.code == 0
    assert "nice ?]0;pwned? game" in result.out
    assert "\x1b" not in result.out


def test_a_size_that_the_file_has_no_room_for_is_damage(tmp_path: Path) -> None:
    path = stranger(tmp_path / "trap.h5")
    import h5py

    with h5py.File(path, "r+") as file:
        file.attrs["size"] = file.attrs["positions"] = file.attrs["losses"] = np.int64(1 << 60)
        file["outcome"].attrs["items"] = np.int64(1 << 60)
    with pytest.raises(CorruptTableError):
        open_table(path)


@pytest.mark.parametrize("heap", [10**9, -1, 10**30, True, "20", None, [20]])
def test_parameters_of_a_stranger_are_checked_first(heap: Any, tmp_path: Path) -> None:
    watched = SUBTRACT + "\n    def __post_init__(self):\n        assert 1 <= self.heap <= 1000\n"
    rules = load_game(write_game(tmp_path, watched))
    said = canonical({"heap": heap}).decode()
    known: dict[str, Any] = {"game": "subtract", "name": "subtract-20"}
    known["rules_digest"] = rules.rules_digest()
    path = stranger(tmp_path / "trap.h5", **known, parameters=said)
    with pytest.raises(CorruptTableError, match=r"heap cannot be|expected integers and booleans"):
        open_table(path, game=rules)


def test_a_rule_that_raises_is_one_line_that_names_its_own(tmp_path: Path) -> None:
    """Not called a fault of ours, and no traceback."""
    texts = "\n    def format(self, index):\n        return {}[index] if index == 70 else str(index)\n"
    rules = SUBTRACT.replace("count = 0", "count = 0 if index != 7001 else [][1]")
    cases = (
        (
            rules.replace("most=1000", "most=10**6"),
            "heap=7100",
            "successors fails: IndexError",
        ),
        (SUBTRACT + texts, "heap=100", "format .*KeyError: 70"),
    )
    for source, setting, words in cases:
        write_game(tmp_path, source)
        result = run(
            "build-tables", "game", "own.py", "--set", setting, "--engine", "python", cwd=tmp_path
        )
        assert result.code == 1
        assert re.search(rf"error: own.py, line \d+: {words}", one_line(result)), result.error
        assert not list(tmp_path.glob("tables/*"))
