"""Progress of long work on the terminal: a bar with the time left, for stages of over a second."""

from __future__ import annotations

import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.progress import Progress as Bars

    from builder.solvers.solution import Report

PATIENCE = 1.0
"""Seconds before a bar appears: what is done sooner needs none."""


class Progress:
    """Shows the stages of a build one after the other."""

    def __init__(self, visible: bool) -> None:
        self._visible = visible

    @classmethod
    def silent(cls) -> Progress:
        """Shows nothing."""
        return cls(visible=False)

    @classmethod
    def on_terminal(cls) -> Progress:
        """Shows bars on standard error if it is a terminal."""
        return cls(visible=sys.stderr.isatty())

    @contextmanager
    def stage(self, name: str) -> Iterator[Report]:
        """One stage of work: yields the function to report steps to."""
        started = time.monotonic()
        bars: Bars | None = None

        def report(done: int, total: int) -> None:
            nonlocal bars
            if bars is None and self._visible and time.monotonic() - started > PATIENCE:
                bars = _bars()
                bars.start()
                bars.add_task(name, total=total)
            if bars is not None:
                bars.update(bars.task_ids[0], completed=done, total=total)

        try:
            yield report
        finally:
            if bars is not None:
                bars.stop()


def _bars() -> Bars:
    # rich comes with typer; importing it only here keeps builds as a library free of it.
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
    from rich.progress import Progress as Bars

    return Bars(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f}%"),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    )
