"""How much may be asked of a service: rates, turns, room, and the words with which it refuses."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from starlette.requests import ClientDisconnect
from torture_server import Reply, everything, serving, status_of

from lookup.service import limits
from lookup.service.connections import LARGEST_HEAD, MOST_CONNECTIONS, most_connections
from lookup.service.errors import BusyError
from lookup.service.limits import BURST_SECONDS, COSTLY, MOST_CLIENTS, Rate, Turns, client_of, cost_of
from lookup.service.server import OPEN_FILES

if TYPE_CHECKING:
    from torture_server import Server

needs_proc = pytest.mark.skipif(sys.platform != "linux", reason="looks at processes in /proc")


# --- rates ----------------------------------------------------------------------------------------


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """What time it is, in its only item."""
    now = [1000.0]
    monkeypatch.setattr(limits, "monotonic", lambda: now[0])
    return now


def test_a_client_may_ask_so_often_and_save_up_for_a_burst(clock: list[float]) -> None:
    rate = Rate(8)
    assert [rate.wait("a") for _ in range(8 * BURST_SECONDS + 1)] == [0.0] * 41
    assert rate.wait("a") == 1 / 8
    assert rate.wait("b") == 0  # another one may
    clock[0] += 1 / 8
    assert rate.wait("a") == 0
    assert rate.wait("a") > 0
    clock[0] += 3600  # no more than a burst is saved
    assert sum(rate.wait("a") == 0 for _ in range(1000)) == 41


def test_who_is_refused_waits_no_longer_for_asking_again(clock: list[float]) -> None:
    rate = Rate(1)
    while not rate.wait("a"):
        pass
    waits = {rate.wait("a") for _ in range(100)}
    assert len(waits) == 1
    clock[0] += waits.pop()
    assert rate.wait("a") == 0


def test_what_costs_more_counts_more_but_is_never_out_of_reach(clock: list[float]) -> None:
    rate = Rate(0.5)
    assert rate.wait("a", COSTLY) == 0  # it would take 20 seconds' worth
    assert rate.wait("a") == 20 - BURST_SECONDS


def test_clients_without_end_do_not_fill_the_memory(clock: list[float]) -> None:
    rate = Rate(1)
    for number in range(MOST_CLIENTS + 500):
        rate.wait(f"client {number}")
        rate.wait("a")
    assert len(rate._until) == MOST_CLIENTS
    assert rate.wait("a") > 0  # who asks is not forgotten


@pytest.mark.parametrize(
    ("host", "client"),
    [
        ("192.0.2.1", "192.0.2.1"),
        ("2001:db8:1:2:3:4:5:6", "20010db800010002::/64"),
        ("2001:db8:1:2:ffff::1%eth0", "20010db800010002::/64"),
        ("::ffff:192.0.2.1", "192.0.2.1"),
        ("no:address", "no:address"),
        (None, ""),
    ],
)
def test_who_a_client_is(host: str | None, client: str) -> None:
    assert client_of({"client": (host, 1) if host else None}) == client


def test_batches_and_lines_cost_more() -> None:
    costs = {
        (method, path): cost_of({"method": method, "path": f"/api/tables/rota/{path}"})
        for method, path in [("GET", "probe"), ("POST", "probe"), ("GET", "line")]
    }
    assert list(costs.values()) == [1, COSTLY, COSTLY]


def test_a_rate_that_is_none_is_a_mistake() -> None:
    from tests.commands import one_line, run

    for rate in ("0", "often"):
        result = run("lookup", "serve", "--rate", rate)
        assert (result.code, result.out) == (2, "")
        assert "--rate" in one_line(result)


# --- turns ----------------------------------------------------------------------------------------


class Here:
    """A request whose client is still there, or not."""

    def __init__(self, is_here: bool = True) -> None:
        self._is_here = is_here

    async def is_disconnected(self) -> bool:
        return not self._is_here


def test_a_few_at_a_time_and_no_more_than_so_many_wait() -> None:
    async def crowd() -> tuple[list[Any], int]:
        turns, now, most = Turns("lines", 2, 5), 0, 0

        async def one(request: Any) -> None:
            nonlocal now, most
            async with turns.taken(request):
                now += 1
                most = max(most, now)
                await asyncio.sleep(0.01)
                now -= 1

        people = [one(Here(number != 3)) for number in range(8)]
        ends = await asyncio.gather(*people, return_exceptions=True)
        await one(Here())  # all have left
        return ends, most

    ends, most = asyncio.run(crowd())
    assert most == 2
    assert [type(end) for end in ends] == [
        *[type(None)] * 3,
        ClientDisconnect,
        type(None),
        *[BusyError] * 3,
    ]


# --- over a socket --------------------------------------------------------------------------------


def refused(server: Server, paths: list[str]) -> list[Reply]:
    with ThreadPoolExecutor(len(paths)) as people:
        return list(people.map(server.get, paths))


@needs_proc
def test_who_has_to_wait_is_told_so() -> None:
    first = "from lookup.service import app, requests\napp.MOST_LINES, requests.MOST_HELD = 1, 100"
    line = "/api/tables/clock-300-9/line?position=" + "0" * 299 + "9"
    with serving("--rate", "5", first=first) as server:
        answers = refused(server, [line] * 3)
        assert sorted(one.status for one in answers) == [200, 503, 503]
        body = b'{"indices": [' + b"0, " * 99 + b"0]}"
        answers.append(server.ask("POST", "/api/tables/rota/probe", body))
        answers += [server.get("/api/health") for _ in range(30)]
        codes = {(one.status, one.code) for one in answers if one.status != 200}
        assert codes == {(503, "busy"), (429, "too_many_requests")}
        for one in answers:
            assert ("retry-after" in one.headers) == (one.status != 200)
            if one.status != 200:
                assert int(one.headers["retry-after"]) >= 1
                assert "content-security-policy" in one.headers


@needs_proc
def test_what_is_no_request_is_refused_in_the_same_words() -> None:
    with serving() as server:
        for request, status, code in (
            (b"nonsense\r\n\r\n", 400, "bad_request"),
            (b"GET / HTTP/1.1\r\nx: " + b"y" * LARGEST_HEAD, 431, "head_too_large"),
            (b"GET / HTTP/1.1\r\n" + b"x: y\r\n" * 30_000 + b"\r\n", 431, "head_too_large"),
        ):
            head, _, body = server.raw(request).partition(b"\r\n\r\n")
            answer = Reply(status_of(head), {}, body)
            assert (answer.status, answer.code) == (status, code)
            assert list(answer.json["error"]) == ["code", "message"]
            counted = f'endtable_refused_connections_total{{why="{code}"}}'
            assert counted in server.get("/metrics").body.decode()
        assert server.said == ""


@needs_proc
def test_an_answer_is_never_taken_for_that_to_an_earlier_request() -> None:
    """What is broken behind a good request gets no answer of its own before the first has one."""
    line = b"GET /api/tables/clock-300-9/line?position=" + b"0" * 299 + b"9 HTTP/1.1\r\nhost: x\r\n\r\n"
    with serving() as server:
        assert status_of(server.raw(line + b"nonsense\r\n\r\n")) == 0


def test_there_are_fewer_connections_than_a_process_may_open_files(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from lookup.service import connections

    for files, most in ((256, 128), (1024, 824), (10**6, MOST_CONNECTIONS), (0, MOST_CONNECTIONS)):
        monkeypatch.setattr(connections, "_MOST_FILES", files)
        assert most_connections() == most


@needs_proc
@pytest.mark.parametrize(("most", "allowed"), [("-Sn 256", OPEN_FILES), ("-n 256", 256)])
def test_it_asks_to_open_as_many_files_as_connections_may_need(most: str, allowed: int) -> None:
    with serving(through=("bash", "-c", f'ulimit {most}; exec "$@"', "-")) as server:
        limits = Path(f"/proc/{server.process.pid}/limits").read_text()
        assert int(limits.partition("Max open files")[2].split()[0]) == allowed
        assert server.get("/api/health").status == 200


@needs_proc
def test_who_reads_slowly_but_steadily_is_waited_for() -> None:
    """The system holds megabytes of an answer, and says that there is room after a third was read."""
    first = "from lookup.service import connections\nconnections.SEND_SECONDS = 2"
    request = b"GET /api/tables/tactics-4x5/file HTTP/1.1\r\nhost: x\r\n\r\n"
    dropped = 'why="too_slow"'
    with serving(first=first) as server, server.connect() as client:
        client.sendall(request * 80)
        for _ in range(55):
            assert client.recv(20_000)
            time.sleep(0.1)
        assert dropped not in server.get("/metrics").body.decode()
        deadline = time.monotonic() + 20  # now it reads no more
        while dropped not in server.get("/metrics").body.decode():
            assert time.monotonic() < deadline
            time.sleep(0.2)


@needs_proc
def test_a_body_that_comes_after_its_answer_holds_no_connection() -> None:
    first = "from lookup.service import server\nserver.KEEP_ALIVE_SECONDS = 1"
    with serving(first=first) as server, server.connect(10) as client:
        client.sendall(b"POST /nowhere HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\n\r\n")
        assert status_of(client.recv(99)) == 404
        client.sendall(b"{}")
        # Then it is closed as any other that is idle, without a word.
        assert everything(client).endswith(b"/nowhere' is not answered here: not found\"}}")


LOST = """
import os, signal, time, weakref
from lookup.service import server
answer = server._answer
class Thing: pass
def told(_):
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(0.01)
def answered(*words):
    thing = Thing()
    known = weakref.ref(thing, told)
    del thing
    answer(*words)
server._answer = answered
"""
"""A server that is told to stop while it starts, where no exception can be raised."""


@needs_proc
@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_signal_that_comes_at_the_start_is_not_lost(workers: str) -> None:
    with serving("--workers", workers, first=LOST) as server:
        if workers == "2":
            for one in server.processes[1:]:
                os.kill(one, signal.SIGTERM)
            assert server.stop()[0] == 0
        else:
            assert server.process.wait(30) == 0
        assert "KeyboardInterrupt" not in server.said
