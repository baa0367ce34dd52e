"""Tables that are replaced, damaged, deleted and added while they are served."""

from __future__ import annotations

import asyncio
import os
import shutil
import threading
import time
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

import lookup
from lookup.service import shelf as shelf_module
from lookup.service.app import create_app
from lookup.service.arena import MEMORY
from lookup.service.errors import BusyError
from lookup.service.shelf import REMEMBERED_FORMULAS, Shelf
from lookup.table import Table
from tests.conftest import ROOT
from tests.serving import running

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

ROTA, OTHER = ROOT / "tables/rota.h5", ROOT / "tables/rota-diameters.h5"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Holds one table, which stands before the packaged one of that name."""
    shutil.copy(ROOT / "tables/tactics-3x3.h5", tmp_path / "tactics-3x3.h5")
    return tmp_path


@pytest.fixture
def shelf(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Shelf:
    """Looks again each time."""
    monkeypatch.setattr(shelf_module, "NOTICED_AFTER", -1.0)
    return Shelf(lookup.open_tablebase(folder))


def replace(path: Path, content: Path) -> None:
    """Put another file in the place of one, as `build-tables` does."""
    fresh = path.with_suffix(".new")
    shutil.copy(content, fresh)
    fresh.rename(path)


def answers(shelf: Shelf, name: str = "tactics-3x3") -> Table:
    found = shelf.find(name).answers
    assert isinstance(found, Table)
    return found


def test_the_same_file_is_opened_once(shelf: Shelf) -> None:
    assert answers(shelf) is answers(shelf)


def test_a_replaced_file_is_noticed(shelf: Shelf, folder: Path) -> None:
    before = answers(shelf)
    replace(folder / "tactics-3x3.h5", ROOT / "tables/tactics-3x3.h5")
    after = answers(shelf)
    assert after is not before
    assert before.probe(".../.../...") == after.probe(".../.../...")


def test_a_file_written_over_is_noticed(shelf: Shelf, folder: Path) -> None:
    path = folder / "tactics-3x3.h5"
    before = answers(shelf)
    path.write_bytes(path.read_bytes())
    os.utime(path, ns=(0, 1))  # the clock of files may not have ticked since
    assert answers(shelf) is not before


@pytest.mark.parametrize("content", [b"", b"not a table", ROTA.read_bytes(), OTHER.read_bytes()[:-100]])
def test_the_old_table_answers_while_the_new_file_cannot(
    shelf: Shelf, folder: Path, content: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    before = answers(shelf)
    (folder / "tactics-3x3.h5").write_bytes(content)
    assert answers(shelf) is before
    assert "tactics-3x3 stays as it was" in caplog.text
    replace(folder / "tactics-3x3.h5", ROOT / "tables/tactics-3x3.h5")
    assert answers(shelf) is not before


def test_a_file_that_was_never_a_table_is_an_error(shelf: Shelf, folder: Path) -> None:
    (folder / "notes.h5").write_text("not a table")
    for _ in range(2):
        with pytest.raises(lookup.NotATableError):
            shelf.find("notes")


def test_a_deleted_table_is_gone_and_a_new_one_is_found(
    shelf: Shelf, folder: Path, built: Callable[[str], Path]
) -> None:
    name = "tactics-2x2"
    for _ in range(2):
        with pytest.raises(lookup.MissingTableError):
            shelf.find(name)
        shutil.copy(built(name), folder)
        assert answers(shelf, name).name == name
        (folder / f"{name}.h5").unlink()


def test_a_table_by_another_name_is_an_error(shelf: Shelf, folder: Path) -> None:
    shutil.copy(ROOT / "tables/clock-4-2.h5", folder / "mine.h5")
    with pytest.raises(lookup.CorruptTableError, match="holds the table 'clock-4-2', not 'mine'"):
        shelf.find("mine")


def test_a_file_that_is_no_table_is_looked_at_once(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Decoding a damaged table again for every request would be a way to stop the server."""
    tables = lookup.open_tablebase(folder)
    shelf, opened = Shelf(tables), list[str]()
    (folder / "notes.h5").write_text("not a table")
    open_table = tables.open

    def counted(name: str, decode: Any) -> Table:
        opened.append(name)
        return open_table(name, decode)

    monkeypatch.setattr(tables, "open", counted)
    for _ in range(5):
        with pytest.raises(lookup.NotATableError):
            shelf.find("notes")
    assert opened == ["notes"]


def test_a_table_takes_the_place_of_its_formula_and_gives_it_back(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shelf_module, "NOTICED_AFTER", -1.0)
    monkeypatch.setattr("lookup.tablebase.packaged_tables", lambda: folder)
    shelf = Shelf(lookup.open_tablebase(folder))
    formula = shelf.find("clock-4-2")
    assert formula.digest is None
    shutil.copy(ROOT / "tables/clock-4-2.h5", folder)
    table = shelf.find("clock-4-2")
    assert table.digest
    assert table.entity_tag != formula.entity_tag
    assert shelf.known("clock-4-2") is None  # it is always looked for again here
    (folder / "clock-4-2.h5").unlink()
    assert shelf.find("clock-4-2").digest is None


def test_what_was_looked_for_just_now_touches_no_file(folder: Path) -> None:
    shelf = Shelf(lookup.open_tablebase(folder))
    assert shelf.known("tactics-3x3") is None
    found = shelf.find("tactics-3x3")
    (folder / "tactics-3x3.h5").unlink()
    assert shelf.known("tactics-3x3") is found
    assert shelf.find("tactics-3x3") is found


def test_names_without_end_do_not_fill_the_memory(shelf: Shelf) -> None:
    for length in range(21, REMEMBERED_FORMULAS + 50):
        assert shelf.find(f"winners-losers-{length}").digest is None
        with pytest.raises(lookup.MissingTableError):
            shelf.find(f"nobody-{length}")
    assert shelf._places == {}
    remembered = shelf_module._formula.cache_info()
    assert remembered.currsize == remembered.maxsize == REMEMBERED_FORMULAS


def test_a_replaced_table_that_is_read_from_its_file_closes_it(
    shelf: Shelf, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lookup.records.DECODED_LIMIT", 0)
    before = answers(shelf)
    assert not shelf.find("tactics-3x3").is_quick
    file = before._file
    replace(folder / "tactics-3x3.h5", ROOT / "tables/tactics-3x3.h5")
    after = answers(shelf)
    assert not file.is_closed  # somebody may still ask it
    assert before.probe(".../.../...") == after.probe(".../.../...")
    del before
    assert file.is_closed


def content_of(shelf: Shelf, name: str = "tactics-3x3") -> bytes:
    """The file as it would be sent."""
    _, held = shelf.open_file(name)
    with os.fdopen(held, "rb") as file:
        return file.read()


def test_nothing_but_tables_is_given_away(shelf: Shelf, folder: Path) -> None:
    content = (folder / "tactics-3x3.h5").read_bytes()
    assert content_of(shelf) == content
    secret = folder / "secret"
    secret.write_text("a secret")
    (folder / "mine.h5").symlink_to(secret)
    with pytest.raises(lookup.NotATableError):
        content_of(shelf, "mine")
    # The old table still answers, but what stands in its place is no table.
    (folder / "tactics-3x3.h5").unlink()
    (folder / "tactics-3x3.h5").symlink_to(secret)
    assert answers(shelf).name == "tactics-3x3"
    with pytest.raises(lookup.NotATableError):
        content_of(shelf)
    replace(folder / "tactics-3x3.h5", ROOT / "tables/tactics-3x3.h5")
    assert content_of(shelf) == content


def test_a_file_is_given_away_as_it_is_now_however_fresh_the_last_look(folder: Path) -> None:
    shelf = Shelf(lookup.open_tablebase(folder))
    before = content_of(shelf)
    build_other_version(folder / "other", ROOT / "tables/tactics-3x3.h5")
    replace(folder / "tactics-3x3.h5", folder / "other")
    after = content_of(shelf)
    assert before != after == (folder / "other").read_bytes()
    (folder / "tactics-3x3.h5").write_text("garbage")
    with pytest.raises(lookup.NotATableError):
        content_of(shelf)


def test_a_table_that_is_replaced_all_the_time_is_not_waited_for(
    shelf: Shelf, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, find = folder / "tactics-3x3.h5", shelf.tables.find

    def replaced(name: str) -> Path:
        found = find(name)
        replace(path, ROOT / "tables/tactics-3x3.h5")
        return found

    monkeypatch.setattr(shelf.tables, "find", replaced)
    with pytest.raises(BusyError, match="is being replaced"):
        shelf.open_file("tactics-3x3")
    monkeypatch.undo()
    assert content_of(shelf) == path.read_bytes()


def test_a_file_that_is_cut_while_it_is_sent_breaks_off_in_a_line(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = folder / "tactics-3x3.h5"
    app = create_app(Shelf(lookup.open_tablebase(folder)))
    sent: list[Any] = []

    async def ask() -> None:
        async def receive() -> Any:
            await asyncio.sleep(60)

        async def send(message: Any) -> None:
            os.truncate(path, 100)  # at the first of them, which tells the length
            sent.append(message)

        scope = {"type": "http", "method": "GET", "path": "/api/tables/tactics-3x3/file", "headers": []}
        await app({**scope, "query_string": b""}, receive, send)

    asyncio.run(ask())
    assert [one["type"] for one in sent] == ["http.response.start"]  # and no end of it
    (record,) = caplog.records
    assert record.getMessage() == "/api/tables/tactics-3x3/file: the file was cut while it was sent"
    assert not record.exc_info


@pytest.mark.parametrize("workers", ["1", "2"])
def test_no_request_fails_while_a_table_is_replaced_again_and_again(folder: Path, workers: str) -> None:
    """Over real sockets: probes, batches and downloads all the while, two versions by turns."""
    served, versions = folder / "rota.h5", (ROTA, folder / "second.bytes")
    # A version that is another file with another digest, and holds the same game.
    build_other_version(versions[1], ROTA)
    replace(served, ROTA)
    stop, chance = threading.Event(), Random(1)
    problems: list[str] = []
    seen: set[str] = set()

    with running("--tables", folder, "--workers", workers) as server:

        def ask() -> None:
            while not stop.is_set():
                probe = server.client.get(
                    "/api/tables/rota/probe", params={"position": ".../.../... x"}
                )
                batch = server.client.post("/api/tables/rota/probe", json={"indices": [0, 1, 2]})
                file = server.client.get("/api/tables/rota/file")
                seen.add(server.client.get("/api/tables/rota").json()["builder"])
                if file.content not in contents:
                    problems.append("the file is neither version")
                problems.extend(
                    str(one.status_code) for one in (probe, batch, file) if one.status_code != 200
                )

        contents = [version.read_bytes() for version in versions]
        threads = [threading.Thread(target=ask) for _ in range(4)]
        for thread in threads:
            thread.start()
        replaced, deadline = 0, time.monotonic() + 60
        while replaced < 8 or (len(seen) < 2 and time.monotonic() < deadline):
            replaced += 1
            replace(served, versions[replaced % 2])
            time.sleep(chance.uniform(0.1, 0.4))  # a server looks once a second, at either version
        stop.set()
        for thread in threads:
            thread.join()
        if workers != "1":
            (arena,) = MEMORY.glob(f"endtable-{server.process.pid}-*")
            assert len(list(arena.glob("rota@*"))) == 1  # what was replaced does not pile up
    assert problems == []
    assert len(seen) == 2  # both versions answered


def build_other_version(path: Path, source: Path) -> None:
    """A table as another builder would have written it."""
    from builder.solvers.solution import PackedColumn
    from builder.writer import write_table
    from lookup.reader import TableFile

    file = TableFile(source)
    columns = [
        PackedColumn(stored.column, file.read_elements(name, 0, stored.count)[: stored.column.length])
        for name, stored in file.columns.items()
    ]
    file.close()
    write_table(path, file.info._replace(builder="another"), columns)
