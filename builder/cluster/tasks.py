"""What runs on a worker: one task, with all that it takes to do it, and how it went.

The game comes along as its class is found there: ours by name; one from a user's file with the text of
that file, which a worker on another machine does not have.
"""

from __future__ import annotations

import pickle
import socket
import tempfile
import time
from contextlib import suppress
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import zstandard

from builder.build import code_digest
from builder.cluster.recent import recent
from builder.cluster.store import LAYOUT, LostObjectError
from lookup import __version__, processes
from lookup.errors import BuildError, EndtableError, GameError
from lookup.games.sources import failed_at, is_of_own_game, said

if TYPE_CHECKING:
    from builder.cluster.job import Summary, Task, Work
    from builder.cluster.store import Store
    from lookup.games.base import Game


class Handed(NamedTuple):
    """Work as it is handed to workers: pickled, with the user's file, and what tells our own code."""

    work: bytes
    path: str
    text: bytes
    code: str

    @classmethod
    def of(cls, work: Work, game: Game) -> Handed:
        """Work on a game."""
        found = processes.found_by(type(game))
        path = found.rpartition(":")[0] if isinstance(found, str) else ""
        text = Path(path).read_bytes() if path else b""
        return cls(pickle.dumps(work), path, text, code_here())

    def unpacked(self) -> Work:
        """The work, in the process of a worker.

        Raises:
            BuildError: our own code is another there.
            GameError: the game cannot be had there.
        """
        if self.code != code_here():
            raise BuildError(f"{socket.gethostname()} has {code_here()}: expected {self.code}, as here")
        if self.path:
            processes.moved[self.path] = _local(self.path, self.text)
        return _unpacked(self)


@cache
def code_here() -> str:
    """What must be the same everywhere, or tables would not be: our code, and what compresses."""
    compressor = ".".join(map(str, zstandard.ZSTD_VERSION))
    return f"endtable {__version__} ({code_digest()[:12]}) with zstd {compressor}"


@lru_cache(maxsize=4)  # one of each stage at most: rules that were compiled for one task serve all
def _unpacked(handed: Handed) -> Work:
    try:
        work: Work = pickle.loads(handed.work)  # noqa: S301 - Dask itself hands over pickled functions
    except EndtableError:
        raise
    except Exception as error:  # noqa: BLE001 - whatever a module of somebody else raises
        raise GameError(f"{socket.gethostname()} cannot load the game: {said(error)}") from None
    return work


_copies: dict[tuple[str, bytes], tempfile.TemporaryDirectory[str]] = {}


def _local(path: str, text: bytes) -> str:
    """Where a user's file is in this process: where it was, or in a folder of its own."""
    here = Path(path)
    try:
        if here.read_bytes() == text:
            return path
    except OSError:
        pass
    if (path, text) not in _copies:
        _copies[path, text] = tempfile.TemporaryDirectory(prefix="endtable-")
    copy = Path(_copies[path, text].name) / here.name
    if not copy.exists():
        copy.write_bytes(text)
    return str(copy)


class Done(NamedTuple):
    """A finished task: what it found out, seconds, bytes that went through the store, peak memory."""

    summary: Summary
    seconds: float = 0.0
    read: int = 0
    written: int = 0
    peak: int = 0


class TaskFailedError(Exception):
    """A task that failed, by name, and why; `lost` names an object that must be made again first."""

    def __init__(self, task: str, problem: str, lost: str = "", *, of_game: bool = False) -> None:
        super().__init__(task, problem, lost)
        self.task, self.problem, self.lost, self.of_game = task, problem, lost, of_game

    def __reduce__(self) -> tuple[object, ...]:
        return _failed, (self.task, self.problem, self.lost, self.of_game)


def _failed(task: str, problem: str, lost: str, of_game: bool) -> TaskFailedError:
    return TaskFailedError(task, problem, lost, of_game=of_game)


def run_task(handed: Handed, task: Task, store: Store, *_needs: Done) -> Done:
    """Do a task and say how it went. One that was finished before, by whomever, is not done again.

    Raises:
        TaskFailedError: it cannot be done.
    """
    started = time.perf_counter()
    try:
        with suppress(LostObjectError):  # if there is one that is damaged, it is replaced
            return Done(store.summary(task.name))
        work = handed.unpacked()
        recent.keep(work.spare)  # what others remembered may be more than this work has room for
        work.run(task, store)
        summary = store.summary(task.name)
    except LostObjectError as error:
        if LAYOUT not in store:  # it is not the object that is lost
            problem = f"{socket.gethostname()} does not see the store '{store.url}'"
            raise TaskFailedError(task.name, problem) from None
        raise TaskFailedError(task.name, str(error), error.name) from None
    except GameError as error:
        raise TaskFailedError(task.name, str(error), of_game=True) from None
    except EndtableError as error:
        raise TaskFailedError(task.name, str(error)) from None
    except MemoryError:
        raise TaskFailedError(task.name, "it ran out of memory") from None
    except Exception as error:  # noqa: BLE001 - a user's rule may raise what it likes
        if isinstance(error, OSError) and not is_of_own_game(error):
            raise TaskFailedError(task.name, said(error)) from None
        problem = f"{failed_at(error)} fails: {said(error)}"
        raise TaskFailedError(task.name, problem, of_game=True) from None
    traffic = store.traffic
    return Done(summary, time.perf_counter() - started, traffic.read, traffic.written, _peak())


def _peak() -> int:
    """The most memory that this process had so far, in bytes; 0 where the system does not say.

    `getrusage` would say as well what the process had that started this one.
    """
    try:
        lines = Path("/proc/self/status").read_text("ascii").splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) << 10 for line in lines if line.startswith("VmHWM:")), 0)
