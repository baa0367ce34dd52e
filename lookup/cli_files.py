"""Commands of `lookup` about table files themselves: where they are, and in what other forms."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lookup.console import (
    GameOption,
    GamesOption,
    JsonFlag,
    TableArgument,
    TablesOption,
    application,
    counted,
    find_file,
    of_the_extra,
    print_json,
    print_warning,
)
from lookup.errors import CallerError, FailureError
from lookup.export import Format, NeverLose, Seat, export_descriptor, export_file
from lookup.progress import Progress
from lookup.table import open_table
from lookup.tablebase import GIVEN, PACKAGED, USER, VARIABLE, open_tablebase, user_tables
from lookup.where import folder_fields, table_fields

if TYPE_CHECKING:
    from lookup.bundle import Entry

commands = application("Table files.")


@commands.command(
    epilog="Example: lookup export rota --to csv --output rota.csv, "
    "or: lookup export rota --never-lose second --to json"
)
def export(
    table: TableArgument,
    to: Annotated[Format, typer.Option("--to", help="The format; npz and parquet need a file.")],
    output: Annotated[
        Path | None,
        typer.Option("--output", metavar="FILE", dir_okay=False, help="Default: standard output."),
    ] = None,
    no_text: Annotated[
        bool, typer.Option("--no-text", help="Leave out the positions' texts; csv, json, parquet.")
    ] = False,
    never_lose: Annotated[
        Seat | None,
        typer.Option(
            "--never-lose",
            help="The states and safe moves of one side, in place of the table; json, dot.",
        ),
    ] = None,
    best: Annotated[
        bool, typer.Option("--best", help="With --never-lose: the best of the safe moves, one a state.")
    ] = False,
    tables: TablesOption = None,
    game: GameOption = None,
) -> None:
    """All positions of a table with their values, for other tools.

    Tables of any size, but dot (a graph for Graphviz): that is for small ones.

    With --never-lose: what a player can meet who makes safe moves only, whatever the opponent does.
    """
    if best and never_lose is None:
        raise CallerError("--best is about --never-lose: expected --never-lose first or second")
    if to is Format.PARQUET:
        with of_the_extra("parquet", "lookup export --to parquet"):
            import_module("pyarrow.parquet")
    machine = NeverLose(never_lose, best) if never_lose else None
    with open_table(find_file(table, tables), game=game) as opened:
        # A bar would stand in the middle of what is shown.
        shown = output is None and sys.stdout.isatty()
        progress = Progress.silent() if shown else Progress.on_terminal()
        unit = "states" if machine else "positions"
        with progress.stage(f"{opened.name}: export", unit) as report:
            if output is None:
                export_descriptor(
                    opened, to, sys.stdout.fileno(), text=not no_text, machine=machine, report=report
                )
                return
            count = export_file(opened, to, output, text=not no_text, machine=machine, report=report)
        typer.echo(f"{output}: {count:,} {unit}, {output.stat().st_size:,} bytes")


@commands.command("export-site", epilog="Example: lookup export-site site tactics-4x4 rota")
def export_site(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The folder to write.")],
    table: Annotated[
        list[str] | None, typer.Argument(metavar="TABLE", help="Tables by name; default: all.")
    ] = None,
    tables: TablesOption = None,
    game: GamesOption = None,
) -> None:
    """The explorer as a folder that any web server can host: page, tables, and no server of ours.

    It plays and explains what `lookup serve` does. Pages read only the parts of a table that they need.
    """
    from lookup.site.export import export_site  # no other command needs it

    with open_tablebase(tables or [Path("tables")], games=game or ()) as opened:
        names = list(dict.fromkeys(table)) if table else list(opened)
        with Progress.on_terminal().stage("site", "bytes") as report:
            size = export_site(opened, names, folder, print_warning, report)
    number = counted(len(names), "table")
    typer.echo(f"{folder}: {number}, {size:,} bytes; any web server can host it")


@commands.command("list", epilog="Example: lookup list")
def list_tables(tables: TablesOption = None, as_json: JsonFlag = False) -> None:
    """The tables that are here, by name, and their files."""
    with open_tablebase(tables or [Path("tables")]) as opened:
        found = {name: str(opened.find(name)) for name in opened}
    if as_json:
        print_json(found)
        return
    width = max(map(len, found), default=0)
    for name, path in found.items():
        typer.echo(f"{name:<{width}}  {path}")


@commands.command(
    epilog="Example: lookup fetch https://example.org/tables/; lookup fetch tables.zip --table rota"
)
def fetch(
    source: Annotated[
        str,
        typer.Argument(
            metavar="URL|PATH", help="A folder with manifest.json, or a .tar or .zip of one."
        ),
    ],
    table: Annotated[
        list[str] | None,
        typer.Option("--table", metavar="NAME", help="Only this table; may be repeated."),
    ] = None,
    to: Annotated[
        Path | None,
        typer.Option("--to", metavar="DIR", file_okay=False, help="Default: your folder of tables."),
    ] = None,
    sha256: Annotated[
        str | None,
        typer.Option("--sha256", metavar="HEX", help="What the manifest must hash to."),
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Tables from a bundle, as 'build-tables bundle' makes it, into your folder of tables.

    All are verified before any is put in place; whatever fails leaves what was there. What is there
    already is not downloaded, and a download that broke off is gone on with by the same command.
    """
    folder = to or user_tables()
    if folder is None:
        raise FailureError("no home folder is known here: expected --to DIR")
    from lookup.fetch import fetch as fetch_bundle  # and all of HTTP, which no other command needs

    chosen = table or []
    tables = fetch_bundle(source, folder, names=chosen, sha256=sha256, progress=Progress.on_terminal())
    if as_json:
        found = [
            {"table": entry.name, "file": str(path), **_hashes(entry), "changed": changed}
            for entry, path, changed in tables
        ]
        print_json({"folder": str(folder), "tables": found})
        return
    for entry, path, changed in tables:
        state = "fetched" if changed else "there already"
        typer.echo(f"{path}: {entry.positions:,} positions, {entry.size:,} bytes, {state}")


def _hashes(entry: Entry) -> dict[str, Any]:
    return {"bytes": entry.size, "sha256": entry.sha256, "digest": entry.digest}


@commands.command(epilog="Example: lookup where; lookup where rota")
def where(
    table: Annotated[
        str | None, typer.Argument(metavar="[TABLE]", help="Only this table: which file is used?")
    ] = None,
    tables: TablesOption = None,
    as_json: JsonFlag = False,
) -> None:
    """Where tables are looked for, in order, and what is there; the first of a name is used."""
    folders = open_tablebase(tables or [Path("tables")]).folders
    if not tables:
        folders[0] = folders[0]._replace(origin="./tables")
    if table is not None:
        fields = table_fields(table, find_file(table, tables), folders)
        if as_json:
            print_json(fields)
            return
        typer.echo(f"{fields['file']}  ({_ORIGINS[fields['origin']]}; {fields['bytes']:,} bytes)")
        for path in fields["shadows"]:
            typer.echo(f"not used: {path}")
        return
    looked = folder_fields(folders)
    if as_json:
        print_json(looked)
        return
    for folder in looked:
        missing = "" if folder["exists"] else "; not there"
        typer.echo(f"{folder['folder']}  ({_ORIGINS[folder['origin']]}{missing})")
        width = max((len(one["table"]) for one in folder["tables"]), default=0)
        for one in folder["tables"]:
            unused = f"  not used: {one['shadowed_by']} comes first" if one["shadowed_by"] else ""
            typer.echo(f"  {one['table']:<{width}}  {one['bytes']:>13,} bytes{unused}")


_ORIGINS = {
    "path": "as given",
    "./tables": "./tables, where build-tables writes",
    GIVEN: "given by --tables",
    VARIABLE: VARIABLE,
    USER: "yours, where lookup fetch writes",
    PACKAGED: "the package's own",
}
