"""Processes that do a case of `torture_builds_cases` and are disturbed: see `Children`.

To start Python and to import everything takes longer than the work, which is what a signal has to hit.
So a process is started once, imports everything, and is forked for each run.
"""

from __future__ import annotations

import json
import os
import re
import resource
import select
import signal
import subprocess
import sys
import threading
import time
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import FrameType

PATIENCE = 60.0
"""Seconds after which a child hangs."""

CHANGES = frozenset(
    ("open", "write", "replace", "rename", "fsync", "unlink", "remove", "mkdir", "rmdir", "truncate",
     "close", "flock")
)  # fmt: skip
"""Calls that change files, by Python's names: around these it matters when one is killed."""

REMOVAL = "removal"
"""What a call is called that fails while something is removed."""

_ESTIMATE = re.compile(r"\S+: [\d,]+ positions, needs about ")  # which a build says before it starts


class Ended(NamedTuple):
    """How a child ended: `code` is its exit code, or minus the signal; None if it would not end."""

    code: int | None
    seconds: float
    calls: list[str]
    failed: str
    """The call that was made to fail."""
    error: str

    @property
    def said(self) -> list[str]:
        """Its lines, besides those that say what a build needs."""
        return [line for line in self.error.splitlines() if not _ESTIMATE.match(line)]

    @property
    def is_sentence(self) -> bool:
        """Whether it failed as a command may."""
        lines = self.said
        said = len(lines) == 1 and lines[0].startswith("error: ") and "a fault of ours" not in lines[0]
        return self.code in (1, 2) and said and len(lines[0]) < 400


class Children:
    """Starts children that do some of the cases; `with` it, for it has a process of its own."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names = names

    def __enter__(self) -> Children:
        self._process = subprocess.Popen(
            [sys.executable, "-W", "error", "-W", "ignore::ResourceWarning", __file__, *self._names],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parent.parent,
        )  # fmt: skip
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate()

    def run(self, case: str, folder: Path, **how: Any) -> Ended:
        """Do a case in a folder; disturbed, if it is said how.

        `kill`, `fail`: before the call of that number, counted from 1, is made; a call that fails does
        so with `errno`. `signal`: after so many `seconds`. `file_size`: no file may be larger.
        """
        return self.run_all([{"case": case, "folder": str(folder), **how}])[0]

    def run_all(self, requests: list[dict[str, Any]]) -> list[Ended]:
        """The same for several that run at once."""
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin
        assert stdout
        stdin.write(json.dumps(requests) + "\n")
        stdin.flush()
        return [Ended(*one) for one in json.loads(stdout.readline())]


# --- the process that is forked -------------------------------------------------------------------


def _serve() -> None:
    import torture_builds_cases

    torture_builds_cases.prepare(sys.argv[1:])
    for line in sys.stdin:
        children = [_Child(request) for request in json.loads(line)]
        for child in children:
            child.begin()
        print(json.dumps([child.ended() for child in children]), flush=True)


class _Child:
    """One run."""

    def __init__(self, request: dict[str, Any]) -> None:
        self._request = request
        self._log = Path(f"{request['folder']}.{id(self)}.log")
        self._ready, told = os.pipe()  # it says that it is there, and at last how many calls it made
        waits, self._go = os.pipe()
        self._pid = os.fork()
        if not self._pid:
            os.close(self._go)
            os.close(self._ready)
            _work(request, self._log, told, waits)
        os.close(told)
        os.close(waits)
        os.read(self._ready, 1)

    def begin(self) -> None:
        """Let it go."""
        self._started = time.monotonic()
        os.write(self._go, b"g")
        os.close(self._go)

    def ended(self) -> Ended:
        """Disturb it, and wait for its end."""
        if "signal" in self._request:
            time.sleep(max(0.0, self._started + self._request["seconds"] - time.monotonic()))
            os.kill(self._pid, self._request["signal"])
        told, hangs = b"", False
        while more := self._read(PATIENCE - (time.monotonic() - self._started)):
            told += more
        if more is None:
            hangs = True
            os.kill(self._pid, signal.SIGKILL)
        _, status = os.waitpid(self._pid, 0)
        os.close(self._ready)
        code = None if hangs else os.waitstatus_to_exitcode(status)
        calls, _, failed = told.decode().partition(" ")
        error = self._log.read_text(errors="replace")
        self._log.unlink()
        seconds = time.monotonic() - self._started
        return Ended(code, seconds, calls.split(","), failed, error)

    def _read(self, seconds: float) -> bytes | None:
        """What it says, nothing at its end; None if it says nothing for so long."""
        if select.select([self._ready], [], [], max(0.0, seconds))[0]:
            return os.read(self._ready, 4096)
        return None


# --- the child ------------------------------------------------------------------------------------


class _Watch:
    """Counts calls that change files, and kills the process or lets a call fail."""

    def __init__(self, request: dict[str, Any]) -> None:
        self.calls: list[str] = []
        self.failed = ""
        self._kill, self._fail = request.get("kill"), request.get("fail")
        self._errno = request.get("errno", 0)
        self._lock = threading.Lock()

    def __call__(self, frame: FrameType, event: str, called: Any) -> None:
        if event != "c_call" or called.__name__ not in CHANGES:
            return
        owner = getattr(called, "__self__", None)
        kind = getattr(owner, "__module__", None) or type(owner).__module__
        name = getattr(owner, "__name__", None) or type(owner).__name__
        is_file = kind == "_io" and name not in ("BytesIO", "StringIO", "_io") and not _is_shown(owner)
        if not is_file and name not in ("posix", "io", "_io", "fcntl"):
            return
        with self._lock:
            self.calls.append(called.__name__)
            number = len(self.calls)
        if number == self._kill:
            os.kill(os.getpid(), signal.SIGKILL)
        if number == self._fail and called.__name__ != "close":  # or else it would stay open
            self.failed = REMOVAL if _removes(frame) else called.__name__
            raise OSError(self._errno, os.strerror(self._errno))


def _removes(frame: FrameType | None) -> bool:
    """Whether it is called to remove something."""
    while frame:
        if frame.f_code.co_name in ("unlink", "rmtree", "rmdir"):
            return True
        frame = frame.f_back
    return False


def _is_shown(file: Any) -> bool:
    """Whether it is standard output, or standard error."""
    return getattr(file, "name", None) in ("<stdout>", "<stderr>", 1, 2)


def _work(request: dict[str, Any], log: Path, told: int, waits: int) -> NoReturn:
    """Do a case, and end as a command ends."""
    from torture_builds_cases import CASES

    error = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(error, 2)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    if "file_size" in request:
        resource.setrlimit(resource.RLIMIT_FSIZE, (request["file_size"], resource.RLIM_INFINITY))
    watch = _Watch(request)
    code: Any = 1
    try:
        os.write(told, b" ")
        os.read(waits, 1)
        if not request.keys().isdisjoint(("kill", "fail", "count")):
            threading.setprofile(watch)
            sys.setprofile(watch)
        CASES[request["case"]].run(Path(request["folder"]), request.get("address", ""))
        code = 0
    except SystemExit as done:
        code = done.code or 0
    except KeyboardInterrupt:
        code = 130  # of work that is no command
    except BaseException as error:  # noqa: BLE001 - of work that is no command
        if type(error).__module__ == "lookup.errors":
            print(f"error: {error}", file=sys.stderr)
        else:
            traceback.print_exc()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    sys.stdout.flush()
    sys.stderr.flush()
    calls = ",".join(watch.calls) if "count" in request else ""
    os.write(told, f"{calls} {watch.failed}".encode())
    os._exit(code)


if __name__ == "__main__":
    _serve()
