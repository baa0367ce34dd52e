"""The reader in JavaScript as a page uses it: in Chromium, from a plain web server."""

from __future__ import annotations

import functools
import http.server
import shutil
import threading
from typing import TYPE_CHECKING, Any

import pytest

from tests.conftest import ROOT
from tests.readers import DAMAGES, READERS, TABLES, case, path_of
from tests.tools import NODE_MODULES, need

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from playwright.sync_api import Page, Route

TABLE = "tactics-3x3"
PLUGIN = "HDF5's Zstandard plugin (libH5Zzstd.so of h5wasm-plugins)"
ANSWERS = """async ([file, texts]) => {
    const { openTable, readBytes } = await import("./read_table.mjs");
    const table = await openTable(await readBytes(file));
    return texts.map((text) => table.probe(text)).map((value) => value && Object.values(value));
}"""
REFUSAL = """async (file) => {
    const { openTable, readBytes } = await import("./read_table.mjs");
    return openTable(await readBytes(file)).then(() => "it was opened", (error) => error.message);
}"""


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What somebody would put on a web server; tables are added by tests."""
    need(folder=NODE_MODULES)
    folder = tmp_path_factory.mktemp("site")
    for name in ("example.html", "read_table.mjs"):
        shutil.copy(READERS / name, folder)
    (folder / "node_modules").symlink_to(NODE_MODULES)
    return folder


@pytest.fixture(scope="module")
def address(site: Path) -> Iterator[str]:
    handler = functools.partial(Quiet, directory=str(site))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()
        thread.join()


@pytest.fixture
def reader(page: Page) -> Page:
    page.goto("/example.html")
    return page


def test_the_same_answers_as_lookup(reader: Page, site: Path, built: Callable[[str], Path]) -> None:
    for name in TABLES:
        path = path_of(name, built)
        shutil.copy(path, site)
        assert reader.evaluate(ANSWERS, [path.name, case(path).texts]) == case(path).answers, name


def test_the_example_answers_what_is_typed(reader: Page, complaints: list[str]) -> None:
    answer = reader.get_by_role("status")
    reader.get_by_label("Table").set_input_files(ROOT / f"tables/{TABLE}.h5")
    answer.get_by_text("tactics-3x3: Rows from the top").wait_for()
    reader.get_by_label("Position").fill("XXX/.X./...")
    assert answer.text_content() == '{"outcome":"win","remoteness":4,"grundy":null}'
    reader.get_by_label("Position").fill("XXX/.X./..")
    assert str(answer.text_content()).startswith("not a position: Rows from the top")
    assert not complaints
    reader.get_by_label("Table").set_input_files(READERS / "package.json")
    answer.get_by_text("package.json cannot be used: it is not an HDF5 file").wait_for()
    complaints.clear()  # HDF5 has said the same


def test_damage_is_noticed(reader: Page, site: Path, complaints: list[str]) -> None:
    for damage in DAMAGES:
        path = site / f"{damage.__name__}.h5"
        shutil.copy(ROOT / f"tables/{TABLE}.h5", path)
        damage(path)
        assert "does not match its digest" in reader.evaluate(REFUSAL, path.name)
    complaints.clear()  # what HDF5 itself says of a chunk that fails its checksum


@pytest.mark.parametrize(
    ("status", "sentence"),
    [(404, f"{PLUGIN} is missing: "), (200, f"it is damaged, or {PLUGIN} did not decode it")],
)
def test_a_missing_plugin_is_named(
    status: int, sentence: str, reader: Page, site: Path, complaints: list[str]
) -> None:
    # Some servers answer 200 and a page that says sorry. HDF5 does not load that, and h5wasm then
    # returns memory that nobody has written to: only the digest tells.
    def sorry(route: Route) -> None:
        route.fulfill(status=status, body="<p>There is no such page.</p>")

    reader.route("**/*.so", sorry)
    shutil.copy(ROOT / f"tables/{TABLE}.h5", site)
    assert sentence in reader.evaluate(REFUSAL, f"{TABLE}.h5")
    assert complaints
    complaints.clear()
