"""A server that is asked everything for a long time: the right answers, and memory that stays level."""

from __future__ import annotations

import json
import time
from contextlib import suppress
from http.client import HTTPConnection, HTTPException
from random import Random
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from torture_attacks import BROKEN
from torture_server import PATIENCE, Reply, serving

import lookup
from lookup.response import batch_fields, board_fields, column_fields, line_fields, probe_fields

if TYPE_CHECKING:
    from torture_server import Server
    from torture_tally import Tally

    from lookup.progress import Report

TABLES = ("rota", "rota-diameters", "tactics-3x3", "tactics-4x4", "tactics-4x5", "clock-4-2")
TEXTS = {"sticks-run-1-2": "|.", "sticks-any-1-3": "|.", "winners-losers-20": "WL"}
"""Tables of positions of many lengths, and what these are made of."""

_WARM = 300
LEVEL_MEGABYTES, LEVEL_SHARE = 6.0, 0.04
"""Memory is level if it grows by no more, from the second tenth of the time to the last."""


class Asker:
    """Somebody who asks at random, and knows what the answers must be."""

    def __init__(self, server: Server, tables: lookup.Tablebase, chance: Random, tally: Tally) -> None:
        self._server, self._tables, self._chance, self._tally = server, tables, chance, tally
        self._connection = HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE)
        self._formulas = 21  # ever new names

    def ask_once(self) -> None:
        """One request of any kind."""
        asks = (
            (self._probe, 30),
            (self._batch, 8),
            (self._line, 4),
            (self._board, 6),
            (self._formula, 8),
            (self._mistake, 14),
            (self._page, 12),
            (self._file, 8),
            (self._broken, 8),
            (self._leave, 2),
        )
        kinds, weights = zip(*asks, strict=True)
        kind = self._chance.choices(kinds, weights)[0]
        name = kind.__name__.strip("_")
        try:
            right = kind()
        except (OSError, HTTPException) as error:
            self._connection.close()
            self._tally.fail("soak", "no answer", f"{name}: {error!r}")
            return
        if right is None:
            self._tally.add("soak", name)
        else:
            self._tally.fail("soak", "a wrong answer", f"{name}: {right}")

    def warm_up(self) -> None:
        """Ask for all that is remembered: what is kept once is no growth."""
        for name in (*TABLES, *TEXTS):
            self._get(f"/api/tables/{name}")
        for _ in range(_WARM):
            self._formula()
            self.ask_once()

    def close(self) -> None:
        """Ask no more."""
        self._connection.close()

    # Each returns None, or what was wrong.

    def _probe(self) -> str | None:
        table, text = self._position()
        answer = self._get(f"/api/tables/{table.name}/probe?position={quote(text)}")
        return _differs(answer, probe_fields(table, text))

    def _batch(self) -> str | None:
        table, _ = self._position()
        number = self._chance.choice([1, 10, 200])
        if self._chance.random() < 0.5 and table.name in TABLES:
            indices = [self._chance.randrange(table.game.size) for _ in range(number)]
            return _differs(self._post(table.name, {"indices": indices}), column_fields(table, indices))
        texts = [self._text(table) for _ in range(number)]
        return _differs(self._post(table.name, {"positions": texts}), batch_fields(table, texts))

    def _line(self) -> str | None:
        table, text = self._position()
        answer = self._get(f"/api/tables/{table.name}/line?position={quote(text)}&limit=5")
        return _differs(answer, line_fields(table, text, 5))

    def _board(self) -> str | None:
        table, text = self._position()
        answer = self._get(f"/api/tables/{table.name}/board?position={quote(text)}")
        return _differs(answer, board_fields(table, text))

    def _formula(self) -> str | None:
        self._formulas += 1
        name = f"winners-losers-{self._formulas % 900 + 21}"
        text = "".join(self._chance.choices("WL", k=20))
        answer = self._get(f"/api/tables/{name}/probe?position={text}")
        return _differs(answer, probe_fields(lookup.closed_form(name), text))

    def _mistake(self) -> str | None:
        number = self._chance.randrange(10**9)
        path, statuses = self._chance.choice(
            [
                (f"/api/tables/nobody-{number}", (404,)),
                (f"/no/such/page/{number}", (404,)),
                (f"/api/tables/rota/probe?position=no{number}", (400,)),
                (f"/api/tables/rota/line?position=x&limit=x{number}", (422,)),
                (f"/api/tables/rota/probe?position={'x' * 1001}", (413,)),
                (f"/api/tables/clock-{number}-{number}", (404, 413)),
                (f"/api/tables/rota?digest={number:064x}", (404,)),
            ]
        )
        answer = self._get(path)
        return None if answer.status in statuses and answer.code else f"{answer.status} for {path[:80]}"

    def _page(self) -> str | None:
        paths = ["/", "/docs", "/openapi.json", "/metrics", "/api/health", "/api/tables"]
        path = self._chance.choice([*paths, "/api/tables/rota", "/static/explorer.js"])
        return None if self._get(path).status == 200 else path

    def _file(self) -> str | None:
        table = self._tables[self._chance.choice(TABLES[:4])]
        content = table.path.read_bytes()
        low = self._chance.randrange(len(content))
        high = self._chance.randrange(low, len(content))
        path, span = f"/api/tables/{table.name}/file", {"range": f"bytes={low}-{high}"}
        answer = self._get(path, span if self._chance.random() < 0.7 else {})
        expected = content[low : high + 1] if answer.status == 206 else content
        return None if answer.status in (200, 206) and answer.body == expected else path

    def _broken(self) -> str | None:
        self._server.raw(self._chance.choice(BROKEN).request)
        return None

    def _leave(self) -> str | None:
        with self._server.connect() as client:
            client.sendall(b"GET /api/tables/tactics-4x5/file HTTP/1.1\r\nhost: x\r\n\r\n")
            client.recv(self._chance.randrange(1, 5000))
        return None

    def _position(self) -> tuple[lookup.Table, str]:
        table = self._tables[self._chance.choice([*TABLES, *TEXTS])]
        return table, self._text(table)

    def _text(self, table: lookup.Table) -> str:
        if table.name in TEXTS:
            return "".join(self._chance.choices(TEXTS[table.name], k=self._chance.randrange(1, 21)))
        while True:
            index = self._chance.randrange(table.game.size)
            with suppress(lookup.InvalidPositionError):
                table.probe_index(index)
                return table.game.format(index)

    def _get(self, path: str, headers: dict[str, str] | None = None) -> Reply:
        return self._asked("GET", path, None, headers or {})

    def _post(self, name: str, batch: dict[str, Any]) -> Reply:
        return self._asked("POST", f"/api/tables/{name}/probe", json.dumps(batch).encode(), {})

    def _asked(self, method: str, path: str, body: bytes | None, headers: dict[str, str]) -> Reply:
        self._connection.request(method, path, body, headers)
        answer = self._connection.getresponse()
        return Reply(answer.status, dict(answer.getheaders()), answer.read())


def _differs(answer: Reply, expected: Any) -> str | None:
    if answer.status == 200 and answer.json == expected:
        return None
    return f"{answer.status} {answer.body[:200]!r}"


def soak(tally: Tally, seconds: float, a_second: float, report: Report, *words: str) -> None:
    """Ask so often for so long, and look at the memory all the while."""
    samples: list[tuple[float, float, int]] = []
    with lookup.open_tablebase() as tables, serving(*words) as server:
        asker = Asker(server, tables, Random(tally.seed), tally)
        asker.warm_up()
        began = sampled = time.monotonic()
        asked = 0
        while (now := time.monotonic()) - began < seconds:
            asker.ask_once()
            asked += 1
            if now - sampled > seconds / 200:
                sampled = now
                samples.append((now - began, server.megabytes, server.open_files))
                report(int(now - began), int(seconds))
            time.sleep(max(0.0, began + asked / a_second - time.monotonic()))
        asker.close()
        code, _ = server.stop()
        if code or "Traceback" in server.said:
            tally.fail("soak", f"exit code {code}", server.said[-500:])
    judge(tally, samples, seconds)


def judge(tally: Tally, samples: list[tuple[float, float, int]], seconds: float) -> None:
    """Whether memory and open files stayed level."""
    second = [one for one in samples if 0.1 <= one[0] / seconds < 0.2]
    last = [one for one in samples if one[0] / seconds >= 0.9]
    before, after = (sum(one[1] for one in some) / len(some) for some in (second, last))
    files = [max(one[2] for one in some) for some in (second, last)]
    tally.figures["soak, seconds"] = round(seconds)
    tally.figures["soak, MB of the second tenth"] = round(before, 1)
    tally.figures["soak, MB of the last tenth"] = round(after, 1)
    tally.figures["soak, most MB"] = round(max(one[1] for one in samples), 1)
    tally.figures["soak, open files"] = files
    if after - before > max(LEVEL_MEGABYTES, LEVEL_SHARE * before):
        tally.fail("memory", "grows", f"from {before:.1f} to {after:.1f} MB")
    else:
        tally.add("memory", "level")
    if files[1] > files[0] + 10:
        tally.fail("open files", "grow", f"from {files[0]} to {files[1]}")
    else:
        tally.add("open files", "level")
