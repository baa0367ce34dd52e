"""What a build needs and what the machine has, compared before any work."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import NamedTuple

from lookup.disk import sized
from lookup.errors import BuildError, InvalidParameterError

BEYOND = 1 << 60
"""Bytes, or indices, that no machine has."""

_GROUPS = Path("/sys/fs/cgroup")
_SIZE = re.compile(r"(\d{1,18}(?:\.\d{1,9})?)\s*(?:([KMGT])(?:i?B)?|B)?", re.IGNORECASE | re.ASCII)


class Needs(NamedTuple):
    """What a build takes, and what there is; None where the system does not say."""

    table: str
    positions: int
    memory: int
    memory_available: int | None
    disk: int
    disk_available: int | None

    def __str__(self) -> str:
        memory = f"{sized(self.memory)} of memory ({_known(self.memory_available)})"
        disk = f"{sized(self.disk)} of disk ({_known(self.disk_available)})"
        return f"{self.table}: {self.positions:,} positions, needs about {memory} and {disk}"

    def require(self, *, force: bool = False) -> None:
        """Refuse work that does not fit, before it starts; with `force` only what can fit nowhere.

        Raises:
            BuildError: it needs more memory or disk than there is.
        """
        require_memory(self.memory, self.table, None if force else self.memory_available)
        if force:
            return
        if self.disk_available is not None and self.disk > self.disk_available:
            have = _known(self.disk_available)
            raise BuildError(
                f"{self.table} needs about {sized(self.disk)} of disk, and {have}: it was not started"
            )


def require_memory(needed: int, what: str, available: int | None) -> None:
    """Refuse work that does not fit in memory, before it starts.

    Raises:
        BuildError: it needs more than there is.
    """
    if needed >= BEYOND:
        raise BuildError(f"{what} is larger than any machine: it was not started")
    if available is not None and needed > available:
        raise BuildError(
            f"{what} needs about {sized(needed)} of memory, and {_known(available)}: it was not started"
        )


def bytes_from_text(text: str) -> int:
    """Bytes as a person writes them: `8G`, `500M`, `1.5GiB`, `4096`; all letters mean powers of 1024.

    Raises:
        InvalidParameterError: the text is not such a number.
    """
    if not (match := _SIZE.fullmatch(text.strip())):
        raise InvalidParameterError("memory", text, "bytes, as in 8G, 500M, 1.5GiB or 4096")
    number, letter = match.groups()
    return int(float(number) * 1024 ** (" KMGT".index(letter.upper()) if letter else 0))


def _known(available: int | None) -> str:
    return "unknown how much is available" if available is None else f"{sized(available)} available"


def available_memory(most: int | None = None) -> int | None:
    """Bytes that can be allocated now, at most so many; None if the system does not say."""
    known = [
        left
        for left in (_left_on_machine(), _left_in_group(), _left_in_space(), most)
        if left is not None
    ]
    return min(known, default=None)


def usable_memory() -> int:
    """Bytes that work may take without crowding out others; `BEYOND` if the system does not say."""
    available = available_memory()
    return BEYOND if available is None else available - available // 8


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


def _left_in_space() -> int | None:
    """What a limit of the address space (`ulimit -v`) leaves, if there is one."""
    try:
        import resource  # not on Windows
    except ImportError:
        return None
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    if limit == resource.RLIM_INFINITY:
        return None
    try:
        pages = int(Path("/proc/self/statm").read_text("ascii").split()[0])
    except OSError:
        return limit
    return max(0, limit - pages * os.sysconf("SC_PAGE_SIZE"))


def _left_in_group(root: Path = _GROUPS, mine: Path = Path("/proc/self/cgroup")) -> int | None:
    """What the memory limits of a container, or of any group around this process, leave."""
    left: list[int] = []
    for folder, limit, used in _groups(root, mine):
        try:
            most = (folder / limit).read_text("ascii").strip()
            if most != "max":
                left.append(max(0, int(most) - int((folder / used).read_text("ascii"))))
        except (OSError, ValueError):
            continue
    return min(left, default=None)


def _groups(root: Path, mine: Path) -> list[tuple[Path, str, str]]:
    """The folders of this process's groups, up to the root, and their files in versions 2 and 1."""
    try:
        lines = mine.read_text("ascii").splitlines()
    except (OSError, ValueError):
        lines = []
    found = []
    for line in (*lines, "0::/", "1:memory:/"):
        _, kinds, path = (*line.split(":", 2), "", "")[:3]
        if kinds and "memory" not in kinds.split(","):
            continue
        base = root / "memory" if kinds else root
        names = (
            ("memory.limit_in_bytes", "memory.usage_in_bytes")
            if kinds
            else ("memory.max", "memory.current")
        )
        inside = Path(path.lstrip("/"))
        found += [(base / place, *names) for place in (inside, *inside.parents)]
    return found
