"""Cases of `torture_builds` that find no room for what they write, or no right to."""

from __future__ import annotations

import os
import shutil
import subprocess
import threading
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

from torture_builds_cases import CASES
from torture_builds_lab import SpoiledError, content

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from torture_builds_lab import Lab

    from lookup.progress import Report

SIZES = 4
"""File systems of each case, from none to a bit too small."""

VANISHING = 2
"""Times that the folder of each case vanishes while it works."""

ENOUGH = "size=256m,nr_inodes=10000"


def full(lab: Lab, report: Report) -> None:
    """Do each case where there is less room than it needs, and then where there is enough."""
    can_mount = _can_mount(lab)
    lab.tally.figures["full disks"] = (
        "small file systems" if can_mount else "a limit on the size of files"
    )
    for number, name in enumerate(lab.names):
        for limit in _limits(lab, name, can_mount):

            def work(folder: Path, name: str = name, limit: str | int = limit) -> str:
                if isinstance(limit, int):
                    return _disturbed(lab, name, folder, file_size=limit)
                with _mounted(folder / "out", limit):
                    return _disturbed(lab, name, folder)

            lab.trial("full", name, f"with {limit}", work)
        report(number + 1, len(lab.names))


def _disturbed(lab: Lab, name: str, folder: Path, file_size: int | None = None) -> str:
    """Do a case with little room, and once more with enough."""
    how = {} if file_size is None else {"file_size": file_size}
    end = lab.run(name, folder, **how)
    if end.code and not end.is_sentence:
        raise SpoiledError("no plain sentence", f"{end.code}: {end.error}")
    found = lab.look(name, folder, clean=True)
    if not end.code:
        lab.require_finished(name, folder)
    if file_size is None:
        _mount("remount," + ENOUGH, folder / "out")
    lab.finish(name, folder)
    return found if end.code else "had room"


def _limits(lab: Lab, name: str, can_mount: bool) -> Sequence[str | int]:
    """Options of mount for file systems that are too small; or sizes of the largest file."""
    before, after = (lab.references[name].before, lab.references[name].after)
    there, needed = _blocks(before), _blocks(after) + _blocks(before)
    count = lab.tally.share(SIZES)
    if not can_mount:
        most = max(_sizes(after))
        return [most * at // count for at in range(count)]
    sizes = sorted({there + (needed - there) * at // count for at in range(count)})
    files = sorted({_files(before) + 1 + more for more in (1, 2, 3, 5, 9)[:count]})
    return [f"size={max(1, one) * 4}k" for one in sizes] + [
        f"size=64m,nr_inodes={one}" for one in files
    ]


def _sizes(content: dict[str, object]) -> Iterator[int]:
    for one in content.values():
        if isinstance(one, dict):
            yield from _sizes(one)
        elif isinstance(one, bytes):
            yield len(one)


def _blocks(content: dict[str, object]) -> int:
    """Blocks of 4 KiB that files take."""
    return sum(-(-size // 4096) for size in _sizes(content))


def _files(content: dict[str, object]) -> int:
    return sum(1 + (_files(one) if isinstance(one, dict) else 0) for one in content.values())


# --- file systems of our own ----------------------------------------------------------------------


def _mount(options: str, folder: Path) -> bool:
    words = ["mount", "-t", "tmpfs", "-o", options, "none", str(folder)]
    return (
        shutil.which("mount") is not None and not subprocess.run(words, capture_output=True).returncode
    )


def _can_mount(lab: Lab) -> bool:
    folder = lab.fresh(lab.names[0])
    is_mounted = _mount("size=4k", folder / "out")
    if is_mounted:
        _unmount(folder / "out")
    shutil.rmtree(folder)
    return is_mounted


def _unmount(folder: Path) -> None:
    subprocess.run(["umount", "-l", str(folder)], check=True)


@contextmanager
def _mounted(out: Path, options: str) -> Iterator[None]:
    """A small file system in the place of a folder, with what is in it."""
    aside = out.with_name("aside")
    out.rename(aside)
    out.mkdir()
    if not _mount(options, out):
        raise SpoiledError("cannot be mounted", options)
    try:
        shutil.copytree(aside, out, dirs_exist_ok=True)
        yield
    finally:
        _unmount(out)


# --- no right to write ----------------------------------------------------------------------------


def refused(lab: Lab, report: Report) -> None:
    """Do each case where it may not write, and where the folder vanishes."""
    can_mount = _can_mount(lab)
    for number, name in enumerate(lab.names):
        read_only = partial(_read_only, lab, name, can_mount=can_mount)
        lab.trial("refused", name, "in a read-only folder", read_only)
        lab.trial("refused", name, "in a file", partial(_in_the_way, lab, name))
        for _ in range(lab.tally.share(VANISHING)):
            moment = lab.random.uniform(0, lab.references[name].seconds)

            def work(folder: Path, name: str = name, moment: float = moment) -> str:
                return _vanishes(lab, name, folder, moment)

            lab.trial("refused", name, f"in a folder that vanishes after {moment} s", work)
        report(number + 1, len(lab.names))


def _read_only(lab: Lab, name: str, folder: Path, *, can_mount: bool) -> str:
    if not can_mount and os.geteuid() == 0:
        return "could not be tried"
    out = folder / "out"
    if can_mount:
        with _mounted(out, ENOUGH):
            _mount("remount,ro", out)
            found = _refused(lab, name, folder)
            _mount("remount,rw," + ENOUGH, out)
            lab.finish(name, folder)
        return found
    folders = [out, *(one for one in out.rglob("*") if one.is_dir())]
    for one in folders:
        one.chmod(0o555)
    try:
        found = _refused(lab, name, folder)
    finally:
        for one in folders:
            one.chmod(0o755)
    lab.finish(name, folder)
    return found


def _refused(lab: Lab, name: str, folder: Path) -> str:
    end = lab.run(name, folder)
    if not end.is_sentence:
        raise SpoiledError("no plain sentence", f"{end.code}: {end.error}")
    if content(folder / "out") != lab.references[name].before:
        raise SpoiledError("something was changed", end.error)
    return "one sentence"


def _in_the_way(lab: Lab, name: str, folder: Path) -> str:
    out = folder / "out"
    out.rename(folder / "aside")
    out.write_text("a file")
    end = lab.run(name, folder)
    if not end.is_sentence or out.read_text() != "a file":
        raise SpoiledError("no plain sentence", f"{end.code}: {end.error}")
    out.unlink()
    (folder / "aside").rename(out)
    lab.finish(name, folder)
    return "one sentence"


def _vanishes(lab: Lab, name: str, folder: Path, moment: float) -> str:
    timer = threading.Timer(moment, shutil.rmtree, (folder / "out",), {"ignore_errors": True})
    timer.start()
    try:
        end = lab.run(name, folder)
    finally:
        timer.join()
    if end.code and not end.is_sentence:
        raise SpoiledError("no plain sentence", f"{end.code}: {end.error}")
    shutil.rmtree(folder / "out", ignore_errors=True)
    CASES[name].before(_emptied(folder))
    lab.finish(name, folder)
    return "one sentence" if end.code else "finished before"


def _emptied(folder: Path) -> Path:
    for part in ("in", "out"):
        shutil.rmtree(folder / part, ignore_errors=True)
        (folder / part).mkdir()
    return folder
