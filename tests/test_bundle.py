"""Bundles as they are made: what is in them, the same bytes every time, whole or not at all."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import lookup
from builder import bundle
from builder.build import build_table
from builder.bundle import write_bundle
from builder.catalogue import CATALOGUE
from lookup import atomic
from lookup.disk import file_digest
from lookup.errors import BuildError
from lookup.reader import TableFile
from tests.commands import one_line, run
from tests.conftest import ROOT
from tests.own_games import own_game

if TYPE_CHECKING:
    from collections.abc import Callable

KINDS = ["bundle", "bundle.tar", "bundle.zip"]


@pytest.fixture
def two(built: Callable[[str], Path]) -> list[Path]:
    return [built("tactics-2x2"), built("clock-2-2")]


def content(path: Path) -> dict[str, bytes]:
    """All bytes of a bundle, and of what else is beside it."""
    files = path.parent.rglob("*") if path.is_dir() else path.parent.iterdir()
    return {one.relative_to(path.parent).as_posix(): one.read_bytes() for one in files if one.is_file()}


def test_the_default_set_is_those_that_ship(tmp_path: Path) -> None:
    result = run("build-tables", "bundle", tmp_path / "all", "--json", cwd=tmp_path)
    assert result.code == 0
    assert {one["name"] for one in json.loads(result.out)["tables"]} == {
        game.table_name for game in CATALOGUE
    }
    for game in CATALOGUE:
        name = f"{game.table_name}.h5"
        assert (tmp_path / "all" / name).read_bytes() == (ROOT / "tables" / name).read_bytes()


def test_a_folder_with_manifest_checksums_and_readme(tmp_path: Path, two: list[Path]) -> None:
    done = write_bundle(tmp_path / "bundle", two)
    folder = done.path
    files = {"manifest.json", "SHA256SUMS", "README.md", "tactics-2x2.h5", "clock-2-2.h5"}
    has_specification = (ROOT / "tables" / "FORMAT.md").is_file()
    assert {path.name for path in folder.iterdir()} - {"FORMAT.md"} == files
    assert (folder / "FORMAT.md").is_file() == has_specification
    manifest = json.loads((folder / "manifest.json").read_bytes())
    assert (manifest["format"], manifest["version"]) == ("endtable-bundle", 1)
    assert manifest["builder"] == f"endtable {lookup.__version__}"
    assert [one["name"] for one in manifest["tables"]] == ["clock-2-2", "tactics-2x2"]
    with lookup.open_table(folder / "clock-2-2.h5") as table:
        assert manifest["tables"][0] == {
            "name": "clock-2-2",
            "file": "clock-2-2.h5",
            "game": "clock",
            "parameters": {"n": 2, "k": 2},
            "positions": table.info.positions,
            "size": (folder / "clock-2-2.h5").stat().st_size,
            "sha256": file_digest(folder / "clock-2-2.h5"),
            "digest": table.digest,
            "format_version": 1,
            "builder": table.info.builder,
        }
    assert done.sha256 == file_digest(folder / "manifest.json")
    lines = (folder / "SHA256SUMS").read_text("ascii").splitlines()
    sums = {name: digest for digest, name in map(str.split, lines)}
    assert list(sums) == sorted(sums)
    assert sums == {
        path.name: file_digest(path) for path in folder.iterdir() if path.name != "SHA256SUMS"
    }
    readme = (folder / "README.md").read_text("utf-8")
    for words in ("lookup fetch", "sha256sum -c SHA256SUMS", "`tactics-2x2`", "h5dump", "32015"):
        assert words in readme
    assert ("FORMAT.md" in readme) == has_specification


def test_the_specification_goes_with_the_tables(
    tmp_path: Path, two: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "FORMAT.md").write_text("# Format 1\n")
    monkeypatch.setattr(bundle, "packaged_tables", lambda: tmp_path)
    folder = write_bundle(tmp_path / "bundle", two).path
    assert (folder / "FORMAT.md").read_text() == "# Format 1\n"
    assert "FORMAT.md" in (folder / "README.md").read_text("utf-8")
    assert "FORMAT.md" in (folder / "SHA256SUMS").read_text()


def test_sha256sum_takes_the_list(tmp_path: Path, two: list[Path]) -> None:
    folder = write_bundle(tmp_path / "bundle", two).path
    tool = shutil.which("sha256sum")
    words = [tool, "-c"] if tool else ["shasum", "-a", "256", "-c"]  # the latter on macOS
    assert subprocess.run([*words, "SHA256SUMS"], cwd=folder, stdout=subprocess.DEVNULL).returncode == 0
    (folder / "README.md").write_text("other")
    done = subprocess.run([*words, "SHA256SUMS"], cwd=folder, capture_output=True)
    assert done.returncode == 1


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_tables_give_the_same_bytes(kind: str, tmp_path: Path, two: list[Path]) -> None:
    one, other, copies = (tmp_path / name for name in ("one", "other", "copies"))
    copies.mkdir()
    for number, path in enumerate(two):  # another time, another mode, another order
        copy = Path(shutil.copy(path, copies))
        copy.chmod(0o600)
        os.utime(copy, (number, number))
    write_bundle(one / kind, two)
    mask = os.umask(0o077)
    try:
        write_bundle(other / kind, [copies / path.name for path in reversed(two)])
    finally:
        os.umask(mask)
    assert content(one / kind) == content(other / kind)
    if kind != "bundle":  # nor does it matter what it is called
        write_bundle(other / f"x{kind}", two)
        assert (one / kind).read_bytes() == (other / f"x{kind}").read_bytes()


def test_archives_hold_no_times_and_no_owners(tmp_path: Path, two: list[Path]) -> None:
    with tarfile.open(write_bundle(tmp_path / "b.tar", two).path) as tarred:
        members = tarred.getmembers()
        assert {(one.mtime, one.mode, one.uid, one.gid, one.uname, one.gname) for one in members} == {
            (0, 0o644, 0, 0, "", "")
        }
        assert members[0].name == "endtable-tables/manifest.json"
    with zipfile.ZipFile(write_bundle(tmp_path / "b.zip", two).path) as zipped:
        infos = zipped.infolist()
        assert [one.filename for one in infos] == [one.name for one in members]
        times = {(one.date_time, one.external_attr, one.create_system) for one in infos}
        assert times == {((1980, 1, 1, 0, 0, 0), 0o100644 << 16, 3)}
        assert {one.compress_type for one in infos} == {zipfile.ZIP_STORED}


def test_tables_by_name_by_path_and_of_ones_own(tmp_path: Path, built: Callable[[str], Path]) -> None:
    own = build_table(own_game(tmp_path), tmp_path / "own").path
    folder = built("tactics-2x2").parent
    words: list[str | Path] = ["--table", "tactics-2x2", "--table", own, "--tables", folder]
    result = run("build-tables", "bundle", tmp_path / "b.zip", *words)
    assert (result.code, result.error) == (0, "")
    assert result.out.startswith(f"{tmp_path / 'b.zip'}: 2 tables, ")
    with zipfile.ZipFile(tmp_path / "b.zip") as archive:
        assert archive.read(f"endtable-tables/{own.name}") == own.read_bytes()


def test_a_damaged_table_does_not_go_in(tmp_path: Path, two: list[Path]) -> None:
    damaged = tmp_path / "damaged.h5"
    file = TableFile(two[0])
    file.close()
    stored = file.columns["outcome"]
    content = bytearray(two[0].read_bytes())
    content[stored.offsets[0] + stored.sizes[0] // 2] ^= 1  # in a chunk: the metadata is sound
    damaged.write_bytes(content)
    result = run("build-tables", "bundle", tmp_path / "b", "--table", damaged, "--table", two[1])
    assert result.code == 1
    assert "is damaged: chunk 0 of outcome" in one_line(result)
    assert list(tmp_path.iterdir()) == [damaged]


@pytest.mark.parametrize("kind", KINDS)
def test_a_table_that_changes_on_the_way_does_not_go_in(
    kind: str, tmp_path: Path, two: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = Path(shutil.copy(two[0], tmp_path))
    check = bundle._checked

    def checked(*words: Any) -> Any:
        entries = check(*words)
        path.write_bytes(path.read_bytes()[::-1])
        return entries

    monkeypatch.setattr(bundle, "_checked", checked)
    with pytest.raises(BuildError, match="was changed while it was copied"):
        write_bundle(tmp_path / kind, [path])
    assert list(tmp_path.iterdir()) == [path]


def test_mistakes(tmp_path: Path, two: list[Path]) -> None:
    bundle_of = ("build-tables", "bundle")
    cases: list[tuple[list[str | Path], str]] = [
        (["b", "--table", two[0], "--table", two[0]], "a bundle's table cannot be 'tactics-2x2'"),
        (["b", "--table", "tactics-9x9"], "no table 'tactics-9x9' in"),
        (["b", "--table", "none.h5"], "no table 'none.h5' in '.'"),
        (["b.tar.gz"], "expected a folder, or an archive .tar or .zip: tables are compressed already"),
        (["."], "the bundle cannot be '.': expected another folder than the one you are in"),
        ([], "Missing argument 'DIR'"),
    ]
    for words, expected in cases:
        result = run(*bundle_of, *words, cwd=tmp_path)
        assert result.code == 2
        assert expected in one_line(result)
    (tmp_path / "file").touch()
    result = run(*bundle_of, "file/b", "--table", two[0], cwd=tmp_path)
    assert result.code == 1
    assert "'file/b' cannot be written: " in one_line(result)
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


# --- what was there -------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_an_older_bundle_is_replaced(kind: str, tmp_path: Path, two: list[Path]) -> None:
    path, fresh = tmp_path / "a" / kind, tmp_path / "b" / kind
    write_bundle(path, two)
    write_bundle(path, two[:1])
    write_bundle(fresh, two[:1])
    assert content(path) == content(fresh)


def test_an_empty_folder_is_filled_and_a_link_followed(tmp_path: Path, two: list[Path]) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    write_bundle(tmp_path / "link", two)
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real" / "manifest.json").is_file()
    assert {path.name for path in tmp_path.iterdir()} == {"real", "link"}


def test_what_is_no_bundle_is_left_alone(tmp_path: Path, two: list[Path]) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "notes.txt").write_text("mine")
    (tmp_path / "photos.zip").write_text("mine")
    (tmp_path / "text").write_text("mine")
    (tmp_path / "folder.tar").mkdir()
    write_bundle(tmp_path / "bundle", two)
    (tmp_path / "bundle" / "index.html").write_text("mine")
    before = content(tmp_path / "text")
    for name, odd in {
        "notes": "notes.txt",
        "photos.zip": "photos.zip",
        "text": "text",
        "folder.tar": "folder.tar",
        "bundle": "index.html",
    }.items():
        result = run("build-tables", "bundle", name, "--table", two[0], cwd=tmp_path)
        assert result.code == 2
        assert f"{odd!r} there is no part of one" in one_line(result)
    assert content(tmp_path / "text") == before


def test_without_an_exchange_there_is_always_one_of_them(
    tmp_path: Path, two: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(atomic, "_exchange", lambda one, other: False)
    path = write_bundle(tmp_path / "bundle", two).path
    write_bundle(path, two[:1])
    assert not (path / two[1].name).exists()
    before, rename = content(path), Path.rename

    def fail(self: Path, target: Path) -> Path:
        if self.suffix == ".new":
            raise OSError(28, "No space left on device")
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", fail)
    with pytest.raises(BuildError, match=r"'.*bundle' cannot be written: No space left on device"):
        write_bundle(path, two)
    assert content(path) == before


KILLED = """
import os, signal, sys
from pathlib import Path
from builder import bundle
from lookup import atomic
def die(*_, **__):
    os.kill(os.getpid(), signal.SIGKILL)
if sys.argv[1] == "before":
    bundle.put_folder_in_place = die
else:
    atomic.shutil.rmtree = die
bundle.write_bundle(Path(sys.argv[2]), [Path(sys.argv[3])])
"""


@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGKILL")
@pytest.mark.parametrize("moment", ["before", "after"])
def test_killed_it_leaves_the_old_bundle_or_the_new(
    moment: str, tmp_path: Path, two: list[Path]
) -> None:
    path, fresh = tmp_path / "bundle", tmp_path / "other" / "bundle"
    write_bundle(path, two)
    old, new = content(path), content(write_bundle(fresh, two[:1]).path)
    shutil.rmtree(fresh.parent)
    words = [sys.executable, "-c", KILLED, moment, str(path), str(two[0])]
    assert subprocess.run(words, cwd=ROOT).returncode == -9
    found = {name: one for name, one in content(path).items() if name.startswith("bundle/")}
    assert found == (old if moment == "before" else new)
    write_bundle(path, two)  # and the next one tidies up
    assert content(path) == old
