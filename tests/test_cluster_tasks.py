"""What runs on a worker, in this process: tasks, and how they fail."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from distributed.scheduler import KilledWorker, WorkerState

from builder.cluster import tasks
from builder.cluster.engine import TaskRunner
from builder.cluster.job import Task
from builder.cluster.shards import ShardsJob
from builder.cluster.store import LAYOUT, LostObjectError, Store
from builder.cluster.tasks import Handed, TaskFailedError, run_task
from builder.compile import Engine
from lookup import processes
from lookup.errors import BuildError, GameError
from lookup.games.tactics import Tactics
from tests.own_games import own_game
from tests.test_grundy_solver import NIM

if TYPE_CHECKING:
    from lookup.games.base import Game

MEMORY = 1 << 30
GAME = Tactics(3, 3)
FULLEST, NEXT = Task("solve/448-512", (448, 512)), Task("solve/384-448", (384, 448), ("solve/448-512",))


@pytest.fixture
def store(tmp_path: Path) -> Store:
    (tmp_path / "store").mkdir()
    store = Store(str(tmp_path / "store"), "a build")
    store.write(LAYOUT, {"shard": 64})
    return store


def handed(game: Game = GAME, shard: int = 64) -> Handed:
    return Handed.of(ShardsJob(game, Engine.PYTHON, shard, MEMORY), game)


def test_a_task_says_what_it_took(store: Store) -> None:
    done = run_task(handed(), FULLEST, store)
    assert done.summary == store.summary(FULLEST.name)
    assert min(done.seconds, done.read, done.written) > 0
    assert done.peak > 1 << 20
    again = run_task(handed(), FULLEST, Store(store.url, store.label))
    assert (again.summary, again.written, again.seconds) == (done.summary, 0, 0.0)


def test_what_is_there_is_not_done_again(store: Store) -> None:
    store.write(FULLEST.name, {"found": "before"})
    assert run_task(handed(), FULLEST, store).summary == {"found": "before"}


def failed(task: Task, store: Store, what: Handed) -> TaskFailedError:
    with pytest.raises(TaskFailedError) as caught:
        run_task(what, task, store)
    again: TaskFailedError = pickle.loads(pickle.dumps(caught.value))
    assert vars(again) == vars(caught.value), "it comes back from a worker as it was"
    return again


def test_what_a_task_misses_is_named(store: Store) -> None:
    error = failed(NEXT, store, handed())
    assert (error.task, error.lost, error.of_game) == (NEXT.name, FULLEST.name, False)


def test_what_is_there_but_damaged_is_replaced(store: Store) -> None:
    run_task(handed(), FULLEST, store)
    right = store.summary(FULLEST.name)
    path = Path(store.url) / FULLEST.name
    path.write_bytes(path.read_bytes()[1:])
    assert run_task(handed(), FULLEST, store).summary == right


def test_a_worker_that_does_not_see_the_store_loses_nothing(tmp_path: Path) -> None:
    error = failed(NEXT, Store(str(tmp_path / "nowhere"), "a build"), handed())
    assert error.lost == ""
    assert "does not see the store" in error.problem


def test_a_file_that_the_worker_does_not_have(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processes, "moved", {})
    (tmp_path / "mine").mkdir()
    game = own_game(tmp_path / "mine", NIM, heap=127)
    what = handed(game)
    (tmp_path / "mine/own.py").write_text("raise SystemExit\n")  # another of the same name
    what.unpacked().run(Task("survey/64-128", (64, 128)), store)
    assert store.summary("survey/64-128") == {"blocks": [1], "places": [0]}
    (copy,) = processes.moved.values()
    assert copy != str(tmp_path / "mine/own.py")
    assert what.unpacked() is what.unpacked(), "what was compiled for one task serves the next"


def test_other_code_is_refused(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    what = handed()
    monkeypatch.setattr(tasks, "code_here", lambda: "endtable 0.1")
    error = failed(FULLEST, store, what)
    assert not error.of_game, "the same command goes on, with another worker"
    assert "has endtable 0.1: expected endtable" in error.problem


def test_a_game_that_is_not_installed_there(store: Store) -> None:
    nowhere = b"cnosuchpackage\nGame\n."  # as pickle names a class
    error = failed(FULLEST, store, handed()._replace(work=nowhere))
    assert error.of_game
    assert "cannot load the game: ModuleNotFoundError: No module named 'nosuchpackage'" in error.problem


@pytest.mark.parametrize(
    ("raised", "problem", "of_game"),
    [
        (MemoryError(), "it ran out of memory", False),
        (GameError("odd rules"), "odd rules", True),
        (BuildError("no room"), "no room", False),
        (ZeroDivisionError("by 0"), "ZeroDivisionError: by 0", True),
        (OSError("no room for compiled code"), "OSError: no room for compiled code", False),
    ],
)
def test_failures(
    raised: Exception, problem: str, of_game: bool, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    def run(*_: object) -> None:
        raise raised

    monkeypatch.setattr(ShardsJob, "run", run)
    error = failed(FULLEST, store, handed())
    assert problem in error.problem
    assert (error.of_game, error.lost) == (of_game, "")


# --- the engine, without a cluster ----------------------------------------------------------------


class Answer:
    """A task as Dask gives it back."""

    def __init__(self, error: Exception) -> None:
        self.status, self._error = "error", error

    def exception(self) -> Exception:
        return self._error


def test_what_kills_its_workers_again_and_again(store: Store) -> None:
    runner: Any = TaskRunner(None, GAME, store, "build-tables tactics")
    runner._tasks = {FULLEST.name: (handed(), FULLEST)}
    worker = WorkerState(
        address="tcp://10.0.0.9:4000", status=None, pid=1, name="w", nthreads=1, memory_limit=0,
        local_directory="", server_id="w", nanny=None,
    )  # fmt: skip
    killed = Answer(KilledWorker(("solve", "1234", 0), worker, 3))
    for _ in range(3):
        lost = runner._lost(killed, NEXT, [FULLEST, NEXT])
        assert (lost.name, lost.died) == (FULLEST.name, True), "not the one that waited for it"
        runner.lose(lost.name, lost.problem)
    words = (
        r"shard 'solve/448-512' failed again and again: workers died while they ran it, "
        r"tcp://10.0.0.9:4000 the last; perhaps memory was short; 0 finished .*; "
        r"go on with: build-tables tactics"
    )
    with pytest.raises(BuildError, match=words):
        runner.lose(lost.name, lost.problem)


def test_an_object_that_is_lost_again_and_again(store: Store) -> None:
    runner: Any = TaskRunner(None, GAME, store, "build-tables tactics")
    lost = LostObjectError("elsewhere/1", store.url, "is missing")
    with pytest.raises(
        BuildError, match=r"'elsewhere/1' failed again and again: .* is missing; 0 finished"
    ):
        runner.lose(lost.name, str(lost))
