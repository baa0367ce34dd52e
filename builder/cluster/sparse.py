"""Arrays as long as a whole table, of which only what is used takes memory.

A task works on a stretch of a plan's arrays and on what that reads: a plan whose arrays are made here
can be run as it is, whatever its size. The system gives memory page by page when a page is written, and
takes all of it back when the array is gone.
"""

from __future__ import annotations

import mmap
import platform
from typing import TYPE_CHECKING, Any

import numpy as np

from lookup.disk import sized
from lookup.errors import BuildError

if TYPE_CHECKING:
    from numpy.typing import NDArray

_MACHINES = ("x86_64", "aarch64")

# More may be asked for than there is. Python does not name the flag before 3.13, and elsewhere it is
# another or none.
_NO_RESERVE = 0x4000 if platform.system() == "Linux" and platform.machine() in _MACHINES else 0


def sparse_zeros(length: int, dtype: Any) -> NDArray[Any]:
    """As `np.zeros`, for lengths beyond all memory too.

    Raises:
        BuildError: the system does not allow it.
    """
    size = length * np.dtype(dtype).itemsize
    if not size or not hasattr(mmap, "MAP_PRIVATE"):
        return np.zeros(length, dtype)
    try:
        room = mmap.mmap(-1, size, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _NO_RESERVE)
    except (OSError, OverflowError):
        raise BuildError(
            f"addresses for {sized(size)}, of which little would be used, cannot be had: expected no "
            "limit of them, such as ulimit -v or vm.overcommit_memory = 2"
        ) from None
    if hasattr(mmap, "MADV_NOHUGEPAGE"):
        room.madvise(mmap.MADV_NOHUGEPAGE)  # else a page is 2 MiB, and little takes much
    return np.frombuffer(room, dtype)
