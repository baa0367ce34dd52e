"""`lookup`: ask tables from the command line. Each command is: parse, one call, print."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from lookup import __version__, cli_files
from lookup.console import (
    GameOption,
    GamesOption,
    JsonFlag,
    TableArgument,
    TablesOption,
    application,
    find_file,
    of_the_extra,
    print_json,
    printable,
    run,
    whole_number,
)
from lookup.errors import CallerError, MissingTableError
from lookup.games import closed_form
from lookup.play import Against, Session, Side, seats
from lookup.play_loop import Loop, read_line, tolerate_any_text
from lookup.response import info_fields, is_unknown, line_fields, move_fields, probe_fields
from lookup.table import open_table
from lookup.tablebase import open_tablebase

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lookup.answers import Answers, Move
    from lookup.values import Value

app = application("Ask solved games about positions.")
app.add_typer(cli_files.commands)

PositionArgument: TypeAlias = Annotated[
    list[str] | None,
    typer.Argument(metavar="POSITION", help="The position as text; default: the start."),
]
BAR_WIDTH = 40
HISTOGRAM_LINES = 50
LONGEST_LINE = 10_000
LONGEST_GAME = 1000


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
    move: Annotated[
        str | None, typer.Option("--move", help="Only this move: is it legal, and what is it worth?")
    ] = None,
    tables: TablesOption = None,
    game: GameOption = None,
    as_json: JsonFlag = False,
) -> None:
    """Who wins, how fast, and what every move is worth, best first.

    A value is for the player to move; that of a move is for the player who makes it, and counts the
    plies after it. A game with a closed form needs no table.
    """
    with _open(table, tables, game) as opened:
        text = _position(opened, position)
        if as_json:
            fields = probe_fields(opened, text)
            if move is not None:
                fields["moves"] = [move_fields(opened.move(text, move))]
            print_json(fields)
            return
        if is_unknown(opened) and move is None:
            _print_head(opened, text, opened.probe(text), is_over=False)
            typer.echo("  (its rules are not known here: --game FILE.py shows moves)")
            return
        moves = opened.moves(text) if move is None else [opened.move(text, move)]
        _print_head(opened, text, opened.probe(text), is_over=not moves)
        _print_moves(moves)


@app.command(epilog="Example: lookup line tactics-3x3")
def line(
    table: TableArgument,
    position: PositionArgument = None,
    limit: Annotated[
        int, typer.Option("--limit", min=0, metavar="N", help="Print no more moves than this.")
    ] = LONGEST_LINE,
    moves_only: Annotated[
        bool, typer.Option("--moves", help="Print the moves alone, in one line.")
    ] = False,
    tables: TablesOption = None,
    game: GameOption = None,
    as_json: JsonFlag = False,
) -> None:
    """Best play by both sides, to the end or to a repeated position."""
    with _open(table, tables, game) as opened:
        text = _position(opened, position)
        fields = line_fields(opened, text, limit)
        names = [move["move"] for move in fields["line"]]
        width = max(map(len, names), default=0)
        if as_json:
            print_json(fields)
        elif moves_only:
            typer.echo(("" if width == 1 else " ").join(names))
        else:
            is_over = not fields["line"] and fields["complete"]
            _print_head(opened, text, opened.probe(text), is_over)
            for number, move in enumerate(fields["line"], 1):
                typer.echo(f"{number:>4}. {move['move']:<{width}}  {move['position']}".rstrip())
            if fields["repeats"]:
                typer.echo("      and so on: this position was there before")
        if not fields["complete"]:
            typer.echo(f"the line goes on after {limit} moves; --limit shows more", err=True)


def _position(table: Answers, words: list[str] | None) -> str:
    """A position as typed, with or without quotes around its spaces; the start if there is none."""
    return " ".join(words) if words else table.game.format(table.game.start)


def _print_head(table: Answers, position: str, value: Value, is_over: bool) -> None:
    typer.echo(f"{table.name}  {position}")
    if is_over:
        typer.echo(f"the game is over: a {value.outcome} for the player to move")
    else:
        typer.echo(f"to move: {value}")


def _print_moves(moves: list[Move]) -> None:
    name_width = max((len(move.text) for move in moves), default=0)
    value_width = max([10, *(len(str(move.value)) for move in moves)])
    for move in moves:
        value = f"{move.value!s:<{value_width}}"
        typer.echo(f"  {move.text:<{name_width}}  {value}  {move.position}".rstrip())


@app.command(epilog="Example: lookup play rota --as second")
def play(
    table: TableArgument,
    position: PositionArgument = None,
    side: Annotated[
        Side, typer.Option("--as", help="The side you play; first is who moves first.")
    ] = Side.FIRST,
    against: Annotated[
        Against, typer.Option("--against", help="Who plays the sides that you do not.")
    ] = Against.PERFECT,
    seed: Annotated[
        int | None,
        typer.Option("--seed", parser=whole_number, metavar="N", help="Makes random play repeatable."),
    ] = None,
    limit: Annotated[
        int,
        typer.Option("--limit", min=0, metavar="N", help="Without you, play no more moves than this."),
    ] = LONGEST_GAME,
    tables: TablesOption = None,
    game: GameOption = None,
) -> None:
    """Play a game in the terminal, with hints and as many steps back as you like.

    With --as none perfect play comes first and you look on.
    """
    with _open(table, tables, game) as opened:
        players = seats(opened.game, side, against, seed)
        session = Session(opened, _position(opened, position), players)
        tolerate_any_text()
        Loop(session, read_line, typer.echo, limit).run()


@app.command(epilog="Example: lookup info rota")
def info(
    table: TableArgument,
    count: Annotated[
        bool, typer.Option("--count", help="Count what a large table holds too: reads all of it.")
    ] = False,
    tables: TablesOption = None,
    game: GameOption = None,
    as_json: JsonFlag = False,
) -> None:
    """Parameters, counts by outcome, and how far from the end positions are."""
    with open_table(find_file(table, tables), game=game) as opened:
        fields = info_fields(opened, count)
        if as_json:
            print_json(fields)
            return
        described = opened.info
        typer.echo(f"{opened.name}  ({opened.path})")
        for key in ("game", "parameters", "rules", "notation", "indexing", "solver", "builder"):
            if said := getattr(described, key):
                typer.echo(f"{key + ':':<11} {printable(said)}")
        typer.echo(f"{'digest:':<11} {opened.digest}")
        typer.echo(f"{'positions:':<11} {described.positions:,} of {described.size:,} indices")
        for outcome, positions in fields["counts"].items():
            typer.echo(f"{outcome + ':':<11} {positions:,} ({positions / described.positions:.1%})")
        if period := fields["period"]:
            beyond = f"{period['period']} from index {period['preperiod']} on, for ever"
            typer.echo(f"{'period:':<11} {beyond} (compared up to {period['checked']:,})")
        elif described.solver == "heaps":
            typer.echo(f"{'period:':<11} none proven; computed up to {described.size - 1:,}")
        if described.largest_grundy >= 0:
            _print_grundy(fields["grundy"], described.largest_grundy)
        _print_histogram(fields, described.longest_remoteness)


def _print_grundy(counts: list[int] | None, largest_grundy: int) -> None:
    if counts is None:
        typer.echo(f"{'grundy:':<11} up to {largest_grundy:,}; --count shows how many of each")
        return
    typer.echo("grundy:")
    largest = max(counts)
    width = len(f"{largest:,}")
    for value, count in enumerate(counts):
        typer.echo(f"{value:>5}  {count:>{width},}  {_bar(count, largest)}".rstrip())


def _print_histogram(fields: dict[str, Any], longest: int) -> None:
    if longest < 0:
        typer.echo("remoteness: not stored")
        return
    if fields["histogram"] is None:
        typer.echo(f"remoteness: up to {longest:,}; --count shows how many of each")
        return
    typer.echo("remoteness:")
    losses, wins = fields["histogram"]["loss"], fields["histogram"]["win"]
    together = (len(wins) - 1) // HISTOGRAM_LINES + 1
    lines = [
        (sum(losses[low : low + together]), sum(wins[low : low + together]))
        for low in range(0, len(wins), together)
    ]
    largest = max(map(sum, lines))
    width = len(f"{largest:,}")
    step = together * fields["histogram_width"]
    ranges = [
        f"{low}-{low + step - 1}" if step > 1 else str(low) for low in range(0, longest + 1, step)
    ]
    label_width = max(5, *map(len, ranges))
    for label, (lost, won) in zip(ranges, lines, strict=True):
        counts = f"{lost:>{width},} lost  {won:>{width},} won"
        typer.echo(f"{label:>{label_width}}  {counts}  {_bar(lost + won, largest)}".rstrip())


def _bar(count: int, largest: int) -> str:
    return _block() * round(BAR_WIDTH * count / largest)


def _block() -> str:
    """A character for bars that the terminal can show."""
    try:
        "█".encode(sys.stdout.encoding or "ascii")
    except UnicodeEncodeError:
        return "#"
    return "█"


@app.command(epilog="Example: lookup serve --port 8080")
def serve(
    host: Annotated[
        str, typer.Option("--host", metavar="HOST", help="Listen here; 0.0.0.0 is for everybody.")
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option("--port", min=0, max=65535, metavar="PORT", help="0 is any free port.")
    ] = 8000,
    tables: TablesOption = None,
    game: GamesOption = None,
    workers: Annotated[
        int,
        typer.Option("--workers", min=1, max=256, metavar="N", help="Processes that share the work."),
    ] = 1,
    access_log: Annotated[
        str | None,
        typer.Option(
            "--access-log",
            metavar="FILE",
            help="Append a line of JSON for each request; '-' is stderr.",
        ),
    ] = None,
    rate: Annotated[
        float | None,
        typer.Option(
            "--rate",
            min=0.01,
            metavar="N",
            help="Answer no client more often than N times a second; a batch or a line counts as 10.",
        ),
    ] = None,
) -> None:
    """A page to explore all tables in a browser, and the same answers over HTTP, until Ctrl-C.

    /docs describes the API, /metrics is for Prometheus.
    """
    with (
        open_tablebase(tables or [Path("tables")], games=game or ()) as opened,
        of_the_extra("serve", "lookup serve"),
    ):
        from lookup.service import server  # no other command needs it

        number = len(list(opened))
        server.serve(
            opened,
            host,
            port,
            lambda address: typer.echo(f"serving {number} tables at {address} (Ctrl-C stops)"),
            workers=workers,
            access_log=access_log,
            rate=rate,
        )


@contextmanager
def _open(table: str, directories: list[Path] | None, game: str | None = None) -> Iterator[Answers]:
    """A table or, if there is none of that name, the closed form of its game if it has one."""
    try:
        path = find_file(table, directories)
    except MissingTableError:
        try:
            answers = closed_form(table)
        except CallerError:
            answers = None
        if answers is None:
            raise
        typer.echo(f"{table}: no table, answered by its closed form", err=True)
        yield answers
        return
    with open_table(path, game=game) as opened:
        yield opened


def main() -> None:
    """The entry point of the `lookup` command."""
    run(app, "lookup")


if __name__ == "__main__":
    main()
