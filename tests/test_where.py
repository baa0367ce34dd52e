"""`lookup where`: the search path, what is on it, and which file is used."""

from __future__ import annotations

import json
import os
import shutil
from typing import TYPE_CHECKING

import pytest

from lookup.disk import bytes_at
from lookup.tablebase import user_tables
from lookup.where import table_fields
from tests.commands import one_line, run
from tests.conftest import ROOT
from tests.folders import as_folder

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

PACKAGED = ROOT / "tables"


@pytest.fixture
def places(
    tmp_path: Path, built: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> dict[str, Path]:
    """A folder of each origin with a table of the same name; that of the variable is not there."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("ENDTABLE_PATH", str(tmp_path / "nowhere"))
    user = user_tables()
    assert user
    for folder in (tmp_path / "tables", user):
        folder.mkdir(parents=True)
        shutil.copy(built("rota"), folder)
    shutil.copy(built("tactics-2x2"), user)
    (user / "tactics-2x3.h5").mkdir()  # a folder is no table,
    (user / "No Name.h5").touch()  # nor is a file that cannot be asked for
    (user / ".fetch").mkdir()
    return {"./tables": tmp_path / "tables", "user": user, "$ENDTABLE_PATH": tmp_path / "nowhere"}


def test_the_folders_in_order(places: dict[str, Path], tmp_path: Path) -> None:
    result = run("lookup", "where", cwd=tmp_path)
    lines = result.out.splitlines()
    user, size = places["user"], f"{(PACKAGED / 'rota.h5').stat().st_size:,} bytes"
    assert lines[0] == "tables  (./tables, where build-tables writes)"
    assert lines[1].split() == ["rota", *size.split()]
    assert lines[2] == f"{tmp_path / 'nowhere'}  ($ENDTABLE_PATH; not there)"
    assert lines[3] == f"{user}  (yours, where lookup fetch writes)"
    assert lines[4].endswith(f"{size}  not used: tables/rota.h5 comes first")
    assert lines[5].split()[0] == "tactics-2x2"
    assert lines[6] == f"{PACKAGED}  (the package's own)"
    (rota,) = (line for line in lines[7:] if line.split()[0] == "rota")
    assert rota.endswith("not used: tables/rota.h5 comes first")


def test_the_same_for_programs(places: dict[str, Path], tmp_path: Path) -> None:
    folders = json.loads(run("lookup", "where", "--json", cwd=tmp_path).out)
    origins = ["./tables", "$ENDTABLE_PATH", "user", "packaged"]
    assert [folder["origin"] for folder in folders] == origins
    assert [folder["exists"] for folder in folders] == [True, False, True, True]
    assert folders[1]["folder"] == str(tmp_path / "nowhere")
    assert [table["table"] for table in folders[2]["tables"]] == ["rota", "tactics-2x2"]
    assert folders[2]["tables"][0] == {
        "table": "rota",
        "file": str(places["user"] / "rota.h5"),
        "bytes": (PACKAGED / "rota.h5").stat().st_size,
        "shadowed_by": "tables/rota.h5",
    }
    assert folders[2]["tables"][1]["shadowed_by"] is None


def test_one_table(places: dict[str, Path], tmp_path: Path) -> None:
    result = run("lookup", "where", "rota", cwd=tmp_path)
    size = (PACKAGED / "rota.h5").stat().st_size
    unused = [str(places["user"] / "rota.h5"), str(PACKAGED / "rota.h5")]
    assert result.out.splitlines() == [
        f"tables/rota.h5  (./tables, where build-tables writes; {size:,} bytes)",
        *(f"not used: {path}" for path in unused),
    ]
    words = ("--tables", places["user"], "--json")
    assert json.loads(run("lookup", "where", "rota", *words, cwd=tmp_path).out) == {
        "table": "rota",
        "file": unused[0],
        "bytes": size,
        "origin": "given",
        "shadows": unused[1:],
    }


def test_what_is_used_is_what_probe_uses(places: dict[str, Path], tmp_path: Path) -> None:
    for name in ("rota", "tactics-2x2", "clock-4-2"):
        file = json.loads(run("lookup", "where", name, "--json", cwd=tmp_path).out)["file"]
        assert f"({file})" in run("lookup", "info", name, cwd=tmp_path).out


def test_a_path_is_used_as_it_is(tmp_path: Path) -> None:
    result = run("lookup", "where", PACKAGED / "rota.h5", cwd=tmp_path)
    assert result.out.startswith(f"{PACKAGED / 'rota.h5'}  (as given; ")


@pytest.mark.parametrize(
    ("table", "expected"),
    [("chess", "no table 'chess' in 'tables'"), ("no/rota.h5", "no table 'rota.h5' in 'no'")],
)
def test_no_such_table(table: str, expected: str, tmp_path: Path) -> None:
    result = run("lookup", "where", table, cwd=tmp_path)
    assert result.code == 2
    assert expected in one_line(result)


def test_what_cannot_be_looked_at_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder that may be entered but not listed; a file that is gone before it is looked at."""
    folder = as_folder(PACKAGED / "tactics-3x3.h5", tmp_path)
    size = (folder / "manifest.json").stat().st_size
    whole = bytes_at(folder)
    assert whole == sum(path.stat().st_size for path in folder.iterdir()) > size
    looked = os.lstat

    def gone(path: str) -> os.stat_result:
        if path.endswith("manifest.json"):
            raise FileNotFoundError(path)
        return looked(path)

    with monkeypatch.context() as patch:
        patch.setattr(os, "lstat", gone)
        assert bytes_at(folder) == whole - size

    def unlisted(path: str) -> None:
        raise PermissionError(path)

    monkeypatch.setattr(os, "scandir", unlisted)
    fields = table_fields("tactics-3x3", folder / "manifest.json", [])
    assert (fields["file"], fields["bytes"]) == (str(folder), 0)
    assert bytes_at(tmp_path / "gone.h5") == 0
