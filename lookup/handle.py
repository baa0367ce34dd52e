"""A regular file, open to be read at any place, by any thread."""

from __future__ import annotations

import errno
import os
import stat
from threading import Lock
from typing import TYPE_CHECKING, BinaryIO

from lookup.errors import MissingTableError, TableFileError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

NO_WAITING = getattr(os, "O_NONBLOCK", 0)
"""To open a pipe without waiting for somebody who writes; nothing to files."""

_NO_LINKS = getattr(os, "O_NOFOLLOW", 0)

# Reads at a place without moving there, so that threads need not take turns; Windows lacks it.
_pread: Callable[[int, int, int], bytes] | None = getattr(os, "pread", None)


class TooManyFilesError(TableFileError):
    """The process, or the system, has as many files open as it may."""


class Handle:
    """An open file; `size` is how many bytes it had when it was opened.

    Keeps reading the file it opened when another is put in its place. With `itself`, a link to a file
    is not taken for one.

    Raises:
        MissingTableError: there is no file.
        TooManyFilesError: it may be opened once others are closed.
        TableFileError: it cannot be read.
    """

    def __init__(self, path: Path, *, itself: bool = False) -> None:
        self.path = path
        self._lock = Lock()
        self._file = _open(path, itself)
        self.size = os.fstat(self._file.fileno()).st_size

    def close(self) -> None:
        """Close it; what was read stays valid."""
        self._file.close()

    @property
    def is_closed(self) -> bool:
        """Whether it was closed."""
        return self._file.closed

    def read_at(self, offset: int, size: int) -> bytes:
        """So many bytes there, or as many as there are.

        Raises:
            TableFileError: they cannot be read.
        """
        try:
            if _pread is None:
                with self._lock:
                    self._file.seek(offset)
                    return self._file.read(size)
            handle, raw = self._file.fileno(), b""
            while len(raw) < size and (more := _pread(handle, size - len(raw), offset + len(raw))):
                raw += more
        except OSError as error:
            if self._file.closed:
                raise closed(self.path) from None
            raise TableFileError(self.path, f"cannot be read: {error.strerror or error}") from None
        except ValueError:
            raise closed(self.path) from None
        return raw


def closed(path: Path) -> TableFileError:
    """What is said to whoever reads what was closed."""
    return TableFileError(path, "cannot be read: it was closed")


def _open(path: Path, itself: bool) -> BinaryIO:
    missing = MissingTableError(path.name or str(path), [path.parent])
    flags = NO_WAITING | _NO_LINKS if itself else NO_WAITING

    def at_once(name: str, mode: int) -> int:
        """A pipe that was put there this very moment is opened too, but not waited for."""
        return os.open(name, mode | flags)

    try:
        if itself and path.is_symlink():  # also where there is no such flag
            raise TableFileError(path, "cannot be read: it is a link, expected the file itself")
        if path.is_file() or not path.exists():
            file = open(path, "rb", opener=at_once)  # noqa: SIM115 - a path has no opener
            if stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                return file
            file.close()
    except (FileNotFoundError, NotADirectoryError):
        raise missing from None
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        reason = getattr(error, "strerror", None) or error
        is_full = getattr(error, "errno", None) in (errno.EMFILE, errno.ENFILE)
        kind = TooManyFilesError if is_full else TableFileError
        raise kind(path, f"cannot be read: {reason}") from None
    raise missing  # a folder, or a pipe that would never answer
