"""Games with loops in rounds, shard by shard: the same columns as from the solver in memory."""

from __future__ import annotations

import pickle
import random
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pytest

from builder.cluster import rounds_work
from builder.cluster.rounds import RoundsJob, memory_needed, shard_for
from builder.cluster.store import LostObjectError, Store
from builder.compile import Engine
from builder.solvers.retrograde import RetrogradePlan
from lookup.blocks import unpack
from lookup.errors import BuildError, GameError
from lookup.games.clock import Clock
from lookup.games.examples.morris import ThreeMensMorris
from lookup.games.examples.tictactoe import TicTacToe
from lookup.games.rota import Rota
from lookup.values import Outcome
from tests.cluster_here import finish, new_store, run_stages
from tests.graph_game import GraphGame
from tests.loopy_games import Hanoi, RookEnding
from tests.solving import solve

if TYPE_CHECKING:
    from collections.abc import MutableSequence
    from pathlib import Path

    from builder.cluster.job import Summary, Task
    from lookup.games.base import Game, SolverKind

LOSS, DRAW, WIN = Outcome.LOSS, Outcome.DRAW, Outcome.WIN


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return new_store(tmp_path / "store")


class Maze(GraphGame):
    solver: ClassVar[SolverKind] = "distance"


class ListedRota(Rota):
    predecessors = None  # type: ignore[assignment]  # to be listed


class ListedHanoi(Hanoi):
    predecessors = None  # type: ignore[assignment]  # to be listed


class Searched(Clock):
    filling = None  # type: ignore[assignment]  # to be searched


def random_graph(seed: int) -> GraphGame:
    """One player or two, holes or none, and predecessors from the game or from the moves."""
    chance = random.Random(seed)
    nodes = chance.randrange(1, 90)
    holes = tuple(node for node in range(nodes) if chance.random() < 0.2 * (seed % 3))
    there = [node for node in range(nodes) if node not in holes]
    ends = tuple((n, chance.choice([LOSS, LOSS, DRAW, WIN])) for n in there if chance.random() < 0.2)
    ended = {node for node, _ in ends}
    moves = {
        (node, other)
        for node in there
        if node not in ended
        for other in chance.sample(there, chance.randrange(min(len(there), 4) + 1))
    }
    kind = chance.choice([GraphGame, Maze])
    return kind(nodes, tuple(sorted(moves)), ends, bool(moves) and seed % 2 == 0, holes)


def agrees(game: Game, engine: Engine, shard: int, store: Store, seed: int = 0) -> bool:
    job, chance = RoundsJob(game, engine, shard), random.Random(seed)
    step = chance.choice([8, 64, None]) if game.size < 1000 else None
    return finish(job, store, chance, step).same_as(solve(RetrogradePlan, game, engine))


@pytest.mark.parametrize(("shard", "seeds"), [(7, range(6)), (24, range(6, 14)), (4096, range(14, 26))])
def test_random_graphs_in_any_order_and_some_tasks_twice(
    shard: int, seeds: range, tmp_path: Path
) -> None:
    for seed in seeds:
        store = new_store(tmp_path / str(seed))
        assert agrees(random_graph(seed), Engine.PYTHON, shard, store, seed), seed


@pytest.mark.parametrize(
    ("game", "shard"),
    [
        (RookEnding(3), 104),
        (RookEnding(3), 4096),
        (Hanoi(3, 4), 8),
        (ListedHanoi(3, 4), 24),
        (Searched(3, 2), 8),
        (Searched(4, 2), 24),
        (TicTacToe(), 4096),
        (Rota(diameters=True), 4096),
        (ListedRota(), 1 << 15),
        (ThreeMensMorris(), 10000),
    ],
)
def test_interpreted_games(game: Game, shard: int, store: Store) -> None:
    assert agrees(game, Engine.PYTHON, shard, store)


@pytest.mark.parametrize(
    ("game", "shard"),
    [
        (Rota(), 1000),
        (ListedRota(diameters=True), 4000),
    ],
)
def test_compiled_games(game: Game, shard: int, store: Store) -> None:
    assert agrees(game, Engine.NUMBA, shard, store)


@pytest.mark.parametrize("letter", [0, 1 << 20])
@pytest.mark.parametrize("game", [RookEnding(3), Hanoi(3, 5), ListedHanoi(3, 5)])
def test_state_is_the_last_one_written_and_the_letters_since(
    game: Game, letter: int, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rounds_work, "_AGAIN", letter)
    monkeypatch.setattr(rounds_work, "_PAGE", 16)  # so that most pages of a shard are never read
    finished = finish(RoundsJob(game, Engine.PYTHON, 64), store)
    written = [
        said["state"] for name, said in sorted(finished.done.items()) if name.startswith("round-")
    ]
    first = sum(name.startswith("round-0000/") for name in finished.done)
    assert not any(written[:first])
    assert all(written[first:]) == bool(letter)
    assert finished.same_as(solve(RetrogradePlan, game, Engine.PYTHON))


def test_only_the_pages_that_letters_are_about_are_read(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rounds_work, "_AGAIN", 0)
    monkeypatch.setattr(rounds_work, "_PAGE", 16)
    read: list[tuple[str, int]] = []
    monkeypatch.setattr(store, "read_into", _recorded(store.read_into, read))
    run_stages(RoundsJob(Hanoi(3, 5), Engine.PYTHON, 1024), store)
    # In the first round all nodes are looked through; then those of a page or two.
    sizes = [size for array, size in read if array == "state"]
    assert sizes[0] == 243
    assert max(sizes[1:4]) <= 32


def _recorded(read_into: Any, read: list[tuple[str, int]]) -> Any:
    def recorded(name: str, array: str, low: int, target: Any, index: Any = None) -> None:
        read.append((array, len(target)))
        read_into(name, array, low, target, index)

    return recorded


@pytest.mark.parametrize(
    ("lost", "when"),
    [
        ("open/000000", "lists/000001"),
        ("open/000001", "round-0000/000001"),
        ("lists/000001", "round-0002/000001"),
        ("round-0001/000001", "round-0002/000001"),
    ],
)
def test_a_lost_object_is_named_and_can_be_made_again(lost: str, when: str, store: Store) -> None:
    job = RoundsJob(game := ListedHanoi(3, 4), Engine.PYTHON, 48)
    tasks: dict[str, Task] = {}
    found: list[str] = []

    def lose(task: Task) -> None:
        tasks[task.name] = task
        if task.name == when:
            store.remove(lost)
        try:
            job.run(task, store)
        except LostObjectError as error:
            found.append(error.name)
            job.run(tasks[error.name], store)

    done = run_stages(job, store, before=lose)
    assert found == [lost]
    assert job.totals(done) == solve(RetrogradePlan, game, Engine.PYTHON).totals


def test_a_damaged_letter_is_not_read(store: Store) -> None:
    job = RoundsJob(Hanoi(3, 4), Engine.PYTHON, 48)

    def damage(task: Task) -> None:
        if task.name.startswith("round-0002/") and store.folder:
            path = store.folder / "round-0001/000001"
            path.write_bytes(bytes([path.read_bytes()[0] ^ 1]) + path.read_bytes()[1:])

    with pytest.raises(LostObjectError, match=r"'round-0001/000001' in .* is damaged") as caught:
        run_stages(job, store, before=damage)
    assert caught.value.name == "round-0001/000001"


@pytest.mark.parametrize("engine", Engine)
@pytest.mark.parametrize("with_predecessors", [False, True])
def test_a_successor_out_of_range_is_refused_not_followed(
    engine: Engine, with_predecessors: bool, store: Store
) -> None:
    game = GraphGame(9, ((0, 1), (8, 10**12)), (), with_predecessors)
    with pytest.raises(GameError, match=r"index 8 .* lists .*: expected an index from 0 to 8"):
        run_stages(RoundsJob(game, engine, 8), store)


class Backwards(GraphGame):
    def predecessors(self, index: int, out: MutableSequence[int]) -> int:
        out[0] = self.nodes + index
        return 1


@pytest.mark.parametrize("engine", Engine)
def test_a_predecessor_out_of_range_is_refused_not_followed(engine: Engine, store: Store) -> None:
    game = Backwards(9, ((0, 8),), ((8, LOSS),))
    with pytest.raises(
        GameError, match=r"predecessors of index . .* lists 1.: expected an index from 0"
    ):
        run_stages(RoundsJob(game, engine, 8), store)


class Lopsided(GraphGame):
    """The image of each node but 1 is the one before: the smallest of 3 is 2, but that of 2 is 1."""

    symmetries: ClassVar[int] = 2

    def transform(self, index: int, k: int) -> int:
        return index if index == 1 else abs(index - k)


class Negative(Lopsided):
    def transform(self, index: int, k: int) -> int:
        return index - k


class IntoAHole(Lopsided):
    def is_position(self, index: int) -> bool:
        return index > 2


@pytest.mark.parametrize(
    ("kind", "index", "stage"),
    [(Lopsided, 3, "classes"), (Negative, 0, "open"), (IntoAHole, 3, "open")],
)
def test_symmetries_that_are_none_are_refused(
    kind: type[GraphGame], index: int, stage: str, store: Store
) -> None:
    game = kind(8, ((7, 3),), ((3, LOSS),))
    tasks: list[Task] = []
    with pytest.raises(GameError, match=rf"\bindex {index}\b"):
        run_stages(RoundsJob(game, Engine.PYTHON, 8), store, before=tasks.append)
    assert tasks[-1].name == f"{stage}/000000"


def test_a_task_leaves_the_same_object_every_time(store: Store) -> None:
    job = RoundsJob(RookEnding(3), Engine.PYTHON, 400)
    tasks: list[Task] = []
    run_stages(job, store, before=tasks.append)
    assert store.folder
    objects = {task.name: (store.folder / task.name).read_bytes() for task in tasks}
    assert len({name.partition("/")[0] for name in objects}) > 6
    for task in random.Random(0).sample(tasks, len(tasks)):
        store.remove(task.name)
        job.run(task, store)
        assert (store.folder / task.name).read_bytes() == objects[task.name]


# --- beyond 32 bits -------------------------------------------------------------------------------

FAR = (0, (1 << 32) + 5, (1 << 32) + (1 << 20))


class Far(GraphGame):
    """Three positions far apart, from the last to the first of which two moves lead."""

    def is_position(self, index: int) -> bool:
        return index in FAR

    def terminal(self, index: int) -> int:
        return 0 if index else LOSS


class Elsewhere(dict[str, "Summary"]):
    """What tasks would say that have only holes, and are not run."""

    def __missing__(self, name: str) -> Summary:
        return {"nodes": 0, "ended": 0, "to": "", "counts": [0, 0, 0, 0], "longest": 0}


@pytest.mark.parametrize("with_predecessors", [False, True])
def test_indices_beyond_32_bits(with_predecessors: bool, store: Store) -> None:
    moves = ((FAR[2], FAR[1]), (FAR[1], FAR[0]))
    game = Far(FAR[2] + 8, moves, (), with_predecessors)
    job = RoundsJob(game, Engine.PYTHON, 1 << 18)
    inhabited = [index >> 18 for index in FAR]
    done = Elsewhere()
    for stage in job.stages(done):
        for task in stage:
            if task.about[0] in inhabited:
                job.run(task, store)
                done[task.name] = store.summary(task.name)
    totals = job.totals(done)
    assert (totals.counts, totals.longest) == ((2, 0, 1), 2)
    columns = job.columns(totals, done)
    for plies, index in enumerate(FAR):
        low = index - index % 8
        packed = job.packed(store, totals, columns, low, low + 8)
        numbers = {column.name: unpack(packed[column.name], column.bits, 8) for column in columns}
        assert numbers["outcome"][index % 8] == (WIN if plies == 1 else LOSS)
        assert numbers["remoteness"][index % 8] == plies
        assert np.count_nonzero(numbers["outcome"]) == 1


# --- sizes ----------------------------------------------------------------------------------------


def test_a_job_is_small_however_large_the_game() -> None:
    job = pickle.loads(pickle.dumps(RoundsJob(Hanoi(4, 18), Engine.NUMBA, 1 << 24)))
    assert job.shards == 4096
    assert len(pickle.dumps(job)) < 1000


def test_too_large_a_game_is_refused() -> None:
    with pytest.raises(GameError, match="graph is too large: below 1152921504606846968 indices"):
        RoundsJob(GraphGame(1 << 61, ((0, 1),), ()), Engine.PYTHON, 8)


def test_shards_are_as_large_as_memory_allows() -> None:
    game = Hanoi(4, 18)
    shards = [shard_for(game, Engine.NUMBA, gigabytes << 30) for gigabytes in (1, 2, 100)]
    assert shards == [1 << 22, 1 << 23, 1 << 24]
    assert memory_needed(game, Engine.NUMBA, 1 << 22) <= 1 << 30
    assert shard_for(Hanoi(4, 12), Engine.NUMBA, 100 << 30) == 1 << 20  # work for sixteen
    assert shard_for(Hanoi(4, 3), Engine.NUMBA, 100 << 30) == 1 << 18


def test_memory_that_is_not_enough_is_refused_in_a_sentence() -> None:
    with pytest.raises(
        BuildError,
        match=r"^a task of hanoi-4-5 takes .* of memory, and may take 977 KiB: expected workers",
    ):
        shard_for(Hanoi(4, 5), Engine.NUMBA, 1_000_000)
    with pytest.raises(BuildError, match="and may take 0 bytes: expected"):
        shard_for(Hanoi(4, 5), Engine.NUMBA, -1_000_000)
    with pytest.raises(BuildError, match="a task of hanoi-4-19 takes"):
        shard_for(Hanoi(4, 19), Engine.NUMBA, 1 << 30)  # or there would be too many shards


def test_more_moves_into_a_shard_than_a_task_has_room_for_are_refused(store: Store) -> None:
    moves = tuple((node, 0) for node in range(1, 20))
    game = GraphGame(20, moves, ((0, LOSS),))
    needed = 24 * len(moves)
    with pytest.raises(
        BuildError,
        match=r"^19 moves of graph lead to indices from 0 to 7: a task of them takes 456 bytes of "
        r"memory, and may take 455 bytes: expected workers with more memory",
    ):
        run_stages(RoundsJob(game, Engine.PYTHON, 8, needed - 1), store)
    assert "records/000000" in run_stages(RoundsJob(game, Engine.PYTHON, 8, needed), store)


def test_what_a_task_is_told_does_not_grow_with_rounds(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rounds_work, "_AGAIN", 0)  # so that states are hardly ever written
    tasks: list[Task] = []
    done = run_stages(RoundsJob(Hanoi(3, 5), Engine.PYTHON, 27), store, before=tasks.append)
    late = [task for task in tasks if task.name.startswith("round-002")]
    assert late
    assert {len(task.about) for task in late} == {4}
    assert max(len(done[task.name]["to"]) for task in tasks if "to" in done[task.name]) < 64
