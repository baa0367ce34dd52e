"""Files as bytes: their hashes, their sizes in words, and whether there is room for them."""

from __future__ import annotations

import hashlib
import os
import shutil
from contextlib import suppress
from typing import TYPE_CHECKING

from lookup.progress import silent

if TYPE_CHECKING:
    from pathlib import Path

    from lookup.progress import Report

AT_ONCE = 1 << 20
"""Bytes that are read or written at a time."""


def sized(count: int) -> str:
    """A number of bytes as people write it."""
    for unit, power in (("GiB", 30), ("MiB", 20), ("KiB", 10)):
        if count >= 1 << power:
            value = count / (1 << power)
            return f"{value:,.1f} {unit}" if value < 10 else f"{value:,.0f} {unit}"
    return f"{count} bytes"


def bytes_at(path: Path) -> int:
    """How many bytes a file takes, or all files of a folder; what cannot be looked at is left out."""
    total = 0
    if not os.path.isdir(path):  # noqa: PTH112 - Path.is_dir raises if it may not look
        with suppress(OSError):
            total = path.stat().st_size
    for folder, _, names in os.walk(path):
        for name in names:
            with suppress(OSError):
                total += os.lstat(os.path.join(folder, name)).st_size  # noqa: PTH118 - quicker, for many
    return total


def available_disk(folder: Path) -> int | None:
    """Bytes that can be written to a folder, which need not be there yet."""
    for place in (folder, *folder.absolute().parents):
        try:
            return shutil.disk_usage(place).free
        except OSError:
            continue
    return None


def file_digest(path: Path, report: Report = silent) -> str:
    """The SHA-256 of a file's bytes."""
    digest, size = hashlib.sha256(), path.stat().st_size
    with path.open("rb") as file:
        while block := file.read(AT_ONCE):
            digest.update(block)
            report(file.tell(), size)
    return digest.hexdigest()
