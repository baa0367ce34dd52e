"""Cases by the thousand in children with limits: whatever one of them does, the others go on."""

from __future__ import annotations

import os
import resource
import signal
import time
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from lookup.progress import Report


class Ending(NamedTuple):
    """How a case ended; if none may end so, what was wrong. Both are one line."""

    name: str
    problem: str = ""


Work: TypeAlias = "Callable[[int, Path], Ending]"
"""Runs the case of a number, in a folder that is its own as long as it runs."""


class Limits(NamedTuple):
    """What one case may take."""

    seconds: float = 30
    address_space: int = 1 << 30  # bytes beyond what a child has when it begins
    resident: int = 32 << 20  # bytes by which the most memory that was ever in use may grow


class _Child(NamedTuple):
    pid: int
    first: int
    log: Path


def run_cases(
    count: int, work: Work, folder: Path, report: Report, limits: Limits | None = None
) -> dict[int, Ending]:
    """Run the cases of all numbers below `count`, in a child for each core; how each ended.

    A child that dies is followed by another, which goes on behind the case that it died of.
    """
    step = min(count, os.cpu_count() or 1)
    bounds = limits or Limits()
    running = [_start(first, count, step, work, folder, bounds) for first in range(step)]
    endings: dict[int, Ending] = {}
    stopped: dict[int, float] = {}
    try:
        while running:
            time.sleep(0.02)
            for child in running[:]:
                pid, status = os.waitpid(child.pid, os.WNOHANG)
                if not pid:
                    _watch(child, stopped, bounds)
                    continue
                running.remove(child)
                found, last = _read(child.log)
                child.log.unlink()
                endings |= found
                if last is None and status == 0:
                    continue
                last = child.first - step if last is None and not found else last
                number = max(found) + step if last is None else last
                endings[number] = Ending("death", _cause(status))
                if number + step < count:
                    running.append(_start(number + step, count, step, work, folder, bounds))
            report(len(endings) + sum(_lines(child.log) for child in running), count)
    finally:
        for child in running:
            os.kill(child.pid, signal.SIGKILL)
            os.waitpid(child.pid, 0)
    return endings


def _start(first: int, count: int, step: int, work: Work, folder: Path, limits: Limits) -> _Child:
    """A child that runs every `step`th case."""
    log = folder / f"{first}.log"
    own = folder / f"of-{first % step}"
    own.mkdir(exist_ok=True)
    log.touch()
    pid = os.fork()
    if pid:
        return _Child(pid, first, log)
    code = 1
    try:
        _run(range(first, count, step), work, log, own, limits)
        code = 0
    finally:
        os._exit(code)  # nothing that the parent would do at its end


def _run(numbers: range, work: Work, log: Path, own: Path, limits: Limits) -> None:
    """Run cases; tell the number of each before it begins, and its ending behind."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    pages = int(open("/proc/self/statm").read().split()[0])  # noqa: PTH123, SIM115 - quick
    most = pages * resource.getpagesize() + limits.address_space
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    signal.signal(signal.SIGALRM, signal.SIG_DFL)  # ends it, wherever it is
    with log.open("wb", buffering=0) as told:
        for number in numbers:
            told.write(b"%d " % number)
            before = _peak()
            signal.setitimer(signal.ITIMER_REAL, limits.seconds)
            try:
                ending = work(number, own)
            except Exception as error:  # noqa: BLE001 - a fault of the campaign, perhaps
                ending = Ending("exception", f"{type(error).__name__}: {error}")
            signal.setitimer(signal.ITIMER_REAL, 0)
            if (grown := _peak() - before) > limits.resident:
                ending = Ending("memory", f"{grown >> 20} MiB more; {ending}")
            words = " ".join(f"{ending.name}\t{ending.problem}".split(" "))
            told.write(words.replace("\n", " ").encode("utf-8", "replace") + b"\n")


def _peak() -> int:
    """The most memory that was ever in use by this process, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def _read(log: Path) -> tuple[dict[int, Ending], int | None]:
    """The endings that a child told, and the case it was at, if it had not ended."""
    *lines, rest = log.read_bytes().split(b"\n")
    endings = {}
    for line in lines:
        number, _, words = line.decode().partition(" ")
        endings[int(number)] = Ending(*words.split("\t", 1))
    begun = rest.split(b" ")[0]
    return endings, int(begun) if begun else None


def _lines(log: Path) -> int:
    return log.read_bytes().count(b"\n")


def _watch(child: _Child, stopped: dict[int, float], limits: Limits) -> None:
    """End a child that has told nothing for long: it may have switched its alarm off."""
    with suppress(FileNotFoundError):
        idle = time.time() - child.log.stat().st_mtime
        if idle > 3 * limits.seconds and child.pid not in stopped:
            stopped[child.pid] = idle
            os.kill(child.pid, signal.SIGKILL)


def _cause(status: int) -> str:
    if not os.WIFSIGNALED(status):
        return f"exit code {os.waitstatus_to_exitcode(status)}"
    number = os.WTERMSIG(status)
    return "hang" if number == signal.SIGALRM else signal.Signals(number).name
