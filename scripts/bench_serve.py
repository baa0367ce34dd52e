"""The section `serve`: a running `lookup serve`, driven from this process over real sockets.

Every load is bounded by a count and by time, and is run by turns with the same server answering a
constant (`/api/health`). Requests are written beforehand and answers only counted: what is measured is
the server. With two cores each has one; with one they share it, and all rates halve.
"""

from __future__ import annotations

import asyncio
import json
import re
import statistics
import subprocess
import sys
import time
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from itertools import cycle, islice
from random import Random
from typing import TYPE_CHECKING, Any, ClassVar, cast
from urllib.parse import quote

import uvloop
from bench_measure import SEED, BenchError, Workshop, figure, rounded, short

import lookup

if TYPE_CHECKING:
    from collections.abc import Iterator

CONNECTIONS, MANY_CONNECTIONS = 16, 200
ROUNDS = 3
MOST_REQUESTS, MOST_SECONDS = 20_000, 1.0  # in a round
BATCH, BATCHES = 1000, 20
HALF_THE_CONSTANT = 0.5
INDICES_A_SECOND, TEXTS_A_SECOND = 1e6, 2e5
PROBED = ("tactics-4x4", "rota", "sticks-run-1-2", "clock-4-2", "winners-losers-20")
SYMBOLS = {"sticks-run-1-2": ("|.", 20), "winners-losers-20": ("WL", 20)}
"""Tables of positions of many sizes are asked about texts of one: symbols, and how many."""

_LENGTH = re.compile(rb"content-length: (\d+)", re.IGNORECASE)


@dataclass(frozen=True)
class Load:
    """One kind of request under load."""

    HEAD: ClassVar[tuple[str, ...]] = (
        "what",
        "connections",
        "requests/s",
        "of the constant",
        "positions/s",
        "median",
        "99 %",
        "errors",
        "wanted",
        "reached",
    )
    WORDS: ClassVar[int] = 1

    name: str
    connections: int
    requests: int
    errors: int
    rate: float
    constant: float
    positions: int  # in a request
    median_ms: float
    p99_ms: float
    wanted: str = ""
    reached: bool | None = None

    @property
    def cells(self) -> tuple[str, ...]:
        """The row as printed."""
        return (
            self.name,
            str(self.connections),
            figure(self.rate, ""),
            short(self.rate / self.constant),
            figure(self.rate * self.positions, "") if self.positions else "",
            f"{self.median_ms:.2f} ms",
            f"{self.p99_ms:.2f} ms",
            str(self.errors),
            self.wanted,
            {None: "", True: "yes", False: "NO"}[self.reached],
        )

    @property
    def fields(self) -> dict[str, Any]:
        """The row as stored."""
        return rounded(asdict(self) | {"ratio": self.rate / self.constant})


# --- the section ----------------------------------------------------------------------------------


def serve_section(_: Workshop) -> Iterator[Load]:
    """Single probes, batches and lines, by turns with a constant."""
    with lookup.open_tablebase() as tables, _server() as port:
        constant = [_get(port, "/api/health")]
        yield _measure("constant: /api/health", port, constant, constant)
        for name in PROBED:
            asked = [_get(port, f"/api/tables/{name}/probe", one) for one in _texts(tables[name])]
            yield _measure(f"probe, {name}", port, asked, constant, positions=1, half=True)
        for name in PROBED:
            texts = _batches(port, name, "positions", _texts(tables[name]))
            rate = TEXTS_A_SECOND if name == "tactics-4x4" else None
            yield _measure(f"{BATCH} texts, {name}", port, texts, constant, BATCH, wanted=rate)
        for name in ("tactics-4x4", "rota", "sticks-special-50"):
            numbers = [Random(SEED).randrange(tables[name].game.size) for _ in range(BATCH)]
            indices = _batches(port, name, "indices", numbers)
            rate = INDICES_A_SECOND if name == "tactics-4x4" else None
            yield _measure(f"{BATCH} indices, {name}", port, indices, constant, BATCH, wanted=rate)
        for name in ("tactics-4x4", "rota", "clock-4-2"):
            lines = [_get(port, f"/api/tables/{name}/line", one) for one in _texts(tables[name])]
            yield _measure(f"line, {name}", port, lines, constant)
        asked = [_get(port, f"/api/tables/{PROBED[0]}/probe", one) for one in _texts(tables[PROBED[0]])]
        yield _measure(f"probe, {PROBED[0]}", port, asked, constant, 1, connections=MANY_CONNECTIONS)


def _measure(
    name: str,
    port: int,
    requests: list[bytes],
    constant: list[bytes],
    positions: int = 0,
    *,
    connections: int = CONNECTIONS,
    wanted: float | None = None,
    half: bool = False,
) -> Load:
    """Rounds of a load and of the constant, by turns; the median round counts."""
    _drive(port, requests[:100], connections)  # opens the table
    rounds = [
        (_drive(port, constant, connections), _drive(port, requests, connections))
        for _ in range(ROUNDS)
    ]
    rate = statistics.median(load.rate for _, load in rounds)
    base = statistics.median(load.rate for load, _ in rounds)
    times = sorted(took for _, load in rounds for took in load.times)
    errors = sum(load.errors for _, load in rounds)
    words, reached = "", None if connections == CONNECTIONS else errors == 0
    if half:
        words, reached = f">= {HALF_THE_CONSTANT}", rate / base >= HALF_THE_CONSTANT
    elif wanted:
        words, reached = f">= {wanted:,.0f}/s", rate * positions >= wanted
    elif connections != CONNECTIONS:
        words = "no error"
    return Load(
        name,
        connections,
        len(times),
        errors,
        rate,
        base,
        positions,
        1e3 * times[len(times) // 2],
        1e3 * times[len(times) * 99 // 100],
        words,
        reached,
    )


# --- requests -------------------------------------------------------------------------------------


def _texts(table: lookup.Table) -> list[str]:
    """Positions by chance, all of them different where there are enough."""
    chance, game = Random(SEED), table.game
    if table.name in SYMBOLS:
        symbols, length = SYMBOLS[table.name]
        return ["".join(chance.choices(symbols, k=length)) for _ in range(BATCH)]
    texts = (game.format(chance.randrange(game.size)) for _ in range(100 * BATCH))
    return list(islice((text for text in texts if table.get(text)), BATCH))


def _get(port: int, path: str, position: str | None = None) -> bytes:
    query = "" if position is None else f"?position={quote(position)}"
    return f"GET {path}{query} HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\n\r\n".encode()


def _batches(port: int, name: str, key: str, items: list[Any]) -> list[bytes]:
    """Requests for all items, each time in another order."""
    chance, requests = Random(SEED), []
    for _ in range(BATCHES):
        some = [chance.choice(items) for _ in range(BATCH)]
        body = json.dumps({key: some}).encode()
        head = (
            f"POST /api/tables/{name}/probe HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\n"
            f"content-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
        )
        requests.append(head.encode() + body)
    return requests


# --- the load -------------------------------------------------------------------------------------


@dataclass
class Driven:
    """What came of a round."""

    times: list[float]
    errors: int
    seconds: float

    @property
    def rate(self) -> float:
        """Requests a second."""
        return len(self.times) / self.seconds


def _drive(port: int, requests: list[bytes], connections: int) -> Driven:
    """Send requests over so many connections, each of which waits for its answer."""
    return uvloop.run(_round(port, requests, connections))


async def _round(port: int, requests: list[bytes], connections: int) -> Driven:
    loop = asyncio.get_running_loop()
    source = islice(cycle(requests), MOST_REQUESTS)
    begin = time.perf_counter()
    clients = []
    for _ in range(connections):
        _, client = await loop.create_connection(
            lambda: Client(source, begin + MOST_SECONDS), "127.0.0.1", port
        )
        clients.append(client)
    await asyncio.gather(*(client.done for client in clients))
    took = time.perf_counter() - begin
    times = [one for client in clients for one in client.times]
    return Driven(times, sum(client.errors for client in clients), took)


class Client(asyncio.Protocol):
    """One connection: a request, its answer, the next request."""

    def __init__(self, source: Iterator[bytes], deadline: float) -> None:
        self.times: list[float] = []
        self.errors = 0
        self.done = asyncio.get_running_loop().create_future()
        self._source, self._deadline = source, deadline
        self._received, self._wanted, self._begin = b"", 0, 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin."""
        self._transport = cast("asyncio.Transport", transport)  # uvloop's is none by type
        self._next()

    def data_received(self, data: bytes) -> None:
        """Part of an answer, or its end."""
        self._received += data
        if not self._wanted:
            head = self._received.find(b"\r\n\r\n")
            if head < 0:
                return
            length = _LENGTH.search(self._received, 0, head)
            self._wanted = head + 4 + (int(length[1]) if length else 0)
        if len(self._received) < self._wanted:
            return
        now = time.perf_counter()
        self.times.append(now - self._begin)
        self.errors += not self._received.startswith(b"HTTP/1.1 200 ")
        if now < self._deadline:
            self._next()
        else:
            self._transport.close()

    def connection_lost(self, error: Exception | None) -> None:
        """The end; an error if an answer was still to come."""
        self.errors += error is not None or len(self._received) < self._wanted
        self.done.set_result(None)

    def _next(self) -> None:
        self._received, self._wanted = b"", 0
        request = next(self._source, None)
        if request is None:
            self._transport.close()
            return
        self._begin = time.perf_counter()
        self._transport.write(request)


@contextmanager
def _server() -> Iterator[int]:
    """A server with one worker, on a free port."""
    command = [sys.executable, "-m", "lookup.cli", "serve", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        try:
            announced = process.stdout.readline()
            port = re.search(r":(\d+)/", announced)
            if port is None:
                raise BenchError("lookup serve does not start: expected the extra 'serve' of endtable")
            yield int(port[1])
        finally:
            process.terminate()
