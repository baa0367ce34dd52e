"""A server as an ordinary user: what it opens is watched from inside, and it may write nothing."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from torture_server import ROOT, serving

if TYPE_CHECKING:
    from torture_tally import Tally

NOBODY = 65534
READS = "+dac_read_search"
"""Where Python belongs to root alone, nobody may read it all the same, and write nothing anywhere."""

WATCHED = """
import os, sys
def watch(event, words):
    if event == "open":
        path, mode, flags = words
        if isinstance(path, str | bytes):
            writes = flags is not None and flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)
            print("OPENED", "w" if writes else "r", os.path.abspath(os.fsdecode(path)), file=sys.stderr)
    elif event in {changes}:
        print("CHANGED", event, repr(words), file=sys.stderr)
os.environ.update(HOME="/nonexistent")
sys.addaudithook(watch)
"""
"""Python that a server runs first: it tells of all that it opens or changes."""

CHANGES = (
    "os.remove", "os.rename", "os.mkdir", "os.rmdir", "os.link", "os.symlink", "os.truncate",
    "os.chmod", "os.chown", "os.utime", "os.setxattr", "os.system", "os.exec", "subprocess.Popen",
    "socket.connect",
)  # fmt: skip

ASKED = (
    "/", "/docs", "/metrics", "/openapi.json", "/api/tables", "/api/tables/rota",
    "/api/tables/rota/file", "/api/tables/rota/probe?position=.../.../...+x",
    "/api/tables/clock-7-3/line?position=1230000",
    "/api/tables/nobody", "/api/tables/tactics-9x9", "/api/tables/..%2f..%2fetc%2fpasswd/file",
    "/api/tables/secret", "/api/tables/secret/file", "/static/..%2f..%2fapp.py", "/etc/passwd",
)  # fmt: skip
SYSTEM = (
    "/proc/self/",
    "/proc/stat",
    "/dev/null",
    "/dev/urandom",
    "/dev/fd/",
    "/etc/mime.types",
    "/etc/localtime",
)
"""What Python itself and the sending of files need, beside what is installed."""


def as_nobody() -> tuple[str, ...]:
    """The command before another that runs it as nobody; none for those who are not root."""
    if os.getuid() or not shutil.which("setpriv"):
        return ()
    user = (f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups")
    return ("setpriv", *user, f"--inh-caps={READS}", f"--ambient-caps={READS}")


def be_ordinary(tally: Tally) -> None:
    """It starts, serves, writes nothing, and opens nothing but tables and what is installed."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        shutil.copy(ROOT / "tables/rota.h5", folder)
        (folder / "secret.h5").symlink_to("/etc/passwd")
        first = WATCHED.replace("{changes}", repr(CHANGES))
        with serving(first=first, tables=folder, through=as_nobody()) as server:
            answers = {path: server.get(path) for path in ASKED}
            status = Path(f"/proc/{server.process.pid}/status").read_text()
            user = int(status.partition("Uid:")[2].split()[0])
            server.stop()
            said = server.said
        leaks = [path for path, answer in answers.items() if b"root:" in answer.body]
        if user == 0 or answers["/api/tables/rota"].status != 200:
            tally.fail(
                "an ordinary user", "is not served", f"{user} {answers['/api/tables/rota'].body!r}"
            )
        elif leaks:
            tally.fail("an ordinary user", "what is no table is given away", str(leaks))
        else:
            tally.add("an ordinary user", "served", len(answers))
        _judge_files(tally, said, folder)


def _judge_files(tally: Tally, said: str, folder: Path) -> None:
    installed = tuple(
        {str(folder), str(ROOT), sys.prefix, sys.base_prefix, *filter(None, sys.path), "/usr/"}
    )
    for line in said.splitlines():
        if line.startswith("CHANGED subprocess.Popen ('uname', "):
            tally.add("what it touches", "asked what processor there is")  # by Python's own platform
        elif line.startswith("CHANGED"):
            tally.fail("what it touches", "changed", line)
        elif line.startswith("OPENED"):
            _, mode, path = line.split(" ", 2)
            if mode == "w" and path != os.devnull:
                tally.fail("what it touches", "written", path)
            elif path.startswith(installed) or path.startswith(SYSTEM) or "mime.types" in path:
                tally.add("what it touches", "tables, packages, what Python needs")
            elif path == "/etc/passwd":
                # By the link that somebody put into the folder; it was found to be no table.
                tally.add("what it touches", "what a link in its folder leads to")
            else:
                tally.fail("what it touches", "something else", path)
