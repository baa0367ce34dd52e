"""What a worker remembers of the arrays that its tasks read."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np

from builder.cluster import recent as module
from builder.cluster.job import Task
from builder.cluster.recent import Recent
from builder.cluster.shards import ShardsJob
from builder.cluster.store import LAYOUT
from builder.cluster.tasks import Handed, run_task
from builder.cluster.whole import WholeJob
from builder.compile import Engine
from builder.solvers import mask
from lookup.games.tactics import Tactics
from tests.cluster_here import new_store

if TYPE_CHECKING:
    from pathlib import Path

    import pytest
    from numpy.typing import NDArray

KIB = 1 << 10


def array(value: int, size: int = KIB) -> NDArray[np.uint8]:
    return np.full(size, value, np.uint8)


def test_what_is_remembered_is_not_read_again() -> None:
    recent, reads = Recent(), list[int]()

    def read() -> NDArray[np.uint8]:
        reads.append(1)
        return array(7)

    for _ in range(3):
        assert (recent.get("a", KIB, read, 4 * KIB) == 7).all()
    assert len(reads) == 1
    recent.keep(0)
    recent.get("a", KIB, read, 4 * KIB)
    assert len(reads) == 2


def test_those_used_last_stay_within_the_bytes() -> None:
    recent = Recent()
    for name in "abcd":
        recent.put(name, array(ord(name)), 3 * KIB)
    assert recent.bytes == 3 * KIB
    again: list[str] = []

    def ask(name: str) -> None:
        def read() -> NDArray[np.uint8]:
            again.append(name)
            return array(0)

        recent.get(name, KIB, read, 3 * KIB)

    for name in "bacd":
        ask(name)
    # 'a' had to go when 'd' came; read again, it takes the place of 'c', and so on.
    assert again == ["a", "c", "d"]
    recent.put("e", array(1, 4 * KIB), 3 * KIB)
    assert recent.bytes == 0


def test_it_forgets_when_nobody_has_asked_for_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "KEPT_SECONDS", 0.3)
    recent = Recent()
    recent.put("a", array(1), KIB)
    began = time.monotonic()
    reads: list[float] = []

    def read() -> NDArray[np.uint8]:
        reads.append(time.monotonic() - began)
        return array(1)

    while time.monotonic() - began < 0.9 and not reads:
        recent.get("a", KIB, read, KIB)  # as long as it is used, it stays
        time.sleep(0.01)
    assert not reads or reads[0] > 0.3  # on a machine that sleeps longer than it was told
    for _ in range(6000):
        if not recent.bytes:
            return
        time.sleep(0.01)
    raise AssertionError("it was not forgotten")


def test_a_task_without_spare_memory_makes_room(tmp_path: Path) -> None:
    game, store = Tactics(3, 3), new_store(tmp_path / "store")
    store.write(LAYOUT, {})
    module.recent.put("of another table", array(1), KIB)
    assert module.recent.bytes
    task = Task("solve/whole")
    run_task(Handed.of(WholeJob(game, Engine.PYTHON), game), task, store)
    assert module.recent.bytes == 0


def test_tasks_read_each_shard_once_if_there_is_room(tmp_path: Path) -> None:
    game, cells = Tactics(2, 10), 16
    task = mask.shard_memory(game, cells)
    read = {}
    for name, memory in {"tight": task, "roomy": task + game.size}.items():
        module.recent.keep(0)
        store = new_store(tmp_path / name)
        job = ShardsJob(game, Engine.PYTHON, 1 << cells, memory)
        for tasks in job.stages({}):
            for one in tasks:
                job.run(one, store)
        read[name] = store.traffic.read
        assert module.recent.bytes <= memory - task
    assert read["roomy"] == 0 < read["tight"]
    tight, roomy = (
        {path.name: path.read_bytes() for path in (tmp_path / name / "solve").iterdir()}
        for name in read
    )
    assert tight == roomy
