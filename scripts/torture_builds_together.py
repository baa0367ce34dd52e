"""Cases of `torture_builds` that are done by two at once, and readers of what is being replaced."""

from __future__ import annotations

import signal
from contextlib import ExitStack
from typing import TYPE_CHECKING
from unittest import mock

from torture_builds_lab import SpoiledError

from lookup import records
from lookup.table import open_table
from lookup.tablebase import open_tablebase

if TYPE_CHECKING:
    from pathlib import Path

    from torture_builds_lab import Lab

    from lookup.progress import Report
    from lookup.table import Table

PAIRS = 2
"""Times that each case is done by two at once, and as often with one of them killed."""

READERS = 5
MEETING = {"fetch folder": "fetch http", "fetch http": "fetch archive"}
"""Cases that do the same by other ways."""


def at_once(lab: Lab, report: Report) -> None:
    """Let two do the same at once."""
    for number, name in enumerate(lab.names):
        other = MEETING.get(name, name)
        for _ in range(lab.tally.share(PAIRS)):
            lab.trial("at once", name, f"with {other}", lambda folder: _both(lab, name, other, folder))  # noqa: B023 - run at once
            moment = lab.random.uniform(0, 1.2 * lab.references[name].seconds)

            def work(folder: Path, name: str = name, other: str = other, moment: float = moment) -> str:
                return _one_killed(lab, (name, other), folder, moment)

            lab.trial("at once, one killed", name, f"beside {other} killed after {moment} s", work)
        report(number + 1, len(lab.names))


def _both(lab: Lab, name: str, other: str, folder: Path) -> str:
    ends = lab.run_all([lab.request(one, folder) for one in (name, other)])
    failed = [end for end in ends if end.code]
    if any(not end.is_sentence or "another 'lookup fetch'" not in end.error for end in failed):
        raise SpoiledError("one fails", failed[0].error)
    if len(failed) == len(ends):
        raise SpoiledError("both fail", failed[0].error)
    lab.require_finished(name, folder)
    return "one is told of the other" if failed else "both succeed"


def _one_killed(lab: Lab, names: tuple[str, str], folder: Path, moment: float) -> str:
    killed, goes_on = lab.run_all(
        [
            lab.request(names[1], folder, signal=signal.SIGKILL, seconds=moment),
            lab.request(names[0], folder),
        ]
    )
    if goes_on.code and not (goes_on.is_sentence and "another 'lookup fetch'" in goes_on.error):
        raise SpoiledError("one fails", goes_on.error)
    found = lab.look(names[0], folder)
    if not goes_on.code and found != "the new is there":
        raise SpoiledError("success without a result", found)
    lab.finish(names[0], folder)
    if goes_on.code:
        return "one is told of the other"
    return "the other goes on" if killed.code else "both succeed"


def read_meanwhile(lab: Lab, report: Report) -> None:
    """Keep a table open, decoded whole and by chunks, while another takes its place."""
    names = [name for name in ("build over", "build set", "fetch folder") if name in lab.names]
    total = lab.tally.share(READERS)
    for number in range(total):
        for name in names:
            lab.trial("read meanwhile", name, "once more", lambda folder: _read(lab, name, folder))  # noqa: B023 - run at once
        report(number + 1, total)


def _read(lab: Lab, name: str, folder: Path) -> str:
    path = folder / "out" / "tactics-3x3.h5"
    with ExitStack() as opened:
        whole = opened.enter_context(open_table(path))
        with mock.patch.object(records, "DECODED_LIMIT", 0):
            by_chunks = opened.enter_context(open_table(path))
        tables = opened.enter_context(open_tablebase([folder / "out"]))
        old = _answers(whole)
        before = tables["tactics-3x3"]
        if whole.is_in_memory is by_chunks.is_in_memory:
            raise SpoiledError("both tables were opened in the same way")
        lab.finish(name, folder)
        # Those by chunks have read nothing so far.
        if any(_answers(one) != old for one in (whole, by_chunks, before, tables["tactics-3x3"])):
            raise SpoiledError("an open table changes its answers")
    with open_table(path) as new, open_tablebase([folder / "out"]) as tables:
        if _answers(new) == old or _answers(new) != _answers(tables["tactics-3x3"]):
            raise SpoiledError("a table that is opened again gives the old answers")
    return "old answers, and then new ones"


def _answers(table: Table) -> list[list[int]]:
    values = table.probe_many(range(table.info.size))
    assert values.remoteness is not None
    return [values.outcome.tolist(), values.remoteness.tolist()]
