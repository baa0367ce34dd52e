from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import lookup
from lookup.errors import CorruptTableError, InvalidParameterError, MissingTableError, UnknownGameError
from lookup.tablebase import packaged_tables, search_path
from tests.conftest import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable


def test_the_search_path_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ENDTABLE_PATH", os.pathsep.join(["b", "", "c", "a"]))
    assert search_path(["a"]) == [Path("a"), Path("b"), Path("c"), packaged_tables()]


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
        looked: list[Path] = []
        monkeypatch.setattr(Path, "is_file", lambda self: looked.append(self))
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
