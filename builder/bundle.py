"""A bundle of tables: a folder or an archive with a manifest, checksums and a README.

Every table is checked before it goes in, and hashed once more while it is copied: what is in the
bundle is what was checked. The same tables give the same bytes: names are sorted, and archives hold no
times, no owners and fixed modes. The manifest comes first in an archive, so that whoever downloads one
knows after a few bytes how much is to come. See `lookup/bundle.py` for what the files are.
"""

from __future__ import annotations

import hashlib
import io
import shutil
import tarfile
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, NamedTuple, cast
from zipfile import ZipFile, ZipInfo

from builder.bundle_readme import readme
from builder.checksums import checksums
from lookup import __version__
from lookup.atomic import put_folder_in_place, put_in_place, temporary_beside, temporary_folder_beside
from lookup.bundle import (
    ARCHIVES,
    CHECKSUMS,
    MANIFEST,
    README,
    SPECIFICATION,
    Entry,
    Manifest,
    open_any,
    sha256_of,
)
from lookup.disk import AT_ONCE, file_digest
from lookup.errors import BuildError, EndtableError, InvalidParameterError
from lookup.folder import folder_of, is_folder
from lookup.progress import Progress
from lookup.sources import Archive, Folder
from lookup.tablebase import is_table_name, packaged_tables

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import TypeAlias

    Add: TypeAlias = Callable[[str, int, IO[bytes]], None]
    """Adds a file to a bundle: its name, its size, and where its bytes come from."""

FOLDER = "endtable-tables"
"""The folder inside an archive: whatever the archive is called, its bytes are the same."""

OTHER_ARCHIVES = (".gz", ".tgz", ".bz2", ".xz", ".zst", ".7z", ".rar")
_MODE = 0o100644


class Bundled(NamedTuple):
    """A finished bundle; `sha256` is that of its manifest, which names all that is in it."""

    path: Path
    manifest: Manifest
    sha256: str


def write_bundle(path: Path, tables: Sequence[Path], progress: Progress | None = None) -> Bundled:
    """Write a bundle of table files to a folder, or to an archive if `path` ends in .tar or .zip.

    It appears when it is whole, and takes the place of an older bundle.

    Raises:
        InvalidParameterError: what is at `path` is no bundle, or a table comes twice.
        MissingTableError, TableFileError: a table is not there, or damaged.
        BuildError: the bundle cannot be written.
    """
    progress = progress or Progress.silent()
    target = path.resolve()
    _require_place(target, str(path))
    sources = _checked(tables, progress)
    manifest = Manifest(f"endtable {__version__}", tuple(entry for entry, _ in sources))
    total, done = sum(entry.size for entry, _ in sources), 0
    try:
        with _writer(target) as add, progress.stage(f"{path.name}: write", "bytes") as report:
            for name, text in _texts(manifest).items():
                add(name, len(text), io.BytesIO(text))
            for entry, source in sources:
                with source.open("rb") as file:
                    hashed = _Hashed(file, lambda more, done=done: report(done + more, total))  # type: ignore[misc]
                    add(entry.file, entry.size, cast("IO[bytes]", hashed))
                if hashed.digest.hexdigest() != entry.sha256:
                    raise BuildError(f"'{source}' was changed while it was copied")
                done += entry.size
    except OSError as error:
        raise BuildError(f"'{path}' cannot be written: {error.strerror or error}") from None
    return Bundled(path, manifest, sha256_of(manifest.to_bytes()))


class _Hashed:
    """A file that is hashed as it is read."""

    def __init__(self, file: IO[bytes], report: Callable[[int], None]) -> None:
        self.digest = hashlib.sha256()
        self._file, self._report = file, report

    def read(self, size: int) -> bytes:
        block = self._file.read(size)
        self.digest.update(block)
        self._report(self._file.tell())
        return block


def _checked(tables: Sequence[Path], progress: Progress) -> list[tuple[Entry, Path]]:
    """The entries of tables by name, each of which was checked whole."""
    found: dict[str, tuple[Entry, Path]] = {}
    for path in tables:
        if is_folder(folder_of(path)):
            expected = "a table of one file: this one is a folder of parts"
            raise InvalidParameterError("a bundle's table", str(path), expected)
        table = open_any(path)
        try:
            name = table.info.name
            if not is_table_name(name) or name in found:
                expected = "tables of names that differ, of small letters, digits and hyphens"
                raise InvalidParameterError("a bundle's table", name, expected)
            with progress.stage(f"{name}: check", "chunks") as report:
                table.check_chunks(report)
            with progress.stage(f"{name}: hash", "bytes") as report:
                sha256 = file_digest(path, report)
            found[name] = Entry.of(table, path.stat().st_size, sha256), path
        except OSError as error:
            raise BuildError(f"'{path}' cannot be read: {error.strerror or error}") from None
        finally:
            table.close()
    return [found[name] for name in sorted(found)]


def _texts(manifest: Manifest) -> dict[str, bytes]:
    """The files besides the tables, in the order in which they stand in an archive."""
    specification = packaged_tables() / SPECIFICATION
    texts = {MANIFEST: manifest.to_bytes()}
    if specification.is_file():
        texts[SPECIFICATION] = specification.read_bytes()
    texts[README] = readme(manifest, SPECIFICATION in texts).encode()
    digests = {name: sha256_of(text) for name, text in texts.items()}
    digests |= {entry.file: entry.sha256 for entry in manifest.tables}
    return {**texts, CHECKSUMS: checksums(digests)}


# --- where it goes --------------------------------------------------------------------------------


def _require_place(path: Path, shown: str) -> None:
    """Refuse to replace what is no bundle.

    Raises:
        InvalidParameterError: there is something that would be lost.
    """
    if path.name.endswith(OTHER_ARCHIVES):
        expected = "a folder, or an archive .tar or .zip: tables are compressed already"
        raise InvalidParameterError("the bundle", shown, expected)
    if not path.exists():
        return
    is_archive = path.name.endswith(ARCHIVES)
    if path.is_dir() and not is_archive:
        if path == Path.cwd():
            raise InvalidParameterError("the bundle", shown, "another folder than the one you are in")
        names = {one.name for one in path.iterdir()}
        other = names - _names_of(Folder, path) if names else set()
    else:
        is_bundle = is_archive and path.is_file() and bool(_names_of(Archive, path))
        other = set() if is_bundle else {path.name}
    if other:
        expected = f"a new name, or an older bundle to replace: {min(other)!r} there is no part of one"
        raise InvalidParameterError("the bundle", shown, expected)


def _names_of(kind: type[Folder | Archive], path: Path) -> set[str]:
    """The names of the files of a bundle; none if it is no bundle."""
    try:
        with kind(path) as source:
            manifest = Manifest.from_bytes(source.read_manifest(), str(path))
    except EndtableError:
        return set()
    tables = {entry.file for entry in manifest.tables}
    return {MANIFEST, CHECKSUMS, README, SPECIFICATION} | tables


@contextmanager
def _writer(path: Path) -> Iterator[Add]:
    """What adds files to a bundle, which is put in place when the block ends."""
    if path.name.endswith(ARCHIVES):
        with temporary_beside(path) as temporary:
            if path.name.endswith(".zip"):
                with ZipFile(temporary, "w") as zipped:
                    yield partial(_add_zipped, zipped)
            else:
                # PAX writes plain headers, but for files of 8 GiB and more.
                with tarfile.open(temporary, "w", format=tarfile.PAX_FORMAT) as tarred:
                    yield partial(_add_tarred, tarred)
            put_in_place(temporary, path)
        return
    with temporary_folder_beside(path) as temporary:
        yield partial(_add_file, temporary)
        put_folder_in_place(temporary, path)


def _add_file(folder: Path, name: str, size: int, file: IO[bytes]) -> None:
    with (folder / name).open("xb") as copy:
        shutil.copyfileobj(file, copy, AT_ONCE)
    if (folder / name).stat().st_size != size:
        raise BuildError(f"{name} was changed while it was copied")


def _add_tarred(archive: tarfile.TarFile, name: str, size: int, file: IO[bytes]) -> None:
    member = tarfile.TarInfo(f"{FOLDER}/{name}")  # without a time or an owner
    member.size, member.mode = size, _MODE & 0o777
    archive.addfile(member, file)


def _add_zipped(archive: ZipFile, name: str, size: int, file: IO[bytes]) -> None:
    member = ZipInfo(f"{FOLDER}/{name}")  # of the year in which time begins there; stored as it is
    member.file_size, member.external_attr = size, _MODE << 16
    member.create_system = 3  # Unix, whose modes these are, wherever it is made
    with archive.open(member, "w") as copy:
        shutil.copyfileobj(file, copy, AT_ONCE)
