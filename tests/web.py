"""For tests of downloads: web servers, good ones and such as do what networks do, and odd archives."""

from __future__ import annotations

import io
import re
import tarfile
import threading
import warnings
import zipfile
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, SimpleHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import unquote, urlsplit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


class Asked(NamedTuple):
    """A request: its path as it came, and the first byte it asked for."""

    path: str
    start: int | None


class Handler(BaseHTTPRequestHandler):
    """Offers the files of a folder, by Range as well; `treat` may do something else instead."""

    server: Server
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        found = re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range", ""))
        asked = Asked(self.path, int(found[1]) if found else None)
        self.server.asked.append(asked)
        if self.server.treat is None or not self.server.treat(self, asked):
            self.offer(asked.start or 0)
        self.close_connection = True

    def content(self) -> bytes | None:
        path = self.server.folder / unquote(urlsplit(self.path).path).strip("/")
        return path.read_bytes() if path.is_file() else None

    def offer(self, start: int = 0, until: int | None = None) -> None:
        """Send a file as it should be, or break off at a byte."""
        content = self.content()
        if content is None:
            self.send_error(404)
            return
        if start >= len(content):
            self.send_error(416)
            return
        self.head(
            len(content) - start, f"bytes {start}-{len(content) - 1}/{len(content)}" if start else ""
        )
        self.wfile.write(content[start:until])

    def head(self, length: int | None, content_range: str = "") -> None:
        self.send_response(206 if content_range else 200)
        if length is not None:
            self.send_header("Content-Length", str(length))
        if content_range:
            self.send_header("Content-Range", content_range)
        self.send_header("Connection", "close")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Says nothing."""


class Server(ThreadingHTTPServer):
    """A server in a thread of its own."""

    daemon_threads = True
    block_on_close = False

    def __init__(self, folder: Path, handler: type[BaseHTTPRequestHandler]) -> None:
        super().__init__(("127.0.0.1", 0), handler)
        self.folder = folder
        self.asked: list[Asked] = []
        self.treat: Callable[[Handler, Asked], bool] | None = None

    def handle_error(self, *_: object) -> None:
        """Says nothing: whoever has heard enough hangs up."""

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


@contextmanager
def offering(folder: Path, handler: type[BaseHTTPRequestHandler] = Handler) -> Iterator[Server]:
    """A server of the files in a folder."""
    with Server(folder, handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


def plain(folder: Path) -> type[SimpleHTTPRequestHandler]:
    """What `python -m http.server` answers with: it knows no Range."""

    class Plain(SimpleHTTPRequestHandler):
        def __init__(self, *words: object) -> None:
            super().__init__(*words, directory=str(folder))  # type: ignore[arg-type]

        def log_message(self, *_: object) -> None:
            """Says nothing."""

    return Plain


def packed(path: Path, files: list[tuple[str, bytes]], compression: int = zipfile.ZIP_STORED) -> Path:
    """An archive of files by name, in this order; names may come twice."""
    if path.suffix == ".zip":
        with zipfile.ZipFile(path, "w", compression) as zipped, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of names that come twice
            for name, text in files:
                zipped.writestr(name, text)
        return path
    with tarfile.open(path, "w") as tarred:
        for name, text in files:
            member = tarfile.TarInfo(name)
            member.size = len(text)
            tarred.addfile(member, io.BytesIO(text))
    return path
