"""What every section of `bench.py` measures with: times, memory, processes of their own, rows."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
import tracemalloc
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeAlias, TypeVar

from bench_ceiling import Ceiling, compile_ceiling

from builder.build import build_table
from builder.executor import execute
from lookup.games.tactics import Tactics

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from builder.compile import Engine
    from builder.solvers.plan import Plan
    from builder.solvers.solution import Solution

SCRIPTS = Path(__file__).parent
SEED = 1
Action: TypeAlias = "Callable[[], object]"
Plans: TypeAlias = "Callable[[Any, Engine], Plan]"
Result = TypeVar("Result")


class BenchError(Exception):
    """What was asked for cannot be done here; the message is for whoever asked."""


# --- rows -----------------------------------------------------------------------------------------


class Line(Protocol):
    """What a section yields: a line of a table, and of the results file."""

    HEAD: ClassVar[tuple[str, ...]]
    WORDS: ClassVar[int]  # how many of the first cells are words

    @property
    def cells(self) -> tuple[str, ...]:
        """The line as printed."""

    @property
    def fields(self) -> dict[str, Any]:
        """The line as stored."""


@dataclass(frozen=True)
class Row:
    """One comparison. `ratio` is of rates, or of times if the unit is a time."""

    HEAD: ClassVar[tuple[str, ...]] = (
        "what",
        "against",
        "measured",
        "baseline",
        "ratio",
        "wanted",
        "reached",
    )
    WORDS: ClassVar[int] = 2

    name: str
    against: str
    measured: float
    baseline: float
    unit: str
    at_least: float | None = None
    at_most: float | None = None
    ratio: float = field(init=False)
    reached: bool | None = field(init=False)

    def __post_init__(self) -> None:
        ratio = self.measured / self.baseline
        reached = None
        if self.at_least is not None:
            reached = ratio >= self.at_least
        elif self.at_most is not None:
            reached = ratio <= self.at_most
        object.__setattr__(self, "ratio", ratio)
        object.__setattr__(self, "reached", reached)

    @property
    def wanted(self) -> str:
        """The bound, if there is one."""
        if self.at_least is not None:
            return f">= {self.at_least:g}"
        return "" if self.at_most is None else f"<= {self.at_most:g}"

    @property
    def cells(self) -> tuple[str, ...]:
        """The row as printed."""
        verdict = {None: "", True: "yes", False: "NO"}[self.reached]
        figures = (figure(value, self.unit) for value in (self.measured, self.baseline))
        return (self.name, self.against, *figures, short(self.ratio), self.wanted, verdict)

    @property
    def fields(self) -> dict[str, Any]:
        """The row as stored."""
        return rounded(asdict(self))


def rounded(fields: dict[str, Any]) -> dict[str, Any]:
    """Fields as they are stored: more than four digits of a measured number would be noise."""
    return {
        name: float(f"{value:.4g}") if isinstance(value, float) else value
        for name, value in fields.items()
    }


def figure(value: float, unit: str) -> str:
    """A number with its unit, in three digits."""
    if not unit.endswith("/s"):
        return f"{short(value)} {unit}"
    for scale, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= scale:
            return f"{short(value / scale)} {letter}/s"
    return f"{short(value)}/s"


def short(value: float) -> str:
    """A number in three digits."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def print_table(title: str, rows: Sequence[Line]) -> None:
    """Aligned columns, words to the left and numbers to the right."""
    lines = [rows[0].HEAD, *(row.cells for row in rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    print(f"\n{title}")
    for line in lines:
        cells = (
            cell.ljust(width) if at < rows[0].WORDS else cell.rjust(width)
            for at, (cell, width) in enumerate(zip(line, widths, strict=True))
        )
        print("  " + "  ".join(cells).rstrip())


# --- measuring ------------------------------------------------------------------------------------


def timed(action: Callable[[], Result]) -> tuple[Result, float]:
    """What one call returns, and the seconds that it takes."""
    started = time.perf_counter()
    result = action()
    return result, time.perf_counter() - started


def seconds(action: Action) -> float:
    """How long one call takes."""
    return timed(action)[1]


def race(*actions: Action, rounds: int) -> list[float]:
    """The least time of each, taken in turns so that a busy moment of the machine meets all alike."""
    for action in actions:
        action()
    times = [[seconds(action) for action in actions] for _ in range(rounds)]
    return [min(column) for column in zip(*times, strict=True)]


def solve(plans: Plans, game: object, engine: Engine, workers: int = 1) -> Solution:
    """A whole solve: the plan is made, then run, on one core unless told otherwise."""
    return execute(plans(game, engine), workers=workers)


def peak_bytes(action: Action) -> int:
    """The most memory that one call holds at a time, arrays of numpy among it."""
    tracemalloc.start()
    try:
        action()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def peak_resident() -> int:
    """The most bytes of memory that this process has taken so far."""
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def run(*arguments: str, cache: Path | None = None) -> str:
    """What Python prints in a process of its own."""
    environment = os.environ | ({"NUMBA_CACHE_DIR": str(cache)} if cache else {})
    # An installed package has its bytecode; without it every start would parse the source again.
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    command = [sys.executable, *arguments]
    done = subprocess.run(
        command, cwd=SCRIPTS, env=environment, check=True, text=True, stdout=subprocess.PIPE
    )
    return done.stdout


def fresh(code: str, *arguments: str, cache: Path | None = None) -> float:
    """The seconds that a piece of Python prints in a process of its own."""
    return float(run("-c", code, *arguments, cache=cache))


class Workshop:
    """A temporary folder, and what several sections need in it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def new_folder(self) -> Path:
        """An empty folder."""
        return Path(tempfile.mkdtemp(dir=self.folder))

    @cached_property
    def library(self) -> Path | None:
        """The solvers in C, compiled now; None without a C compiler."""
        return compile_ceiling(self.folder)

    @property
    def ceiling(self) -> Ceiling | None:
        """The solvers in C; None without a C compiler."""
        return Ceiling(self.library) if self.library else None

    @cached_property
    def table_5x5(self) -> Path:
        """The table of tactics 5x5, built now."""
        return build_table(Tactics(5, 5), self.new_folder()).path

    @cached_property
    def cache(self) -> Path:
        """A numba cache for processes of our own, empty at first."""
        return self.new_folder()
