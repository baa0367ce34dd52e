"""The section `solve` of `bench.py`: solvers against plain Python, and against C.

Plain Python is measured at sizes that it manages in seconds, ours at sizes at which the rate no longer
depends on them: each row names both. All run on one core, and ours prepares its plan each time. The
loops in C are given what they need.
"""

from __future__ import annotations

import os
import sys
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from bench_baselines import (
    clock_by_search,
    dict_pursuit,
    heaps_by_mex,
    in_index_order,
    numpy_letters,
    numpy_pursuit,
    numpy_wins,
    recursive_special,
    recursive_wins,
    triangle_wins,
)
from bench_games import Pursuit
from bench_measure import SEED, Plans, Row, Workshop, race, seconds, solve, timed

from builder.compile import Engine
from builder.solvers.distance import plan as distance_plan
from builder.solvers.heaps import HeapsPlan
from builder.solvers.mask import BitsPlan, ScoresPlan
from builder.solvers.mask_bits import WORD, BitKernel
from builder.solvers.mask_scores import FINISHED
from builder.solvers.ordered import OrderedPlan
from builder.solvers.retrograde import RetrogradePlan
from builder.solvers.steps import StepsPlan
from builder.verify import verify_file
from lookup.blocks import unpack
from lookup.games.clock import Clock
from lookup.games.sticks_heaps import SticksRun
from lookup.games.sticks_special import SticksSpecial
from lookup.games.tactics import Tactics
from lookup.games.winners_losers import WinnersLosers
from lookup.values import Outcome

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bench_ceiling import Arrays, Loop

    from builder.solvers.solution import Solution
    from lookup.games.base import Game


def solve_section(shop: Workshop) -> Iterator[Row]:
    """Solvers against plain Python, numpy and C."""
    yield from _ceiling_rows(shop)
    yield from _mask_rows(shop)
    yield from _retrograde_rows()
    yield from _clock_rows()
    yield from _special_rows()
    yield from _run_rows()
    yield from _letters_rows()


# --- against C ------------------------------------------------------------------------------------


def _ceiling_rows(shop: Workshop) -> Iterator[Row]:
    middle, large = Tactics(5, 5), Tactics(5, 6)
    bits = "tactics {}x{} bits, numba"
    if not (ceiling := shop.ceiling):
        print("no C compiler here: nothing is measured against C", file=sys.stderr)
        return
    loop = ceiling.bits(middle)
    yield _against(loop, bits.format(5, 5), BitsPlan, middle, 0.6)
    kernel = BitKernel(middle.cells, middle.masks, middle.misere)

    def alone() -> None:
        kernel.solve(np.zeros(middle.size // WORD, np.uint64), 0, middle.size // WORD)

    ours, theirs = (middle.size / took for took in race(alone, loop, rounds=7))
    name = bits.format(5, 5) + ", the loop alone"
    yield Row(name, "same loop in C, one core", ours, theirs, "positions/s")
    yield _against(ceiling.bits(large), bits.format(5, 6), BitsPlan, large, 0.6, rounds=2)
    words = ceiling.bits_by_words(middle)
    yield _against(words, bits.format(5, 5), BitsPlan, middle, against="one word at a time in C")
    others: tuple[tuple[Loop, Plans, Game], ...] = (
        (ceiling.scores(middle), ScoresPlan, middle),
        (ceiling.pursuit(Pursuit(11)), RetrogradePlan, Pursuit(11)),
        (ceiling.letters(WinnersLosers(24)), OrderedPlan, WinnersLosers(24)),
        (ceiling.clock(Clock(7, 9)), distance_plan, Clock(7, 9)),
    )
    for loop, plans, game in others:
        remoteness = " remoteness" if game is middle else ""
        yield _against(loop, f"{game.table_name}{remoteness}, numba", plans, game, rounds=3)


def _against(
    loop: Loop,
    name: str,
    plans: Plans,
    game: Game,
    at_least: float | None = None,
    against: str = "same loop in C, one core",
    rounds: int = 7,
) -> Row:
    """Our solve of a game against a loop in C, which must find the same."""
    ours = partial(solve, plans, game, Engine.NUMBA)
    assert _same(ours(), loop(), plans)
    mine, theirs = (game.size / took for took in race(ours, loop, rounds=rounds))
    return Row(name, against, mine, theirs, "positions/s", at_least)


def _same(solution: Solution, found: Arrays, plans: Plans) -> bool:
    """Whether a loop in C has found what a solution says."""
    if plans is BitsPlan:
        return np.array_equal(solution.columns[0].data, found[0])
    *outcome, remoteness = _values(solution)
    if plans is ScoresPlan:
        (scores,) = found
        found = scores > 0, FINISHED - np.abs(scores)
    elif plans is OrderedPlan:
        found = found[0] == Outcome.WIN, found[1]
    elif plans is distance_plan:
        outcome = []
    return all(map(np.array_equal, [*outcome, remoteness], found))


# --- against Python -------------------------------------------------------------------------------


def _mask_rows(shop: Workshop) -> Iterator[Row]:
    small, middle, game = Tactics(4, 4), Tactics(4, 5), Tactics(5, 5)
    recursion = partial(recursive_wins, small.masks, small.size)
    in_levels = partial(numpy_wins, middle.masks, middle.cells)
    assert np.array_equal(in_levels(), _values(solve(BitsPlan, middle, Engine.NUMBA))[0])
    contests: dict[str, tuple[Plans, Engine]] = {
        "bits, numba": (BitsPlan, Engine.NUMBA),
        "bits, numpy": (BitsPlan, Engine.PYTHON),
        "remoteness, numba": (ScoresPlan, Engine.NUMBA),
        "remoteness, numpy": (ScoresPlan, Engine.PYTHON),
    }
    ours = (partial(solve, plans, game, engine) for plans, engine in contests.values())
    first, second, *times = race(recursion, in_levels, *ours, rounds=2)
    rates = {name: game.size / took for name, took in zip(contests, times, strict=True)}
    for against, baseline in (
        ("memoised Python recursion, 4x4", small.size / first),
        ("numpy, level by level, 4x5", middle.size / second),
    ):
        for name, rate in rates.items():
            yield Row(f"tactics 5x5 {name}", against, rate, baseline, "positions/s")
    shop.table_5x5  # noqa: B018 - built here, so that what is timed is the verifying alone
    checked = game.size / seconds(partial(verify_file, shop.table_5x5, Engine.NUMBA))
    solved = rates["remoteness, numba"]
    yield Row("tactics 5x5 verify, numba", "solving it, numba", checked, solved, "positions/s")


def _retrograde_rows() -> Iterator[Row]:
    small, large, listed = Pursuit(6), Pursuit(11), Pursuit(11, backwards=False)
    cores = os.cpu_count() or 1
    expected = in_index_order(dict_pursuit(small.side))
    assert np.array_equal(numpy_pursuit(small.side), expected)
    for game in (small, Pursuit(small.side, backwards=False)):
        assert np.array_equal(_values(solve(RetrogradePlan, game, Engine.NUMBA)), expected)
    plain, arrays, python, given, found = race(
        partial(dict_pursuit, small.side),
        partial(numpy_pursuit, small.side),
        partial(solve, RetrogradePlan, small, Engine.PYTHON),
        partial(solve, RetrogradePlan, large, Engine.NUMBA, workers=cores),
        partial(solve, RetrogradePlan, listed, Engine.NUMBA),
        rounds=4,
    )
    against, baseline = f"dicts and tuples, pursuit {small.side}", small.size / plain
    for name, solved, took, wanted in (
        (f"numba, with predecessors, {cores} cores", large, given, 100.0),
        ("numba, without predecessors", listed, found, None),
        ("python, with predecessors", small, python, None),
    ):
        rate = solved.size / took
        yield Row(f"pursuit {solved.side} {name}", against, rate, baseline, "positions/s", wanted)
    name, against = f"pursuit {large.side} numba, with predecessors", f"numpy, pursuit {small.side}"
    yield Row(name, against, large.size / given, small.size / arrays, "positions/s")


def _clock_rows() -> Iterator[Row]:
    small, middle, large = Clock(7, 4), Clock(7, 6), Clock(7, 9)
    search = partial(clock_by_search, small.n, small.k)
    expected = search()
    for engine in Engine:
        assert np.array_equal(_values(solve(distance_plan, small, engine))[1], expected)
    contests: tuple[tuple[Clock, Engine, float | None], ...] = (
        (large, Engine.NUMBA, 4000),
        (middle, Engine.PYTHON, 100),
        (small, Engine.NUMBA, None),
        (small, Engine.PYTHON, None),
    )
    ours = (partial(solve, distance_plan, game, engine) for game, engine, _ in contests)
    plain, times = race(search, rounds=2)[0], race(*ours, rounds=7)
    against, baseline = f"the puzzle's own way, clock {small.n}-{small.k}", small.size / plain
    for (game, engine, wanted), took in zip(contests, times, strict=True):
        name = f"clock {game.n}-{game.k}, {engine}"
        yield Row(name, against, game.size / took, baseline, "states/s", wanted)
    rate = small.size / race(partial(solve, RetrogradePlan, small, Engine.NUMBA), rounds=1)[0]
    yield Row(f"clock {small.n}-{small.k} by search, numba", against, rate, baseline, "states/s")


def _special_rows() -> Iterator[Row]:
    game = SticksSpecial(36)
    expected, plain = timed(partial(recursive_special, game.length))
    rows = (".".join("|" * segment for segment in segments) or "." for segments in expected)
    places = [game.parse(row) for row in rows]
    solvers = {engine: partial(solve, StepsPlan, game, engine) for engine in Engine}
    for solver in solvers.values():
        assert np.array_equal(_values(solver())[1][places], list(expected.values()))
    against, baseline = f"memoised recursion, {game.length} sticks", game.size / plain
    wanted = {Engine.NUMBA: 300, Engine.PYTHON: 15}
    for engine, took in zip(solvers, race(*solvers.values(), rounds=5), strict=True):
        name = f"sticks special {game.length}, {engine}"
        yield Row(name, against, game.size / took, baseline, "positions/s", wanted[engine])


def _run_rows() -> Iterator[Row]:
    game, few = SticksRun(1, 3, 1_000_000), 2_000  # a pair without a known period
    ours = partial(solve, HeapsPlan, game, Engine.NUMBA)
    mex_of_all = partial(heaps_by_mex, few, *game.takes)
    assert np.array_equal(_values(ours())[1][:few], mex_of_all())
    took, plain = race(ours, mex_of_all, rounds=3)
    name, against = f"sticks run 1-3, {game.size:,} heaps, numba", f"mex of all moves, {few:,} heaps"
    yield Row(name, against, game.size / took, few / plain, "heaps/s")


def _letters_rows() -> Iterator[Row]:
    game = WinnersLosers(24)
    ours, arrays = partial(solve, OrderedPlan, game, Engine.NUMBA), partial(numpy_letters, game.length)
    some = np.random.default_rng(SEED).integers(0, game.size, 20_000)
    texts = [game.format(index) for index in some.tolist()]

    def triangles() -> list[bool]:
        return [triangle_wins(text) for text in texts]

    wins = _values(ours())[0]
    assert np.array_equal(wins[some], triangles())
    assert np.array_equal(wins, arrays())
    took, plain, levels = race(ours, triangles, arrays, rounds=3)
    name = f"winners-losers {game.length}, numba"
    against, baseline = f"a triangle of letters, {len(texts):,} strings", len(texts) / plain
    yield Row(name, against, game.size / took, baseline, "positions/s")
    against, baseline = "numpy, outcomes alone, length by length", game.size / levels
    yield Row(name, against, game.size / took, baseline, "positions/s")


def _values(solution: Solution) -> list[Any]:
    """The columns of a solution."""
    return [unpack(part.data, part.column.bits, part.column.items) for part in solution.columns]
