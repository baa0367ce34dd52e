"""What the service tells caches, other origins and browsers that unpack: its headers."""

from __future__ import annotations

import gzip
import json
from typing import TYPE_CHECKING

import pytest

import lookup
from builder.build import build_table
from tests.own_games import SUBTRACT
from tests.serving import running
from tests.test_service import ROTA, error_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import httpx

A_DAY, FOR_EVER, ASK_AGAIN = "public, max-age=86400", "public, max-age=31536000, immutable", "no-cache"


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    """The packaged tables, and one of a user's own game."""
    folder: Path = tmp_path_factory.mktemp("own")
    source = folder / "subtract.py"
    source.write_text(SUBTRACT, "utf-8")
    build_table(lookup.load_game(source)(), folder)
    with running("--tables", folder, "--game", source) as server:
        yield server.client


ANSWERS = [
    f"/api/tables/rota/probe?position={ROTA}",
    f"/api/tables/rota/move?position={ROTA}&move=e",
    f"/api/tables/rota/line?position={ROTA}",
    f"/api/tables/rota/board?position={ROTA}",
    "/api/tables/winners-losers-50/probe?position=WL",
]


ASKED_AGAIN = ["/api/tables/rota", "/", "/static/explorer.js", "/api/tables/rota/file"]


@pytest.mark.parametrize("path", [*ANSWERS, *ASKED_AGAIN])
def test_what_a_client_has_is_not_sent_again(client: httpx.Client, path: str) -> None:
    first = client.get(path)
    tag = first.headers["etag"]
    for known in (tag, f'"other", {tag}', tag.removeprefix("W/"), "*"):
        again = client.get(path, headers={"if-none-match": known})
        assert (again.status_code, again.content) == (304, b"")
        assert again.headers["etag"] == tag
        assert again.headers["cache-control"] == first.headers["cache-control"]
    assert client.get(path, headers={"if-none-match": '"other"'}).content == first.content


@pytest.mark.parametrize("path", ANSWERS)
def test_values_of_our_games_may_be_kept_for_a_day(client: httpx.Client, path: str) -> None:
    assert client.get(path).headers["cache-control"] == A_DAY


def test_answers_of_a_named_digest_may_be_kept_for_ever(client: httpx.Client) -> None:
    digest = client.get("/api/tables/rota").json()["digest"]
    asked = {"position": ROTA, "digest": digest}
    for given in (digest, digest[:8]):
        asked["digest"] = given
        answer = client.get("/api/tables/rota/probe", params=asked)
        assert answer.headers["cache-control"] == FOR_EVER
    asked["digest"] = "0" * 64
    code, message = error_of(client.get("/api/tables/rota/probe", params=asked), 404)
    assert code == "other_digest"
    assert digest in message
    asked["position"] = "WL"
    response = client.get("/api/tables/winners-losers-50/probe", params=asked)
    assert "a formula answers" in error_of(response, 404)[1]
    batch = client.post("/api/tables/rota/probe?digest=00000000", json={"indices": [0]})
    assert error_of(batch, 404)[0] == "other_digest"


@pytest.mark.parametrize("digest", ["", "xyz", "ABCDEF0123", "0" * 65, "00000000&digest=00000000"])
def test_a_digest_that_is_none_is_422(client: httpx.Client, digest: str) -> None:
    response = client.get(f"/api/tables/rota/probe?position={ROTA}&digest={digest}")
    assert error_of(response, 422)[0] == "malformed_request"


def test_what_can_change_is_asked_for_again(client: httpx.Client) -> None:
    own = client.get("/api/tables/subtract-20").json()["digest"]
    for pinned in ("", f"&digest={own}"):  # of the rules it says all, but not of pictures and names
        answer = client.get(f"/api/tables/subtract-20/probe?position=20{pinned}")
        assert answer.headers["cache-control"] == ASK_AGAIN
        assert answer.headers["etag"]
    for path in ASKED_AGAIN:
        assert client.get(path).headers["cache-control"] == ASK_AGAIN
    batch = client.post("/api/tables/rota/probe", json={"indices": [0]})
    for answer in (batch, *map(client.get, ("/api/tables", "/api/health", "/api/tables/nope"))):
        assert answer.headers["cache-control"] == ASK_AGAIN
    file = client.get("/api/tables/rota/file")
    assert not file.headers["etag"].startswith("W/")


def test_a_download_goes_on_only_if_the_file_is_the_same(client: httpx.Client) -> None:
    whole = client.get("/api/tables/rota/file")
    headers = {"range": "bytes=100-", "if-range": whole.headers["etag"]}
    rest = client.get("/api/tables/rota/file", headers=headers)
    assert (rest.status_code, rest.content) == (206, whole.content[100:])
    headers["if-range"] = '"other"'
    again = client.get("/api/tables/rota/file", headers=headers)
    assert (again.status_code, again.content) == (200, whole.content)


def test_any_origin_may_read(client: httpx.Client) -> None:
    origin = {"origin": "https://example.org"}
    for path in (*ANSWERS, "/api/tables/nope", "/api/tables/rota/file"):
        headers = client.get(path, headers=origin).headers
        assert headers["access-control-allow-origin"] == "*"
        assert {"etag", "retry-after"} <= {*headers["access-control-expose-headers"].split(", ")}
    asked = {"access-control-request-method": "POST", "access-control-request-headers": "content-type"}
    allowed = client.options("/api/tables/rota/probe", headers=origin | asked)
    assert allowed.status_code == 200
    assert "POST" in allowed.headers["access-control-allow-methods"]
    assert "content-type" in allowed.headers["access-control-allow-headers"].lower()
    asked["access-control-request-headers"] = "x-other"
    assert client.options("/api/tables/rota/probe", headers=origin | asked).status_code == 200
    asked["access-control-request-method"] = "DELETE"
    assert client.options("/api/tables/rota/probe", headers=origin | asked).status_code == 400


def test_long_answers_are_compressed_if_asked_for(client: httpx.Client) -> None:
    path = "/api/tables/tactics-4x4/probe?position=..../..../..../...."
    plain = client.get(path, headers={"accept-encoding": "identity"})
    with client.stream("GET", path, headers={"accept-encoding": "gzip"}) as answer:
        packed = b"".join(answer.iter_raw())
    assert answer.headers["content-encoding"] == "gzip"
    assert "accept-encoding" in answer.headers["vary"].lower()
    assert answer.headers["etag"] == plain.headers["etag"]
    assert len(packed) < len(plain.content) / 2
    assert json.loads(gzip.decompress(packed)) == plain.json()
    for other in ("/api/health", "/api/tables/rota/file"):  # short, or compressed already
        headers = client.get(other, headers={"accept-encoding": "gzip"}).headers
        assert "content-encoding" not in headers
