"""Tables as CSV, JSON, arrays and graphs: every position, in bounded memory, or no file at all.

What is in a Parquet file, `test_parquet.py` reads; never-lose machines, `test_never_lose.py`.
"""

from __future__ import annotations

import csv
import io
import json
import os
import re
import resource
import signal
import subprocess
import sys
import time
import tracemalloc
from collections import defaultdict
from typing import TYPE_CHECKING
from zipfile import ZipFile

import numpy as np
import pytest

import lookup
from builder.build import build_table
from lookup import (
    CallerError,
    CorruptTableError,
    FailureError,
    MissingGameError,
    Outcome,
    UnknownGame,
    Value,
    records,
)
from lookup import table as table_module
from lookup.export import Format, export_file, export_text, graph, parquet
from lookup.export import rows as rows_module
from tests.commands import MODULES, one_line, run
from tests.conftest import ROOT
from tests.own_games import own_game

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from lookup import Table, Tablebase
    from tests.conftest import Rechunk

EVERY_KIND = [
    "tactics-3x3", "rota", "sticks-any-1-3", "sticks-run-1-2", "clock-4-2", "winners-losers-9",
    "sticks-special-14",
]  # fmt: skip


STREAMED = [to for to in Format if to is not Format.DOT]


def exported(table: Table, to: Format, *, text: bool = True) -> str:
    file = io.StringIO()
    export_text(table, to, file, text=text)
    return file.getvalue()


def number(cell: str) -> int | None:
    return int(cell) if cell else None


def probed(table: Table) -> dict[int, Value]:
    """Every position of a table, one probe at a time."""
    found = {}
    for index in range(table.game.size):
        if table.game.is_position(index):
            found[index] = table.probe_index(index)
    return found


@pytest.mark.parametrize("name", EVERY_KIND)
def test_csv_and_json_are_what_probes_say(name: str, built: Callable[[str], Path]) -> None:
    with lookup.open_table(built(name)) as table:
        expected = probed(table)
        head, *lines = csv.reader(io.StringIO(exported(table, Format.CSV)))
        assert head == ["index", "position", "outcome", "remoteness", "grundy"]
        seen = {}
        for index, position, outcome, remoteness, grundy in lines:
            assert table.game.parse(position) == int(index)
            value = Value(Outcome[outcome.upper()], number(remoteness), number(grundy))
            seen[int(index)] = value
        assert seen == expected
        assert len(lines) == len(expected) == table.info.positions

        document = json.loads(exported(table, Format.JSON))
        assert document["table"] == name
        assert lookup.GAMES[document["game"]].from_parameters(document["parameters"]) == table.game
        assert document["positions"] == [
            {
                "index": index,
                "position": table.game.format(index),
                "outcome": str(value.outcome),
                "remoteness": value.remoteness,
                "grundy": value.grundy,
            }
            for index, value in expected.items()
        ]


@pytest.mark.parametrize("name", EVERY_KIND)
def test_npz_is_what_probes_say(name: str, built: Callable[[str], Path], tmp_path: Path) -> None:
    with lookup.open_table(built(name)) as table:
        export_file(table, Format.NPZ, tmp_path / "t.npz")
        values = table.probe_many(np.arange(table.game.size))
        holes = values.outcome == 0
        with np.load(tmp_path / "t.npz") as arrays:
            expected = {"index": np.flatnonzero(~holes), "outcome": values.outcome[~holes]}
            for column in ("remoteness", "grundy"):
                if (stored := getattr(values, column)) is not None:
                    expected[column] = stored[~holes]
            assert sorted(arrays) == sorted(expected)
            for column, array in expected.items():
                assert arrays[column].tolist() == array.tolist()
            assert arrays["index"].dtype == np.int64
        assert not [file for file in tmp_path.iterdir() if file.name != "t.npz"]


def test_the_same_table_gives_the_same_bytes(tables: Tablebase, tmp_path: Path) -> None:
    for name in ("one.npz", "two.npz"):
        export_file(tables["rota"], Format.NPZ, tmp_path / name)
    assert (tmp_path / "one.npz").read_bytes() == (tmp_path / "two.npz").read_bytes()
    with ZipFile(tmp_path / "one.npz") as archive:  # which would else hold the date of today
        assert {member.date_time for member in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}


def test_texts_can_be_left_out(tables: Tablebase) -> None:
    table = tables["tactics-3x3"]
    short = list(csv.reader(io.StringIO(exported(table, Format.CSV, text=False))))
    long = list(csv.reader(io.StringIO(exported(table, Format.CSV))))
    assert short == [[row[0], *row[2:]] for row in long]
    document = json.loads(exported(table, Format.JSON, text=False))
    assert list(document["positions"][0]) == ["index", "outcome", "remoteness", "grundy"]


def test_without_the_rules_a_position_is_its_index(tmp_path: Path) -> None:
    path = build_table(own_game(tmp_path), tmp_path).path
    with lookup.open_table(path, game=UnknownGame) as table:
        lines = exported(table, Format.CSV).splitlines()
        assert lines[1:4] == ["0,0,loss,0,", "1,1,win,1,", "2,2,win,1,"]
        positions = json.loads(exported(table, Format.JSON))["positions"]
        assert [row["position"] for row in positions] == [str(index) for index in range(21)]
        export_file(table, Format.NPZ, tmp_path / "t.npz")
        with np.load(tmp_path / "t.npz") as arrays:
            assert arrays["outcome"].tolist() == [1, 3, 3, 3] * 5 + [1]
        with pytest.raises(MissingGameError, match="a graph of moves needs the rules of 'subtract'"):
            exported(table, Format.DOT)


# --- graphs ---------------------------------------------------------------------------------------

NODE = re.compile(r'  (\w+) \[label="(.*?)(?:\\n(.*))?", (?:fillcolor|shape)=\w+\];')
EDGE = re.compile(r'  (\w+) -> (\w+) \[label="(.*)"\];')


@pytest.mark.parametrize("name", ["tactics-2x2", "rota", "clock-4-2", "winners-losers-3"])
def test_dot_has_every_position_and_every_move(name: str, built: Callable[[str], Path]) -> None:
    with lookup.open_table(built(name)) as table:
        lines = exported(table, Format.DOT).splitlines()
        assert lines[0] == f'digraph "{name}" {{'
        assert lines[-1] == "}"
        nodes = {m[1]: (m[2], m[3]) for m in map(NODE.fullmatch, lines) if m}
        edges = [m.groups() for m in map(EDGE.fullmatch, lines) if m]
        assert len(nodes) + len(edges) == len(lines) - 3
        leaving = defaultdict(list)
        for source, target, move in edges:
            leaving[source].append((move, target))
        for index, value in probed(table).items():
            assert nodes[str(index)] == (table.game.format(index), str(value))
            steps = table.game.moves(table.game.format(index))
            assert leaving[str(index)] == [
                (step.text, f"end_{step.end}" if step.end else str(*step.after)) for step in steps
            ]
        assert {target for _, target, _ in edges} <= set(nodes)
        ends = {node for node in nodes if node.startswith("end_")}
        assert ends == ({"end_win", "end_loss"} if table.game.name == "winners-losers" else set())


def test_dot_is_for_small_games(tables: Tablebase, monkeypatch: pytest.MonkeyPatch) -> None:
    result = run("lookup", "export", "tactics-4x4", "--to", "dot")
    assert (result.code, result.out) == (2, "")
    assert "expected csv, json, npz or parquet for more than 5,000 positions, here 65,536" in one_line(
        result
    )
    result = run("lookup", "export", "sticks-run-1-2", "--to", "dot")
    assert (result.code, result.out) == (2, "")
    assert "its moves lead to sums of positions" in one_line(result)
    monkeypatch.setattr(graph, "MOST_DRAWN", 511)
    with pytest.raises(CallerError):
        exported(tables["tactics-3x3"], Format.DOT)
    monkeypatch.setattr(graph, "MOST_DRAWN", 512)
    assert exported(tables["tactics-3x3"], Format.DOT)


# --- tables larger than memory --------------------------------------------------------------------


@pytest.mark.parametrize("to", STREAMED)
@pytest.mark.parametrize("name", ["tactics-4x4", "rota", "sticks-run-1-2"])
def test_a_huge_table_is_not_decoded_whole(
    name: str,
    to: Format,
    tables: Tablebase,
    rechunk: Rechunk,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(parquet, "GROUP_WITH_TEXT", 1000)  # whatever the length of a stretch
    path = rechunk(tables[name].path, 256)
    with lookup.open_table(path) as table:
        assert table.is_in_memory
        export_file(table, to, tmp_path / "whole")
    monkeypatch.setattr(records, "DECODED_LIMIT", 0)
    monkeypatch.setattr(records, "decode_records", lambda _: pytest.fail("decoded whole"))
    monkeypatch.setattr(table_module, "_STRETCH", 1000)
    monkeypatch.setattr(rows_module, "ROWS_AT_ONCE", 300)
    with lookup.open_table(path, cache_bytes=1000) as table:
        assert max(len(values.outcome) for _, values in table.scan()) == 1000
        export_file(table, to, tmp_path / "parts")
    assert (tmp_path / "parts").read_bytes() == (tmp_path / "whole").read_bytes()


@pytest.mark.parametrize("to", [Format.CSV, Format.JSON, Format.NPZ])
def test_memory_does_not_grow_with_the_table(
    to: Format, built: Callable[[str], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(table_module, "_STRETCH", 2048)
    monkeypatch.setattr(rows_module, "ROWS_AT_ONCE", 256)
    with lookup.open_table(built("tactics-4x5" if to is Format.NPZ else "tactics-3x5")) as table:
        tracemalloc.start()
        try:
            export_file(table, to, tmp_path / "t")
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
    # All indices of the one as an array take 8 MiB, all rows of the other as tuples 6.
    assert peak < 1 << 20, peak


def test_progress_goes_from_nothing_to_all(tables: Tablebase, tmp_path: Path) -> None:
    for to in STREAMED:
        steps: list[tuple[int, int]] = []

        def report(done: int, total: int, seen: list[tuple[int, int]] = steps) -> None:
            seen.append((done, total))

        export_file(tables["tactics-4x4"], to, tmp_path / "t", report=report)
        assert steps == sorted(steps)
        assert len(steps) >= 3
        assert steps[-1][0] == steps[-1][1]


# --- the command ----------------------------------------------------------------------------------


def test_the_command_writes_to_standard_output_or_a_file(tables: Tablebase, tmp_path: Path) -> None:
    for to in (Format.CSV, Format.JSON, Format.DOT):
        shown = run("lookup", "export", "tactics-3x3", "--to", to)
        assert (shown.code, shown.error) == (0, "")
        assert shown.out == exported(tables["tactics-3x3"], to)
        path = tmp_path / f"t.{to}"
        path.write_text("what was there before")
        written = run("lookup", "export", "tactics-3x3", "--to", to, "--output", path)
        assert (written.code, written.error) == (0, "")
        assert written.out == f"{path}: 512 positions, {path.stat().st_size:,} bytes\n"
        assert path.read_text("utf-8") == shown.out
    short = run("lookup", "export", "tactics-3x3", "--to", "csv", "--no-text")
    assert short.out.splitlines()[1] == "0,win,6,"
    assert run("lookup", "export", "rota", "--to", "npz", "--output", tmp_path / "r.npz").code == 0
    with np.load(tmp_path / "r.npz") as arrays:
        assert len(arrays["outcome"]) == tables["rota"].info.positions
    assert sorted(file.name for file in tmp_path.iterdir()) == ["r.npz", "t.csv", "t.dot", "t.json"]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--to", "npz"], "'npz' cannot go to standard output: expected --output FILE"),
        (["--to", "parquet"], "'parquet' cannot go to standard output: expected --output FILE"),
        (["--to", "xml"], "'xml' is not one of 'csv', 'json', 'npz', 'parquet', 'dot'"),
        ([], "Missing option '--to'"),
        (["--to", "csv", "--output", "no/such/t.csv"], "output cannot be 'no/such/t.csv': expected a"),
        (["--to", "csv", "--output", "."], "'.' is a directory"),
        (["--to", "csv", "--output", "pipe"], "output cannot be 'pipe': expected a file that is not"),
        (["--to", "csv", "--output", "rota.h5"], "output cannot be 'rota.h5': expected a file that"),
    ],
)
def test_mistakes_are_one_line_and_exit_2(words: list[str], expected: str, tmp_path: Path) -> None:
    table = tmp_path / "rota.h5"
    table.write_bytes((ROOT / "tables/rota.h5").read_bytes())
    os.mkfifo(tmp_path / "pipe")
    result = run("lookup", "export", "./rota.h5", *words, cwd=tmp_path)
    assert (result.code, result.out) == (2, "")
    assert expected in one_line(result)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["pipe", "rota.h5"]
    assert table.read_bytes() == (ROOT / "tables/rota.h5").read_bytes()


def test_a_closed_form_is_no_table() -> None:
    result = run("lookup", "export", "winners-losers-33", "--to", "csv")
    assert result.code == 2
    assert "build it with: build-tables winners-losers --length 33" in one_line(result)


def test_a_reader_that_goes_away_is_no_traceback() -> None:
    command = [sys.executable, "-m", MODULES["lookup"], "export", "tactics-4x4", "--to", "csv"]
    with subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as child:
        assert child.stdout is not None
        assert child.stderr is not None
        assert child.stdout.readline() == "index,position,outcome,remoteness,grundy\n"
        child.stdout.close()
        assert child.stderr.read() == ""
    assert child.returncode == 1


@pytest.mark.parametrize("to", ["csv", "json", "npz", "parquet"])
def test_a_disk_that_is_full_leaves_what_was_there(to: str, tmp_path: Path) -> None:
    """A limit on the size of files, which the kernel enforces as it does a full disk."""
    path = tmp_path / "t"
    path.write_text("precious")
    command = [sys.executable, "-m", MODULES["lookup"], "export", "tactics-4x5", "--no-text"]

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))

    done = subprocess.run(
        [*command, "--to", to, "--output", path],
        cwd=ROOT,
        capture_output=True,
        text=True,
        preexec_fn=limit,
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"error: '{path}' cannot be written: File too large\n"
    assert [file.name for file in tmp_path.iterdir()] == ["t"]
    assert path.read_text() == "precious"


def test_standard_output_that_is_full() -> None:
    with open("/dev/full", "w") as full:  # noqa: PTH123 - a device
        done = subprocess.run(
            [sys.executable, "-m", MODULES["lookup"], "export", "tactics-3x3", "--to", "csv"],
            cwd=ROOT,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
        )
    assert done.returncode == 1
    assert done.stderr == "error: standard output cannot be written: No space left on device\n"


def test_a_folder_that_cannot_be_written(tables: Tablebase, tmp_path: Path) -> None:
    if os.geteuid() == 0:
        folder = "/proc"  # not even root can make files there
    else:
        tmp_path.chmod(0o555)
        folder = str(tmp_path)
    result = run("lookup", "export", "tactics-3x3", "--to", "csv", "--output", f"{folder}/t.csv")
    assert (result.code, result.out) == (1, "")
    assert f"'{folder}/t.csv' cannot be written" in one_line(result)


def test_interrupted_it_leaves_nothing_behind(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    command = [sys.executable, "-m", MODULES["lookup"], "export", "tactics-4x5", "--to", "csv"]
    with subprocess.Popen(
        [*command, "--output", path],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as child:
        deadline = time.monotonic() + 60
        while not any(file.stat().st_size for file in tmp_path.iterdir()):
            assert time.monotonic() < deadline
            assert child.poll() is None
            time.sleep(0.01)
        assert not path.exists()
        child.send_signal(signal.SIGINT)
        out, error = child.communicate(timeout=60)
    assert (child.returncode, out, error.strip()) == (130, "", "error: interrupted")
    assert list(tmp_path.iterdir()) == []


def test_a_failure_half_way_leaves_nothing_behind(
    tables: Tablebase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = tables["tactics-3x3"]

    def report(done: int, total: int) -> None:
        raise OSError("the cable was pulled")

    for to in STREAMED:
        with pytest.raises(FailureError, match="t' cannot be written: the cable was pulled"):
            export_file(table, to, tmp_path / "t", report=report)
        assert list(tmp_path.iterdir()) == []


def test_a_table_that_holds_fewer_positions_than_it_says(
    tables: Tablebase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = tables["tactics-3x3"]
    info = table.info._replace(positions=513)
    monkeypatch.setattr(type(table), "info", property(lambda _: info))
    with pytest.raises(CorruptTableError, match="not hold as many positions as it says"):
        export_file(table, Format.NPZ, tmp_path / "t.npz")
    assert list(tmp_path.iterdir()) == []


def test_names_with_stars_are_names(tables: Tablebase, tmp_path: Path) -> None:
    export_file(tables["tactics-3x3"], Format.CSV, tmp_path / "**[1].csv")
    assert [file.name for file in tmp_path.iterdir()] == ["**[1].csv"]
