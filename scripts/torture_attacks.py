"""Requests that nobody means well: broken, endless, slow, unread, and connections that say nothing."""

from __future__ import annotations

import socket
import time
from contextlib import ExitStack, suppress
from threading import Thread
from typing import TYPE_CHECKING, NamedTuple

from torture_server import serving, status_of

if TYPE_CHECKING:
    from torture_server import Server
    from torture_tally import Tally

    from lookup.progress import Report

PROBE = "/api/tables/rota/probe?position=.../.../...+x"
POST = b"POST /api/tables/rota/probe HTTP/1.1\r\nhost: x\r\n"
CLOSE = b"host: x\r\nconnection: close\r\n\r\n"
QUICK = 5.0
"""Seconds in which others are answered, whatever an attacker does, on a machine that is busy."""

SHORT = (
    "from lookup.service import connections as c\n"
    "c.HEAD_SECONDS, c.BODY_SECONDS, c.SEND_SECONDS, c.MOST_CONNECTIONS = 2, 3, 2, 200"
)
"""For a server that is as patient as others, only for shorter: to be run before it starts."""


class Broken(NamedTuple):
    """Bytes that are sent, and the statuses that may come back; 0 is none."""

    name: str
    request: bytes
    statuses: tuple[int, ...] = (400, 0)


def _get(path: bytes, more: bytes = b"") -> bytes:
    return b"GET " + path + b" HTTP/1.1\r\n" + more + CLOSE


BROKEN = (
    Broken("TLS", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(range(200))),
    Broken("HTTP/2", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
    Broken("HTTP/0.9", b"GET /\r\n\r\n", (200, 400)),
    Broken("HTTP/9.9", b"GET / HTTP/9.9\r\n\r\n"),
    Broken("no HTTP at all", b"\r\n\r\nhello?\r\n\r\n"),
    Broken("NUL", b"GET /\0 HTTP/1.1\r\n\r\n"),
    Broken("CONNECT", b"CONNECT example.org:443 HTTP/1.1\r\n" + CLOSE),
    Broken("no path", _get(b"http://example.org")),
    Broken("another host", _get(b"http://example.org/api/health"), (200,)),
    Broken("asterisk", b"OPTIONS * HTTP/1.1\r\n" + CLOSE, (400, 404)),
    Broken("a host that is none", b"GET /no HTTP/1.1\r\nhost: [\r\nconnection: close\r\n\r\n", (404,)),
    Broken("no host", b"GET /api/health HTTP/1.1\r\nconnection: close\r\n\r\n", (200,)),
    Broken("bytes in the path", _get(b"/api/tables/\xff\xfe")),
    Broken("out of the folder", _get(b"/api/tables/..%2f..%2fetc%2fpasswd/file"), (404,)),
    Broken("dots", _get(b"/api/tables/%2e%2e/file"), (404,)),
    Broken("NUL in a name", _get(b"/api/tables/rota%00/file"), (404,)),
    Broken("a long number", _get(b"/api/tables/clock-" + b"9" * 5000 + b"-2"), (404, 413)),
    Broken("two lengths", POST + b"content-length: 4\r\ncontent-length: 5\r\n\r\n{}   "),
    Broken("a negative length", POST + b"content-length: -1\r\n\r\n{}"),
    Broken(
        "a length and chunks",
        POST + b"content-length: 4\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
    ),
    Broken(
        "chunks twice", POST + b"transfer-encoding: chunked, chunked\r\n\r\n0\r\n\r\n", (400, 422, 0)
    ),
    Broken("a chunk of no size", POST + b"transfer-encoding: chunked\r\n\r\nzz\r\n"),
    Broken("a space before the colon", _get(b"/", b"x : y\r\n")),
    Broken("a folded header", _get(b"/", b"x: y\r\n z\r\n"), (200, 400)),
    Broken("bare line feeds", b"GET /api/health HTTP/1.1\nhost: x\nconnection: close\n\n", (200, 400)),
    Broken("a header of bytes", _get(b"/api/health", b"origin: \xff\xfe\r\n"), (200,)),
    Broken("websocket", _get(b"/", b"upgrade: websocket\r\nconnection: upgrade\r\n"), (200,)),
    Broken("h2c", _get(b"/api/health", b"upgrade: h2c\r\nconnection: upgrade\r\n"), (200,)),
    Broken("a large head", _get(b"/", b"x: " + b"y" * 100_000 + b"\r\n"), (431,)),
    Broken("a large path", _get(b"/" + b"x" * 100_000), (431,)),
    Broken(
        "ranges without end",
        _get(b"/api/tables/rota/file", b"range: bytes=" + b"0-," * 9999 + b"\r\n"),
        (200,),
    ),
    Broken(
        "an answer after rubbish",
        _get(PROBE.encode(), b"connection: keep-alive\r\n") + b"\0\0",
        (200, 400, 0),
    ),
)

ENDLESS = {
    "one header": (b"GET / HTTP/1.1\r\nx: ", b"x" * 65536),
    "headers": (b"GET / HTTP/1.1\r\n", b"x: yyyyyyyyyyyyyyyyyyyyyyyyyyyy\r\n" * 2000),
    "a path": (b"GET /", b"x" * 65536),
    "empty lines": (b"", b"\r\n" * 30000),
    "a body by length": (POST + b"content-length: 99999999999\r\n\r\n", b" " * 65536),
    "a body by chunks": (
        POST + b"transfer-encoding: chunked\r\n\r\n",
        b"10000\r\n" + b" " * 65536 + b"\r\n",
    ),
    "a body of a GET": (b"GET / HTTP/1.1\r\ncontent-length: 99999999999\r\n\r\n", b" " * 65536),
    "the name of a chunk": (POST + b"transfer-encoding: chunked\r\n\r\n1;", b"x" * 65536),
    "a trailer": (POST + b"transfer-encoding: chunked\r\n\r\n1\r\n \r\n0\r\nx: ", b"y" * 65536),
    "requests": (b"", b"GET /api/health HTTP/1.1\r\nhost: x\r\n\r\n" * 1500),
}
"""What never ends: how it begins, and what then comes again and again."""


def break_requests(tally: Tally, server: Server, rounds: int) -> None:
    """Everything that is no request, or an odd one."""
    for _ in range(rounds):
        for name, request, statuses in BROKEN:
            status = status_of(server.raw(request))
            if status in statuses:
                tally.add("broken requests", f"answered {status}" if status else "closed")
            else:
                tally.fail("broken requests", f"answered {status}", name)
        answers_others(tally, server, "broken requests")


def send_without_end(tally: Tally, server: Server, megabytes: int) -> None:
    """What never ends is refused, and takes no memory."""
    for name, (first, again) in ENDLESS.items():
        before, sent = server.megabytes, len(first)
        with server.connect() as client:
            try:
                client.sendall(first)
                while sent < megabytes << 20:
                    client.sendall(again)
                    sent += len(again)
                tally.fail("endless requests", f"{sent >> 20} MB were taken", name)
            except ConnectionError:
                tally.add("endless requests", "refused")
        grown = server.megabytes - before
        if grown > 64:
            tally.fail("endless requests", f"{grown:.0f} MB of memory", name)
        answers_others(tally, server, "endless requests")


def answers_others(tally: Tally, server: Server, kind: str) -> None:
    """Somebody else asks meanwhile."""
    began = time.monotonic()
    try:
        status = server.get(PROBE).status
    except OSError as error:
        tally.fail(kind, "others are not answered", str(error))
        return
    seconds = time.monotonic() - began
    if status != 200 or seconds > QUICK:
        tally.fail(kind, "others wait", f"{status} after {seconds:.1f} s")
    else:
        tally.add(kind, "others are answered")
    slowest = tally.figures.get("slowest answer to others, seconds", 0.0)
    tally.figures["slowest answer to others, seconds"] = max(slowest, round(seconds, 2))


class Slow(NamedTuple):
    """A client that is in no hurry: what it sends at once, and then by and by; whether it reads."""

    name: str
    first: bytes
    then: bytes = b""
    reads: bool = True
    seconds: int = 0  # in which it has to be gone


def slow_clients(head: int, body: int, send: int) -> list[Slow]:
    """One of each kind, for a server that waits for so many seconds."""
    batch = b'{"indices": [' + b"0," * 99_999 + b"0]}"
    large = POST + b"content-length: %d\r\n\r\n" % len(batch) + batch
    return [
        Slow("says nothing", b"", seconds=head),
        Slow("a byte of head a second", b"GET / HTTP/1.1\r\n", b"x: y\r\n" * 99, seconds=head),
        Slow("empty lines", b"\r\n", b"\r\n" * 99, seconds=head),
        Slow(
            "a byte of body a second", POST + b"content-length: 999\r\n\r\n", b" " * 999, seconds=body
        ),
        Slow("half a body", POST + b"content-length: 4000000\r\n\r\n" + b" " * 3_000_000, seconds=body),
        Slow(
            "expects to go on",
            POST + b"content-length: 9\r\nexpect: 100-continue\r\n\r\n",
            seconds=body,
        ),
        Slow("reads no answers", large * 8, reads=False, seconds=send),
    ]


def be_slow(tally: Tally, server: Server, waits: tuple[int, int, int], each: int) -> None:
    """Slow clients, all at once: others are answered, and in the end they are dropped."""
    clients = [one for one in slow_clients(*waits) for _ in range(each)]
    late: dict[int, float | None] = {}

    def drag(number: int) -> None:
        late[number] = dragged(server, clients[number])

    threads = [Thread(target=drag, args=(number,)) for number in range(len(clients))]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        answers_others(tally, server, "slow clients")
        time.sleep(0.5)
    for number, slow in enumerate(clients):
        seconds = late.get(number)
        if seconds is None:
            tally.fail("slow clients", "never dropped", slow.name)
        elif seconds > 20:
            tally.fail("slow clients", "dropped too late", f"{slow.name}, by {seconds:.0f} s")
        else:
            tally.add("slow clients", "dropped")


def dragged(server: Server, slow: Slow) -> float | None:
    """How many seconds too late a slow client was dropped; None if it was not."""
    began, longest = time.monotonic(), 3 * slow.seconds + 10
    with server.connect(longest, receive_buffer=0 if slow.reads else 2048) as client:
        with suppress(OSError):
            client.sendall(slow.first)
        client.settimeout(1)
        while time.monotonic() - began < longest:
            if _is_gone(client, slow):
                return time.monotonic() - began - slow.seconds
    return None


def _is_gone(client: socket.socket, slow: Slow) -> bool:
    """Whether the other end has left, after a second of as little as this client does."""
    if not slow.reads:
        time.sleep(1)
        return is_dropped(client)
    try:
        if slow.then:
            client.send(slow.then[:1])
        return not client.recv(4096)
    except TimeoutError:
        return False
    except ConnectionError:
        return True


def is_dropped(client: socket.socket) -> bool:
    """Whether the other end of a connection is gone, without reading what it sent."""
    # What was sent may still be unread; an error is told all the same, and so is a reset by writing.
    if client.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR):
        return True
    try:
        client.send(b"x")
        return False
    except TimeoutError:
        return False
    except OSError:
        return True


def say_nothing(tally: Tally, server: Server, connections: int) -> None:
    """Far more connections than there may be, all of them silent."""
    with ExitStack() as stack:
        for _ in range(connections):
            stack.enter_context(server.connect())
        for _ in range(5):
            answers_others(tally, server, "silent connections")
        tally.add("silent connections", "held", connections)


def leave_early(tally: Tally, server: Server, count: int) -> None:
    """Ask for what takes long, and do not wait for it."""
    line = b"GET /api/tables/clock-300-9/line?position=" + b"0" * 299 + b"9 HTTP/1.1\r\nhost: x\r\n\r\n"
    for _ in range(count):
        with server.connect() as client:
            client.sendall(line)
        tally.add("clients that leave", "left")
    answers_others(tally, server, "clients that leave")


def stop_under_load(tally: Tally, how: str = SHORT) -> None:
    """A server that is told to stop does so, whoever is connected."""
    with serving(first=how) as server, ExitStack() as stack:
        for slow in slow_clients(1, 1, 1):
            client = stack.enter_context(server.connect(receive_buffer=2048))
            client.settimeout(1)
            with suppress(OSError):
                client.sendall(slow.first)
        code, seconds = server.stop()
        tally.figures["seconds to stop under load"] = round(seconds, 1)
        if code or seconds > 15 or "Traceback" in server.said:
            tally.fail(
                "stops under load", f"exit code {code} after {seconds:.1f} s", server.said[-300:]
            )
        else:
            tally.add("stops under load", "in time")


def attack(tally: Tally, report: Report) -> None:
    """All of it, on one server."""
    rounds, megabytes = tally.share(20), tally.share(1024)
    with serving() as server:
        break_requests(tally, server, rounds)
        report(1, 6)
        send_without_end(tally, server, max(100, megabytes))
        report(2, 6)
        say_nothing(tally, server, tally.share(1500))
        report(3, 6)
        leave_early(tally, server, tally.share(1000))
        report(4, 6)
        be_slow(tally, server, (15, 60, 30), tally.share(10))
        report(5, 6)
        if "Traceback" in server.said:
            tally.fail("attacks", "a traceback", server.said[-500:])
    stop_under_load(tally, "")
    report(6, 6)
