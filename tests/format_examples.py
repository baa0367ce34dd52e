"""The examples in tables/FORMAT.md, and how each kind of them is checked.

By a stranger's code (`stranger.py`), which follows the document, and by ours.
"""

from __future__ import annotations

import hashlib
import json
import re
import tempfile
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pytest

import lookup
from lookup.blocks import pack
from lookup.columns import read_items
from lookup.errors import InvalidPositionError
from lookup.games.sticks_special import SticksSpecial
from lookup.reader import TableFile
from tests import stranger
from tests.conftest import ROOT
from tests.folders import as_folder

if TYPE_CHECKING:
    from collections.abc import Callable

DOCUMENT = (ROOT / "tables/FORMAT.md").read_text("utf-8")
BLOCK = re.compile(r"^```text\n(.*?)^```$", re.MULTILINE | re.DOTALL)


class Example(NamedTuple):
    """One row of a block of examples, its cells by the words in the first row."""

    cells: dict[str, str]

    @property
    def kind(self) -> str:
        return " ".join(self.cells)

    def number(self, name: str) -> int | None:
        return None if self.cells[name] == "-" else int(self.cells[name])


def examples(document: str) -> list[Example]:
    found = []
    for block in BLOCK.findall(document):
        head, *rows = (re.split(r" {2,}", line.strip()) for line in block.splitlines())
        found += [Example(dict(zip(head, row, strict=True))) for row in rows]
    return found


@cache
def strange(name: str) -> stranger.Table:
    return stranger.Table(ROOT / f"tables/{name}.h5")


@cache
def ours(name: str) -> lookup.Table:
    return lookup.open_table(ROOT / f"tables/{name}.h5")


@cache
def our_items(name: str, column: str) -> Any:
    file = TableFile(ROOT / f"tables/{name}.h5")
    items = read_items(file, column)
    file.close()
    return items


def said(value: Any) -> tuple[str, int | None, int | None]:
    """A value of ours as the document writes it."""
    return value.outcome.name.lower(), value.remoteness, value.grundy


# --- one check for each kind of example ---------------------------------------------------------------


def check_place(row: Example) -> None:
    """Text, index, record, column, chunk, byte, bit, value."""
    cells, table = row.cells, strange(row.cells["table"])
    index, column = int(cells["index"]), cells["column"]
    if cells["position"] != "-":
        indices = stranger.indices_of(
            str(table.attributes["game"]), table.parameters, cells["position"]
        )
        assert [index] == indices
        assert ours(cells["table"]).game.parse(cells["position"]) == index
    if column == "classes":
        assert cells["record"] == "-"
        at = index
    else:
        at = table.record(index)
        assert row.number("record") == at
    found = table.item(column, at)
    assert list(found) == [row.number(name) for name in ("chunk", "byte", "bit", "value")]
    assert our_items(cells["table"], column)[at] == found.value


def check_answer(row: Example) -> None:
    """Text, indices, value."""
    cells, table, known = row.cells, strange(row.cells["table"]), ours(row.cells["table"])
    indices, text = [int(index) for index in cells["indices"].split()], cells["position"]
    expected = cells["outcome"], row.number("remoteness"), row.number("grundy")
    if text == "-":
        (index,) = indices
        assert table.value(index) == expected
        if expected[0] == "not a position":
            with pytest.raises(InvalidPositionError, match="this one is a hole"):
                known.probe_index(index)
        else:
            assert said(known.probe_index(index)) == expected
        return
    assert stranger.indices_of(str(table.attributes["game"]), table.parameters, text) == indices
    assert tuple(known.game.components(text)) == tuple(indices) or indices == [0]
    assert table.value_of(text) == expected
    assert said(known.probe(text)) == expected


def check_beyond(row: Example) -> None:
    table, index = strange(row.cells["table"]), int(row.cells["index"])
    assert index >= table.number("size")
    assert table.fold(index)[:2] == (row.number("inside"), row.number("periods"))
    expected = row.cells["outcome"], row.number("remoteness"), row.number("grundy")
    assert table.value(index) == expected
    assert said(ours(row.cells["table"]).probe_index(index)) == expected


def check_packing(row: Example) -> None:
    bits, items = int(row.cells["bits"]), [int(item) for item in row.cells["items"].split()]
    packed = bytes.fromhex(row.cells["bytes"])
    assert bits in stranger.WIDTHS
    assert packed == pack(np.array(items, np.uint32), bits).tobytes()
    assert [stranger.item_in(packed, at * bits, bits) for at in range(len(items))] == items


def check_bytes(row: Example) -> None:
    """Bytes of tactics-3x3.h5; the numbers in their meaning are among them."""
    offset, there = int(row.cells["offset"]), bytes.fromhex(row.cells["bytes"])
    assert strange("tactics-3x3").data[offset : offset + len(there)] == there
    fields = {
        int.from_bytes(there[at : at + size], "little")
        for size in (1, 2, 4, 8)
        for at in range(len(there) - size + 1)
    }
    assert {int(word) for word in re.findall(r"\b\d+\b", row.cells["meaning"])} <= fields


def check_decoded(row: Example) -> None:
    cells, there = row.cells, bytes.fromhex(row.cells["bytes"])
    chunk = strange(cells["table"]).chunk(cells["column"], int(cells["chunk"]))
    assert chunk[int(cells["byte"]) :][: len(there)] == there


def check_counts(row: Example) -> None:
    total, *counts = (int(cell) for cell in row.cells.values())
    assert counts == [stranger.partitions(total, int(most)) for most in [*row.cells][1:]]


def check_rank(row: Example) -> None:
    longest, text, index = int(row.cells["length"]), row.cells["row"], int(row.cells["index"])
    lengths = stranger.segments(text)
    parts = [length + 1 for length in sorted(lengths, reverse=True)]
    parts += [1] * (longest + 1 - sum(parts))
    assert parts == [int(part) for part in row.cells["partition"].split()]
    assert stranger.partition_rank(longest, lengths) == index == SticksSpecial(longest).parse(text)
    assert stranger.partition_of_rank(longest, index) == sorted(lengths, reverse=True)


def check_line(row: Example) -> None:
    table, known = strange(row.cells["table"]), ours(row.cells["table"])
    digits, k = [int(digit) for digit in row.cells["start"]], table.parameters["k"]
    assert stranger.clock_machine([0] * (len(digits) - 1) + [1], k) == digits
    assert known.game.parse(row.cells["start"]) == known.game.start
    left = table.value(known.game.start).remoteness
    for command in row.cells["commands to the win"]:
        digits = stranger.clock_command(digits, k, command)
        assert left is not None
        left -= 1
        assert table.value_of("".join(map(str, digits))).remoteness == left
    assert (digits, left) == ([0] * len(digits), 0)


def check_escape(row: Example) -> None:
    letter = chr(int(row.cells["character"].removeprefix("U+"), 16))
    assert stranger.escaped(letter) == row.cells["written"] == json.dumps(letter)[1:-1]


def check_digest(row: Example) -> None:
    table = strange("tactics-3x3")
    what, shown = row.cells.values()
    metadata, outcome, remoteness = (
        table.metadata(),
        table.chunk("outcome", 0),
        table.chunk("remoteness", 0),
    )
    parts = {
        "the metadata alone": metadata,
        "chunk 0 of outcome": outcome,
        "chunk 0 of remoteness": remoteness,
        f"{len(metadata)} bytes and 2 x 32": metadata
        + b"".join(hashlib.sha256(chunk).digest() for chunk in (outcome, remoteness)),
    }
    assert hashlib.sha256(parts[what]).hexdigest() == shown
    if what.endswith("32"):
        assert shown == table.attributes["digest"] == ours("tactics-3x3").digest


@cache
def in_parts(name: str, part_bytes: int) -> stranger.Folder:
    """A shipped table as a folder of parts, and read as one."""
    with tempfile.TemporaryDirectory() as place:
        folder = as_folder(ROOT / f"tables/{name}.h5", Path(place), part_bytes)
        return stranger.Folder(folder)


def winners() -> stranger.Folder:
    """The one of which the document has examples: in parts of four chunks."""
    return in_parts("winners-losers-20", 1 << 20)


def check_part(row: Example) -> None:
    name, number = row.cells["of winners-losers-20"], int(row.cells["part"])
    said = winners().manifest["columns"][name]["parts"][number]
    part = winners().parts[name][number]
    assert (said["file"], said["elements"]) == (row.cells["file"], row.number("elements"))
    assert part.attributes["first"] == row.number("first")
    assert len(part.columns[name].places) == row.number("chunks")


def check_place_in_part(row: Example) -> None:
    index, column = int(row.cells["index"]), row.cells["column"]
    assert stranger.indices_of("winners-losers", {}, row.cells["position"]) == [index]
    found = winners().item(column, index)
    assert (found.chunk, found.byte, found.value) == tuple(
        row.number(name) for name in ("chunk", "byte", "value")
    )
    inside = row.number("part"), row.number("chunk in it")
    assert winners().part_of(column, found.chunk) == inside
    assert found == strange("winners-losers-20").item(column, index)


CHECKS: dict[str, Callable[[Example], None]] = {
    "table position index record column chunk byte bit value": check_place,
    "table position indices outcome remoteness grundy": check_answer,
    "table index inside periods outcome remoteness grundy": check_beyond,
    "bits items bytes": check_packing,
    "offset bytes meaning": check_bytes,
    "table column chunk byte bytes": check_decoded,
    "m 0 1 2 3 4 5 6": check_counts,
    "length row partition index": check_rank,
    "table start commands to the win": check_line,
    "character written": check_escape,
    "of winners-losers-20 part file first elements chunks": check_part,
    "position index column chunk part chunk in it byte value": check_place_in_part,
    "of tactics-3x3 SHA-256": check_digest,
}
"""What an example says, by the words above it."""


def check(row: Example) -> None:
    """Raise an exception if an example is not true."""
    CHECKS[row.kind](row)
