"""What can be asked, as OpenAPI: every route with its limits, answers, errors and examples.

The tests send the examples to a running server, and then whatever else this description allows.
"""

from __future__ import annotations

from typing import Any

from lookup import __version__
from lookup.service.errors import KINDS
from lookup.service.requests import (
    LARGEST_BODY,
    LONGEST_IN_LINE,
    LONGEST_LINE,
    LONGEST_POSITION,
    MOST_INDICES,
    MOST_POSITIONS,
)
from lookup.service.schemas import COUNT, SCHEMAS, TEXT, Schema, list_of, named

EXAMPLE_TABLE, EXAMPLE_POSITION, EXAMPLE_MOVE = "rota", "x.o/.x./..o x", "e"

_CODES = sorted({(kind.status, kind.code) for kind in KINDS.values()})


def _error(status: int) -> Schema:
    codes = ", ".join(f"`{code}`" for known, code in _CODES if known == status)
    return {
        "description": f"An error: {codes}.",
        "content": {"application/json": {"schema": named("Error")}},
    }


def _later(status: int) -> Schema:
    """An error that passes."""
    after = {"description": "Seconds to wait.", "schema": COUNT}
    return {**_error(status), "headers": {"Retry-After": after}}


def _answer(schema: Schema, description: str, example: Any = None) -> Schema:
    content = {"schema": schema} | ({"example": example} if example is not None else {})
    return {"description": description, "content": {"application/json": content}}


def _query(name: str, description: str, schema: Schema, example: Any, required: bool = True) -> Schema:
    return {
        "name": name,
        "in": "query",
        "required": required,
        "description": description,
        "schema": schema,
        "example": example,
    }


def _position(longest: int = LONGEST_POSITION) -> Schema:
    schema = {**TEXT, "maxLength": longest}
    return _query("position", "The position, in the notation of its game.", schema, EXAMPLE_POSITION)


TABLE_NAME: Schema = {
    "name": "name",
    "in": "path",
    "required": True,
    "description": (
        "The name of a table. Where there is no file, the formula of its game answers if it has one: "
        "`clock-N-K`, `winners-losers-N`, `sticks-any-A-B`, `sticks-run-A-B`, with up to 2^1000 "
        "positions."
    ),
    "schema": {**TEXT, "minLength": 1},
    "example": EXAMPLE_TABLE,
}
DIGEST = _query(
    "digest",
    "The digest of the table, or its beginning: only that table may answer, and the answer may be kept "
    "for ever.",
    {**TEXT, "pattern": "^[0-9a-f]{8,64}$"},
    "e98320413c263410",
    required=False,
)
NOT_MODIFIED: Schema = {"description": "The answer whose entity tag was sent is still right."}


def _of_a_table(
    summary: str, *parameters: Schema, errors: tuple[int, ...] = (), **answers: Schema
) -> Schema:
    """A route that a table answers, which a cache may keep."""
    responses = {status.removeprefix("s"): answer for status, answer in answers.items()}
    responses["304"] = NOT_MODIFIED
    responses |= {str(status): _error(status) for status in sorted({404, 413, 422, 500, *errors})}
    return {"summary": summary, "parameters": [TABLE_NAME, *parameters], "responses": responses}


_DRAW = {"outcome": "draw", "remoteness": None, "grundy": None}
_LOSS = {"outcome": "loss", "remoteness": 1, "grundy": None}
_BEST = {"move": EXAMPLE_MOVE, "position": "x.o/.xx/..o o", **_DRAW}
_PROBED = {"table": EXAMPLE_TABLE, "position": EXAMPLE_POSITION, **_DRAW}
_MOVES = [
    _BEST,
    {"move": "n", "position": "xxo/.x./..o o", **_LOSS},
    {"move": "w", "position": "x.o/xx./..o o", **_LOSS},
    {"move": "sw", "position": "x.o/.x./x.o o", **_LOSS},
    {"move": "s", "position": "x.o/.x./.xo o", **_LOSS},
]
BATCH_EXAMPLES: dict[str, tuple[Schema, Any]] = {
    "positions": ({"positions": [EXAMPLE_POSITION]}, [_PROBED]),
    "indices": (
        {"indices": [0, 1, 2]},
        {
            "table": EXAMPLE_TABLE,
            "outcome": ["draw", "not a position", "draw"],
            "remoteness": [None, None, None],
            "grundy": None,
        },
    ),
}
"""For both kinds of batch, a body and its answer."""


def _batch() -> Schema:
    either = {"oneOf": [list_of(named("Position"), MOST_POSITIONS), named("Columns")]}
    bodies = {name: {"value": body} for name, (body, _) in BATCH_EXAMPLES.items()}
    answers = {name: {"value": answer} for name, (_, answer) in BATCH_EXAMPLES.items()}
    return {
        "summary": "Many positions at once",
        "description": (
            f"Up to {MOST_POSITIONS:,} texts, answered by a list, or {MOST_INDICES:,} indices, "
            f"answered by columns; the body may have {LARGEST_BODY:,} bytes. If one position is bad, "
            "none is answered."
        ),
        "parameters": [TABLE_NAME, DIGEST],
        "requestBody": {
            "required": True,
            "content": {"application/json": {"schema": named("Batch"), "examples": bodies}},
        },
        "responses": {
            "200": {
                "description": "The values, in the order asked.",
                "content": {"application/json": {"schema": either, "examples": answers}},
            },
            **{str(status): _error(status) for status in (400, 404, 413, 422, 500)},
        },
    }


def _file() -> Schema:
    content = {"application/x-hdf5": {"schema": {"type": "string", "format": "binary"}}}
    return {
        "summary": "The table's file",
        "description": "HDF5, whole or the ranges asked for; a download that broke off can go on.",
        "parameters": [
            TABLE_NAME,
            {"name": "Range", "in": "header", "schema": TEXT, "example": "bytes=0-7"},
        ],
        "responses": {
            "200": {"description": "The whole file.", "content": content},
            "206": {
                "description": "The ranges.",
                "content": content | {"multipart/byteranges": content["application/x-hdf5"]},
            },
            "304": NOT_MODIFIED,
            **{str(status): _error(status) for status in (404, 416, 500)},
        },
    }


def description() -> Schema:
    """The whole description."""
    probe = _of_a_table(
        "A position: who wins, how fast, and what every move is worth",
        _position(),
        DIGEST,
        errors=(400,),
        s200=_answer(named("Probe"), "The position, moves best first.", {**_PROBED, "moves": _MOVES}),
    )
    move = _of_a_table(
        "One move, also where the list shows only one of several that are alike",
        _position(),
        _query("move", "The move, as text.", {**TEXT, "maxLength": LONGEST_POSITION}, EXAMPLE_MOVE),
        DIGEST,
        errors=(400,),
        s200=_answer(
            named("SingleMove"),
            "The move.",
            {"table": EXAMPLE_TABLE, "from": EXAMPLE_POSITION, **_BEST},
        ),
    )
    limit = {**COUNT, "maximum": LONGEST_LINE, "default": LONGEST_LINE}
    line = _of_a_table(
        "Best play by both sides, as far as two seconds go",
        _position(LONGEST_IN_LINE),
        _query("limit", "No more moves than this.", limit, 10, required=False),
        DIGEST,
        errors=(400,),
        s200=_answer(named("Line"), "The moves, to the end or to a repeat."),
    )
    board = _of_a_table(
        "A position as a picture, in lines of text",
        _position(),
        DIGEST,
        errors=(400,),
        s200=_answer(named("Board"), "The picture."),
    )
    table = _of_a_table(
        "A table: rules, notation, counts, histogram",
        DIGEST,
        s200=_answer(named("Table"), "What it says of itself."),
    )
    tables = {
        "summary": "All tables",
        "responses": {"200": _answer(named("Tables"), "Their names, in alphabetical order.")},
    }
    health = {
        "summary": "Is it up?",
        "responses": {
            "200": _answer(named("Health"), "It is.", {"status": "ok", "version": __version__})
        },
    }
    paths: dict[str, Schema] = {
        "/api/health": {"get": health},
        "/api/tables": {"get": tables},
        "/api/tables/{name}": {"get": table},
        "/api/tables/{name}/probe": {"get": probe, "post": _batch()},
        "/api/tables/{name}/move": {"get": move},
        "/api/tables/{name}/line": {"get": line},
        "/api/tables/{name}/board": {"get": board},
        "/api/tables/{name}/file": {"get": _file()},
    }
    for path in paths.values():
        for route in path.values():
            route["responses"] |= {"429": _later(429), "503": _later(503)}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Endtable",
            "version": __version__,
            "license": {"name": "MIT", "identifier": "MIT"},
            "description": (
                "Solved games over HTTP. Any origin may ask. Answers are compressed on request and "
                "have entity tags; values never change, so those of our own games may be kept for a "
                "day, and for ever where the digest of the table is named. Requests that are no "
                "HTTP/1.1 are answered with 400, those whose head is larger than 64 KiB with 431, and "
                "those that do not come to their end in time with 408; then the connection is closed."
            ),
        },
        "paths": paths,
        "components": {"schemas": SCHEMAS},
    }
