"""The description of the API is true: its examples, and whatever else it allows, sent to a server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from lookup.service.app import create_app
from lookup.service.openapi import BATCH_EXAMPLES, description
from lookup.service.shelf import Shelf
from tests.serving import running

if TYPE_CHECKING:
    from collections.abc import Iterator

    import httpx

    import lookup

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]
POSITIONS = {
    "rota": ["x.o/.x./..o x", ".../.../... x", "xxx/oo./... o"],
    "tactics-4x4": ["XXXX/..X./..X./....", "XXXX/XXXX/XXXX/XXXX", "..../..../..../...."],
    "sticks-any-1-3": ["|||.||", "."],
    "sticks-run-1-2": ["|||.||", "|" * 30],
    "sticks-special-50": ["||.||", "..."],
    "clock-4-2": ["1010", "0000"],
    "winners-losers-20": ["WLW", "L"],
    "winners-losers-50": ["WL" * 25],
    "clock-7-3": ["1230000"],
}
"""What random texts would not find: names of tables and formulas, with positions they have."""


@pytest.fixture(scope="module")
def client() -> Iterator[httpx.Client]:
    with running() as server:
        yield server.client


def operations() -> list[tuple[str, str, dict[str, Any]]]:
    return [
        (method, path, route)
        for path, methods in description()["paths"].items()
        for method, route in methods.items()
    ]


# --- examples -------------------------------------------------------------------------------------


@pytest.mark.parametrize(("method", "path", "route"), operations())
def test_every_example_is_what_happens(
    client: httpx.Client, method: str, path: str, route: dict[str, Any]
) -> None:
    given = {one["name"]: one["example"] for one in route.get("parameters", ())}
    headers = {"range": given.pop("Range")} if "Range" in given else {}
    url = path.format(name=given.pop("name", ""))
    if method == "post":
        for body, answer in BATCH_EXAMPLES.values():
            assert client.post(url, params=given, json=body).json() == answer
        return
    response = client.get(url, params=given, headers=headers)
    assert response.status_code == (206 if headers else 200)
    shown = route["responses"]["200"]["content"].get("application/json", {}).get("example")
    if shown is not None:
        assert response.json() == shown


def test_some_examples_show_their_answer() -> None:
    shown = [
        path
        for method, path, route in operations()
        if "example" in route["responses"]["200"]["content"].get("application/json", {})
    ]
    assert {"/api/tables/{name}/probe", "/api/tables/{name}/move", "/api/health"} <= set(shown)


def test_every_route_of_the_api_is_described(tables: lookup.Tablebase) -> None:
    app = create_app(Shelf(tables))
    routes = {(method.lower(), route.path) for route in app.routes for method in route.methods}  # type: ignore[attr-defined]  # all of ours are of the kind that has both
    api = {(method, path) for method, path in routes if path.startswith("/api/") and method != "head"}
    assert api == {(method, path) for method, path, _ in operations()}


def test_it_is_served_and_names_its_limits(client: httpx.Client) -> None:
    assert client.get("/openapi.json").json() == description()
    assert client.get("/openapi.json").headers["content-type"] == "application/json"
    text = str(description())
    for limit in ("10,000", "100,000", "4,194,304"):
        assert limit in text


# --- whatever else it allows ----------------------------------------------------------------------

schema = schemathesis.openapi.from_dict(description())


@schema.parametrize()
@settings(
    max_examples=30,
    deadline=None,  # a machine may be busy; nothing here is about time
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
    derandomize=True,  # a failure in CI can be had again
)
def test_no_request_gets_an_answer_that_is_not_described(
    client: httpx.Client, case: schemathesis.Case[Any]
) -> None:
    """Made from the description: allowed and forbidden parameters, bodies, methods and headers."""
    case.call_and_validate(base_url=str(client.base_url), checks=CHECKS)


@pytest.mark.parametrize(
    ("name", "position"), [(name, one) for name, texts in POSITIONS.items() for one in texts]
)
def test_right_positions_get_the_answers_that_are_described(
    client: httpx.Client, name: str, position: str
) -> None:
    """So that answers are checked, and not only errors: random texts are no positions."""
    path, base = {"name": name}, str(client.base_url)
    table = schema["/api/tables/{name}"]["GET"].Case(path_parameters=path)
    assert table.call_and_validate(base_url=base, checks=CHECKS).status_code == 200
    for what in ("probe", "line", "board"):
        operation = schema[f"/api/tables/{{name}}/{what}"]["GET"]
        case = operation.Case(path_parameters=path, query={"position": position})
        assert case.call_and_validate(base_url=base, checks=CHECKS).status_code == 200
    batch = schema["/api/tables/{name}/probe"]["POST"]
    bodies: list[dict[str, Any]] = [{"positions": [position]}, {"indices": [0, 1]}]
    for body in bodies:
        case = batch.Case(path_parameters=path, body=body, media_type="application/json")
        formula = table.call(base_url=base).json()["answered_by"] == "closed form"
        expected = 404 if formula and "indices" in body else 200
        assert case.call_and_validate(base_url=base, checks=CHECKS).status_code == expected
