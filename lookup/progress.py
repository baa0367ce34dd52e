"""Progress of long work: a bar with rate and time left on a terminal, else a line a minute."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.progress import Progress as Bars

Report: TypeAlias = Callable[[int, int], None]
"""Told now and then how many steps are done, of how many in all."""

PATIENCE = 1.0
"""Seconds before a bar appears: what is done sooner needs none."""

LOG_EVERY = 60.0
"""Seconds between two lines where the output is no terminal."""


SHARDS = "shards"
"""The unit of work that is done in few pieces."""


def silent(done: int, total: int) -> None:
    """The report of a caller who does not want to know."""


class Progress:
    """Shows the stages of long work one after the other."""

    def __init__(self, *, bars: bool = False, log: Callable[[str], None] | None = None) -> None:
        self._bars, self._log = bars, log

    @classmethod
    def silent(cls) -> Progress:
        """Shows nothing."""
        return cls()

    @classmethod
    def on_terminal(cls) -> Progress:
        """Shows bars on standard error if it is a terminal, and lines there if it is not."""
        if sys.stderr.isatty():
            return cls(bars=True)
        return cls(log=lambda line: print(line, file=sys.stderr, flush=True))

    @contextmanager
    def stage(self, name: str, unit: str = "positions") -> Iterator[Report]:
        """One stage of work: yields the function to report steps to. Shards are counted."""
        started = logged = time.monotonic()
        first: int | None = None
        bars: Bars | None = None

        def report(done: int, total: int) -> None:
            nonlocal bars, first, logged
            now = time.monotonic()
            if first is None:
                first = done  # what an earlier run has done says nothing of the rate
            rate = (done - first) / max(now - started, 1e-9)
            if self._bars and bars is None and now - started > PATIENCE:
                bars = _bars()
                bars.start()
                bars.add_task(name, total=total, rate="")
            counted = f"{done:,} of {total:,} shards, " if unit == SHARDS else ""
            if bars is not None:
                bars.update(
                    bars.task_ids[0],
                    completed=done,
                    total=total,
                    rate=f"{counted}{short(rate)} {unit}/s",
                )
            if self._log and now - logged >= LOG_EVERY:
                logged = now
                state = f"{done / max(total, 1):.0%}, {counted}{short(rate)} {unit}/s"
                if rate > 0:
                    minutes, seconds = divmod(round((total - done) / rate), 60)
                    state += f", {minutes}:{seconds:02} left"
                self._log(f"{name}: {state}")

        try:
            yield report
        finally:
            if bars is not None:
                bars.stop()


def short(rate: float) -> str:
    """A rate in three figures: 950, 12.3 k, 1.85 G; and what is slow, 0.25."""
    for unit, size in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if rate >= size:
            return f"{rate / size:.3g} {unit}"
    return f"{rate:.0f}" if rate >= 10 or rate == 0 else f"{rate:.2g}"


def _bars() -> Bars:
    # rich comes with typer; importing it only here keeps libraries free of it.
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
    from rich.progress import Progress as Bars

    return Bars(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f}%"),
        TextColumn("{task.fields[rate]}"),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    )
