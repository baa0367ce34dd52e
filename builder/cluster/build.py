"""A table built on a cluster: solved and packed by its workers, put together and verified here.

    <store>/<table>.store/
        lock              in a folder: held by the process that builds
        layout/shard      how the game was cut: a build that goes on cuts it in the same way
        <stage>/<which>   what a task left
    <folder>/.<table>.parts.build/
        lock              held by the process that writes
        table/            a folder of parts that is being written

What is here passes through chunk by chunk. The store is removed once the table is in place.
"""

from __future__ import annotations

import hashlib
import shutil
import time
from bisect import bisect_right
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import zstandard

from builder import build, verify
from builder.cluster.choice import job_of, require_task, shard_size
from builder.cluster.engine import TaskRunner, connected
from builder.cluster.packing import PackWork
from builder.cluster.store import LAYOUT, LostObjectError, Store
from builder.declarations import check_declarations
from builder.folder import PART_BYTES, write_folder
from builder.limits import BEYOND, Needs, available_memory
from builder.solvers.solution import slices
from builder.workers import Workers
from builder.writer import stored_as, write_chunks
from lookup import __version__
from lookup.atomic import put_folder_in_place, put_in_place, temporary_beside
from lookup.blocks import dtype_of
from lookup.disk import available_disk
from lookup.errors import BuildError, InvalidParameterError, TableFileError, VerificationError
from lookup.folder import MOST_OPEN
from lookup.format import CHUNK_BYTES_LARGE, TableInfo, canonical
from lookup.locks import clear_folder, hold_folder, leave_folder
from lookup.manifest import PARTS_SUFFIX
from lookup.tablebase import SUFFIX

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from builder.cluster.engine import Cluster, ClusterOptions
    from builder.cluster.job import Job, StoredPart
    from builder.compile import Engine
    from builder.parts import Encoded
    from lookup.format import Column
    from lookup.games.base import Game
    from lookup.progress import Progress

FOLDER_BYTES = 16 << 30
"""Tables with more packed bytes than this are a folder of parts."""

_OPEN_CHUNKS = MOST_OPEN * PART_BYTES // CHUNK_BYTES_LARGE  # of a folder, whose other parts are closed
_RUN = 16  # chunks that a thread reads from the store at a time
_CLIENT_BYTES = 256 << 20  # what this process takes besides: Dask, and chunks on their way


@dataclass(frozen=True)
class ClusterBuild:
    """How a build is run: `builder.build.build_table` says what the common ones mean.

    `say` is told what the cluster has, and where Dask's own page about it is. `shard` cuts a game into
    shards of so many indices, a power of two. Tables of more than `folder_bytes` packed bytes become a
    folder of parts.
    """

    options: ClusterOptions
    progress: Progress
    max_memory: int | None = None
    force: bool = False
    say: Callable[[str], None] = lambda _: None
    shard: int | None = None
    folder_bytes: int = FOLDER_BYTES

    def table(self, game: Game, folder: Path) -> build.Built:
        """Build the table of a game into a folder; see `table_on`."""
        self.prepared(game, folder)  # what cannot be done is said before a cluster is started for it
        with self.connected() as cluster:
            return self.table_on(cluster, game, folder)

    @contextmanager
    def connected(self) -> Iterator[Cluster]:
        """The cluster, to build several tables on.

        Raises:
            InvalidParameterError: there is no such scheduler.
            BuildError: it has no workers.
        """
        with connected(self.options, self.max_memory) as cluster:
            self.say(f"cluster: {cluster}")
            yield cluster

    def prepared(self, game: Game, folder: Path) -> Engine:
        """What runs the rules of a game, whose table can be built as far as is known here.

        Raises:
            InvalidParameterError: there is no such store.
            BuildError: it cannot.
            GameError: the game breaks the contract.
        """
        check_declarations(game)
        needed_here(game, folder, self.max_memory).require(force=self.force)
        path = folder / f"{game.table_name}{SUFFIX}"
        if path.is_dir():
            raise BuildError(f"'{path}' cannot be written: it is a folder")
        engine = build.checked_engine(game, None)
        # What cannot be written is found before the work.
        with (
            build.explained_failures(game, path, engine),
            temporary_beside(path),
            _held(_store(game, folder, self.options.store)),
        ):
            return engine

    def table_on(self, cluster: Cluster, game: Game, folder: Path) -> build.Built:
        """Build the table of a game into a folder.

        Whatever was finished before a failure, or before this process was killed, is found in the store
        and not done again.

        Raises:
            BuildError: a task failed, or something is missing; says how to go on.
            GameError: the game breaks the contract.
            VerificationError: the result contradicts the rules; nothing was put in place.
        """
        started = time.perf_counter()
        engine = self.prepared(game, folder)
        path = folder / f"{game.table_name}{SUFFIX}"
        with (
            build.explained_failures(game, path, engine),
            _held(_store(game, folder, self.options.store)) as store,
        ):
            cut = self._cut(game, engine, cluster.memory, store)
            cluster.require(store)
            job = job_of(game, engine, cut, cluster.memory)
            runner = TaskRunner(cluster.client, game, store, self.options.command)
            while True:
                try:
                    built = self._run(job, runner, store, game, engine, folder)
                    break
                except LostObjectError as error:
                    runner.lose(error.name, str(error))
            store.clear()
        return build.Built(*built, time.perf_counter() - started)

    def _cut(self, game: Game, engine: Engine, memory: int, store: Store) -> int | None:
        """The size of a shard: that of an earlier run, whose objects are of no use otherwise.

        Raises:
            BuildError: its tasks do not fit into the memory that there is now.
        """
        try:
            cut: int | None = store.summary(LAYOUT)["shard"]
            if self.shard in (None, cut):
                require_task(game, engine, cut, memory, f" as it was cut in '{store.url}'")
                return cut
        except LostObjectError:
            pass
        store.empty()
        cut = self.shard or shard_size(game, engine, memory)
        store.write(LAYOUT, {"shard": cut})
        return cut

    def _run(
        self, job: Job, runner: TaskRunner, store: Store, game: Game, engine: Engine, folder: Path
    ) -> tuple[Path, TableInfo, str, bool]:
        """Solve, pack, write, verify and put in place, as far as that is not done.

        Raises:
            LostObjectError: an object that was finished is missing or damaged.
        """
        done = runner.run(job, self.progress)
        totals = job.totals(done)
        columns = job.columns(totals, done)
        parts = job.stored(columns)
        if parts is None:
            packing = PackWork(job, totals, columns)
            runner.run(packing, self.progress)
            parts = packing.parts()
        info = TableInfo.describe(game, f"endtable {__version__}", totals)
        table = _Solved(_Chunks(store, columns, parts), info, columns, game, engine)
        is_large = sum(column.nbytes for column in columns) > self.folder_bytes
        try:
            return (self._place_folder if is_large else self._place_file)(table, folder)
        except (VerificationError, TableFileError):
            store.empty()  # to start again from the same objects would end in the same way
            raise

    def _place_file(self, table: _Solved, folder: Path) -> tuple[Path, TableInfo, str, bool]:
        chunks, info, columns, game, engine = table
        path = folder / f"{info.name}{SUFFIX}"
        with temporary_beside(path) as temporary:
            with self.progress.stage(f"{info.name}: write", "bytes") as report:
                digest = write_chunks(temporary, info, columns, chunks, report)
            fresh = build.verified(temporary, game, engine, self.progress, self.max_memory)
            if unchanged := build.holds_same(path, fresh, game):
                return path, info, unchanged.digest, False
            put_in_place(temporary, path)
        return path, info, digest, True

    def _place_folder(self, table: _Solved, folder: Path) -> tuple[Path, TableInfo, str, bool]:
        chunks, info, columns, game, engine = table
        path = folder / f"{info.name}{PARTS_SUFFIX}"
        place = folder / f".{path.name}.build"
        with _held_folder(place, f"'{place}'"):
            temporary = place / "table"
            with self.progress.stage(f"{info.name}: write", "bytes") as report:
                digest = write_folder(temporary, info, columns, chunks, report, digests=chunks.digests)
            try:
                fresh = build.verified(
                    temporary, game, engine, self.progress, self.max_memory, _OPEN_CHUNKS
                )
            except (VerificationError, TableFileError):
                shutil.rmtree(temporary, ignore_errors=True)
                raise
            if unchanged := build.holds_same(path, fresh, game):
                digest = unchanged.digest
            else:
                put_folder_in_place(temporary, path)
            # An older file would be found before the folder.
            (folder / f"{info.name}{SUFFIX}").unlink(missing_ok=True)
            clear_folder(place)
        return path, info, digest, not unchanged


class _Solved(NamedTuple):
    """A table that is to be written, from what is in the store."""

    chunks: _Chunks
    info: TableInfo
    columns: Sequence[Column]
    game: Game
    engine: Engine


class _Chunks:
    """The chunks of a table's columns, from the store, in the form that writers ask for."""

    def __init__(
        self, store: Store, columns: Sequence[Column], parts: dict[str, list[StoredPart]]
    ) -> None:
        self._store, self._parts = store, parts
        stored = stored_as(columns)
        self._share = {
            column.name: stored[column.name][0] // dtype_of(column.bits).itemsize for column in columns
        }

    def __call__(self, column: Column, first: int, end: int) -> Iterator[Encoded]:
        """The chunks of a column from number `first` to before `end`, each checked.

        Raises:
            LostObjectError: one is missing or damaged.
        """

        def read(name: str, array: str, low: int, high: int) -> list[Encoded]:
            return list(self._store.chunks(name, array, low, high))

        with Workers() as workers:
            calls = (
                (part.name, part.array, *run)
                for part, low, high in self._stretches(column, first, end)
                for run in slices(low, high, _RUN)
            )
            for some in workers.in_order(read, calls):
                yield from some

    def digests(self, column: Column, first: int, end: int) -> bytes:
        """The digests of the same chunks."""
        found = b""
        for part, low, high in self._stretches(column, first, end):
            stored = self._store.index(part.name).arrays[part.array]
            found += stored.digests[32 * low : 32 * high]
        return found

    def _stretches(self, column: Column, first: int, end: int) -> Iterator[tuple[StoredPart, int, int]]:
        """The parts that chunks of a column are in, and which chunks of each."""
        parts, share = self._parts[column.name], self._share[column.name]
        at = bisect_right(parts, first * share, key=lambda part: part.low) - 1
        for part in parts[at:]:
            begin = part.low // share
            low, high = max(first, begin), min(end, begin + -(-(part.high - part.low) // share))
            if low >= high:
                return
            yield part, low - begin, high - begin


def needed_here(game: Game, folder: Path, max_memory: int | None = None) -> Needs:
    """What a build on a cluster needs of this machine, and what there is: all but the workers."""
    solver, size = build.solver_of(game), min(game.size, BEYOND)
    packed = size // 8 if solver is build.OUTCOMES_ALONE else size * solver.record_bytes
    chunks = _OPEN_CHUNKS if packed > FOLDER_BYTES else None
    return Needs(
        game.table_name,
        game.size,
        _CLIENT_BYTES + verify.memory_needed(game, solver.record_bytes, chunks),
        available_memory(max_memory),
        int(size * solver.table_bytes),
        available_disk(folder),
    )


def _store(game: Game, folder: Path, url: str | None) -> Store:
    """Where the tasks of a game leave their objects; beside the table if nothing else is said."""
    if url == "":
        raise InvalidParameterError("store", url, "a folder, or a URL such as s3://bucket/folder")
    name = f"{game.table_name}.store"
    place = str(folder.absolute() / f".{name}") if url is None else f"{url.rstrip('/')}/{name}"
    said = [game.table_name, game.parameters, game.rules_digest(), __version__]
    key = canonical([*said, zstandard.ZSTD_VERSION, build.code_digest()])
    return Store(place, hashlib.sha256(key).hexdigest())


@contextmanager
def _held(store: Store) -> Iterator[Store]:
    """A store that no other process uses, as far as that can be known: where it is a folder.

    Raises:
        BuildError: another has it.
    """
    if store.folder is None:
        yield store
        return
    with _held_folder(store.folder, f"the store '{store.url}'"):
        yield store


@contextmanager
def _held_folder(folder: Path, what: str) -> Iterator[None]:
    """A folder that no other process uses, as long as there is something in it; errors call it `what`.

    Raises:
        BuildError: another has it, or it cannot be made.
    """
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        held = hold_folder(folder)
    except OSError as error:
        raise BuildError(f"{what} cannot be written: {error.strerror}") from None
    if held is None:
        raise BuildError(f"{what} is in use: expected no other build of that table")
    try:
        yield
    finally:
        leave_folder(folder, held)
