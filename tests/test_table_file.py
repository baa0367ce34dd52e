"""The file format: self-describing, the same bytes each time, readable by others, hard to fool."""

from __future__ import annotations

import json
import os
import struct
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest.mock import Mock

import h5py
import numpy as np
import pytest

import lookup
from builder.build import SOLVERS, build_table
from builder.compile import Engine
from builder.solvers import heaps, mask, retrograde
from builder.solvers.solution import PackedColumn, packed_grundy, packed_remoteness
from builder.writer import _set_attributes, write_table
from lookup import handle, records
from lookup.errors import (
    CorruptTableError,
    FormatVersionError,
    MissingTableError,
    NotATableError,
    TableFileError,
)
from lookup.format import TableInfo, Totals, outcome_column
from lookup.games.rota import Rota
from lookup.games.sticks_heaps import SticksAny, SticksRun
from lookup.games.tactics import Tactics
from lookup.reader import TableFile
from tests.conftest import ROOT, same_values
from tests.solving import solve

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conftest import Rechunk

TABLE = "tactics-3x3"


def test_a_person_with_only_the_file_finds_everything_in_it(built: Callable[[str], Path]) -> None:
    with h5py.File(built("rota"), "r") as file:
        said = dict(file.attrs.items())
        assert said["format"] == b"endtable"
        assert said["format_version"] == 1
        assert said["name"] == b"rota"
        assert json.loads(said["parameters"]) == {"diameters": False}
        assert b"three in a row" in said["rules"].lower()
        assert b"'x.o/.x./..o x'" in said["notation"]
        assert b"ternary number" in said["indexing"]
        assert said["builder"].startswith(b"endtable ")
        assert said["positions"] == 3790 == said["losses"] + said["draws"] + said["wins"]
        assert said["longest_remoteness"] == 6
        assert b"0 not a position, 1 loss, 2 draw, 3 win" in file["outcome"].attrs["meaning"]
        assert {name: file[name].attrs["bits"] for name in ("outcome", "remoteness", "classes")} == {
            "outcome": 2, "remoteness": 4, "classes": 16
        }  # fmt: skip


def test_the_same_bytes_each_time_and_from_each_engine(tmp_path: Path) -> None:
    for game in (Tactics(3, 4), lookup.find_game("rota")):
        files = set()
        for number, engine in enumerate([Engine.PYTHON, Engine.NUMBA, Engine.PYTHON]):
            path = build_table(game, tmp_path / str(number), engine=engine).path
            files.add(path.read_bytes())
        assert len(files) == 1


def test_the_same_bytes_with_another_hash_seed(tmp_path: Path, built: Callable[[str], Path]) -> None:
    code = (
        "import sys; from pathlib import Path\n"
        "import lookup; from builder.build import build_table\n"
        "build_table(lookup.find_game('tactics-3x3'), Path(sys.argv[1]))"
    )
    for seed in ("1", "2"):
        subprocess.run(
            [sys.executable, "-c", code, tmp_path / seed],
            check=True,
            env={**os.environ, "PYTHONHASHSEED": seed},
            cwd=ROOT,
        )
    files = {(tmp_path / seed / "tactics-3x3.h5").read_bytes() for seed in ("1", "2")}
    assert files == {built("tactics-3x3").read_bytes()}


# --- files that are not as they should be --------------------------------------------------------


def test_not_hdf5(tmp_path: Path) -> None:
    path = tmp_path / "notes.h5"
    for content in (b"", b"hello", b"\x89HDF"):
        path.write_bytes(content)
        with pytest.raises(NotATableError, match=r"notes.h5' is not a table: expected an HDF5 file"):
            lookup.open_table(path)


def test_somebody_elses_hdf5(tmp_path: Path) -> None:
    path = tmp_path / "other.h5"
    with h5py.File(path, "w") as file:
        file["temperature"] = [1.0, 2.0]
        file.attrs["about"] = np.array([1.0, 2.0])
    with pytest.raises(NotATableError, match="expected the attribute format = 'endtable'"):
        lookup.open_table(path)


def altered(source: Path, target: Path, change: Callable[[Any], None]) -> Path:
    """A copy of a file with something changed through h5py."""
    target.write_bytes(source.read_bytes())
    with h5py.File(target, "r+") as file:
        change(file)
    return target


def test_another_format_version(tmp_path: Path, built: Callable[[str], Path]) -> None:
    def change(file: Any) -> None:
        file.attrs["format_version"] = np.int64(2)

    path = altered(built(TABLE), tmp_path / "new.h5", change)
    with pytest.raises(
        FormatVersionError, match=r"has format version 2; this Endtable reads version 1"
    ):
        lookup.open_table(path)


@pytest.mark.parametrize(
    "attribute",
    [
        "name",
        "game",
        "parameters",
        "rules",
        "size",
        "positions",
        "wins",
        "longest_remoteness",
        "builder",
        "digest",
    ],
)
def test_an_altered_attribute(attribute: str, tmp_path: Path, built: Callable[[str], Path]) -> None:
    def change(file: Any) -> None:
        value = file.attrs[attribute]
        file.attrs[attribute] = value + 1 if isinstance(value, np.integer) else np.bytes_(value + b" ")

    path = altered(built(TABLE), tmp_path / "altered.h5", change)
    with pytest.raises(CorruptTableError):
        lookup.open_table(path)


@pytest.mark.parametrize("attribute", ["rules", "digest", "solver"])
def test_a_missing_attribute(attribute: str, tmp_path: Path, built: Callable[[str], Path]) -> None:
    path = altered(built(TABLE), tmp_path / "less.h5", lambda file: file.attrs.__delitem__(attribute))
    with pytest.raises(CorruptTableError):
        lookup.open_table(path)


@pytest.mark.parametrize("column", ["outcome", "remoteness", "sha256"])
def test_a_missing_column(column: str, tmp_path: Path, built: Callable[[str], Path]) -> None:
    path = altered(built(TABLE), tmp_path / "less.h5", lambda file: file.__delitem__(column))
    with pytest.raises(CorruptTableError):
        lookup.open_table(path)


def test_a_huge_claim_allocates_nothing(tmp_path: Path, built: Callable[[str], Path]) -> None:
    """A file that says it is larger than its game is refused before any array is made."""

    def change(file: Any) -> None:
        file.attrs["size"] = np.int64(1 << 50)
        file["outcome"].attrs["items"] = np.int64(1 << 50)

    path = altered(built(TABLE), tmp_path / "huge.h5", change)
    with pytest.raises(CorruptTableError, match="is not its game"):
        lookup.open_table(path)


def test_chunks_that_changed_places(tmp_path: Path, built: Callable[[str], Path]) -> None:
    def change(file: Any) -> None:
        dataset = file["remoteness"]
        step = dataset.chunks[0]
        first, second = (dataset.id.read_direct_chunk((at,))[1] for at in (0, step))
        dataset.id.write_direct_chunk((0,), second)
        dataset.id.write_direct_chunk((step,), first)

    path = altered(built("tactics-4x5"), tmp_path / "swapped.h5", change)
    with pytest.raises(
        CorruptTableError, match="chunk 0 of remoteness is not the one its digest names"
    ):
        lookup.open_table(path)


def test_a_chunk_that_lies_beyond_the_file(tmp_path: Path, built: Callable[[str], Path]) -> None:
    """The addresses of chunks are not covered by any digest, and a wild one must not reach `seek`."""
    file = TableFile(built(TABLE))
    file.close()
    path = tmp_path / "wild.h5"
    whole = built(TABLE).read_bytes()
    for offset in (stored.offsets[0] for stored in file.columns.values()):
        address = offset.to_bytes(8, "little")
        assert whole.count(address) == 1
        for wild in (len(whole) - 1, 1 << 40, (1 << 63) + 5, (1 << 64) - 2):
            path.write_bytes(whole.replace(address, wild.to_bytes(8, "little")))
            with pytest.raises(CorruptTableError):
                lookup.open_table(path)


# What HDF5 keeps of a chunk: stored bytes, filter mask, first element, 0; then comes its address.
CHUNK_KEY = struct.Struct("<IIQQ")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda size, mask, at: (size, mask, at - 256), "misplaced chunk"),  # there is one already
        (lambda size, mask, at: (size, mask, 1 << 20), "misplaced chunk"),
        (lambda size, mask, at: (size, 1, at), "misplaced chunk"),
        (lambda size, mask, at: (0, mask, at), "misplaced chunk"),
        (lambda size, mask, at: (1 << 20, mask, at), "misplaced chunk"),
    ],
)
def test_a_chunk_that_is_not_one_of_those_there_should_be(
    change: Callable[[int, int, int], tuple[int, int, int]],
    words: str,
    rechunk: Rechunk,
    tables: lookup.Tablebase,
) -> None:
    path = rechunk(tables["tactics-4x4"].path, 256, True)
    file = TableFile(path)
    file.close()
    stored, whole = file.columns["outcome"], path.read_bytes()
    entry = CHUNK_KEY.pack(stored.sizes[7], 0, 7 * 256, 0) + stored.offsets[7].to_bytes(8, "little")
    assert whole.count(entry) == 1
    wrong = CHUNK_KEY.pack(*change(stored.sizes[7], 0, 7 * 256), 0) + entry[CHUNK_KEY.size :]
    path.write_bytes(whole.replace(entry, wrong))
    with pytest.raises(CorruptTableError, match=words):
        lookup.open_table(path)


def test_chunks_that_were_never_written(rechunk: Rechunk, tables: lookup.Tablebase) -> None:
    """The dataset has its place in the file, but only some of its chunks."""
    path = rechunk(tables["tactics-4x4"].path, 256, True)
    with h5py.File(path, "r+") as file:
        old = file["outcome"]
        properties, attributes = old.id.get_create_plist(), dict(old.attrs.items())
        properties.set_obj_track_times(False)
        some = {at: old.id.read_direct_chunk((at,))[1] for at in range(0, 8192, 512)}
        del file["outcome"]
        space = h5py.h5s.create_simple((8192,))
        new = h5py.h5d.create(file.id, b"outcome", h5py.h5t.STD_U8LE, space, properties)
        for at, chunk in some.items():
            new.write_direct_chunk((at,), chunk)
        file["outcome"].attrs.update(attributes)
    with pytest.raises(CorruptTableError, match="lacks 16 of its 32 chunks"):
        lookup.open_table(path)


def test_chunks_of_an_odd_length(rechunk: Rechunk, tables: lookup.Tablebase) -> None:
    with pytest.raises(CorruptTableError, match="another length than a power of two"):
        lookup.open_table(rechunk(tables["tactics-4x4"].path, 1000, True))


def test_more_chunks_than_a_file_can_hold(tmp_path: Path) -> None:
    """As many as the game allows, none of them there: nothing is allocated for them."""
    game = Tactics(6, 6)
    info = TableInfo.describe(game, "a forger", Totals((0, 0, game.size)))
    column = outcome_column(1, game.size)
    path = tmp_path / "t.h5"
    with h5py.File(path, "w") as file:
        filters = {"compression": 32015, "compression_opts": (9,), "allow_unknown_filter": True}
        dataset = file.create_dataset(
            "outcome", (column.length,), np.uint8, chunks=(1,), fletcher32=True, **filters
        )
        _set_attributes(dataset, column.attributes)
        file.create_dataset("sha256/outcome", (column.length, 32), np.uint8)
        _set_attributes(file, {**info.attributes, "digest": "0" * 64})
    with pytest.raises(CorruptTableError, match="more digests than the file has room for"):
        lookup.open_table(path)


# --- reading at a place ---------------------------------------------------------------------------


def failing(*_: int) -> bytes:
    raise OSError(5, "Input/output error")


@pytest.mark.parametrize("pread", [failing, None])
def test_a_disk_that_fails_while_reading(
    pread: Callable[..., bytes] | None, monkeypatch: pytest.MonkeyPatch, built: Callable[[str], Path]
) -> None:
    monkeypatch.setattr(records, "DECODED_LIMIT", 0)
    with lookup.open_table(built(TABLE)) as table:
        monkeypatch.setattr(handle, "_pread", pread)
        assert isinstance(table._file, TableFile)
        opened = table._file._file._handle
        whole, opened._file = opened._file, Mock(seek=failing, fileno=lambda: 0, closed=False)
        with pytest.raises(TableFileError, match="cannot be read: Input/output error"):
            table.probe_index(0)
        whole.close()


def few_bytes(handle: int, size: int, offset: int) -> bytes:
    """What `os.pread` may do: return less than was asked for."""
    return os.pread(handle, min(size, 7), offset)


@pytest.mark.parametrize("pread", [few_bytes, None])
def test_a_file_is_read_whole_however_the_system_reads(
    pread: Callable[..., bytes] | None,
    rechunk: Rechunk,
    tables: lookup.Tablebase,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    whole = tables["tactics-4x4"]
    path = rechunk(whole.path, 256)
    monkeypatch.setattr(handle, "_pread", pread)
    everything = whole.probe_many(np.arange(whole.game.size))
    for limit in (0, 1 << 30):
        monkeypatch.setattr(records, "DECODED_LIMIT", limit)
        with lookup.open_table(path) as table, ThreadPoolExecutor(4) as pool:
            batches = pool.map(table.probe_many, [np.arange(table.game.size)] * 4)
            assert all(same_values(batch, everything) for batch in batches)


@pytest.mark.parametrize("pread", [os.pread, None])
def test_a_closed_table_says_so(
    pread: Callable[..., bytes] | None, monkeypatch: pytest.MonkeyPatch, built: Callable[[str], Path]
) -> None:
    monkeypatch.setattr(records, "DECODED_LIMIT", 0)
    monkeypatch.setattr(handle, "_pread", pread)
    table = lookup.open_table(built(TABLE))
    table.close()
    with pytest.raises(TableFileError, match="cannot be read: it was closed"):
        table.probe_index(0)


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.h5")
    with pytest.raises(MissingTableError):
        lookup.open_table(tmp_path / "pipe.h5")


def test_a_file_without_permission(tmp_path: Path) -> None:
    loop = tmp_path / "loop.h5"
    loop.symlink_to(loop)
    with pytest.raises(TableFileError, match=r"loop.h5' cannot be read"):
        lookup.open_table(loop)


def test_unwritten_texts_may_be_empty(tmp_path: Path) -> None:
    game = Tactics(2, 2)
    solution = solve(mask.plan, game, Engine.PYTHON)
    info = TableInfo.describe(game, "", solution.totals)
    write_table(tmp_path / "t.h5", info, solution.columns)
    with lookup.open_table(tmp_path / "t.h5") as table:
        assert table.info == info


# --- forgeries: every digest is right, the content is not ------------------------------------------


def probe_start(path: Path) -> None:
    with lookup.open_table(path) as table:
        table.probe_index(table.game.start)


def forge(path: Path, game: Any, columns: Any, longest: int, /, **changes: Any) -> Path:
    info = TableInfo.describe(game, "a forger", Totals((0, 0, game.size), longest))
    write_table(path, info._replace(**changes), columns)
    return path


@pytest.mark.parametrize("limit", [0, 1 << 30])
def test_a_class_beyond_the_records(
    limit: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(records, "DECODED_LIMIT", limit)
    game = Rota()
    solution = solve(retrograde.RetrogradePlan, game, Engine.PYTHON)
    outcome, remoteness, classes = solution.columns
    wrong = PackedColumn(
        classes.column, np.where(classes.data == 5, 999, classes.data).astype(np.uint16)
    )
    path = forge(tmp_path / "t.h5", game, (outcome, remoteness, wrong), solution.totals.longest)
    with pytest.raises(CorruptTableError, match="classes holds 999, beyond the largest it may, 272"):
        probe_start(path)


@pytest.mark.parametrize("limit", [0, 1 << 30])
def test_a_remoteness_beyond_the_longest(
    limit: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(records, "DECODED_LIMIT", limit)
    game = Tactics(3, 3)
    path = forge(tmp_path / "t.h5", game, solve(mask.plan, game, Engine.PYTHON).columns, 6)
    with pytest.raises(CorruptTableError, match="remoteness holds 7, beyond the largest it may, 6"):
        probe_start(path)


@pytest.mark.parametrize(
    "changes",
    [
        {"longest_remoteness": -1},
        {"longest_remoteness": 1 << 33},
        {"longest_remoteness": 1 << 62},
        {"positions": 0},
        {"wins": -5},
        {"size": 511},
        {"name": "tactics-3x4"},
        {"parameters": '{"rows":3}'},
        {"parameters": '{"rows":3,"cols":3,"max_run":3,"normal":0}'},
        {"parameters": '{"rows":300,"cols":300,"max_run":3,"normal":false}'},
        {"parameters": "[]"},
        {"parameters": "{"},
    ],
    ids=str,
)
def test_a_description_that_contradicts_its_game(changes: dict[str, Any], tmp_path: Path) -> None:
    game = Tactics(3, 3)
    path = forge(tmp_path / "t.h5", game, solve(mask.plan, game, Engine.PYTHON).columns, 7, **changes)
    with pytest.raises(CorruptTableError):
        lookup.open_table(path)


def test_a_file_of_the_wrong_width(tmp_path: Path) -> None:
    game = Tactics(3, 3)
    outcome, remoteness = solve(mask.plan, game, Engine.PYTHON).columns
    eight = PackedColumn(outcome.column._replace(bits=8), np.zeros(512, np.uint8))
    with pytest.raises(CorruptTableError, match="expected totals and"):
        lookup.open_table(forge(tmp_path / "t.h5", game, (eight, remoteness), 7))


# --- periods and sums -----------------------------------------------------------------------------

PERIOD = '{"checked":100,"period":4,"plies":2,"preperiod":0}'


@pytest.mark.parametrize(
    "period",
    [
        PERIOD.replace("100", "101"),  # beyond the table
        PERIOD.replace("100", "9"),  # too few to prove it
        PERIOD.replace('"plies":2', '"plies":1000'),
        PERIOD.replace(":4", ":0"),
        PERIOD.replace(":4", ":-4"),
        PERIOD.replace(":4", ":true"),
        PERIOD.replace('"preperiod":0', '"preperiod":97'),
        PERIOD.replace(",", ", "),
        PERIOD.replace('"plies":2,', ""),
        "[]",
        "12",
        "{",
    ],
)
def test_a_period_that_cannot_be_is_refused(period: str, tmp_path: Path) -> None:
    game = SticksAny(1, 3)
    solution = solve(heaps.HeapsPlan, game, Engine.PYTHON)
    info = TableInfo.describe(game, "a forger", solution.totals)
    assert info.period == PERIOD
    write_table(tmp_path / "t.h5", info._replace(period=period), solution.columns)
    with pytest.raises(CorruptTableError, match="is damaged"):
        lookup.open_table(tmp_path / "t.h5")


def test_only_heaps_have_a_period(tmp_path: Path) -> None:
    game = Tactics(2, 2)
    solution = solve(mask.plan, game, Engine.PYTHON)
    info = TableInfo.describe(game, "a forger", solution.totals)
    forged = info._replace(period='{"checked":15,"period":1,"plies":0,"preperiod":0}')
    write_table(tmp_path / "t.h5", forged, solution.columns)
    with pytest.raises(CorruptTableError, match="is damaged"):
        lookup.open_table(tmp_path / "t.h5")


def test_sums_without_grundy_values_are_refused(tmp_path: Path) -> None:
    game = SticksRun(1, 2, 50)
    solution = solve(heaps.HeapsPlan, game, Engine.PYTHON)
    columns = [part for part in solution.columns if part.column.name != "grundy"]
    info = TableInfo.describe(game, "a forger", solution.totals._replace(largest_grundy=-1))
    write_table(tmp_path / "t.h5", info, columns)
    with pytest.raises(CorruptTableError, match="expected totals and"):
        lookup.open_table(tmp_path / "t.h5")


def test_a_grundy_value_beyond_the_largest_is_refused(tmp_path: Path) -> None:
    game = SticksAny(1, 3)
    solution = solve(heaps.HeapsPlan, game, Engine.PYTHON)
    info = TableInfo.describe(game, "a forger", solution.totals._replace(largest_grundy=2))
    write_table(tmp_path / "t.h5", info, solution.columns)
    with pytest.raises(CorruptTableError, match="grundy holds 3, beyond the largest it may, 2"):
        lookup.open_table(tmp_path / "t.h5")


@pytest.mark.parametrize("name", ["tactics-2x2", "winners-losers-4", "clock-3-2"])
def test_grundy_values_that_a_game_does_not_have_are_refused(name: str, tmp_path: Path) -> None:
    """Nothing would check them."""
    game = lookup.find_game(name)
    solution = solve(SOLVERS[game.solver].plan, game, Engine.PYTHON)
    columns = [*solution.columns, packed_grundy(np.zeros(game.size, np.uint8), 0)]
    info = TableInfo.describe(game, "a forger", solution.totals._replace(largest_grundy=0))
    write_table(tmp_path / "t.h5", info, columns)
    with pytest.raises(CorruptTableError, match="expected totals and"):
        lookup.open_table(tmp_path / "t.h5")


def test_remoteness_of_sums_is_refused(tmp_path: Path) -> None:
    game = SticksRun(1, 2, 50)
    solution = solve(heaps.HeapsPlan, game, Engine.PYTHON)
    columns = [*solution.columns, packed_remoteness(np.zeros(game.size, np.uint8), 0)]
    info = TableInfo.describe(game, "a forger", solution.totals._replace(longest=0))
    write_table(tmp_path / "t.h5", info, columns)
    with pytest.raises(CorruptTableError, match="expected totals and"):
        lookup.open_table(tmp_path / "t.h5")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="Windows has no such pipes")
def test_a_pipe_that_takes_the_place_of_a_table_this_moment_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "pipe.h5"
    os.mkfifo(path)
    monkeypatch.setattr(Path, "is_file", lambda _: True)  # as it was when it was looked at
    with pytest.raises(MissingTableError):
        lookup.open_table(path)
