"""Fetch a bundle: verify its tables against its manifest, then put them into a folder.

Tables come into `.fetch` in that folder, each under the name of its hash, and are put in place by
renaming once all of them are there and were checked. Whatever goes wrong before leaves the folder as it
was; what has come so far stays in `.fetch` for the next time, for a week at the most.
"""

from __future__ import annotations

import re
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, NamedTuple, Self

from lookup.atomic import put_in_place
from lookup.bundle import ARCHIVES, Manifest, check_table, sha256_of
from lookup.disk import available_disk, file_digest, sized
from lookup.errors import BundleError, FailureError, InvalidParameterError
from lookup.locks import hold_folder, leave_folder
from lookup.progress import Progress
from lookup.sources import open_source

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path
    from typing import IO

    from lookup.bundle import Entry
    from lookup.sources import Source

PARTS = ".fetch"
KEPT_SECONDS = 7 * 24 * 3600
"""How long the beginning of a download stays that nobody goes on with."""


class Fetched(NamedTuple):
    """A table of the bundle and its file here; `changed` is False if it was there already."""

    entry: Entry
    path: Path
    changed: bool


def fetch(
    place: str,
    folder: Path,
    *,
    names: Sequence[str] = (),
    sha256: str | None = None,
    progress: Progress | None = None,
) -> list[Fetched]:
    """Put the tables of a bundle, at a path or an address, into a folder; all, or those of some names.

    `sha256` is what the manifest must hash to, for those who know it from elsewhere.

    Raises:
        CallerError: there is no bundle at the path, or no such table in it.
        BundleError: the bundle is not what its manifest says, or not the one that was meant.
        DownloadError: it cannot be had.
        FailureError: the folder cannot be written, or lacks room.
    """
    progress = progress or Progress.silent()
    if sha256 is not None and not re.fullmatch(r"[0-9a-fA-F]{64}", sha256):
        raise InvalidParameterError("sha256", sha256, "64 hexadecimal digits")
    with (
        _failures(folder),
        Parts(folder) as parts,
        open_source(place, parts.hold, progress) as source,
    ):
        text = source.read_manifest()
        if sha256 and sha256_of(text) != sha256.lower():
            raise BundleError(place, f"has a manifest with sha256 {sha256_of(text)}, not the one given")
        chosen = _chosen(Manifest.from_bytes(text, place), names, place)
        tables = [
            Fetched(one, folder / one.file, not _is_there(folder, one, progress)) for one in chosen
        ]
        missing = [table for table in tables if table.changed]
        if not missing:
            parts.forget(text)
        else:
            _require_room(folder, missing, parts.hold(), source)
        begun: list[Path] = []
        try:
            for table in missing:
                begun.append(parts.path(table.entry))
                _obtain(source, table.entry, begun[-1], progress)
            for table in missing:
                put_in_place(parts.path(table.entry), table.path)
        except BaseException:
            if not source.goes_on:  # copies would only take room until then
                for part in begun:
                    part.unlink(missing_ok=True)
            raise
    return tables


def _chosen(manifest: Manifest, names: Sequence[str], place: str) -> list[Entry]:
    known = {entry.name: entry for entry in manifest.tables}
    for name in names:
        if name not in known:
            raise InvalidParameterError(
                "table", name, f"one of '{place}': {', '.join(known) or 'none'}"
            )
    return [known[name] for name in dict.fromkeys(names)] if names else list(manifest.tables)


def _is_there(folder: Path, entry: Entry, progress: Progress) -> bool:
    path = folder / entry.file
    try:
        if not path.is_file() or path.stat().st_size != entry.size:
            return False
        with progress.stage(f"{entry.name}: compare", "bytes") as report:
            return file_digest(path, report) == entry.sha256
    except OSError:
        return False


def _require_room(folder: Path, missing: list[Fetched], parts: Path, source: Source) -> None:
    here = sum(path.stat().st_size for path in parts.iterdir())
    needed = sum(table.entry.size for table in missing) + source.room_needed() - here
    free = available_disk(folder)
    if free is not None and needed > free:
        raise FailureError(
            f"'{folder}' has no room: {sized(needed)} are needed, and {sized(free)} available"
        )


def _obtain(source: Source, entry: Entry, part: Path, progress: Progress) -> None:
    """Have a table in a file, and check all of it; a file that is no good does not stay."""
    for may_start_again in (True, False):
        try:
            return _obtain_once(source, entry, part, progress)
        except BundleError:
            part.unlink(missing_ok=True)
            if not (may_start_again and source.start_again()):
                raise
    return None


def _obtain_once(source: Source, entry: Entry, part: Path, progress: Progress) -> None:
    with progress.stage(f"{entry.name}: fetch", "bytes") as report:
        source.obtain(entry, part, report)
    with progress.stage(f"{entry.name}: compare", "bytes") as report:
        if file_digest(part, report) != entry.sha256:
            problem = f"holds {entry.file} with another sha256 than its manifest says"
            raise BundleError(source.place, problem)
    with progress.stage(f"{entry.name}: check", "chunks") as report:
        check_table(part, entry, source.place, report)


class Parts:
    """The folder for what has not come whole yet, inside the one for tables; made when it is needed."""

    def __init__(self, folder: Path) -> None:
        self._target, self._folder = folder, folder / PARTS
        self._held: IO[bytes] | None = None

    def path(self, entry: Entry) -> Path:
        """The file for a table. Called after its hash: it can be gone on with wherever it came from."""
        return self._folder / f"{entry.sha256}.part"

    def hold(self) -> Path:
        """Make the folder ours.

        Raises:
            FailureError: another process has it.
        """
        if self._held is None:
            self._target.mkdir(parents=True, exist_ok=True)
            self._held = hold_folder(self._folder)
            if self._held is None:
                problem = "is being filled by another 'lookup fetch': wait until it is done"
                raise FailureError(f"'{self._target}' {problem}")
            self._sweep()
        return self._folder

    def forget(self, manifest: bytes) -> None:
        """Remove the archive of a bundle whose tables are all in place: who was killed then left it."""
        if self._held:
            for suffix in ARCHIVES:
                (self._folder / f"{sha256_of(manifest)}{suffix}").unlink(missing_ok=True)

    def _sweep(self) -> None:
        """Remove what nobody has gone on with for long; the lock is ours, however old it is."""
        for path in self._folder.iterdir():
            with suppress(OSError):
                if path.name != "lock" and path.stat().st_mtime < time.time() - KEPT_SECONDS:
                    path.unlink()

    def __enter__(self) -> Self:
        # Who was killed when all was done has left an empty one, and nothing may be missing this time.
        with suppress(OSError):
            if self._folder.is_dir():
                self._held = hold_folder(self._folder)
        if self._held:
            self._sweep()
        return self

    def __exit__(self, *_: object) -> None:
        if self._held is None:
            return
        with suppress(OSError):
            if [path.name for path in self._folder.iterdir()] == ["lock"]:
                leave_folder(self._folder, self._held)
        self._held.close()


@contextmanager
def _failures(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        path = error.filename2 or error.filename or folder
        raise FailureError(f"'{path}' cannot be written: {error.strerror or error}") from None
