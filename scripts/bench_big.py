"""The section `big` of `bench.py`: Tactics 6x6, 2^36 positions. Run only when it is asked for by name.

Takes two builds of minutes each, 9 GiB of memory and some of disk.
"""

from __future__ import annotations

import json
import math
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench_measure import Row, Workshop, peak_resident, run

from builder.build import build_table, estimate, rough_seconds
from builder.checkpoints import PATIENCE
from builder.compile import Engine
from lookup.games.tactics import Tactics
from lookup.progress import Progress, silent

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lookup.progress import Report

BUILD = "import sys, bench_big; bench_big.build(*sys.argv[1:])"
MOST_SECONDS, MOST_GIB, MOST_OF_CHECKPOINTS = 600, 12, 1.05
GAME, SMALL = Tactics(6, 6), Tactics(2, 13)
GIB = 2**30


def big_section(shop: Workshop) -> Iterator[Row]:
    """One build without checkpoints and one with; what is compared with a bound is the second.

    Raises:
        BuildError: there is not enough memory or disk.
    """
    game = GAME
    needs = estimate(game, shop.folder, Engine.NUMBA)
    needs.require()
    _built(shop, SMALL, math.inf)  # compiles
    without, built = (_built(shop, game, patience) for patience in (math.inf, PATIENCE))
    name, took, memory = f"build {game.table_name}", built["seconds"], built["peak_bytes"] / GIB
    yield Row(name, f"{MOST_SECONDS} s", took, MOST_SECONDS, "s", at_most=1)
    yield Row(f"{name}, peak memory", f"{MOST_GIB} GiB", memory, MOST_GIB, "GiB", at_most=1)
    whole = without["seconds"]
    against = f"without, {100 * (took / whole - 1):+.1f} %"
    bound = MOST_OF_CHECKPOINTS
    yield Row(f"{name}, with checkpoints", against, took, whole, "s", at_most=bound)
    for stage, part in built["stages"].items():
        yield Row(f"{name}, {stage}", "the whole build", part, took, "s")
    for stage, part in without["stages"].items():
        yield Row(f"{name}, {stage}, no checkpoints", "the whole build", part, whole, "s")
    rate, alone = (game.size / one["stages"]["solve"] for one in (built, without))
    yield Row(f"{name}, solve", "no checkpoints", rate, alone, "positions/s")
    yield Row(name, "the estimate before", took, rough_seconds(game, Engine.NUMBA), "s")
    yield Row(f"{name}, peak memory", "the estimate before", memory, needs.memory / GIB, "GiB")
    file, packed = built["file_bytes"] / GIB, game.size / 8 / GIB
    yield Row(f"{name}, the file", "a bit a position", file, packed, "GiB")


def _built(shop: Workshop, game: Tactics, patience: float) -> dict[str, Any]:
    """What a build in a process of its own took."""
    arguments = map(str, (game.rows, game.cols, shop.new_folder(), patience))
    found: dict[str, Any] = json.loads(run("-c", BUILD, *arguments, cache=shop.cache))
    return found


# --- in a process of its own ----------------------------------------------------------------------


class Stopwatch(Progress):
    """Shows nothing; remembers how long each stage took, by the last word of its name."""

    def __init__(self) -> None:
        super().__init__()
        self.taken: dict[str, float] = {}

    @contextmanager
    def stage(self, name: str, unit: str = "positions") -> Iterator[Report]:  # noqa: ARG002 - not shown
        """One stage of work."""
        started = time.perf_counter()
        yield silent
        self.taken[name.rpartition(" ")[2]] = time.perf_counter() - started


def build(rows: str, cols: str, folder: str, patience: str) -> None:
    """Build a board into a folder, print what it took, and remove the table again."""
    game, out, watch = Tactics(int(rows), int(cols)), Path(folder), Stopwatch()
    built = build_table(game, out, engine=Engine.NUMBA, progress=watch, patience=float(patience))
    taken = {
        "seconds": built.seconds,
        "stages": watch.taken,
        "peak_bytes": peak_resident(),
        "file_bytes": built.path.stat().st_size,
    }
    built.path.unlink()
    print(json.dumps(taken))
