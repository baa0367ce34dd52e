"""Fixtures of tests that look at the page as a person does: Chromium, driven by Playwright.

`page` opens what the server at `address` serves, `explorer` is the same page in the words of
explorer.py, and `visit` is for another visitor, or for a phone.
"""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import urlsplit

import pytest

from tests.tools import NAMES, VARIABLE, do_without, find_chromium

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Error, Page, Request

    from tests.explorer import Explorer

ARGUMENTS = (
    "--no-sandbox",  # which root, as in a container, cannot have
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
SECONDS = 20
"""How long the page may take for anything; it takes milliseconds."""


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    """A browser, one for each module of tests.

    Not one for the whole session: as long as it is open, Playwright's event loop counts as running in
    this thread, and no test of another module could call `asyncio.run`.
    """
    executable = find_chromium()
    if executable is None:
        problem = f"no Chromium: expected {', '.join(NAMES)} on the PATH, or its path in {VARIABLE}"
        do_without(problem)
    from playwright.sync_api import sync_playwright  # slow to import

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=ARGUMENTS)
        yield browser
        browser.close()


SITE_ALONE = pytest.mark.parametrize("hosting", ["site"], indirect=True, scope="session")
"""For what the page does by itself, wherever its answers come from: once is enough."""

SERVED_ALONE = pytest.mark.parametrize("hosting", ["served"], indirect=True, scope="session")


@pytest.fixture(scope="session", params=["served", "site"])
def hosting(request: pytest.FixtureRequest) -> str:
    """How pages come to be: from `lookup serve`, or from a site that needs no such server."""
    return str(request.param)


@pytest.fixture(scope="session")
def address(hosting: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Where the explorer of the packaged tables is; a module may have a fixture of its own instead."""
    from tests.serving import explorer_of  # imports conftest, which imports this

    with explorer_of(hosting, tmp_path_factory.mktemp("site") / "site") as address:
        yield address


@pytest.fixture
def complaints() -> list[str]:
    """What pages have complained about so far. A test that expects something takes it out."""
    return []


class Visit(Protocol):
    """`visit()` is an empty page of a fresh profile, `visit(has_touch=True)` one with a touchscreen."""

    def __call__(self, **options: Any) -> Page:
        """The options are those of Playwright's `new_context`."""


@pytest.fixture
def visit(chromium: Browser, address: str, complaints: list[str]) -> Iterator[Visit]:
    """Opens pages; in the end there must be no complaints about any of them."""
    with ExitStack() as stack:

        def enter(**options: Any) -> Page:
            context = stack.enter_context(chromium.new_context(base_url=address, **options))
            return _watched(context, address, complaints)

        yield enter
    assert not complaints, "\n".join(complaints)


@pytest.fixture(scope="module")
def profile(chromium: Browser, address: str) -> Iterator[BrowserContext]:
    """One for each module: what it has read once it does not have to read again for the next test."""
    with chromium.new_context(base_url=address) as context:
        yield context


@pytest.fixture
def page(profile: BrowserContext, address: str, complaints: list[str]) -> Iterator[Page]:
    """An empty page, which knows nothing of those before; `page.goto("/")` opens the explorer.

    In the end there must be no complaints about it.
    """
    page = _watched(profile, address, complaints)
    kept = {"origin": address.rstrip("/"), "storageTypes": "local_storage"}
    profile.new_cdp_session(page).send("Storage.clearDataForOrigin", kept)
    yield page
    page.close()
    assert not complaints, "\n".join(complaints)


@pytest.fixture
def explorer(page: Page) -> Explorer:
    """The explorer, not yet open, for somebody who wants no motion: machines then move sooner."""
    from tests.explorer import Explorer  # imports Playwright

    return Explorer(page)


def _watched(context: BrowserContext, address: str, complaints: list[str]) -> Page:
    """A new page whose complaints are collected.

    They are: errors on the console (Chromium also puts answers of 400 and above there), exceptions that
    nobody caught, and requests to anybody but the server.
    """

    def console(message: ConsoleMessage) -> None:
        if message.type == "error":
            complaints.append(f"console: {message.text} ({message.location.get('url')})")

    def thrown(error: Error) -> None:
        complaints.append(f"thrown: {error}")

    def asked(request: Request) -> None:
        url = urlsplit(request.url)
        if url.scheme not in ("data", "blob") and url.netloc != urlsplit(address).netloc:
            complaints.append(f"asked somebody else: {request.url}")

    context.set_default_timeout(SECONDS * 1000)
    page = context.new_page()
    page.on("console", console)
    page.on("pageerror", thrown)
    page.on("request", asked)
    return page
