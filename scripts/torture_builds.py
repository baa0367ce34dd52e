"""The campaign `builds`: what writes is killed, fails, runs out of disk or rights, or meets another.

Whatever happens, each file and folder that was there is there as it was or is the new one, byte for
byte; what else is found are leftovers of known names, one of a kind; and the command, once more, ends
as if nothing had been, and leaves nothing beside its results.

    killed at calls     before each call that changes files, one after the other
    killed at moments   at random; several times before one may finish
    failed at calls     each such call fails: disk full, a bad disk, a read-only one
    signalled           SIGTERM and Ctrl-C at random moments
    full                a file system of every size from none to enough, and of few files
    refused             places that cannot be written
    at once             two of the same in one folder, or of those that meet there; one of them killed
    read meanwhile      a reader of the old table goes on with it
"""

from __future__ import annotations

import errno
import signal
from typing import TYPE_CHECKING

from torture_builds_cases import CASES
from torture_builds_lab import Lab, SpoiledError
from torture_builds_room import full, refused
from torture_builds_together import at_once, read_meanwhile
from torture_child import REMOVAL

from lookup.progress import Progress

if TYPE_CHECKING:
    from pathlib import Path

    from torture_tally import Tally

    from lookup.progress import Report

CALLS = 16
"""Calls of a case that are disturbed, at most: all if there are no more, else some at random."""

ROUND = 5
"""Disturbances of a case one after the other before it may finish."""

MOMENTS = 5
"""Rounds of random kills of each case: up to four kills, and a run that may finish."""

SIGNALS = 2
ERRORS = (errno.ENOSPC, errno.EIO, errno.EROFS)


def campaign(tally: Tally) -> None:
    """Disturb all cases in all ways."""
    progress = Progress.on_terminal()
    parts = (
        killed_at_calls, killed_at_moments, failed_at_calls, signalled, full, refused, at_once,
        read_meanwhile,
    )  # fmt: skip
    with Lab(tally) as lab:
        for part in parts:
            with progress.stage(f"builds: {part.__name__.replace('_', ' ')}", "cases") as report:
                part(lab, report)


def _rounds(lab: Lab, name: str) -> list[list[int]]:
    """The calls of a case to disturb, by number; those of a round one after the other in one folder."""
    calls = lab.references[name].calls
    chosen = lab.random.sample(calls, min(len(calls), lab.tally.share(CALLS)))
    return [sorted(chosen[low : low + ROUND]) for low in range(0, len(chosen), ROUND)]


def killed_at_calls(lab: Lab, report: Report) -> None:
    """Kill each case before each call."""
    for number, name in enumerate(lab.names):
        for calls in _rounds(lab, name):
            kind = f"killed at calls: {_kind(name)}"

            def work(folder: Path, name: str = name, calls: list[int] = calls, kind: str = kind) -> str:
                for call in calls:
                    end = lab.run(name, folder, kill=call)
                    found = lab.look(name, folder)
                    lab.tally.add(kind, found if end.code else "finished before")
                    if found != "the old is there":
                        lab.finish(name, folder)
                        lab.renew(name, folder)
                lab.finish(name, folder)
                return "and a rerun succeeds"

            lab.trial(kind, name, f"killed at calls {calls}", work)
        report(number + 1, len(lab.names))


def killed_at_moments(lab: Lab, report: Report) -> None:
    """Kill each case at random moments, some times in a row."""
    for number, name in enumerate(lab.names):
        kind = f"killed at moments: {_kind(name)}"
        for _ in range(lab.tally.share(MOMENTS)):
            span = 1.1 * lab.references[name].seconds
            moments = [lab.random.uniform(0, span) for _ in range(lab.random.randint(1, 4))]

            def work(
                folder: Path, name: str = name, moments: list[float] = moments, kind: str = kind
            ) -> str:
                for moment in moments:
                    end = lab.run(name, folder, signal=signal.SIGKILL, seconds=moment)
                    found = lab.look(name, folder)
                    lab.tally.add(kind, found if end.code else "finished before")
                lab.finish(name, folder)
                return "and a rerun succeeds"

            lab.trial(kind, name, f"killed after {moments} s", work)
        report(number + 1, len(lab.names))


def failed_at_calls(lab: Lab, report: Report) -> None:
    """Let each call of each case fail."""
    for number, name in enumerate(lab.names):
        for calls in _rounds(lab, name):
            reason = lab.random.choice(ERRORS)
            kind = f"failed at calls: {_kind(name)}"

            def work(
                folder: Path,
                name: str = name,
                calls: list[int] = calls,
                reason: int = reason,
                kind: str = kind,
            ) -> str:
                for call in calls:
                    end = lab.run(name, folder, fail=call, errno=reason)
                    if end.code and not end.is_sentence:
                        raise SpoiledError("no plain sentence", f"at {call}: {end.error}")
                    # What could not be removed stays for the next time.
                    found = lab.look(name, folder, clean=end.failed != REMOVAL)
                    if not end.code and found != "the new is there":
                        raise SpoiledError("a failure is passed over", f"{end.failed}: {found}")
                    lab.tally.add(kind, found if end.code else "made no difference")
                    if found != "the old is there":
                        lab.finish(name, folder)
                        lab.renew(name, folder)
                lab.finish(name, folder)
                return "and a rerun succeeds"

            shown = errno.errorcode[reason]
            lab.trial(kind, name, f"{shown} at calls {calls}", work)
        report(number + 1, len(lab.names))


def signalled(lab: Lab, report: Report) -> None:
    """Ask each case to end at random moments."""
    for number, name in enumerate(lab.names):
        for which, code, word in (
            (signal.SIGTERM, 143, "terminated"),
            (signal.SIGINT, 130, "interrupted"),
        ):
            for _ in range(lab.tally.share(SIGNALS)):
                moment = lab.random.uniform(0.005, lab.references[name].seconds)

                def work(
                    folder: Path,
                    name: str = name,
                    which: signal.Signals = which,
                    told: tuple[int, str] = (code, word),
                    moment: float = moment,
                ) -> str:
                    end = lab.run(name, folder, signal=which, seconds=moment)
                    in_order = end.code == told[0] and end.said == [f"error: {told[1]}"]
                    # Before the command has begun, or when it is over, nothing is to be put in order.
                    outside = end.code in (-which, told[0]) and not end.said
                    if end.code and not in_order and not outside:
                        raise SpoiledError("does not end in order", f"{end.code}: {end.error}")
                    lab.look(name, folder, clean=True)
                    lab.finish(name, folder)
                    if outside:
                        return "ended outside the command"
                    return "ended in order" if end.code else "finished before"

                lab.trial(f"signalled: {which.name}", name, f"{which.name} after {moment} s", work)
        report(number + 1, len(lab.names))


def _kind(name: str) -> str:
    """Cases that are counted together."""
    return name.split()[0] + (" long" if name in CASES and CASES[name].keeps and "long" in name else "")
