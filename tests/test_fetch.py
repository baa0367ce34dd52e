"""Bundles as they are fetched from this machine: verified before anything is put in place."""

from __future__ import annotations

import errno
import json
import os
import shutil
import tarfile
import time
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import lookup
from builder import bundle
from builder.build import build_table
from builder.bundle import write_bundle
from lookup import fetch as fetching
from lookup import locks, sources
from lookup.bundle import Manifest
from lookup.disk import file_digest
from lookup.errors import BundleError, EndtableError, FailureError
from lookup.fetch import Parts, fetch
from tests.commands import one_line, run
from tests.own_games import SUBTRACT, own_game, write_game
from tests.web import packed

if TYPE_CHECKING:
    from collections.abc import Callable

KINDS = ["bundle", "bundle.tar", "bundle.zip"]


@pytest.fixture(scope="module")
def two(built: Callable[[str], Path]) -> list[Path]:
    return [built("tactics-2x2"), built("clock-2-2")]


@pytest.fixture(scope="module")
def bundles(two: list[Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the same bundle in all three kinds; small, without the specification."""
    folder, nothing = tmp_path_factory.mktemp("bundles"), tmp_path_factory.mktemp("nothing")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bundle, "packaged_tables", lambda: nothing)
        for kind in KINDS:
            write_bundle(folder / kind, two)
    return folder


@pytest.fixture
def mine(tmp_path: Path, built: Callable[[str], Path]) -> Path:
    """The user's folder: another table goes by a name of the bundle."""
    folder = tmp_path / "mine"
    folder.mkdir()
    shutil.copy(built("rota"), folder / "clock-2-2.h5")
    return folder


def content(folder: Path) -> dict[str, bytes]:
    """All files in a folder, hidden ones as well."""
    files = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


def changed(bundles: Path, folder: Path, **fields: Any) -> str:
    """A copy of the bundle whose manifest says something else of `clock-2-2`."""
    copy = Path(shutil.copytree(bundles / "bundle", folder / "changed"))
    manifest = json.loads((copy / "manifest.json").read_bytes())
    manifest["tables"][0].update(fields)
    (copy / "manifest.json").write_text(json.dumps(manifest))
    return str(copy)


@pytest.mark.parametrize("kind", KINDS)
def test_tables_come_into_the_users_folder(
    kind: str, bundles: Path, two: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    folder = tmp_path / "endtable" / "tables"
    result = run("lookup", "fetch", bundles / kind)
    assert (result.code, result.error) == (0, "")
    assert content(folder) == {path.name: path.read_bytes() for path in two}
    assert result.out.splitlines() == [
        f"{folder / path.name}: {positions} positions, {path.stat().st_size:,} bytes, fetched"
        for path, positions in ((two[1], 9), (two[0], 16))
    ]
    assert run("lookup", "probe", "tactics-2x2", "../..", cwd=tmp_path).code == 0
    files = {path: path.stat().st_ino for path in folder.iterdir()}
    result = run("lookup", "fetch", bundles / kind, "--json")
    assert [one["changed"] for one in json.loads(result.out)["tables"]] == [False, False]
    assert {path: path.stat().st_ino for path in folder.iterdir()} == files


def test_some_tables_elsewhere_replace_what_differs(bundles: Path, mine: Path, two: list[Path]) -> None:
    words = ("--table", "clock-2-2", "--to", mine, "--json")
    result = run("lookup", "fetch", bundles / "bundle.zip", *words)
    (table,) = json.loads(result.out)["tables"]
    with lookup.open_table(two[1]) as expected:
        digest = expected.digest
    assert table == {
        "table": "clock-2-2",
        "file": str(mine / "clock-2-2.h5"),
        "bytes": two[1].stat().st_size,
        "sha256": file_digest(two[1]),
        "digest": digest,
        "changed": True,
    }
    assert content(mine) == {"clock-2-2.h5": two[1].read_bytes()}


def test_archives_made_by_hand(bundles: Path, tmp_path: Path, two: list[Path]) -> None:
    with zipfile.ZipFile(tmp_path / "hand.zip", "w", zipfile.ZIP_DEFLATED) as zipped:
        for path in (bundles / "bundle").iterdir():
            zipped.write(path, path.name)
    with tarfile.open(tmp_path / "hand.tar", "w") as tarred:
        tarred.add(bundles / "bundle", "./anything")
    for name in ("hand.zip", "hand.tar"):
        fetch(str(tmp_path / name), tmp_path / "to" / name)
        assert content(tmp_path / "to" / name) == {path.name: path.read_bytes() for path in two}


def test_a_manifest_that_is_known_from_elsewhere(bundles: Path, mine: Path) -> None:
    sha256, before = file_digest(bundles / "bundle" / "manifest.json"), content(mine)
    for kind in KINDS:
        with pytest.raises(
            BundleError, match=f"has a manifest with sha256 {sha256}, not the one given"
        ):
            fetch(str(bundles / kind), mine, sha256="0" * 64)
    assert content(mine) == before
    assert (
        run("lookup", "fetch", bundles / "bundle", "--to", mine, "--sha256", sha256.upper()).code == 0
    )


def test_mistakes(bundles: Path, mine: Path) -> None:
    (mine.parent / "b.tar.gz").touch()
    before = content(mine)
    for words, expected in (
        (["none"], "a bundle cannot be 'none': expected a folder with manifest.json, or a .tar"),
        ([mine], "expected a folder with manifest.json"),
        ([mine.parent / "b.tar.gz"], "expected a folder with manifest.json, or a .tar or .zip of one"),
        (["ftp://example.org/"], "an address cannot be 'ftp://example.org/': expected http://"),
        (["http://ann:secret@example.org/"], "no name and password"),
        (["http://exa mple.org:99999/"], "an address cannot be"),
        ([bundles / "bundle", "--table", "rota"], "bundle': clock-2-2, tactics-2x2"),
        ([bundles / "bundle", "--sha256", "123"], "sha256 cannot be '123': expected 64 hexadecimal"),
        ([], "Missing argument 'URL|PATH'"),
    ):  # fmt: skip
        result = run("lookup", "fetch", *words, "--to", mine)
        assert result.code == 2
        assert expected in one_line(result)
    assert content(mine) == before


# --- bundles that are no good ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"sha256": "0" * 64}, "holds clock-2-2.h5 with another sha256 than its manifest says"),
        ({"digest": "0" * 64}, "holds clock-2-2.h5 with another digest than its manifest says"),
        ({"game": "rota"}, "another game than"),
        ({"parameters": {"n": 2, "k": 3}}, "another parameters than"),
        ({"positions": 10}, "another positions than"),
        ({"builder": "endtable 0.0.9"}, "another builder than"),
        ({"size": 1}, "holds more of clock-2-2.h5 than its manifest says"),
        ({"size": 1 << 30}, "holds less of clock-2-2.h5 than its manifest says"),
        ({"size": 0}, "clock-2-2 has a size that no table has"),
        ({"size": True}, "no 'size', or an odd one"),
        ({"size": 1 << 70}, "clock-2-2 has a size that no table has"),
        ({"format_version": 2}, "in table format 2; this Endtable reads format 1"),
        ({"name": "tactics-2x2"}, "is no table's name and file"),
        ({"name": "tactics-2x2", "file": "tactics-2x2.h5"}, "it names a table twice"),
        ({"file": "../clock-2-2.h5"}, "is no table's name and file"),
        ({"name": "../x", "file": "../x.h5"}, "is no table's name and file"),
        ({"name": "/x", "file": "/x.h5"}, "is no table's name and file"),
        ({"name": "x\n", "file": "x\n.h5"}, "is no table's name and file"),
        ({"name": "x\x1b[2J", "file": "x\x1b[2J.h5"}, "is no table's name and file"),
        ({"name": "c", "file": "c.h5"}, "lacks c.h5"),
        ({"sha256": "z" * 64}, "clock-2-2 has a hash that is none"),
        ({"name": None}, "a table has no 'name', or an odd one"),
    ],
)  # fmt: skip
def test_a_manifest_that_says_something_else(
    fields: dict[str, Any], expected: str, bundles: Path, mine: Path, tmp_path: Path
) -> None:
    before = content(mine)
    with pytest.raises(BundleError) as caught:
        fetch(changed(bundles, tmp_path, **fields), mine)
    assert expected in str(caught.value)
    assert "\x1b" not in str(caught.value)
    assert content(mine) == before


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (b"", "has a manifest.json that is none"),
        (b"[]", "expected format = 'endtable-bundle'"),
        (b"{}", "expected format = 'endtable-bundle'"),
        (
            b'{"format": "endtable-bundle", "version": 2}',
            "is of version 2; this Endtable reads version 1",
        ),
        (b'{"format": "endtable-bundle", "version": 1}', "expected a version, a builder and a list"),
        (
            b'{"format": "endtable-bundle", "version": 1, "builder": "", "tables": [[]]}',
            "a table is described by no object",
        ),
        (b"[" * 100_000, "has a manifest.json that is none"),
        (b'{"format": "\xff"}', "has a manifest.json that is none"),
        (b" " * (4 << 20) + b"{}", "has a manifest.json of over 4,194,304 bytes"),
    ],
)
def test_a_manifest_that_is_none(text: bytes, expected: str, bundles: Path, mine: Path) -> None:
    folder = mine.parent / "bundle"
    folder.mkdir()
    (folder / "manifest.json").write_bytes(text)
    before = content(mine)
    with pytest.raises(BundleError) as caught:
        fetch(str(folder), mine)
    assert expected in str(caught.value)
    assert content(mine) == before


def test_fields_to_come_are_passed_over(bundles: Path, mine: Path, tmp_path: Path) -> None:
    assert len(fetch(changed(bundles, tmp_path, comment="new"), mine)) == 2


def test_an_empty_bundle_is_fine(mine: Path) -> None:
    assert fetch(str(write_bundle(mine.parent / "empty", []).path), mine) == []


def test_what_is_no_table_is_refused_whatever_its_hash(
    bundles: Path, mine: Path, tmp_path: Path
) -> None:
    """Whoever made the bundle may have been fooled, or fool us: a hash proves nothing of a table."""
    before = content(mine)
    whole = (bundles / "bundle" / "clock-2-2.h5").read_bytes()
    for text, expected in (
        (b"text", "which is not a table: expected an HDF5 file"),
        (whole[: len(whole) // 2], "which is damaged"),
    ):
        shutil.rmtree(tmp_path / "changed", ignore_errors=True)
        other = tmp_path / "other"
        other.write_bytes(text)
        place = changed(bundles, tmp_path, size=len(text), sha256=file_digest(other))
        other.replace(Path(place) / "clock-2-2.h5")
        with pytest.raises(BundleError, match=f"holds clock-2-2.h5, {expected}"):
            fetch(place, mine)
        assert content(mine) == before


def test_a_bad_table_keeps_the_good_ones_out(bundles: Path, mine: Path, tmp_path: Path) -> None:
    """The last in the bundle is bad, the first would do."""
    copy = Path(shutil.copytree(bundles / "bundle", tmp_path / "copy"))
    (copy / "tactics-2x2.h5").write_bytes((copy / "tactics-2x2.h5").read_bytes()[::-1])
    before = content(mine)
    with pytest.raises(BundleError, match=r"holds tactics-2x2\.h5 with another sha256"):
        fetch(str(copy), mine)
    kept = {name: text for name, text in content(mine).items() if not name.startswith(".fetch")}
    assert kept == before


@pytest.mark.parametrize("end", [".tar", ".zip"])
def test_odd_archives(end: str, bundles: Path, mine: Path, tmp_path: Path) -> None:
    files = {path.name: path.read_bytes() for path in (bundles / "bundle").iterdir()}
    table = files["clock-2-2.h5"]
    lacking = {name: text for name, text in files.items() if name != "clock-2-2.h5"}
    before = content(mine)
    for names, expected in (
        ([*files.items(), ("clock-2-2.h5", b"other")], "holds 'clock-2-2.h5' twice"),
        ([*files.items(), ("x/manifest.json", b"{}")], "holds more than one manifest.json"),
        ([*lacking.items()], "lacks clock-2-2.h5"),
        (
            [*lacking.items(), ("../clock-2-2.h5", table), ("/clock-2-2.h5", table)],
            "lacks clock-2-2.h5",
        ),
        ([("a/b/" + name, text) for name, text in files.items()], "holds no manifest.json"),
        ([], "holds no manifest.json"),
        ([*lacking.items(), ("clock-2-2.h5", b"0" * (64 << 20))], "holds more of clock-2-2.h5"),
    ):
        with pytest.raises(BundleError) as caught:
            fetch(str(packed(tmp_path / f"odd{end}", names, zipfile.ZIP_DEFLATED)), mine)
        assert expected in str(caught.value)
        kept = {name: text for name, text in content(tmp_path).items() if "odd" not in name}
        assert kept == {f"mine/{name}": text for name, text in before.items()}


def test_links_in_an_archive_are_not_followed(bundles: Path, mine: Path, tmp_path: Path) -> None:
    path = tmp_path / "links.tar"
    with tarfile.open(path, "w") as archive:
        archive.add(bundles / "bundle" / "manifest.json", "manifest.json")
        for kind in (tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE):
            member = tarfile.TarInfo("clock-2-2.h5")
            member.type, member.linkname = kind, str(bundles / "bundle" / "clock-2-2.h5")
            archive.addfile(member)
    before = content(mine)
    with pytest.raises(BundleError, match=r"lacks clock-2-2\.h5"):
        fetch(str(path), mine)
    assert content(mine) == before


def test_a_header_cannot_ask_for_more_memory_than_there_is(mine: Path, tmp_path: Path) -> None:
    """A header of tar that announces a name of 64 MiB; with more, a file could ask for gigabytes."""
    member = tarfile.TarInfo("././@LongLink")
    member.type, member.size = tarfile.GNUTYPE_LONGNAME, 64 << 20
    path = tmp_path / "long.tar"
    with path.open("wb") as file:
        file.write(member.tobuf(tarfile.GNU_FORMAT))
        file.truncate(65 << 20)
    with pytest.raises(BundleError, match="is damaged: a header is too large"):
        fetch(str(path), mine)


def test_an_archive_that_leads_round_in_a_circle(
    mine: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A size below zero leads back; Python before 3.11.14 would follow it for ever."""
    member = tarfile.TarInfo("x")
    member.type, member.size = b"Q", -1024
    (tmp_path / "circle.tar").write_bytes(member.tobuf(tarfile.GNU_FORMAT) * 4)
    monkeypatch.setattr(sources, "MOST_MEMBERS", 1000)
    with pytest.raises(BundleError):
        fetch(str(tmp_path / "circle.tar"), mine)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="Windows has no pipes in folders")
def test_a_pipe_in_a_folder_is_not_waited_for(bundles: Path, mine: Path, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(bundles / "bundle", tmp_path / "copy"))
    (copy / "clock-2-2.h5").unlink()
    os.mkfifo(copy / "clock-2-2.h5")
    with pytest.raises(BundleError, match=r"lacks clock-2-2\.h5"):
        fetch(str(copy), mine)


STEPS = {"manifest.json": 11, "clock-2-2.h5": 401, "bundle.tar": 409, "bundle.zip": 307}
"""Every so many bytes one bit is flipped. Once, every byte was, but for most of those of the tables in
archives: nothing else was found."""


@pytest.mark.parametrize("name", STEPS)
def test_a_flipped_bit_is_noticed_or_does_no_harm(
    name: str,
    bundles: Path,
    mine: Path,
    tmp_path: Path,
    two: list[Path],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(os, "fsync", lambda handle: None)  # which is most of the time
    copy = Path(shutil.copytree(bundles, tmp_path / "copy"))
    inside = not name.startswith("bundle")
    path, place = (copy / "bundle" / name, copy / "bundle") if inside else (copy / name, copy / name)
    whole, before = path.read_bytes(), content(mine)
    right = {one.name: one.read_bytes() for one in two}
    refused = 0
    for at in range(0, len(whole), STEPS[name]):
        flipped = bytearray(whole)
        flipped[at] ^= 1 << at % 8
        path.write_bytes(flipped)
        try:
            fetch(str(place), mine)
        except EndtableError:
            refused += 1
            shutil.rmtree(mine / ".fetch", ignore_errors=True)  # tables that are whole wait there
            assert content(mine) == before
        else:
            assert content(mine) == right
            shutil.rmtree(mine)
            mine.mkdir()
            (mine / "clock-2-2.h5").write_bytes(before["clock-2-2.h5"])
    assert refused >= len(range(0, len(whole), STEPS[name])) // 2


# --- games, folders and disks ---------------------------------------------------------------------


def test_tables_of_games_that_are_not_known_here(mine: Path, tmp_path: Path) -> None:
    own = build_table(own_game(tmp_path), tmp_path / "own").path
    write_bundle(tmp_path / "b.tar", [own])
    (table,) = fetch(str(tmp_path / "b.tar"), mine)
    assert table.path.read_bytes() == own.read_bytes()
    assert table.path == mine / "subtract-20.h5"


def test_tables_of_another_game_of_that_name(
    mine: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sound as a file, and for whoever has its rules."""
    own = build_table(own_game(tmp_path), tmp_path / "own").path
    other = lookup.load_game(write_game(tmp_path, SUBTRACT.replace("range(1, min(3", "range(1, min(2")))
    monkeypatch.setattr("lookup.claims.game_class", lambda name: other)
    with pytest.raises(lookup.RulesChangedError):
        lookup.open_table(own)
    assert fetch(str(write_bundle(tmp_path / "b", [own]).path), mine)[0].path.is_file()


def test_a_folder_that_cannot_be_written(bundles: Path, mine: Path) -> None:
    result = run("lookup", "fetch", bundles / "bundle", "--to", mine / "clock-2-2.h5" / "x")
    assert result.code == 1
    assert "cannot be written: Not a directory" in one_line(result)
    (mine / "tactics-2x2.h5").mkdir()
    with pytest.raises(FailureError, match=r"tactics-2x2\.h5' cannot be written: Is a directory"):
        fetch(str(bundles / "bundle"), mine)


def test_a_user_without_a_home_must_say_where(bundles: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lookup.cli_files.user_tables", lambda: None)
    result = run("lookup", "fetch", bundles / "bundle")
    assert result.code == 1
    assert "no home folder is known here: expected --to DIR" in one_line(result)


def test_a_full_disk(bundles: Path, mine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = content(mine)
    monkeypatch.setattr(fetching, "available_disk", lambda folder: 100)
    with pytest.raises(FailureError, match=r"has no room: .* KiB are needed, and 100 bytes available"):
        fetch(str(bundles / "bundle"), mine)
    assert content(mine) == before

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(fetching, "available_disk", lambda folder: None)
    monkeypatch.setattr(fetching, "put_in_place", full)
    with pytest.raises(FailureError, match=r"mine' cannot be written: No space left on device"):
        fetch(str(bundles / "bundle"), mine)
    assert content(mine) == before


def test_two_at_once_do_not_mix(bundles: Path, mine: Path) -> None:
    fcntl = pytest.importorskip("fcntl", reason="Windows has other locks, which are not used")
    before = content(mine)
    (mine / ".fetch").mkdir()
    with (mine / ".fetch" / "lock").open("ab") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(FailureError, match="is being filled by another 'lookup fetch'"):
            fetch(str(bundles / "bundle"), mine)
        shutil.rmtree(mine / ".fetch")
        assert content(mine) == before
    assert fetch(str(bundles / "bundle"), mine)


def test_what_was_left_is_removed_after_a_week(bundles: Path, mine: Path) -> None:
    (mine / ".fetch").mkdir()
    for name, days in (("old.part", 8), ("new.part", 6)):
        (mine / ".fetch" / name).touch()
        then = time.time() - days * 24 * 3600
        os.utime(mine / ".fetch" / name, (then, then))
    fetch(str(bundles / "bundle"), mine)
    assert [path.name for path in (mine / ".fetch").iterdir() if path.suffix] == ["new.part"]


def test_a_manifest_is_written_as_it_is_read(bundles: Path) -> None:
    text = (bundles / "bundle" / "manifest.json").read_bytes()
    assert Manifest.from_bytes(text, "here").to_bytes() == text


def test_copies_from_a_folder_do_not_stay_when_one_fails(
    bundles: Path, mine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing goes on with them, and they take the room that is lacking."""
    before, calls = content(mine), list[Path]()

    def fails(path: Path, *arguments: Any) -> None:
        calls.append(path)
        if len(calls) == 2:
            raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("lookup.fetch.check_table", fails)
    with pytest.raises(FailureError, match="No space left on device"):
        fetch(str(bundles / "bundle"), mine)
    assert content(mine) == before


def test_a_folder_of_parts_that_is_removed_while_it_is_asked_for_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who had it has just finished: before the lock is opened, or before it is had."""
    folder, lock, ways = tmp_path / ".fetch", locks.try_lock, [0]

    def meanwhile(handle: int, **named: bool) -> bool | None:
        ways[0] += 1
        if ways[0] == 1:
            (folder / "lock").unlink()
            folder.rmdir()
        return lock(handle, **named)

    monkeypatch.setattr(locks, "try_lock", meanwhile)
    held = locks.hold_folder(folder)
    assert held
    with held:
        assert ways == [2]
        assert locks.is_at(held.fileno(), folder / "lock")


def test_a_folder_of_parts_that_is_left_over_goes_though_nothing_is_missing(
    bundles: Path, mine: Path
) -> None:
    """Who was killed after the last table was put in place has left it."""
    fetch(str(bundles / "bundle"), mine)
    after = content(mine)
    (mine / ".fetch").mkdir()
    (mine / ".fetch" / "lock").touch()
    (mine / ".fetch" / f"{file_digest(bundles / 'bundle' / 'manifest.json')}.tar").touch()
    assert not any(table.changed for table in fetch(str(bundles / "bundle"), mine))
    assert content(mine) == after
    assert not (mine / ".fetch").exists()


def test_the_lock_of_an_old_folder_of_parts_holds_as_well(tmp_path: Path) -> None:
    pytest.importorskip("fcntl", reason="Windows has other locks, which are not used")
    (tmp_path / ".fetch").mkdir()
    for name in ("lock", "old.part"):
        (tmp_path / ".fetch" / name).touch()
        os.utime(tmp_path / ".fetch" / name, (0, 0))
    with Parts(tmp_path) as one, Parts(tmp_path) as other:
        assert [path.name for path in one.hold().iterdir()] == ["lock"]
        with pytest.raises(FailureError, match="is being filled by another"):
            other.hold()
    assert list(tmp_path.iterdir()) == []


def test_a_lock_that_leads_nowhere_is_not_waited_for(tmp_path: Path) -> None:
    (tmp_path / ".fetch").mkdir()
    (tmp_path / ".fetch" / "lock").symlink_to(tmp_path / "gone" / "lock")
    with pytest.raises(FileNotFoundError):
        locks.hold_folder(tmp_path / ".fetch")


def test_without_locks_a_folder_is_had_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where no file ever seems to be the one that is there: inodes have no lasting numbers."""
    monkeypatch.setattr(locks, "try_lock", lambda handle: None)
    monkeypatch.setattr(locks, "is_at", lambda *_: False)
    held = locks.hold_folder(tmp_path / ".fetch")
    assert held
    locks.leave_folder(tmp_path / ".fetch", held)
    assert list(tmp_path.iterdir()) == []
