"""Tables as Parquet: every position, small types, nulls, row groups in bounded memory."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import lookup
from builder.build import build_table
from lookup import UnknownGame
from lookup.export import Format, export_file, parquet
from lookup.export.rows import COLUMNS, rows
from tests.commands import run, run_apart
from tests.conftest import ROOT
from tests.own_games import own_game
from tests.strangers import stranger

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from lookup import Tablebase

EVERY_KIND = [
    "tactics-3x3", "rota", "sticks-any-1-3", "sticks-run-1-2", "clock-4-2", "winners-losers-9",
    "sticks-special-14",
]  # fmt: skip


@pytest.mark.parametrize("text", [True, False])
@pytest.mark.parametrize("name", EVERY_KIND)
def test_it_holds_the_rows_of_the_table(
    name: str, text: bool, built: Callable[[str], Path], tmp_path: Path
) -> None:
    with lookup.open_table(built(name)) as table:
        export_file(table, Format.PARQUET, tmp_path / "t", text=text)
        read = pq.read_table(tmp_path / "t")
        assert read.column_names == [name for name in COLUMNS if text or name != "position"]
        expected = [dict(zip(COLUMNS, row, strict=True)) for row in rows(table, text=text)]
        if not text:
            for row in expected:
                del row["position"]
        assert read.to_pylist() == expected
        assert read.num_rows == table.info.positions
    assert [file.name for file in tmp_path.iterdir()] == ["t"]


def test_types_are_as_small_as_they_can_be(tables: Tablebase, tmp_path: Path) -> None:
    words = pa.dictionary(pa.int8(), pa.string())
    expected = {
        "rota": [pa.uint16(), pa.string(), words, pa.uint8(), pa.uint8()],
        "tactics-4x5": [pa.uint32(), pa.string(), words, pa.uint8(), pa.uint8()],
        "clock-4-5": [pa.uint16(), pa.string(), words, pa.uint16(), pa.uint8()],
    }
    for name, types in expected.items():
        schema = parquet._schema(tables[name], text=True)
        assert schema.types == types
        assert [field.nullable for field in schema] == [False, False, False, True, True]
    export_file(tables["rota"], Format.PARQUET, tmp_path / "t")
    read = pq.read_table(tmp_path / "t")
    assert read.schema.types == expected["rota"]
    for chunk in read["outcome"].chunks:
        assert chunk.dictionary.to_pylist() == ["loss", "draw", "win"]
    assert read["grundy"].null_count == read.num_rows  # not stored
    assert read["remoteness"].null_count == tables["rota"].info.draws


def test_the_file_says_what_it_holds(tables: Tablebase, tmp_path: Path) -> None:
    table = tables["rota"]
    export_file(table, Format.PARQUET, tmp_path / "t")
    said = pq.read_schema(tmp_path / "t").metadata
    info = table.info
    assert {key.decode(): value.decode() for key, value in said.items()} == {
        "endtable.table": "rota",
        "endtable.game": "rota",
        "endtable.parameters": '{"diameters":false}',
        "endtable.digest": table.digest,
        "endtable.rules": info.rules,
        "endtable.notation": info.notation,
        "endtable.indexing": info.indexing,
        "endtable.builder": info.builder,
    }
    assert json.loads(said[b"endtable.parameters"]) == {"diameters": False}


def test_the_same_table_gives_the_same_bytes(tables: Tablebase, tmp_path: Path) -> None:
    for name in ("one", "two"):
        with lookup.open_table(tables["rota"].path) as table:
            export_file(table, Format.PARQUET, tmp_path / name)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


@pytest.mark.parametrize("text", [True, False])
def test_row_groups_are_stretches_of_the_index(
    text: bool, tables: Tablebase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those without positions are left out; what is at the edges is neither lost nor there twice."""
    table = tables["rota"]
    export_file(table, Format.PARQUET, tmp_path / "one", text=text)
    monkeypatch.setattr(parquet, "GROUP_WITH_TEXT" if text else "GROUP", 100)
    monkeypatch.setattr(parquet, "GROUP" if text else "GROUP_WITH_TEXT", 0)
    monkeypatch.setattr(parquet, "ROWS_AT_ONCE", 7)
    export_file(table, Format.PARQUET, tmp_path / "many", text=text)
    one, many = (pq.ParquetFile(tmp_path / name) for name in ("one", "many"))
    stretches = {index // 100 for index, *_ in rows(table, text=False)}
    assert (one.num_row_groups, many.num_row_groups) == (1, len(stretches))
    assert len(stretches) < table.info.size // 100
    assert many.read().to_pylist() == one.read().to_pylist()
    for number in range(many.num_row_groups):
        index = many.metadata.row_group(number).column(0).statistics
        assert index.min // 100 == index.max // 100 in stretches


def test_a_table_of_an_unknown_game(tmp_path: Path) -> None:
    path = build_table(own_game(tmp_path), tmp_path).path
    with lookup.open_table(path, game=UnknownGame) as table:
        assert not table.is_in_memory
        export_file(table, Format.PARQUET, tmp_path / "t")
        read = pq.read_table(tmp_path / "t")
        assert read["position"].to_pylist() == [str(index) for index in range(21)]
        assert read["outcome"].to_pylist() == (["loss"] + ["win"] * 3) * 5 + ["loss"]
        assert read.schema.metadata[b"endtable.rules_digest"].decode() == table.info.rules_digest


MEASURE = """
import sys
from pathlib import Path
import lookup
from lookup import table
from lookup.export import Format, export_file, parquet

def exported(name, text):
    with lookup.open_table(f"{name}.h5") as opened:
        export_file(opened, Format.PARQUET, Path(name), text=text)
    return int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0]) // 1024

table._STRETCH = parquet.GROUP = 1 << 18
parquet.GROUP_WITH_TEXT = 1 << 14
before = exported("tiny", True)  # loads whatever is loaded once
print(exported("small", True) - before, exported("large", False) - before)
"""


def test_memory_does_not_grow_with_the_table(tmp_path: Path) -> None:
    """Of the whole process, since pyarrow's memory is not Python's; with constants made smaller.

    Written as one row group each, they took 58 and 380 MiB more than the tiny one, not 18 and 30.
    """
    sizes = {"tiny": 64, "small": 1 << 20, "large": 1 << 24}
    for name, size in sizes.items():
        stranger(tmp_path / f"{name}.h5", size)
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", MEASURE],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env={"PYTHONPATH": str(ROOT)},
    )
    assert done.stderr == ""
    with_text, without = map(int, done.stdout.split())
    assert with_text < 40
    assert without < 60
    groups = {"tiny": 1, "small": 1 << 6, "large": 1 << 6}
    for name, size in sizes.items():
        metadata = pq.read_metadata(tmp_path / name)
        assert (metadata.num_rows, metadata.num_row_groups) == (size, groups[name])


# --- the command ----------------------------------------------------------------------------------


def test_the_command(tables: Tablebase, tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    path.write_text("what was there before")
    result = run("lookup", "export", "rota", "--to", "parquet", "--no-text", "--output", path)
    positions = tables["rota"].info.positions
    assert (result.code, result.error) == (0, "")
    assert result.out == f"{path}: {positions:,} positions, {path.stat().st_size:,} bytes\n"
    read = pq.read_table(path)
    assert read.num_rows == positions
    assert read.column_names == ["index", "outcome", "remoteness", "grundy"]


def test_without_the_extra_it_says_what_to_install(tmp_path: Path) -> None:
    (tmp_path / "pyarrow.py").write_text("raise ModuleNotFoundError('no pyarrow', name='pyarrow')")
    words = ["lookup", "export", "rota", "--to", "parquet", "--output", "t.parquet"]
    result = run_apart(*words, cwd=tmp_path, PYTHONPATH=f"{tmp_path}:{ROOT}")
    assert (result.code, result.out) == (1, "")
    assert result.error == (
        "error: lookup export --to parquet needs 'pyarrow', which is not installed: "
        "install the extra 'parquet', as in pip install 'endtable[parquet]'\n"
    )
    assert not (tmp_path / "t.parquet").exists()
    assert not list(tmp_path.glob(".*"))
