"""Files whose structure somebody made up: nothing else is opened, nothing large is read, nothing loops.

`scripts/torture files` tries many more; these are those that were found, or thought of.
"""

from __future__ import annotations

import os
import re
import struct
import tracemalloc
from typing import TYPE_CHECKING, Any

import h5py
import numpy as np
import pytest

import lookup
from builder.build import build_table
from builder.solvers.solution import PackedColumn
from builder.verify import verify_file
from builder.writer import write_table
from lookup import CorruptTableError, NotATableError, RulesChangedError, chunk_file
from lookup.errors import VerificationError
from lookup.format import is_sound, outcome_column, remoteness_column, table_digest
from lookup.hdf5 import Structure, StructureError
from lookup.reader import TableFile
from tests.own_games import own_game
from tests.strangers import described, stranger

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.conftest import Rechunk

TABLE = "tactics-3x3"
ONE_COLUMN = [PackedColumn(outcome_column(1, 64), np.zeros(8, np.uint8))]


@pytest.fixture
def whole(built: Callable[[str], Path]) -> bytes:
    return built(TABLE).read_bytes()


def refused(path: Path, data: bytes, words: str) -> None:
    path.write_bytes(data)
    with pytest.raises(CorruptTableError, match=words):
        lookup.open_table(path)


def put(data: bytes, at: int, new: bytes) -> bytes:
    return data[:at] + new + data[at + len(new) :]


def number(value: int) -> bytes:
    return value.to_bytes(8, "little")


@pytest.mark.parametrize("how", ["a link", "an array", "parts of arrays"])
def test_a_file_never_leads_to_another(how: str, whole: bytes, tmp_path: Path) -> None:
    """The library of HDF5 would open it, and wait for ever: nobody writes to this pipe."""
    path, pipe = tmp_path / "t.h5", tmp_path / "pipe"
    os.mkfifo(pipe)
    path.write_bytes(whole)
    with h5py.File(path, "r+", libver=("earliest", "v110")) as file:
        del file["sha256/outcome"]
        if how == "a link":
            file["sha256/outcome"] = h5py.ExternalLink(str(pipe), "/outcome")
        elif how == "an array":
            file.create_dataset("sha256/outcome", (1, 32), "u1", external=[(str(pipe), 0, 32)])
        else:
            layout = h5py.VirtualLayout((1, 32), "u1")
            layout[...] = h5py.VirtualSource(str(pipe), "data", (1, 32))
            file.create_virtual_dataset("sha256/outcome", layout)
    with pytest.raises(CorruptTableError, match="is damaged: "):
        lookup.open_table(path)


@pytest.mark.parametrize("length", [1 << 30, 1 << 42])
def test_numbers_as_large_as_a_file_with_holes_allocate_nothing(
    length: int, whole: bytes, tmp_path: Path
) -> None:
    """Of the header of the root, of its continuation, of a heap, of an attribute."""
    path = tmp_path / "t.h5"
    continuation = struct.unpack_from("<Q", whole, 120)[0]
    for at, size in ((104, 4), (128, 8), (688, 8), (continuation + 2, 2)):
        large = min(length - (1 << 20), (1 << 8 * size) - 8)
        path.write_bytes(put(put(whole, at, large.to_bytes(size, "little")), 40, number(length)))
        os.truncate(path, length)
        tracemalloc.start()
        try:
            lookup.open_table(path).close()
        except CorruptTableError:
            pass
        finally:
            peak = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
        assert peak < 2 << 20


def test_a_header_that_goes_on_in_itself(whole: bytes, tmp_path: Path) -> None:
    assert whole[112:114] == b"\x10\0", "a continuation"
    for at, size in ((112, 24), (96, 64)):
        looped = put(whole, 120, number(at) + number(size))
        refused(tmp_path / "t.h5", looped, "header at 96 (holds a broken|is longer|lacks)")


def test_trees_that_lead_to_themselves(rechunk: Rechunk, tables: lookup.Tablebase) -> None:
    """Or to each other, 64 ways at a time: without a bound, more nodes than can ever be looked at."""
    path = rechunk(tables["tactics-4x4"].path, 256, True)
    whole = path.read_bytes()
    nodes = [at.start() for at in re.finditer(b"TREE\x01", whole)]
    assert len(nodes) == 1
    node = nodes[0]
    key = bytes(24)
    for level, words in ((1, "no node of a tree"), (9, "no node of a tree")):
        looped = put(whole, node + 5, bytes([level]) + b"\x40\0")
        refused(path, put(looped, node + 24, (key + number(node)) * 64), words)
    # Eight levels of nodes, each with 64 times the next one as its children; the last has one child.
    size = 24 + 64 * 32 + 24
    end = len(whole)
    web, data = [end + at * size for at in range(8)], whole
    for level in range(8):
        below = web[level - 1] if level else 0
        head = b"TREE\x01" + bytes([level]) + (64 if level else 1).to_bytes(2, "little") + b"\xff" * 16
        data += (head + (struct.pack("<IIQQ", 8, 0, 0, 0) + number(below)) * 64).ljust(size, b"\0")
    layout = data.index(b"\x03\x02\x02" + number(node))
    data = put(put(data, layout + 3, number(web[-1])), 40, number(len(data)))
    refused(path, data, "outcome has a misplaced chunk")
    # The same, and the last has none: nothing is ever counted.
    refused(path, put(data, web[0] + 6, b"\0\0"), "no node of a tree")


def test_chunks_take_room_only_if_they_are_there(rechunk: Rechunk, tables: lookup.Tablebase) -> None:
    """A file with holes has room for the digests of as many as it likes."""
    data = rechunk(tables["tactics-4x4"].path, 256, True).read_bytes()
    structure = Structure(lambda at, size: data[at : at + size], len(data))
    column = structure.dataset(structure.group(structure.root).members["outcome"])
    tracemalloc.start()
    try:
        with pytest.raises(StructureError, match=r"lacks \d+ of its 137438953472 chunks"):
            structure.places(column._replace(shape=(1 << 45,)), 4096)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 1 << 20


def test_many_members_with_one_large_header_are_refused(whole: bytes, tmp_path: Path) -> None:
    path = tmp_path / "t.h5"
    path.write_bytes(whole)
    with h5py.File(path, "r+") as file:
        file["outcome"].attrs.update({f"more{at}": np.bytes_(b"x" * 60_000) for at in range(60)})
        for at in range(10):
            file[f"another{at}"] = file["outcome"]
    with pytest.raises(CorruptTableError, match="is longer than that of any table"):
        lookup.open_table(path)


def test_two_of_one_name(whole: bytes, tmp_path: Path) -> None:
    path = tmp_path / "t.h5"
    at = whole.index(b"losses\0")
    assert whole.count(b"wins\0\0\0\0") == 1
    refused(path, whole.replace(b"wins\0\0\0\0", b"size\0\0\0\0"), "a group has two attributes size")
    refused(path, put(whole, at, b"los\x1bes"), "has no name in ASCII")
    members = [entry.start() for entry in re.finditer(b"SNOD", whole)]
    first, second = members[0] + 8, members[0] + 48
    doubled = put(whole, second, whole[first : first + 8])
    refused(path, doubled, "a group has two members 'outcome'")
    refused(path, put(whole, first + 16, b"\2"), "a group has a link to elsewhere")


def test_somebody_elses_newer_form(tmp_path: Path) -> None:
    path = tmp_path / "other.h5"
    with h5py.File(path, "w", libver="latest") as file:
        file["temperature"] = [1.0, 2.0]
    with pytest.raises(NotATableError, match="is not a table: expected a superblock of version 0"):
        lookup.open_table(path)


def test_a_shared_message_is_refused(whole: bytes, tmp_path: Path) -> None:
    refused(tmp_path / "t.h5", put(whole, 116, b"\2"), "holds a broken message")


def test_structures_are_those_that_the_library_finds(built: Callable[[str], Path]) -> None:
    for name in (TABLE, "rota", "sticks-any-1-3"):
        data = built(name).read_bytes()
        ours = Structure(lambda at, size, data=data: data[at : at + size], len(data))  # type: ignore[misc]
        group = ours.group(ours.root)
        with h5py.File(built(name), "r") as file:
            assert set(group.members) == set(file)
            assert set(group.attributes) == set(file.attrs)
            for column in set(file) - {"sha256"}:
                mine, theirs = ours.dataset(group.members[column]), file[column]
                assert (mine.shape, (mine.chunk,)) == (theirs.shape, theirs.chunks)
                assert mine.itemsize == theirs.dtype.itemsize
                assert mine.address
                assert set(mine.attributes) == set(theirs.attrs)


# --- what damage is told as --------------------------------------------------------------------------


def test_damage_to_what_names_the_rules_is_damage(tmp_path: Path) -> None:
    """Not other rules, nor another game: that is said of a file that is whole."""
    game = own_game(tmp_path)
    path = build_table(game, tmp_path).path
    whole, digest = path.read_bytes(), game.rules_digest().encode()
    other = digest[:-1] + (b"0" if digest[-1:] != b"0" else b"1")
    assert whole.count(digest) == 1
    for damaged in (whole.replace(digest, other), whole.replace(b"subtract\x0c\0", b"subtrakt\x0c\0")):
        assert damaged != whole
        path.write_bytes(damaged)
        with pytest.raises(CorruptTableError, match="does not match its digest"):
            lookup.open_table(path, game=type(game))
    other_rules = stranger(tmp_path / "other.h5", game="subtract", rules_digest="00")
    with pytest.raises(RulesChangedError):
        lookup.open_table(other_rules, game=type(game))


def test_want_of_memory_is_not_damage(
    built: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(*_: Any) -> Any:
        raise MemoryError

    monkeypatch.setattr(chunk_file, "table_digest", failing)
    with pytest.raises(MemoryError):
        lookup.open_table(built(TABLE))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"parameters": "[" * 60_000}, "recursion"),
        ({"parameters": '{"a":' + "9" * 5000 + "}"}, "digits"),
        ({"parameters": '{"a":NaN}'}, "expected integers and booleans"),
        ({"parameters": '{"a":1,"a":2}'}, "expected a JSON object in canonical form"),
        ({"solver": "x" * 60_000}, "is no kind of solver"),
        ({"period": "\x1b" * 9}, "is damaged: "),
    ],
)
def test_what_a_stranger_says_is_refused_in_a_short_line(
    changes: dict[str, Any], words: str, tmp_path: Path
) -> None:
    path = tmp_path / "t.h5"
    write_table(path, described(**changes), ONE_COLUMN)
    with pytest.raises(CorruptTableError, match=words) as caught:
        lookup.open_table(path)
    assert len(str(caught.value)) < len(str(path)) + 300
    assert str(caught.value).isprintable()


def test_a_remoteness_that_no_column_can_hold_is_unsound() -> None:
    size = 1 << 40
    columns = {"outcome": outcome_column(1, size), "remoteness": remoteness_column(32, size)}
    said = {"size": size, "positions": size, "losses": size}
    assert is_sound(described(**said, longest_remoteness=(1 << 32) - 1), columns)
    assert not is_sound(described(**said, longest_remoteness=1 << 33), columns)


def test_a_name_is_quoted_where_it_is_refused(built: Callable[[str], Path], tmp_path: Path) -> None:
    """A forger's words reach a terminal as what they are."""
    file = TableFile(built(TABLE))
    file.close()
    path = tmp_path / "t.h5"
    write_table(path, file.info._replace(name="\x1b[31m" + "x" * 60_000), ONE_COLUMN)
    with pytest.raises(CorruptTableError, match=r"'\\x1b\[31mxx.*is not its game"):
        lookup.open_table(path)
    path.write_bytes(built(TABLE).read_bytes())
    with h5py.File(path, "r+") as changed:
        changed.attrs["rules"] = np.bytes_(b"x" * 60_000)
        changed.attrs["digest"] = np.bytes_(_digest(changed))
    with pytest.raises(VerificationError, match=r"says of it that rules is 'xxx") as caught:
        verify_file(path)
    assert len(str(caught.value)) < len(str(path)) + 400


def _digest(file: Any) -> bytes:
    """What the digest of an altered file must be."""

    def plain(item: Any) -> dict[str, int | str]:
        found = {name: value for name, value in item.attrs.items() if name != "digest"}
        return {
            name: value.decode() if isinstance(value, bytes) else int(value)
            for name, value in found.items()
        }

    names = sorted(set(file) - {"sha256"})
    digests = {name: file["sha256"][name][...].tobytes() for name in names}
    return table_digest(plain(file), {name: plain(file[name]) for name in names}, digests).encode()
