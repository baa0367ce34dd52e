"""Room on the disk for a table, had before HDF5 writes to it.

HDF5 takes it badly when a disk is full: it passes over what fails when an object is closed, and then
may crash. So every block that it will write is reserved first, by the system, which says plainly if
there is none. Where that cannot be done (macOS, Windows, some file systems) HDF5 must see for itself.
"""

from __future__ import annotations

import errno
import os
import struct
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

_STRUCTURE = 32 * 1024  # what a file without chunks takes, at most
_A_CHUNK = 256  # ... and each chunk besides: its digest, and its entry in a tree that may be half empty
_END = struct.Struct("<40xQ")  # the superblock of HDF5: where the file ends

# Fails where there is no room; macOS and Windows lack it, and some file systems cannot do it.
_fallocate: Callable[[int, int, int], None] | None = getattr(os, "posix_fallocate", None)
_CANNOT = {errno.EINVAL, errno.ENODEV, errno.ENOSYS, errno.EOPNOTSUPP}


class Room:
    """The room that a file of so many chunks takes."""

    def __init__(self, path: Path, chunks: int) -> None:
        self._path = path
        self._needed = _STRUCTURE + _A_CHUNK * chunks
        self._had = 0

    def begin(self) -> None:
        """Reserve what the structure takes, of a file that was just made.

        Raises:
            OSError: there is no such room.
        """
        self._had = 0
        self.add(0)

    def add(self, size: int) -> None:
        """Reserve room for one more chunk, which is about to be written.

        Raises:
            OSError: there is none.
        """
        self._needed += size
        if not _fallocate or self._needed <= self._had:
            return
        handle = os.open(self._path, os.O_RDWR)
        try:
            try:
                self._reserve(handle, self._needed + self._needed // 16)  # not for each chunk anew
            except OSError:
                self._reserve(handle, self._needed)
        finally:
            os.close(handle)

    def _reserve(self, handle: int, end: int) -> None:
        """Reserve all up to `end`, if that can be done there at all."""
        assert _fallocate
        try:
            _fallocate(handle, self._had, end - self._had)
        except OSError as error:
            if error.errno not in _CANNOT:
                raise
        self._had = end

    def give_back(self) -> None:
        """Let the file, which is whole and closed, end where HDF5 says that it ends."""
        with self._path.open("r+b") as file:
            (end,) = _END.unpack(file.read(_END.size))
            file.truncate(end)
