"""`lookup serve`, asked as anybody would ask it: a process of its own, over a real socket."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from http.client import HTTPConnection
from typing import TYPE_CHECKING, Any

import httpx
import pytest

import lookup
from lookup.response import info_fields
from lookup.service.app import STATIC, create_app
from lookup.service.requests import (
    LARGEST_BODY,
    LONGEST_IN_LINE,
    LONGEST_LINE,
    LONGEST_POSITION,
    MOST_INDICES,
    MOST_POSITIONS,
)
from lookup.service.shelf import Served, Shelf
from tests.commands import one_line, run
from tests.conftest import ROOT
from tests.serving import SECONDS, running

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ROTA = "x.o/.x./..o x"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Tables that cannot be used, beside the packaged ones."""
    path = tmp_path_factory.mktemp("served")
    (path / "notes.h5").write_text("not a table")
    (path / "cut.h5").write_bytes((ROOT / "tables/rota.h5").read_bytes()[:-100])
    return path


@pytest.fixture(scope="module")
def client(folder: Path) -> Iterator[httpx.Client]:
    with running("--tables", folder) as server:
        yield server.client


def error_of(response: httpx.Response, status: int) -> tuple[str, str]:
    """Code and message of an error, which has nothing else."""
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == "application/json"
    answer = response.json()
    assert list(answer) == ["error"]
    assert list(answer["error"]) == ["code", "message"]
    assert "Traceback" not in response.text
    assert str(ROOT) not in response.text
    return answer["error"]["code"], answer["error"]["message"]


# --- answers --------------------------------------------------------------------------------------


def test_health_and_the_list_of_tables(client: httpx.Client) -> None:
    health = client.get("/api/health").json()
    assert health == {"status": "ok", "version": lookup.__version__}
    names = client.get("/api/tables").json()["tables"]
    assert names == sorted(names)
    assert {"rota", "tactics-4x4", "notes"} <= set(names)


def test_a_table_says_what_the_command_says(client: httpx.Client) -> None:
    for name in ("rota", "sticks-run-1-2"):
        command = json.loads(run("lookup", "info", name, "--json").out)
        assert client.get(f"/api/tables/{name}").json() == command
        assert client.get(f"/api/tables/{name}").json() == command  # counted once, answered again
    assert client.get("/api/tables/rota").json()["players"] == 2
    assert client.get("/api/tables/clock-4-2").json()["players"] == 1


@pytest.mark.parametrize(
    ("table", "position"),
    [
        ("rota", ROTA),
        ("tactics-4x4", "XXXX/..X./..X./...."),
        ("tactics-3x3", "XXX/XXX/XXX"),
        ("sticks-run-1-2", "|||.||"),
        ("sticks-special-50", "|.|"),
        ("sticks-special-50", "..."),
        ("clock-4-2", "1010"),
        ("winners-losers-20", "WLW"),
    ],
)
def test_probe_and_line_agree_with_the_command(client: httpx.Client, table: str, position: str) -> None:
    for what in ("probe", "line"):
        command = run("lookup", what, table, position, "--json")
        response = client.get(f"/api/tables/{table}/{what}", params={"position": position})
        assert response.json() == json.loads(command.out)


def test_a_batch_of_positions_is_a_list_without_moves(client: httpx.Client) -> None:
    positions = [ROTA, ".../.../... x", ROTA]
    answers = client.post("/api/tables/rota/probe", json={"positions": positions}).json()
    for position, answer in zip(positions, answers, strict=True):
        single = client.get("/api/tables/rota/probe", params={"position": position}).json()
        del single["moves"]
        assert answer == single
    assert client.post("/api/tables/rota/probe", json={"positions": []}).json() == []


@pytest.mark.parametrize("name", ["rota", "tactics-3x3", "sticks-run-1-2", "sticks-special-50"])
def test_a_batch_of_indices_is_columns(
    client: httpx.Client, tables: lookup.Tablebase, name: str
) -> None:
    table = tables[name]
    indices = list(range(min(table.game.size, 1000)))
    answer = client.post(f"/api/tables/{name}/probe", json={"indices": indices}).json()
    assert list(answer) == ["table", "outcome", "remoteness", "grundy"]
    for at, index in enumerate(indices):
        if answer["outcome"][at] == "not a position":
            with pytest.raises(lookup.InvalidPositionError):
                table.probe_index(index)
            continue
        value = table.probe_index(index)
        assert answer["outcome"][at] == str(value.outcome)
        for field in ("remoteness", "grundy"):
            column = answer[field]
            assert (None if column is None else column[at]) == getattr(value, field)
    stored = info_fields(table)
    assert (answer["remoteness"] is None) == (stored["longest_remoteness"] is None)
    assert (answer["grundy"] is None) == (stored["grundy"] is None)
    empty = client.post(f"/api/tables/{name}/probe", json={"indices": []}).json()
    assert empty["outcome"] == []


def test_a_line_has_a_limit(client: httpx.Client) -> None:
    asked = {"position": "1010", "limit": "5"}
    answer = client.get("/api/tables/clock-4-2/line", params=asked).json()
    assert (len(answer["line"]), answer["complete"]) == (5, False)
    asked["limit"] = "0"
    assert client.get("/api/tables/clock-4-2/line", params=asked).json()["line"] == []


def test_the_board_of_a_position(client: httpx.Client, tables: lookup.Tablebase) -> None:
    for position, over in ((".../.../...", False), ("XXX/XXX/XXX", True)):
        answer = client.get("/api/tables/tactics-3x3/board", params={"position": position}).json()
        picture = tables["tactics-3x3"].game.board(position)
        assert answer == {"position": position, "board": picture, "over": over}


def test_the_file_whole_and_in_ranges(client: httpx.Client) -> None:
    content = (ROOT / "tables/rota.h5").read_bytes()
    whole = client.get("/api/tables/rota/file")
    assert whole.content == content
    assert whole.headers["content-type"] == "application/x-hdf5"
    assert whole.headers["content-disposition"] == 'attachment; filename="rota.h5"'
    assert whole.headers["accept-ranges"] == "bytes"
    for asked, expected in (
        ("0-99", content[:100]),
        ("100-", content[100:]),
        ("-8", content[-8:]),
        (f"10-{10 * len(content)}", content[10:]),
    ):
        part = client.get("/api/tables/rota/file", headers={"range": f"bytes={asked}"})
        assert (part.status_code, part.content) == (206, expected)
        assert part.headers["content-range"].endswith(f"/{len(content)}")
    two = client.get("/api/tables/rota/file", headers={"range": "bytes=0-3,8-11"})
    assert two.status_code == 206
    assert content[:4] in two.content
    head = client.head("/api/tables/rota/file")
    assert (head.headers["content-length"], head.content) == (str(len(content)), b"")


def test_two_hundred_connections_at_once(client: httpx.Client) -> None:
    place = client.base_url.host, client.base_url.port or 0
    request = b"GET /api/tables/rota/probe?position=.../.../...+x HTTP/1.0\r\n\r\n"
    with ExitStack() as stack:
        people = [stack.enter_context(socket.create_connection(place, SECONDS)) for _ in range(200)]
        for one in people:
            one.sendall(request)
        for one in people:
            with one.makefile("rb") as answer:
                head, _, body = answer.read().partition(b"\r\n\r\n")
            assert head.startswith(b"HTTP/1.1 200 ")
            assert len(json.loads(body)["moves"]) == 9


def test_who_leaves_in_the_middle_of_a_body_is_no_fault_of_ours(client: httpx.Client) -> None:
    host, port = client.base_url.host, client.base_url.port
    assert port
    with socket.create_connection((host, port)) as leaving:
        leaving.sendall(
            b"POST /api/tables/rota/probe HTTP/1.1\r\nhost: x\r\ncontent-length: 99\r\n\r\n{"
        )
    gone = 'endtable_requests_total{method="POST",route="/api/tables/{name}/probe",status="499"} 1.0'
    deadline = time.monotonic() + SECONDS
    while gone not in client.get("/metrics").text:
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_a_line_that_would_take_minutes_is_broken_off(client: httpx.Client) -> None:
    asked = {"position": "0" * 299 + "9"}
    answer = client.get("/api/tables/clock-300-9/line", params=asked).json()
    assert not answer["complete"]
    assert 0 < len(answer["line"]) < LONGEST_LINE


def test_many_ask_at_once(client: httpx.Client) -> None:
    def ask(number: int) -> Any:
        name = ("rota", "rota-diameters")[number % 2]
        return client.get(f"/api/tables/{name}/probe", params={"position": ROTA}).json()

    with ThreadPoolExecutor(8) as people:
        answers = list(people.map(ask, range(64)))
    for number, answer in enumerate(answers):
        assert answer == answers[number % 2]
    assert [answer["table"] for answer in answers[:2]] == ["rota", "rota-diameters"]


# --- errors ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("what", ["probe", "line", "board"])
def test_a_bad_position_is_400_with_the_sentence_of_the_library(
    client: httpx.Client, tables: lookup.Tablebase, what: str
) -> None:
    for position in ("", "nonsense", "<b>x</b>", "\0", "é", "x" * LONGEST_IN_LINE):
        with pytest.raises(lookup.InvalidPositionError) as caught:
            tables["rota"].probe(position)
        response = client.get(f"/api/tables/rota/{what}", params={"position": position})
        assert error_of(response, 400) == ("invalid_position", str(caught.value))
    response = client.get(f"/api/tables/rota/{what}?position=%ff%fe")  # not even text
    assert error_of(response, 400)[0] == "invalid_position"


def test_a_bad_position_in_a_batch_is_400(client: httpx.Client) -> None:
    def refused(batch: dict[str, Any]) -> str:
        response = client.post("/api/tables/rota/probe", content=json.dumps(batch))
        code, message = error_of(response, 400)
        assert code == "invalid_position"
        return message

    assert refused({"positions": [ROTA, "x"]}).startswith("'x' is not a position")
    assert refused({"positions": ["\ud800"]}).startswith(r"'\ud800' is not a position")
    size = lookup.find_game("rota").size
    for index in (-1, size, 2**63 - 1, 2**63, 2**64, -(2**63), 10**400):
        assert " is not a position: expected an index from 0 to " in refused({"indices": [0, index]})


@pytest.mark.parametrize(
    "name",
    [
        "nope",
        "ROTA",
        "rota.h5",
        "rota%00",
        "%00",
        "..",
        "%2e%2e",
        "...",
        "~root",
        "rot%C3%A4",
        "%ff",
        "rota%0a",
        "c:rota",
        "..%5crota",
        "a" * 5000,
        "%3Cscript%3E",
    ],
)
@pytest.mark.parametrize("what", ["", "/probe?position=x", "/file"])
def test_an_unknown_table_is_404_whatever_its_name(client: httpx.Client, name: str, what: str) -> None:
    code, message = error_of(raw(client, f"/api/tables/{name}{what}"), 404)
    assert code == "missing_table"
    assert message.startswith("no table '")
    assert len(message) < 300


@pytest.mark.parametrize(
    "path",
    [
        "/api/tables/..%2frota",
        "/api/tables/..%2f..%2fpyproject.toml/file",
        "/api/tables/../tables/rota/file/..",
        "/api/tables/",
        "/api/tables/rota/",
        "/api/tables/rota/nothing",
        "/api",
        "/static/",
        "/static/..%2fapp.py",
        "/static/../app.py",
        "/static/%00",
        "/static/nothing.js",
        "//",
        "/index.php",
    ],
)
def test_no_path_leads_out(client: httpx.Client, path: str) -> None:
    assert error_of(raw(client, path), 404)[0] == "not_found"


def raw(client: httpx.Client, path: str) -> httpx.Response:
    """The answer to a path exactly as it is written: httpx itself would follow the dots."""
    host, port = client.base_url.host, client.base_url.port
    with closing(HTTPConnection(host, port, timeout=SECONDS)) as connection:
        connection.request("GET", path)
        answer = connection.getresponse()
        return httpx.Response(answer.status, headers=answer.getheaders(), content=answer.read())


def test_a_table_that_is_not_here_says_how_to_build_it(client: httpx.Client) -> None:
    _, message = error_of(client.get("/api/tables/tactics-2x7"), 404)
    assert (
        message == "no table 'tactics-2x7' here; build it with: build-tables tactics --rows 2 --cols 7"
    )


@pytest.mark.parametrize("what", ["", "/probe?position=x", "/line?position=x", "/board?position=x"])
def test_a_file_that_cannot_be_used_is_500_and_names_no_folder(
    client: httpx.Client, folder: Path, what: str
) -> None:
    for name, problem in (("notes", "is not a table: expected an HDF5 file"), ("cut", "is damaged")):
        response = client.get(f"/api/tables/{name}{what}")
        code, message = error_of(response, 500)
        assert code == "unusable_table"
        assert message.startswith(f"'{name}.h5' {problem}")
        assert str(folder) not in response.text


def test_too_much_is_413(client: httpx.Client) -> None:
    def refused(response: httpx.Response) -> str:
        code, message = error_of(response, 413)
        assert code == "too_large"
        return message

    def post(batch: dict[str, Any]) -> httpx.Response:
        return client.post("/api/tables/rota/probe", json=batch)

    assert len(post({"positions": [ROTA] * MOST_POSITIONS}).json()) == MOST_POSITIONS
    assert len(post({"indices": [0] * MOST_INDICES}).json()["outcome"]) == MOST_INDICES
    assert "10,001 positions are too many" in refused(post({"positions": [""] * (MOST_POSITIONS + 1)}))
    assert "100,001 indices are too many" in refused(post({"indices": [0] * (MOST_INDICES + 1)}))
    long = "x" * (LONGEST_POSITION + 1)
    assert "too long" in refused(post({"positions": [long]}))
    for what in ("probe", "line", "board", "move"):
        response = client.get(f"/api/tables/rota/{what}", params={"position": long, "move": "n"})
        assert "too long" in refused(response)
    asked = {"position": "x" * (LONGEST_IN_LINE + 1)}
    assert "too long" in refused(client.get("/api/tables/rota/line", params=asked))
    asked = {"position": ROTA, "move": long}
    assert "too long" in refused(client.get("/api/tables/rota/move", params=asked))
    body = client.post("/api/tables/rota/probe", content=b" " * (LARGEST_BODY + 1))
    assert refused(body) == "the body is too large: expected at most 4,194,304 bytes"
    parts = iter([b" " * LARGEST_BODY, b" "])
    assert "too large" in refused(client.post("/api/tables/rota/probe", content=parts))
    asked = {"position": ROTA, "limit": str(LONGEST_LINE + 1)}
    assert "at most 1000" in refused(client.get("/api/tables/rota/line", params=asked))


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"nonsense",
        b"\xff\xfe",
        b"[" * 100_000,
        b"1" * 100_000,
        b"null",
        b"[]",
        b"{}",
        b'{"positions": []',
        b'{"positions": "x"}',
        b'{"positions": [1]}',
        b'{"positions": null}',
        b'{"positions": [null]}',
        b'{"indices": ["1"]}',
        b'{"indices": [1.0]}',
        b'{"indices": [true]}',
        b'{"indices": [NaN]}',
        b'{"indices": {"0": 1}}',
        b'{"indices": [[0]]}',
        b'{"indices": [0], "positions": []}',
        b'{"indices": [0], "more": 1}',
    ],
)
def test_a_malformed_batch_is_422(client: httpx.Client, body: bytes) -> None:
    response = client.post("/api/tables/rota/probe", content=body)
    code, message = error_of(response, 422)
    assert code == "malformed_request"
    assert "expected" in message


@pytest.mark.parametrize(
    "query",
    [
        "probe",
        "probe?positions=x",
        "probe?position=x&position=y",
        "line",
        "board",
        "line?position=x&limit=",
        "line?position=x&limit=-1",
        "line?position=x&limit=many",
        "line?position=x&limit=%D9%A1",
        "line?position=x&limit=1&limit=2",
    ],
)
def test_a_malformed_query_is_422(client: httpx.Client, query: str) -> None:
    code, message = error_of(client.get(f"/api/tables/rota/{query}"), 422)
    assert code == "malformed_request"
    assert "expected" in message


def test_ranges_that_are_none(client: httpx.Client) -> None:
    size = (ROOT / "tables/rota.h5").stat().st_size
    for bad in ("bytes=5-2", "bytes=", "bytes=a-b", "lines=1-2", "x", "bytes=1-2,x"):
        response = client.get("/api/tables/rota/file", headers={"range": bad})
        assert (response.status_code, len(response.content)) == (200, size)  # ignored, as HTTP wants it
    head = client.head("/api/tables/rota/file", headers={"range": "bytes=0-7"})
    assert (head.status_code, head.headers["content-length"]) == (200, str(size))
    response = client.get("/api/tables/rota/file", headers={"range": "bytes=9999999-"})
    assert error_of(response, 416)[0] == "no_such_range"
    assert response.headers["content-range"] == f"bytes */{size}"


def test_other_methods_are_405(client: httpx.Client) -> None:
    for method, path, allowed in (
        ("DELETE", "/api/tables/rota/probe", {"GET", "POST"}),
        ("POST", "/api/tables/rota", {"GET"}),
        ("PUT", "/", {"GET"}),
    ):
        response = client.request(method, path)
        assert error_of(response, 405)[0] == "method_not_allowed"
        # Whether HEAD is named beside GET differs between versions of starlette.
        assert set(response.headers["allow"].split(", ")) - {"HEAD"} == allowed


def test_a_fault_of_ours_is_500_and_says_nothing_of_itself(
    tables: lookup.Tablebase, caplog: pytest.LogCaptureFixture
) -> None:
    class Broken(Shelf):
        def find(self, name: str) -> Served:
            raise RuntimeError("a secret")

    async def ask() -> httpx.Response:
        app = create_app(Broken(tables))
        transport = httpx.ASGITransport(app, raise_app_exceptions=False)
        async with httpx.AsyncClient(transport=transport, base_url="http://test") as client:
            return await client.get("/api/tables/rota", headers={"origin": "https://example.org"})

    response = asyncio.run(ask())
    assert error_of(response, 500)[0] == "internal_error"
    assert "secret" not in response.text
    assert "RuntimeError: a secret" in caplog.text  # the log tells
    for header in ("access-control-allow-origin", "content-security-policy", "cache-control"):
        assert header in response.headers


# --- the page -------------------------------------------------------------------------------------


def test_the_page_and_what_belongs_to_it(client: httpx.Client) -> None:
    page = client.get("/")
    assert page.headers["content-type"].startswith("text/html")
    docs = client.get("/docs")
    parts = re.findall(r'(?:src|href)="(static/[^"]+)"', page.text + docs.text)
    pages = {"static/index.html", "static/docs.html"}
    assert {f"static/{path.name}" for path in STATIC.iterdir()} - pages == set(parts)
    for part in parts:
        assert client.get(f"/{part}").status_code == 200
    script = client.get("/static/explorer.js").headers["content-type"]
    assert re.match(r"(text|application)/javascript", script)


def test_browsers_are_told_to_trust_nothing_else(client: httpx.Client) -> None:
    for path in ("/", "/static/explorer.js", "/api/tables", "/api/tables/nope"):
        headers = client.get(path).headers
        policy = dict(part.split(maxsplit=1) for part in headers["content-security-policy"].split("; "))
        assert policy["default-src"] == "'none'"
        assert policy["script-src"] == policy["style-src"] == policy["connect-src"] == "'self'"
        assert headers["x-content-type-options"] == "nosniff"


def test_the_page_needs_nothing_from_outside_and_makes_no_html_of_text() -> None:
    for path in STATIC.iterdir():
        text = path.read_text("utf-8").replace('xmlns="http://www.w3.org/2000/svg"', "")
        assert not re.search(r"https?:|//[a-z0-9-]+\.[a-z]|@import|url\(", text), path
        assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b", text)
        assert not re.search(r"\son\w+\s*=\s*[\"']|javascript:|<style|\sstyle=", text), path
    scripts = re.findall(r"<script[^>]*>(.*?)</script>", (STATIC / "index.html").read_text("utf-8"))
    assert scripts == [""]  # none stands in the page itself


def test_the_script_finds_what_it_names() -> None:
    page = (STATIC / "index.html").read_text("utf-8")
    script = (STATIC / "explorer.js").read_text("utf-8")
    ids = re.findall(r'\bid="([\w-]+)"', page)
    assert len(ids) == len(set(ids))
    named = set(re.findall(r'\$\("([\w-]+)"\)', script)) | set(
        re.findall(r'\b(?:for|aria-labelledby|aria-describedby)="([\w-]+)"', page)
    )
    assert named <= set(ids)


# --- the command ----------------------------------------------------------------------------------


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such signal to send")
def test_it_says_where_it_listens_and_ctrl_c_stops_it() -> None:
    with running() as server:
        assert re.fullmatch(
            r"serving \d+ tables at http://127\.0\.0\.1:\d+/ \(Ctrl-C stops\)\n", server.announced
        )
        assert server.client.get("/api/health").status_code == 200
        assert server.stop(signal.SIGINT) == (0, "", "")


def test_a_port_in_use_is_one_line_and_exit_1() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        result = run("lookup", "serve", "--port", str(port))
    assert result.code == 1
    expected = f"error: port {port} of '127.0.0.1' is in use: choose another with --port"
    assert one_line(result) == expected
    assert result.out == ""


def test_a_host_that_is_none_is_one_line_and_exit_1() -> None:
    for host in ("192.0.2.1", "a" * 100):
        result = run("lookup", "serve", "--host", host, "--port", "0")
        assert (result.code, result.out) == (1, "")
        assert host in one_line(result)


def test_mistakes_are_one_line_and_exit_2() -> None:
    for words in (["--port", "65536"], ["--port", "x"], ["--tables", "no/such/folder"], ["rota"]):
        result = run("lookup", "serve", *words)
        assert (result.code, result.out) == (2, "")
        assert words[0] in one_line(result)


@pytest.mark.parametrize("package", ["starlette", "uvicorn", "orjson", "prometheus_client"])
def test_without_the_extra_it_says_what_to_install(package: str) -> None:
    code = (
        f"import sys; sys.modules[{package!r}] = None; sys.argv = ['lookup', 'serve']\n"
        "from lookup.cli import main; main()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        f"error: lookup serve needs '{package}', which is not installed: "
        "install the extra 'serve', as in pip install 'endtable[serve]'\n"
    )


def test_the_readme_states_the_limits() -> None:
    text = (ROOT / "README.md").read_text("utf-8")
    megabytes = LARGEST_BODY // 1024**2
    assert f"| {MOST_POSITIONS:,}; {MOST_INDICES:,}; {megabytes} MiB |" in text
    assert f"| {LONGEST_LINE:,} moves |" in text
    assert f"| {LONGEST_POSITION:,} characters |" in text
    assert f"{LONGEST_IN_LINE} characters" in text


@pytest.mark.parametrize("path", ["/%0A", "/api/health%0A", "/api/tables%0A", "/static/index.html%0A"])
def test_a_line_break_is_no_end_of_a_path(client: httpx.Client, path: str) -> None:
    assert error_of(client.get(path), 404)[0] == "not_found"
