"""Speeds as ratios, both sides measured in one run: `scripts/bench [solve|probe|start|engine] ...`.

Prints a table and writes it to a results file; a run of some sections leaves the others there alone.
Some ratios have a bound that we hold ourselves to; nothing fails for being slow.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from functools import cached_property, partial
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from bench_games import Pursuit, c_word_solver, dict_pursuit, in_index_order, recursive_wins

import lookup
from builder.build import build_table
from builder.compile import WORTH_COMPILING, Engine, has_numba
from builder.solvers import mask, retrograde
from builder.verify import verify_file
from lookup import records
from lookup.blocks import unpack
from lookup.games.tactics import Tactics

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from builder.solvers.solution import Solution
    from lookup.games.base import Game
    from lookup.table import Table

SCRIPTS = Path(__file__).parent
RESULTS = SCRIPTS / "bench-results.json"
ENGINES = (Engine.NUMBA, Engine.PYTHON)
SEED = 1
Action: TypeAlias = "Callable[[], object]"


# --- rows -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Row:
    """One comparison. `ratio` is of rates, or of times if the unit is a time."""

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
        figures = (_figure(value, self.unit) for value in (self.measured, self.baseline))
        return (self.name, self.against, *figures, _short(self.ratio), self.wanted, verdict)

    @property
    def fields(self) -> dict[str, Any]:
        """The row as stored; more digits would be noise."""
        numbers = {key: float(f"{asdict(self)[key]:.4g}") for key in ("measured", "baseline", "ratio")}
        return asdict(self) | numbers


def _figure(value: float, unit: str) -> str:
    """A number with its unit, in three digits."""
    if not unit.endswith("/s"):
        return f"{_short(value)} {unit}"
    for scale, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= scale:
            return f"{_short(value / scale)} {letter}/s"
    return f"{_short(value)}/s"


def _short(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def print_table(title: str, rows: list[Row]) -> None:
    """Aligned columns, words to the left and numbers to the right."""
    head = ("what", "against", "measured", "baseline", "ratio", "wanted", "reached")
    lines = [head, *(row.cells for row in rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    print(f"\n{title}")
    for line in lines:
        cells = (
            cell.ljust(width) if at < 2 else cell.rjust(width)
            for at, (cell, width) in enumerate(zip(line, widths, strict=True))
        )
        print("  " + "  ".join(cells).rstrip())


# --- measuring ------------------------------------------------------------------------------------


def seconds(action: Action) -> float:
    """How long one call takes."""
    started = time.perf_counter()
    action()
    return time.perf_counter() - started


def race(*actions: Action, rounds: int) -> list[float]:
    """The least time of each, taken in turns so that a busy moment of the machine meets all alike."""
    for action in actions:
        action()
    times = [[seconds(action) for action in actions] for _ in range(rounds)]
    return [min(column) for column in zip(*times, strict=True)]


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
    def table_5x5(self) -> Path:
        """The table of tactics 5x5, built now."""
        return build_table(Tactics(5, 5), self.new_folder()).path

    @cached_property
    def cache(self) -> Path:
        """A numba cache for processes of our own, empty at first."""
        return self.new_folder()


# --- solve ----------------------------------------------------------------------------------------


def solve_section(shop: Workshop) -> Iterator[Row]:
    """Solvers against plain Python and against C."""
    yield from _mask_rows(shop)
    yield from _retrograde_rows()


def _mask_rows(shop: Workshop) -> Iterator[Row]:
    small, game = Tactics(4, 4), Tactics(5, 5)
    bits = partial(mask.solve_outcome, game, Engine.NUMBA)
    ceiling = c_word_solver(mask.Moves.split(game.cells, game.masks, game.misere), shop.folder)
    if ceiling:
        assert np.array_equal(ceiling().view(np.uint8), bits().columns[0].data)
        ours, theirs = (game.size / took for took in race(bits, ceiling, rounds=7))
        against = "same loop in C, one core"
    else:
        ours, theirs = game.size / race(bits, rounds=7)[0], 250e6
        against = "assumed for C, no compiler here"
    yield Row("tactics 5x5 bits, numba", against, ours, theirs, "positions/s", at_least=0.6)

    contests = {
        "bits, numpy": partial(mask.solve_outcome, game, Engine.PYTHON),
        "remoteness, numba": partial(mask.solve_remoteness, game, Engine.NUMBA),
        "remoteness, numpy": partial(mask.solve_remoteness, game, Engine.PYTHON),
    }
    recursion = partial(recursive_wins, small.masks, small.size)
    first, *others = race(recursion, *contests.values(), rounds=2)
    plain, against = small.size / first, "memoised Python recursion, 4x4"
    yield Row("tactics 5x5 bits, numba", against, ours, plain, "positions/s")
    rates = {name: game.size / took for name, took in zip(contests, others, strict=True)}
    for name, rate in rates.items():
        yield Row(f"tactics 5x5 {name}", against, rate, plain, "positions/s")
    shop.table_5x5  # noqa: B018 - built here, so that what is timed is the verifying alone
    checked = game.size / seconds(partial(verify_file, shop.table_5x5, Engine.NUMBA))
    solved = rates["remoteness, numba"]
    yield Row("tactics 5x5 verify, numba", "solving it, numba", checked, solved, "positions/s")


def _retrograde_rows() -> Iterator[Row]:
    small, large, listed = Pursuit(6), Pursuit(11), Pursuit(11, backwards=False)
    expected = in_index_order(dict_pursuit(small.side))
    for game in (small, Pursuit(small.side, backwards=False)):
        assert np.array_equal(_values(retrograde.solve(game, Engine.NUMBA)), expected)
    plain, python, given, found = race(
        partial(dict_pursuit, small.side),
        partial(retrograde.solve, small, Engine.PYTHON),
        partial(retrograde.solve, large, Engine.NUMBA),
        partial(retrograde.solve, listed, Engine.NUMBA),
        rounds=4,
    )
    against, baseline = f"dicts and tuples, pursuit {small.side}", small.size / plain
    for name, solved, took, wanted in (
        ("numba, with predecessors", large, given, 100.0),
        ("numba, without predecessors", listed, found, None),
        ("python, with predecessors", small, python, None),
    ):
        rate = solved.size / took
        yield Row(f"pursuit {solved.side} {name}", against, rate, baseline, "positions/s", wanted)


def _values(solution: Solution) -> list[Any]:
    """Outcomes and remotenesses of a solution."""
    return [unpack(part.data, part.column.bits, part.column.items) for part in solution.columns]


# --- probe ----------------------------------------------------------------------------------------


def probe_section(shop: Workshop) -> Iterator[Row]:
    """Probes against the bare containers."""
    # Once a block of this size was freed, glibc keeps what is freed instead of returning it to the
    # system. Otherwise fresh pages would cost more than the probes, and by chance.
    np.ones(24 << 20, np.uint8)
    small = lookup.tablebase.packaged_tables() / "tactics-4x4.h5"
    for path in (small, shop.table_5x5):
        with lookup.open_table(path) as table:
            board = table.name.removeprefix("tactics-")
            yield from _index_rows(board, table, wanted=True)
            yield from _text_rows(board, table)
        limit, records.DECODED_LIMIT = records.DECODED_LIMIT, 0
        try:
            with lookup.open_table(path) as table:
                yield from _index_rows(f"{board} chunk cache", table, wanted=False)
        finally:
            records.DECODED_LIMIT = limit


def _index_rows(board: str, table: Table, *, wanted: bool) -> Iterator[Row]:
    indices = np.random.default_rng(SEED).integers(0, table.game.size, 1_000_000)
    everything = table.probe_many(np.arange(table.game.size))
    assert everything.remoteness is not None
    outcome, remoteness = map(np.ascontiguousarray, (everything.outcome, everything.remoteness))
    some, values = indices[:100_000].tolist(), outcome.tolist()

    def scalar() -> None:
        probe = table.probe_index
        for index in some:
            probe(index)

    def bare() -> None:
        for index in some:
            values[index]

    ours, theirs = (took / len(some) * 1e9 for took in race(scalar, bare, rounds=9))
    bound: float | None = 10 if wanted else None
    yield Row(f"{board} probe_index", "list[index]", ours, theirs, "ns", at_most=bound)

    def probe_many() -> object:
        # Both are asked for, in case a column is only made when it is.
        values = table.probe_many(indices)
        return values.outcome, values.remoteness

    def gather_both() -> object:
        return outcome[indices], remoteness[indices]

    gather_one = partial(outcome.__getitem__, indices)
    times = race(probe_many, gather_one, gather_both, rounds=25 if wanted else 3)
    many, one, both = (len(indices) / took for took in times)
    bound = 0.8 if wanted else None
    name = f"{board} probe_many, 10^6"
    yield Row(name, "outcome[indices], half the answer", many, one, "probes/s")
    yield Row(name, "outcome[...], remoteness[...]", many, both, "probes/s", at_least=bound)


def _text_rows(board: str, table: Table) -> Iterator[Row]:
    indices = np.random.default_rng(SEED).integers(0, table.game.size, 10_000).tolist()
    texts = list(map(table.game.format, indices))

    def probe() -> None:
        for text in texts:
            table.probe(text)

    def moves() -> None:
        for text in texts[:500]:
            table.moves(text)

    probes, lists = race(probe, moves, rounds=5)
    rate = len(texts) / probes
    yield Row(f"{board} probe(text)", "100,000/s", rate, 100_000, "probes/s", at_least=1)
    yield Row(f"{board} moves(text)", "probe(text)", 500 / lists, rate, "calls/s")


# --- start ----------------------------------------------------------------------------------------

TIMED = "import time; start = time.perf_counter(); {}; print(time.perf_counter() - start)"
IMPORTS = TIMED.format("import numpy, h5py")
FIRST_PROBE = TIMED.format(
    "import lookup; lookup.open_tablebase()['tactics-4x4'].probe('XXXX/..X./..X./....')"
)
BUILD = ("-m", "builder.cli", "tactics", "--rows", "5", "--cols", "5", "--out")
WHOLE = "import sys, bench_games; print(bench_games.whole(*sys.argv[1:]))"


def start_section(shop: Workshop) -> Iterator[Row]:
    """What a process pays before its first answer."""
    codes = (IMPORTS, FIRST_PROBE, TIMED.format("import lookup"))
    times = [[fresh(code) for code in codes] for _ in range(12)][1:]  # the first writes bytecode
    imports, probe, alone = (1e3 * statistics.median(column) for column in zip(*times, strict=True))
    against = "import numpy, h5py"
    yield Row("import lookup, open, first probe", against, probe, imports, "ms", at_most=1.3)
    yield Row("import lookup", against, alone, imports, "ms")

    cache, game = shop.new_folder(), Tactics(5, 5)
    cold, warm = (whole(game, Engine.NUMBA, cache) for _ in range(2))
    yield Row("solve tactics 5x5, second start", "first start", warm, cold, "s")
    cache = shop.new_folder()
    cold = seconds(lambda: run(*BUILD, str(shop.new_folder()), cache=cache))
    compiled = _machine_code(cache)
    warm = seconds(lambda: run(*BUILD, str(shop.new_folder()), cache=cache))
    name = f"build-tables tactics 5x5, second start ({_machine_code(cache) - compiled} compiled)"
    yield Row(name, f"first start ({compiled} compiled)", warm, cold, "s")


def whole(game: Game, engine: Engine, cache: Path, folder: Path | None = None) -> float:
    """Seconds to solve a game in a fresh process or, into a folder, to solve, write and verify it."""
    parameters = json.dumps(game.parameters)
    return fresh(WHOLE, game.name, parameters, engine, str(folder or ""), cache=cache)


def _machine_code(cache: Path) -> int:
    """How many compiled functions a numba cache holds."""
    return len(list(cache.rglob("*.nbc")))


# --- engine ---------------------------------------------------------------------------------------


def engine_section(shop: Workshop) -> Iterator[Row]:
    """From which size on numba pays: a solve, and a build, which compiles the rules to verify too."""
    for rows, cols in ((4, 4), (4, 5), (4, 6)):
        yield _engine_row(shop, Tactics(rows, cols), built=False)
    for rows, cols in ((3, 5), (4, 4), (3, 6)):
        yield _engine_row(shop, Tactics(rows, cols), built=True)
    for side in (5, 6, 7):
        yield _engine_row(shop, Pursuit(side), built=False)
    for side in (5, 6):
        yield _engine_row(shop, Pursuit(side), built=True)
    game, cache = Pursuit(6), shop.new_folder()
    cold, plain = (whole(game, engine, cache) for engine in ENGINES)
    yield Row(f"solve {_sized(game)}, first start", "python", cold, plain, "s")


def _engine_row(shop: Workshop, game: Game, *, built: bool) -> Row:
    def once(engine: Engine) -> float:
        return whole(game, engine, shop.cache, shop.new_folder() if built else None)

    once(Engine.NUMBA)  # fills the cache
    times = [[once(engine) for engine in ENGINES] for _ in range(2)]
    numba, plain = (min(column) for column in zip(*times, strict=True))
    return Row(f"{'build' if built else 'solve'} {_sized(game)}", "python", numba, plain, "s")


def _sized(game: Game) -> str:
    return f"{game.table_name}, {game.size:,} indices, numba"


# --- the run --------------------------------------------------------------------------------------

SECTIONS = {
    "solve": solve_section,
    "probe": probe_section,
    "start": start_section,
    "engine": engine_section,
}


def machine() -> dict[str, Any]:
    """The facts that a reader needs to judge the figures; nothing that names the machine."""
    packages = ("endtable", "numpy", "numba", "h5py", "zstandard")
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "cpu": _cpu_model(),
        "cores": os.cpu_count(),
        "memory_gib": round(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30, 1),
        "load_before": round(os.getloadavg()[0], 1),
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        **{package: version(package) for package in packages},
        "worth_compiling": WORTH_COMPILING,
    }


def _cpu_model() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    models = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(models, platform.machine())


def stored(path: Path) -> dict[str, Any]:
    """The sections of a results file; those that are no longer ours are dropped.

    Raises:
        ValueError: the file is something else, or its folder is missing.
    """
    if not path.parent.is_dir():
        raise ValueError(f"'{path}' cannot be written: there is no such folder")
    if not path.exists():
        return {}
    try:
        found = dict(json.loads(path.read_text()))
    except (OSError, TypeError, ValueError):
        raise ValueError(f"'{path}' is not a results file: move it away") from None
    return {name: found[name] for name in SECTIONS if name in found}


def check(chosen: list[str]) -> None:
    """Refuse what cannot be run.

    Raises:
        ValueError: an unknown section, or no numba.
    """
    if unknown := [name for name in chosen if name not in SECTIONS]:
        raise ValueError(f"no section '{unknown[0]}': expected one of {', '.join(SECTIONS)}")
    if not has_numba():
        raise ValueError("numba is not installed: expected the extra 'fast' of endtable")


def main() -> int:
    """Run the sections asked for."""
    parser = argparse.ArgumentParser(prog="scripts/bench", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("sections", nargs="*", metavar="SECTION", help=f"of {', '.join(SECTIONS)}")
    parser.add_argument("--out", type=Path, default=RESULTS, metavar="FILE", help="the results file")
    arguments = parser.parse_args()
    chosen = arguments.sections or list(SECTIONS)
    try:
        check(chosen)
        results = stored(arguments.out)
    except ValueError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    facts = machine()
    print(", ".join(f"{key} {value}" for key, value in facts.items()))
    with tempfile.TemporaryDirectory() as folder:
        shop = Workshop(Path(folder))
        for name in chosen:
            rows = list(SECTIONS[name](shop))
            print_table(name, rows)
            results[name] = {"machine": facts, "rows": [row.fields for row in rows]}
            ordered = {section: results[section] for section in SECTIONS if section in results}
            arguments.out.write_text(json.dumps(ordered, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
