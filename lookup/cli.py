"""`lookup`: ask tables from the command line. Each command is: parse, one call, print."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from lookup import __version__
from lookup.console import (
    JsonFlag,
    TableArgument,
    TablesOption,
    application,
    find_file,
    print_json,
    run,
)
from lookup.response import info_fields, line_fields, probe_fields
from lookup.table import open_table
from lookup.tablebase import open_tablebase

if TYPE_CHECKING:
    from lookup.table import Table
    from lookup.values import Value

app = application("Ask solved games about positions.")

PositionArgument: TypeAlias = Annotated[
    list[str] | None,
    typer.Argument(metavar="POSITION", help="The position as text; default: the start."),
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
    position: PositionArgument = None,
    tables: TablesOption = None,
    as_json: JsonFlag = False,
) -> None:
    """Who wins, how fast, and what every move is worth, best first.

    A value is for the player to move; that of a move is for the player who makes it, and counts the
    plies after it.
    """
    with _open(table, tables) as opened:
        text = _position(opened, position)
        if as_json:
            print_json(probe_fields(opened, text))
            return
        value, moves = opened.probe(text), opened.moves(text)
        _print_head(opened, text, value)
        width = max((len(move.text) for move in moves), default=0)
        for move in moves:
            typer.echo(f"  {move.text:<{width}}  {move.value!s:<10}  {move.position}")


@app.command(epilog="Example: lookup line tactics-3x3")
def line(
    table: TableArgument,
    position: PositionArgument = None,
    tables: TablesOption = None,
    as_json: JsonFlag = False,
) -> None:
    """Best play by both sides, to the end or to a repeated position."""
    with _open(table, tables) as opened:
        text = _position(opened, position)
        fields = line_fields(opened, text)
        if as_json:
            print_json(fields)
            return
        _print_head(opened, text, opened.probe(text))
        width = max((len(move["move"]) for move in fields["line"]), default=0)
        for number, move in enumerate(fields["line"], 1):
            typer.echo(f"{number:>4}. {move['move']:<{width}}  {move['position']}")
        if fields["repeats"]:
            typer.echo("      and so on: this position was there before")


def _position(table: Table, words: list[str] | None) -> str:
    """A position as typed, with or without quotes around its spaces; the start if there is none."""
    return " ".join(words) if words else table.game.format(table.game.start)


def _print_head(table: Table, position: str, value: Value) -> None:
    typer.echo(f"{table.name}  {position}")
    if table.game.moves(position):
        typer.echo(f"to move: {value}")
    else:
        typer.echo(f"the game is over: a {value.outcome} for the player to move")


@app.command("list", epilog="Example: lookup list")
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
    return open_table(find_file(table, directories))


def main() -> None:
    """The entry point of the `lookup` command."""
    run(app, "lookup")


if __name__ == "__main__":
    main()
