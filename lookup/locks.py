"""Locks between processes, which end with the process that holds them, however it ends.

They hold between containers that share a folder, and between machines where its file system says so.
Windows has none of these, and some file systems neither.
"""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from typing import TYPE_CHECKING

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]  # a module where there is one

if TYPE_CHECKING:
    from pathlib import Path
    from typing import IO


def try_lock(handle: int, *, shared: bool = False) -> bool | None:
    """Lock an open file: False if another has it, None where there are no locks."""
    if not fcntl:
        return None
    try:
        fcntl.flock(handle, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return None
    return True


def is_at(handle: int, path: Path) -> bool:
    """Whether an open file is still the one at a path."""
    try:
        return os.path.samestat(os.fstat(handle), path.stat())
    except OSError:
        return False


def hold_folder(folder: Path) -> IO[bytes] | None:
    """Make a folder and lock the file `lock` in it; None if another process has it.

    It is held until the file is closed. Whoever holds it may clear the folder, and leave it.
    """
    while True:
        folder.mkdir(exist_ok=True)
        try:
            held = (folder / "lock").open("ab")
        except FileNotFoundError:
            if (folder / "lock").is_symlink():
                raise  # it leads nowhere
            continue  # who had it has just removed it
        except OSError:
            with suppress(OSError):  # others may be at work there
                folder.rmdir()
            raise
        is_free = try_lock(held.fileno())
        if is_free is False:
            held.close()
            return None
        if is_free is None or is_at(held.fileno(), folder / "lock"):
            return held
        held.close()  # the lock of a folder that was removed in the meantime


def clear_folder(folder: Path) -> None:
    """Remove all that is in a folder that is held, but for its lock."""
    for item in folder.iterdir():
        if item.is_dir():
            shutil.rmtree(item)
        elif item.name != "lock":
            item.unlink(missing_ok=True)


def leave_folder(folder: Path, held: IO[bytes]) -> None:
    """Let go of a folder that is held, and remove it unless something else is in it.

    The lock goes after all that it guards: from then on the folder may be another's.
    """
    if os.name == "nt":
        held.close()  # what is open there cannot be removed
    with suppress(OSError):
        (folder / "lock").unlink()
        folder.rmdir()
    held.close()
