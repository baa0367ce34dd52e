"""What the operator of a service sees: metrics, a log of requests, a graceful stop."""

from __future__ import annotations

import json
import re
import signal
import threading
from typing import TYPE_CHECKING, Any

import pytest

from tests.commands import one_line, run
from tests.serving import running
from tests.test_service import ROTA

if TYPE_CHECKING:
    from pathlib import Path

    import httpx

PROBE = "/api/tables/{name}/probe"


def metric(client: httpx.Client, name: str, **labels: str) -> float:
    """The value of one metric, 0 if it was never counted."""
    page = client.get("/metrics")
    assert page.headers["content-type"].startswith("text/plain")
    for line in page.text.splitlines():
        found = re.fullmatch(rf"{name}(?:{{(.*)}})? (\S+)", line)
        if found and dict(re.findall(r'(\w+)="([^"]*)"', found[1] or "")) == labels:
            return float(found[2])
    return 0.0


def test_requests_and_positions_are_counted() -> None:
    with running() as server:
        client = server.client
        for _ in range(3):
            client.get("/api/tables/rota/probe", params={"position": ROTA})
        client.get("/api/tables/rota/probe", params={"position": "nonsense"})
        client.post("/api/tables/rota/probe", json={"positions": [ROTA] * 5})
        client.post("/api/tables/rota/probe", json={"indices": [0] * 7})
        client.request("DELETE", "/api/tables/rota/probe")
        client.get("/no/such/page")
        counted = {"method": "GET", "route": PROBE}
        assert metric(client, "endtable_requests_total", **counted, status="200") == 3
        assert metric(client, "endtable_requests_total", **counted, status="400") == 1
        assert metric(client, "endtable_requests_total", method="POST", route=PROBE, status="200") == 2
        other = {"method": "other", "route": PROBE, "status": "405"}
        assert metric(client, "endtable_requests_total", **other) == 1
        nowhere = {"method": "GET", "route": "none", "status": "404"}
        assert metric(client, "endtable_requests_total", **nowhere) == 1
        for how, number in (("single", 4), ("texts", 5), ("indices", 7)):
            assert metric(client, "endtable_positions_total", how=how) == number
        assert metric(client, "endtable_request_seconds_count", route=PROBE) == 7
        assert metric(client, "endtable_sent_bytes_total") > 1000


def test_without_being_asked_nothing_is_logged() -> None:
    with running() as server:
        server.client.get("/api/health")
        assert server.stop(signal.SIGINT) == (0, "", "")


def logged(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def test_the_access_log_is_json_lines(tmp_path: Path) -> None:
    path = tmp_path / "access.log"
    path.write_text('{"path": "before"}\n')
    with running("--access-log", path) as server:
        server.client.get("/api/tables/rota/probe", params={"position": ROTA})
        server.client.get("/api/tables/%0a%22%1b", headers={b"user-agent": "é".encode("latin-1")})
        assert server.stop(signal.SIGTERM) == (0, "", "")
    text = path.read_text("utf-8")
    assert text.isascii()
    assert "\x1b" not in text
    before, probe, strange = logged(text)
    assert before == {"path": "before"}  # nothing that was there is lost
    assert probe["path"] == "/api/tables/rota/probe"
    assert probe["query"].startswith("position=")
    assert (probe["method"], probe["status"], probe["client"]) == ("GET", 200, "127.0.0.1")
    assert probe["bytes"] > 100
    assert 0 < probe["ms"] < 60_000
    assert probe["agent"].startswith("python-httpx")
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}\+00:00", probe["time"])
    assert (strange["path"], strange["status"]) == ('/api/tables/\n"\x1b', 404)


def test_the_access_log_may_go_to_standard_error() -> None:
    with running("--access-log", "-") as server:
        server.client.get("/api/health")
        code, out, error = server.stop(signal.SIGINT)
    assert (code, out) == (0, "")
    assert [entry["path"] for entry in logged(error)] == ["/api/health"]


def test_a_log_that_is_full_is_told_once() -> None:
    with running("--access-log", "/dev/full") as server:
        for _ in range(3):
            assert server.client.get("/api/health").status_code == 200
        code, _, error = server.stop(signal.SIGINT)
    assert code == 0
    assert error == "requests are not logged any more: No space left on device\n"


def test_a_log_that_cannot_be_written_is_one_line_and_exit_1(tmp_path: Path) -> None:
    result = run("lookup", "serve", "--port", "0", "--access-log", tmp_path / "no" / "such.log")
    assert (result.code, result.out) == (1, "")
    assert "cannot log to" in one_line(result)


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_answers_that_are_under_way_are_finished_before_it_stops(how: signal.Signals) -> None:
    with running() as server:
        answered: list[int] = []

        def ask() -> None:
            # A line of two hundred sticks takes a good part of a second.
            line = {"position": "|" * 200}
            response = server.client.get("/api/tables/sticks-run-1-2/line", params=line)
            answered.append(len(response.json()["line"]))

        server.client.get("/api/tables/sticks-run-1-2")
        asking = threading.Thread(target=ask)
        asking.start()
        while metric(server.client, "endtable_requests_in_progress") < 2:  # one is this question
            assert asking.is_alive()
        assert server.stop(how) == (0, "", "")
        asking.join()
        assert answered == [len_of_line()]


def len_of_line() -> int:
    command = run("lookup", "line", "sticks-run-1-2", "|" * 200, "--json")
    return len(json.loads(command.out)["line"])
