"""A site of the explorer on web servers as they are: below a folder, with ranges, gone, or damaged."""

from __future__ import annotations

import re
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.commands import run
from tests.explorer import Explorer
from tests.serving import FilesOnly, hosted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.browser import Visit


class WithRanges(FilesOnly):
    """Sends parts of files, as most web servers do."""

    def do_GET(self) -> None:  # noqa: N802 - as its base calls it
        match = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("range", ""))
        if not match:
            super().do_GET()
            return
        content = Path(self.translate_path(self.path)).read_bytes()
        first, last = map(int, match.groups())
        part = content[first : last + 1]
        self.send_response(HTTPStatus.PARTIAL_CONTENT)
        self.send_header("Content-Length", str(len(part)))
        self.send_header("Content-Range", f"bytes {first}-{first + len(part) - 1}/{len(content)}")
        self.end_headers()
        self.wfile.write(part)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Not where the server's files begin, but below."""
    folder = tmp_path / "games" / "endtable"
    assert run("lookup", "export-site", folder, "tactics-4x5", "tactics-3x3", "rota").code == 0
    return folder


@pytest.fixture
def address(tmp_path: Path, folder: Path) -> Iterator[str]:
    with hosted(tmp_path, WithRanges) as address:
        yield f"{address}games/endtable/"


def test_it_may_stand_anywhere_and_be_read_in_parts(visit: Visit, address: str) -> None:
    explorer = Explorer(visit())
    asked: list[str] = []
    explorer.page.on("request", lambda request: asked.append(request.url))
    explorer.page.goto(address)
    explorer.settle()
    explorer.choose("table", "tactics-4x5")
    explorer.hints("best")
    assert explorer.follow() in ("a1-a4", "c1-c4", "e1-e4", "a2-a3", "e2-e3")
    assert all(url.startswith(address) for url in asked)
    assert explorer.page.locator("#docs").is_hidden()
    link = explorer.page.locator("#file")
    with explorer.page.expect_download() as download:
        link.click()
    assert download.value.suggested_filename == "tactics-4x5.h5"


def test_a_damaged_table_is_said_and_another_can_be_played(
    visit: Visit, address: str, folder: Path
) -> None:
    path = folder / "tables" / "rota.h5"
    path.write_bytes(bytes(path.stat().st_size))
    explorer = Explorer(visit())
    explorer.page.goto(f"{address}#rota")
    explorer.page.locator("#error:not([hidden])").wait_for()
    explorer.settle()
    assert explorer.error.startswith("tables/rota.h5 is damaged: chunk ")
    explorer.choose("table", "tactics-3x3")
    assert (explorer.error, explorer.position) == ("", ".../.../...")
