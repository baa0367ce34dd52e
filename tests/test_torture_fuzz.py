"""Fuzzing: any text, argument, name, request, command, game and bundle; and a harness that can fail."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from torture_arguments import attempt_argument, attempt_name, check_many, check_name
from torture_bundles import Bundles, Servers
from torture_commands import Ran, attempt_command, check_command
from torture_fuzz import run_cases
from torture_own import OwnGames
from torture_requests import Asked, Service, check_answer
from torture_tally import Tally
from torture_texts import Playground, check_answers, check_index, check_text
from torture_wild import BrokenError, case, near_miss

import lookup
from lookup.bundle import MANIFEST
from lookup.errors import BundleError
from lookup.fetch import fetch
from lookup.games.examples.tictactoe import TicTacToe
from lookup.progress import Progress

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path
    from random import Random

FEW = settings(max_examples=60, derandomize=True, deadline=None, database=None)


@pytest.fixture(scope="module")
def playground(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Playground]:
    built = ("tic-tac-toe", "nim-20", "sticks-run-2-3-to40", "clock-3-11", "sticks-any-3-7")
    with Playground(tmp_path_factory.mktemp("fuzz") / "built", built) as made:
        yield made


@pytest.fixture(scope="module")
def service(playground: Playground) -> Iterator[Service]:
    with Service(playground) as made:
        yield made


def endings(kind: str, count: int, attempt: Callable[[Random], str]) -> set[str]:
    """How the first cases of a kind end; none as it may not."""
    tally = Tally(seed=1)
    run_cases(tally, kind, count, attempt, Progress.silent())
    assert tally.failures == []
    assert tally.cases == count
    return set(tally.counts[kind])


@FEW
@given(data=st.data())
def test_any_text_is_a_position_or_refused(playground: Playground, data: st.DataObject) -> None:
    answers = data.draw(st.sampled_from(playground.all))
    known = answers.game.format(answers.game.start)
    letters = st.text(st.sampled_from([*known, *" \n/.0x"]), max_size=len(known) + 2)
    text = data.draw(st.one_of(st.text(max_size=40), letters, st.just(known)))
    with case(f"{answers!r}, {text!r}"):
        check_text(answers.game, text)
        check_answers(answers, text)


@FEW
@given(
    name=st.one_of(st.text(max_size=30), st.from_regex(r"[a-z]+(-[0-9x]{1,12}){0,3}", fullmatch=True))
)
def test_any_name_is_that_of_one_game_or_none(playground: Playground, name: str) -> None:
    check_name(playground.tables, name)


@FEW
@given(
    path=st.one_of(st.just("/api/tables/rota/probe"), st.text(max_size=30)),
    query=st.binary(max_size=40),
    body=st.binary(max_size=60),
    method=st.sampled_from(["GET", "POST", "HEAD", "PUT"]),
)
def test_any_request_is_answered(
    service: Service, path: str, query: bytes, body: bytes, method: str
) -> None:
    asked = Asked(method, f"/{path}".encode(errors="replace").decode(), query, [], body)
    check_answer(asked, service.ask(asked))


def test_a_query_that_is_no_text_breaks_nothing(service: Service) -> None:
    """Where there is no such page: uvicorn lets none through, other servers may."""
    assert service.ask(Asked("GET", "/nope", b"\xff", [], b"")).status == 404


def test_a_share_of_the_campaign(playground: Playground, service: Service) -> None:
    assert {"refused, refused", "a position, answered"} <= endings(
        "texts", 150, playground.attempt_text
    )
    assert {"made", "refused"} <= endings("moves", 100, playground.attempt_move)
    assert endings("indices", 300, playground.attempt_index) == {"a position", "a hole"}
    assert {"answered", "refused"} <= endings("arguments", 300, attempt_argument(playground))
    assert "no game, no table" in endings("names", 150, attempt_name(playground.tables))
    assert "200 application/json" in endings("requests", 200, service.attempt)


def test_a_share_of_what_users_write(tmp_path: Path) -> None:
    ended = endings("own games", 12, OwnGames(tmp_path / "own").attempt)
    assert {"python: GameError", "game: exit 2"} & ended
    assert "lookup: exit 2" in endings("commands", 10, attempt_command(tmp_path / "commands"))


def test_a_share_of_what_strangers_send(tmp_path: Path) -> None:
    bundles = Bundles(tmp_path / "bundles")
    assert endings("manifests", 30, bundles.attempt_manifest) == {"read", "refused"}
    assert {"tar: BundleError", "zip: BundleError"} <= endings("bundles", 25, bundles.attempt_bundle)
    with Servers(tmp_path / "servers") as servers:
        assert {"BundleError", "DownloadError"} <= endings("servers", 15, servers.attempt)


def test_a_manifest_whose_parameters_are_nested_is_refused(tmp_path: Path) -> None:
    """To write them down again would take more of the stack than to read them."""
    bundles = Bundles(tmp_path / "bundles")
    nested = b'"parameters": ' + b'{"a":' * 99 + b"{}" + b"}" * 99
    folder = tmp_path / "bundles" / "bundle"
    text = bundles.files[MANIFEST].replace(b'"parameters": {\n        "length": 3\n      }', nested)
    assert text != bundles.files[MANIFEST]
    (folder / MANIFEST).write_bytes(text)
    with pytest.raises(BundleError, match="parameters that no game has"):
        fetch(str(folder), tmp_path / "target")


# --- the harness itself -----------------------------------------------------------------------------


class Sloppy(TicTacToe):
    """Takes texts with spaces around them."""

    def parse(self, text: str) -> int:
        return super().parse(text.strip())


class Raising(TicTacToe):
    """Stumbles over some texts."""

    def parse(self, text: str) -> int:
        return super().parse(text) if text.isascii() else int(text)


@pytest.mark.parametrize("kind", [Sloppy, Raising])
def test_a_game_that_parses_badly_is_noticed(kind: type[lookup.Game]) -> None:
    game, tally = kind(), Tally(seed=1)

    def attempt(random: Random) -> str:
        with case("a text"):
            return check_text(game, near_miss(random, game.format(random.randrange(2))))

    run_cases(tally, "texts", 300, attempt, Progress.silent())
    assert tally.failed > 3
    assert all(one.startswith("texts: broken: case ") for one in tally.failures)


def test_answers_that_contradict_each_other_are_noticed(
    playground: Playground, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = playground.tables["tic-tac-toe"]
    lost = lookup.Value(lookup.Outcome.LOSS, 5)
    monkeypatch.setattr(table, "probe", lambda _: lost)
    with pytest.raises(BrokenError):
        check_answers(table, ".../.../...")
    with pytest.raises(BrokenError):
        check_index(table, 0)
    monkeypatch.setattr(table, "probe_index", lambda _: lost)
    with pytest.raises(BrokenError, match="not loss in 5"):
        check_many(table, [0])


def test_bad_answers_of_a_service_are_noticed(service: Service) -> None:
    asked = Asked("GET", "/api/tables/rota/probe", b"", [], b"")
    got = service.ask(asked)
    assert check_answer(asked, got) == "422 malformed_request"
    for bad in (
        got._replace(status=500),
        got._replace(body=b"oops"),
        got._replace(headers={}),
        got._replace(body=got.body.replace(b"once", b"a\\nb")),
    ):
        with pytest.raises((BrokenError, ValueError)):
            check_answer(asked, bad)


@pytest.mark.parametrize(
    "ran",
    [
        Ran(3, "", "error: x"),
        Ran(1, "", ""),
        Ran(0, "", "error: x"),
        Ran(1, "", "error: x (a fault of ours)"),
        Ran(1, "", "error: x\nTraceback"),
        Ran(2, "", f"error: {'x' * 5000}"),
    ],
)
def test_bad_ends_of_commands_are_noticed(ran: Ran) -> None:
    with pytest.raises(BrokenError):
        check_command(ran)
