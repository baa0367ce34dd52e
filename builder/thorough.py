"""All that can be found out about a game without writing a table: what `build-tables check` does."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from builder.build import build_table
from builder.compile import Engine, has_numba, rule
from builder.conformance import check_game, named, sample_indices
from builder.declarations import check_declarations
from builder.executor import execute
from builder.fallback import first_problem
from builder.limits import BEYOND
from builder.parity import check_compiled
from builder.solvers.retrograde import RetrogradePlan
from lookup.errors import BuildError, GameError
from lookup.values import Outcome, Value

if TYPE_CHECKING:
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
        words.append(
            "it was solved and verified" if self.solved else "not solved: `build-tables game` does that"
        )
        return "; ".join(words)


def check_thoroughly(game: Game, report: Report) -> Checked:
    """Check a game at all indices or at many, compiled and interpreted, and solve it if it is small.

    Raises:
        GameError: the first thing that is wrong, in words.
        BuildError: it is larger than any machine.
    """
    check_declarations(game)
    if game.size >= BEYOND:
        raise BuildError(f"{game.table_name} is larger than any machine: there is nothing to check")
    indices = sample_indices(game, whole=MOVES // max(1, game.max_moves * game.parts), sample=SAMPLE)
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
        if game.symmetries > 1 and game.solver in ("retrograde", "distance") and game.filling is None:
            check_symmetric_values(game, engine)
        with tempfile.TemporaryDirectory() as folder:
            build_table(game, Path(folder), engine=engine)
    report(3, 3)
    return Checked(len(indices), game.size, compiles, str(problem or ""), solved)


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
