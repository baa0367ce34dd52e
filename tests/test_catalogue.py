"""The tables in the repository: complete, small, and what the code builds today."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

import lookup
from builder import writer
from builder.build import build_table
from builder.catalogue import CATALOGUE
from builder.verify import verify_file
from lookup.disk import file_digest
from tests.conftest import GOLDEN, ROOT, SHIPPED_LEVELS, examples

if TYPE_CHECKING:
    from pathlib import Path

TABLES = ROOT / "tables"
NAMES = [game.table_name for game in CATALOGUE]


def test_every_game_has_golden_values() -> None:
    assert {game.name for game in CATALOGUE} <= set(lookup.GAMES)
    assert {path.stem for path in GOLDEN.glob("*.csv")} == {*lookup.GAMES, *examples()}


def test_the_shipped_set_is_the_catalogue_and_small() -> None:
    lines = (TABLES / "SHA256SUMS").read_text("ascii").splitlines()
    sums = {name: digest for digest, name in map(str.split, lines)}
    assert set(sums) == {f"{name}.h5" for name in NAMES}
    assert {name: file_digest(TABLES / name) for name in sums} == sums
    assert sum((TABLES / name).stat().st_size for name in sums) < 2 * 1024 * 1024


def test_git_and_the_wheel_keep_exactly_the_catalogue() -> None:
    kept = re.findall(r"^!tables/(.*)\.h5$", (ROOT / ".gitignore").read_text(), re.MULTILINE)
    assert sorted(kept) == sorted(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_a_rebuild_gives_the_committed_table(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer, "LEVELS", SHIPPED_LEVELS)
    built = build_table(lookup.find_game(name), tmp_path)
    with lookup.open_table(TABLES / f"{name}.h5") as committed:
        assert built.digest == committed.digest


@pytest.mark.parametrize("name", NAMES)
def test_the_committed_table_follows_from_the_rules(name: str) -> None:
    assert verify_file(TABLES / f"{name}.h5").info.name == name
