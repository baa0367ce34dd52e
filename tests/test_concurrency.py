"""The library under many threads and processes: the same answers, and no lock that nobody releases."""

from __future__ import annotations

import copy
import multiprocessing
import os
import pickle
import shutil
import signal
import sys
import threading
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from random import Random
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import lookup
from lookup import records as records_module
from lookup.errors import TableFileError
from lookup.games.base import Game
from tests.conftest import ROOT, same_values

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from lookup.columns import ChunkCache
    from tests.conftest import Rechunk

TABLES = ROOT / "tables"
THREADS = 8
SECONDS = 60
"""No child takes so long that is not stuck."""

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="Windows has no fork")


@pytest.fixture
def busy() -> Iterator[None]:
    """Threads change as often as they can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


@pytest.fixture
def chunked(rechunk: Rechunk, monkeypatch: pytest.MonkeyPatch) -> Iterator[lookup.Table]:
    """Tactics 4x4 in chunks of 1 KiB, of which three are kept: most are soon dropped again."""
    path = rechunk(TABLES / "tactics-4x4.h5", 1024)
    monkeypatch.setattr(records_module, "DECODED_LIMIT", 0)
    with lookup.open_table(path, cache_bytes=3 * 1024) as table:
        assert not table.is_in_memory
        yield table


def asked(table: lookup.Table, seed: int, rounds: int = 30) -> list[Any]:
    """What a table says to a number of questions of every kind."""
    chance, answers, size = Random(seed), list[Any](), table.game.size
    for _ in range(rounds):
        index = chance.randrange(size)
        text = table.game.format(index)
        answers.append((table.probe(text), table.probe_index(index), table.get(text), table.get("x")))
        answers.append((table.moves(text), table.best(text)))
        many = table.probe_many([chance.randrange(size) for _ in range(50)])
        answers.append([None if column is None else column.tolist() for column in many])
    answers.append(table.line(table.game.format(chance.randrange(size)), limit=5))
    return answers


# --- threads --------------------------------------------------------------------------------------


def test_threads_that_share_a_table_get_the_same_answers(
    chunked: lookup.Table, tables: lookup.Tablebase, busy: None
) -> None:
    whole = tables["tactics-4x4"]
    expected = [asked(whole, seed) for seed in range(THREADS)]
    with ThreadPoolExecutor(THREADS) as people:
        for table in (whole, chunked):
            assert list(people.map(asked, [table] * THREADS, range(THREADS))) == expected


def test_a_cache_that_threads_share_keeps_its_bound(chunked: lookup.Table, busy: None) -> None:
    records = chunked._records
    assert isinstance(records, records_module.ChunkedRecords)
    cache, most = records.cache, list[int]()

    def ask(seed: int) -> None:
        chance = Random(seed)
        for _ in range(300):
            chunked.probe_index(chance.randrange(chunked.game.size))
            most.append(cache.held)

    with ThreadPoolExecutor(THREADS) as people:
        list(people.map(ask, range(THREADS)))
    held = [len(column.chunks) * column.chunk_bytes for column in cache.columns]
    assert sum(held) == cache.held == len(cache._queue) * 1024 <= max(most) <= cache.limit


def test_values_that_were_given_stay_when_their_chunks_are_dropped(
    chunked: lookup.Table, tables: lookup.Tablebase
) -> None:
    indices = np.arange(500)
    given = chunked.probe_many(indices)
    for index in range(0, chunked.game.size, 1000):
        chunked.probe_index(index)
    assert same_values(given, tables["tactics-4x4"].probe_many(indices))


def test_a_table_that_many_threads_ask_for_first_is_opened_once(
    monkeypatch: pytest.MonkeyPatch, busy: None
) -> None:
    opened: list[str] = []
    start = threading.Barrier(THREADS)
    with lookup.open_tablebase(TABLES) as tables:
        open_one = tables.open

        def counted(name: str) -> lookup.Table:
            opened.append(name)
            return open_one(name)

        monkeypatch.setattr(tables, "open", counted)

        def ask(_: int) -> lookup.Table:
            start.wait()
            return tables["rota"]

        with ThreadPoolExecutor(THREADS) as people:
            found = set(people.map(ask, range(THREADS)))
    assert len(found) == 1
    assert opened == ["rota"]


def test_a_table_that_is_closed_while_it_is_asked_says_so_and_nothing_wrong(
    rechunk: Rechunk, tables: lookup.Tablebase, monkeypatch: pytest.MonkeyPatch, busy: None
) -> None:
    """Its handle may be that of another file at once, which is then read in its place."""
    path = rechunk(TABLES / "tactics-4x4.h5", 1024)
    monkeypatch.setattr(records_module, "DECODED_LIMIT", 0)
    whole, ends = tables["tactics-4x4"], list[str]()

    def ask(table: lookup.Table, seed: int) -> None:
        chance = Random(seed)
        try:
            while True:
                index = chance.randrange(table.game.size)
                assert table.probe_index(index) == whole.probe_index(index)
        except TableFileError as error:
            ends.append(str(error))

    for turn in range(10):
        table = lookup.open_table(path, cache_bytes=1024)
        asking = [threading.Thread(target=ask, args=(table, seed)) for seed in range(4)]
        for thread in asking:
            thread.start()
        time.sleep(0.002 * turn)
        table.close()
        with (TABLES / "rota.h5").open("rb"):
            for thread in asking:
                thread.join()
    assert set(ends) == {f"'{path}' cannot be read: it was closed"}
    assert len(ends) == 40


def test_a_tablebase_is_closed_while_others_open_its_tables(busy: None) -> None:
    names = ["rota", "tactics-3x3", "clock-4-2", "sticks-run-1-2"]
    tables = lookup.open_tablebase(TABLES)

    def ask(seed: int) -> None:
        for name in Random(seed).choices(names, k=10):
            assert tables[name].name == name

    with ThreadPoolExecutor(4) as people:
        asking = [people.submit(ask, seed) for seed in range(4)]
        while not all(one.done() for one in asking):
            tables.close()
        for one in asking:
            one.result()
    tables.close()


# --- forks ----------------------------------------------------------------------------------------


def in_child(work: Callable[[], object]) -> int:
    """The exit code of a forked child that does some work: 0 if it could. Killed if it is stuck."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # a fork with threads: that is the point
        process = os.fork()
    if process == 0:
        code = 1
        try:
            work()
            code = 0
        finally:
            os._exit(code)
    deadline = time.monotonic() + SECONDS
    while time.monotonic() < deadline:
        ended, status = os.waitpid(process, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.001)
    os.kill(process, signal.SIGKILL)
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])


@contextmanager
def held(lock: Any) -> Iterator[None]:
    """A lock that another thread has."""
    has, may_end = threading.Event(), threading.Event()

    def hold() -> None:
        with lock:
            has.set()
            may_end.wait()

    thread = threading.Thread(target=hold)
    thread.start()
    has.wait()
    try:
        yield
    finally:
        may_end.set()
        thread.join()


@needs_fork
def test_a_child_forked_while_threads_ask_gives_the_same_answers(
    chunked: lookup.Table, tables: lookup.Tablebase, busy: None
) -> None:
    expected, stop = asked(tables["tactics-4x4"], 99, 5), threading.Event()

    def go_on(seed: int) -> None:
        while not stop.is_set():
            asked(chunked, seed, 1)

    def child() -> None:
        assert asked(chunked, 99, 5) == expected

    threads = [threading.Thread(target=go_on, args=(seed,)) for seed in range(3)]
    for thread in threads:
        thread.start()
    try:
        assert [in_child(child) for _ in range(5)] == [0] * 5
    finally:
        stop.set()
        for thread in threads:
            thread.join()


@needs_fork
def test_no_lock_is_inherited_by_a_child(chunked: lookup.Table, tables: lookup.Tablebase) -> None:
    """Each is held by another thread at the moment of the fork, which the child does not have."""
    records = chunked._records
    assert isinstance(records, records_module.ChunkedRecords)
    chunked.probe_index(0)
    with held(records.cache._lock):
        assert in_child(lambda: [chunked.probe_index(index) for index in range(0, 60000, 999)]) == 0
    with lookup.open_tablebase(TABLES) as fresh, held(fresh._lock):
        assert in_child(lambda: fresh["rota"].probe_index(0)) == 0
    slow = Game.__dict__["_texts"]
    if hasattr(slow, "lock"):  # of Python before 3.12: shared by all games

        def searched() -> None:
            assert slow.lock.acquire(timeout=SECONDS)

        with held(slow.lock):
            assert in_child(searched) == 0


@needs_fork
def test_a_childs_cache_starts_empty_and_whole(chunked: lookup.Table) -> None:
    records = chunked._records
    assert isinstance(records, records_module.ChunkedRecords)
    cache: ChunkCache = records.cache
    chunked.probe_index(0)
    assert cache.held

    def child() -> None:
        assert cache.held == len(cache._queue) == 0
        assert not any(column.chunks for column in cache.columns)
        chunked.probe_index(0)
        assert cache.held == 1024 * len(cache._queue) > 0

    assert in_child(child) == 0
    assert cache.held  # the parent's is as it was


# --- other processes ------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["spawn", "forkserver"])
def test_a_pool_of_processes_is_handed_a_table(how: str) -> None:
    if how not in multiprocessing.get_all_start_methods():
        pytest.skip("Windows has one way to start a process")
    with (
        lookup.open_table(TABLES / "tactics-3x3.h5") as table,
        multiprocessing.get_context(how).Pool(1) as pool,
    ):
        indices = range(0, 512, 7)
        answers = pool.map_async(table.probe_index, indices).get(SECONDS)
        assert answers == [table.probe_index(index) for index in indices]
        # An error comes back as it was: one that does not would leave the pool waiting for ever.
        with pytest.raises(lookup.InvalidPositionError, match="'x' is not a position") as caught:
            pool.apply_async(table.probe, ["x"]).get(SECONDS)
        assert caught.value.position == "x"


def test_what_is_pickled_is_where_it_is_found(tmp_path: Path) -> None:
    path = tmp_path / "rota.h5"
    shutil.copy(TABLES / "rota.h5", path)
    with lookup.open_table(path) as table:
        pickled = pickle.dumps(table)
        assert len(pickled) < 1000
        again = pickle.loads(pickled)
        assert again is not table
        assert again is pickle.loads(pickled)  # opened once, for all tasks of a pool
        assert (again.digest, again.line()) == (table.digest, table.line())
        assert copy.deepcopy(table).digest == table.digest
        other = lookup.open_table(path, cache_bytes=1)
    shutil.copy(TABLES / "rota-diameters.h5", path)
    with pytest.raises(TableFileError, match="is another table than was pickled: expected the digest"):
        pickle.loads(pickle.dumps(other))
    path.unlink()
    with pytest.raises(lookup.MissingTableError):
        pickle.loads(
            pickle.dumps(lookup.open_table(TABLES / "rota.h5")).replace(b"rota.h5", b"gone.h5")
        )


def test_a_table_that_was_closed_is_opened_again_when_it_comes_pickled(chunked: lookup.Table) -> None:
    pickled = pickle.dumps(chunked)
    with pickle.loads(pickled) as first:
        value = first.probe_index(5)
    assert first.is_closed
    with pickle.loads(pickled) as second:
        assert second.probe_index(5) == value
    assert not chunked.is_closed


OWN = '''
from lookup import Game

class Countdown(Game):
    """Take one or two; who cannot, loses."""
    size, start, max_moves = 50, 49, 2
    def successors(self, index, out):
        for at in range(min(index, 2)):
            out[at] = index - 1 - at
        return min(index, 2)
'''


def test_games_and_tables_of_a_users_file_are_found_by_the_file(tmp_path: Path) -> None:
    source = tmp_path / "countdown.py"
    source.write_text(OWN)
    from builder.build import build_table

    kind = lookup.load_game(source)
    build_table(kind(), tmp_path)
    with lookup.open_tablebase(tmp_path, games=[source]) as tables:
        one = tables["countdown"]
        for table in (
            one,
            lookup.open_table(one.path, game=source),
            lookup.open_table(one.path, game=kind()),
        ):
            assert pickle.loads(pickle.dumps(table)).moves("7") == table.moves("7")
        with pickle.loads(pickle.dumps(tables)) as again:
            assert again["countdown"].best("7") == one.best("7")
            assert list(again) == list(tables)
        # Elsewhere the class is that of the file, not of a module that only this process has.
        assert b"endtable_game_" not in pickle.dumps((one, tables, one.game))


def test_a_game_is_found_by_the_name_that_its_file_has_for_it(tmp_path: Path) -> None:
    rules = tmp_path / "made.py"
    made = "def made():\n" + OWN.strip().replace("\n", "\n    ").replace("from", "    from", 1)
    rules.write_text(f"{made}\n    return Countdown\nMine = made()\n")
    game = lookup.load_game(rules)()
    pickled = pickle.dumps(game)
    assert pickle.loads(pickled) == game
    rules.unlink()
    assert copy.copy(game) == copy.deepcopy(game) == game
    with pytest.raises(lookup.InvalidGameError, match="No such file"):
        pickle.loads(pickled)


def test_every_game_is_pickled_by_its_parameters(tables: lookup.Tablebase) -> None:
    for name in ("rota", "tactics-4x4", "clock-4-2", "sticks-special-50", "winners-losers-20"):
        game = tables[name].game
        game.moves(game.format(game.start))  # fills what it remembers
        assert pickle.loads(pickle.dumps(game)) == game
        assert len(pickle.dumps(game)) < 500
    formula = lookup.closed_form("clock-7-3")
    assert pickle.loads(pickle.dumps(formula)).best("1230000") == formula.best("1230000")
    unknown = lookup.open_table(TABLES / "rota.h5", game=lookup.UnknownGame)
    assert pickle.loads(pickle.dumps(unknown)).probe_index(0) == unknown.probe_index(0)
    unknown.close()


def test_every_error_is_pickled_with_its_facts() -> None:
    def kinds(base: type[lookup.EndtableError]) -> Iterator[type[lookup.EndtableError]]:
        yield base
        for kind in base.__subclasses__():
            yield from kinds(kind)

    facts: dict[str, Any] = {"name": "one", "digest": "two"}
    for kind in kinds(lookup.EndtableError):
        error = kind.__new__(kind, "a sentence")
        error.__dict__.update(facts)
        again = pickle.loads(pickle.dumps(error))
        assert (type(again), str(again), again.__dict__) == (kind, "a sentence", facts)
