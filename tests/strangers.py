"""Tables of games that nobody knows here: they keep the format, and may be as large as they like."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from builder.solvers.solution import PackedColumn
from builder.writer import write_table
from lookup.format import INTEGRITY, TableInfo, outcome_column

if TYPE_CHECKING:
    from pathlib import Path


def described(**changes: Any) -> TableInfo:
    fields: dict[str, Any] = {
        "format": "endtable", "format_version": 1, "name": "trap", "game": "trap", "parameters": "{}",
        "rules": "", "notation": "", "indexing": "", "integrity": INTEGRITY, "solver": "retrograde",
        "builder": "endtable 0.1.0", "size": 64, "positions": 64, "losses": 64, "draws": 0, "wins": 0,
        "longest_remoteness": -1, "largest_grundy": -1, "period": "", "rules_digest": "00",
    }  # fmt: skip
    return TableInfo(**{**fields, **changes})


def stranger(path: Path, size: int = 64, **changes: Any) -> Path:
    """A file that keeps the format in all and says whatever it likes."""
    info = described(size=size, positions=size, losses=size, **changes)

    class Zeros:
        def __getitem__(self, key: slice, /) -> Any:
            return np.zeros(key.stop - key.start, np.uint8)

    write_table(path, info, [PackedColumn(outcome_column(1, size), Zeros())])
    return path
