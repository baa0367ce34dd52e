"""All that can be found out about a game without writing a table: what `build-tables check` does."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from builder.build import solver_of
from builder.compile import Engine, has_numba, rule
from builder.conformance import check_game, named, sample_indices
from builder.executor import execute
from builder.fallback import first_problem, rules_of
from builder.solvers.retrograde import RetrogradePlan
from lookup.errors import GameError
from lookup.values import Outcome, Value

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lookup.games.base import Game
    from lookup.progress import Report

MOVES, SAMPLE = 1 << 18, 4096
"""All indices are looked at if they may have this many moves together; else so many of them."""

SOLVED = {Engine.NUMBA: 1 << 22, Engine.PYTHON: 1 << 16}
"""Games of up to this `Game.work` are solved too."""


class Checked(NamedTuple):
    """What was looked at of a game that keeps the contract."""

    indices: int
    size: int
    compiles: bool | None  # None if numba is not installed
    problem: str  # why it does not compile
    solved: bool

    def __str__(self) -> str:
        looked = "all" if self.indices == self.size else f"{self.indices:,} of"
        words = [f"the contract holds at {looked} {self.size:,} indices"]
        if self.compiles:
            words.append("compiled rules say the same as interpreted ones")
        elif self.compiles is not None:
            words.append(f"its rules will be interpreted ({self.problem})")
        words.append("it can be solved" if self.solved else "too large to be solved for this")
        return "; ".join(words)


def check_thoroughly(game: Game, report: Report) -> Checked:
    """Check a game at all indices or at many, compiled and interpreted, and solve it if it is small.

    Raises:
        GameError: the first thing that is wrong, in words.
    """
    indices = sample_indices(game, whole=MOVES // max(1, game.max_moves), sample=SAMPLE)
    report(0, 3)
    check_game(game, indices)
    report(1, 3)
    problem = first_problem(game) if has_numba() else None
    compiles = problem is None if has_numba() else None
    if compiles:
        check_compiled(game, indices)
    report(2, 3)
    engine = Engine.NUMBA if compiles else Engine.PYTHON
    solved = game.work <= SOLVED[engine]
    if solved:
        execute(solver_of(game).plan(game, engine))
        if game.symmetries > 1 and game.filling is None:
            check_symmetric_values(game, engine)
    report(3, 3)
    return Checked(len(indices), game.size, compiles, str(problem or ""), solved)


def check_compiled(game: Game, indices: Sequence[int]) -> None:
    """Compare compiled rules with interpreted ones.

    Raises:
        GameError: they differ, as numbers beyond 64 bits would make them.
    """
    rules = {name: (rule(one, Engine.NUMBA), one) for name, one in rules_of(game).items()}
    most = max(game.max_moves, game.max_predecessors) * game.parts
    room = np.zeros(most, np.int64)

    def compare(name: str, index: int, *further: int) -> None:
        compiled, interpreted = (one(index, *further) for one in rules[name])
        if compiled != interpreted:
            raise GameError(
                f"{name} of {named(game, index)} is {compiled} compiled and {interpreted} interpreted: "
                "expected the same, with numbers below 2^63"
            )

    def compare_lists(name: str, index: int) -> None:
        compiled, interpreted = rules[name]
        out = [0] * most
        count, wanted = compiled(index, room), interpreted(index, out)
        parts = game.parts if name == "successors" else 1
        if count != wanted or room[: count * parts].tolist() != out[: wanted * parts]:
            listed = f"{room[: max(0, count) * parts].tolist()} compiled and {out[: wanted * parts]}"
            raise GameError(f"{name} of {named(game, index)} lists {listed} interpreted")

    lists = [name for name in ("successors", "predecessors", "steps", "leaps") if name in rules]
    for index in indices:
        compare("is_position", index)
        if not game.is_position(index):
            continue
        for k in range(1, game.symmetries):
            compare("transform", index, k)
        if "terminal" in rules:
            compare("terminal", index)
        if not game.terminal(index):
            for name in lists:
                compare_lists(name, index)


def check_symmetric_values(game: Game, engine: Engine) -> None:
    """Solve a game as if it had no symmetries, and see that they change no value.

    Raises:
        GameError: a position and its image have different values.
    """
    kind = type(game)
    without = type(kind.__name__, (kind,), {"symmetries": 1, "name": game.name})(**game.parameters)
    plan = RetrogradePlan(without, engine)
    execute(plan)
    outcome, remoteness = plan.arrays["outcome"], plan.arrays["remoteness"]
    transform = rule(game.transform, engine)

    def value(index: int) -> Value:
        end = Outcome(int(outcome[index]))
        return Value(end, None if end is Outcome.DRAW else int(remoteness[index]))

    for index in np.flatnonzero(outcome).tolist():
        for k in range(1, game.symmetries):
            image = transform(index, k)
            if outcome[image] != outcome[index] or remoteness[image] != remoteness[index]:
                raise GameError(
                    f"symmetry {k} changes the value of {named(game, index)}: it is a {value(index)}, "
                    f"and {named(game, image)} is a {value(image)}"
                )
