"""Run a solver's plan as a build does, in this process."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from builder.executor import execute
from lookup.progress import Report, silent

if TYPE_CHECKING:
    from collections.abc import Callable

    from builder.compile import Engine
    from builder.solvers.plan import Plan
    from builder.solvers.solution import Solution


def solve(
    plan: Callable[[Any, Engine], Plan], game: Any, engine: Engine, report: Report = silent
) -> Solution:
    return execute(plan(game, engine), report)
