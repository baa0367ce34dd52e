"""A server under slow, broken, huge and many requests, over tables that change, and for a long time."""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from random import Random
from threading import Event, Thread
from typing import TYPE_CHECKING
from urllib.parse import quote

from torture_attacks import BROKEN, attack
from torture_ordinary import be_ordinary
from torture_server import PATIENCE, ROOT, Reply, serving
from torture_soak import soak
from torture_tally import Tally

import lookup
from lookup.progress import Progress
from lookup.response import probe_fields

if TYPE_CHECKING:
    from collections.abc import Callable

    from torture_server import Server

TABLE = "rota"
POSITION = ".../.../... x"
ASKED = f"/api/tables/{TABLE}/probe?position={quote(POSITION)}"
NOTICED = 1.3
"""Seconds after which a server has seen that a file is another."""

ON_DISK = "from lookup import records\nrecords.DECODED_LIMIT = 0"
"""To be run first by a server that reads all tables chunk by chunk."""


def campaign(tally: Tally) -> None:
    """All of it."""
    progress = Progress.on_terminal()
    with progress.stage("attacks", "kinds") as report:
        attack(tally, report)
    with progress.stage("bursts", "bursts") as report:
        for number in range(10):
            burst(tally, tally.share(1000), 100, tally.seed + number)
            report(number + 1, 10)
    with progress.stage("changes", "servers") as report:
        servers = [("1", ""), ("2", ""), ("1", ON_DISK), ("2", ON_DISK)]
        tallies = [Tally(tally.seed, tally.scale) for _ in servers]
        with ThreadPoolExecutor(len(servers)) as people:  # most of the time they wait
            asked = [
                people.submit(change_tables, mine, workers, first, tally.share(2))
                for mine, (workers, first) in zip(tallies, servers, strict=True)
            ]
            for number, one in enumerate(asked, 1):
                one.result()
                report(number, len(servers))
        for mine in tallies:
            join(tally, mine)
    kill_workers(tally, tally.share(5))
    be_ordinary(tally)
    keep_to_the_rate(tally)
    with progress.stage("soak", "seconds") as report:
        soak(tally, max(10.0, 600 * tally.scale), 100, report)


def join(tally: Tally, other: Tally) -> None:
    """Add what another counted."""
    for kind, ends in other.counts.items():
        for ending, count in ends.items():
            tally.add(kind, ending, count)
    tally.failed += other.failed
    tally.failures += other.failures


# --- many -----------------------------------------------------------------------------------------


def burst(tally: Tally, requests: int, connections: int, seed: int) -> None:
    """Many connections that all begin at once, some of which send rubbish."""
    chance = Random(seed)
    with lookup.open_tablebase() as tables, serving() as server:
        names = ("rota", "tactics-4x4", "tactics-4x5")
        cases = list[tuple[str, object]]()
        while len(cases) < requests:
            table = tables[chance.choice(names)]
            text = table.game.format(chance.randrange(table.game.size))
            if table.get(text) is not None:
                path = f"/api/tables/{table.name}/probe?position={quote(text)}"
                cases.append((path, probe_fields(table, text)))
        share = [cases[at::connections] for at in range(connections)]

        def ask(number: int) -> Tally:
            tally = Tally(seed)
            client = HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE)
            for path, expected in share[number]:
                if number % 10 == 0:
                    server.raw(BROKEN[len(path) % len(BROKEN)].request)
                    tally.add("bursts", "rubbish")
                try:
                    client.request("GET", path)
                    answer = client.getresponse()
                    right = Reply(answer.status, {}, answer.read()).json == expected
                except (OSError, HTTPException) as error:
                    tally.fail("bursts", "no answer", f"seed {seed}, {path}: {error!r}")
                    client.close()
                    continue
                if right and answer.status == 200:
                    tally.add("bursts", "right values")
                else:
                    tally.fail("bursts", f"a wrong value, {answer.status}", f"seed {seed}, {path}")
            client.close()
            return tally

        with ThreadPoolExecutor(connections) as people:
            for one in people.map(ask, range(connections)):
                join(tally, one)


def keep_to_the_rate(tally: Tally) -> None:
    """A server with a limit answers so many, and tells the others when to come back."""
    with serving("--rate", "2") as server:
        answers = [server.get("/api/health") for _ in range(40)]
        kept = sum(one.status == 200 for one in answers)
        told = all(one.headers.get("retry-after") for one in answers if one.status == 429)
        if 10 <= kept <= 20 and told and {one.status for one in answers} == {200, 429}:
            tally.add("rate", "held")
        else:
            tally.fail("rate", f"{kept} of 40 answered", "--rate 2")


# --- tables that change ---------------------------------------------------------------------------


def _replaced(path: Path, content: bytes) -> None:
    fresh = path.with_suffix(".new")
    fresh.write_bytes(content)
    fresh.replace(path)


def _swapped(path: Path, make: Callable[[Path], object]) -> None:
    path.unlink(missing_ok=True)
    make(path)


def _overwritten(path: Path, content: bytes) -> None:
    with path.open("r+b") as file:
        file.write(content)


GOOD = (ROOT / "tables" / f"{TABLE}.h5").read_bytes()
OTHER = (ROOT / "tables" / "rota-diameters.h5").read_bytes()
UNNOTICED = "replaced by itself"
"""The change of which nobody may notice anything."""

CHANGES: dict[str, Callable[[Path], object]] = {
    UNNOTICED: lambda path: _replaced(path, GOOD),
    "replaced by another table": lambda path: _replaced(path, OTHER),
    "replaced by garbage": lambda path: _replaced(path, b"garbage" * 1000),
    "replaced by nothing": lambda path: _replaced(path, b""),
    "deleted": lambda path: path.unlink(),
    "cut in place": lambda path: os.truncate(path, len(GOOD) // 2),
    "cut to nothing in place": lambda path: os.truncate(path, 0),
    "written over in place": lambda path: _overwritten(path, os.urandom(len(GOOD))),
    "its middle written over": lambda path: _overwritten(path, GOOD[:900] + bytes(len(GOOD) - 900)),
    "a folder": lambda path: _swapped(path, Path.mkdir),
    "a pipe": lambda path: _swapped(path, os.mkfifo),
    "a link to nowhere": lambda path: _swapped(path, lambda at: at.symlink_to("/no/such/file")),
    "a link to itself": lambda path: _swapped(path, lambda at: at.symlink_to(at)),
    "a link to a secret": lambda path: _swapped(path, lambda at: at.symlink_to("/etc/passwd")),
    "not to be read": lambda path: path.chmod(0),
}
"""What happens to the file of a table while it is asked for."""


def change_tables(tally: Tally, workers: str, first: str, rounds: int) -> None:
    """Change a table under a server in every way, while it is asked all the time."""
    with tempfile.TemporaryDirectory() as name:
        # The packaged tables are on the search path too, and must not answer in its place.
        folder, nothing = Path(name) / "tables", Path(name) / "nothing"
        folder.mkdir()
        nothing.mkdir()
        path = folder / f"{TABLE}.h5"
        hidden = f"{first}\nimport pathlib\nfrom lookup import tablebase\n"
        hidden += f"tablebase.packaged_tables = lambda: pathlib.Path({str(nothing)!r})"
        with lookup.open_table(ROOT / "tables" / f"{TABLE}.h5") as table:
            expected = probe_fields(table, POSITION)
        _replaced(path, GOOD)
        with serving("--workers", workers, first=hidden, tables=folder) as server:
            for _ in range(rounds):
                for change in CHANGES:
                    _change(tally, server, path, change, expected)
            if "Traceback" in server.said:
                tally.fail("changed tables", "a traceback", server.said[-800:])


def _change(tally: Tally, server: Server, path: Path, change: str, expected: object) -> None:
    """One change, from a good table to a good table."""
    stop, seen = Event(), list[tuple[str, Reply]]()

    def ask() -> None:
        asked = [ASKED, f"/api/tables/{TABLE}/file", f"/api/tables/{TABLE}"]
        while not stop.is_set():
            for one in asked:
                try:
                    seen.append((one, server.get(one)))
                except (OSError, HTTPException) as error:
                    seen.append((one, Reply(0, {}, repr(error).encode())))
            time.sleep(0.05)

    threads = [Thread(target=ask) for _ in range(2)]
    for thread in threads:
        thread.start()
    time.sleep(0.1)
    CHANGES[change](path)
    time.sleep(NOTICED)
    if path.is_dir() and not path.is_symlink():
        path.rmdir()
    _replaced(path, GOOD)
    stop.set()
    for thread in threads:
        thread.join()
    for asked, answer in seen:
        ending = judged(asked, answer, expected, str(path.parent))
        if change == UNNOTICED and answer.status != 200:
            ending = f"WRONG: a request fails: {ending}"
        if ending.startswith("WRONG"):
            tally.fail("changed tables", ending[:300], f"{change}, {asked}")
        else:
            tally.add("changed tables", ending)
    time.sleep(NOTICED)
    if server.get(ASKED).status == 200:
        tally.add("changed tables", "back as it was")
    else:
        tally.fail("changed tables", "does not come back", change)


def judged(asked: str, answer: Reply, expected: object, folder: str) -> str:
    """How an answer ended that was given while a table changed."""
    if answer.status == 200 and asked == ASKED:
        return "right values" if answer.json == expected else f"WRONG value: {answer.body[:100]!r}"
    if answer.status == 200 and asked.endswith("/file"):
        # A file that is written over while it is sent may be of both kinds; it is never another file.
        return "the file" if b"root:" not in answer.body else "WRONG file"
    if answer.status == 200:
        return "what it says of itself"
    if folder in answer.body.decode("latin-1"):
        return f"WRONG: names a folder: {answer.body[:200]!r}"
    if answer.code in ("missing_table", "unusable_table", "busy"):
        return f"{answer.status} {answer.code}"
    if asked.endswith("/file") and answer.status == 0:
        return "a file that broke off"  # it was cut while it was sent: its length was told before
    return f"WRONG: {answer.status} {answer.body[:200]!r}"


# --- processes that die ---------------------------------------------------------------------------


def kill_workers(tally: Tally, rounds: int) -> None:
    """Killed workers are replaced; if the first process is killed they end, and nothing is left."""
    with serving("--workers", "2") as server:
        for _ in range(rounds):
            _, victim, *_ = server.processes
            os.kill(victim, signal.SIGKILL)
            deadline = time.monotonic() + PATIENCE
            while victim in (now := server.processes) or len(now) < 3:
                if time.monotonic() > deadline:
                    tally.fail("killed processes", "a worker is not replaced", str(now))
                    return
                time.sleep(0.05)
            time.sleep(2.1)  # workers that live for less are thought to be broken
            tally.add("killed processes", "a worker, replaced")
        first, *workers = server.processes
        os.kill(first, signal.SIGKILL)
        server.process.wait()
        deadline = time.monotonic() + PATIENCE
        while any(Path(f"/proc/{one}").exists() for one in workers) and time.monotonic() < deadline:
            time.sleep(0.05)
        orphans = [one for one in workers if Path(f"/proc/{one}").exists()]
    with serving("--workers", "2"):
        places = (Path("/dev/shm"), Path(tempfile.gettempdir()))
        left = [one for place in places for one in place.glob(f"endtable-{first}-*")]
    if orphans or left:
        tally.fail("killed processes", "something is left", f"{orphans} {left}")
        for one in left:
            shutil.rmtree(one, ignore_errors=True)
    else:
        tally.add("killed processes", "the first one, and nothing is left")
