"""The page of `lookup serve` in a browser."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import Error, expect

if TYPE_CHECKING:
    from playwright.sync_api import Page


def test_the_page_opens(page: Page) -> None:
    page.goto("/")
    expect(page.get_by_role("heading", level=1)).to_have_text("Endtable")


def test_what_goes_wrong_on_a_page_is_noticed(page: Page, complaints: list[str]) -> None:
    """So that the other tests can fail: the fixture asserts that there are no complaints."""
    page.goto("/")
    with page.expect_event("pageerror"):
        page.evaluate("console.error('said'); setTimeout(() => { throw Error('nobody caught') })")
    with pytest.raises(Error, match="ERR_"):
        page.goto("http://127.0.0.1:9/elsewhere")
    for words in ("console: said", "thrown: nobody caught", "asked somebody else: http://127.0.0.1:9/"):
        assert [one for one in complaints if one.startswith(words)], complaints
    complaints.clear()
