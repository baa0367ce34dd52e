"""Whatever is wrong with a folder of parts is said in a sentence that names the file."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import shutil
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
import pytest

import lookup
from builder.compile import Engine
from builder.verify import verify_file
from lookup import handle
from lookup.errors import (
    CorruptTableError,
    FormatVersionError,
    MissingTableError,
    NotATableError,
    TableFileError,
)
from lookup.folder import TableFolder
from lookup.manifest import MOST_MANIFEST
from lookup.table import Table
from tests.conftest import ROOT
from tests.folders import as_folder, forge, signed
from tests.test_folder import MISSING, PART, everything

# Fixtures.
from tests.test_folder import chunked as chunked
from tests.test_folder import folder as folder
from tests.test_folder import whole as whole

if TYPE_CHECKING:
    from collections.abc import Callable

    from lookup.reader import TableReader
    from tests.conftest import Rechunk

OTHER = "is damaged: it is not the part that the manifest names"


def test_no_byte_of_a_manifest_may_change(folder: Path) -> None:
    path = folder / "manifest.json"
    text = path.read_bytes()
    places = [*range(0, len(text), 151), *range(len(text) - 90, len(text))]
    for at in places:
        for bits in (1, 0x20, 0x80):
            path.write_bytes(text[:at] + bytes([text[at] ^ bits]) + text[at + 1 :])
            with pytest.raises(TableFileError, match=r"^'.*tactics-4x4.parts/manifest.json' "):
                TableFolder(folder)
    for end in places:
        path.write_bytes(text[:end])
        with pytest.raises(TableFileError):
            TableFolder(folder)
    path.write_bytes(text + b"\n")
    with pytest.raises(CorruptTableError, match="does not match its own SHA-256"):
        TableFolder(folder)


def test_a_damaged_part_gives_no_wrong_value(folder: Path, whole: Path, chunked: None) -> None:
    """Flip bits all over a part: each answer is the right one, or an error that names the part."""
    path = folder / "outcome-000001.h5"
    content, expected = path.read_bytes(), everything(whole).outcome[16384:32768]
    assert len(expected) == 2 * 8192
    named: list[Path] = []
    for at in range(0, len(content), 101):
        path.write_bytes(content[:at] + bytes([content[at] ^ 4]) + content[at + 1 :])
        with closing(TableFolder(folder)) as table:
            try:
                elements = table.read_elements("outcome", 2, 4).view(np.uint8)
            except TableFileError as error:
                named.append(error.path)
                continue
            assert (np.unpackbits(elements, bitorder="little") * 2 + 1 == expected).all()
    assert len(named) > 20
    assert set(named) == {path}
    for end in (0, 8, 1000, len(content) - 1):
        path.write_bytes(content[:end])
        with closing(TableFolder(folder)) as table, pytest.raises(TableFileError, match=path.name):
            table.read_chunk("outcome", 2)


def swap(folder: Path, one: str, other: str) -> None:
    first, second = folder / one, folder / other
    first.rename(folder / "away")
    second.rename(first)
    (folder / "away").rename(second)


def make_link(path: Path) -> None:
    path.rename(path.with_suffix(".real"))
    path.symlink_to(path.with_suffix(".real"))


def make_pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def make_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def make_table(path: Path) -> None:
    shutil.copy(ROOT / "tables/tactics-4x4.h5", path)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda path: path.unlink(), MISSING),
        (make_pipe, MISSING),
        (make_folder, MISSING),
        (make_link, "cannot be read: it is a link, expected the file itself"),
        (make_table, "is damaged: it is not a part of a table"),
        (lambda path: path.write_bytes(b""), "is damaged: it is not a part of a table"),
        (lambda path: swap(path.parent, PART, "outcome-000002.h5"), OTHER),
        (lambda path: swap(path.parent, PART, "remoteness-000001.h5"), OTHER),
    ],
)
def test_another_thing_in_the_place_of_a_part(
    change: Callable[[Path], object], words: str, folder: Path, chunked: None
) -> None:
    path = folder / PART
    change(path)
    with lookup.open_table(folder) as table:
        assert table.probe_index(0)
        with pytest.raises(TableFileError) as caught:
            table.probe_index(20000)
    assert caught.value.path == path
    assert str(caught.value).startswith(f"'{path}' ")
    assert words in str(caught.value)
    with closing(TableFolder(folder)) as reader, pytest.raises(TableFileError):
        reader.check_chunks()


def test_a_part_that_may_not_be_read(
    folder: Path, chunked: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = os.open

    def forbidden(path: str | Path, *rest: Any, **more: Any) -> int:
        if Path(path) == folder / PART:  # to root nothing is
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        return opened(path, *rest, **more)

    monkeypatch.setattr(os, "open", forbidden)
    with lookup.open_table(folder) as table:
        assert table.probe_index(0)
        with pytest.raises(TableFileError, match="cannot be read: Permission denied") as caught:
            table.probe_index(20000)
    assert caught.value.path == folder / PART


def test_a_link_is_no_part_where_the_system_would_follow_it(
    folder: Path, chunked: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(handle, "_NO_LINKS", 0)  # as on Windows
    make_link(folder / PART)
    with (
        lookup.open_table(folder) as table,
        pytest.raises(TableFileError, match="it is a link, expected the file itself"),
    ):
        table.probe_index(20000)


def test_a_part_of_another_table_or_build(
    folder: Path, rechunk: Rechunk, tmp_path: Path, chunked: None
) -> None:
    """Also if the manifest was made to name it: what it says of itself counts."""
    other = as_folder(rechunk(ROOT / "tables/tactics-4x4-normal.h5", 1024), tmp_path / "other", 2048)
    shutil.copy(other / PART, folder / PART)
    with lookup.open_table(folder) as table, pytest.raises(CorruptTableError, match="manifest names"):
        table.probe_index(20000)
    theirs = json.loads((other / "manifest.json").read_bytes())["columns"]["outcome"]["parts"][1]

    def believe(fields: dict[str, Any]) -> None:
        fields["columns"]["outcome"]["parts"][1] = theirs

    forge(folder, believe)
    with (
        lookup.open_table(folder) as table,
        pytest.raises(CorruptTableError, match="something else"),
    ):
        table.probe_index(20000)


def test_parts_that_changed_places_in_the_manifest_too(folder: Path, chunked: None) -> None:
    def change(fields: dict[str, Any]) -> None:
        one, other = (dict(part) for part in fields["columns"]["outcome"]["parts"][:2])
        one["file"], other["file"] = other["file"], one["file"]
        fields["columns"]["outcome"]["parts"][:2] = [other, one]

    swap(folder, PART, "outcome-000000.h5")
    forge(folder, change)
    with (
        lookup.open_table(folder) as table,
        pytest.raises(CorruptTableError, match="something else"),
    ):
        table.probe_index(0)


def test_the_digest_of_a_small_table_is_compared_when_it_is_opened(folder: Path) -> None:
    forge(folder, lambda fields: fields.update(digest="0" * 64))
    with pytest.raises(CorruptTableError, match="is damaged: its parts do not match its digest"):
        lookup.open_table(folder)


def test_the_digest_of_a_large_table_is_compared_when_it_is_verified(
    folder: Path, chunked: None
) -> None:
    forge(folder, lambda fields: fields.update(digest="0" * 64))
    with lookup.open_table(folder) as table:  # each part is sound: this alone does not show it
        assert table.probe_index(0)
    problem = "tactics-4x4.parts' is damaged: its parts do not match its digest"
    with pytest.raises(CorruptTableError, match=problem):
        verify_file(folder, Engine.PYTHON, sample=10)
    with closing(TableFolder(folder)) as reader, pytest.raises(CorruptTableError, match=problem):
        reader.check_chunks()


def column(change: dict[str, Any]) -> Callable[[dict[str, Any]], object]:
    return lambda fields: fields["columns"]["outcome"].update(change)


def part(change: dict[str, Any]) -> Callable[[dict[str, Any]], object]:
    return lambda fields: fields["columns"]["outcome"]["parts"][1].update(change)


def table_says(change: dict[str, Any]) -> Callable[[dict[str, Any]], object]:
    return lambda fields: fields["table"].update(change)


def later(fields: dict[str, Any], items: int) -> None:
    """A column that a later version might add, of so many items."""
    column = fields["columns"]["later"] = json.loads(json.dumps(fields["columns"]["outcome"]))
    column["attributes"]["items"] = items
    for at, one in enumerate(column["parts"]):
        one["file"] = f"later-{at:06}.h5"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (part({"file": "/etc/passwd"}), "part 1 of outcome is not in outcome-000001.h5"),
        (part({"file": "../outcome-000001.h5"}), "part 1 of outcome is not in outcome-000001.h5"),
        (part({"file": "outcome-000000.h5"}), "part 1 of outcome is not in outcome-000001.h5"),
        (part({"elements": 2047}), "outcome has other parts than its length asks for"),
        (part({"elements": True}), "part 1 of outcome has no elements or no bytes"),
        (part({"bytes": -1}), "part 1 of outcome has no elements or no bytes"),
        (part({"digest": "spam"}), "part 1 of outcome has no digest"),
        (column({"parts": []}), "outcome has no chunk_bytes or no parts"),
        (column({"parts": [7]}), "part 0 of outcome is not in outcome-000000.h5"),
        (column({"chunk_bytes": 1000}), "outcome has chunks of another length than a power of two"),
        (column({"chunk_bytes": 1 << 30}), "outcome has unexpected filters or chunks"),
        (column({"chunk_bytes": "1024"}), "outcome has no chunk_bytes or no parts"),
        (column({"chunk_bytes": 4096}), "outcome has parts that do not end with a chunk"),
        (column({"attributes": {}}), "outcome does not describe itself"),
        (column({"attributes": [7]}), "outcome has no attributes"),
        (lambda fields: fields["columns"].update({"../x": {}}), "'../x' is no column's name"),
        (lambda fields: fields["columns"].pop("outcome"), "expected totals and classes, grundy"),
        (lambda fields: fields.update(columns=7), "it has no columns, or too many"),
        (lambda fields: fields.update(columns={f"c{at}": 7 for at in range(64)}), "or too many"),
        (lambda fields: fields["columns"].update(sha256={}), "'sha256' is no column's name"),
        (lambda fields: later(fields, 0), "later has 0 items, expected one at least"),
        (lambda fields: later(fields, -8), "later has -8 items, expected one at least"),
        (lambda fields: fields.update(digest=7), "it has no digest"),
        (lambda fields: fields.update(table=7), "the table has no attributes"),
        (table_says({"wins": 1 << 63}), "others than strings and 64-bit integers"),
        (table_says({"wins": True}), "others than strings and 64-bit integers"),
        (table_says({"rules": "\ud800"}), "others than strings and 64-bit integers"),
        (table_says({"rules": "\u00e9" * 32501}), "others than strings and 64-bit integers"),
        (table_says({"rules": "x\0"}), "others than strings and 64-bit integers"),
        (table_says({"x" * 65: 1}), "names are not printable ASCII, or too long"),
        (table_says({"": 1}), "names are not printable ASCII, or too long"),
        (table_says({"x\n": 1}), "names are not printable ASCII, or too long"),
        (table_says({"\ud800": 1}), "names are not printable ASCII, or too long"),
        (table_says({f"{at:05}": 1 for at in range(100_000)}), "more than 4,194,304 bytes"),
        (table_says({f"x{at}": "x" * 65000 for at in range(65)}), "more than 4,194,304 bytes"),
        (table_says({"wins": 7}), "expected totals and classes, grundy"),
        (table_says({"size": 7}), "'tactics-4x4' with 7 indices is not its game"),
    ],
)
def test_a_manifest_that_no_endtable_writes(
    change: Callable[[dict[str, Any]], object], words: str, folder: Path
) -> None:
    forge(folder, change)
    with pytest.raises(CorruptTableError) as caught:
        TableFolder(folder)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


JSON = "it is no object in JSON, in ASCII"
CANONICAL = "it is not in canonical form"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda text: b"\xef\xbb\xbf" + text, JSON),
        (lambda text: text + b',"x":NaN', JSON),
        (lambda text: text + b',"x":' + b"1" * 5000, JSON),
        (lambda text: text + b',"x":' + b"[" * 50_000 + b"]" * 50_000, JSON),
        (lambda text: b"[" + text, JSON),
        (lambda text: b'{"digest":"",' + text[1:], CANONICAL),
        (lambda text: text + b',"digest":""', CANONICAL),
        (lambda text: b" " + text, CANONICAL),
        (lambda text: text.replace(b'"wins":', b'"wins": '), CANONICAL),
        (lambda text: text.replace(b"player", b"\\u0070layer"), CANONICAL),
        (lambda text: text + b',"x":1e5', CANONICAL),
        (lambda text: text + b',"x":[' + b"[]," * 100_000 + b"0]", "more values than any manifest"),
        (lambda text: text + b',"x":' + b"[" * 100_000, "more values than any manifest"),
    ],
)
def test_the_same_in_other_bytes_is_refused_though_its_sha256_is_right(
    change: Callable[[bytes], bytes], words: str, folder: Path
) -> None:
    path = folder / "manifest.json"
    before, _, _ = path.read_bytes().rpartition(b',"sha256":"')
    text = change(before)
    path.write_bytes(text + b',"sha256":"%b"}\n' % hashlib.sha256(text).hexdigest().encode())
    with pytest.raises(CorruptTableError, match=words):
        TableFolder(folder)


def test_a_table_of_an_unknown_game_cannot_claim_to_be_huge(folder: Path) -> None:
    """Nothing is made room for that a few bytes of JSON claim."""
    size = 1 << 62

    def change(fields: dict[str, Any]) -> None:
        fields["table"].update(game="spam", size=size, positions=size, losses=size, wins=0)
        fields["table"].update(longest_remoteness=-1)
        del fields["columns"]["remoteness"]
        fields["columns"]["outcome"]["attributes"]["items"] = size

    forge(folder, change)
    with pytest.raises(CorruptTableError, match="outcome has other parts than its length asks for"):
        TableFolder(folder)

    def in_one(fields: dict[str, Any]) -> None:
        outcome = fields["columns"]["outcome"]
        outcome["chunk_bytes"] = 1
        outcome["parts"] = [{**outcome["parts"][0], "elements": size // 8}]

    forge(folder, in_one)
    with lookup.open_table(folder) as table, pytest.raises(CorruptTableError, match="something else"):
        table.probe_index(0)


def test_a_table_of_a_known_game_cannot_claim_to_have_many_chunks(folder: Path) -> None:
    """Its size is known, but not how many chunks that is: no list of them is made beforehand."""

    def change(fields: dict[str, Any]) -> None:
        for column in fields["columns"].values():
            column["chunk_bytes"] = 1

    forge(folder, change)

    def decode(file: TableReader) -> NoReturn:
        raise AssertionError(file)

    with pytest.raises(CorruptTableError, match="its chunks are not as long as in other parts"):
        Table(folder, decode=decode)


def test_later_versions_and_other_peoples_files(folder: Path, tmp_path: Path) -> None:
    path = folder / "manifest.json"
    text = path.read_bytes()
    for version in (2, True, 1.0, "1", None):
        forge(folder, lambda fields, given=version: fields.update(format_version=given))  # type: ignore[misc]  # mypy knows no defaults of lambdas
        with pytest.raises(
            FormatVersionError, match=f"has format version {version!r}; this Endtable reads version 1"
        ):
            lookup.open_table(folder)
    path.write_bytes(text)
    forge(folder, table_says({"format_version": 2}))
    with pytest.raises(FormatVersionError, match="has format version 2"):
        lookup.open_table(folder)
    for other in (b"{}", b"[]", b"spam", b"[" * 100_000, signed({"format": "endtable-bundle"})):
        path.write_bytes(other)
        with pytest.raises(NotATableError, match=r"manifest.json' is not a table: expected "):
            lookup.open_table(folder)
    with path.open("wb") as file:
        file.truncate(MOST_MANIFEST + 1)
    with pytest.raises(NotATableError, match=r"its manifest.json has over"):
        lookup.open_table(folder)
    path.unlink()
    with pytest.raises(NotATableError, match=r"'.*parts' is not a table: it has no manifest.json"):
        lookup.open_table(folder)
    make_pipe(path.parent / PART)
    (folder / PART).rename(path)
    with pytest.raises(NotATableError, match=r"it has no manifest.json"):
        lookup.open_table(folder)
    for missing in (tmp_path / "no.parts", tmp_path, tmp_path / "manifest.json"):
        with pytest.raises(MissingTableError):
            lookup.open_table(missing)


def test_what_later_versions_add_counts_for_the_digest_alone(folder: Path, chunked: None) -> None:
    def change(fields: dict[str, Any]) -> None:
        fields["more"] = 1
        fields["columns"]["outcome"]["more"] = 1
        fields["columns"]["outcome"]["attributes"]["more"] = "1"
        fields["table"]["more"] = 1

    forge(folder, change)
    with lookup.open_table(folder) as table:
        assert table.probe_index(0)
    with closing(TableFolder(folder)) as reader, pytest.raises(CorruptTableError, match="its digest"):
        reader.check_digest()
