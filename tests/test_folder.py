"""A table in a folder of parts is the same table, to whoever asks. Damage: `test_folder_damage.py`."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import pickle
import shutil
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from random import Random
from threading import Lock
from typing import TYPE_CHECKING, Any

import h5py
import numpy as np
import pytest

import lookup
from builder.build import holds_same
from builder.catalogue import CATALOGUE
from builder.compile import Engine
from builder.deep import deep_verify
from builder.verify import verify_file
from lookup import chunk_file
from lookup import folder as folder_module
from lookup import records as records_module
from lookup.atomic import put_folder_in_place, temporary_folder_beside
from lookup.errors import (
    CorruptTableError,
    TableFileError,
)
from lookup.export import Format, export_file
from lookup.folder import TableFolder, open_reader
from lookup.handle import Handle
from lookup.reader import TableFile
from lookup.service import shelf as shelf_module
from lookup.service.errors import NoFileError
from tests.commands import one_line, run
from tests.conftest import ROOT, rechunked, same_values
from tests.folders import as_folder
from tests.serving import running
from tests.test_concurrency import held, in_child, needs_fork

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from lookup.service.shelf import Served
    from tests.conftest import Rechunk

NAMES = [game.table_name for game in CATALOGUE]
PART, MISSING = "outcome-000001.h5", "is missing, or no file: expected a part of the table there"
POSITION = "XXXX/..X./..X./...."


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Tactics 4x4 in chunks of 1 KiB: 8 of outcomes, 32 of remoteness; and beside it `folder`."""
    path = tmp_path_factory.mktemp("whole") / "tactics-4x4.h5"
    with pytest.MonkeyPatch.context() as patch:
        rechunked(ROOT / "tables/tactics-4x4.h5", path, 1024, patch)
        as_folder(path, path.parent, 2048)
    return path


@pytest.fixture
def folder(whole: Path, tmp_path: Path) -> Path:
    """The same in parts of two chunks, a new one for each test."""
    return Path(shutil.copytree(whole.with_suffix(".parts"), tmp_path / "tactics-4x4.parts"))


@pytest.fixture
def small(rechunk: Rechunk, tmp_path: Path) -> Path:
    """Tactics 3x3 in parts of one chunk of 32 bytes: 2 of outcomes, 8 of remoteness."""
    return as_folder(rechunk(ROOT / "tables/tactics-3x3.h5", 32), tmp_path)


@pytest.fixture
def chunked(monkeypatch: pytest.MonkeyPatch) -> None:
    """No table is decoded when it is opened."""
    monkeypatch.setattr(records_module, "DECODED_LIMIT", 0)


def everything(path: Path) -> lookup.Values:
    with lookup.open_table(path) as table:
        return table.probe_many(np.arange(table.game.size))


# --- the same table -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_a_folder_says_what_the_file_says(name: str, tmp_path: Path) -> None:
    path = ROOT / f"tables/{name}.h5"
    folder = as_folder(path, tmp_path)
    with lookup.open_table(path) as file, lookup.open_table(folder) as table:
        assert (table.digest, table.info, table.game) == (file.digest, file.info, file.game)
        assert (table.path, table.is_in_memory) == (folder, True)
        assert table.line(limit=50) == file.line(limit=50)
    assert same_values(everything(folder), everything(path))
    if name != "sticks-special-50":  # interpreted, that takes ten seconds
        assert verify_file(folder, Engine.PYTHON, sample=200).info == file.info


def test_every_part_is_read_by_every_hdf5_tool(folder: Path) -> None:
    first = 0
    with lookup.open_table(folder) as table:
        column = table._file.columns["remoteness"].column
    for part in sorted(folder.glob("remoteness-*.h5")):
        with h5py.File(part, "r") as file:
            said = dict(file.attrs)
            assert (said.pop("format"), said.pop("format_version")) == (b"endtable-part", 1)
            assert len(said.pop("digest")) == 64
            assert said == {"name": b"tactics-4x4", "column": b"remoteness", "first": first}
            assert file["remoteness"].attrs["bits"] == column.bits
            assert file["sha256/remoteness"].shape == (2, 32)
            first += len(file["remoteness"])
    assert first == column.length


@pytest.mark.parametrize(
    ("name", "chunk"), [("rota", 1024), ("sticks-any-1-3", 16), ("clock-4-5", 512)]
)
def test_columns_whose_last_chunk_is_not_full(
    name: str, chunk: int, rechunk: Rechunk, tmp_path: Path, chunked: None
) -> None:
    """Not in a part of its own: HDF5 has no array that is shorter than its chunks."""
    path = rechunk(ROOT / f"tables/{name}.h5", chunk)
    with closing(TableFile(path)) as file:
        odd = [one for one in file.columns.values() if one.column.nbytes % one.chunk_bytes]
        assert odd
    for part_bytes in (1, 2 * chunk, 1 << 30):
        folder = as_folder(path, tmp_path / str(part_bytes), part_bytes)
        assert same_values(everything(folder), everything(path))
        with closing(TableFolder(folder)) as table:
            table.check_chunks()
            for one in odd:
                assert table._shares[one.column.name].parts <= one.column.nbytes // one.chunk_bytes


def test_a_huge_table_is_asked_chunk_by_chunk(whole: Path, folder: Path, chunked: None) -> None:
    with lookup.open_table(whole) as file, lookup.open_table(folder, cache_bytes=3000) as table:
        assert not table.is_in_memory
        assert table.probe(POSITION) == file.probe(POSITION)
        assert table.moves(POSITION) == file.moves(POSITION)
        assert table.histogram() == file.histogram()
    assert same_values(everything(folder), everything(whole))


def test_exports_are_the_same(whole: Path, folder: Path, tmp_path: Path) -> None:
    outputs = [tmp_path / "file.csv", tmp_path / "folder.csv"]
    for path, output in zip((whole, folder), outputs, strict=True):
        with lookup.open_table(path) as table:
            export_file(table, Format.CSV, output)
    assert outputs[0].read_bytes() == outputs[1].read_bytes()


def test_it_is_verified(small: Path) -> None:
    assert verify_file(small, Engine.PYTHON).info.positions == 512
    assert deep_verify(small, Engine.PYTHON).verified.info.positions == 512


def test_both_forms_hold_the_same(whole: Path, folder: Path, built: Callable[[str], Path]) -> None:
    game = lookup.find_game("tactics-4x4")
    forms = [open_reader(path, game) for path in (whole, folder)]
    for form in forms:
        form.close()
    for path in (whole, folder):
        for fresh in forms:
            assert holds_same(path, fresh, game)
    other = TableFile(ROOT / "tables/tactics-4x4-normal.h5")
    other.close()
    assert not holds_same(folder, other, game)
    (folder / PART).unlink()
    assert not holds_same(folder, forms[0], game)


# --- parts are opened when they are needed ------------------------------------------------------------


def parts(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.h5"))


def test_parts_that_nobody_asks_for_may_be_gone_or_damaged(folder: Path, chunked: None) -> None:
    with lookup.open_table(folder) as table:
        expected, size = table.probe_index(0), table.game.size
    wanted = {"outcome-000000.h5", "remoteness-000000.h5"}
    for at, path in enumerate(parts(folder)):
        if path.name not in wanted:
            path.unlink() if at % 2 else path.write_bytes(b"spam")
    with lookup.open_table(folder) as table:
        assert table.probe_index(0) == expected
        for index in (size - 1, size // 2):
            with pytest.raises(CorruptTableError, match=r"^'.*/tactics-4x4.parts/\w+-\d{6}.h5' is "):
                table.probe_index(index)
        assert table.probe_index(0) == expected


class Counted(Handle):
    """Knows how many are open, and how many there were at most."""

    now, most = 0, 0
    lock = Lock()

    def __init__(self, path: Path, *, itself: bool = False) -> None:
        super().__init__(path, itself=itself)
        with Counted.lock:
            Counted.now += 1
            Counted.most = max(Counted.now, Counted.most)

    def close(self) -> None:
        with Counted.lock:
            Counted.now -= not self.is_closed
            super().close()


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(chunk_file, "Handle", Counted)
    Counted.now = Counted.most = 0
    yield
    assert Counted.now == 0


def test_so_many_are_open_and_no_more(
    folder: Path, chunked: None, counted: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folder_module, "MOST_OPEN", 3)
    with lookup.open_table(folder, cache_bytes=1) as table:
        assert Counted.now == 0
        table.probe_index(0)
        assert Counted.now == 2
        for index in range(0, table.game.size, 997):
            table.probe_index(index)
        table.probe_many(np.arange(table.game.size))
        assert Counted.now == 3
        assert len(parts(folder)) == 20
        reader = table._file
        assert isinstance(reader, TableFolder)
        assert list(reader._parts._slots)[-1] == ("outcome", 3)  # the last that was used stays
    assert table.is_closed


def test_others_are_closed_when_no_more_files_may_be_open(
    folder: Path, chunked: None, counted: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """That a table may have 64 open does not mean that the process may have as many more."""

    def few(name: Any, flags: int, mode: int = 0o777, **more: Any) -> int:
        if Counted.now >= 3:
            raise OSError(errno.EMFILE, "Too many open files", name)
        return opened(name, flags, mode, **more)

    expected = [everything(folder).outcome[index] for index in range(0, 65536, 4999)]
    opened = os.open
    monkeypatch.setattr(os, "open", few)
    with lookup.open_table(folder, cache_bytes=1) as table:
        assert [table.probe_index(index).outcome for index in range(0, 65536, 4999)] == expected
        assert 0 < Counted.now <= 3
        reader = table._file
        assert isinstance(reader, TableFolder)
        with contextlib.ExitStack() as stack:
            for part in range(3):  # all are being read: there is nothing to close
                stack.enter_context(reader._parts.borrowed(("remoteness", part)))
            with pytest.raises(TableFileError, match="cannot be read: Too many open files"):
                table.probe_index(65535)
        assert table.probe_index(65535)


def test_threads_share_it(
    folder: Path, chunked: None, counted: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folder_module, "MOST_OPEN", 2)
    expected = everything(folder).remoteness
    assert expected is not None
    with lookup.open_table(folder, cache_bytes=1) as table:

        def ask(seed: int) -> None:
            chance = Random(seed)
            for _ in range(100):
                index = chance.randrange(table.game.size)
                assert table.probe_index(index).remoteness == expected[index]

        with ThreadPoolExecutor(4) as people:
            list(people.map(ask, range(4)))
        assert Counted.most <= 2 + 8 + 1  # as `in_threads` has, which read it whole at first
        assert Counted.now <= 2


def test_closed_while_threads_ask(folder: Path, chunked: None, counted: None) -> None:
    expected = everything(folder).remoteness
    assert expected is not None
    for seed in range(5):
        table = lookup.open_table(folder, cache_bytes=1)

        def ask(index: int, table: lookup.Table = table) -> bool | str:
            try:
                return bool(table.probe_index(index).remoteness == expected[index])
            except TableFileError as error:
                return error.problem

        with ThreadPoolExecutor(4) as people:
            asked = people.map(ask, Random(seed).sample(range(65536), 200))
            assert next(asked) is True
            table.close()
            said = list(asked)
            assert set(said) <= {True, "cannot be read: it was closed"}
            assert said[-1] is not True
        assert table.is_closed


@needs_fork
def test_a_forked_child_has_parts_and_locks_of_its_own(folder: Path, chunked: None) -> None:
    with lookup.open_table(folder, cache_bytes=1) as table:
        expected = [table.probe_index(index) for index in range(0, 65536, 4999)]
        reader = table._file
        assert isinstance(reader, TableFolder)
        slots = list(reader._parts._slots.values())

        def child() -> None:
            assert not reader._parts._slots
            assert [table.probe_index(index) for index in range(0, 65536, 4999)] == expected

        with held(reader._parts._lock):
            assert in_child(child) == 0
        with held(slots[0].lock):
            assert in_child(child) == 0
        assert all(slot.file and not slot.file.is_closed for slot in slots)
        assert [table.probe_index(index) for index in range(0, 65536, 4999)] == expected


def test_it_is_pickled_as_where_it_is(
    folder: Path, chunked: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder.parent)
    with lookup.open_table(folder.name) as table:
        again = pickle.loads(pickle.dumps(table))
        assert (again.path, again.probe_index(7)) == (folder, table.probe_index(7))
        again.close()


# --- found by name, commands, service -----------------------------------------------------------------


def test_it_is_found_by_name_and_a_file_wins(folder: Path, whole: Path) -> None:
    with lookup.open_tablebase(folder.parent) as tables:
        assert tables["tactics-4x4"].path == folder
        assert tables["tactics-4x4"] is tables["tactics-4x4"]
        assert "tactics-4x4" in tables
    file = folder.with_suffix(".h5")
    shutil.copy(whole, file)
    with lookup.open_tablebase(folder.parent) as tables:
        assert tables["tactics-4x4"].path == file
        assert list(tables).count("tactics-4x4") == 1
    file.unlink()
    (folder / "manifest.json").unlink()
    with lookup.open_tablebase(folder.parent) as tables:
        assert tables["tactics-4x4"].path == ROOT / "tables/tactics-4x4.h5"


def test_a_folder_of_another_name_is_refused(folder: Path) -> None:
    folder.rename(folder.with_name("rota.parts"))
    problem = "holds the table 'tactics-4x4', not 'rota'"
    with (
        lookup.open_tablebase(folder.parent) as tables,
        pytest.raises(CorruptTableError, match=problem),
    ):
        tables["rota"]


def test_commands_take_a_folder(folder: Path) -> None:
    expected = run("lookup", "probe", "tactics-4x4", POSITION).out
    for named in (str(folder), f"{folder}/manifest.json"):
        assert run("lookup", "probe", named, POSITION).out == expected
    there: dict[str, Any] = {"cwd": folder}
    assert run("lookup", "probe", "manifest.json", POSITION, **there).out == expected
    there = {"cwd": folder.parent, "ENDTABLE_PATH": str(folder.parent)}
    assert run("lookup", "probe", "tactics-4x4", POSITION, **there).out == expected
    assert run("lookup", "probe", "tactics-4x4.parts", POSITION, **there).out == expected
    assert f"({folder})" in run("lookup", "info", "tactics-4x4", **there).out
    assert str(folder) in run("lookup", "list", **there).out
    assert (
        run("lookup", "line", folder, POSITION).out
        == run("lookup", "line", "tactics-4x4", POSITION).out
    )
    size = sum(path.stat().st_size for path in folder.iterdir())
    for named in (str(folder), "tactics-4x4", f"{folder.name}/manifest.json"):
        found = json.loads(run("lookup", "where", named, "--json", **there).out)
        assert (found["table"], found["bytes"]) == ("tactics-4x4", size)
    listed = json.loads(run("lookup", "where", "--json", **there).out)
    assert {"table": "tactics-4x4", "file": str(folder), "bytes": size, "shadowed_by": None} in [
        table for place in listed for table in place["tables"]
    ]


def test_verify_takes_a_folder(small: Path) -> None:
    done = run("build-tables", "verify", small, "--engine", "python", "--deep")
    assert (done.code, done.error) == (0, "")
    assert done.out.startswith(f"{small}: 512 positions follow from the rules, and are the same")
    (small / PART).unlink()
    done = run("build-tables", "verify", small, "--engine", "python")
    assert (done.code, done.out) == (1, "")
    assert one_line(done) == f"error: '{small / PART}' {MISSING}"


def test_what_is_for_files_alone_refuses_a_folder(folder: Path, tmp_path: Path) -> None:
    done = run("build-tables", "bundle", tmp_path / "bundle", "--table", folder)
    assert done.code == 2
    assert "expected a table of one file: this one is a folder of parts" in one_line(done)
    done = run("lookup", "fetch", folder, "--to", tmp_path / "to")
    assert done.code == 1
    assert "is a table in a folder of parts: expected a bundle" in one_line(done)
    done = run("lookup", "export-site", tmp_path / "site", "tactics-4x4", "--tables", folder.parent)
    assert done.code == 2
    assert "is a folder of parts, which no page reads" in one_line(done)
    assert not (tmp_path / "site").exists()


def test_a_new_folder_in_its_place_is_noticed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shelf_module, "NOTICED_AFTER", -1.0)
    with lookup.open_tablebase(folder.parent) as tables:
        shelf = shelf_module.Shelf(tables)
        before = shelf.find("tactics-4x4")
        assert shelf.find("tactics-4x4") is before
        with pytest.raises(NoFileError, match="'tactics-4x4' is a folder of parts"):
            shelf.open_file("tactics-4x4")
        with temporary_folder_beside(folder) as fresh:
            shutil.copytree(folder, fresh, dirs_exist_ok=True)
            (fresh / "manifest.json").touch()
            put_folder_in_place(fresh, folder)
        after = shelf.find("tactics-4x4")
        assert after is not before
        assert after.digest == before.digest


def test_a_folder_that_was_replaced_this_moment_is_looked_at_at_once(
    folder: Path, rechunk: Rechunk, chunked: None
) -> None:
    """Parts of the old one that are not open are gone with it."""
    whole = rechunk(ROOT / "tables/tactics-4x4.h5", 1024)
    with lookup.open_tablebase(folder.parent) as tables, lookup.open_table(whole) as file:
        shelf = shelf_module.Shelf(tables)
        before = shelf.find("tactics-4x4")
        with temporary_folder_beside(folder) as fresh:
            other = as_folder(whole, fresh.parent / "other", 4096)
            shutil.copytree(other, fresh, dirs_exist_ok=True)
            put_folder_in_place(fresh, folder)
        assert shelf.known("tactics-4x4") is before

        def last(served: Served) -> lookup.Value:
            return shelf.stored(served.answers).probe_index(65535)

        with pytest.raises(TableFileError, match=MISSING):
            last(before)
        assert shelf.ask("tactics-4x4", last) == file.probe_index(65535)
        assert shelf.known("tactics-4x4") not in (None, before)
        (folder / "remoteness-000000.h5").unlink()  # the same folder: there is nothing else to ask
        with pytest.raises(TableFileError, match="is missing"):
            shelf.ask("tactics-4x4", lambda served: shelf.stored(served.answers).probe_index(0))


def test_parts_that_come_after_the_manifest_are_noticed(
    folder: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with lookup.open_tablebase(folder.parent) as tables:
        shelf = shelf_module.Shelf(tables)
        (folder / PART).rename(folder / "away")
        for _ in range(2):
            with pytest.raises(TableFileError, match=MISSING):
                shelf.find("tactics-4x4")
        (folder / "away").rename(folder / PART)
        with pytest.raises(TableFileError, match=MISSING):  # it was looked at just now
            shelf.find("tactics-4x4")
        monkeypatch.setattr(shelf_module, "NOTICED_AFTER", -1.0)
        whole = shelf.find("tactics-4x4")
        assert shelf.find("tactics-4x4") is whole
        (folder / PART).rename(folder / "away")
        (folder / "manifest.json").touch()
        for _ in range(3):
            assert shelf.find("tactics-4x4") is whole
        assert len(caplog.records) == 1  # not for each look
        (folder / "away").rename(folder / PART)
        assert shelf.find("tactics-4x4") is not whole


def test_it_is_served(folder: Path, whole: Path) -> None:
    (as_folder(ROOT / "tables/tactics-3x3.h5", folder.parent) / "outcome-000000.h5").unlink()
    with running("--tables", folder.parent) as server, lookup.open_table(whole) as table:
        asked = f"/api/tables/tactics-4x4/probe?position={POSITION}"
        assert server.client.get(asked).json()["outcome"] == table.probe(POSITION).outcome.name.lower()
        info = server.client.get("/api/tables/tactics-4x4").json()
        assert (info["digest"], info["form"]) == (table.digest, "folder")
        assert server.client.get("/api/tables/rota").json()["form"] == "file"
        answer = server.client.get("/api/tables/tactics-4x4/file")
        assert answer.status_code == 404
        assert answer.json()["error"]["code"] == "no_file"
        assert "is a folder of parts" in answer.json()["error"]["message"]
        assert str(folder) not in answer.text
        answer = server.client.get("/api/tables/tactics-3x3")
        assert answer.status_code == 500
        part = "tactics-3x3.parts/outcome-000000.h5"
        assert answer.json()["error"]["message"] == f"'{part}' {MISSING}"
