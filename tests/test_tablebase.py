from __future__ import annotations

import errno
import os
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import lookup
from lookup.errors import CorruptTableError, InvalidParameterError, MissingTableError, UnknownGameError
from lookup.tablebase import packaged_tables, search_path, user_tables
from tests.conftest import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable


def test_the_search_path_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ENDTABLE_PATH", os.pathsep.join(["b", "", "c", "a"]))
    assert search_path(["a"]) == [
        (Path("a"), "given"),
        (Path("b"), "$ENDTABLE_PATH"),
        (Path("c"), "$ENDTABLE_PATH"),
        (user_tables(), "user"),
        (packaged_tables(), "packaged"),
    ]
    monkeypatch.setenv("ENDTABLE_PATH", str(user_tables()))  # each once, where it comes first
    assert [origin for _, origin in search_path()] == ["$ENDTABLE_PATH", "packaged"]


@pytest.mark.parametrize(
    ("platform", "data", "expected"),
    [
        ("linux", "", "/home/ann/.local/share/endtable/tables"),
        ("linux", "relative", "/home/ann/.local/share/endtable/tables"),
        ("linux", "/data", "/data/endtable/tables"),
        ("darwin", "", "/home/ann/Library/Application Support/endtable/tables"),
        ("darwin", "/data", "/data/endtable/tables"),
        ("win32", "", "/local/endtable/tables"),
    ],
)
def test_the_users_folder_is_where_the_system_has_it(
    platform: str, data: str, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "platform", platform)
    monkeypatch.setattr(Path, "home", lambda: Path("/home/ann"))
    monkeypatch.setenv("XDG_DATA_HOME", data)
    monkeypatch.setenv("LOCALAPPDATA", "/local")
    assert user_tables() == Path(expected)


def test_a_user_without_a_home_has_no_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("XDG_DATA_HOME")
    monkeypatch.setattr(Path, "home", fail)
    assert user_tables() is None
    assert [origin for _, origin in search_path()] == ["packaged"]


def test_the_users_folder_stands_before_the_packaged_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, built: Callable[[str], Path]
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    folder = tmp_path / "endtable" / "tables"
    folder.mkdir(parents=True)
    for name in ("rota", "tactics-2x2"):
        (folder / f"{name}.h5").write_bytes(built(name).read_bytes())
    with lookup.open_tablebase() as tables:
        assert tables["rota"].path == folder / "rota.h5"
        assert "tactics-2x2" in tables
        assert tables["tactics-4x4"].path.parent == packaged_tables()


def test_a_folder_that_may_not_be_looked_into_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    """As the home of another user, which a service may have been started with."""
    for name in ("stat", "scandir"):
        monkeypatch.setattr(os, name, forbidding(getattr(os, name)))
    tables = lookup.open_tablebase("forbidden")
    assert tables.find("rota").parent == packaged_tables()
    assert "rota" in set(tables)


def forbidding(function: Callable[..., object]) -> Callable[..., object]:
    def call(path: object, *rest: object, **named: object) -> object:
        if "forbidden" in str(path):
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return function(path, *rest, **named)

    return call


def test_packaged_tables_are_those_of_the_repository() -> None:
    assert packaged_tables() == ROOT / "tables"
    with lookup.open_tablebase() as tables:
        assert set(tables) >= {"tactics-4x4", "rota"}
        assert "rota" in tables
        assert "chess" not in tables


def test_a_given_folder_comes_first(tmp_path: Path, built: Callable[[str], Path]) -> None:
    copy = tmp_path / "rota.h5"
    copy.write_bytes(built("rota").read_bytes())
    for given in ([tmp_path], [str(tmp_path)], [[tmp_path, "other"]]):
        with lookup.open_tablebase(*given) as tables:
            assert tables["rota"].path == copy
            assert tables["rota"] is tables["rota"]


def test_a_missing_table_says_what_builds_it() -> None:
    with lookup.open_tablebase("some/where") as tables, pytest.raises(MissingTableError) as caught:
        tables["tactics-5x5-run4"]
    assert caught.value.command == "build-tables tactics --rows 5 --cols 5 --max-run 4"
    assert str(caught.value).startswith("no table 'tactics-5x5-run4' in 'some/where', ")
    assert str(caught.value).endswith(f"build it with: {caught.value.command}")


@pytest.mark.parametrize(
    "name",
    ["", ".", "..", "../tables/rota", "rota.h5", "ROTA", "rota\0", "röta", "a/b", "-x", "a" * 101],
)
def test_odd_names_never_reach_the_file_system(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with lookup.open_tablebase() as tables:
        listed = set((ROOT / "tables").glob("*.h5"))
        listed |= {path.with_suffix(".parts") / "manifest.json" for path in listed}
        looked: list[Path] = []
        monkeypatch.setattr(os.path, "isfile", lambda path: looked.append(path))
        with pytest.raises(MissingTableError):
            tables[name]
        assert tables.get(name) is None
        assert set(looked) <= listed  # for a hint, the tables there are; never what was asked for


def test_find_game() -> None:
    assert lookup.find_game("rota-diameters").parameters == {"diameters": True}
    with pytest.raises(UnknownGameError, match="'chess' names no game: expected one of tactics, rota"):
        lookup.find_game("chess")
    with pytest.raises(InvalidParameterError):
        lookup.find_game("tactics-9x9")


def test_small_tables_live_on_in_memory(built: Callable[[str], Path]) -> None:
    with lookup.open_tablebase(built("rota").parent) as tables:
        table = tables["rota"]
    assert table.probe_index(0).outcome is lookup.Outcome.DRAW


def test_a_file_under_another_name_is_refused(tmp_path: Path, built: Callable[[str], Path]) -> None:
    (tmp_path / "tactics-4x4.h5").write_bytes(built("rota").read_bytes())
    tables = lookup.open_tablebase(tmp_path)
    with pytest.raises(CorruptTableError, match="holds the table 'rota', not 'tactics-4x4'"):
        tables["tactics-4x4"]


def test_folders_are_not_tables(tmp_path: Path) -> None:
    (tmp_path / "chess.h5").mkdir()
    with lookup.open_tablebase(tmp_path) as tables:
        assert "chess" not in tables
        with pytest.raises(MissingTableError):
            tables["chess"]


def test_threads_open_a_table_once(built: Callable[[str], Path]) -> None:
    with lookup.open_tablebase(built("rota").parent) as tables, ThreadPoolExecutor(8) as pool:
        assert len(set(map(id, pool.map(tables.__getitem__, ["rota"] * 32)))) == 1
