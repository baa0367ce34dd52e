"""What tables/FORMAT.md allows beyond the shipped tables: the widest items, what later versions add."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

import h5py
import numpy as np
import pytest

import lookup
from builder.solvers.solution import PackedColumn, packed_remoteness
from builder.writer import _set_attributes, write_table
from lookup import Game
from lookup.blocks import encode, pack
from lookup.errors import CorruptTableError
from lookup.format import TableInfo, Totals, outcome_column
from tests import stranger
from tests.conftest import ROOT
from tests.format_examples import ours, said

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


class Ladder(Game):
    """One step down a long ladder at a time."""

    size = 70_000
    start = 69_999
    max_moves = 1

    def successors(self, index: int, out: Any) -> int:
        out[0] = index - 1
        return min(index, 1)


def test_items_of_32_bits(tmp_path: Path) -> None:
    steps = np.arange(Ladder.size, dtype=np.uint32)
    columns = [
        PackedColumn(outcome_column(1, Ladder.size), pack(steps & np.uint32(1), 1)),
        packed_remoteness(steps, Ladder.size - 1),
    ]
    totals = Totals((Ladder.size // 2, 0, Ladder.size // 2), Ladder.size - 1)
    path = tmp_path / "ladder.h5"
    write_table(path, TableInfo.describe(Ladder(), "a test", totals), columns)
    table = stranger.Table(path)
    assert table.columns["remoteness"].attributes["bits"] == 32
    assert len(table.columns["remoteness"].places) == 2, "the last chunk is filled up"
    assert table.item("remoteness", 69_999) == (1, 4 * (69_999 - 65_536), 0, 69_999)
    assert table.digest() == table.attributes["digest"]
    with lookup.open_table(path, game=Ladder) as known:
        assert table.value(69_999) == said(known.probe_index(69_999)) == ("win", 69_999, None)


# --- what later versions may add ----------------------------------------------------------------------


def later(source: Path, target: Path, *, is_right: bool = True) -> Path:
    """A file of a version 1.x to come: an attribute more, one more on a column, a column more."""
    target.write_bytes(source.read_bytes())
    chunk = bytes(range(64))
    with h5py.File(target, "r+", libver=("earliest", "v110")) as file:
        _set_attributes(file, {"author": "Ærø", "moves_counted": 7})
        _set_attributes(file["outcome"], {"unit": "positions"})
        filters = {"compression": 32015, "compression_opts": (3,), "allow_unknown_filter": True}
        dataset = file.create_dataset("advice", (64,), "u1", chunks=(64,), fletcher32=True, **filters)
        sentence = "one item an element, an unsigned little-endian integer of 8 bits"
        _set_attributes(
            dataset, {"bits": 8, "items": 64, "meaning": "What to do.", "packing": sentence}
        )
        dataset.id.write_direct_chunk((0,), encode(chunk, 3))
        digest = hashlib.sha256(chunk).digest()
        file["sha256/advice"] = np.frombuffer(digest, np.uint8).reshape(1, 32)
    table = stranger.Table(target)
    with h5py.File(target, "r+", libver=("earliest", "v110")) as file:
        _set_attributes(file, {"digest": table.digest() if is_right else table.attributes["digest"]})
    return target


def test_what_a_later_version_adds_is_ignored(tmp_path: Path) -> None:
    path = later(ROOT / "tables/tactics-3x3.h5", tmp_path / "t.h5")
    known, everything = ours("tactics-3x3"), np.arange(512)
    with lookup.open_table(path) as table:
        values, right = table.probe_many(everything), known.probe_many(everything)
        assert (values.outcome == right.outcome).all()
        assert values.remoteness is not None
        assert (values.remoteness == right.remoteness).all()
        assert table.info == known.info
        assert table.digest == stranger.Table(path).digest() != known.digest


def test_but_counts_for_the_digest(tmp_path: Path) -> None:
    path = later(ROOT / "tables/tactics-3x3.h5", tmp_path / "t.h5", is_right=False)
    with pytest.raises(CorruptTableError, match="does not match its digest"):
        lookup.open_table(path)


@pytest.mark.parametrize(
    "change",
    [
        lambda file: file.attrs.__setitem__("author", 1.5),
        lambda file: file.create_group("extra"),
        lambda file: file.__delitem__("sha256/advice"),
        lambda file: file["advice"].attrs.__delitem__("packing"),
        lambda file: file.attrs.__setitem__("start", np.int64(3)),  # alone, without rules_digest
    ],
)
def test_and_must_be_built_as_all_is(change: Callable[[Any], object], tmp_path: Path) -> None:
    path = later(ROOT / "tables/tactics-3x3.h5", tmp_path / "t.h5")
    with h5py.File(path, "r+") as file:
        change(file)
    with pytest.raises(CorruptTableError):
        lookup.open_table(path)
