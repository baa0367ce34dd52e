"""How much may be asked: so many requests a second of one client, so much at once of all together."""

from __future__ import annotations

import math
from asyncio import Semaphore
from contextlib import asynccontextmanager
from time import monotonic
from typing import TYPE_CHECKING

from starlette.requests import ClientDisconnect

from lookup.service.connections import most_connections
from lookup.service.errors import BusyError, TooManyRequestsError, error_reply

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from starlette.requests import Request
    from starlette.types import ASGIApp, Receive, Scope, Send

BURST_SECONDS = 5
"""What a client did not ask in so many seconds it may ask at once."""

COSTLY = 10
"""A batch and a line count as so many requests."""

MOST_CLIENTS = 10_000
"""Are remembered; if there are more, those who asked longest ago are forgotten."""


class Rate:
    """So many requests a second for each client, and bursts of as many as it did not ask before.

    Of each client one number is remembered: until when all that it asked would have taken, had it
    come one by one.
    """

    def __init__(self, a_second: float) -> None:
        self._seconds = 1 / a_second
        self._until: dict[str, float] = {}

    def wait(self, client: str, cost: int = 1) -> float:
        """0 if it may ask now, else after how many seconds it may."""
        now = monotonic()
        until = max(self._until.pop(client, now), now)
        excess = until - now - BURST_SECONDS
        # Put at the end: who asked longest ago comes first.
        self._until[client] = until if excess > 0 else until + cost * self._seconds
        if len(self._until) > MOST_CLIENTS:
            del self._until[next(iter(self._until))]
        return max(excess, 0.0)


class Turns:
    """A few at a time, while no more than so many wait for their turn."""

    def __init__(self, what: str, at_once: int, most: int) -> None:
        self._what, self._most, self._here = what, most, 0
        self._turns = Semaphore(at_once)

    @asynccontextmanager
    async def taken(self, request: Request) -> AsyncIterator[None]:
        """Wait for a turn, and have it.

        Raises:
            BusyError: too many wait.
            ClientDisconnect: whoever asked has left meanwhile.
        """
        if self._here >= self._most:
            raise BusyError(f"too many {self._what} are asked for")
        self._here += 1
        try:
            async with self._turns:
                if await request.is_disconnected():
                    raise ClientDisconnect
                yield
        finally:
            self._here -= 1


class Limits:
    """Middleware: answers 429 to a client that asks too often, and 503 if there is too much to do."""

    def __init__(self, app: ASGIApp, rate: float | None = None) -> None:
        self._app = app
        self._rate = Rate(rate) if rate else None
        self._under_way = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, or say when to ask again."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        wait = self._rate.wait(client_of(scope), cost_of(scope)) if self._rate else 0
        if wait:
            await error_reply(TooManyRequestsError(math.ceil(wait)))(scope, receive, send)
            return
        # Each connection has one: there are more only of clients that have left.
        if self._under_way >= most_connections():
            await error_reply(BusyError("too many requests are under way"))(scope, receive, send)
            return
        self._under_way += 1
        try:
            await self._app(scope, receive, send)
        finally:
            self._under_way -= 1


def client_of(scope: Scope) -> str:
    """Who asks: an address or, as providers give them to one customer, the 2^64 of an IPv6 network."""
    client = scope.get("client")
    host: str = client[0] if client else ""
    if ":" not in host:
        return host
    from ipaddress import IPv6Address  # few need it

    try:
        address = IPv6Address(host.partition("%")[0])
    except ValueError:
        return host
    return str(address.ipv4_mapped or f"{int(address) >> 64:x}::/64")


def cost_of(scope: Scope) -> int:
    """As how many requests one counts."""
    return COSTLY if scope["method"] == "POST" or scope["path"].endswith("/line") else 1
