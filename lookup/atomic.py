"""Files and folders that appear whole or not at all: written under another name, then renamed."""

from __future__ import annotations

import glob
import os
import re
import secrets
import shutil
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@contextmanager
def temporary_beside(path: Path) -> Iterator[Path]:
    """A path in the same folder to write to, gone when the block ends; see `put_in_place`.

    Leftovers of processes that were killed while writing the same file are removed.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    for leftover in path.parent.glob(f".{glob.escape(path.name)}.*.tmp"):
        if not _is_running(leftover):
            leftover.unlink(missing_ok=True)
    temporary = _beside(path, "tmp")
    temporary.touch(exist_ok=False)
    try:
        yield temporary
    finally:
        temporary.unlink(missing_ok=True)


def put_in_place(temporary: Path, path: Path) -> None:
    """Let a finished temporary file take the place of `path`, which is a whole file, old or new.

    The file is flushed to disk before it is renamed: a crash must not leave the name without content.
    """
    _flush(temporary)
    temporary.replace(path)
    _flush(path.parent)


@contextmanager
def temporary_folder_beside(path: Path) -> Iterator[Path]:
    """A folder in the same one to fill, gone when the block ends; see `put_folder_in_place`.

    Leftovers of processes that were killed while filling the same folder are removed.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    _sweep(path, "tmp")
    temporary = _beside(path, "tmp")
    temporary.mkdir()
    try:
        yield temporary
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def put_folder_in_place(temporary: Path, path: Path) -> None:
    """Let a finished temporary folder take the place of `path`, be it there or not.

    Where the system can exchange two folders at once (Linux, macOS), `path` is the old or the new one
    at any moment. Elsewhere there is a moment without it: whoever is killed then leaves the old one
    beside it.
    """
    for file in temporary.rglob("*"):
        _flush(file)
    _flush(temporary)
    if not path.exists():
        temporary.rename(path)
    elif not _exchange(temporary, path):
        old = _beside(path, "old")
        path.rename(old)
        try:
            temporary.rename(path)
        except OSError:
            old.rename(path)
            raise
        shutil.rmtree(old)
    _flush(path.parent)
    _sweep(path, "old")


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


def _beside(path: Path, kind: str) -> Path:
    """A new name in the same folder, which says whose it is."""
    return path.parent / f".{path.name}.{os.getpid()}.{secrets.token_hex(4)}.{kind}"


def _sweep(path: Path, kind: str) -> None:
    """Remove folders that processes which run no more have left beside `path`."""
    for leftover in path.parent.glob(f".{glob.escape(path.name)}.*.{kind}"):
        whose = re.fullmatch(rf"\.\d+\.[0-9a-f]+\.{kind}", leftover.name[len(path.name) + 1 :])
        if whose and leftover.is_dir() and not _is_running(leftover):
            shutil.rmtree(leftover, ignore_errors=True)


def _flush(path: Path) -> None:
    if os.name == "nt" and path.is_dir():
        return  # Windows cannot open folders, and needs no flush of them
    handle = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _is_running(temporary: Path) -> bool:
    """Whether the process that made a temporary file still runs."""
    match = re.search(r"\.(\d+)\.[0-9a-f]+\.(?:tmp|old)$", temporary.name)
    if not match or os.name == "nt":
        return True  # not ours to judge; on Windows the question itself would be a signal
    try:
        os.kill(int(match.group(1)), 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
