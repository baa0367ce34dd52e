"""Values: solved by two methods and compared, and the same table in whatever way it is built.

Three parts. Games at random, hundreds of small ones of every kind, each built and solved again. Tables
of all kinds, larger than those of the tests, built and solved again. And the digests of tables that
were built by one and several threads, compiled and interpreted, by all Pythons that are here.
"""

from __future__ import annotations

import random
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from torture_digests import Way, digests_of, other_pythons
from torture_games import (
    RandomHeaps,
    RandomLoops,
    RandomMasks,
    RandomMisere,
    RandomOrder,
    RandomPairs,
    RandomSplits,
    RandomSums,
    RandomWay,
)

import lookup
from builder.build import build_table, solver_of
from builder.catalogue import CATALOGUE
from builder.compile import Engine
from builder.deep import deep_verify
from builder.executor import execute
from builder.writer import write_table
from lookup.errors import EndtableError
from lookup.format import TableInfo
from lookup.games.sticks_special import SticksSpecial
from lookup.progress import Progress

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from torture_tally import Tally

    from lookup import Game

RANDOM_GAMES = 25  # of each kind
SAME, DIFFERENT = "the same", "DIFFERENT"

TABLES = (
    "tactics-4x5-normal", "tactics-3x7-run2", "tactics-1x22-run3-normal", "cram-4-5-1",
    "rota", "rota-diameters", "three-mens-morris-0", "three-mens-morris-1", "krk",
    "eight-puzzle", "clock-8-3", "clock-10-3", "clock-20-1", "clock-5-15", "clock-3-40", "clock-1-9",
    "winners-losers-22", "domineering-4-4", "tic-tac-toe",
    "nim-1000", "kayles-1000",
    "sticks-any-3-17", "sticks-any-1-1000", "sticks-run-1-2-to5000", "sticks-run-1-4-to5000",
    "sticks-run-2-7-to5000", "sticks-run-3-3-to5000", "sticks-run-1-200-to1000",
    "sticks-special-1", "sticks-special-36", "sticks-special-54",
)  # fmt: skip
"""Of every kind of solver, and as large as the whole campaign can be in some minutes."""

SMALL = (
    *(game.table_name for game in CATALOGUE if game.work < 300_000),
    "nim-100", "kayles-100", "cram-4-4-0", "cram-3-3-1", "domineering-3-4", "three-mens-morris-1",
    "tic-tac-toe", "sticks-special-30",
)  # fmt: skip
"""Built in every way; interpreted too."""

LARGE = ("tactics-4x5", "tactics-3x7", "winners-losers-20", "sticks-special-50", "krk", "eight-puzzle",
         "clock-8-3")  # fmt: skip
"""Built in every compiled way: with enough shards for several threads."""


def campaign(tally: Tally) -> None:
    """All three parts."""
    random_games(tally, tally.share(RANDOM_GAMES))
    larger_tables(tally, TABLES[: tally.share(len(TABLES))])
    with other_pythons() as pythons:
        same_digests(tally, SMALL[: tally.share(len(SMALL))], LARGE[: tally.share(len(LARGE))], pythons)


# --- two methods ----------------------------------------------------------------------------------


def random_games(tally: Tally, count: int) -> None:
    """So many games of each kind, built by interpreted solvers and solved again."""
    chosen = random.Random(tally.seed)
    with (
        tempfile.TemporaryDirectory() as folder,
        Progress.on_terminal().stage("games at random", "games") as report,
    ):
        for number in range(count):
            for game in games_at_random(chosen):
                kind = f"solved again, at random: {type(game).__name__}"
                solve_twice(tally, kind, game, Path(folder))
            report(number + 1, count)


def games_at_random(chosen: random.Random) -> list[Game]:
    """One game of each kind."""
    seed, fewest = chosen.randrange(1 << 20), chosen.randint(1, 6)
    size, pairs, heap = chosen.randint(1, 400), chosen.randint(1, 200), chosen.randint(1, 300)
    takes = fewest, fewest + chosen.randint(0, 6)
    return [
        RandomLoops(seed, pairs),
        RandomMisere(seed, pairs),
        RandomWay(seed, pairs),
        RandomOrder(seed, size),
        RandomSums(seed, size),
        RandomPairs(seed, size),
        RandomMasks(seed, chosen.randint(1, 11), misere=chosen.random() < 0.5),
        RandomHeaps(*takes, heap),
        RandomSplits(*takes, heap),
        SticksSpecial(chosen.randint(1, 16)),
    ]


def solve_twice(tally: Tally, kind: str, game: Game, folder: Path) -> None:
    """Write the table of a game without the checks of a build, and see what the other method says."""
    try:
        solution = execute(solver_of(game).plan(game, Engine.PYTHON))
        path = folder / "random.h5"
        write_table(path, TableInfo.describe(game, "torture", solution.totals), solution.columns)
        deep_verify(path, Engine.PYTHON, rules=game)
    except Exception as error:  # noqa: BLE001 - whatever it is, it is what this looks for
        tally.fail(kind, DIFFERENT, f"{game!r}: {type(error).__name__}: {error}")
    else:
        tally.add(kind, SAME)
        _count(tally, "positions of games at random", game.size)


def larger_tables(tally: Tally, names: Sequence[str]) -> None:
    """Build tables as users do, and solve them again."""
    progress = Progress.on_terminal()
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            game = lookup.find_game(name)
            kind = f"solved again: {game.solver}"
            try:
                built = build_table(game, Path(folder), progress=progress)
                deep_verify(built.path, progress=progress)
            except EndtableError as error:
                tally.fail(kind, DIFFERENT, f"{name}: {type(error).__name__}: {error}")
            else:
                tally.add(kind, SAME)
                _count(tally, f"positions {kind}", built.info.positions)
                built.path.unlink()


def _count(tally: Tally, what: str, count: int) -> None:
    tally.figures[what] = tally.figures.get(what, 0) + count


# --- one table ------------------------------------------------------------------------------------


def ways(pythons: Mapping[str, str]) -> list[Way]:
    """The first is what the others are compared with."""
    found = [
        Way("compiled, two threads"),
        Way("compiled, once more"),
        Way("compiled, one thread", threads=1),
        Way("compiled, five threads", threads=5, hash_seed=4242),
        Way("interpreted", engine="python"),
        Way("interpreted, one thread, other hashes", threads=1, engine="python", hash_seed=99),
    ]
    for version, python in pythons.items():
        found.append(Way(f"Python {version}, compiled", python))
        found.append(Way(f"Python {version}, interpreted", python, engine="python", hash_seed=7))
    return found


def same_digests(
    tally: Tally, small: Sequence[str], large: Sequence[str], pythons: Mapping[str, str]
) -> None:
    """Build the same tables in all ways, and compare digests."""
    for version, python in pythons.items():
        if not python:
            tally.add("the same digest", f"Python {version}: packages cannot be had here")
    if not pythons:
        tally.add("the same digest", "no other Python is here")
    all_ways = ways({version: python for version, python in pythons.items() if python})
    first: dict[str, str] = {}
    with Progress.on_terminal().stage("one table, built in all ways", "ways") as report:
        for number, way in enumerate(all_ways):
            tables = (*small, *large) if way.engine == "numba" else small
            try:
                found = digests_of(way, tables)
            except Exception as error:  # noqa: BLE001 - a way that fails must not end the campaign
                tally.fail("the same digest", f"{way.name}: DOES NOT BUILD", str(error))
                continue
            first = first or found
            for name in tables:
                if found[name] == first.get(name):
                    tally.add("the same digest", way.name)
                else:
                    tally.fail("the same digest", f"{way.name}: {DIFFERENT}", name)
            report(number + 1, len(all_ways))
