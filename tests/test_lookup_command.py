from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import h5py
import numpy as np
import pytest
from typer.testing import CliRunner

from lookup import Table, response
from lookup.cli import app
from tests.commands import one_line, run, run_apart
from tests.conftest import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from lookup import Tablebase

POSITION = "XXXX/..X./..X./...."


def test_probe_prints_value_and_moves() -> None:
    result = run("lookup", "probe", "tactics-4x4", POSITION)
    assert result.code == 0
    lines = result.out.splitlines()
    assert lines[:3] == [
        f"tactics-4x4  {POSITION}",
        "to move: win in 8",
        "  b3-b4  win in 7    XXXX/..X./.XX./.X..",
    ]
    assert len(lines) == 2 + 27


def test_a_process_of_its_own_says_the_same() -> None:
    """All other tests here run the command in their own process."""
    for words in (["probe", "tactics-4x4", POSITION], ["list", "--json"], ["probe", "ROTTA"], []):
        assert run_apart("lookup", *words) == run("lookup", *words)


def test_probe_as_json_is_the_contract() -> None:
    result = run("lookup", "probe", "rota", "x.o/.x./..o x", "--json")
    answer = json.loads(result.out)
    assert list(answer) == ["table", "position", "outcome", "remoteness", "grundy", "moves"]
    assert (answer["table"], answer["position"]) == ("rota", "x.o/.x./..o x")
    assert answer["outcome"] in ("win", "draw", "loss")
    for move in answer["moves"]:
        assert list(move) == ["move", "position", "outcome", "remoteness", "grundy"]
    outcomes = [move["outcome"] for move in answer["moves"]]
    assert outcomes == sorted(outcomes, key=["win", "draw", "loss"].index)


def test_a_finished_game_has_no_moves() -> None:
    answer = json.loads(run("lookup", "probe", "tactics-3x3", "XXX/XXX/XXX", "--json").out)
    assert (answer["outcome"], answer["remoteness"], answer["moves"]) == ("win", 0, [])
    for command in ("probe", "line"):
        lines = run("lookup", command, "tactics-3x3", "XXX/XXX/XXX").out.splitlines()
        assert lines[1:] == ["the game is over: a win for the player to move"]


def test_a_position_needs_no_quotes_and_the_start_no_position() -> None:
    quoted = run("lookup", "probe", "rota", "x.o/.x./..o x")
    assert run("lookup", "probe", "rota", "x.o/.x./..o", "x") == quoted
    assert run("lookup", "probe", "rota") == run("lookup", "probe", "rota", ".../.../... x")


def test_list_names_tables_and_files(built: Callable[[str], Path]) -> None:
    path = built("tactics-2x2")
    text = run("lookup", "list", "--tables", path.parent).out
    assert re.search(rf"^tactics-2x2 +{path}$", text, re.MULTILINE)
    assert re.search(r"^rota +", text, re.MULTILINE)
    answer = json.loads(run("lookup", "list", "--tables", path.parent, "--json").out)
    assert answer["tactics-2x2"] == str(path)


def test_line_from_the_start_and_from_a_position() -> None:
    lines = run("lookup", "line", "tactics-4x4").out.splitlines()
    assert lines[:2] == ["tactics-4x4  ..../..../..../....", "to move: loss in 15"]
    assert len(lines) == 2 + 15
    assert lines[-1].endswith("XXXX/XXXX/XXXX/XXXX")
    answer = json.loads(run("lookup", "line", "tactics-4x4", POSITION, "--json").out)
    assert len(answer["line"]) == answer["remoteness"] == 8
    assert answer["repeats"] is False
    assert json.loads(run("lookup", "line", "rota", "--json").out)["repeats"] is True


def test_a_drawn_line_says_that_it_repeats() -> None:
    assert (
        run("lookup", "line", "rota").out.splitlines()[-1]
        == "      and so on: this position was there before"
    )


def test_info_shows_parameters_counts_and_histogram() -> None:
    text = run("lookup", "info", "tactics-4x4", PYTHONIOENCODING="utf-8").out
    assert 'parameters: {"cols":4,"max_run":4,"normal":false,"rows":4}' in text
    assert "positions:  65,536 of 65,536 indices" in text
    assert "█" * 40 in text
    plain = run("lookup", "info", "tactics-4x4", PYTHONIOENCODING="ascii").out
    assert "#" * 40 in plain
    answer = json.loads(run("lookup", "info", "rota", "--json").out)
    assert answer["counts"] == {"win": 2208, "draw": 874, "loss": 708}
    assert sum(answer["histogram"]["win"]) == 2208
    assert answer["longest_remoteness"] == 6


def test_a_table_by_path_by_folder_and_by_variable(
    built: Callable[[str], Path], tmp_path: Path
) -> None:
    path = built("tactics-2x2")
    assert run("lookup", "probe", path, "../..").code == 0
    assert (
        run("lookup", "probe", "tactics-2x2", "../..", "--tables", path.parent, cwd=tmp_path).code == 0
    )
    assert (
        run(
            "lookup", "probe", "tactics-2x2", "../..", cwd=tmp_path, ENDTABLE_PATH=str(path.parent)
        ).code
        == 0
    )
    (tmp_path / "tables").symlink_to(path.parent)
    assert run("lookup", "probe", "tactics-2x2", "../..", cwd=tmp_path).code == 0


def test_packaged_tables_are_found_from_anywhere(tmp_path: Path) -> None:
    assert run("lookup", "probe", "tactics-4x4", POSITION, cwd=tmp_path).code == 0


def test_version_and_help() -> None:
    assert run("lookup", "--version").out.startswith("endtable ")
    assert "probe" in run("lookup").out
    for command in ("probe", "line", "info", "list", "play", "export", "fetch", "where", "serve"):
        result = run("lookup", command, "--help")
        assert result.code == 0
        assert f"Example: lookup {command}" in result.out


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (
            ["probe", "tactics-4x4", "nonsense"],
            "'nonsense' is not a position: expected 4 rows of 4 cells joined by '/'",
        ),
        (["probe", "rota", "x.o/.x./..o o"], "expected the mover 'x' for 2 x and 2 o"),
        (
            ["probe", "tactics-2x15-run7"],
            "build it with: build-tables tactics --rows 2 --cols 15 --max-run 7",
        ),
        (["probe", "tactics-7x7"], "board cannot be '7x7': expected 1 to 48 cells, not 49"),
        (["probe", "ROTTA"], "did you mean 'rota'?"),
        (["probe", "chess", "x"], "no table 'chess' in"),
        (["probe", "../secret", "x"], "no table 'secret' in '..'"),
        (["probe"], "Missing argument 'TABLE'"),
        (["probe", "tactics-4x4", POSITION, "--tables"], "--tables"),
        (["line", "tactics-4x4", "XXXX"], "'XXXX' is not a position"),
        (["info", "no/such/file.h5"], "no table 'file.h5' in 'no/such'"),
        (["info", "."], "no table '.' in"),
        (["info", "a" * 300], "no table 'aaa"),
        (["probe", "rota", ".../.../... x", "--tables", "no/such/folder"], "'no/such/folder'"),
        (["ask"], "No such command 'ask'"),
        (["probe", "--frob"], "No such option: --frob"),
    ],
)
def test_mistakes_are_one_line_and_exit_2(words: list[str], expected: str) -> None:
    result = run("lookup", *words)
    assert result.code == 2
    assert expected in one_line(result)
    assert result.out == ""


def test_bad_files_are_one_line_and_exit_1(tmp_path: Path) -> None:
    notes = tmp_path / "notes.h5"
    notes.write_text("not a table")
    result = run("lookup", "info", notes)
    assert (result.code, one_line(result)) == (
        1,
        f"error: '{notes}' is not a table: expected an HDF5 file",
    )

    cut = tmp_path / "cut.h5"
    cut.write_bytes((ROOT / "tables/rota.h5").read_bytes()[:-100])
    result = run("lookup", "probe", cut, ".../.../... x")
    assert result.code == 1
    assert "is damaged" in one_line(result)

    newer = tmp_path / "newer.h5"
    newer.write_bytes((ROOT / "tables/rota.h5").read_bytes())
    with h5py.File(newer, "r+") as file:
        file.attrs["format_version"] = np.int64(7)
    result = run("lookup", "probe", newer, ".../.../... x")
    assert result.code == 1
    assert one_line(result).endswith("has format version 7; this Endtable reads version 1")


# --- sticks, the clock, Winners and Losers --------------------------------------------------------


def test_a_move_is_answered_alone() -> None:
    result = run("lookup", "probe", "sticks-any-1-3", "||.||", "--move", "2,4")
    assert result.out.splitlines()[2:] == ["  2,4  loss in 1 (grundy 2)  |...|"]
    answer = json.loads(
        run("lookup", "probe", "sticks-any-1-3", "||.||", "--move", "2,4", "--json").out
    )
    assert [move["move"] for move in answer["moves"]] == ["2,4"]
    assert answer["grundy"] == 0
    bad = run("lookup", "probe", "sticks-any-1-3", "||.||", "--move", "1-4")
    assert bad.code == 2
    assert "'1-4' is not a legal move in '||.||'" in one_line(bad)


def test_a_line_of_commands_and_its_limit() -> None:
    whole = run("lookup", "line", "clock-4-2", "--moves")
    assert whole.out == "0XXX000X0XXX00XXX0XXXXX0XXX00XXX0XXXXX0XXXXX0000\n"
    assert whole.error == ""
    some = run("lookup", "line", "clock-4-2", "--moves", "--limit", "5")
    assert some.out == "0XXX0\n"
    assert some.error == "the line goes on after 5 moves; --limit shows more\n"
    assert run("lookup", "line", "clock-4-2", "--limit", "48").error == ""
    words = run("lookup", "line", "winners-losers-20", "WLW", "--moves")
    assert words.out == "left right left\n"
    answer = json.loads(run("lookup", "line", "clock-4-2", "--limit", "3", "--json").out)
    assert (len(answer["line"]), answer["complete"], answer["repeats"]) == (3, False, False)


def test_a_missing_table_is_answered_by_the_closed_form() -> None:
    text = "W" * 30
    result = run("lookup", "probe", "winners-losers-33", text)
    assert result.code == 0
    assert result.error == "winners-losers-33: no table, answered by its closed form\n"
    assert result.out.splitlines()[1] == "to move: loss in 30"
    line = run("lookup", "line", "clock-30-9", "--moves", "--limit", "40")
    assert len(line.out.strip()) == 40
    missing = run("lookup", "probe", "rota-other")
    assert missing.code == 2
    missing = run("lookup", "info", "winners-losers-33")
    assert missing.code == 2
    assert "build it with: build-tables winners-losers --length 33" in one_line(missing)


def test_info_of_a_period_of_grundy_values_and_of_a_long_game() -> None:
    kayles = run("lookup", "info", "sticks-run-1-2").out
    assert "period:     12 from index 71 on, for ever (compared up to 511)" in kayles
    assert "remoteness: not stored" in kayles
    answer = json.loads(run("lookup", "info", "sticks-run-1-2", "--json").out)
    assert answer["period"] == {"preperiod": 71, "period": 12, "checked": 511, "plies": 0}
    assert len(answer["grundy"]) == 9
    assert answer["histogram"] is None
    other = run("lookup", "info", "sticks-run-1-3").out
    assert "period:     none proven; computed up to 2,000" in other
    clock = run("lookup", "info", "clock-4-5").out.splitlines()
    assert len([line for line in clock if line.endswith("█") or " won" in line]) == 48
    answer = json.loads(run("lookup", "info", "clock-4-5", "--json").out)
    assert (answer["histogram_width"], sum(answer["histogram"]["win"])) == (1, 1296)


@pytest.mark.parametrize("table", ["sticks-special-50", "tactics-4x4"])
def test_info_counts_what_a_large_table_holds_only_when_asked(
    table: str, monkeypatch: pytest.MonkeyPatch, tables: Tablebase
) -> None:
    complete = CliRunner().invoke(app, ["info", table]).output
    longest = tables[table].info.longest_remoteness
    monkeypatch.setattr(response, "COUNTED_INDICES", 0)
    short = CliRunner().invoke(app, ["info", table]).output
    assert f"remoteness: up to {longest}; --count shows how many of each" in short
    assert ("grundy:     up to" in short) == ("grundy:" in complete)
    assert CliRunner().invoke(app, ["info", table, "--count"]).output == complete
    with monkeypatch.context() as patch:
        patch.setattr(Table, "scan", lambda _: pytest.fail("read all of it"))
        answer = response.info_fields(tables[table])
    assert (answer["histogram"], answer["histogram_width"], answer["grundy"]) == (None, None, None)
    assert answer["longest_remoteness"] == longest


def test_what_was_typed_is_not_repeated_at_any_length() -> None:
    result = run("lookup", "list", "9" * 5000)
    assert (result.code, len(one_line(result)) < 1200) == (2, True)
