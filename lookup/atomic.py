"""Files that appear whole or not at all: written under another name, then renamed."""

from __future__ import annotations

import glob
import os
import re
import secrets
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
    temporary = path.parent / f".{path.name}.{os.getpid()}.{secrets.token_hex(4)}.tmp"
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
    match = re.search(r"\.(\d+)\.[0-9a-f]+\.tmp$", temporary.name)
    if not match or os.name == "nt":
        return True  # not ours to judge; on Windows the question itself would be a signal
    try:
        os.kill(int(match.group(1)), 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
