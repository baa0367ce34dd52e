"""What the service counts, as Prometheus reads it, and the middleware that counts it."""

from __future__ import annotations

import os
from time import perf_counter
from typing import TYPE_CHECKING

from prometheus_client import (
    CONTENT_TYPE_LATEST,
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    generate_latest,
)
from prometheus_client.multiprocess import MultiProcessCollector
from starlette.responses import Response

from lookup.service.workers import METRICS_VARIABLE

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from lookup.service.access_log import AccessLog

REGISTRY = CollectorRegistry()
REQUESTS = Counter(
    "endtable_requests", "Requests answered.", ["method", "route", "status"], registry=REGISTRY
)
SECONDS = Histogram(
    "endtable_request_seconds",
    "Seconds from a request to the end of its answer.",
    ["route"],
    buckets=(0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0),
    registry=REGISTRY,
)
SENT = Counter("endtable_sent_bytes", "Bytes of answers, without their headers.", registry=REGISTRY)
IN_PROGRESS = Gauge(
    "endtable_requests_in_progress",
    "Requests that are not answered yet; the one for these numbers is one.",
    multiprocess_mode="livesum",
    registry=REGISTRY,
)
REFUSED = Counter(
    "endtable_refused_connections",
    "Connections that were closed because of what came over them, or did not.",
    ["why"],
    registry=REGISTRY,
)
POSITIONS = Counter("endtable_positions", "Positions asked about.", ["how"], registry=REGISTRY)

GONE = 499
"""Counted where nothing was answered: who asked did not wait for it."""

METHODS = frozenset({"GET", "HEAD", "POST", "OPTIONS"})


def metrics_page() -> Response:
    """The numbers, of all workers together if there are several."""
    registry = REGISTRY
    if METRICS_VARIABLE in os.environ:
        registry = CollectorRegistry()
        MultiProcessCollector(registry)  # type: ignore[no-untyped-call]  # it has no types
    return Response(generate_latest(registry), headers={"content-type": CONTENT_TYPE_LATEST})


class Observed:
    """Middleware: counts every request, takes its time, and logs it if there is a log."""

    def __init__(self, app: ASGIApp, log: AccessLog | None = None) -> None:
        self._app = app
        self._log = log

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, and count."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        status, sent, begin = GONE, 0, perf_counter()
        IN_PROGRESS.inc()

        async def watched(message: Message) -> None:
            nonlocal status, sent
            if message["type"] == "http.response.start":
                status = message["status"]
            else:
                sent += len(message.get("body", b""))
            await send(message)

        try:
            await self._app(scope, receive, watched)
        finally:
            seconds = perf_counter() - begin
            IN_PROGRESS.dec()
            # The pattern of the path, not the path: labels must not grow with what people ask.
            route = getattr(scope.get("route"), "path", "none")
            method = scope["method"] if scope["method"] in METHODS else "other"
            REQUESTS.labels(method, route, str(status)).inc()
            SECONDS.labels(route).observe(seconds)
            SENT.inc(sent)
            if self._log:
                self._log.write(scope, status, sent, seconds)
