from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

import builder.cli
from builder.catalogue import CATALOGUE, LARGER
from lookup import GAMES
from lookup.errors import BuildError
from lookup.games.rota import Rota
from lookup.games.tactics import Tactics
from tests.commands import ESTIMATE, Result, one_line, run, run_apart
from tests.conftest import ROOT
from tests.test_verify import solved, with_item, write

if TYPE_CHECKING:
    from pathlib import Path

    from lookup import Game


def test_a_game_is_built_where_told(tmp_path: Path) -> None:
    result = run_apart("build-tables", "tactics", "--rows", "2", "--cols", "3", "--out", tmp_path / "t")
    assert result.code == 0
    assert "tactics-2x3.h5: 64 positions" in result.out
    assert "built in" in result.out
    again = run("build-tables", "tactics", "--rows", "2", "--cols", "3", "--out", tmp_path / "t")
    assert "unchanged in" in again.out


def test_all_options_reach_the_game(tmp_path: Path) -> None:
    words = ["--rows", "3", "--cols", "2", "--max-run", "2", "--normal", "--engine", "numba", "--json"]
    result = run("build-tables", "tactics", *words, "--out", tmp_path)
    (answer,) = json.loads(result.out)
    assert answer["table"] == "tactics-3x2-run2-normal"
    assert answer["parameters"] == {"cols": 2, "max_run": 2, "normal": True, "rows": 3}
    assert answer["counts"]["win"] + answer["counts"]["loss"] == answer["positions"] == 64
    assert run("build-tables", "rota", "--diameters", "--out", tmp_path).code == 0
    assert (tmp_path / "rota-diameters.h5").is_file()


def test_tables_go_to_the_tables_folder_by_default(tmp_path: Path) -> None:
    run("build-tables", "tactics", "--rows", "1", "--cols", "1", cwd=tmp_path)
    assert (tmp_path / "tables/tactics-1x1.h5").is_file()


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> tuple[Game, ...]:
    """A default set of two: test_catalogue builds all of it, which takes a while."""
    assert vars(builder.cli)["CATALOGUE"] is CATALOGUE
    games = (Tactics(3, 3), Rota())
    assert set(games) < set(CATALOGUE)
    monkeypatch.setattr(builder.cli, "CATALOGUE", games)
    return games


def test_the_default_set(few: tuple[Game, ...], tmp_path: Path) -> None:
    result = run("build-tables", "--out", tmp_path)
    assert result.code == 0
    assert len(result.out.splitlines()) == len(few)
    names = {f"{game.table_name}.h5" for game in few}
    assert {file.name for file in tmp_path.iterdir()} == names | {"SHA256SUMS"}
    subprocess.run(["sha256sum", "--quiet", "--check", "SHA256SUMS"], cwd=tmp_path, check=True)


def test_list_names_the_default_set_and_every_game() -> None:
    text = run("build-tables", "list").out
    for game in CATALOGUE:
        assert game.table_name in text
        assert game.build_command in text
    for game_class in GAMES.values():
        assert f"build-tables {' '.join(game_class.command())} " in text
    answer = json.loads(run("build-tables", "list", "--json").out)
    assert [table["table"] for table in answer["default"]] == [game.table_name for game in CATALOGUE]
    assert all(table["built"] for table in answer["default"])
    assert all(table["memory_bytes"] > 0 and table["seconds"] >= 0 for table in answer["larger"])
    assert set(answer["games"]) == set(GAMES)


def test_list_estimates_any_table() -> None:
    result = run("build-tables", "list", "clock-8-9", "sticks-special-80")
    assert "100,000,000 positions" in result.out
    assert "18,004,327 positions" in result.out
    (table,) = json.loads(run("build-tables", "list", "clock-9-9", "--json").out)["tables"]
    assert table["positions"] == 10**9
    result = run("build-tables", "list", "clock-999-9")
    assert result.code == 1
    assert "clock-999-9 is larger than any machine" in one_line(result)
    result = run("build-tables", "list", "clock-0-9")
    assert result.code == 2
    assert "n cannot be 0: expected 1 to 1000 digits" in one_line(result)


def test_the_command_of_every_table_leads_to_its_game(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Game] = []

    def build(game: Game, *arguments: object, **options: object) -> None:
        asked.append(game)
        raise BuildError("not now")

    monkeypatch.setattr(builder.cli, "build_table", build)
    for game in (*CATALOGUE, *LARGER):
        result = run(*game.build_command.split())
        assert (result.code, one_line(result)) == (1, "error: not now")
    assert asked == [*CATALOGUE, *LARGER]


def test_verify_one_and_many() -> None:
    result = run("build-tables", "verify", "tables/rota.h5", "tables/tactics-3x3.h5")
    assert result.code == 0
    assert result.out.splitlines() == [
        "tables/rota.h5: 3,790 positions follow from the rules",
        "tables/tactics-3x3.h5: 512 positions follow from the rules",
    ]


def test_verify_by_sample_says_how_much_it_saw(tmp_path: Path) -> None:
    words = "tactics-4x4: 640 of 65,536 indices, taken at random, follow from the rules\n"
    assert run("build-tables", "verify", "tactics-4x4", "--sample", "640").out == words
    result = run("build-tables", "verify", "rota", "--sample", "64", "--seed", "5", "--json")
    assert json.loads(result.out) == [
        {"file": "rota", "ok": True, "positions": 3790, "checked": 64, "indices": 19683}
    ]
    game, solution = solved("tactics-3x3")
    bad = write(tmp_path / "t.h5", game, with_item(solution, "remoteness", 300, 1))
    result = run("build-tables", "verify", bad, "--sample", "512")
    assert (result.code, result.out) == (1, "")
    assert "says that index" in one_line(result)


def test_verify_keeps_to_the_memory_it_is_given() -> None:
    assert run("build-tables", "verify", "tactics-3x3", "--max-memory", "64MiB").code == 0
    result = run("build-tables", "verify", "tactics-3x3", "--max-memory", "20k")
    assert (result.code, result.out) == (1, "")
    assert "tactics-3x3.h5 needs about" in one_line(result)


def test_verify_takes_names_too() -> None:
    assert run("build-tables", "verify", "rota").out == "rota: 3,790 positions follow from the rules\n"


@pytest.mark.parametrize(
    ("how", "code", "said"),
    [(signal.SIGINT, 130, "error: interrupted"), (signal.SIGTERM, 143, "error: terminated")],
)
def test_a_build_that_is_stopped_says_so_and_leaves_nothing(
    how: signal.Signals, code: int, said: str, tmp_path: Path
) -> None:
    words = ["-m", "builder.cli", "tactics", "--rows", "4", "--cols", "5", "--engine", "python"]
    with subprocess.Popen(
        [sys.executable, *words, "--out", tmp_path], stderr=subprocess.PIPE, text=True, cwd=ROOT
    ) as child:
        while not list(tmp_path.iterdir()):
            time.sleep(0.01)
        child.send_signal(how)
        _, error = child.communicate()
    assert (child.returncode, one_line(Result(code, "", error))) == (code, said)
    assert list(tmp_path.iterdir()) == []


LOST = """
import os, signal, sys, time
from lookup.console import application, run
app = application("Is told to stop where exceptions are passed over.")
class Last:
    def __del__(self):
        os.kill(os.getpid(), int(sys.argv[1]))
        for _ in range(1000):
            pass
@app.command()
def work():
    Last()
    time.sleep(30)
run(app, "work", [])
"""


@pytest.mark.skipif(os.name == "nt", reason="Windows has other signals")
@pytest.mark.parametrize(
    ("how", "code", "said"), [(signal.SIGINT, 130, "interrupted"), (signal.SIGTERM, 143, "terminated")]
)
def test_a_signal_is_not_lost_where_exceptions_are(how: signal.Signals, code: int, said: str) -> None:
    words = [sys.executable, "-c", LOST, str(int(how))]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=20)
    assert (done.returncode, done.stderr) == (code, f"error: {said}\n")


def test_a_signal_while_a_file_is_written_is_no_fault(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """As when Ctrl-C comes in the midst of HDF5, which makes a SystemError of it."""

    def interrupted(*_: object, **__: object) -> None:
        error = SystemError("returned a result with an exception set")
        error.__context__ = KeyboardInterrupt()
        raise error

    monkeypatch.setattr("h5py.File", interrupted)
    result = run("build-tables", "tactics", "--rows", "2", "--cols", "2", "--out", tmp_path)
    assert (result.code, one_line(result)) == (130, "error: interrupted")


STOPPED = """
import os, signal
from lookup import Game


class Stopped(Game):
    size, start, max_moves = 3, 2, 1

    def successors(self, index, out):
        os.kill(os.getpid(), signal.SIGTERM)
        return 0
"""


def test_a_signal_is_no_fault_of_the_rule_it_comes_in(tmp_path: Path) -> None:
    (tmp_path / "stopped.py").write_text(STOPPED)
    result = run_apart("build-tables", "game", tmp_path / "stopped.py", "--out", tmp_path / "tables")
    assert (result.code, one_line(result)) == (143, "error: terminated")


def test_verify_goes_on_after_a_bad_file(tmp_path: Path) -> None:
    bad = tmp_path / "bad.h5"
    bad.write_bytes((ROOT / "tables/rota.h5").read_bytes()[:-1])
    result = run("build-tables", "verify", bad, "tables/tactics-3x3.h5")
    assert result.code == 1
    assert "is damaged" in one_line(result)
    assert "512 positions follow" in result.out
    result = run("build-tables", "verify", bad, "tables/tactics-3x3.h5", "--json")
    assert [one["ok"] for one in json.loads(result.out)] == [False, True]
    result = run("build-tables", "verify", bad)
    assert (result.code, result.out) == (1, "")
    one_line(result)
    result = run("build-tables", "verify", bad, "--json")
    assert (result.code, json.loads(result.out)[0]["ok"]) == (1, False)
    result = run("build-tables", "verify", "missing-1.h5", "missing-2.h5")
    assert (result.code, len(result.error.splitlines())) == (2, 2)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["tactics", "--rows", "0", "--cols", "4"], "rows cannot be 0: expected 1 to 48"),
        (
            ["tactics", "--rows", "9", "--cols", "9"],
            "board cannot be '9x9': expected 1 to 48 cells, not 81",
        ),
        (
            ["tactics", "--rows", "4", "--cols", "4", "--max-run", "9"],
            "max_run cannot be 9: expected 1 to 4, or 0 for that",
        ),
        (["tactics", "--rows", "four", "--cols", "4"], "'four' is not a whole number"),
        (["tactics", "--rows", "4"], "Missing option '--cols'"),
        (
            ["tactics", "--rows", "2", "--cols", "2", "--engine", "gpu"],
            "'gpu' is not one of 'numba', 'python'",
        ),
        (["checkers"], "No such command 'checkers'"),
        (["rota", "--sideways"], "No such option: --sideways"),
        (["--out", "elsewhere", "rota"], "options stand after the command"),
        (["verify"], "Missing argument"),
        (["verify", "nothing.h5"], "no table 'nothing.h5' in '.'"),
        (["verify", "rota", "--sample", "some"], "'some' is not a whole number"),
        (["verify", "rota", "--sample", "0"], "sample cannot be 0: expected 1 position or more"),
        (["verify", "rota", "--seed", "x"], "'x' is not a whole number"),
        (["verify", "rota", "--max-memory", "8 of them"], "memory cannot be '8 of them': expected"),
    ],
)
def test_mistakes_are_one_line_and_exit_2(words: list[str], expected: str, tmp_path: Path) -> None:
    result = run("build-tables", *words, cwd=tmp_path)
    assert result.code == 2
    assert expected in one_line(result)
    assert result.out == ""
    assert list(tmp_path.iterdir()) == []


def test_asking_for_the_version_builds_nothing(tmp_path: Path) -> None:
    result = run("build-tables", "--version", "rota", cwd=tmp_path)
    assert result.code == 0
    assert result.out.startswith("endtable ")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("few")
def test_checksums_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "SHA256SUMS").mkdir()
    result = run("build-tables", "--out", tmp_path)
    assert result.code == 1
    assert "SHA256SUMS' cannot be written" in one_line(result)


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "tables").write_text("a file in the way")
    result = run("build-tables", "tactics", "--rows", "2", "--cols", "2", cwd=tmp_path)
    assert result.code == 1
    assert "cannot be written" in one_line(result)
    assert (tmp_path / "tables").read_text() == "a file in the way"


def test_a_fault_of_ours_is_one_line_too(tmp_path: Path) -> None:
    code = (
        "import builder.cli\n"
        "def broken(*args, **kwargs): raise RuntimeError('something odd')\n"
        "builder.cli.build_table = broken\n"
        "import sys; sys.argv = ['build-tables', 'rota']\n"
        "builder.cli.main()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 1
    assert one_line(Result(1, "", done.stderr)) == (
        "error: RuntimeError: something odd (a fault of ours; ENDTABLE_DEBUG=1 shows where)"
    )


def test_long_work_shows_a_bar_on_a_terminal(tmp_path: Path) -> None:
    """On a pseudo-terminal, as a person would see it."""
    code = (
        "import lookup.progress, builder.cli, sys\n"
        "lookup.progress.PATIENCE = 0.0\n"
        "sys.argv = ['build-tables', 'tactics', '--rows', '4', '--cols', '4', '--out', sys.argv[1]]\n"
        "builder.cli.main()"
    )
    leader, follower = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "100"}
    with subprocess.Popen(
        [sys.executable, "-c", code, tmp_path],
        stderr=follower,
        stdout=subprocess.DEVNULL,
        cwd=ROOT,
        env=environment,
    ):
        os.close(follower)
        seen = b""
        while True:
            try:
                part = os.read(leader, 4096)
            except OSError:  # the other end is closed: the child has finished
                break
            if not part:
                break
            seen += part
    os.close(leader)
    assert b"tactics-4x4: verify" in seen
    assert b"100%" in seen
    assert b"left" in seen


def test_no_bar_without_a_terminal(tmp_path: Path) -> None:
    result = run("build-tables", "tactics", "--rows", "4", "--cols", "4", "--out", tmp_path)
    assert ESTIMATE.fullmatch(result.error.strip())


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (
            ["sticks", "any", "--min", "3", "--max", "2"],
            "max cannot be 2: expected 3 (min) to 10000 sticks",
        ),
        (
            ["sticks", "run", "--min", "0", "--max", "2"],
            "min cannot be 0: expected at least 1 stick a move",
        ),
        (["sticks", "run", "--min", "1", "--max", "2", "--heaps", "0"], "heaps cannot be 0"),
        (
            ["sticks", "special", "--length", "0"],
            "length cannot be 0: expected a row of 1 to 120 sticks",
        ),
        (["sticks", "special", "--length", "x"], "'x' is not a whole number"),
        (["sticks", "special"], "Missing option '--length'"),
        (["sticks", "none"], "No such command 'none'"),
        (["clock", "--n", "0", "--k", "3"], "n cannot be 0: expected 1 to 1000 digits"),
        (["clock", "--n", "3", "--k", "-1"], "k cannot be -1"),
        (
            ["winners-losers", "--length", "0"],
            "length cannot be 0: expected 1 to 1000000 letters",
        ),
    ],
)
def test_bad_parameters_of_the_other_games(words: list[str], expected: str, tmp_path: Path) -> None:
    result = run("build-tables", *words, "--out", tmp_path)
    assert result.code == 2
    assert expected in one_line(result)


@pytest.mark.parametrize(
    "words",
    [
        ["clock", "--n", "20", "--k", "9"],
        ["clock", "--n", "1000", "--k", "1"],
        ["winners-losers", "--length", "60"],
        ["winners-losers", "--length", "5000"],
    ],
)
def test_tables_that_cannot_fit_are_refused_before_they_start(words: list[str], tmp_path: Path) -> None:
    result = run("build-tables", *words, "--out", tmp_path)
    assert result.code == 1
    assert "it was not started" in one_line(result)
    assert list(tmp_path.iterdir()) == []


def test_sticks_is_a_group_of_commands() -> None:
    text = run("build-tables", "sticks", "--help").out
    assert all(word in text for word in ("any", "run", "special"))
    assert "Example: build-tables sticks run --min 1 --max 2" in run(
        "build-tables", "sticks", "run", "--help"
    ).out.replace("\n", " ")
