"""Decoded tables that several worker processes have in memory once.

The first worker that opens a table decodes it into a file in a folder in memory; the others map that
file. It is known by the name of the table's file and by its digest, so that a replaced table has one of
its own.
"""

from __future__ import annotations

import fcntl
import logging
import os
import shutil
import tempfile
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Self

import numpy as np

from lookup.records import Layout, decode_records

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from lookup.reader import TableReader

MEMORY = Path("/dev/shm")  # noqa: S108 - only a folder of our own inside it is used
_PREFIX = "endtable-"

log = logging.getLogger("lookup.service")


class Arena:
    """A folder of decoded tables, which only this user can read; it is gone in the end.

    What workers have mapped stays theirs until they end.
    """

    def __init__(self) -> None:
        on_disk = Path(tempfile.gettempdir())
        for place in (MEMORY, on_disk):
            _sweep(place)
        place = MEMORY if os.access(MEMORY, os.W_OK) else on_disk
        self.folder = Path(tempfile.mkdtemp(prefix=own_prefix(), dir=place))

    def decode(self, file: TableReader) -> NDArray[np.unsignedinteger]:
        """All records of a file, as `decode_records` gives them, in memory that is shared.

        Where there is no room for more, they are this worker's own.
        """
        name = (
            file.path.stem
        )  # as it was found; what a file calls itself must not lead out of the folder
        path = self.folder / f"{name}@{file.digest}"
        with self._locked():
            if not path.exists():
                records = decode_records(file)
                try:
                    _write(path, records)
                except OSError as error:
                    log.warning("%s is not shared between workers: %s", name, error)
                    return records
            for other in set(self.folder.glob(f"{name}@*")) - {path}:
                other.unlink()  # of a table that was replaced; who has it mapped keeps it
            return np.memmap(path, Layout.of(file).dtype, mode="r").view(np.ndarray)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """One worker at a time; the lock of one that is killed is free again."""
        with (self.folder / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield


def own_prefix() -> str:
    """How the names of temporary folders of this server begin, so that the next one can remove them."""
    return f"{_PREFIX}{os.getpid()}-"


def _write(path: Path, records: NDArray[np.unsignedinteger]) -> None:
    """Put a file in place, whole or not at all."""
    fresh = path.with_name(".new")
    try:
        records.tofile(fresh)
        fresh.rename(path)
    except BaseException:
        fresh.unlink(missing_ok=True)
        raise


def _sweep(place: Path) -> None:
    """Remove what servers left behind that were killed and had no time to do it."""
    for folder in place.glob(f"{_PREFIX}*-*"):
        owner = folder.name.removeprefix(_PREFIX).split("-")[0]
        with suppress(OSError):  # another server that starts now may be faster
            is_ours = folder.lstat().st_uid == os.getuid()
            if is_ours and owner.isdecimal() and not _runs(int(owner)):
                shutil.rmtree(folder, ignore_errors=True)


def _runs(process: int) -> bool:
    try:
        os.kill(process, 0)  # sends nothing
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        pass
    return True
