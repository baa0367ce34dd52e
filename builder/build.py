"""One table from its game: solve, write, verify, put in place."""

from __future__ import annotations

import hashlib
import inspect
import secrets
import time
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import zstandard

from builder import verify
from builder.checkpoints import PATIENCE, Checkpoints
from builder.compile import Engine, choose_engine
from builder.conformance import check_game, sample_indices
from builder.declarations import check_declarations
from builder.executor import execute
from builder.fallback import engine_for
from builder.limits import BEYOND, Needs, available_memory, usable_memory
from builder.parity import check_compiled
from builder.solvers import distance, grundy, heaps, mask, ordered, retrograde, steps
from builder.workers import cores
from builder.writer import stored_as, write_table
from lookup import __version__
from lookup.atomic import put_in_place, temporary_beside
from lookup.disk import available_disk
from lookup.errors import BuildError, EndtableError, GameError, TableFileError, VerificationError
from lookup.folder import open_reader
from lookup.format import TableInfo, canonical
from lookup.games.mask_game import MaskGame
from lookup.games.sources import failed_at, is_of_own_game, said
from lookup.progress import SHARDS, Progress
from lookup.tablebase import SUFFIX

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from builder.solvers.plan import Plan
    from lookup.games.base import Game, SolverKind
    from lookup.reader import TableReader

_CHECKED = 64  # indices at which a game must keep its contract before it is solved
_COMPILER_BYTES = 192 * 1024 * 1024  # what numba takes once it has compiled something, measured
_WRITER_BYTES = 32 * 1024 * 1024  # what chunks under way and a compressor take, for each core
_FILE_BYTES = 64 * 1024  # what a table takes besides its columns, as long as it is small
_COMPILER_SECONDS = 3.0  # what numba takes to start and to compile, the first time


class Solver(NamedTuple):
    """A kind of solver: its plan, and roughly what a table takes.

    `record_bytes`, `table_bytes` and `kept_bytes` are what a position takes in a record, in the file
    and in the checkpoints of a long build. `speed` is `Game.work` built in a second, compiled and
    interpreted: solved, written and verified.
    """

    plan: Callable[[Any, Engine], Plan]
    memory_needed: Callable[[Any, Engine], int]
    record_bytes: int
    table_bytes: float
    kept_bytes: float
    speed: tuple[float, float]


SOLVERS: dict[SolverKind, Solver] = {
    "mask": Solver(mask.plan, mask.memory_needed, 1, 1.2, 1, (20e6, 100e3)),
    "retrograde": Solver(retrograde.RetrogradePlan, retrograde.memory_needed, 2, 4.3, 38, (2e6, 20e3)),
    "ordered": Solver(ordered.OrderedPlan, ordered.memory_needed, 1, 1.3, 2, (15e6, 200e3)),
    "grundy": Solver(grundy.GrundyPlan, grundy.memory_needed, 4, 3.3, 7, (5e6, 40e3)),
    "distance": Solver(distance.plan, distance.memory_needed, 4, 4.2, 4.2, (8e6, 100e3)),
    "heaps": Solver(heaps.HeapsPlan, heaps.memory_needed, 2, 2, 2, (1e9, 1e6)),
    "steps": Solver(steps.StepsPlan, steps.memory_needed, 2, 2, 6, (2e6, 20e3)),
}
OUTCOMES_ALONE = Solver(mask.plan, mask.memory_needed, 1, 0.045, 0.045, (300e6, 2e6))
"""Mask games that store a bit a position, which are built much faster."""


def solver_of(game: Game) -> Solver:
    """The solver that a game needs."""
    if isinstance(game, MaskGame) and game.cells > mask.REMOTENESS_CELLS:
        return OUTCOMES_ALONE
    solver = SOLVERS[game.solver]
    # Two bits of a record are the outcome: a remoteness of 2^30 and more needs a wider one.
    return solver._replace(record_bytes=8) if solver.record_bytes == 4 and game.size >> 30 else solver


@dataclass(frozen=True)
class Built:
    """A finished build; `changed` is False if the file in place already held the same table."""

    path: Path
    info: TableInfo
    digest: str
    changed: bool
    seconds: float


def build_table(
    game: Game,
    folder: Path,
    *,
    engine: Engine | None = None,
    progress: Progress | None = None,
    max_memory: int | None = None,
    force: bool = False,
    patience: float = PATIENCE,
) -> Built:
    """Build the table of a game into a folder.

    The file appears there only when it is whole and verified. One that holds the same table already
    is left untouched. A build that takes longer than `patience` seconds keeps what it has finished, and
    goes on from there if it was stopped, by whatever, and is called again.

    Raises:
        BuildError: it does not fit in memory or on the disk and `force` is not given, or the folder
            cannot be written.
        GameError: the game breaks the contract.
        VerificationError: the result contradicts the rules; nothing was put in place.
    """
    started = time.perf_counter()
    progress = progress or Progress.silent()
    check_declarations(game)
    name = game.table_name
    estimate(game, folder, engine, max_memory).require(force=force)
    path = folder / f"{name}{SUFFIX}"
    if path.is_dir():
        raise BuildError(f"'{path}' cannot be written: it is a folder")
    engine = checked_engine(game, engine)
    # The temporary file is made first: a folder that cannot be written is found before the work.
    with (
        explained_failures(game, path, engine),
        temporary_beside(path) as temporary,
        closing(Checkpoints(path, _key(game, engine), patience)) as checkpoints,
    ):
        info, digest = _solve_and_write(game, engine, temporary, progress, checkpoints)
        try:
            fresh = verified(temporary, game, engine, progress, max_memory)
        except (VerificationError, TableFileError):
            checkpoints.discard()  # to start again from the same parts would end in the same way
            raise
        if unchanged := holds_same(path, fresh, game):
            digest = unchanged.digest
        else:
            put_in_place(temporary, path)
        checkpoints.discard()
    return Built(path, info, digest, not unchanged, time.perf_counter() - started)


def checked_engine(game: Game, engine: Engine | None) -> Engine:
    """What runs the rules of a game, which keep the contract as far as a few of them show.

    Raises:
        GameError: they do not.
        BuildError: numba was asked for and is not installed.
    """
    # Before anything is compiled: what is wrong is explained best where it is interpreted.
    indices = sample_indices(game, whole=_CHECKED, sample=_CHECKED)
    check_game(game, indices)
    engine = engine_for(game, engine)
    if engine == Engine.NUMBA and not game.is_ours():
        check_compiled(game, indices)
    return engine


@contextmanager
def explained_failures(game: Game, path: Path, engine: Engine) -> Iterator[None]:
    """Turn whatever fails while a table is built into a sentence."""
    try:
        yield
    except (EndtableError, MemoryError, KeyboardInterrupt):
        raise
    except BaseException as error:
        if isinstance(error, OSError) and not is_of_own_game(error):
            reason = error.strerror or error
            raise BuildError(f"'{path}' cannot be written: {reason}") from None
        if game.is_ours():
            raise
        raise GameError(_raised(error, engine)) from error


def _raised(error: BaseException, engine: Engine) -> str:
    """What a user's rule raised in the midst of a build."""
    if engine == Engine.NUMBA:
        return f"a compiled rule fails: {said(error)}; with --engine python the message names the line"
    return f"{failed_at(error)} fails: {said(error)}"


def _solve_and_write(
    game: Game, engine: Engine, temporary: Path, progress: Progress, checkpoints: Checkpoints
) -> tuple[TableInfo, str]:
    """Write the table of a game; when this returns, the memory of the solver is free again."""
    name = game.table_name
    plan = solver_of(game).plan(game, engine)
    checkpoints.will_store(stored_as(plan.columns))
    restored = None
    if checkpoints.exist:
        with progress.stage(f"{name}: go on", SHARDS) as report:
            restored = checkpoints.restore(plan, report)
    with progress.stage(f"{name}: solve") as report:
        solution = execute(plan, report, checkpoints, restored)
    info = TableInfo.describe(game, f"endtable {__version__}", solution.totals)
    with progress.stage(f"{name}: write", "bytes") as report:
        return info, write_table(temporary, info, solution.columns, report, checkpoints)


def _key(game: Game, engine: Engine) -> str:
    """What must be the same for a checkpoint to be of use: the game, and all code that works on it."""
    made_by = [__version__, engine, zstandard.ZSTD_VERSION]
    own = {_source(kind) for kind in type(game).__mro__[:-1]}
    # Code that cannot be compared, such as a class that was typed in, is never taken for the same.
    code = secrets.token_hex() if None in own else _digest_of(filter(None, own)) + code_digest()
    return canonical([game.table_name, game.parameters, made_by, code]).decode()


def _source(kind: type) -> Path | None:
    """The file that a class was written in."""
    try:
        path = Path(inspect.getfile(kind))
    except (OSError, TypeError):
        return None
    return path if path.is_file() else None


@cache
def code_digest() -> str:
    """What tells the solvers and games that are here from others."""
    solvers, games = Path(mask.__file__).parent, Path(inspect.getfile(MaskGame)).parent
    folders = solvers, solvers.parent / "cluster", games
    return _digest_of(path for folder in folders for path in folder.glob("*.py"))


def _digest_of(files: Iterable[Path]) -> str:
    """One digest of the content of files."""
    digest = hashlib.sha256()
    for path in sorted(files):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def estimate(
    game: Game, folder: Path, engine: Engine | None = None, max_memory: int | None = None
) -> Needs:
    """What a build into a folder needs, and what there is."""
    # The estimate of time is rough: what may take a few times as long may be kept too.
    solver, long = solver_of(game), 4 * rough_seconds(game, engine) > PATIENCE
    # Sizes beyond any machine are too large for floating point as well.
    size = min(game.size, BEYOND)
    disk = int(size * (solver.table_bytes + (solver.kept_bytes if long else 0))) + _FILE_BYTES
    return Needs(
        game.table_name,
        game.size,
        memory_needed(game, engine),
        available_memory(max_memory),
        disk,
        available_disk(folder),
    )


def memory_needed(game: Game, engine: Engine | None = None) -> int:
    """Bytes that building a table takes at its peak: solving it, or reading it back to verify."""
    engine = choose_engine(engine, game.work)
    solver = solver_of(game)
    work = max(
        solver.memory_needed(game, engine) + min(cores() * _WRITER_BYTES, 32 * game.size),
        verify.memory_needed(game, solver.record_bytes),
    )
    return work + (_COMPILER_BYTES if engine == Engine.NUMBA else 0)


def rough_seconds(game: Game, engine: Engine | None = None) -> float:
    """About how long a build takes with two cores; right within a factor of a few."""
    compiled, interpreted = solver_of(game).speed
    work = min(game.work, BEYOND)
    if choose_engine(engine, game.work) == Engine.NUMBA:
        return _COMPILER_SECONDS + work / compiled
    return work / interpreted


def verified(
    temporary: Path,
    game: Game,
    engine: Engine,
    progress: Progress,
    max_memory: int | None,
    chunks: int | None = None,
) -> TableReader:
    """Verify a table that has no name yet; errors call it by the table's.

    `chunks` is of how many chunks at most it is known where they are, if that is less than all.

    Raises:
        VerificationError: it contradicts the rules.
    """
    # A build that was forced has been told that this may not fit.
    memory = usable_memory() if max_memory is None else min(max_memory, usable_memory())
    memory = max(memory, verify.memory_needed(game, solver_of(game).record_bytes, chunks))
    try:
        with progress.stage(f"{game.table_name}: verify") as report:
            found = verify.verify_file(temporary, engine, report, memory=memory, rules=game, brief=True)
        return found.file
    except (VerificationError, TableFileError) as error:
        shown = str(error).replace(f"'{temporary}'", f"the new {game.table_name}")
        raise VerificationError(shown) from None


def holds_same(path: Path, fresh: TableReader, game: Game) -> TableReader | None:
    """The table in place, if it is sound and holds the same table as the new one."""
    try:
        old = open_reader(path, game)
    except EndtableError:
        return None
    try:
        same = old.info.same_content(fresh.info) and old.columns.keys() == fresh.columns.keys()
        if same:
            with closing(open_reader(fresh.path, game)) as new:  # `fresh` is closed
                same = all(old.column_digest(name) == new.column_digest(name) for name in new.columns)
        if same:
            old.check_chunks()
        return old if same else None
    except EndtableError:
        return None
    finally:
        old.close()
