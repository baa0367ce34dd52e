"""`lookup export-site`: a site answers as the service does, notices damage, and is written whole."""

from __future__ import annotations

import errno
import json
import random
import shutil
import subprocess
from typing import TYPE_CHECKING, Any

import pytest

from builder.build import build_table
from lookup import closed_form, find_game
from lookup.response import board_fields, info_fields, line_fields, probe_fields, single_move_fields
from tests.commands import one_line, run
from tests.conftest import ROOT
from tests.own_games import SUBTRACT, own_game
from tests.tools import need

if TYPE_CHECKING:
    from pathlib import Path

    from lookup import Table, Tablebase

POSITIONS = 8


class Site:
    """A site in a folder, and what it answers."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.fetched = 0

    def ask(self, questions: list[list[Any]], *words: str) -> list[Any]:
        need("nodejs")
        command = ["node", str(ROOT / "tests" / "site_driver.mjs"), str(self.folder), *words]
        lines = "\n".join(map(json.dumps, questions))
        ran = subprocess.run(command, input=lines, capture_output=True, text=True, check=False)
        assert ran.returncode == 0, ran.stderr
        *answers, self.fetched = [json.loads(line) for line in ran.stdout.splitlines()]
        return answers

    def tables(self) -> list[str]:
        return list(json.loads((self.folder / "site.json").read_text())["tables"])


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Site:
    folder = tmp_path_factory.mktemp("sites") / "site"
    code, out, error = run("lookup", "export-site", folder, "--tables", ROOT / "tables")
    assert (code, error) == (0, "")
    assert out.startswith(f"{folder}: 13 tables, ")
    (folder / "package.json").write_text('{"type": "module"}')  # for Node, which has no pages
    return Site(folder)


@pytest.fixture
def damaged(site: Site, tmp_path: Path) -> Site:
    """A copy to be damaged."""
    shutil.copytree(site.folder, tmp_path / "damaged")
    return Site(tmp_path / "damaged")


def played(table: Table, count: int) -> list[str]:
    """Positions of play at random, from the start again whenever it has ended."""
    choice = random.Random(table.name)
    start = table.game.format(table.game.start)
    texts = [start]
    while len(texts) < count:
        steps = [step for step in table.game.moves(texts[-1]) if step.position]
        texts.append(choice.choice(steps).position if steps else start)
    return texts


# --- answers --------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["whole", "ranges"])
def test_a_site_answers_every_table_as_the_library_does(
    site: Site, tables: Tablebase, how: str
) -> None:
    asked: list[tuple[list[Any], Any]] = [(["tables"], list(tables))]
    for name in tables:
        table = tables[name]
        asked.append((["info", name], info_fields(table)))
        for position in played(table, POSITIONS):
            asked.append((["probe", name, position], probe_fields(table, position)))
            asked.append((["board", name, position], board_fields(table, position)))
            if move := table.best(position):
                fields = single_move_fields(table, position, move.text)
                asked.append((["move", name, position, move.text], fields))
        asked.append((["line", name, position, 20], line_fields(table, position, 20)))
    answers = site.ask([question for question, _ in asked], *([how] if how == "ranges" else []))
    for (question, expected), answer in zip(asked, answers, strict=True):
        assert answer == json.loads(json.dumps(expected)), question


def test_names_without_a_table_are_answered_by_formula(site: Site) -> None:
    texts = {
        "clock-30-9": "590000000000000000000000000001",
        "winners-losers-60": "WLLWLWWLWLWWLWWLLWWLLLWWWLLW",
        "sticks-any-2-7": "|||||.||||||",
        "sticks-run-2-3": "||||.|||||",
    }
    asked = [["probe", name, text] for name, text in texts.items()] + [["info", "sticks-any-2-7"]]
    expected = [probe_fields(closed_form(name), text) for name, text in texts.items()]
    assert site.ask(asked) == [*expected, info_fields(closed_form("sticks-any-2-7"))]


def test_what_is_not_there_is_refused_in_a_sentence(site: Site) -> None:
    asked = [
        ["probe", "tactics-4x4", "XX"],
        ["move", "rota", ".../.../... x", "up"],
        ["info", "tactics-9x9"],
        ["info", "clock-900-9"],
        ["info", "../index"],
    ]
    answers = site.ask(asked)
    assert all(answer["refused"] for answer in answers)
    bad, illegal, unknown, large, outside = (answer["error"] for answer in answers)
    assert bad == "'XX' is not a position: expected 4 rows of 4 cells joined by '/'"
    assert illegal.startswith("'up' is not a legal move in '.../.../... x': expected one of nw, n, ne")
    assert unknown == "board cannot be '9x9': expected 1 to 48 cells, not 81"
    assert large == "'clock-900-9' is too large to be played here: expected at most 2^1000 positions"
    assert "no table '../index' on this site" in outside


def test_of_a_large_table_only_what_is_needed_is_fetched(tmp_path: Path) -> None:
    """26 cells, of whose bits near the end one chunk is enough."""
    game = find_game("tactics-2x13")
    build_table(game, tmp_path)
    site = Site(tmp_path / "site")
    assert run("lookup", "export-site", site.folder, game.table_name, "--tables", tmp_path).code == 0
    (site.folder / "package.json").write_text('{"type": "module"}')
    position = "XXXXXXXXXXXX./XXXXXXXXXXX.."
    (answer,) = site.ask([["probe", game.table_name, position]], "ranges")
    size = (site.folder / "tables" / f"{game.table_name}.h5").stat().st_size
    assert answer["moves"]
    assert site.fetched < size
    # What is asked at once is fetched once, also all of it from a server that knows no ranges.
    fetched, once = site.fetched, ["probe", game.table_name, position]
    assert site.ask([["all", once, once]], "ranges") == [[answer, answer]]
    assert site.fetched == fetched
    assert site.ask([["all", once, once]]) == [[answer, answer]]
    assert size < site.fetched < 2 * size


# --- damage ---------------------------------------------------------------------------------------


def test_an_answer_that_is_cut_short_is_asked_for_again(site: Site, tables: Tablebase) -> None:
    once = ["probe", "rota", ".../.../... x"]
    size = (site.folder / "tables" / "rota.h5").stat().st_size
    places, cut, found = site.ask([once, once, once], "short")
    assert places["error"].startswith("tables/rota.chunks cannot be used: ")
    assert cut["error"] == f"tables/rota.h5 cannot be used: {size - 1} bytes came, expected {size}"
    assert found == json.loads(json.dumps(probe_fields(tables["rota"], ".../.../... x")))


def test_a_damaged_chunk_is_an_error_and_never_an_answer(damaged: Site) -> None:
    name, position = "tactics-3x3", ".../.../..."
    path = damaged.folder / "tables" / f"{name}.h5"
    whole = path.read_bytes()
    places = (damaged.folder / "tables" / f"{name}.chunks").read_bytes()
    spots = []
    for at in range(0, len(places), 44):
        first = int.from_bytes(places[at : at + 8], "little")
        size = int.from_bytes(places[at + 8 : at + 12], "little")
        # Its last eight bytes are checksums of others, which the digest makes superfluous.
        spots += [first, first + 9, first + size // 2, first + size - 9]
    for spot in spots:
        path.write_bytes(whole[:spot] + bytes([whole[spot] ^ 16]) + whole[spot + 1 :])
        (answer,) = damaged.ask([["probe", name, position]])
        assert "tactics-3x3.h5 is damaged: chunk" in answer["error"], spot
    path.write_bytes(whole[: spots[-1]])
    (answer,) = damaged.ask([["probe", name, position]])
    problem = f"{spots[-1]} bytes came, expected {len(whole)}"
    assert answer["error"] == f"tables/{name}.h5 cannot be used: {problem}"


@pytest.mark.parametrize("suffix", ["json", "chunks"])
def test_damage_beside_a_table_is_noticed(damaged: Site, suffix: str) -> None:
    path = damaged.folder / "tables" / f"rota.{suffix}"
    content = path.read_bytes()
    if suffix == "json":
        assert b'\\"losses\\":' in content
        path.write_bytes(content.replace(b'\\"losses\\":', b'\\"losses\\":1'))
    else:
        path.write_bytes(content[:20] + bytes([content[20] ^ 1]) + content[21:])
    (answer,) = damaged.ask([["probe", "rota", ".../.../... x"]])
    assert answer["error"] == "tables/rota.h5 is damaged: what is said of it does not match its digest"
    path.unlink()
    (answer,) = damaged.ask([["probe", "rota", ".../.../... x"]])
    assert f"tables/rota.{suffix}" in answer["error"]
    assert "status 404" in answer["error"]
    assert not answer["refused"]


# --- writing --------------------------------------------------------------------------------------


def test_the_same_tables_give_the_same_bytes(site: Site, tmp_path: Path) -> None:
    assert run("lookup", "export-site", tmp_path / "again", "--tables", ROOT / "tables").code == 0
    files = sorted(
        file for file in site.folder.rglob("*") if file.is_file() and file.name != "package.json"
    )
    again = sorted(file for file in (tmp_path / "again").rglob("*") if file.is_file())
    assert [file.relative_to(site.folder) for file in files] == [
        file.relative_to(tmp_path / "again") for file in again
    ]
    assert [file.read_bytes() for file in files] == [file.read_bytes() for file in again]


def test_a_site_takes_the_place_of_an_older_one_and_of_nothing_else(tmp_path: Path) -> None:
    folder = tmp_path / "site"
    assert run("lookup", "export-site", folder, "rota", "tactics-3x3").code == 0
    assert Site(folder).tables() == ["rota", "tactics-3x3"]
    assert run("lookup", "export-site", folder, "rota", "rota").code == 0
    assert Site(folder).tables() == ["rota"]
    assert not (folder / "tables" / "tactics-3x3.h5").exists()
    wrong = one_line(run("lookup", "export-site", folder, "nosuch"))
    assert wrong.startswith("error: no table 'nosuch' in ")
    assert Site(folder).tables() == ["rota"]

    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "thesis.txt").write_text("mine")
    for path in (mine, mine / "thesis.txt"):
        result = run("lookup", "export-site", path, "rota")
        assert result.code == 2
        expected = "expected an empty one, or a site that was written before"
        assert one_line(result) == f"error: folder cannot be '{path}': {expected}"
    assert [file.name for file in mine.iterdir()] == ["thesis.txt"]
    assert sorted(file.name for file in tmp_path.iterdir()) == ["mine", "site"]
    assert (
        run("lookup", "export-site", tmp_path / "empty", "--tables", mine, ENDTABLE_PATH=str(mine)).code
        == 0
    )


def test_a_link_stays_one_and_a_table_may_be_called_index(tmp_path: Path) -> None:
    source = (
        SUBTRACT.replace("class Subtract", "class Index")
        .replace("heap: int", "heap")
        .replace('parameter(default=20, least=1, most=1000, help="Counters at the start.")', "9")
    )
    build_table(own_game(tmp_path, source), tmp_path)
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    words = ("index", "--tables", tmp_path, "--game", tmp_path / "own.py")
    for _ in range(2):
        assert run("lookup", "export-site", tmp_path / "link", *words).code == 0
    assert (tmp_path / "link").is_symlink()
    assert sorted(file.name for file in tmp_path.iterdir()) == ["index.h5", "link", "own.py", "real"]
    (tmp_path / "real" / "package.json").write_text('{"type": "module"}')
    (answer,) = Site(tmp_path / "real").ask([["probe", "index", "7"]])
    assert (answer["outcome"], len(answer["moves"])) == ("win", 3)


def test_a_game_whose_rules_have_no_translation_is_shown_by_index(tmp_path: Path) -> None:
    source = SUBTRACT.replace("return self.heap\n", "return eval('self.heap')\n")
    build_table(own_game(tmp_path, source, heap=9), tmp_path)
    folder = tmp_path / "site"
    words = ("subtract-9", "--tables", tmp_path, "--game", tmp_path / "own.py")
    code, _, error = run("lookup", "export-site", folder, *words)
    assert code == 0
    line = source.splitlines().index("        return eval('self.heap')") + 1
    assert error.startswith(
        f"warning: subtract is shown without its moves: line {line}: the name 'eval'"
    )
    (folder / "package.json").write_text('{"type": "module"}')
    info, probe = Site(folder).ask([["info", "subtract-9"], ["probe", "subtract-9", "7"]])
    assert info["start"] is None
    assert (probe["outcome"], probe["remoteness"], probe["moves"]) == ("win", 3, None)


def test_rules_that_were_translated_wrongly_are_not_played(damaged: Site) -> None:
    rules = damaged.folder / "static" / "rules.js"
    source = rules.read_text("utf-8")
    wrong = source.replace('["nw", "n",', '["nw", "north",')
    assert wrong != source
    rules.write_text(wrong, "utf-8")
    (answer,) = damaged.ask([["probe", "rota", ".../.../... x"]])
    assert answer["error"] == "the rules of rota do not work here: '.../.../... x' has other moves"


def test_a_full_disk_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(shutil, "copyfile", full)
    result = run("lookup", "export-site", tmp_path / "site", "rota")
    site = tmp_path / "site"
    assert one_line(result) == f"error: '{site}' cannot be written: No space left on device"
    assert (result.code, list(tmp_path.iterdir())) == (1, [])
