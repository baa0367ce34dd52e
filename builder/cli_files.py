"""Commands of `build-tables` about tables that are there already: are they right, and hand them on."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003 - typer reads it
from typing import Annotated, Any

import typer

from builder.catalogue import CATALOGUE
from builder.cli_options import EngineOption, MaxMemoryOption  # noqa: TC001 - typer reads them
from builder.deep import deep_verify
from builder.verify import Verified, verify_file
from lookup.console import (
    FAILURE,
    GameOption,
    JsonFlag,
    TablesOption,
    application,
    counted,
    exit_code,
    find_file,
    print_error,
    print_json,
    whole_number,
)
from lookup.errors import EndtableError
from lookup.games.loading import load_game
from lookup.progress import Progress
from lookup.tablebase import packaged_tables

commands = application("Tables that are there.")


@commands.command(
    epilog="Example: build-tables verify tables/rota.h5; build-tables verify rota --sample 1000; "
    "build-tables verify rota --deep"
)
def verify(
    files: Annotated[
        list[str], typer.Argument(metavar="FILE...", help="Table files or folders, or names of tables.")
    ],
    sample: Annotated[
        int | None,
        typer.Option(
            parser=whole_number,
            metavar="N",
            help="Check about so many positions at random, and not the totals.",
        ),
    ] = None,
    seed: Annotated[
        int, typer.Option(parser=whole_number, metavar="N", help="Which random positions.")
    ] = 0,
    deep: Annotated[
        bool, typer.Option("--deep", help="Solve each game again by another method, and compare all.")
    ] = False,
    max_memory: MaxMemoryOption = None,
    engine: EngineOption = None,
    game: GameOption = None,
    as_json: JsonFlag = False,
) -> None:
    """Recheck table files from the rules alone: every record, total and checksum."""
    if deep and sample is not None:
        raise typer.BadParameter(f"--deep compares all positions: expected no --sample {sample}")
    rules = load_game(game) if game else None
    progress = Progress.on_terminal()
    results: list[dict[str, Any]] = []
    codes = {0}
    for path in files:
        try:
            found, method = find_file(path), ""
            if deep:
                done, method = deep_verify(found, engine, progress, max_memory, rules=rules)
            else:
                with progress.stage(f"{path}: verify") as report:
                    done = verify_file(
                        found, engine, report, sample, seed, max_memory,
                        rules=rules, recount=sample is None,
                    )  # fmt: skip
        except EndtableError as error:
            codes.add(exit_code(error))
            results.append({"file": path, "ok": False, "problem": str(error)})
            print_error(str(error))
        else:
            fields = _verified_fields(done, sample) | ({"deep": True, "method": method} if deep else {})
            results.append({"file": path, "ok": True, **fields})
            if not as_json:
                again = f", and are the same solved again {method}" if deep else ""
                typer.echo(f"{path}: {_verified_words(done, sample)} follow from the rules{again}")
    if as_json:
        print_json(results)
    # A bad file weighs more than a mistyped name.
    raise typer.Exit(FAILURE if FAILURE in codes else max(codes))


def _verified_fields(done: Verified, sample: int | None) -> dict[str, Any]:
    fields = {"positions": done.info.positions}
    if sample is not None:
        fields |= {"checked": done.checked, "indices": done.info.size}
    return fields


def _verified_words(done: Verified, sample: int | None) -> str:
    if sample is None:
        return f"{done.info.positions:,} positions"
    return f"{done.checked:,} of {done.info.size:,} indices, taken at random,"


@commands.command(
    epilog="Example: build-tables bundle tables.zip; build-tables bundle DIR --table rota"
)
def bundle(
    path: Annotated[
        Path, typer.Argument(metavar="DIR", help="The bundle: a folder, or an archive .tar or .zip.")
    ],
    table: Annotated[
        list[str] | None,
        typer.Option("--table", metavar="TABLE", help="A table by name or path; may be repeated."),
    ] = None,
    tables: TablesOption = None,
    as_json: JsonFlag = False,
) -> None:
    """Tables to hand on: with a manifest, SHA256SUMS and a README; without --table, the default set.

    Each is checked whole before it goes in; the same tables give the same bytes. `lookup fetch` takes
    the bundle from wherever it is put.
    """
    from builder.bundle import write_bundle  # archives, hashes: no other command needs them

    if table:
        files = [find_file(one, tables) for one in table]
    else:
        # Those that ship, and not whatever else goes by their names here.
        files = [find_file(game.table_name, tables or [packaged_tables()]) for game in CATALOGUE]
    done = write_bundle(path, files, Progress.on_terminal())
    entries = done.manifest.tables
    if as_json:
        fields = {"bundle": str(path), "manifest_sha256": done.sha256}
        print_json({**fields, "tables": [entry._asdict() for entry in entries]})
        return
    size = sum(entry.size for entry in entries)
    number = counted(len(entries), "table")
    typer.echo(f"{path}: {number}, {size:,} bytes; sha256 of the manifest: {done.sha256}")
