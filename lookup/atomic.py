"""Files and folders that appear whole or not at all: written under another name, then renamed.

    .<name>.<process>.<random>.tmp     a file being written, or the mark of a folder being filled
    .<name>.<process>.<random>.new     that folder; once it is in place, the one that was there
    .<name>.<process>.<random>.old     the one that was there, where two folders cannot be exchanged

Whoever writes holds a lock on the `.tmp`. One that nobody holds is of a process that was killed: the
next that writes the same name removes it, and folders whose mark is gone. The number of a process
proves nothing: others may have it by now, and containers and machines that share a folder have their
own.
"""

from __future__ import annotations

import errno
import glob
import os
import re
import secrets
import shutil
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from lookup.locks import is_at, try_lock

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

KEPT_SECONDS = 7 * 24 * 3600
"""How long a temporary file stays that nobody writes to, where files cannot be locked."""

_UNFLUSHABLE = (errno.EINVAL, errno.EACCES, errno.EBADF, errno.ENOTSUP)


@contextmanager
def temporary_beside(path: Path) -> Iterator[Path]:
    """A path in the same folder to write to, gone when the block ends; see `put_in_place`.

    Leftovers of processes that were killed while writing the same file are removed. What writes to it
    must not lock it, as HDF5 does unless it is told otherwise.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    _sweep(path)
    temporary, held = _new(path)
    try:
        yield temporary
    finally:
        try:
            temporary.unlink(missing_ok=True)
        finally:
            if held is not None:
                os.close(held)


def put_in_place(temporary: Path, path: Path) -> None:
    """Let a finished temporary file take the place of `path`, which is a whole file, old or new.

    The file is flushed to disk before it is renamed: a crash must not leave the name without content.
    """
    _flush(temporary)
    temporary.replace(path)
    _flush_folder(path.parent)


@contextmanager
def temporary_folder_beside(path: Path) -> Iterator[Path]:
    """A folder in the same one to fill, gone when the block ends; see `put_folder_in_place`.

    Leftovers of processes that were killed while filling the same folder are removed.
    """
    with temporary_beside(path) as mark:
        temporary = mark.with_suffix(".new")
        temporary.mkdir()
        try:
            yield temporary
        finally:
            shutil.rmtree(temporary, ignore_errors=True)


def put_folder_in_place(temporary: Path, path: Path) -> None:
    """Let a finished temporary folder take the place of `path`, be it there or not.

    Where the system can exchange two folders at once (Linux, macOS), `path` is the old or the new one
    at any moment. Elsewhere there is a moment without it: if the process is killed then, the next that
    writes the same folder brings the old one back first.
    """
    for item in temporary.rglob("*"):
        if item.is_dir():
            _flush_folder(item)
        else:
            _flush(item)
    _flush_folder(temporary)
    try:
        temporary.rename(path)
    except OSError:
        if not path.is_dir():
            raise
        if not _exchange(temporary, path):
            _take_turns(temporary, path)
    _flush_folder(path.parent)


def _exchange(one: Path, other: Path) -> bool:
    """Let two folders change names at once; False where that cannot be."""
    import ctypes  # Python has no function for it

    paths = os.fsencode(one), os.fsencode(other)
    try:
        system = ctypes.CDLL(None)
        if hasattr(system, "renameat2"):  # of Linux: AT_FDCWD twice, and RENAME_EXCHANGE
            return bool(system.renameat2(-100, paths[0], -100, paths[1], 2) == 0)
        return bool(system.renamex_np(*paths, 2) == 0)  # of macOS: RENAME_SWAP
    except (AttributeError, OSError, TypeError):  # another system, or an older one
        return False


def _take_turns(temporary: Path, path: Path) -> None:
    """The same in two steps."""
    old = temporary.with_suffix(".old")
    path.rename(old)
    try:
        temporary.rename(path)
    except OSError:
        old.rename(path)
        raise
    shutil.rmtree(old)


def _new(path: Path) -> tuple[Path, int | None]:
    """A new file beside `path`, and the handle by which it is held until that is closed."""
    while True:
        temporary = path.parent / f".{path.name}.{os.getpid()}.{secrets.token_hex(4)}.tmp"
        held = os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666)
        if os.name == "nt":
            os.close(held)  # what is open there cannot be renamed
            return temporary, None
        # Shared, so that others may read it; who sweeps asks for more.
        is_ours = try_lock(held, shared=True)
        if is_ours is None or (is_ours and is_at(held, temporary)):
            return temporary, held
        os.close(held)  # swept before it was held


def _sweep(path: Path) -> None:
    """Remove what processes that were killed have left beside `path`, and bring back what they took.

    What cannot be removed stays: it is in nobody's way.
    """
    found = {kind: list(_leftovers(path, kind)) for kind in ("tmp", "new", "old")}
    for mark in found["tmp"]:
        with suppress(OSError):
            _remove_if_abandoned(mark)
    # A mark is made before its folders and removed after them.
    for old in found["old"]:
        if not old.with_suffix(".tmp").exists() and not path.exists():
            with suppress(OSError):
                old.rename(path)
    for folder in found["new"] + found["old"]:
        if not folder.with_suffix(".tmp").exists():
            shutil.rmtree(folder, ignore_errors=True)


def _leftovers(path: Path, kind: str) -> Iterator[Path]:
    """What may have been left beside `path`, as its name says."""
    for found in path.parent.glob(f".{glob.escape(path.name)}.*.{kind}"):
        if re.fullmatch(rf"\.\d+\.[0-9a-f]+\.{kind}", found.name[len(path.name) + 1 :]):
            yield found


def _remove_if_abandoned(temporary: Path) -> None:
    """Remove a temporary file that nobody writes to any more."""
    handle: int | None = None
    with suppress(PermissionError):  # of another user
        handle = os.open(temporary, os.O_RDWR)
    try:
        is_free = None if handle is None else try_lock(handle)
        if is_free is None:
            is_free = temporary.stat().st_mtime < time.time() - KEPT_SECONDS
        if is_free:
            temporary.unlink()  # while it is locked: one that is being made must not be taken for free
    finally:
        if handle is not None:
            os.close(handle)


def _flush(file: Path) -> None:
    handle = os.open(file, os.O_RDWR)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _flush_folder(folder: Path) -> None:
    """Flush the names in a folder, where the system can do that and lets us."""
    try:
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
    except OSError as error:
        if error.errno not in _UNFLUSHABLE:
            raise
