"""What a build needs and what the machine has, compared before any work."""

from __future__ import annotations

import os
from pathlib import Path

from lookup.errors import BuildError

BEYOND = 1 << 60
"""Bytes, or indices, that no machine has."""

_GIB = 1 << 30


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


def require_memory(needed: int, what: str) -> None:
    """Refuse work that does not fit, before it starts.

    Raises:
        BuildError: it needs more memory than there is.
    """
    if needed >= BEYOND:
        raise BuildError(f"{what} is larger than any machine: it was not started")
    available = available_memory()
    if available is not None and needed > available:
        raise BuildError(
            f"{what} needs about {needed / _GIB:.1f} GiB of memory, and {available / _GIB:.1f} GiB "
            "are available: it was not started"
        )
