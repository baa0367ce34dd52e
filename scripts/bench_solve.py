"""The section `solve` of `bench.py`: solvers against plain Python, and against C.

Plain Python is measured at sizes that it manages in seconds, ours at sizes at which the rate no longer
depends on them: each row names both.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from bench_baselines import (
    clock_by_search,
    dict_pursuit,
    heaps_by_mex,
    in_index_order,
    recursive_special,
    recursive_wins,
    triangle_wins,
)
from bench_games import Pursuit, c_word_solver
from bench_measure import SEED, Row, Workshop, race, seconds, timed

from builder.compile import Engine
from builder.solvers import distance, heaps, mask, ordered, retrograde, steps
from builder.verify import verify_file
from lookup.blocks import unpack
from lookup.games.clock import Clock
from lookup.games.sticks_heaps import SticksRun
from lookup.games.sticks_special import SticksSpecial
from lookup.games.tactics import Tactics
from lookup.games.winners_losers import WinnersLosers

if TYPE_CHECKING:
    from collections.abc import Iterator

    from builder.solvers.solution import Solution


def solve_section(shop: Workshop) -> Iterator[Row]:
    """Solvers against plain Python and against C."""
    yield from _mask_rows(shop)
    yield from _retrograde_rows()
    yield from _clock_rows()
    yield from _special_rows()
    yield from _run_rows()
    yield from _letters_rows()


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


def _clock_rows() -> Iterator[Row]:
    small, middle, large = Clock(7, 4), Clock(7, 6), Clock(7, 9)
    search = partial(clock_by_search, small.n, small.k)
    expected = search()
    for engine in Engine:
        assert np.array_equal(_values(distance.solve(small, engine))[1], expected)
    contests: tuple[tuple[Clock, Engine, float | None], ...] = (
        (large, Engine.NUMBA, 4000),
        (middle, Engine.PYTHON, 100),
        (small, Engine.NUMBA, None),
        (small, Engine.PYTHON, None),
    )
    ours = (partial(distance.solve, game, engine) for game, engine, _ in contests)
    plain, times = race(search, rounds=2)[0], race(*ours, rounds=7)
    against, baseline = f"the puzzle's own way, clock {small.n}-{small.k}", small.size / plain
    for (game, engine, wanted), took in zip(contests, times, strict=True):
        name = f"clock {game.n}-{game.k}, {engine}"
        yield Row(name, against, game.size / took, baseline, "states/s", wanted)
    rate = small.size / race(partial(retrograde.solve, small, Engine.NUMBA), rounds=1)[0]
    yield Row(f"clock {small.n}-{small.k} by search, numba", against, rate, baseline, "states/s")


def _special_rows() -> Iterator[Row]:
    game = SticksSpecial(36)
    expected, plain = timed(partial(recursive_special, game.length))
    rows = (".".join("|" * segment for segment in segments) or "." for segments in expected)
    places = [game.parse(row) for row in rows]
    solvers = {engine: partial(steps.solve, game, engine) for engine in Engine}
    for solver in solvers.values():
        assert np.array_equal(_values(solver())[1][places], list(expected.values()))
    against, baseline = f"memoised recursion, {game.length} sticks", game.size / plain
    wanted = {Engine.NUMBA: 300, Engine.PYTHON: 15}
    for engine, took in zip(solvers, race(*solvers.values(), rounds=5), strict=True):
        name = f"sticks special {game.length}, {engine}"
        yield Row(name, against, game.size / took, baseline, "positions/s", wanted[engine])


def _run_rows() -> Iterator[Row]:
    game, few = SticksRun(1, 3, 1_000_000), 2_000  # a pair without a known period
    solve = partial(heaps.solve, game, Engine.NUMBA)
    mex_of_all = partial(heaps_by_mex, few, *game.takes)
    assert np.array_equal(_values(solve())[1][:few], mex_of_all())
    took, plain = race(solve, mex_of_all, rounds=3)
    name, against = f"sticks run 1-3, {game.size:,} heaps, numba", f"mex of all moves, {few:,} heaps"
    yield Row(name, against, game.size / took, few / plain, "heaps/s")


def _letters_rows() -> Iterator[Row]:
    game = WinnersLosers(24)
    solve = partial(ordered.solve, game, Engine.NUMBA)
    some = np.random.default_rng(SEED).integers(0, game.size, 20_000)
    texts = [game.format(index) for index in some.tolist()]

    def triangles() -> list[bool]:
        return [triangle_wins(text) for text in texts]

    assert np.array_equal(_values(solve())[0][some], triangles())
    took, plain = race(solve, triangles, rounds=3)
    against, baseline = f"a triangle of letters, {len(texts):,} strings", len(texts) / plain
    yield Row(
        f"winners-losers {game.length}, numba", against, game.size / took, baseline, "positions/s"
    )


def _values(solution: Solution) -> list[Any]:
    """The columns of a solution."""
    return [unpack(part.data, part.column.bits, part.column.items) for part in solution.columns]
