"""The page when answers are late, or when there are none."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests.explorer import Explorer
from tests.serving import Server, running

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from playwright.sync_api import Route

    from tests.browser import Visit


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    """One that the last test here may stop."""
    with running() as started:
        yield started


@pytest.fixture(scope="module")
def address(server: Server) -> str:
    return str(server.client.base_url)


class Delay:
    """Holds back the answers to some requests until they are let go."""

    def __init__(self, explorer: Explorer, pattern: str) -> None:
        self.page, self.pattern = explorer.page, pattern
        self.held: list[Route] = []
        self.page.route(pattern, lambda route: self.held.append(route))

    def after(self, action: Callable[[], object]) -> Route:
        """The request that an action makes."""
        before = len(self.held)
        with self.page.expect_request(self.pattern):
            action()
        while len(self.held) == before:
            self.page.evaluate("0")  # so that Playwright comes to hand it over
        return self.held[-1]

    def let_go(self, route: Route) -> None:
        url = route.request.url
        with self.page.expect_event("requestfinished", lambda request: request.url == url):
            route.continue_()
        self.page.evaluate("new Promise((done) => setTimeout(done))")  # the page has seen it, too


def test_a_table_in_parts_has_no_file_to_download(explorer: Explorer) -> None:
    def in_parts(route: Route) -> None:
        answer = route.fetch()
        route.fulfill(response=answer, json={**answer.json(), "form": "folder"})

    explorer.page.route("**/api/tables/tactics-3x3", in_parts)
    for table, has_file in (("tactics-4x4", True), ("tactics-3x3", False)):
        explorer.open(table)
        assert explorer.page.locator("#file").is_visible() == has_file


def test_the_latest_of_two_games_wins(explorer: Explorer) -> None:
    page = explorer.page
    explorer.open("tactics-3x3")
    late = Delay(explorer, "**/api/tables/tactics-4x4")
    asked = late.after(lambda: page.select_option("#table", "tactics-4x4"))
    expect(page.locator("body[data-busy]")).to_have_count(1)
    assert explorer.table == "tactics-3x3"  # what there was stays while one waits
    page.select_option("#table", "rota")
    explorer.settle()
    assert explorer.table == "rota"
    late.let_go(asked)
    assert (explorer.table, explorer.position) == ("rota", ".../.../... x")
    assert explorer.link.startswith("#rota=")
    assert page.input_value("#table") == "rota"


def test_the_latest_of_two_moves_wins(explorer: Explorer) -> None:
    page = explorer.page
    explorer.open("rota")
    explorer.press("c")
    late = Delay(explorer, "**/probe?*")
    first = late.after(lambda: explorer.cell("n").click())
    second = late.after(lambda: explorer.cell("e").click())
    late.let_go(second)
    explorer.settle()
    assert explorer.position == ".../.xo/... x"
    late.let_go(first)
    assert explorer.position == ".../.xo/... x"
    assert [words.split()[1] for words in explorer.history] == ["c", "e"]
    page.unroute_all()

    late = Delay(explorer, "**/board?*")
    waited = late.after(lambda: explorer.cell("n").click())
    page.click("#undo")  # of what is known already nothing is asked
    explorer.settle()
    assert explorer.position == ".../.x./... o"
    late.let_go(waited)
    assert explorer.position == ".../.x./... o"


def test_a_line_that_comes_too_late_is_not_shown(explorer: Explorer) -> None:
    explorer.open("tactics-3x3")
    late = Delay(explorer, "**/line?*")
    asked = late.after(lambda: explorer.page.click("#best-line"))
    explorer.page.locator("#moves button").first.click()
    expect(explorer.page.locator("#history button")).to_have_count(2)
    late.let_go(asked)
    explorer.settle()
    assert not explorer.page.locator("#line").is_visible()
    assert explorer.at == 1


def test_what_is_no_answer_is_said_and_tried_again(explorer: Explorer, complaints: list[str]) -> None:
    explorer.open("tactics-3x3")
    explorer.page.route("**/probe?*", lambda route: route.fulfill(status=502, body="Bad gateway"))
    explorer.play("a1")
    assert explorer.error == "the server does not answer: is it still running?"
    assert (explorer.position, explorer.history) == (".../.../...", [])
    assert explorer.marked("anchor") == ["a1"]
    explorer.page.unroute_all()
    explorer.press("a1")  # one press is enough: the other end is still chosen
    assert (explorer.position, explorer.error) == ("X../.../...", "")
    complaints[:] = [one for one in complaints if "status of 502" not in one]


def test_a_server_that_stops_leaves_the_board_and_a_sentence(
    visit: Visit, complaints: list[str], server: Server
) -> None:
    explorer = Explorer(visit())  # who has seen nothing before
    explorer.open("tactics-3x3")
    explorer.play("a1")
    explorer.play("b2")
    server.stop(signal.SIGTERM)
    sentence = "the server does not answer: is it still running?"
    explorer.play("c3")
    assert (explorer.error, explorer.position) == (sentence, "X../.X./...")
    assert explorer.link == "#tactics-3x3=X../.X./..."
    explorer.click("#undo")  # what was seen is still known
    assert (explorer.error, explorer.position) == ("", "X../.../...")
    explorer.click("#best-line")
    assert explorer.error == sentence
    explorer.choose("table", "rota")
    assert (explorer.error, explorer.table) == (sentence, "tactics-3x3")
    assert explorer.page.input_value("#table") == "tactics-3x3"
    explorer.click("#redo")
    assert explorer.position == "X../.X./..."
    complaints[:] = [one for one in complaints if "ERR_CONNECTION_REFUSED" not in one]
