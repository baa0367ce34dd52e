"""What requests and answers look like, as JSON schemas; `openapi` says which route takes which."""

from __future__ import annotations

from typing import Any, TypeAlias

from lookup.service.requests import LONGEST_LINE, LONGEST_POSITION, MOST_INDICES, MOST_POSITIONS

Schema: TypeAlias = dict[str, Any]

TEXT: Schema = {"type": "string"}
COUNT: Schema = {"type": "integer", "minimum": 0}
OUTCOME: Schema = {"type": "string", "enum": ["win", "draw", "loss"]}
FLAG: Schema = {"type": "boolean"}


def or_null(schema: Schema) -> Schema:
    """It, or null."""
    return {"anyOf": [schema, {"type": "null"}]}


def object_of(description: str, **properties: Schema) -> Schema:
    """An object with exactly these properties."""
    return {
        "type": "object",
        "description": description,
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def list_of(items: Schema, most: int | None = None) -> Schema:
    """A list of it, of any length unless there is a bound."""
    return {"type": "array", "items": items} | ({"maxItems": most} if most else {})


def named(name: str) -> Schema:
    """One of `SCHEMAS`."""
    return {"$ref": f"#/components/schemas/{name}"}


VALUE: dict[str, Schema] = {
    "outcome": OUTCOME,
    "remoteness": or_null(
        {**COUNT, "description": "Plies to the end; null in a draw, or if not stored."}
    ),
    "grundy": or_null({**COUNT, "description": "The nim-value; null if it is not stored."}),
}
MOVE: dict[str, Schema] = {"move": TEXT, "position": TEXT, **VALUE}
POSITION: dict[str, Schema] = {"table": TEXT, "position": TEXT, **VALUE}

SCHEMAS: dict[str, Schema] = {
    "Error": object_of(
        "What went wrong, in one sentence that says what was expected.",
        error=object_of("The error.", code=TEXT, message=TEXT),
    ),
    "Health": object_of("The server is up.", status={"const": "ok"}, version=TEXT),
    "Tables": object_of("The names of all tables that have a file.", tables=list_of(TEXT)),
    "Move": object_of(
        "A move: its outcome is for the player who makes it, remoteness counts from after it.", **MOVE
    ),
    "SingleMove": object_of(
        "A move, and the position it was made in.", table=TEXT, **{"from": TEXT}, **MOVE
    ),
    "Position": object_of("A position; its outcome is for the player to move.", **POSITION),
    "Probe": object_of(
        "A position with its moves, best first; null if the rules are not known to the server.",
        **POSITION,
        moves=or_null(list_of(named("Move"))),
    ),
    "Columns": object_of(
        "The values of many indices, in their order; a column is null if it is not stored.",
        table=TEXT,
        outcome=list_of({"type": "string", "enum": ["win", "draw", "loss", "not a position"]}),
        remoteness=or_null(list_of(or_null(COUNT))),
        grundy=or_null(list_of(COUNT)),
    ),
    "Line": object_of(
        "Best play by both sides, to the end or to a position that was there before.",
        **POSITION,
        line=list_of(named("Move"), LONGEST_LINE),
        repeats={**FLAG, "description": "It ended where it had been before: a draw."},
        complete={**FLAG, "description": "False if there would have been more moves than the limit."},
    ),
    "Board": object_of("A position as a picture.", position=TEXT, board=TEXT, over=FLAG),
    "Table": object_of(
        "What a table says of itself. If `answered_by` is 'closed form' there is no file, and what "
        "only a file has is null.",
        table=TEXT,
        answered_by={"type": "string", "enum": ["table", "closed form"]},
        form={
            "type": ["string", "null"],
            "enum": ["file", "folder", None],
            "description": "How the table is stored; a folder of parts has no file to send.",
        },
        game=TEXT,
        players={"type": "integer", "enum": [1, 2]},
        parameters={"type": "object", "additionalProperties": {"type": ["integer", "boolean"]}},
        rules=TEXT,
        notation=TEXT,
        indexing=TEXT,
        solver=TEXT,
        builder=or_null(TEXT),
        format_version=or_null(COUNT),
        digest=or_null({**TEXT, "description": "SHA-256 over metadata and decoded values."}),
        size=or_null({**COUNT, "description": "How many indices there are."}),
        positions=or_null(COUNT),
        counts=or_null(object_of("Positions by outcome.", win=COUNT, draw=COUNT, loss=COUNT)),
        longest_remoteness=or_null(COUNT),
        histogram=or_null(
            object_of(
                "How many positions have remoteness 0, 1, 2, ...",
                loss=list_of(COUNT),
                win=list_of(COUNT),
            )
        ),
        histogram_width=or_null({**COUNT, "description": "How many plies one entry counts together."}),
        grundy=or_null({**list_of(COUNT), "description": "How many have Grundy value 0, 1, 2, ..."}),
        period=or_null({"type": "object", "additionalProperties": COUNT}),
        start=or_null(TEXT),
    ),
    "Batch": {
        "oneOf": [
            {
                **object_of(
                    "Texts.", positions=list_of({**TEXT, "maxLength": LONGEST_POSITION}, MOST_POSITIONS)
                )
            },
            {**object_of("Indices.", indices=list_of({"type": "integer"}, MOST_INDICES))},
        ]
    },
}
