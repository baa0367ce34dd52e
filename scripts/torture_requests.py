"""Requests that no browser would make, asked of the service without a network between."""

from __future__ import annotations

import asyncio
import gzip
import json
import logging
import tempfile
from typing import TYPE_CHECKING, Any, NamedTuple, Self
from urllib.parse import quote

from torture_arguments import NAMES
from torture_wild import ODD, case, near_miss, require, shown, wild_text

import lookup
import lookup.service.app
from lookup.service.errors import KINDS
from lookup.service.shelf import Shelf

if TYPE_CHECKING:
    from random import Random

    from torture_texts import Playground

METHODS = ("HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE", "get", "X" * 300)
ROUTES = ("probe", "move", "line", "board", "file", "", "nope", "probe/", "%2e%2e", "file/..")
PATHS = (
    *(
        "/",
        "//",
        "",
        "/api",
        "/api/",
        "/api/tables",
        "/api/tables/",
        "/api/health",
        "/metrics",
        "/docs",
    ),
    *("/openapi.json", "/static/", "/static/../app.py", "/static/index.html", "/static//etc/passwd"),
    *("/static/..%2fapp.py", "/favicon.ico", "/.git/config", "/api/tables/rota/probe\n", "/*"),
)
RANGES = (
    *(
        "bytes=0-0",
        "bytes=-1",
        "bytes=-0",
        "bytes=0-",
        "bytes=5-2",
        "bytes=99999999-",
        "bytes=abc",
        "bits=0-1",
    ),
    *(
        "bytes=0-0,2-3",
        "bytes=" + "0-0," * 500 + "1-1",
        "bytes=0-999999999999999999",
        "bytes=\xb2-",
        "bytes=",
    ),
    *(
        "bytes= 0-1 , 2-3",
        "bytes=-",
        "bytes=--1",
        "Bytes=0-1",
        "bytes=0-0;q=1",
        "bytes=" + "9" * 400 + "-",
    ),
)
HEADERS = (
    "if-none-match",
    "if-range",
    "accept-encoding",
    "content-type",
    "content-length",
    "origin",
    "host",
    "accept",
    "cookie",
    "access-control-request-method",
    "access-control-request-headers",
    "if-modified-since",
    "transfer-encoding",
)
VALUES = (
    "",
    "*",
    'W/"',
    '"a", "b"',
    ",,,",
    "gzip",
    "gzip;q=0",
    "identity",
    "-1",
    "abc",
    "9" * 30,
    "\xff\xfe",
    "<script>",
    "DELETE",
    "x" * 5000,
    "text/plain; charset=\xff",
    "Thu, 01 Jan 1970 00:00:00 GMT",
)
STATUSES = {kind.status for kind in KINDS.values()} - {500} | {200, 206, 304, 405}
"""What the contract has; 500 is for what breaks inside, and nothing may."""


class Asked(NamedTuple):
    """A request."""

    method: str
    path: str
    query: bytes
    headers: list[tuple[bytes, bytes]]
    body: bytes


class Got(NamedTuple):
    """Its answer."""

    status: int
    headers: dict[str, str]
    body: bytes


class Service:
    """The service over tables, in this process."""

    def __init__(self, playground: Playground) -> None:
        self._playground = playground
        self._loop = asyncio.new_event_loop()
        self._app = lookup.service.app.create_app(Shelf(playground.tables))

    def __enter__(self) -> Self:
        logging.getLogger("lookup.service").setLevel(logging.CRITICAL)
        return self

    def __exit__(self, *_: object) -> None:
        logging.getLogger("lookup.service").setLevel(logging.NOTSET)
        self._loop.run_until_complete(self._loop.shutdown_default_executor())
        self._loop.close()

    def ask(self, asked: Asked) -> Got:
        """The answer to a request."""
        return self._loop.run_until_complete(self._ask(asked))

    async def _ask(self, asked: Asked) -> Got:
        messages: list[Any] = []
        half = len(asked.body) // 2
        parts = [asked.body[half:], asked.body[:half]]

        async def receive() -> dict[str, Any]:
            if not parts:
                await asyncio.Event().wait()  # nothing more comes, and nobody has gone
            return {"type": "http.request", "body": parts.pop(), "more_body": bool(parts)}

        async def send(message: Any) -> None:
            messages.append(message)

        scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": asked.method,
            "scheme": "http",
            "path": asked.path,
            "raw_path": quote(asked.path, errors="replace").encode(),
            "query_string": asked.query,
            "root_path": "",
            "headers": asked.headers,
            "client": ("127.0.0.1", 1),
            "server": ("127.0.0.1", 80),
        }
        await asyncio.wait_for(self._app(scope, receive, send), 60)
        headers = {
            name.decode("latin-1"): value.decode("latin-1") for name, value in messages[0]["headers"]
        }
        body = b"".join(message.get("body", b"") for message in messages[1:])
        if headers.get("content-encoding") == "gzip":
            body = gzip.decompress(body)
        return Got(messages[0]["status"], headers, body)

    def attempt(self, random: Random) -> str:
        """Ask anything."""
        asked = self._request(random)
        with case(", ".join(map(shown, asked))):
            return check_answer(asked, self.ask(asked))

    def _request(self, random: Random) -> Asked:
        method = (
            "GET"
            if random.random() < 0.6
            else "POST"
            if random.random() < 0.6
            else random.choice(METHODS)
        )
        answers = random.choice(self._playground.all)
        name = answers.name if random.random() < 0.8 else random.choice(NAMES)
        name = near_miss(random, name) if random.random() < 0.1 else name
        route = "probe" if method == "POST" else random.choice(ROUTES)
        path = (
            f"/api/tables/{name}/{route}".removesuffix("/")
            if random.random() < 0.85
            else random.choice(PATHS)
        )
        path = near_miss(random, path) if random.random() < 0.05 else path
        path = path.encode("utf-8", "replace").decode()  # as servers decode it
        position = self._playground.text(random, self._playground.position(random, answers))
        return Asked(
            method,
            path,
            self._query(random, position),
            self._headers(random),
            self._body(random, position),
        )

    def _query(self, random: Random, position: str) -> bytes:
        words = {
            "position": position,
            "move": wild_text(random, "1-a"),
            "limit": "5",
            "digest": "12345678",
        }
        pairs = [("position", position)] if random.random() < 0.8 else []
        for _ in range(random.choice((0, 0, 1, 1, 2))):
            key = random.choice((*words, "position", "x", ""))
            value = (
                words.get(key, "") if random.random() < 0.7 else wild_text(random, "0123456789abcdef")
            )
            pairs.append((key, value))
        raw = "&".join(f"{key}={quote(value, errors='surrogatepass')}" for key, value in pairs).encode()
        if random.random() < 0.1:
            at = random.randrange(len(raw) + 1)
            raw = (
                raw[:at]
                + random.choice(
                    (b"%", b"%zz", b"\xff", b"%ff", b"%ED%A0%80", b"&&", b"=", b";", b"%00")
                )
                + raw[at:]
            )
        return raw

    def _headers(self, random: Random) -> list[tuple[bytes, bytes]]:
        wanted = ["range"] if random.random() < 0.3 else []
        wanted += random.choices(HEADERS, k=random.choice((0, 0, 0, 1, 2)))
        values = (random.choice(RANGES if name == "range" else VALUES) for name in wanted)
        return [
            (name.encode(), value.encode("latin-1")) for name, value in zip(wanted, values, strict=True)
        ]

    def _body(self, random: Random, position: str) -> bytes:
        items: list[Any] = [
            random.choice(
                (0, 1, 2, 100, -1, 10**6, 2**63, -(2**63), 10**30, 1.5, True, None, "0", [0], position)
            )
            for _ in range(random.choice((0, 1, 3)))
        ]
        few = (
            [position, position] if random.random() < 0.5 else [random.randrange(50) for _ in range(5)]
        )
        content: Any = {
            "positions" if isinstance(few[0], str) else "indices": few
            if random.random() < 0.5
            else items
        }
        if random.random() < 0.1:
            content = random.choice(
                (
                    items,
                    None,
                    "x",
                    {},
                    {"positions": None},
                    {"indices": {"a": 1.5}},
                    {"x": 1, **content},
                    {"positions": [], "indices": []},
                    {"indices": "abc"},
                )
            )
        raw = json.dumps(content).encode()
        kind = random.random()
        if kind < 0.1:
            broken: tuple[bytes, ...] = (
                b"",
                b"[" * 5000,
                b'{"indices":' + b"[" * 3000,
                b'{"indices":[' + b"9" * 5000 + b"]}",
                b'{"indices":[1e999]}',
                b'{"indices":[NaN]}',
                b"\xff\xfe",
                raw.decode().encode("utf-16"),
                b"\xef\xbb\xbf" + raw,
                b'{"positions":["\xed\xa0\x80"]}',
                b'{"a":1,"a":2}',
            )
            return random.choice(broken)
        if kind < 0.3:
            at = random.randrange(len(raw) + 1)
            odd: str = random.choice(ODD)
            return raw[:at] + odd.encode("utf-8", "surrogatepass") + raw[at + random.randrange(3) :]
        return raw


def check_answer(asked: Asked, got: Got) -> str:
    """An answer has a status that the contract has, and a body of the kind that it says.

    Raises:
        BrokenError: it has not.
    """
    kind = got.headers.get("content-type", "")
    require("nosniff" in got.headers.get("x-content-type-options", ""), f"headers {got.headers}")
    if got.body.startswith(b"Disallowed CORS"):  # what a browser asks before it asks
        require((got.status, kind) == (400, "text/plain; charset=utf-8"), f"{got}")
        return "400 for a browser"
    require(got.status in STATUSES, f"status {got.status}: {got.body[:300]!r}")
    if got.status >= 400:
        fields = json.loads(got.body.decode("utf-8"))
        require(kind == "application/json" and set(fields) == {"error"}, f"{got.body[:300]!r}")
        require(set(fields["error"]) == {"code", "message"}, f"{fields}")
        said = fields["error"]["message"]
        require(len(said.splitlines()) == 1 and len(said) < 1000, f"the message {said[:500]!r}")
        require(tempfile.gettempdir() not in said and "Traceback" not in said, f"the message {said!r}")
        return f"{got.status} {fields['error']['code']}"
    if got.status == 200 and kind == "application/json":
        fields = json.loads(got.body.decode("utf-8"))
        if asked.method == "GET" and asked.path.endswith("/probe"):
            _check_probe(fields)
    elif got.status == 200 and kind.startswith("text/html"):
        require(b"<script>" not in got.body, "a page that repeats what it was asked")
    return f"{got.status} {kind.split(';')[0]}".strip()


def _check_probe(fields: dict[str, Any]) -> None:
    """The best move is worth what the position is."""
    moves = fields["moves"]
    if moves:
        require(moves[0]["outcome"] == fields["outcome"], f"{str(fields)[:300]}")
