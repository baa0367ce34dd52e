"""What a build needs and what the machine has, compared before any work."""

from __future__ import annotations

import os
import re
from pathlib import Path

from lookup.errors import BuildError, InvalidParameterError

BEYOND = 1 << 60
"""Bytes, or indices, that no machine has."""

_MIB, _GIB = 1 << 20, 1 << 30
_SIZE = re.compile(r"(\d{1,18}(?:\.\d{1,9})?)\s*(?:([KMGT])(?:i?B)?|B)?", re.IGNORECASE | re.ASCII)


def available_memory() -> int | None:
    """Bytes that can be allocated now, or None if the system does not say."""
    known = [left for left in (_left_on_machine(), _left_in_group()) if left is not None]
    return min(known, default=None)


def _left_on_machine() -> int | None:
    try:
        for line in Path("/proc/meminfo").read_text("ascii").splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    try:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return None


def _left_in_group(folder: Path = Path("/sys/fs/cgroup")) -> int | None:
    """What a container's limit leaves, if there is one."""
    try:
        limit = (folder / "memory.max").read_text("ascii").strip()
        used = int((folder / "memory.current").read_text("ascii"))
    except (OSError, ValueError):
        return None
    return None if limit == "max" else max(0, int(limit) - used)


def usable_memory() -> int:
    """Bytes that work may take without crowding out others; `BEYOND` if the system does not say."""
    available = available_memory()
    return BEYOND if available is None else available - available // 8


def bytes_from_text(text: str) -> int:
    """Bytes as a person writes them: `8G`, `500M`, `1.5GiB`, `4096`; all letters mean powers of 1024.

    Raises:
        InvalidParameterError: the text is not such a number.
    """
    if not (match := _SIZE.fullmatch(text.strip())):
        raise InvalidParameterError("memory", text, "bytes, as in 8G, 500M, 1.5GiB or 4096")
    number, letter = match.groups()
    return int(float(number) * 1024 ** (" KMGT".index(letter.upper()) if letter else 0))


def require_memory(needed: int, what: str, available: int | None = None) -> None:
    """Refuse work that does not fit in the `available` bytes (all there are), before it starts.

    Raises:
        BuildError: it needs more memory than there is.
    """
    if needed >= BEYOND:
        raise BuildError(f"{what} is larger than any machine: it was not started")
    available = available_memory() if available is None else available
    if available is not None and needed > available:
        raise BuildError(
            f"{what} needs about {_shown(needed)} of memory, and {_shown(available)} "
            "are available: it was not started"
        )


def _shown(size: int) -> str:
    return f"{size / _GIB:.1f} GiB" if size >= _GIB else f"{size / _MIB:.1f} MiB"
