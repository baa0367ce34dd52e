"""What a request carries, checked before a table is asked, and the limits on it."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import parse_qsl

import orjson

from lookup.service.errors import BusyError, MalformedRequestError, TooLargeError

if TYPE_CHECKING:
    from starlette.requests import Request

LONGEST_POSITION = 1000
"""Characters. A row of so many sticks has two thousand moves, each of which is another row."""

LONGEST_IN_LINE = 300
"""Characters of a position whose line is asked for: one of 500 sticks takes seconds."""

LONGEST_LINE = 1000
MOST_POSITIONS = 10_000
MOST_INDICES = 100_000
LARGEST_BODY = 4 * 1024 * 1024

_NUMBER = re.compile(r"[0-9]{1,9}")
_DIGEST = re.compile(r"[0-9a-f]{8,64}")
DRAINED_BODY = 16 * LARGEST_BODY
"""Bytes of a body that is too large which are read all the same: who still writes reads no answer."""

MOST_HELD = 16 * LARGEST_BODY
"""Bytes of bodies that are being received, all together."""


class Held:
    """How many bytes of bodies are held until the rest of them comes."""

    def __init__(self) -> None:
        self.bytes = 0


class Batch(NamedTuple):
    """Many positions to probe: texts, or indices if there are none."""

    positions: list[str] | None
    indices: list[int]


def position_of(request: Request, longest: int = LONGEST_POSITION) -> str:
    """The position asked about.

    Raises:
        MalformedRequestError: there is none, or more than one.
        TooLargeError: it is longer than any that is answered here.
    """
    return _short(_only(request, "position"), "position", longest)


def move_of(request: Request) -> str:
    """The move asked about.

    Raises:
        MalformedRequestError: there is none, or more than one.
        TooLargeError: it is longer than any that is answered here.
    """
    return _short(_only(request, "move"), "move", LONGEST_POSITION)


def limit_of(request: Request) -> int:
    """How many moves a line may have.

    Raises:
        MalformedRequestError: not one number.
        TooLargeError: more than is answered here.
    """
    given = _given(request, "limit") or [str(LONGEST_LINE)]
    if len(given) != 1 or not _NUMBER.fullmatch(given[0]):
        raise MalformedRequestError(f"the limit cannot be {given[-1][:100]!r}: expected one number")
    if int(given[0]) > LONGEST_LINE:
        raise TooLargeError(f"the limit cannot be {given[0]}: expected at most {LONGEST_LINE} moves")
    return int(given[0])


def digest_of(request: Request) -> str | None:
    """The digest, or its beginning, of the only table that may answer; None if any may.

    Raises:
        MalformedRequestError: not one digest.
    """
    given = _given(request, "digest")
    if not given:
        return None
    if len(given) != 1 or not _DIGEST.fullmatch(given[0]):
        expected = "8 to 64 digits of one, in hexadecimal"
        raise MalformedRequestError(f"the digest cannot be {given[-1][:100]!r}: expected {expected}")
    return given[0]


async def body_of(request: Request) -> bytes:
    """The body.

    Raises:
        TooLargeError: it is larger than any that is read here.
        BusyError: others hold so much that there is no room for it.
    """
    held: Held = request.app.state.held
    parts: list[bytes] = []
    size = kept = 0
    try:
        async for part in request.stream():
            size += len(part)
            if size <= LARGEST_BODY:
                kept += len(part)
                held.bytes += len(part)
                if held.bytes > MOST_HELD:
                    raise BusyError("there is no room for the body")
                parts.append(part)
            elif size > DRAINED_BODY:
                break
    finally:
        held.bytes -= kept
    if size > LARGEST_BODY:
        raise TooLargeError(f"the body is too large: expected at most {LARGEST_BODY:,} bytes")
    return b"".join(parts)


def batch_in(body: bytes) -> Batch:
    """The batch that a body holds.

    Raises:
        MalformedRequestError: it holds none.
        TooLargeError: there are more positions than are answered at once.
    """
    try:
        content = orjson.loads(body)
        if isinstance(content, dict) and float in map(type, content.get("indices", ())):
            content = _exactly(body)  # an index of over 64 bits is a float to orjson
    except (orjson.JSONDecodeError, TypeError):
        content = _exactly(body)
    if not isinstance(content, dict) or set(content) not in ({"positions"}, {"indices"}):
        raise MalformedRequestError(
            'the body is no batch: expected {"positions": [...]} or {"indices": [...]}'
        )
    if "positions" in content:
        positions = _list_of(str, content["positions"], "positions", MOST_POSITIONS)
        if max(map(len, positions), default=0) > LONGEST_POSITION:
            _short(max(positions, key=len), "position", LONGEST_POSITION)
        return Batch(positions, [])
    return Batch(None, _list_of(int, content["indices"], "indices", MOST_INDICES))


def _exactly(body: bytes) -> Any:
    """The content of JSON, by a slower way that knows more: any integer, also lone surrogates."""
    try:
        return json.loads(body)
    except (ValueError, RecursionError):  # also bytes that are no text, numbers of a million digits
        raise MalformedRequestError("the body is not JSON: expected an object") from None


def _list_of(kind: type, items: Any, what: str, most: int) -> list[Any]:
    # By type and not by isinstance: true is an int to Python, and no index to anybody.
    if not isinstance(items, list) or set(map(type, items)) - {kind}:
        words = {str: "strings", int: "integers"}[kind]
        raise MalformedRequestError(f"the {what} cannot be read: expected a list of {words}")
    if len(items) > most:
        raise TooLargeError(f"{len(items):,} {what} are too many: expected at most {most:,}")
    return items


def _given(request: Request, name: str) -> list[str]:
    """All values of a parameter. Starlette's own `query_params` can do more, and takes longer."""
    scope = request.scope
    if "endtable.query" not in scope:
        scope["endtable.query"] = parse_qsl(
            scope["query_string"].decode("latin-1"), keep_blank_values=True
        )
    return [value for key, value in scope["endtable.query"] if key == name]


def _only(request: Request, name: str) -> str:
    given = _given(request, name)
    if len(given) != 1:
        raise MalformedRequestError(f"{len(given)} {name}s given: expected '?{name}=' once")
    return given[0]


def _short(text: str, what: str, longest: int) -> str:
    if len(text) > longest:
        size = f"{len(text):,} characters"
        raise TooLargeError(f"a {what} of {size} is too long: expected at most {longest}")
    return text
