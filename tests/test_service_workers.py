"""`lookup serve --workers N`: several processes that share a port, tables in memory, and numbers."""

from __future__ import annotations

import os
import re
import shutil
import signal
import tempfile
import time
from pathlib import Path
from typing import Any

import pytest

import lookup
from lookup.reader import TableFile
from tests.commands import one_line, run
from tests.conftest import ROOT
from tests.serving import running
from tests.test_service_observed import metric

needs_proc = pytest.mark.skipif(not Path("/proc/self").is_dir(), reason="looks at processes in /proc")


def children(process: int) -> list[int]:
    listed = Path(f"/proc/{process}/task/{process}/children").read_text()
    return [int(one) for one in listed.split()]


def proportional_bytes(process: int, file: str) -> int:
    """Memory of a process that is mapped from files of a name; what is shared counts in part."""
    total, counts = 0, False
    with Path(f"/proc/{process}/smaps").open() as lines:
        for line in lines:
            if re.match(r"[0-9a-f]+-[0-9a-f]+ ", line):
                counts = file in line
            elif counts and line.startswith("Pss:"):
                total += 1024 * int(line.split()[1])
    return total


@needs_proc
def test_workers_have_a_table_in_memory_once_and_count_together() -> None:
    workers = 3
    with running("--workers", str(workers)) as server:
        processes = children(server.process.pid)
        assert len(processes) == workers
        info = server.client.get("/api/tables/tactics-4x5").json()
        digest, size = info["digest"], info["size"]
        reached = asked = 0
        while reached < workers and asked < 500:
            # A new connection each time: any worker may take it.
            with server.client.stream("POST", "/api/tables/tactics-4x5/probe", **EVERYTHING) as answer:
                answer.read()
            asked += 1
            reached = sum(proportional_bytes(one, digest) > 0 for one in processes)
        assert reached == workers
        shared = sum(proportional_bytes(one, digest) for one in processes)
        assert shared <= 1.1 * size  # a byte a position, once
        counted = metric(server.client, "endtable_positions_total", how="indices")
        assert counted == asked * len(EVERY_PAGE)
        code, _, _ = server.stop(signal.SIGTERM)
        assert code == 0
        assert not [one for one in processes if Path(f"/proc/{one}").exists()]
        assert not folders_of(server.process.pid)


EVERY_PAGE = list(range(0, 2**20, 4096))
EVERYTHING: dict[str, Any] = {"json": {"indices": EVERY_PAGE}, "headers": {"connection": "close"}}


def folders_of(process: int) -> list[Path]:
    """Temporary folders that a server made."""
    places = (Path("/dev/shm"), Path(tempfile.gettempdir()))
    return [folder for place in places for folder in place.glob(f"endtable-{process}-*")]


@needs_proc
def test_a_worker_that_dies_is_started_again() -> None:
    with running("--workers", "2") as server:
        first = children(server.process.pid)
        os.kill(first[0], signal.SIGKILL)
        deadline = time.monotonic() + 30
        while first[0] in (now := children(server.process.pid)) or len(now) < 2:
            assert time.monotonic() < deadline
            time.sleep(0.05)
        for _ in range(20):
            assert server.client.get("/api/health").status_code == 200
        assert server.stop(signal.SIGINT)[0] == 0


@needs_proc
def test_what_a_killed_server_left_behind_is_removed_by_the_next() -> None:
    with running("--workers", "2") as server:
        workers = children(server.process.pid)
        os.kill(server.process.pid, signal.SIGKILL)
        server.process.wait()
        deadline = time.monotonic() + 30
        while any(Path(f"/proc/{one}").exists() for one in workers):  # they do not go on alone
            assert time.monotonic() < deadline
            time.sleep(0.05)
        assert folders_of(server.process.pid)
    with running("--workers", "2") as other:
        assert not folders_of(server.process.pid)
        assert folders_of(other.process.pid)


@needs_proc
def test_without_room_for_it_a_table_is_each_workers_own(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    from lookup.service import arena as arena_module  # not everywhere

    def full(path: Path, records: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(arena_module, "_write", full)
    path = tmp_path / "mine.h5"  # known by its place, whatever it calls itself
    shutil.copy(ROOT / "tables/tactics-3x3.h5", path)
    with arena_module.Arena() as arena:
        with lookup.table.Table(path, decode=arena.decode) as table:
            assert str(table.probe(".../.../...")) == "win in 6"
        assert "mine is not shared between workers" in caplog.text
        monkeypatch.undo()
        file = TableFile(path)
        assert not arena.decode(file).flags.writeable  # mapped again, once there is room
        file.close()
        assert [one.name for one in arena.folder.glob("*@*")] == [f"mine@{file.digest}"]
    assert not arena.folder.exists()


@needs_proc
def test_what_others_leave_where_servers_keep_things_stops_none(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from lookup.service import arena as arena_module  # not everywhere

    monkeypatch.setattr(arena_module, "MEMORY", tmp_path)
    for name in ("endtable-99999999999999999999-x", "endtable-x-y", f"endtable-{os.getpid()}-z"):
        (tmp_path / name).mkdir()
    (tmp_path / "endtable-999999999-gone").symlink_to("nowhere")
    with arena_module.Arena() as arena:
        left = {path.name for path in tmp_path.iterdir()} - {arena.folder.name}
    # No process has such a number; what is no folder of a server, or of one that runs, stays.
    assert left == {"endtable-x-y", f"endtable-{os.getpid()}-z", "endtable-999999999-gone"}


def test_a_number_of_workers_that_is_none_is_one_line_and_exit_2() -> None:
    for words in (["--workers", "0"], ["--workers", "many"]):
        result = run("lookup", "serve", *words)
        assert (result.code, result.out) == (2, "")
        assert "--workers" in one_line(result)
