"""Where `torture_builds` works: folders to spoil, what they must hold in the end, and a web server."""

from __future__ import annotations

import os
import random
import re
import shutil
import tempfile
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from torture_builds_cases import CASES
from torture_child import Children

from lookup.reader import TableFile

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Self, TypeAlias

    from torture_child import Ended
    from torture_tally import Tally

    Content: TypeAlias = dict[str, Any]
    """By name, the bytes of a file or the content of a folder."""

LEFTOVER = re.compile(r"\.(?P<name>.+)\.\d+\.[0-9a-f]{8}\.(?P<kind>tmp|new|old)")
"""What a process that was killed may leave; and what its case `keeps`."""


MEMORY = Path("/dev/shm")


class SpoiledError(Exception):
    """A case ended as none may; says how, and what there is to see."""

    def __init__(self, ending: str, details: str = "") -> None:
        super().__init__(ending, details)
        self.ending, self.details = ending, details


class Reference(NamedTuple):
    """What a case finds and leaves if it is not disturbed, the calls it makes and the time it takes."""

    before: Content
    after: Content
    calls: list[int]
    seconds: float


class Lab:
    """Does cases in folders of their own, and tells the tally how they end."""

    def __init__(self, tally: Tally, names: Iterable[str] = CASES) -> None:
        self.tally, self.names = tally, tuple(names)
        self.random = random.Random(tally.seed)
        self.references: dict[str, Reference] = {}
        self._number = 0

    def __enter__(self) -> Self:
        # In memory, if there is such a place: disks take most of the time to flush what they are given.
        place = MEMORY if MEMORY.is_dir() and os.access(MEMORY, os.W_OK) else None
        self._folder = tempfile.TemporaryDirectory(
            prefix="torture-", dir=place, ignore_cleanup_errors=True
        )
        self._root = Path(self._folder.name)
        os.environ["no_proxy"] = "127.0.0.1"
        self._server = _Server(self._root / "served")
        self._children = Children(self.names).__enter__()
        for name in self.names:
            self.references[name] = self._reference(name)
        return self

    def __exit__(self, *_: object) -> None:
        self._children.__exit__()
        self._server.shutdown()
        self._server.server_close()
        self._folder.cleanup()

    # --- doing ------------------------------------------------------------------------------------

    def fresh(self, name: str) -> Path:
        """A new folder for a case, as it finds it."""
        self._number += 1
        folder = self._root / str(self._number)
        shutil.copytree(self._root / name, folder, symlinks=True)
        return folder

    def renew(self, name: str, folder: Path) -> None:
        """Let a folder be as the case finds it, once more."""
        shutil.rmtree(folder)
        shutil.copytree(self._root / name, folder, symlinks=True)

    def request(self, name: str, folder: Path, **how: Any) -> dict[str, Any]:
        """What to ask of children, see `Children.run`."""
        return {"case": name, "folder": str(folder), "address": self._server.address, **how}

    def run(self, name: str, folder: Path, **how: Any) -> Ended:
        """Do a case in a folder."""
        return self.run_all([self.request(name, folder, **how)])[0]

    def run_all(self, requests: list[dict[str, Any]]) -> list[Ended]:
        """Do several at once; none may hang, or crash."""
        ends = self._children.run_all(requests)
        for end in ends:
            if end.code is None:
                raise SpoiledError("hangs", end.error)
            if end.code in (-6, -7, -11):
                raise SpoiledError("crashes", end.error)
            # Python's own: an archive that was being opened when Ctrl-C came.
            if "ZipFile.__del__" not in end.error and "Traceback" in end.error:
                raise SpoiledError("shows a traceback", end.error)
        return ends

    def trial(self, kind: str, name: str, case: str, work: Callable[[Path], str]) -> None:
        """Do `work`, which says how it ended, in a fresh folder; `case` is how to repeat it."""
        folder = self.fresh(name)
        try:
            self.tally.add(kind, work(folder))
        except SpoiledError as error:
            details = " ".join(error.details.split())[-300:]
            self.tally.fail(kind, error.ending, f"{name}, {case}: {details}")
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def _reference(self, name: str) -> Reference:
        """Make the folder of a case, and do it undisturbed."""
        template = self._root / name
        for part in ("in", "out"):
            (template / part).mkdir(parents=True)
        CASES[name].before(template)
        if (template / "in" / "bundle").is_dir() and not (self._root / "served").exists():
            shutil.copytree(template / "in", self._root / "served")
        folder = self.fresh(name)
        quick = self.run(name, folder)
        after = content(folder / "out")
        if quick.code or any(one.startswith(".") for one in after):
            raise SpoiledError(
                "fails undisturbed", f"{name}: {quick.code}, {sorted(after)}, {quick.error}"
            )
        for path in (folder / "out").rglob("*.h5"):
            table = TableFile(path)
            table.check_chunks()
            table.close()
        shutil.rmtree(folder)
        folder = self.fresh(name)
        counted = self.run(name, folder, count=True)
        shutil.rmtree(folder)
        # Of many writes in a row, the first and the last.
        calls = [
            number + 1
            for number, call in enumerate(counted.calls)
            if {call, *counted.calls[number - 1 : number + 2]} != {"write"}
        ]
        return Reference(content(template / "out"), after, calls, quick.seconds)

    # --- looking ----------------------------------------------------------------------------------

    def look(self, name: str, folder: Path, *, clean: bool = False) -> str:
        """What a case that was disturbed has left: the old, the new or some of both, each whole.

        Raises:
            SpoiledError: something is lost or broken, or there is more than may be left; if it must be
                `clean`, anything but what the case keeps on purpose.
        """
        before, after, *_ = self.references[name]
        now = content(folder / "out")
        for one in before.keys() | after.keys():
            if now.get(one) not in (before.get(one), after.get(one)):
                how = "is lost" if one not in now else "is neither the old nor the new"
                raise SpoiledError(f"something {how}", f"{one} of {sorted(now)}")
        others = now.keys() - before.keys() - after.keys()
        left = sorted(one for one in others if one not in CASES[name].keeps)
        kinds = [match.group("name", "kind") for one in left if (match := LEFTOVER.fullmatch(one))]
        if len(kinds) < len([one for one in left if one != ".fetch" or clean]):
            raise SpoiledError("something strange is left", str(left))
        if len(set(kinds)) < len(kinds):
            raise SpoiledError("leftovers pile up", str(left))
        if kinds and clean:
            raise SpoiledError("something is left", str(left))
        found = {one: now.get(one) for one in before.keys() | after.keys()}
        if found == {one: after.get(one) for one in found}:
            return "the new is there"
        return (
            "the old is there" if found == {one: before.get(one) for one in found} else "some of both"
        )

    def finish(self, name: str, folder: Path) -> None:
        """Do the case once more, undisturbed: all must be as if nothing had been.

        Raises:
            SpoiledError: it is not.
        """
        end = self.run(name, folder)
        if end.code:
            raise SpoiledError("a rerun fails", end.error)
        self.require_finished(name, folder)

    def require_finished(self, name: str, folder: Path) -> None:
        """The results of a case, and nothing besides.

        Raises:
            SpoiledError: there is something else.
        """
        now, after = content(folder / "out"), self.references[name].after
        if now != after:
            odd = [one for one in now.keys() | after.keys() if now.get(one) != after.get(one)]
            raise SpoiledError("other files in the end", f"{sorted(odd)} of {sorted(now)}")


def content(folder: Path) -> Content:
    """All that is in a folder."""
    return {
        path.name: content(path) if path.is_dir() else path.read_bytes() for path in folder.iterdir()
    }


# --- a web server ---------------------------------------------------------------------------------


class _Server(ThreadingHTTPServer):
    """Serves a folder; what is asked for under /broken, it breaks off in the middle, but not twice."""

    daemon_threads = True

    def __init__(self, folder: Path) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.folder = folder
        self.address = f"http://127.0.0.1:{self.server_port}"
        threading.Thread(target=self.serve_forever, args=(0.05,), daemon=True).start()

    def handle_error(self, *_: object) -> None:
        """Whoever asked has gone: that is what this is about."""


class _Handler(BaseHTTPRequestHandler):
    server: _Server

    def do_GET(self) -> None:
        path = self.path.lstrip("/")
        body = (self.server.folder / path.removeprefix("broken/")).read_bytes()
        size, start = len(body), 0
        if asked := re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range", "")):
            start = int(asked[1])
        self.send_response(206 if start else 200)
        self.send_header("Content-Length", str(size - start))
        self.send_header("Content-Range", f"bytes {start}-{size - 1}/{size}")
        self.end_headers()
        breaks_off = path.startswith("broken/") and not start and not path.endswith(".json")
        self.wfile.write(body[start : size // 2 if breaks_off else size])
        self.close_connection = True

    def log_message(self, *_: object) -> None:
        """Says nothing."""
