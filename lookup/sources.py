"""Where a bundle comes from: a folder or an archive, on this machine or at an address.

Each hands out the manifest, and then the bytes of tables. Nothing is unpacked by the names in an
archive: tables are asked for by the names in a manifest that was checked, and written to files of the
caller's.
"""

from __future__ import annotations

import io
import json
import tarfile
from abc import ABC, abstractmethod
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Self
from zipfile import ZipFile

from lookup.bundle import (
    ARCHIVES,
    FORMAT,
    MANIFEST,
    MOST_MANIFEST,
    MOST_TABLE,
    Manifest,
    sha256_of,
)
from lookup.disk import AT_ONCE
from lookup.download import Web, is_address, parts_of, with_path
from lookup.errors import BundleError, InvalidParameterError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import TypeAlias

    from lookup.bundle import Entry
    from lookup.progress import Progress, Report

    Member: TypeAlias = tuple[str, bool, Callable[[], Any]]
    """Something in an archive: its name, whether it is a file, and what opens it."""

MOST_MEMBERS = 100_000
"""Files of the largest archive that is looked through."""

MOST_BESIDE = 1 << 20
"""Bytes that an archive holds besides tables and their headers: README.md, FORMAT.md, SHA256SUMS."""

MOST_HEADER = 4096
"""Bytes that an archive holds for each table besides the table."""

EXPECTED = f"a folder with {MANIFEST}, or a .tar or .zip of one; or the http(s) address of either"


class Source(ABC):
    """A bundle to fetch from; `place` is how errors call it."""

    goes_on = False
    """Whether it goes on with what an earlier run has left of a table."""

    def __init__(self, place: str) -> None:
        self.place = place
        self._files = ExitStack()

    @abstractmethod
    def read_manifest(self) -> bytes:
        """The bytes of manifest.json, which nobody has checked.

        Raises:
            BundleError, DownloadError: there is none.
        """

    @abstractmethod
    def obtain(self, entry: Entry, part: Path, report: Report) -> None:
        """Bring a file to the bytes of a table; of what `part` holds already, a download goes on.

        When this returns, the file has the right size; its hash is for the caller to check.

        Raises:
            BundleError, DownloadError: that cannot be.
        """

    def start_again(self) -> bool:
        """Forget what came in several pieces, which may not fit together; False if nothing did."""
        return False

    def room_needed(self) -> int:
        """The bytes that are written besides the tables."""
        return 0

    def close(self) -> None:
        """Let go of open files."""
        self._files.close()

    def discard(self) -> None:  # noqa: B027 - most keep nothing
        """Remove what was kept to go on with; it is closed."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self.close()
        # A bundle that is no good will not be better the next time.
        if kind is None or issubclass(kind, BundleError):
            self.discard()


def open_source(place: str, parts: Callable[[], Path], progress: Progress) -> Source:
    """The bundle at a path or an address; `parts` makes the folder that an archive is downloaded to.

    Raises:
        InvalidParameterError: there is nothing at the path that could be a bundle.
        BundleError, DownloadError: it cannot be used.
    """
    if is_address(place):
        address = parts_of(place)
        if address.path.endswith(ARCHIVES):
            return WebArchive(place, parts, progress)
        return WebFolder(place)
    path = Path(place)
    path = path.parent if path.name == MANIFEST else path
    try:
        if (path / MANIFEST).is_file():
            return Folder(path)
        if path.is_file() and path.name.endswith(ARCHIVES):
            return Archive(path)
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        raise BundleError(place, f"cannot be read: {getattr(error, 'strerror', error)}") from None
    raise InvalidParameterError("a bundle", place, EXPECTED)


# --- on this machine ------------------------------------------------------------------------------


class Local(Source):
    """A bundle whose files can be read from the beginning to the end."""

    @abstractmethod
    def _open(self, name: str) -> IO[bytes]:
        """A file of the bundle."""

    def blocks(self, name: str) -> Iterator[bytes]:
        """A file of the bundle, a block at a time."""
        with self._failures(name), self._open(name) as file:
            while block := file.read(AT_ONCE):
                yield block

    def read_manifest(self) -> bytes:
        """The bytes of manifest.json."""
        text = b""
        for block in self.blocks(MANIFEST):
            text += block
            if len(text) > MOST_MANIFEST:
                raise BundleError(self.place, f"has a {MANIFEST} of over {MOST_MANIFEST:,} bytes")
        return text

    def obtain(self, entry: Entry, part: Path, report: Report) -> None:
        """Copy a table."""
        done = 0
        with part.open("wb") as copy:
            for block in self.blocks(entry.file):
                done += len(block)
                if done > entry.size:
                    break
                copy.write(block)
                report(done, entry.size)
        if done != entry.size:
            other = "less" if done < entry.size else "more"
            raise BundleError(self.place, f"holds {other} of {entry.file} than its manifest says")

    @contextmanager
    def _failures(self, name: str) -> Iterator[None]:
        """Whatever goes wrong while a file is read is the bundle's fault."""
        try:
            yield
        except BundleError:
            raise
        except FileNotFoundError:
            raise BundleError(self.place, f"lacks {name}") from None
        except OSError as error:
            raise BundleError(self.place, f"cannot be read: {error.strerror or error}") from None
        except Exception as error:  # noqa: BLE001 - tarfile and zipfile raise half of all exceptions
            reason = " ".join(str(error).split()) or type(error).__name__
            raise BundleError(self.place, f"is damaged: {reason}") from None


class Folder(Local):
    """A folder on this machine."""

    def __init__(self, path: Path) -> None:
        super().__init__(str(path))
        self._path = path

    def _open(self, name: str) -> IO[bytes]:
        path = self._path / name
        if not path.is_file():  # a pipe would never end
            raise FileNotFoundError(name)
        return path.open("rb")


class Archive(Local):
    """A .tar or .zip on this machine, made by us or by hand: the files may be in a folder in it."""

    def __init__(self, path: Path, place: str | None = None) -> None:
        super().__init__(place or str(path))
        with ExitStack() as files, self._failures(MANIFEST):
            file = files.enter_context(_SoberFile(path))
            if path.name.endswith(".zip"):
                members = _zipped(files.enter_context(ZipFile(file)))
            else:
                members = _tarred(files.enter_context(tarfile.open(fileobj=file, mode="r:")))
            self._members = self._found(members)
            self._files = files.pop_all()

    def _found(self, members: Iterable[Member]) -> dict[str, Callable[[], Any]]:
        """The files in the folder of the manifest, by name."""
        files: dict[str, Callable[[], Any]] = {}
        for number, (name, is_file, opener) in enumerate(members):
            # Whatever they are: a damaged archive may lead round in a circle.
            if number == MOST_MEMBERS:
                raise BundleError(self.place, f"holds over {MOST_MEMBERS:,} files and folders")
            if not is_file:
                continue
            name = name.removeprefix("./")
            if name in files:
                raise BundleError(self.place, f"holds {name[:100]!r} twice")
            files[name] = opener
        found = [name for name in files if name.split("/")[-1] == MANIFEST and name.count("/") <= 1]
        if len(found) != 1:
            how_many = "no" if not found else "more than one"
            raise BundleError(self.place, f"holds {how_many} {MANIFEST}")
        folder = found[0].removesuffix(MANIFEST)
        return {name.removeprefix(folder): files[name] for name in files if name.startswith(folder)}

    def _open(self, name: str) -> IO[bytes]:
        if name not in self._members:
            raise FileNotFoundError(name)
        file: IO[bytes] = self._members[name]()
        return file


def _tarred(archive: tarfile.TarFile) -> Iterator[Member]:
    return ((one.name, one.isreg(), partial(archive.extractfile, one)) for one in archive)


def _zipped(archive: ZipFile) -> Iterator[Member]:
    infos = archive.infolist()
    return ((one.filename, not one.is_dir(), partial(archive.open, one)) for one in infos)


class _SoberFile(io.FileIO):
    """Reads no more at a time than there can be reason for: headers may ask for gigabytes."""

    def read(self, size: int | None = -1, /) -> bytes:
        if size is None or size < 0:
            here = self.tell()
            size = self.seek(0, io.SEEK_END) - here
            self.seek(here)
        if size > 16 * AT_ONCE:
            raise ValueError("a header is too large")
        return super().read(max(0, size)) or b""


# --- at an address --------------------------------------------------------------------------------


class WebFolder(Source):
    """A folder that a web server offers: any static one will do."""

    goes_on = True

    def __init__(self, address: str) -> None:
        super().__init__(address)
        self._web = Web()
        self._is_pieced = False
        self._path = parts_of(address).path.removesuffix(MANIFEST).rstrip("/")

    def _address(self, name: str) -> str:
        return with_path(self.place, f"{self._path}/{name}")

    def read_manifest(self) -> bytes:
        """Download manifest.json."""
        return self._web.read(self._address(MANIFEST), MOST_MANIFEST)

    def obtain(self, entry: Entry, part: Path, report: Report) -> None:
        """Download a table, or the rest of it."""
        self._is_pieced = self._web.download(self._address(entry.file), part, entry.size, report)

    def start_again(self) -> bool:
        """Whether the last table came in several pieces; the caller has removed them."""
        return self._is_pieced


class WebArchive(Source):
    """An archive at an address, made by us: its manifest comes first and says how much is to come.

    What is needed of it is known after its first bytes; the whole is downloaded when a table is asked
    for, into a file that is called after the manifest, and then read as one on this machine.
    """

    def __init__(self, address: str, parts: Callable[[], Path], progress: Progress) -> None:
        super().__init__(address)
        self._web, self._parts, self._progress = Web(), parts, progress
        self._local: Archive | None = None
        self._path: Path | None = None  # of the archive, once it is being downloaded
        self._is_pieced = False
        self._manifest, self._size = self._head()

    def _head(self) -> tuple[bytes, int]:
        """The manifest, and the size of the archive."""
        manifest, head = None, b""
        with self._web.open(self.place) as answer:
            for block in answer.blocks(MOST_TABLE):
                head += block
                manifest = _first_manifest(head)
                if manifest or len(head) > MOST_MANIFEST + MOST_HEADER:
                    break
        if manifest is None:
            expected = f"expected its {MANIFEST} first, as 'build-tables bundle' puts it"
            raise BundleError(self.place, f"does not begin as a bundle does: {expected}")
        if answer.size is None:
            raise BundleError(self.place, "has no size: its server does not say how much is to come")
        tables = Manifest.from_bytes(manifest, self.place).tables
        most = MOST_BESIDE + len(manifest) + sum(MOST_HEADER + entry.size for entry in tables)
        if answer.size > most:
            problem = f"is {answer.size:,} bytes, more than its manifest accounts for"
            raise BundleError(self.place, problem)
        return manifest, answer.size

    def read_manifest(self) -> bytes:
        """The manifest at its beginning."""
        return self._manifest

    def room_needed(self) -> int:
        """The archive itself."""
        return self._size

    def obtain(self, entry: Entry, part: Path, report: Report) -> None:
        """Copy a table from the archive, which is downloaded first."""
        if self._local is None:
            self._download()
        assert self._local
        self._local.obtain(entry, part, report)

    def _download(self) -> None:
        name = parts_of(self.place).path.split("/")[-1]
        # Called after the manifest: what an earlier run has left is of the same bundle.
        self._path = self._parts() / f"{sha256_of(self._manifest)}{Path(name).suffix}"
        with self._progress.stage(f"{name}: fetch", "bytes") as report:
            self._is_pieced = self._web.download(self.place, self._path, self._size, report)
        self._local = Archive(self._path, self.place)
        if self._local.read_manifest() != self._manifest:
            raise BundleError(self.place, f"holds another {MANIFEST} than it begins with")

    def start_again(self) -> bool:
        """Forget an archive that came in several pieces."""
        if self._is_pieced:
            self.close()
            self.discard()
        return self._is_pieced

    def close(self) -> None:
        """Let go of the archive."""
        if self._local:
            self._local.close()
            self._local = None

    def discard(self) -> None:
        """Remove the archive."""
        if self._path:
            self._path.unlink(missing_ok=True)


def _first_manifest(head: bytes) -> bytes | None:
    """The manifest at the beginning of an archive of ours, once all of it has come."""
    start = head[:MOST_HEADER].find(b'{\n  "format": "' + FORMAT.encode())
    if start < 0:
        return None
    with suppress(ValueError, RecursionError):
        # The archive goes on after the last brace; bytes beyond ASCII are not the manifest's.
        _, end = json.JSONDecoder().raw_decode(head[start:].decode("latin-1"))
        if head[start + end : start + end + 1] == b"\n":
            return head[start : start + end + 1]
    return None
