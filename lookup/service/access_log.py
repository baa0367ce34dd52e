"""A log of requests as JSON lines, for whoever asks for one."""

from __future__ import annotations

import json
import logging
import sys
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, TYPE_CHECKING

from starlette.datastructures import Headers

from lookup.errors import FailureError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from starlette.types import Scope

STANDARD_ERROR = "-"
log = logging.getLogger("lookup.service")
_LONGEST = 500  # characters of anything that a request brought along


class AccessLog:
    """One JSON object a line and request, written at once: a killed server loses none."""

    def __init__(self, file: IO[str]) -> None:
        self._file = file
        self._has_failed = False

    @classmethod
    @contextmanager
    def opened(cls, place: str | None) -> Iterator[AccessLog | None]:
        """A log that is appended to a file, or goes to standard error for '-'; none for None.

        Raises:
            FailureError: nobody can write there.
        """
        if place is None:
            yield None
        elif place == STANDARD_ERROR:
            yield cls(sys.stderr)
        else:
            try:
                file = Path(place).open("a", encoding="utf-8")  # noqa: SIM115 - closed below
            except OSError as error:
                reason = error.strerror or error
                raise FailureError(f"cannot log to {place!r}: {reason}") from error
            try:
                yield cls(file)
            finally:
                with suppress(OSError):  # what could not be written was told when it happened
                    file.close()

    def write(self, scope: Scope, status: int, sent: int, seconds: float) -> None:
        """Log one request. Much of it is text from outside, which JSON keeps in one line of ASCII."""
        client = scope.get("client")
        entry = {
            "time": datetime.now(UTC).isoformat(timespec="milliseconds"),
            "client": client[0] if client else None,
            "method": scope["method"][:_LONGEST],
            "path": scope["path"][:_LONGEST],
            "query": scope["query_string"].decode("latin-1")[:_LONGEST],
            "status": status,
            "bytes": sent,
            "ms": round(1000 * seconds, 3),
            "agent": Headers(scope=scope).get("user-agent", "")[:_LONGEST],
        }
        try:
            self._file.write(json.dumps(entry) + "\n")
            self._file.flush()
        except OSError as error:
            if not self._has_failed:
                log.warning("requests are not logged any more: %s", error.strerror or error)
            self._has_failed = True
