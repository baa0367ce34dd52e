"""The campaign `fuzz`: texts, arguments, names, requests, commands, users' games, bundles and servers.

Everything is made by seeded random generators, which `tests/test_torture_fuzz.py` uses too. A case may
end in an answer, or in an error of `lookup.errors` (a request in a status that the contract has, a
command in an exit code) whose message is one short line. Each case has a `Random` of its own, made from
the seed, its kind and its number, which a failure names: `run_cases` with that number alone repeats it.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

from torture_arguments import attempt_argument, attempt_name
from torture_bundles import Bundles, Servers
from torture_commands import attempt_command
from torture_own import OwnGames
from torture_requests import Service
from torture_texts import Playground
from torture_wild import BrokenError, shown

from lookup.progress import Progress

if TYPE_CHECKING:
    from collections.abc import Callable

    from torture_tally import Tally

    Attempt = Callable[[Random], str]

TEXTS, MOVES, INDICES, ARGUMENTS, NAMES = 20_000, 10_000, 50_000, 20_000, 5_000
REQUESTS, OWN_GAMES, COMMANDS, MANIFESTS, BUNDLES, SERVERS = 15_000, 400, 400, 3_000, 800, 800


def run_cases(
    tally: Tally, kind: str, count: int, attempt: Attempt, progress: Progress, first: int = 0
) -> None:
    """Try so many cases of a kind, and count how they end."""
    with progress.stage(f"fuzz: {kind}", "cases") as report:
        for number in range(first, first + count):
            random = Random(f"{tally.seed} {kind} {number}")
            try:
                ending = attempt(random)
            except BrokenError as error:
                tally.fail(kind, "broken", f"case {number}: {shown(str(error))}")
            except Exception as error:  # noqa: BLE001 - the very thing that is looked for
                problem = f"case {number}: {shown(str(error))}"
                tally.fail(kind, f"raised {type(error).__name__}", problem)
            else:
                tally.add(kind, ending)
            report(number - first + 1, count)


def campaign(tally: Tally) -> None:
    """Try all kinds of cases."""
    progress = Progress.on_terminal()
    with tempfile.TemporaryDirectory(prefix="torture-") as place:
        folder = Path(place)
        with Playground(folder / "built") as playground:
            run_cases(tally, "texts", tally.share(TEXTS), playground.attempt_text, progress)
            run_cases(tally, "moves", tally.share(MOVES), playground.attempt_move, progress)
            run_cases(tally, "indices", tally.share(INDICES), playground.attempt_index, progress)
            arguments = attempt_argument(playground)
            run_cases(tally, "arguments", tally.share(ARGUMENTS), arguments, progress)
            names = attempt_name(playground.tables)
            run_cases(tally, "names", tally.share(NAMES), names, progress)
            with Service(playground) as service:
                run_cases(tally, "requests", tally.share(REQUESTS), service.attempt, progress)
        own = OwnGames(folder / "own")
        run_cases(tally, "own games", tally.share(OWN_GAMES), own.attempt, progress)
        commands = attempt_command(folder / "commands")
        run_cases(tally, "commands", tally.share(COMMANDS), commands, progress)
        bundles = Bundles(folder / "bundles")
        run_cases(tally, "manifests", tally.share(MANIFESTS), bundles.attempt_manifest, progress)
        run_cases(tally, "bundles", tally.share(BUNDLES), bundles.attempt_bundle, progress)
        with Servers(folder / "servers") as servers:
            run_cases(tally, "servers", tally.share(SERVERS), servers.attempt, progress)
