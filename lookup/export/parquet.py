"""Columns for data tools: Apache Parquet, by pyarrow. Importing this module needs the extra `parquet`.

Row groups are stretches of the table, so that a reader finds an index without reading all of them. The
schema carries what the table says of itself, under keys that begin with `endtable.`
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from lookup.export.rows import ROWS_AT_ONCE
from lookup.progress import silent
from lookup.values import Outcome, Values

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import IO

    from numpy.typing import NDArray

    from lookup.progress import Report
    from lookup.table import Table

GROUP = 1 << 22
"""Indices of a row group. Of each the writer keeps 8 KB until the end: 120 MiB for 2^36 indices."""

GROUP_WITH_TEXT = 1 << 20
"""The same where there are texts, which take ten times as much memory as all numbers."""

WORDS = ("loss", "draw", "win")
"""The dictionary of outcomes, which are stored as places in it."""

DESCRIBED = ("game", "parameters", "rules", "notation", "indexing", "rules_digest", "builder")
"""What a table says of itself and the file repeats; and its name and digest."""


def write_parquet(table: Table, file: IO[bytes], *, text: bool = True, report: Report = silent) -> None:
    """The positions of a table, a row each."""
    schema = _schema(table, text)
    with pq.ParquetWriter(
        file,
        schema,
        compression="zstd",
        use_dictionary=["outcome", "remoteness", "grundy"],
        column_encoding={"index": "DELTA_BINARY_PACKED"},  # next to nothing, where there are no holes
    ) as writer:
        for first, values in _groups(table, GROUP_WITH_TEXT if text else GROUP):
            at = np.flatnonzero(values.outcome)
            if len(at):
                columns = _columns(table, first, at, values, schema, report)
                writer.write_table(pa.table(columns, schema=schema), row_group_size=len(at))
            report(first + len(values.outcome), table.info.size)


def _schema(table: Table, text: bool) -> Any:
    """Names and types, each as small as the table allows; columns that are not stored are there too."""
    info = table.info
    fields = [
        pa.field("index", _smallest(info.size - 1), nullable=False),
        pa.field("position", pa.string(), nullable=False),
        pa.field("outcome", pa.dictionary(pa.int8(), pa.string()), nullable=False),
        pa.field("remoteness", _smallest(info.longest_remoteness)),
        pa.field("grundy", _smallest(info.largest_grundy)),
    ]
    said = {"table": info.name, "digest": table.digest}
    said |= {name: getattr(info, name) for name in DESCRIBED}
    return pa.schema(
        [field for field in fields if text or field.name != "position"],
        metadata={f"endtable.{name}": value for name, value in said.items() if value},
    )


def _smallest(largest: int) -> Any:
    return pa.from_numpy_dtype(np.min_scalar_type(max(largest, 0)))


def _groups(table: Table, size: int) -> Iterator[tuple[int, Values]]:
    """The stretches of a table in pieces of at most so many indices."""
    for first, values in table.scan():
        for low in range(0, len(values.outcome), size):
            piece = (None if column is None else column[low : low + size] for column in values)
            yield first + low, Values(*piece)  # type: ignore[arg-type] # outcomes are never None


def _columns(
    table: Table, first: int, at: NDArray[np.int64], values: Values, schema: Any, report: Report
) -> dict[str, Any]:
    """The columns of one row group: of a stretch from `first` on, what is at these places."""
    codes = values.outcome[at]
    columns = {
        "index": pa.array(first + at, schema.field("index").type),
        "outcome": pa.DictionaryArray.from_arrays((codes - 1).astype(np.int8), pa.array(WORDS)),
    }
    for name, missing in (("remoteness", codes == Outcome.DRAW), ("grundy", None)):
        kind, column = schema.field(name).type, getattr(values, name)
        columns[name] = (
            pa.nulls(len(at), kind) if column is None else pa.array(column[at], kind, mask=missing)
        )
    if "position" in schema.names:
        columns["position"] = pa.chunked_array(_texts(table, first + at, report), pa.string())
    return {name: columns[name] for name in schema.names}


def _texts(table: Table, indices: NDArray[np.int64], report: Report) -> Iterator[Any]:
    """The texts of positions, so many at a time as may exist as Python's objects."""
    for low in range(0, len(indices), ROWS_AT_ONCE):
        part = indices[low : low + ROWS_AT_ONCE].tolist()
        yield pa.array(map(table.game.format, part), pa.string())
        report(part[-1] + 1, table.info.size)  # they take longer than all the rest
