"""Try to break Endtable, and count how every case ends: `scripts/torture CAMPAIGN ...`.

    files    table files with every kind of damage, by accident and on purpose
    builds   builds, bundles, fetches and exports that are killed, or run out of disk or of rights
    fuzz     texts, requests, commands and users' games that nobody would write
    values   whole tables solved again by another method, by other engines, threads and Pythons
    service  a server under slow, broken, huge and many requests, and for a long time
    cluster  builds on a cluster that loses workers, client, scheduler and parts of its store
    supply   tests with the oldest versions that we allow of what we need, and advisories

Prints the endings of each campaign, and writes them to a results file of its own. Exit code 1 if a case
ended as none may: a wrong value, a crash, a hang, an exception outside `lookup.errors`, something lost.
"""

from __future__ import annotations

import argparse
import importlib
import json
import signal
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from machine import machine
from torture_tally import Tally

if TYPE_CHECKING:
    from collections.abc import Callable

SCRIPTS = Path(__file__).parent
RESULTS = SCRIPTS / "torture-results"
CAMPAIGNS = ("files", "builds", "fuzz", "values", "service", "cluster", "supply")
"""Each is `campaign(tally)` in a module `torture_<name>`."""


def run(name: str, tally: Tally, out: Path) -> None:
    """Run a campaign, print its tally and store it."""
    facts, started = machine(), time.perf_counter()
    campaign: Callable[[Tally], None] = importlib.import_module(f"torture_{name}").campaign
    campaign(tally)
    seconds = round(time.perf_counter() - started)
    scale = "" if tally.scale == 1 else f" --scale {tally.scale:g}"
    command = f"scripts/torture {name} --seed {tally.seed}{scale}"
    print(f"{command}, {seconds:,} seconds\n{tally}\n")
    results = {"command": command, "seconds": seconds, **tally.fields, "machine": facts}
    out.mkdir(parents=True, exist_ok=True)
    (out / f"{name}.json").write_text(json.dumps(results, indent=1) + "\n")


def main() -> int:
    """Run the campaigns asked for."""
    first, _, about = (__doc__ or "").partition("\n")
    parser = argparse.ArgumentParser(
        prog="scripts/torture",
        description=first,
        epilog=about,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("campaigns", nargs="*", metavar="CAMPAIGN", help="those below; default: all")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="what is random, again")
    parser.add_argument(
        "--scale", type=float, default=1.0, metavar="X", help="the share of a campaign to run"
    )
    parser.add_argument("--out", type=Path, default=RESULTS, metavar="DIR", help="for results files")
    arguments = parser.parse_args()
    if unknown := [name for name in arguments.campaigns if name not in CAMPAIGNS]:
        parser.error(f"no campaign {unknown[0]!r}: expected one of {', '.join(CAMPAIGNS)}")
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        # As it is for what a shell starts in the background, and for the commands that are interrupted.
        signal.signal(signal.SIGINT, signal.default_int_handler)
    failed = 0
    for name in arguments.campaigns or CAMPAIGNS:
        tally = Tally(arguments.seed, arguments.scale)
        run(name, tally, arguments.out)
        failed += tally.failed
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
