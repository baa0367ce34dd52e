"""Run a solver's plan as a build does, in this process."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from builder.executor import execute
from builder.solvers.solution import Report, Solution, silent

if TYPE_CHECKING:
    from collections.abc import Callable

    from builder.compile import Engine
    from builder.solvers.plan import Plan


def solve(
    plan: Callable[[Any, Engine], Plan], game: Any, engine: Engine, report: Report = silent
) -> Solution:
    return execute(plan(game, engine), report)
