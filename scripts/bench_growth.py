"""The section `growth` of `bench.py`: each solver at three sizes about a decade apart.

Every size is measured in a process of its own. Memory is what is allocated while a game is solved,
arrays of numpy among it; the interpreter and compiled code are not counted.
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from bench_baselines import (
    clock_by_search,
    dict_letters,
    dict_pursuit,
    heaps_by_mex,
    numpy_letters,
    numpy_pursuit,
    numpy_wins,
    recursive_special,
    recursive_wins,
)
from bench_ceiling import Ceiling
from bench_games import Pursuit
from bench_measure import (
    Action,
    Plans,
    Workshop,
    figure,
    peak_bytes,
    race,
    rounded,
    run,
    seconds,
    short,
    solve,
)

from builder.compile import Engine
from builder.solvers import distance, heaps, mask, ordered, retrograde, steps
from builder.writer import write_table
from lookup.format import TableInfo
from lookup.games.clock import Clock
from lookup.games.sticks_heaps import SticksRun
from lookup.games.sticks_special import SticksSpecial
from lookup.games.tactics import Tactics
from lookup.games.winners_losers import WinnersLosers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from builder.solvers.solution import Solution
    from lookup.games.base import Game

OURS, IN_C = "endtable", "C"
MEASURE = "import sys, bench_growth; bench_growth.measure(*sys.argv[1:])"
MEASURE_PLAIN = "import sys, bench_growth; bench_growth.measure_plain(*sys.argv[1:])"
MOST_ROUNDS = 7
ENOUGH = 1.0  # seconds to spend on one way of solving


@dataclass(frozen=True)
class Growth:
    """How fast, and in how much memory, one way solves a game of some size."""

    HEAD: ClassVar[tuple[str, ...]] = (
        "solver", "method", "table", "cores", "positions", "solved", "memory", "file"
    )  # fmt: skip
    WORDS: ClassVar[int] = 3

    solver: str
    method: str
    table: str
    positions: int
    cores: int
    seconds: float
    peak_bytes_a_position: float
    file_bytes_a_position: float | None = None
    positions_a_second: float = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "positions_a_second", self.positions / self.seconds)

    @property
    def cells(self) -> tuple[str, ...]:
        """The row as printed, with bytes a position."""
        memory = self.peak_bytes_a_position, self.file_bytes_a_position
        return (
            self.solver,
            self.method,
            self.table,
            str(self.cores),
            f"{self.positions:,}",
            figure(self.positions_a_second, "positions/s"),
            *("" if one is None else f"{short(one)} B" for one in memory),
        )

    @property
    def fields(self) -> dict[str, Any]:
        """The row as stored."""
        return rounded(asdict(self))


class Plain(NamedTuple):
    """What one would write first, at a size that it manages in seconds."""

    method: str
    game: Game
    solve: Callable[[], object]


class Kind(NamedTuple):
    """A kind of solver: its plan, three games, the name of the loop in C, and what else solves them."""

    plans: Plans
    games: tuple[Game, ...]
    plain: tuple[Plain, ...]
    loop: str = ""


def _plain_tactics() -> tuple[Plain, ...]:
    small, middle = Tactics(4, 4), Tactics(4, 5)
    return (
        Plain("Python, a dict", small, partial(recursive_wins, small.masks, small.size)),
        Plain("numpy", middle, partial(numpy_wins, middle.masks, middle.cells)),
    )


def _runs(most: int, *heaps: int) -> tuple[Game, ...]:
    """Sticks of which 1 to `most` are taken, in rows of up to so many."""
    return tuple(SticksRun(1, most, longest) for longest in heaps)


KINDS: dict[str, Kind] = {
    "mask, bits": Kind(
        mask.BitsPlan, (Tactics(4, 5), Tactics(4, 6), Tactics(4, 7)), _plain_tactics(), "bits"
    ),
    "mask, remoteness": Kind(
        mask.ScoresPlan, (Tactics(4, 4), Tactics(4, 5), Tactics(4, 6)), (), "scores"
    ),
    "retrograde": Kind(
        retrograde.RetrogradePlan,
        (Pursuit(6), Pursuit(9), Pursuit(13)),
        (
            Plain("Python, dicts", Pursuit(6), partial(dict_pursuit, 6)),
            Plain("numpy", Pursuit(6), partial(numpy_pursuit, 6)),
        ),
        "pursuit",
    ),
    "ordered": Kind(
        ordered.OrderedPlan,
        (WinnersLosers(16), WinnersLosers(19), WinnersLosers(23)),
        (
            Plain("Python, a dict", WinnersLosers(16), partial(dict_letters, 16)),
            Plain("numpy", WinnersLosers(23), partial(numpy_letters, 23)),
        ),
        "letters",
    ),
    "distance": Kind(
        distance.plan,
        (Clock(5, 9), Clock(6, 9), Clock(7, 9)),
        (Plain("Python, dicts", Clock(4, 9), partial(clock_by_search, 4, 9)),),
        "clock",
    ),
    "heaps, no period": Kind(
        heaps.HeapsPlan,
        _runs(3, 10_000, 100_000, 1_000_000),
        (Plain("Python, sets", SticksRun(1, 3, 1_000), partial(heaps_by_mex, 1_001, 1, 3)),),
    ),
    "heaps, Kayles": Kind(
        heaps.HeapsPlan,
        _runs(2, 10_000, 100_000, 1_000_000),
        (Plain("Python, sets", SticksRun(1, 2, 1_000), partial(heaps_by_mex, 1_001, 1, 2)),),
    ),
    "steps": Kind(
        steps.StepsPlan,
        (SticksSpecial(36), SticksSpecial(50), SticksSpecial(64)),
        (Plain("Python, a dict", SticksSpecial(22), partial(recursive_special, 22)),),
    ),
}


def growth_section(shop: Workshop) -> Iterator[Growth]:
    """Every solver at its sizes, then the plain ways."""
    library, folder = str(shop.library or ""), str(shop.new_folder())
    for name, kind in KINDS.items():
        for number in range(len(kind.games)):
            yield from _measured(shop, MEASURE, name, str(number), library, folder)
        for number in range(len(kind.plain)):
            yield from _measured(shop, MEASURE_PLAIN, name, str(number))


def _measured(shop: Workshop, code: str, *arguments: str) -> Iterator[Growth]:
    """The rows that a piece of Python prints in a process of its own."""
    for fields in json.loads(run("-c", code, *arguments, cache=shop.cache)):
        yield Growth(**fields)


# --- in a process of its own ----------------------------------------------------------------------


def measure(name: str, number: str, library: str, folder: str) -> None:
    """Print the rows of a kind of solver at one of its sizes: ours on one core, on all, and in C."""
    plans, games, _, loop = KINDS[name]
    game = games[int(number)]
    ways: dict[tuple[str, int], Action] = {}
    cores = os.cpu_count() or 1
    for workers in {1, cores} if plans(games[0], Engine.NUMBA).parallel else {1}:
        ways[OURS, workers] = partial(solve, plans, game, Engine.NUMBA, workers)
    if library and loop:
        ways[IN_C, 1] = getattr(Ceiling(Path(library)), loop)(game)
    solve(plans, games[0], Engine.NUMBA)  # compiles
    once = seconds(ways[OURS, 1])
    times = race(*ways.values(), rounds=max(1, min(MOST_ROUNDS, int(ENOUGH / once))))
    rows = [
        _row(name, method, game, took, peak_bytes(ways[method, workers]), workers)
        for (method, workers), took in zip(ways, times, strict=True)
    ]
    file_bytes = _file_bytes(game, solve(plans, game, Engine.NUMBA), Path(folder))
    for row in rows:
        if row["method"] == OURS:
            row["file_bytes_a_position"] = file_bytes / game.size
    print(json.dumps(rows))


def measure_plain(name: str, number: str) -> None:
    """Print the row of a plain way to solve what a kind of solver does."""
    method, game, action = KINDS[name].plain[int(number)]
    print(json.dumps([_row(name, method, game, seconds(action), peak_bytes(action), 1)]))


def _row(name: str, method: str, game: Game, took: float, peak: int, cores: int) -> dict[str, Any]:
    return {
        "solver": name,
        "method": method,
        "table": game.table_name,
        "positions": game.size,
        "cores": cores,
        "seconds": took,
        "peak_bytes_a_position": peak / game.size,
    }


def _file_bytes(game: Game, solution: Solution, folder: Path) -> int:
    """The bytes of a game's table."""
    path = folder / game.table_name
    write_table(path, TableInfo.describe(game, "", solution.totals), solution.columns)
    size = path.stat().st_size
    path.unlink()
    return size
