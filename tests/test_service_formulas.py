"""Names without a file: the formula of the game answers, and says that it is one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import lookup
from lookup.response import line_fields, probe_fields
from lookup.service.shelf import MOST_BITS
from tests.serving import running
from tests.test_service import error_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    import httpx


@pytest.fixture(scope="module")
def client() -> Iterator[httpx.Client]:
    with running() as server:
        yield server.client


@pytest.mark.parametrize(
    ("name", "position"),
    [
        ("winners-losers-50", "WL" * 25),
        ("winners-losers-300", "WLL" * 100),
        ("clock-7-3", "1230000"),
        ("clock-30-9", "590000000000000000000000000001"),
        ("clock-3-12", "0,12,7"),
        ("sticks-any-2-7", "|||.|||||||||"),
        ("sticks-run-3-5", "||||||.|||||"),
    ],
)
def test_a_formula_answers_as_a_table_does(client: httpx.Client, name: str, position: str) -> None:
    law, asked = lookup.closed_form(name), {"position": position}
    base = f"/api/tables/{name}"
    assert client.get(f"{base}/probe", params=asked).json() == probe_fields(law, position)
    line = client.get(f"{base}/line", params=asked | {"limit": "5"}).json()
    assert line == line_fields(law, position, 5)
    best = law.best(position)
    assert best
    move = client.get(f"{base}/move", params=asked | {"move": best.text}).json()
    assert (move["from"], move["position"]) == (position, best.position)
    assert (
        client.post(f"{base}/probe", json={"positions": [position]}).json()[0]["position"] == position
    )
    info = client.get(base).json()
    assert info["answered_by"] == "closed form"
    assert info["start"] == law.game.format(law.game.start)
    assert info["rules"] == law.game.rules
    assert info["counts"] is info["digest"] is info["size"] is None


def test_a_table_says_that_it_is_one(client: httpx.Client) -> None:
    assert client.get("/api/tables/rota").json()["answered_by"] == "table"
    assert "winners-losers-50" not in client.get("/api/tables").json()["tables"]


def test_a_move_that_is_not_listed_is_taken_and_one_that_is_not_legal_is_400(
    client: httpx.Client,
) -> None:
    base = "/api/tables/sticks-any-1-3/move"
    taken = client.get(base, params={"position": "||.|||", "move": "2,5"}).json()
    assert taken["position"] == "|..|.|"
    code, message = error_of(client.get(base, params={"position": "||.|||", "move": "3"}), 400)
    assert code == "invalid_move"
    assert message.startswith("'3' is not a legal move in '||.|||'")
    assert error_of(client.get(base, params={"position": "||"}), 422)[0] == "malformed_request"


def test_indices_and_files_need_a_table(client: httpx.Client) -> None:
    batch = client.post("/api/tables/clock-7-3/probe", json={"indices": [0]})
    for response in (batch, client.get("/api/tables/clock-7-3/file")):
        code, message = error_of(response, 404)
        assert (code, message) == (
            "missing_table",
            "no table 'clock-7-3' here; build it with: build-tables clock --n 7 --k 3",
        )


@pytest.mark.parametrize("name", ["clock", "clock-0-2", "sticks-any-5-1", "winners-losers-0"])
def test_formulas_of_impossible_games_are_not_found(client: httpx.Client, name: str) -> None:
    assert error_of(client.get(f"/api/tables/{name}"), 404)[0] == "missing_table"


@pytest.mark.parametrize("name", ["winners-losers", "winners-losers-1000000", "clock-1000-1000000"])
def test_formulas_of_huge_games_are_too_large(client: httpx.Client, name: str) -> None:
    """Bounded in positions, so that nobody can stop the server with one request."""
    code, message = error_of(client.get(f"/api/tables/{name}"), 413)
    assert code == "too_large"
    expected = f"expected at most 2^{MOST_BITS} positions"
    assert message == f"'{name}' is too large to be played here: {expected}"
