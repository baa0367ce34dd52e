"""`lookup`: ask tables from the command line. Each command is: parse, one call, print."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from lookup import __version__
from lookup.console import JsonFlag, application, print_json, run
from lookup.response import info_fields, line_fields, probe_fields
from lookup.table import open_table
from lookup.tablebase import SUFFIX, open_tablebase

if TYPE_CHECKING:
    from lookup.table import Table

app = application("Ask solved games about positions.")

TableArgument: TypeAlias = Annotated[
    str, typer.Argument(metavar="TABLE", help="A table's name or the path of its file.")
]
TablesOption: TypeAlias = Annotated[
    list[Path] | None,
    typer.Option(
        "--tables",
        metavar="DIR",
        exists=True,
        file_okay=False,
        help="Look here first, in place of ./tables; may be repeated.",
    ),
]
BAR_WIDTH = 40


@app.callback(invoke_without_command=True)
def overview(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    """Ask solved games about positions."""
    if version:
        typer.echo(f"endtable {__version__}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


@app.command(epilog="Example: lookup probe tactics-4x4 'XXXX/..X./..X./....'")
def probe(
    table: TableArgument,
    position: Annotated[str, typer.Argument(metavar="POSITION", help="The position as text.")],
    tables: TablesOption = None,
    as_json: JsonFlag = False,
) -> None:
    """Who wins, how fast, and what every move is worth, best first."""
    with _open(table, tables) as opened:
        if as_json:
            print_json(probe_fields(opened, position))
            return
        value, moves = opened.probe(position), opened.moves(position)
        typer.echo(f"{opened.name}  {position}\nto move: {value}")
        width = max((len(move.text) for move in moves), default=0)
        for move in moves:
            typer.echo(f"  {move.text:<{width}}  {move.value!s:<10}  {move.position}")


@app.command(epilog="Example: lookup line tactics-3x3")
def line(
    table: TableArgument,
    position: Annotated[
        str | None,
        typer.Argument(metavar="POSITION", help="The position as text; default: the start."),
    ] = None,
    tables: TablesOption = None,
    as_json: JsonFlag = False,
) -> None:
    """Best play by both sides, to the end or to a repeated position."""
    with _open(table, tables) as opened:
        text = opened.game.format(opened.game.start) if position is None else position
        if as_json:
            print_json(line_fields(opened, text))
            return
        value, played = opened.probe(text), opened.line(text)
        typer.echo(f"{opened.name}  {text}\nto move: {value}")
        width = max((len(move.text) for move in played), default=0)
        for number, move in enumerate(played, 1):
            typer.echo(f"{number:>4}. {move.text:<{width}}  {move.position}")
        if played and opened.moves(played[-1].position):
            typer.echo("      and so on: this position was there before")


@app.command(epilog="Example: lookup info rota")
def info(table: TableArgument, tables: TablesOption = None, as_json: JsonFlag = False) -> None:
    """Parameters, counts by outcome, and how far from the end positions are."""
    with _open(table, tables) as opened:
        fields = info_fields(opened)
        if as_json:
            print_json(fields)
            return
        described = opened.info
        typer.echo(f"{opened.name}  ({opened.path})")
        for key in ("game", "parameters", "rules", "notation", "indexing", "solver", "builder"):
            typer.echo(f"{key + ':':<11} {getattr(described, key)}")
        typer.echo(f"{'digest:':<11} {opened.digest}")
        typer.echo(f"{'positions:':<11} {described.positions:,} of {described.size:,} indices")
        for outcome, count in fields["counts"].items():
            typer.echo(f"{outcome + ':':<11} {count:,} ({count / described.positions:.1%})")
        _print_histogram(fields["histogram"])


def _print_histogram(histogram: dict[str, list[int]] | None) -> None:
    if histogram is None:
        typer.echo("remoteness: not stored")
        return
    typer.echo("remoteness:")
    both = list(zip(histogram["loss"], histogram["win"], strict=True))
    largest = max(loss + win for loss, win in both)
    width = len(f"{largest:,}")
    for remoteness, (loss, win) in enumerate(both):
        bar = _block() * round(BAR_WIDTH * (loss + win) / largest)
        typer.echo(f"{remoteness:>5}  {loss:>{width},} lost  {win:>{width},} won  {bar}".rstrip())


def _block() -> str:
    """A character for bars that the terminal can show."""
    try:
        "█".encode(sys.stdout.encoding or "ascii")
    except UnicodeEncodeError:
        return "#"
    return "█"


def _open(table: str, directories: list[Path] | None) -> Table:
    """A table by path, if it looks like one, else by name: what was built here must be found here."""
    if table.endswith(SUFFIX) or Path(table).name != table:
        return open_table(table)
    return open_tablebase(directories or [Path("tables")])[table]


def main() -> None:
    """The entry point of the `lookup` command."""
    run(app, "lookup")


if __name__ == "__main__":
    main()
