"""The page of the API in a browser."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests.browser import SERVED_ALONE

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = SERVED_ALONE  # a site has no API


@pytest.fixture
def docs(page: Page) -> Page:
    page.goto("/docs")
    page.locator("#schemas h3").first.wait_for()
    return page


def test_every_route_is_shown(docs: Page) -> None:
    api = docs.request.get("/openapi.json").json()
    routes = {f"{how.upper()} {path}" for path, methods in api["paths"].items() for how in methods}
    assert set(docs.locator("#routes h2").all_text_contents()) == routes
    assert len(docs.locator("#contents li").all()) == len(routes)
    assert docs.locator("#schemas h3").all_text_contents() == list(api["components"]["schemas"])
    expect(docs.get_by_role("heading", level=1)).to_have_count(1)


def test_every_example_can_be_sent(docs: Page) -> None:
    trials = docs.locator(".trial")
    assert trials.count() > 8
    for trial in trials.all():
        trial.get_by_role("button", name="Send").click()
        expect(trial.get_by_role("status")).to_contain_text("200 OK")
        expect(trial.locator(".answer")).not_to_be_empty()


def test_an_example_that_was_changed_is_answered(docs: Page, complaints: list[str]) -> None:
    probe = docs.get_by_role("region", name="GET /api/tables/{name}/probe")
    field, status = probe.get_by_label("Address"), probe.get_by_role("status")
    field.fill("api/tables/rota/probe?position=x.o/.x./..o x")
    field.press("Enter")
    expect(status).to_contain_text("200 OK, application/json")
    expect(probe.locator(".answer")).to_contain_text('"outcome": "draw"')
    field.fill("api/tables/rota/probe?position=<img src=y>")
    field.press("Enter")
    expect(status).to_contain_text("400")
    expect(probe.locator(".answer")).to_contain_text("'<img src=y>' is not a position")
    assert docs.locator("img").count() == 0
    (complaint,) = complaints
    assert "status of 400" in complaint
    complaints.clear()


def test_it_fits_a_phone(docs: Page) -> None:
    docs.set_viewport_size({"width": 390, "height": 844})
    assert docs.evaluate("document.documentElement.scrollWidth") == 390
