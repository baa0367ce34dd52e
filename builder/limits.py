"""What a build needs and what the machine has, compared before any work."""

from __future__ import annotations

import os
from pathlib import Path

from lookup.errors import BuildError

_GIB = 1 << 30


def available_memory() -> int | None:
    """Bytes that can be allocated now, or None if the system does not say."""
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


def require_memory(needed: int, what: str) -> None:
    """Refuse a build that does not fit.

    Raises:
        BuildError: it needs more memory than there is.
    """
    available = available_memory()
    if available is not None and needed > available:
        raise BuildError(
            f"{what} needs about {needed / _GIB:.1f} GiB of memory, and {available / _GIB:.1f} GiB "
            "are available: nothing was built"
        )
