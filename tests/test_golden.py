"""Values that come from elsewhere: books, articles, theorems and the rules themselves."""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING

import pytest

import lookup
from tests.conftest import GOLDEN

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def golden_lines() -> list[tuple[str, int, dict[str, str]]]:
    lines = []
    for path in sorted(GOLDEN.glob("*.csv")):
        with path.open(newline="", encoding="utf-8") as file:
            lines += [(path.stem, number, row) for number, row in enumerate(csv.DictReader(file), 2)]
    return lines


@pytest.mark.parametrize(
    ("game", "line", "row"),
    golden_lines(),
    ids=lambda value: str(value) if not isinstance(value, dict) else "",
)
def test_golden(game: str, line: int, row: dict[str, str], built: Callable[[str], Path]) -> None:
    with lookup.open_table(built(row["table"])) as table:
        value = table.probe(row["position"])
    where = f"{game}.csv:{line} ({row['source']})"
    assert str(value.outcome) == row["outcome"], where
    if row["remoteness"]:
        assert value.remoteness == int(row["remoteness"]), where
    if row.get("grundy"):
        assert value.grundy == int(row["grundy"]), where
    assert table.info.game == game, where
    assert row["source"], where
