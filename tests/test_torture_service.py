"""A small share of `scripts/torture service`, and proof that it would notice what is wrong."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

import pytest
import torture_service
from torture_attacks import (
    BROKEN,
    ENDLESS,
    SHORT,
    be_slow,
    break_requests,
    leave_early,
    say_nothing,
    send_without_end,
    slow_clients,
    stop_under_load,
)
from torture_ordinary import be_ordinary
from torture_server import Reply, serving
from torture_service import ASKED, burst, change_tables, judged, keep_to_the_rate
from torture_soak import judge
from torture_tally import Tally

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks at processes in /proc")


def test_a_server_under_attack_answers_others_and_drops_the_attackers() -> None:
    tally = Tally()
    with serving(first=SHORT) as server:
        break_requests(tally, server, 1)
        send_without_end(tally, server, 100)
        say_nothing(tally, server, 300)  # it takes 200
        leave_early(tally, server, 50)
        be_slow(tally, server, (2, 3, 2), 1)
        assert server.said == ""  # nobody fills the log
        assert server.stop()[0] == 0
    assert tally.failures == []
    assert tally.counts["broken requests"].total() == len(BROKEN) + 1
    assert tally.counts["endless requests"]["refused"] == len(ENDLESS)
    assert tally.counts["slow clients"]["dropped"] == len(slow_clients(1, 1, 1))


def test_it_stops_whoever_is_connected() -> None:
    tally = Tally()
    stop_under_load(tally)
    assert tally.failures == []


def test_an_ordinary_user_will_do_and_nothing_is_written() -> None:
    tally = Tally()
    be_ordinary(tally)
    assert tally.failures == []
    assert tally.counts["what it touches"].total() > 100


def test_bursts_get_the_right_values_and_the_rate_is_held() -> None:
    tally = Tally()
    burst(tally, 300, 30, seed=1)
    keep_to_the_rate(tally)
    assert tally.failures == []
    assert tally.counts["bursts"]["right values"] > 200
    assert tally.counts["bursts"]["rubbish"] > 20


@pytest.mark.parametrize(
    ("workers", "first", "some"),
    [
        ("1", torture_service.ON_DISK, ("its middle written over", "cut to nothing in place")),
        ("2", "", (torture_service.UNNOTICED, "a pipe", "a link to a secret")),
    ],
)
def test_a_table_that_changes_is_never_wrong(
    workers: str, first: str, some: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    changes = {name: torture_service.CHANGES[name] for name in some}
    monkeypatch.setattr(torture_service, "CHANGES", changes)
    tally = Tally()
    change_tables(tally, workers, first, 1)
    assert tally.failures == []
    assert tally.counts["changed tables"]["right values"] > 10
    assert tally.counts["changed tables"]["back as it was"] == len(some)


# --- it would notice ------------------------------------------------------------------------------


def test_a_server_without_bounds_is_noticed() -> None:
    tally = Tally()
    without = "from lookup.service import connections as c\nc.LARGEST_HEAD = 1 << 40"
    with serving(first=without) as server:
        send_without_end(tally, server, 8)
    assert any("MB were taken: one header" in failure for failure in tally.failures)


def test_a_request_that_fails_while_nothing_changes_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def gone(path: Path) -> None:
        path.unlink()

    monkeypatch.setattr(torture_service, "CHANGES", {torture_service.UNNOTICED: gone})
    tally = Tally()
    change_tables(tally, "1", "", 1)
    assert any("a request fails: 404 missing_table" in failure for failure in tally.failures)


def test_answers_that_none_may_be_are_noticed() -> None:
    def ending(status: int, body: object, asked: str = ASKED) -> str:
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        return judged(asked, Reply(status, {}, content), {"outcome": "draw"}, "/a/folder")

    error = {"error": {"code": "unusable_table", "message": "it is damaged"}}
    assert ending(200, {"outcome": "draw"}) == "right values"
    assert ending(500, error) == "500 unusable_table"
    assert ending(200, {"outcome": "win"}).startswith("WRONG value")
    assert ending(200, b"root:x:0:0", "/api/tables/rota/file") == "WRONG file"
    error["error"]["message"] = "'/a/folder/rota.h5' is damaged"
    assert ending(500, error).startswith("WRONG: names a folder")
    error = {"error": {"code": "internal_error", "message": ""}}
    assert ending(500, error).startswith("WRONG: 500")
    assert ending(0, b"").startswith("WRONG: 0")


def test_memory_and_files_that_grow_are_noticed() -> None:
    for megabytes, files, failed in ((0.0, 0, 0), (0.2, 0, 1), (0.0, 1, 1), (0.2, 1, 2)):
        tally = Tally()
        samples = [(float(at), 80 + megabytes * at, 20 + files * at) for at in range(100)]
        judge(tally, samples, 100)
        assert tally.failed == failed
