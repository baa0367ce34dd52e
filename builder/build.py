"""One table from its game: solve, write, verify, put in place."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from builder import verify
from builder.compile import Engine, choose_engine
from builder.conformance import check_game, sample_indices
from builder.limits import require_memory
from builder.progress import Progress
from builder.solvers import distance, heaps, mask, ordered, retrograde, steps
from builder.writer import put_in_place, temporary_beside, write_table
from lookup import __version__
from lookup.errors import BuildError, EndtableError, VerificationError
from lookup.format import TableInfo
from lookup.reader import TableFile
from lookup.tablebase import SUFFIX

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from builder.solvers.solution import Report, Solution
    from lookup.games.base import Game, SolverKind

_CHECKED = 64  # indices at which a game must keep its contract before it is solved
_COMPILER_BYTES = 192 * 1024 * 1024  # what numba takes once it has compiled something, measured
_COMPILER_SECONDS = 3.0  # what numba takes to start and to compile, the first time


class Solver(NamedTuple):
    """A kind of solver: what it does, and roughly what a table takes.

    `speed` is `Game.work` built in a second, compiled and interpreted: solved, written and verified.
    """

    solve: Callable[..., Solution]
    memory_needed: Callable[[Any], int]
    record_bytes: int
    speed: tuple[float, float]


SOLVERS: dict[SolverKind, Solver] = {
    "mask": Solver(mask.solve, mask.memory_needed, 1, (20e6, 100e3)),
    "retrograde": Solver(retrograde.solve, retrograde.memory_needed, 2, (2e6, 20e3)),
    "ordered": Solver(ordered.solve, ordered.memory_needed, 1, (15e6, 200e3)),
    "distance": Solver(distance.solve, distance.memory_needed, 4, (4e6, 100e3)),
    "heaps": Solver(heaps.solve, heaps.memory_needed, 2, (1e9, 1e6)),
    "steps": Solver(steps.solve, steps.memory_needed, 2, (2e6, 20e3)),
}


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
) -> Built:
    """Build the table of a game into a folder.

    The file appears there only when it is whole and verified. One that holds the same table already
    is left untouched.

    Raises:
        BuildError: it does not fit in memory, or the folder cannot be written.
        GameError: the game breaks the contract.
        VerificationError: the result contradicts the rules; nothing was put in place.
    """
    started = time.perf_counter()
    progress = progress or Progress.silent()
    name = game.table_name
    engine = choose_engine(engine, game.work)
    require_memory(memory_needed(game, engine), name)
    path = folder / f"{name}{SUFFIX}"
    # Compiled code does not survive a game that writes past its buffer or names indices out of range.
    check_game(game, sample_indices(game, whole=_CHECKED, sample=_CHECKED))
    try:
        # The temporary file is made first: a folder that cannot be written is found before the work.
        with temporary_beside(path) as temporary:
            with progress.stage(f"{name}: solve") as report:
                solution = SOLVERS[game.solver].solve(game, engine, report)
            builder = f"endtable {__version__}"
            info = TableInfo.describe(game, builder, solution.totals)
            with progress.stage(f"{name}: write") as report:
                digest = write_table(temporary, info, solution.columns, report)
            del solution
            with progress.stage(f"{name}: verify") as report:
                fresh = _verify(temporary, game, engine, report)
            if unchanged := _holds_same(path, fresh):
                digest = unchanged.digest
            else:
                put_in_place(temporary, path)
    except OSError as error:
        raise BuildError(f"'{path}' cannot be written: {error.strerror or error}") from None
    return Built(path, info, digest, not unchanged, time.perf_counter() - started)


def memory_needed(game: Game, engine: Engine | None = None) -> int:
    """Bytes that building a table takes at its peak: solving it, or reading it back to verify."""
    solver = SOLVERS[game.solver]
    work = max(solver.memory_needed(game), verify.memory_needed(game, solver.record_bytes))
    compiler = _COMPILER_BYTES if choose_engine(engine, game.work) == Engine.NUMBA else 0
    return work + compiler


def rough_seconds(game: Game, engine: Engine | None = None) -> float:
    """About how long a build takes with two cores; right within a factor of a few."""
    compiled, interpreted = SOLVERS[game.solver].speed
    if choose_engine(engine, game.work) == Engine.NUMBA:
        return _COMPILER_SECONDS + game.work / compiled
    return game.work / interpreted


def _verify(temporary: Path, game: Game, engine: Engine, report: Report) -> TableFile:
    """Verify a file that has no name yet; errors call it by the table's."""
    try:
        return verify.verify_file(temporary, engine, report, brief=True).file
    except VerificationError as error:
        shown = str(error).replace(f"'{temporary}'", f"the new {game.table_name}")
        raise VerificationError(shown) from None


def _holds_same(path: Path, fresh: TableFile) -> TableFile | None:
    """The file in place, if it is sound and holds the same table as the new one."""
    try:
        old = TableFile(path)
    except EndtableError:
        return None
    try:
        same = old.info.same_content(fresh.info) and all(
            old.columns[name].digests == stored.digests for name, stored in fresh.columns.items()
        )
        if same:
            for name, stored in old.columns.items():
                for number in range(len(stored.offsets)):
                    old.read_chunk(name, number)
        return old if same else None
    except (EndtableError, KeyError):
        return None
    finally:
        old.close()
