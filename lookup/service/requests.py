"""What a request carries, checked before a table is asked, and the limits on it."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, NamedTuple

from lookup.service.errors import MalformedRequestError, TooLargeError

if TYPE_CHECKING:
    from starlette.requests import Request

LONGEST_POSITION = 500
"""Characters. A row of so many sticks has a thousand moves, and a line of them takes seconds."""

LONGEST_LINE = 1000
MOST_POSITIONS = 10_000
MOST_INDICES = 100_000
LARGEST_BODY = 4 * 1024 * 1024

_NUMBER = re.compile(r"[0-9]{1,9}")
_DRAINED = 16 * LARGEST_BODY


class Batch(NamedTuple):
    """Many positions to probe: texts or indices, whichever is not None."""

    positions: list[str] | None = None
    indices: list[int] | None = None


def position_of(request: Request) -> str:
    """The position asked about.

    Raises:
        MalformedRequestError: there is none, or more than one.
        TooLargeError: it is longer than any that is answered here.
    """
    given = request.query_params.getlist("position")
    if len(given) != 1:
        raise MalformedRequestError(f"{len(given)} positions given: expected '?position=' once")
    return _short(given[0])


def limit_of(request: Request) -> int:
    """How many moves a line may have.

    Raises:
        MalformedRequestError: not one number.
        TooLargeError: more than is answered here.
    """
    given = request.query_params.getlist("limit") or [str(LONGEST_LINE)]
    if len(given) != 1 or not _NUMBER.fullmatch(given[0]):
        raise MalformedRequestError(f"the limit cannot be {given[-1][:100]!r}: expected one number")
    if int(given[0]) > LONGEST_LINE:
        raise TooLargeError(f"the limit cannot be {given[0]}: expected at most {LONGEST_LINE} moves")
    return int(given[0])


async def body_of(request: Request) -> bytes:
    """The body.

    Raises:
        TooLargeError: it is larger than any that is read here.
    """
    parts: list[bytes] = []
    size = 0
    async for part in request.stream():
        size += len(part)
        if size <= LARGEST_BODY:
            parts.append(part)
        elif size > _DRAINED:
            break  # what is a little too large is read to its end: who still writes reads no answer
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
        content = json.loads(body)
    except (ValueError, RecursionError):  # also bytes that are no text, numbers of a million digits
        raise MalformedRequestError("the body is not JSON: expected an object") from None
    if not isinstance(content, dict) or set(content) not in ({"positions"}, {"indices"}):
        raise MalformedRequestError(
            'the body is no batch: expected {"positions": [...]} or {"indices": [...]}'
        )
    if "positions" in content:
        positions = _list_of(str, content["positions"], "positions", MOST_POSITIONS)
        return Batch(positions=[_short(position) for position in positions])
    return Batch(indices=_list_of(int, content["indices"], "indices", MOST_INDICES))


def _list_of(kind: type, items: Any, what: str, most: int) -> list[Any]:
    # By type and not by isinstance: true is an int to Python, and no index to anybody.
    if not isinstance(items, list) or set(map(type, items)) - {kind}:
        words = {str: "strings", int: "integers"}[kind]
        raise MalformedRequestError(f"the {what} cannot be read: expected a list of {words}")
    if len(items) > most:
        raise TooLargeError(f"{len(items):,} {what} are too many: expected at most {most:,}")
    return items


def _short(position: str) -> str:
    if len(position) > LONGEST_POSITION:
        size = f"{len(position):,} characters"
        raise TooLargeError(f"a position of {size} is too long: expected at most {LONGEST_POSITION}")
    return position
