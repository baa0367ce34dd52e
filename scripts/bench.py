"""Speeds as ratios, both sides measured in one run: `scripts/bench [SECTION ...]`.

    solve    solvers against plain Python, numpy and C
    growth   each solver at three sizes: positions a second, and bytes a position; then `plot`
    probe    probes against the bare containers
    start    what a process pays before its first answer
    engine   from which size on numba pays
    own      a user's game of five million positions
    serve    requests a second of `lookup serve`, against the same server answering a constant
    cluster  a build on one and two workers of a Dask cluster, and what a model says of 7x6
    big      a build of Tactics 6x6: minutes, 9 GiB; only if it is named
    plot     draw what the results file says of `growth`, beside it; nothing is measured

Prints a table and writes it to a results file; a run of some sections leaves the others there alone.
Some ratios have a bound that we hold ourselves to; nothing fails for being slow.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
from functools import partial
from itertools import groupby
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import numpy as np
from bench_big import big_section
from bench_games import Pursuit
from bench_growth import growth_section
from bench_measure import (
    SCRIPTS,
    SEED,
    BenchError,
    Row,
    Workshop,
    fresh,
    print_table,
    race,
    run,
    seconds,
)
from bench_own import own_section
from bench_plot import plot_growth
from bench_serve import serve_section
from bench_solve import solve_section
from machine import machine

import lookup
from builder.compile import WORTH_COMPILING, Engine, has_numba
from lookup import records
from lookup.errors import BuildError
from lookup.games.tactics import Tactics

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from bench_measure import Line

    from lookup.games.base import Game
    from lookup.table import Table

RESULTS = SCRIPTS / "bench-results.json"
ENGINES = (Engine.NUMBA, Engine.PYTHON)
TEXTS = {
    "sticks-any-1-3": ("|.", 20),
    "sticks-run-1-2": ("|.", 20),
    "sticks-special-50": ("|.", 20),
    "clock-4-2": ("012", 4),
    "winners-losers-20": ("WL", 20),
}
"""Tables that are probed by texts of some symbols, and how many of them."""


# --- probe ----------------------------------------------------------------------------------------


def probe_section(shop: Workshop) -> Iterator[Row]:
    """Probes against the bare containers."""
    # Once a block of this size was freed, glibc keeps what is freed instead of returning it to the
    # system. Otherwise fresh pages would cost more than the probes, and by chance.
    np.ones(24 << 20, np.uint8)
    packaged = lookup.tablebase.packaged_tables()
    for path in (packaged / "tactics-4x4.h5", shop.table_5x5):
        with lookup.open_table(path) as table:
            board = table.name.removeprefix("tactics-")
            yield from _index_rows(board, table, wanted=True)
            indices = np.random.default_rng(SEED).integers(0, table.game.size, 10_000).tolist()
            yield from _text_rows(board, table, list(map(table.game.format, indices)))
        limit, records.DECODED_LIMIT = records.DECODED_LIMIT, 0
        try:
            with lookup.open_table(path) as table:
                yield from _index_rows(f"{board} chunk cache", table, wanted=False)
        finally:
            records.DECODED_LIMIT = limit
    for name, (symbols, length) in TEXTS.items():
        random = Random(SEED)
        texts = ["".join(random.choices(symbols, k=length)) for _ in range(10_000)]
        with lookup.open_table(packaged / f"{name}.h5") as table:
            yield from _text_rows(f"{name}, {length} symbols:", table, texts)


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


def _text_rows(board: str, table: Table, texts: list[str]) -> Iterator[Row]:
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


def _cluster_section(shop: Workshop) -> Iterator[Line]:
    from bench_cluster import cluster_section  # Dask, which other sections do without

    return cluster_section(shop)


# --- the run --------------------------------------------------------------------------------------

SECTIONS: dict[str, Callable[[Workshop], Iterator[Line]]] = {
    "solve": solve_section,
    "growth": growth_section,
    "probe": probe_section,
    "start": start_section,
    "engine": engine_section,
    "own": own_section,
    "serve": serve_section,
    "cluster": _cluster_section,
    "big": big_section,
}
BY_NAME_ALONE = ("big",)
PLOT = "plot"


def stored(path: Path) -> dict[str, Any]:
    """The sections of a results file; those that are no longer ours are dropped.

    Raises:
        BenchError: the file is something else, or its folder is missing.
    """
    if not path.parent.is_dir():
        raise BenchError(f"'{path}' cannot be written: there is no such folder")
    if not path.exists():
        return {}
    try:
        found = dict(json.loads(path.read_text()))
    except (OSError, TypeError, ValueError):
        raise BenchError(f"'{path}' is not a results file: move it away") from None
    return {name: found[name] for name in SECTIONS if name in found}


def check(chosen: list[str]) -> None:
    """Refuse what cannot be run.

    Raises:
        BenchError: an unknown section, or no numba.
    """
    if unknown := [name for name in chosen if name not in SECTIONS and name != PLOT]:
        expected = ", ".join([*SECTIONS, PLOT])
        raise BenchError(f"no section '{unknown[0]}': expected one of {expected}")
    if not has_numba():
        raise BenchError("numba is not installed: expected the extra 'fast' of endtable")


def measure(sections: list[str], results: dict[str, Any], out: Path) -> None:
    """Run sections, print their tables, and put them among the results in a file."""
    facts = {**machine(), "worth_compiling": WORTH_COMPILING}
    print(", ".join(f"{key} {value}" for key, value in facts.items()))
    with tempfile.TemporaryDirectory() as folder:
        shop = Workshop(Path(folder))
        for name in sections:
            rows = list(SECTIONS[name](shop))
            for _, some in groupby(rows, type):
                print_table(name, list(some))
            results[name] = {"machine": facts, "rows": [row.fields for row in rows]}
            ordered = {section: results[section] for section in SECTIONS if section in results}
            out.write_text(json.dumps(ordered, indent=1) + "\n")


def plot(results: dict[str, Any], out: Path) -> None:
    """Draw the results of `growth` beside their file.

    Raises:
        BenchError: there are none, or no matplotlib.
    """
    if "growth" not in results:
        raise BenchError(f"'{out}' has no results to plot: run 'scripts/bench growth' first")
    picture = out.with_name("bench-growth.png")
    plot_growth(results["growth"]["rows"], picture)
    print(f"\n{picture.name}: {picture.stat().st_size:,} bytes")


def main() -> int:
    """Run the sections asked for."""
    first, _, about = (__doc__ or "").partition("\n")
    parser = argparse.ArgumentParser(
        prog="scripts/bench",
        description=first,
        epilog=about,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "sections", nargs="*", metavar="SECTION", help="those below; all but the last two"
    )
    parser.add_argument("--out", type=Path, default=RESULTS, metavar="FILE", help="the results file")
    arguments = parser.parse_args()
    chosen = arguments.sections or [name for name in SECTIONS if name not in BY_NAME_ALONE]
    try:
        check(chosen)
        results = stored(arguments.out)
        if sections := [name for name in chosen if name != PLOT]:
            measure(sections, results, arguments.out)
        if PLOT in chosen or "growth" in chosen:
            plot(results, arguments.out)
    except (BenchError, BuildError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
