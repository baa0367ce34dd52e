"""Folders of parts as they are written: the same bytes each time, and gone on with after a kill."""

from __future__ import annotations

import json
import re
from contextlib import closing
from typing import TYPE_CHECKING

import h5py
import pytest

from builder import folder as folder_module
from builder.folder import PART_BYTES, _all_shares, write_folder
from builder.writer import stored_as, write_chunks
from lookup.chunk_file import ChunkFile
from lookup.errors import BuildError, CorruptTableError
from lookup.folder import TableFolder
from lookup.format import canonical, outcome_column, remoteness_column, table_digest
from lookup.manifest import MOST_MANIFEST, PART_FORMAT, ColumnEntry, PartEntry
from lookup.reader import TableFile
from tests.conftest import ROOT, rechunked
from tests.folders import StoredChunks

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from builder.parts import Encoded
    from lookup.format import Column

PARTS = [
    *(f"outcome-{number:06}.h5" for number in range(4)),
    *(f"remoteness-{number:06}.h5" for number in range(16)),
]


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[TableFile]:
    """Tactics 4x4 in chunks of 1 KiB: 8 of outcomes, 32 of remoteness."""
    path = rechunked(ROOT / "tables/tactics-4x4.h5", tmp_path / "tactics-4x4.h5", 1024, monkeypatch)
    with closing(TableFile(path)) as opened:
        yield opened


def write(
    file: TableFile, folder: Path, chunks: StoredChunks, part_bytes: int = 2048, digests: bool = True
) -> str:
    """In parts of two chunks, unless told."""
    known = chunks.digests if digests else None
    return write_folder(folder, file.info, chunks.columns, chunks, digests=known, part_bytes=part_bytes)


def content(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


class Killed(BaseException):
    """What nothing catches."""


class KilledChunks(StoredChunks):
    """Some chunks, and then no more."""

    def __init__(self, file: TableFile, most: int) -> None:
        super().__init__(file)
        self._most = most

    def __call__(self, column: Column, first: int, end: int) -> Iterator[Encoded]:
        for encoded in super().__call__(column, first, end):
            if len(self.asked) > self._most:
                raise Killed
            yield encoded


def test_the_same_input_gives_the_same_bytes(file: TableFile, tmp_path: Path) -> None:
    for place in ("one", "other"):
        assert write(file, tmp_path / place, StoredChunks(file)) == file.digest
    assert content(tmp_path / "one") == content(tmp_path / "other")
    assert sorted(content(tmp_path / "one")) == ["manifest.json", *PARTS]


def test_a_chunk_is_asked_for_once_and_in_order(file: TableFile, tmp_path: Path) -> None:
    chunks = StoredChunks(file)
    write(file, tmp_path / "folder", chunks)
    assert chunks.asked == [
        *(("outcome", number) for number in range(8)),
        *(("remoteness", number) for number in range(32)),
    ]


def test_a_table_of_one_file_comes_from_chunks_too(file: TableFile, tmp_path: Path) -> None:
    chunks, reports = StoredChunks(file), list[tuple[int, int | None]]()
    path = tmp_path / "again.h5"

    def report(done: int, total: int | None) -> None:
        reports.append((done, total))

    assert write_chunks(path, file.info, chunks.columns, chunks, report) == file.digest
    assert path.read_bytes() == file.path.read_bytes()
    assert reports == [(1024 * number, 40960) for number in range(1, 41)]


def test_progress_counts_what_is_kept_too(file: TableFile, tmp_path: Path) -> None:
    for asked in (40, 0):
        chunks, reports = StoredChunks(file), list[tuple[int, int | None]]()
        write_folder(
            tmp_path / "folder",
            file.info,
            chunks.columns,
            chunks,
            lambda done, total, reports=reports: reports.append((done, total)),  # type: ignore[misc]  # mypy knows no defaults of lambdas
            digests=chunks.digests,
            part_bytes=2048,
        )
        assert len(chunks.asked) == asked
        assert [done for done, _ in reports] == sorted(done for done, _ in reports)
        assert {total for _, total in reports} == {40960}
        assert reports[-1][0] == 40960


@pytest.mark.parametrize("most", [0, 1, 2, 3, 9, 39])
@pytest.mark.parametrize("digests", [True, False])
def test_a_killed_run_is_gone_on_with(
    most: int, digests: bool, file: TableFile, tmp_path: Path
) -> None:
    write(file, tmp_path / "whole", StoredChunks(file))
    folder = tmp_path / "folder"
    with pytest.raises(Killed):
        write(file, folder, KilledChunks(file, most))
    assert not (folder / "manifest.json").exists()
    assert sorted(content(folder)) == PARTS[: most // 2]
    chunks = StoredChunks(file)
    assert write(file, folder, chunks, digests=digests) == file.digest
    assert content(folder) == content(tmp_path / "whole")
    if digests:
        assert len(chunks.asked) == 40 - most // 2 * 2


def damage(path: Path) -> None:
    """In a chunk, where no digest of the part itself shows it."""
    with closing(TableFolder(path.parent)) as table, closing(table.open_part("outcome", 1)) as part:
        at = part.columns["outcome"].offsets[1] + 9
    data = path.read_bytes()
    path.write_bytes(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])


def test_what_is_damaged_or_of_something_else_is_written_again(file: TableFile, tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    write(file, folder, StoredChunks(file))
    whole = content(folder)
    damage(folder / "outcome-000001.h5")
    (folder / "outcome-000002.h5").write_bytes(whole["outcome-000003.h5"])
    (folder / "remoteness-000000.h5").write_bytes(b"")
    (folder / "remoteness-000007.h5").unlink()
    chunks = StoredChunks(file)
    write(file, folder, chunks)
    assert content(folder) == whole
    assert chunks.asked == [
        *(("outcome", number) for number in (2, 3, 4, 5)),
        *(("remoteness", number) for number in (0, 1, 14, 15)),
    ]


def test_a_part_of_another_build_is_written_again(file: TableFile, tmp_path: Path) -> None:
    """It is whole, and stands in its place; the chunks are others now."""
    folder = tmp_path / "folder"
    write(file, folder, StoredChunks(file))
    whole = content(folder)

    class Others(StoredChunks):
        def __call__(self, column: Column, first: int, end: int) -> Iterator[Encoded]:
            for number in range(first, end):
                yield from super().__call__(column, number ^ 1, (number ^ 1) + 1)

        def digests(self, column: Column, first: int, end: int) -> bytes:
            return b"".join(encoded.digest for encoded in self(column, first, end))

    assert write(file, folder, Others(file)) != file.digest
    assert not set(whole.items()) & set(content(folder).items())
    assert write(file, folder, StoredChunks(file)) == file.digest
    assert content(folder) == whole


def test_what_was_shared_in_another_way_goes(file: TableFile, tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    write(file, folder, StoredChunks(file), 1024)
    (folder / ".outcome-000007.h5.123.abcd.tmp").write_bytes(b"")
    (folder / "notes.txt").write_bytes(b"somebody's own")
    write(file, folder, StoredChunks(file), 1 << 20)
    names = {"manifest.json", "outcome-000000.h5", "remoteness-000000.h5", "notes.txt"}
    assert set(content(folder)) == names


def test_a_part_with_more_attributes_than_ours_is_written_again(
    file: TableFile, tmp_path: Path
) -> None:
    """Its chunks are right, and its digest is that of all it says; but it is another file."""
    folder = tmp_path / "folder"
    write(file, folder, StoredChunks(file))
    whole = content(folder)
    path = folder / PARTS[0]
    with h5py.File(path, "r+", libver=("earliest", "v110")) as part:
        part.attrs.create("more", b"spam", dtype="S4")
    with closing(ChunkFile(path, PART_FORMAT)) as part:
        column = file.columns["outcome"].column
        with pytest.raises(CorruptTableError, match="does not match its digest"):
            part.place_columns({"outcome": column._replace(items=column.items // 4)})
        digests = {"outcome": part.columns["outcome"].digests}
        digest = table_digest(part.attributes, part.described, digests)
    with h5py.File(path, "r+", libver=("earliest", "v110")) as part:
        part.attrs.modify("digest", digest.encode())
    with closing(ChunkFile(path, PART_FORMAT)) as part:
        part.place_columns({"outcome": column._replace(items=column.items // 4)})
    chunks = StoredChunks(file)
    write(file, folder, chunks)
    assert chunks.asked == [("outcome", 0), ("outcome", 1)]
    assert content(folder) == whole


@pytest.mark.parametrize("name", ["outcome-000000.h5", "remoteness-000015.h5", "manifest.json"])
def test_a_folder_where_a_file_belongs_is_refused_before_the_work(
    name: str, file: TableFile, tmp_path: Path
) -> None:
    folder, chunks = tmp_path / "folder", StoredChunks(file)
    (folder / name).mkdir(parents=True)
    problem = f"'{folder / name}' is a folder: expected a file, or nothing there"
    with pytest.raises(BuildError, match=re.escape(problem)):
        write(file, folder, chunks)
    assert not chunks.asked


def test_other_folders_are_left_alone(file: TableFile, tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    (folder / "outcome-000009.h5").mkdir(parents=True)
    assert write(file, folder, StoredChunks(file)) == file.digest
    assert (folder / "outcome-000009.h5").is_dir()


def test_parts_are_larger_where_there_would_be_too_many(
    file: TableFile, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folder_module, "MOST_PARTS", 10)
    assert write(file, tmp_path / "folder", StoredChunks(file), 1) == file.digest
    names = [f"outcome-{at:06}.h5" for at in range(2)] + [f"remoteness-{at:06}.h5" for at in range(8)]
    assert sorted(content(tmp_path / "folder")) == ["manifest.json", *names]


@pytest.mark.parametrize("cells", [42, 45, 48, 60])
def test_a_manifest_of_the_largest_tables_is_not_too_long(cells: int) -> None:
    columns = [outcome_column(1, 1 << cells), remoteness_column(8, 1 << cells)]
    for some in (columns[:1], columns):
        all_shares = _all_shares(some, stored_as(some), PART_BYTES)
        length = 0
        for shares in all_shares:
            entry = PartEntry(shares.elements, shares.elements * 2, "0" * 64)
            name = shares.stored.column.name
            one = ColumnEntry({}, shares.stored.chunk_bytes, (entry,)).fields(name)["parts"]
            length += shares.parts * len(canonical(one))
        assert length < MOST_MANIFEST * 0.9


@pytest.mark.parametrize(
    ("part_bytes", "share"),
    [(1, 1), (1023, 1), (1024, 1), (2047, 1), (3072, 2), (4096, 4), (1 << 40, 32)],
)
def test_parts_hold_a_power_of_two_of_chunks(
    part_bytes: int, share: int, file: TableFile, tmp_path: Path
) -> None:
    write(file, tmp_path / "folder", StoredChunks(file), part_bytes)
    fields = json.loads((tmp_path / "folder/manifest.json").read_bytes())
    for name, chunks in (("outcome", 8), ("remoteness", 32)):
        elements = [part["elements"] for part in fields["columns"][name]["parts"]]
        of_each = min(share, chunks)
        assert elements == [1024 * of_each] * (chunks // of_each)


def test_too_few_chunks_are_not_taken_for_all(file: TableFile, tmp_path: Path) -> None:
    class Fewer(StoredChunks):
        def __call__(self, column: Column, first: int, end: int) -> Iterator[Encoded]:
            return super().__call__(column, first, end - 1)

    with pytest.raises(ValueError, match="outcome came in 1 chunks, not in 2"):
        write(file, tmp_path / "folder", Fewer(file))
    assert content(tmp_path / "folder") == {}
