"""tables/FORMAT.md is true, and says all that a stranger needs."""

from __future__ import annotations

import inspect
import json
import re
from typing import TYPE_CHECKING, Any, get_args

import h5py
import pytest

import lookup
from builder.build import build_table
from builder.catalogue import CATALOGUE
from builder.compile import Engine
from lookup import format as table_format
from lookup.errors import InvalidPositionError
from lookup.games.base import SolverKind
from lookup.manifest import MOST_MANIFEST
from tests import stranger
from tests.conftest import ROOT
from tests.folders import signed
from tests.format_examples import (
    CHECKS,
    DOCUMENT,
    Example,
    check,
    check_answer,
    check_packing,
    check_place,
    examples,
    in_parts,
    ours,
    said,
    strange,
    winners,
)
from tests.own_games import SUBTRACT, own_game

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.conftest import Rechunk

NAMES = [game.table_name for game in CATALOGUE]


def test_every_example_is_true() -> None:
    rows = examples(DOCUMENT)
    for row in rows:
        check(row)
    assert {row.kind for row in rows} == set(CHECKS)


def altered(row: Example) -> Iterator[Example]:
    """The row with one number changed, or one letter of a text; what is for people is left out."""
    for name, cell in row.cells.items():
        if name in ("meaning", "of tactics-3x3", "of winners-losers-20", "table", "column"):
            continue
        spot = re.search(r"\d+(?!.*\d)|[a-z.|XW](?!.*[a-z.|XW])", cell)
        if spot is None:
            continue
        old = spot.group()
        new = str(int(old) ^ 1).zfill(len(old)) if old.isdigit() else "|" if old == "." else "."
        yield Example({**row.cells, name: f"{cell[: spot.start()]}{new}{cell[spot.end() :]}"})


def is_noticed(row: Example) -> bool:
    try:
        check(row)
    except (AssertionError, ValueError, LookupError, InvalidPositionError):
        return True
    return False


def test_an_altered_example_is_noticed() -> None:
    count = 0
    for row in examples(DOCUMENT):
        for wrong in altered(row):
            assert is_noticed(wrong), wrong
            count += 1
    assert count > 500


def test_an_altered_document_is_noticed() -> None:
    """From its text: one number is another, and the check of all fails."""
    shown = (
        "tactics-4x4         XXXX/..X./..X./....      1103    1103    remoteness  0      551     4    8"
    )
    assert DOCUMENT.count(shown) == 1
    wrong = examples(DOCUMENT.replace(shown, shown[:-1] + "9"))
    assert len(wrong) == len(examples(DOCUMENT))
    assert sum(map(is_noticed, wrong)) == 1


def test_each_game_has_examples_of_three_positions_and_of_every_column() -> None:
    places: dict[str, set[str]] = {}
    columns: dict[str, set[str]] = {}
    widths, ends = set(), set()
    for row in examples(DOCUMENT):
        if CHECKS[row.kind] is check_place:
            table = strange(row.cells["table"])
            places.setdefault(str(table.attributes["game"]), set()).add(row.cells["index"])
            columns.setdefault(str(table.attributes["game"]), set()).add(row.cells["column"])
            widths.add(table.columns[row.cells["column"]].attributes["bits"])
        elif CHECKS[row.kind] is check_packing:
            widths.add(int(row.cells["bits"]))
        elif CHECKS[row.kind] is check_answer:
            ends.add(row.cells["outcome"])
    assert {game.name for game in CATALOGUE} == set(places)
    assert min(map(len, places.values())) >= 3
    for name in NAMES:
        assert set(strange(name).columns) == columns[str(strange(name).attributes["game"])]
    assert widths == set(stranger.WIDTHS)
    assert ends == {"win", "loss", "draw", "not a position"}


# --- a stranger and we read the same ------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_a_stranger_answers_as_we_do(name: str) -> None:
    table, known = strange(name), ours(name)
    step = max(1, known.game.size // 101)
    for index in range(0, known.game.size, step):
        value = table.value(index)
        if value.outcome == "not a position":
            assert known.probe_many([index]).outcome[0] == 0
            continue
        assert value == said(known.probe_index(index))
        if index < 10_000 or known.game.solver != "heaps":
            assert table.value_of(known.game.format(index)) == value


@pytest.mark.parametrize("name", NAMES)
def test_a_stranger_computes_the_same_digest(name: str) -> None:
    assert strange(name).digest() == strange(name).attributes["digest"] == ours(name).digest


def test_the_metadata_are_shown_in_full() -> None:
    assert f"```json\n{strange('tactics-3x3').metadata().decode()}\n```" in DOCUMENT


@pytest.mark.parametrize("name", NAMES)
def test_a_library_sees_what_a_stranger_sees(name: str) -> None:
    table = strange(name)
    with h5py.File(ROOT / f"tables/{name}.h5", "r") as file:
        assert set(file) == {*table.columns, "sha256"}
        assert plain(file) == table.attributes
        for column, mine in table.columns.items():
            dataset = file[column]
            assert plain(dataset) == mine.attributes
            assert (dataset.shape, dataset.chunks, dataset.dtype.itemsize) == (
                mine.shape,
                (mine.chunk,),
                mine.element,
            )
            places = [dataset.id.get_chunk_info(at) for at in range(dataset.id.get_num_chunks())]
            assert [(place.byte_offset, place.size) for place in places] == mine.places
            assert file["sha256"][column][...].tobytes() == table.digests[column]


def plain(item: Any) -> dict[str, int | str]:
    return {
        name: value.decode() if isinstance(value, bytes) else int(value)
        for name, value in item.attrs.items()
    }


def test_a_stranger_finds_his_way_through_many_chunks(rechunk: Rechunk) -> None:
    """More of them than a node of their tree has room for."""
    table = stranger.Table(rechunk(ROOT / "tables/tactics-4x4.h5", 256))
    assert len(table.columns["remoteness"].places) == 128
    nodes = [at.start() for at in re.finditer(b"TREE\x01", table.data)]
    assert max(table.data[at + 5] for at in nodes) >= 1, "there is one level only"
    assert max(int.from_bytes(table.data[at + 6 : at + 8], "little") for at in nodes) <= 64
    assert table.digest() == table.attributes["digest"]


# --- what files say of themselves ---------------------------------------------------------------------


def documented(heading: str) -> dict[str, list[str]]:
    """The rows of the first table of attributes below a heading, by name."""
    section = DOCUMENT.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    table = section.split("| attribute |")[1].split("\n\n")[0]
    rows = [line.strip("| ").split(" | ") for line in table.splitlines()[2:]]
    return {row[0].strip("`"): row[1:] for row in rows}


FOREIGN = SUBTRACT.replace("Take one to three; whoever", "Nähme 1 … 3 😀;\n\n    \\\\ whoever")


@pytest.fixture(scope="module")
def own_table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table of somebody's game, whose rules are not all ASCII."""
    folder = tmp_path_factory.mktemp("own")
    assert FOREIGN != SUBTRACT
    return build_table(own_game(folder, FOREIGN), folder, engine=Engine.PYTHON).path


def test_every_attribute_is_documented_and_no_other(own_table: Path) -> None:
    tables = [*map(strange, NAMES), stranger.Table(own_table)]
    root, column = documented("Attributes of the file"), documented("Columns")
    assert set(root) == {name for table in tables for name in table.attributes}
    of_columns = [one.attributes for table in tables for one in table.columns.values()]
    assert set(column) == {name for attributes in of_columns for name in attributes}
    types = {int: "integer", str: "string"}
    for rows, dicts in ((root, [table.attributes for table in tables]), (column, of_columns)):
        for attributes in dicts:
            assert {name: rows[name][0] for name in attributes} == {
                name: types[type(value)] for name, value in attributes.items()
            }


def test_examples_of_attributes_are_those_of_a_table() -> None:
    table = strange("tactics-3x3")
    shown = [(documented("Attributes of the file"), table.attributes)]
    shown.append((documented("Columns"), table.columns["outcome"].attributes))
    count = 0
    for rows, attributes in shown:
        for name, (_, _, example) in rows.items():
            if example.startswith("`"):
                assert example.strip("`") == str(attributes[name]), name
                count += 1
    assert count >= 19
    assert table.attributes["period"] == ""


def test_the_attributes_of_a_part_are_documented() -> None:
    rows, part = documented("A table in parts"), winners().parts["remoteness"][1]
    assert set(rows) == set(part.attributes)
    for name, (kind, _, example) in rows.items():
        assert example.strip("`") == str(part.attributes[name]), name
        assert kind == ("integer" if isinstance(part.attributes[name], int) else "string")


def test_a_manifest_is_shown_in_full_and_every_field_explained() -> None:
    folder = in_parts("tactics-3x3", 1)
    shown = DOCUMENT.split("\n## A table in parts\n")[1].split("```json\n")[1].split("\n```")[0]
    assert json.loads(shown) == folder.manifest
    assert signed(folder.manifest).decode() == f"{shown}\n"
    section = DOCUMENT.split("| field |")[1].split("\n\n")[0]
    names = set(
        re.findall(r"`(\w+)`", " ".join(line.split("|")[1] for line in section.splitlines()[2:]))
    )
    columns = folder.manifest["columns"]["outcome"]
    fields = {*folder.manifest, *columns["parts"][0]}
    assert names == fields
    assert {f"`{name}`" for name in columns} <= set(re.findall(r"`\w+`", section))
    assert f"{MOST_MANIFEST >> 20} MiB" in DOCUMENT.split("## Limits")[1]


@pytest.mark.parametrize(("name", "part_bytes"), [("rota", 1), ("winners-losers-20", 1 << 20)])
def test_a_stranger_reads_a_table_in_parts(name: str, part_bytes: int) -> None:
    folder, table = in_parts(name, part_bytes), strange(name)
    assert folder.digest() == folder.manifest["digest"] == table.attributes["digest"]
    for column_name, column in table.columns.items():
        items = int(column.attributes["items"])
        for at in [*range(0, items, max(1, items // 50)), items - 1]:
            assert folder.item(column_name, at) == table.item(column_name, at)


def test_columns_and_solvers_are_documented() -> None:
    section = DOCUMENT.split("\n## Columns\n")[1].split("\n## ")[0]
    names = re.findall(r"^\| `(\w+)` \|", section.split("| column |")[1].split("\n\n")[0], re.MULTILINE)
    assert sorted(names) == list(table_format.COLUMNS)
    words = re.findall(r"`(\w+)`", documented("Attributes of the file")["solver"][1])
    assert sorted(words) == sorted(get_args(SolverKind))


def test_a_table_of_somebodys_game(own_table: Path) -> None:
    table = stranger.Table(own_table)
    assert table.attributes["rules"] == "Nähme 1 … 3 😀;\n\n\\ whoever cannot move loses."
    assert b"N\\u00e4hme 1 \\u2026 3 \\ud83d\\ude00;\\n\\n\\\\ whoever" in table.metadata()
    assert table.digest() == table.attributes["digest"]
    assert re.fullmatch("[0-9a-f]{64}", str(table.attributes["rules_digest"]))
    assert table.attributes["start"] == 20
    with lookup.open_table(own_table) as known:
        assert said(known.probe_index(19)) == table.value(19)


def test_the_history_ends_with_our_version() -> None:
    versions = re.findall(r"^\| (\d+)\.(\d+) \| ", DOCUMENT.split("\n## Versions\n")[1], re.MULTILINE)
    assert int(versions[-1][0]) == table_format.VERSION
    assert "tables/FORMAT.md" in inspect.getdoc(table_format)  # type: ignore[operator]


def test_limits_are_ours() -> None:
    words = " ".join(DOCUMENT.split())
    limits = words.split("## Limits ")[1]
    assert f"{table_format.CHUNK_BYTES:,} decoded bytes" in limits
    assert f"2^{table_format.MOST_GRUNDY.bit_length() - 1}" in limits
    assert f"{table_format.CHUNK_BYTES_LARGE:,} for tables of over 256 MiB" in words
    assert table_format.LARGE_TABLE == 256 << 20


def test_links_lead_somewhere() -> None:
    anchors = {
        re.sub(r"[^a-z0-9 -]", "", title.lower()).replace(" ", "-")
        for title in re.findall(r"^## (.*)$", DOCUMENT, re.MULTILINE)
    }
    assert set(re.findall(r"\]\(#([^)]*)\)", DOCUMENT)) <= anchors
