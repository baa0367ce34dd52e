"""Bundles from web servers: those that work, those that break off, and those that lie."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING
from urllib.request import Request

import pytest

from builder.bundle import write_bundle
from lookup import download
from lookup.disk import file_digest
from lookup.download import _failure, _Redirections, parts_of
from lookup.errors import BundleError, DownloadError, InvalidParameterError
from lookup.fetch import fetch
from lookup.progress import Progress
from tests.commands import one_line, run
from tests.conftest import ROOT
from tests.web import Asked, Handler, Server, offering, packed, plain

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from lookup.progress import Report

TABLE = "tactics-4x5"
FILE = f"{TABLE}.h5"
RIGHT = (ROOT / "tables" / FILE).read_bytes()


@pytest.fixture(scope="module")
def bundles(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a bundle of one table, in all three kinds."""
    folder = tmp_path_factory.mktemp("bundles")
    for kind in ("bundle", "bundle.tar", "bundle.zip"):
        write_bundle(folder / kind, [ROOT / "tables" / FILE])
    return folder


@pytest.fixture
def server(bundles: Path) -> Iterator[Server]:
    with offering(bundles) as running:
        yield running


@pytest.fixture(autouse=True)
def no_proxies_and_no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("no_proxy", "*")
    monkeypatch.setattr(download, "PAUSES", (0.0, 0.0))


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    """The user's folder, with another table under the name of the bundle's."""
    (tmp_path / "mine").mkdir()
    shutil.copy(ROOT / "tables" / "rota.h5", tmp_path / "mine" / FILE)
    return tmp_path / "mine"


def is_untouched(mine: Path) -> bool:
    return (mine / FILE).read_bytes() == (ROOT / "tables" / "rota.h5").read_bytes()


def is_fetched(mine: Path) -> bool:
    """Whether the right table is there, and nothing else."""
    return [path.name for path in mine.iterdir()] == [FILE] and (mine / FILE).read_bytes() == RIGHT


def starts(server: Server, name: str = FILE) -> list[int | None]:
    """From which bytes on a file was asked for."""
    return [asked.start for asked in server.asked if asked.path.endswith(name)]


def of_table(treat: Callable[[Handler, Asked, int], bool]) -> Callable[[Handler, Asked], bool]:
    """Treats requests for the table alone, which are numbered from 1."""
    count = 0

    def treated(handler: Handler, asked: Asked) -> bool:
        nonlocal count
        if not asked.path.endswith((FILE, ".tar", ".zip")):
            return False
        count += 1
        return treat(handler, asked, count)

    return treated


# --- servers that work ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "path",
    ["bundle", "bundle/", "bundle/manifest.json", "bundle.tar", "bundle.zip", "bundle.tar?x=1#y"],
)
def test_any_static_server_will_do(path: str, bundles: Path, mine: Path) -> None:
    """The one that comes with Python knows no Range."""
    with offering(bundles, plain(bundles)) as server:
        result = run("lookup", "fetch", f"{server.address}/{path}", "--to", mine)
    assert (result.code, result.error) == (0, "")
    assert result.out == f"{mine / FILE}: 1,048,576 positions, {len(RIGHT):,} bytes, fetched\n"
    assert is_fetched(mine)


def test_spaces_letters_and_queries_in_an_address(bundles: Path, mine: Path, tmp_path: Path) -> None:
    shutil.copytree(bundles / "bundle", tmp_path / "web" / "my tables é")
    with offering(tmp_path / "web") as server:
        fetch(f"{server.address}/my tables é/?token=a b", mine)
        paths = [asked.path for asked in server.asked]
    folder = "/my%20tables%20%C3%A9"
    assert paths == [f"{folder}/manifest.json?token=a%20b", f"{folder}/{FILE}?token=a%20b"]
    assert is_fetched(mine)


@pytest.mark.parametrize("kind", ["bundle", "bundle.tar", "bundle.zip"])
def test_what_is_there_is_not_downloaded(kind: str, server: Server, mine: Path) -> None:
    (mine / FILE).write_bytes(RIGHT)
    server.treat = of_table(lambda handler, asked, count: kind == "bundle" and pytest.fail("asked for"))
    (table,) = fetch(f"{server.address}/{kind}", mine)
    assert not table.changed
    assert len(server.asked) == 1
    assert is_fetched(mine)


def test_redirections_are_followed(server: Server, mine: Path) -> None:
    def elsewhere(handler: Handler, asked: Asked) -> bool:
        if not asked.path.startswith("/old"):
            return False
        handler.send_response(302)
        handler.send_header("Location", asked.path.replace("/old", "/bundle"))
        handler.end_headers()
        handler.wfile.write(b"x" * 100_000)  # without an end that is announced
        return True

    server.treat = elsewhere
    fetch(f"{server.address}/old", mine)
    assert is_fetched(mine)


# --- broken off -----------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["bundle", "bundle.tar", "bundle.zip"])
def test_a_broken_download_is_gone_on_with(kind: str, server: Server, mine: Path) -> None:
    first = 1 if kind == "bundle" else 2  # of an archive the beginning is asked for before

    def breaks(handler: Handler, asked: Asked, count: int) -> bool:
        if count == first:
            handler.offer(until=100_000)
        return count == first

    server.treat = of_table(breaks)
    fetch(f"{server.address}/{kind}", mine)
    assert starts(server, kind if first == 2 else FILE)[-2:] == [None, 100_000]
    assert is_fetched(mine)


def test_a_server_without_range_starts_again(server: Server, mine: Path) -> None:
    def breaks(handler: Handler, asked: Asked, count: int) -> bool:
        handler.offer(until=100_000 if count == 1 else None)
        return True

    server.treat = of_table(breaks)
    fetch(f"{server.address}/bundle", mine)
    assert starts(server) == [None, 100_000]
    assert is_fetched(mine)


@pytest.mark.parametrize("kind", ["bundle", "bundle.tar", "bundle.zip"])
def test_the_next_command_goes_on(kind: str, server: Server, mine: Path) -> None:
    def breaks(handler: Handler, asked: Asked, count: int) -> bool:
        handler.offer(asked.start or 0, until=120_000)
        return True

    server.treat = of_table(breaks)
    result = run("lookup", "fetch", f"{server.address}/{kind}", "--to", mine)
    assert result.code == 1
    assert f"broke off; 120,000 of {size_of(server, kind):,} bytes are here, and the same" in one_line(
        result
    )
    assert is_untouched(mine)
    server.treat = None
    server.asked.clear()
    result = run("lookup", "fetch", f"{server.address}/{kind}", "--to", mine)
    assert result.code == 0
    assert server.asked[-1].start == 120_000
    assert is_fetched(mine)


def size_of(server: Server, kind: str) -> int:
    path = server.folder / kind
    return (path / FILE if path.is_dir() else path).stat().st_size


def test_what_is_left_is_of_use_wherever_it_came_from(
    server: Server, bundles: Path, mine: Path, tmp_path: Path
) -> None:
    (mine / ".fetch").mkdir()
    digest = file_digest(ROOT / "tables" / FILE)
    (mine / ".fetch" / f"{digest}.part").write_bytes(RIGHT[:50_000])
    fetch(f"{server.address}/bundle", mine)
    assert starts(server) == [50_000]
    assert is_fetched(mine)


@pytest.mark.parametrize(
    "left", [RIGHT[::-1][:50_000], RIGHT[:-1] + b"x", RIGHT + b"x"], ids=["other", "whole", "long"]
)
def test_what_is_left_and_does_not_fit_is_dropped(left: bytes, server: Server, mine: Path) -> None:
    (mine / ".fetch").mkdir()
    (mine / ".fetch" / f"{file_digest(ROOT / 'tables' / FILE)}.part").write_bytes(left)
    fetch(f"{server.address}/bundle", mine)
    assert starts(server)[-1] is None
    assert is_fetched(mine)


@pytest.mark.parametrize("kind", ["bundle", "bundle.tar"])
def test_a_file_that_is_replaced_between_two_attempts(kind: str, server: Server, mine: Path) -> None:
    """Half of one and half of another is noticed; the whole is asked for again."""
    first = 1 if kind == "bundle" else 2

    def changes(handler: Handler, asked: Asked, count: int) -> bool:
        if count == first:
            handler.offer(until=100_000)
        elif count == first + 1:
            whole = handler.content()
            assert whole
            handler.head(len(whole) - 100_000, f"bytes 100000-{len(whole) - 1}/{len(whole)}")
            handler.wfile.write(whole[:-100_000])
        return first <= count <= first + 1

    server.treat = of_table(changes)
    fetch(f"{server.address}/{kind}", mine)
    assert [asked.start for asked in server.asked][-3:] == [None, 100_000, None]
    assert is_fetched(mine)


def test_a_server_that_has_nothing_from_there_on_is_asked_for_all(server: Server, mine: Path) -> None:
    def refuses(handler: Handler, asked: Asked, count: int) -> bool:
        if count == 1:
            handler.offer(until=100_000)
        elif asked.start:
            handler.send_error(416)
        return count == 1 or bool(asked.start)

    server.treat = of_table(refuses)
    fetch(f"{server.address}/bundle", mine)
    assert starts(server) == [None, 100_000, None]
    assert is_fetched(mine)


@pytest.mark.parametrize("content_range", ["bytes 5-9/10", "bytes 0-9/*", "nonsense", ""])
def test_a_range_that_was_not_asked_for(content_range: str, server: Server, mine: Path) -> None:
    def odd(handler: Handler, asked: Asked, count: int) -> bool:
        if count == 1:
            handler.offer(until=100_000)
        elif asked.start:
            handler.send_response(206)
            handler.send_header("Content-Length", "10")
            handler.send_header("Content-Range", content_range)
            handler.end_headers()
            handler.wfile.write(b"x" * 10)
        else:
            return False
        return True

    server.treat = of_table(odd)
    fetch(f"{server.address}/bundle", mine)
    assert starts(server) == [None, 100_000, None]
    assert is_fetched(mine)


@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGKILL")
def test_killed_it_leaves_what_was_there_and_goes_on(server: Server, mine: Path) -> None:
    sent, over = threading.Event(), threading.Event()

    def stalls(handler: Handler, asked: Asked, count: int) -> bool:
        handler.offer(until=100_000)
        handler.wfile.flush()
        sent.set()
        return over.wait(60)

    server.treat = of_table(stalls)
    words = [sys.executable, "-m", "lookup.cli", "fetch", f"{server.address}/bundle", "--to", str(mine)]
    with subprocess.Popen(words, cwd=ROOT, stderr=subprocess.PIPE) as process:
        assert sent.wait(60)
        part = mine / ".fetch" / f"{file_digest(ROOT / 'tables' / FILE)}.part"
        while not part.exists() or part.stat().st_size < 65_536:
            assert process.poll() is None
        process.send_signal(signal.SIGKILL)
    over.set()
    assert is_untouched(mine)
    left, server.treat = part.stat().st_size, None
    fetch(f"{server.address}/bundle", mine)
    assert starts(server) == [None, left]
    assert is_fetched(mine)


class Impatient(Progress):
    """A user who presses Ctrl-C when a stage is under way."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self._name = name

    @contextmanager
    def stage(self, name: str, unit: str = "positions") -> Iterator[Report]:
        def report(done: int, total: int) -> None:
            if name == self._name:
                raise KeyboardInterrupt

        yield report


@pytest.mark.parametrize("kind", ["bundle", "bundle.tar", "bundle.zip"])
def test_interrupted_it_leaves_what_was_there_and_goes_on(
    kind: str, server: Server, mine: Path
) -> None:
    """When the archive has come, and the table is being copied from it, nothing comes again."""
    with pytest.raises(KeyboardInterrupt):
        fetch(f"{server.address}/{kind}", mine, progress=Impatient(f"{TABLE}: fetch"))
    assert is_untouched(mine)
    server.asked.clear()
    fetch(f"{server.address}/{kind}", mine)
    if kind == "bundle":
        (start,) = starts(server)
        assert start
    else:
        assert starts(server, kind) == [None]  # its beginning
    assert is_fetched(mine)


# --- lies -----------------------------------------------------------------------------------------


def test_other_bytes_than_the_manifest_says(server: Server, mine: Path) -> None:
    def lies(handler: Handler, asked: Asked, count: int) -> bool:
        handler.head(len(RIGHT))
        handler.wfile.write(RIGHT[:-1] + b"x")
        return True

    server.treat = of_table(lies)
    with pytest.raises(BundleError, match=f"holds {FILE} with another sha256 than its manifest says"):
        fetch(f"{server.address}/bundle", mine)
    assert is_fetched_not_at_all(mine)
    assert len(starts(server)) == 1  # to ask again would bring the same


def is_fetched_not_at_all(mine: Path) -> bool:
    return is_untouched(mine) and [path.name for path in mine.iterdir()] == [FILE]


def test_more_or_less_than_the_manifest_says(server: Server, mine: Path) -> None:
    for length in (len(RIGHT) + 1, len(RIGHT) - 1):

        def announces(handler: Handler, asked: Asked, count: int, length: int = length) -> bool:
            handler.head(length)
            return True

        server.treat = of_table(announces)
        expected = f"is {length:,} bytes, where the manifest makes it {len(RIGHT):,}"
        with pytest.raises(DownloadError, match=expected):
            fetch(f"{server.address}/bundle", mine)
    assert is_fetched_not_at_all(mine)


@pytest.mark.parametrize(("path", "most"), [("manifest.json", 4 << 20), (FILE, len(RIGHT))])
def test_a_file_without_an_end(path: str, most: int, server: Server, mine: Path) -> None:
    def endless(handler: Handler, asked: Asked) -> bool:
        if not asked.path.endswith(path):
            return False
        handler.head(None)
        while True:  # until the other side hangs up
            handler.wfile.write(b"x" * 65_536)

    server.treat = endless
    with pytest.raises(DownloadError, match=f"sends more than the {most:,} bytes that it may"):
        fetch(f"{server.address}/bundle", mine)
    assert is_untouched(mine)
    shutil.rmtree(mine / ".fetch", ignore_errors=True)


def test_archives_that_do_not_begin_as_they_should(server: Server, mine: Path, bundles: Path) -> None:
    whole = (bundles / "bundle.tar").read_bytes()
    for head, length, expected in (
        (b"text", 4, "does not begin as a bundle does: expected its manifest.json first"),
        (b"\0" * (5 << 20), 5 << 20, "does not begin as a bundle does"),
        (whole, None, "has no size: its server does not say how much is to come"),
        (whole, 1 << 30, "is 1,073,741,824 bytes, more than its manifest accounts for"),
        (whole.replace(b'"version": 1', b'"version": 3'), len(whole), "is of version 3"),
    ):

        def answers(
            handler: Handler, asked: Asked, head: bytes = head, length: int | None = length
        ) -> bool:
            handler.head(length)
            handler.wfile.write(head)
            return True

        server.treat = answers
        with pytest.raises(BundleError) as caught:
            fetch(f"{server.address}/bundle.tar", mine)
        assert expected in str(caught.value)
    assert is_fetched_not_at_all(mine)


@pytest.mark.parametrize("end", [".tar", ".zip"])
def test_an_archive_with_another_manifest_inside(
    end: str, server: Server, mine: Path, bundles: Path, tmp_path: Path
) -> None:
    """What it begins with was believed; what tar or zip find in it must be the same."""
    manifest = (bundles / "bundle" / "manifest.json").read_bytes()
    path = tmp_path / f"odd{end}"
    decoy, files = manifest.replace(b"0.1.0", b"9.9.9"), [("manifest.json", manifest), (FILE, RIGHT)]
    packed(path, [("decoy", decoy), *files])
    server.folder = tmp_path
    with pytest.raises(BundleError, match=r"holds another manifest\.json than it begins with"):
        fetch(f"{server.address}/odd{end}", mine)
    assert is_fetched_not_at_all(mine)


# --- silence and refusals -------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["body", "head", "silent"])
def test_no_progress_has_an_end(
    how: str, server: Server, mine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A byte now and then is no progress; a time limit for each read would be kept for ever."""
    monkeypatch.setattr(download, "PATIENCE", 0.3)
    monkeypatch.setattr(download, "PAUSES", ())
    over = threading.Event()

    def trickles(handler: Handler, asked: Asked, count: int) -> bool:
        if how == "body":
            handler.head(len(RIGHT))
        elif how == "head":
            handler.wfile.write(b"HTTP/1.1 200 OK\r\nX: ")
        while not over.wait(0.02):
            if how != "silent":
                handler.wfile.write(b"x")
                handler.wfile.flush()
        return True

    server.treat = of_table(trickles)
    expected = {
        "body": "sent less than 1,024 bytes in 0 seconds",
        "head": "is silent: nothing of use came for 0 seconds",
        "silent": "is silent: nothing of use came for 0 seconds",
    }
    with pytest.raises(DownloadError, match=expected[how]):
        fetch(f"{server.address}/bundle", mine)
    over.set()
    assert is_untouched(mine)


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        (404, "/bundle/manifest.json' is not there: the server says 404 Not Found"),
        (410, "is not there: the server says 410 Gone"),
        (403, "may not be read: the server says 403 Forbidden"),
        (500, "cannot be had: the server says 500 Internal Server Error"),
        (204, "is answered with 204 No Content"),
        (416, "cannot be had: the server says 416 "),
    ],
)
def test_refusals(code: int, expected: str, server: Server, mine: Path) -> None:
    def refuses(handler: Handler, asked: Asked) -> bool:
        handler.send_error(code)
        return True

    server.treat = refuses
    result = run("lookup", "fetch", f"{server.address}/bundle", "--to", mine)
    assert result.code == 1
    assert expected in one_line(result)
    assert is_fetched_not_at_all(mine)


def test_a_server_that_is_busy_is_asked_again(server: Server, mine: Path) -> None:
    def busy(handler: Handler, asked: Asked, count: int) -> bool:
        if count < 3:
            handler.send_error(503)
        return count < 3

    server.treat = of_table(busy)
    fetch(f"{server.address}/bundle", mine)
    assert is_fetched(mine)


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        ("/bundle/manifest.json", "infinite loop"),
        ("file:///etc/passwd", "Redirection to url 'file:///etc/passwd' is not allowed"),
        ("ftp://127.0.0.1/x", "leads to 'ftp://127.0.0.1/x', which is not http or https"),
    ],
)
def test_redirections_that_lead_astray(target: str, expected: str, server: Server, mine: Path) -> None:
    def elsewhere(handler: Handler, asked: Asked) -> bool:
        handler.send_response(301)
        handler.send_header("Location", target)
        handler.send_header("Content-Length", "0")
        handler.end_headers()
        return True

    server.treat = elsewhere
    with pytest.raises(DownloadError, match=expected):
        fetch(f"{server.address}/bundle", mine)
    assert is_fetched_not_at_all(mine)


def test_no_way_leads_from_https_to_http() -> None:
    secure = Request("https://example.org/a")
    handler = _Redirections()
    with pytest.raises(DownloadError, match=r"leads to 'http://example.org/b', which is not https"):
        handler.redirect_request(secure, None, 302, "Found", {}, "http://example.org/b")


def test_nobody_there(mine: Path, server: Server) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
        result = run("lookup", "fetch", f"http://127.0.0.1:{port}/", "--to", mine)
        assert result.code == 1
        assert "cannot be reached: nothing listens there" in one_line(result)
    result = run("lookup", "fetch", server.address.replace("http", "https"), "--to", mine)
    assert result.code == 1
    assert "cannot be reached over TLS: " in one_line(result)
    assert is_fetched_not_at_all(mine)


def test_what_is_no_web_server(mine: Path) -> None:
    def greet(listening: socket.socket) -> None:
        other, _ = listening.accept()
        with other:
            other.sendall(b"220 mail.example.org ESMTP\r\n")
            other.recv(4096)

    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=greet, args=(listening,), daemon=True)
        thread.start()
        with pytest.raises(DownloadError, match="is answered by what is no web server: BadStatusLine"):
            fetch(f"http://127.0.0.1:{listening.getsockname()[1]}/", mine)
        thread.join()


def test_what_networks_say_as_sentences() -> None:
    untrusted = ssl.SSLCertVerificationError(1, "certificate verify failed")
    untrusted.verify_message = "self-signed certificate"
    for reason, expected, is_passing in (
        (untrusted, "is not trusted: self-signed certificate", False),
        (socket.gaierror(-2, "Name or service not known"), "no host 'example.org' is known", True),
        (OSError(101, "Network is unreachable"), "cannot be reached: Network is unreachable", True),
        (TimeoutError("timed out"), "is silent: nothing of use came for 30 seconds", True),
    ):
        error = _failure("https://example.org/x", reason)
        assert expected in str(error)
        assert error.is_passing == is_passing


def test_a_pinned_manifest_is_checked_before_anything_else_comes(server: Server, mine: Path) -> None:
    with pytest.raises(BundleError, match="not the one given"):
        fetch(f"{server.address}/bundle", mine, sha256="0" * 64)
    assert len(server.asked) == 1
    manifest = json.loads((server.folder / "bundle" / "manifest.json").read_bytes())
    assert manifest["tables"][0]["file"] == FILE
    fetch(f"{server.address}/bundle", mine, sha256=file_digest(server.folder / "bundle/manifest.json"))
    assert is_fetched(mine)


@pytest.mark.parametrize("address", ["http://127.0.0.1:1/\udcff", "http://127.0.0.1:1/x?\ud800"])
def test_an_address_with_half_a_character_is_none(address: str) -> None:
    """As a terminal gives them for bytes that are no text."""
    with pytest.raises(InvalidParameterError, match=r"an address cannot be .*\\ud"):
        parts_of(address)
