"""`build-tables`: build and list tables. Each command is: parse, one call, print.

Every game in `GAMES` gets a command of its own, whose options are the game's parameters.
"""

from __future__ import annotations

import inspect
import json
import shlex
import sys
import warnings
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from builder import cli_files
from builder.build import Built, build_table, estimate, rough_seconds
from builder.catalogue import CATALOGUE, LARGER
from builder.checksums import write_checksums
from builder.cli_options import (
    TABLES,
    BuildEngine,
    BuildEngineOption,
    ForceFlag,
    GameArgument,
    MaxMemoryOption,
    OutOption,
    SchedulerOption,
    SetOption,
    StoreOption,
    WorkersOption,
)
from builder.compile import WORTH_COMPILING, Engine, has_numba
from builder.declarations import check_declarations
from builder.fallback import InterpretedWarning
from builder.limits import BEYOND
from builder.thorough import check_thoroughly
from lookup import __version__
from lookup.console import (
    JsonFlag,
    application,
    of_the_extra,
    print_json,
    print_warning,
    run,
    whole_number,
)
from lookup.disk import bytes_at, sized
from lookup.errors import BuildError, InvalidParameterError
from lookup.games import GAMES, find_game
from lookup.games.loading import installed_games, load_game, with_settings
from lookup.progress import Progress
from lookup.tablebase import GIVEN, SearchedFolder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

    from lookup.games.base import Game

app = application("Build tables of solved games; without a command, the default set.")
app.add_typer(cli_files.commands)


class Options(NamedTuple):
    """What every build takes."""

    out: Path = TABLES
    engine: BuildEngine | None = None
    scheduler: str | None = None
    store: str | None = None
    workers: int | None = None
    max_memory: int | None = None
    force: bool = False
    as_json: bool = False


_OPTIONS: dict[str, Any] = {
    "out": OutOption,
    "engine": BuildEngineOption,
    "scheduler": SchedulerOption,
    "store": StoreOption,
    "workers": WorkersOption,
    "max_memory": MaxMemoryOption,
    "force": ForceFlag,
    "as_json": JsonFlag,
}


@app.callback(
    invoke_without_command=True, epilog="Example: build-tables --out tables; build-tables list"
)
def default_set(
    context: typer.Context,
    out: OutOption = TABLES,
    engine: BuildEngineOption = None,
    scheduler: SchedulerOption = None,
    store: StoreOption = None,
    workers: WorkersOption = None,
    max_memory: MaxMemoryOption = None,
    force: ForceFlag = False,
    as_json: JsonFlag = False,
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    """Build tables of solved games; without a command, the default set and its SHA256SUMS."""
    if version:
        typer.echo(f"endtable {__version__}")
        raise typer.Exit
    options = Options(out, engine, scheduler, store, workers, max_memory, force, as_json)
    if context.invoked_subcommand is not None:
        if options != Options():
            example = f"build-tables {context.invoked_subcommand} --out DIR"
            raise typer.BadParameter(f"options stand after the command, as in: {example}")
    else:
        built = _build(CATALOGUE, options)
        write_checksums([table.path for table in built], out)


@app.command(
    epilog="Example: build-tables game tictactoe.py; build-tables game nim.py:Nim --set heaps=3"
)
def game(
    source: GameArgument,
    settings: SetOption = None,
    out: OutOption = TABLES,
    engine: BuildEngineOption = None,
    scheduler: SchedulerOption = None,
    store: StoreOption = None,
    workers: WorkersOption = None,
    max_memory: MaxMemoryOption = None,
    force: ForceFlag = False,
    as_json: JsonFlag = False,
) -> None:
    """Build the table of a game of your own: a class in a Python file, which is run.

    An installed game is named by its name alone. TUTORIAL.md shows how to write one.
    """
    own = _own_game(source, settings)
    _build([own], Options(out, engine, scheduler, store, workers, max_memory, force, as_json))


@app.command(epilog="Example: build-tables check tictactoe.py")
def check(source: GameArgument, settings: SetOption = None, as_json: JsonFlag = False) -> None:
    """Does a game keep the contract? Explains the first failure, or says what was looked at."""
    own = _own_game(source, settings)
    with Progress.on_terminal().stage(f"{own.table_name}: check", "checks") as report:
        checked = check_thoroughly(own, report)
    if as_json:
        print_json({"table": own.table_name, "ok": True, **checked._asdict()})
        return
    typer.echo(f"{own.table_name}: {checked}")


def _own_game(source: str, settings: list[str] | None) -> Game:
    """The game of a class with the parameters that `--set` gives."""
    given: dict[str, str] = {}
    for setting in settings or ():
        name, equals, value = setting.partition("=")
        if not equals or not name:
            raise typer.BadParameter(f"--set {setting!r}: expected NAME=VALUE, as in --set rows=3")
        given[name.strip().replace("-", "_")] = value.strip()
    game = with_settings(load_game(source), given)
    check_declarations(game)  # before anything is estimated
    return game


@app.command("list", epilog="Example: build-tables list; build-tables list clock-7-4 --json")
def list_tables(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="[TABLE]...", help="Names of any tables; default: a choice of them."),
    ] = None,
    out: OutOption = TABLES,
    as_json: JsonFlag = False,
) -> None:
    """What can be built, and what it takes: positions, memory and a rough time.

    Positions count the indices of a table, a few of which are holes in some games.
    """
    if names:
        chosen = {"tables": [_estimate(find_game(name), out) for name in names]}
    else:
        chosen = {
            "default": [_estimate(game, out) for game in CATALOGUE],
            "larger": [_estimate(game, out) for game in LARGER],
        }
    if as_json:
        games = {name: _usage(game) for name, game in GAMES.items()}
        print_json({**chosen, "games": games, "installed": installed_games()})
        return
    titles = {"tables": "tables", "default": "default set", "larger": "larger ones, for example"}
    for kind, tables in chosen.items():
        typer.echo(f"{titles[kind]} (* is in '{out}'):")
        for table in tables:
            _print_estimate(table)
    if not names:
        typer.echo("games:")
        for game in GAMES.values():
            typer.echo(f"   {_usage(game)}")
            typer.echo(f"       {inspect.getdoc(game)}")
        typer.echo("games of your own, and installed ones:")
        for name in ("FILE.py", *installed_games()):
            typer.echo(f"   build-tables game {name} [--set NAME=VALUE]")


def _estimate(game: Game, out: Path) -> dict[str, Any]:
    if game.size >= BEYOND:
        raise BuildError(f"{game.table_name} is larger than any machine: there is nothing to estimate")
    needs = estimate(game, out)
    return {
        "table": game.table_name,
        "positions": game.size,
        "memory_bytes": needs.memory,
        "disk_bytes": needs.disk,
        "seconds": round(rough_seconds(game), 1),
        "built": SearchedFolder(out, GIVEN).file_of(game.table_name) is not None,
        "command": game.build_command,
    }


def _print_estimate(table: dict[str, Any]) -> None:
    mark = "*" if table["built"] else " "
    seconds = table["seconds"]
    time = (
        "< 1 s" if seconds < 1 else f"{seconds:,.0f} s" if seconds < 120 else f"{seconds / 60:,.0f} min"
    )
    typer.echo(
        f" {mark} {table['table']:<20} {table['positions']:>14,} positions "
        f"{sized(table['memory_bytes']):>9} {time:>7}   {table['command']}"
    )


def _usage(game: type[Game]) -> str:
    """The command of a game with the options it takes."""
    words = ["build-tables", *game.command()]
    for one in game.declared_parameters():
        flag = f"--{one.name.replace('_', '-')}"
        word = flag if one.type is bool else f"{flag} N"
        words.append(word if one.default is None else f"[{word}]")
    return " ".join(words)


def _build(games: Iterable[Game], options: Options) -> list[Built]:
    """Build tables one after the other; say of each what it needs, and print a line for it."""
    builds = _on_cluster if options.engine == BuildEngine.DASK else _here
    tables: list[Built] = []
    for built in builds(list(games), options):
        tables.append(built)
        if not options.as_json:
            state = "built" if built.changed else "unchanged"
            typer.echo(
                f"{built.path}: {built.info.positions:,} positions, "
                f"{bytes_at(built.path):,} bytes, {state} in {built.seconds:.1f} s"
            )
    if options.as_json:
        print_json([_built_fields(built) for built in tables])
    return tables


def _here(games: Sequence[Game], options: Options) -> Iterator[Built]:
    """Build tables on this machine."""
    engine = Engine(options.engine) if options.engine else None
    out, max_memory, force = options.out, options.max_memory, options.force
    for flag in ("scheduler", "store", "workers"):
        if getattr(options, flag) is not None:
            raise typer.BadParameter(f"--{flag} is for --engine dask, which was not asked for")
    progress = Progress.on_terminal()
    for game in games:
        _warn_of_slowness(game)
        needs = estimate(game, out, engine, max_memory)
        needs.require(force=force)
        typer.echo(needs, err=True)
        yield build_table(
            game, out, engine=engine, progress=progress, max_memory=max_memory, force=force
        )


def _warn_of_slowness(game: Game) -> None:
    if game.work >= WORTH_COMPILING and not has_numba():
        hint = "building without numba, about ten times slower: see extra 'fast' in the README"
        typer.echo(f"{game.table_name}: {hint}", err=True)


def _on_cluster(games: Sequence[Game], options: Options) -> Iterator[Built]:
    """Build tables on a Dask cluster."""
    if options.workers is not None and options.workers < 1:
        raise InvalidParameterError("workers", options.workers, "1 or more")
    if options.workers is not None and options.scheduler is not None:
        raise typer.BadParameter("--workers is for a cluster of this machine, not for --scheduler")
    with of_the_extra("cluster", "--engine dask"):  # which is slow to import
        from builder.cluster.build import ClusterBuild, needed_here
        from builder.cluster.engine import ClusterOptions
    command = shlex.join(["build-tables", *sys.argv[1:]])
    build = ClusterBuild(
        ClusterOptions(options.scheduler, options.store, options.workers, command),
        Progress.on_terminal(),
        options.max_memory,
        options.force,
        say=lambda line: typer.echo(line, err=True),
    )
    for game in games:  # what cannot be done is said before a cluster is started for it
        build.prepared(game, options.out)
    with build.connected() as cluster:
        for game in games:
            _warn_of_slowness(game)
            typer.echo(needed_here(game, options.out, options.max_memory), err=True)
            yield build.table_on(cluster, game, options.out)


def _built_fields(built: Built) -> dict[str, Any]:
    info = built.info
    return {
        "table": info.name,
        "file": str(built.path),
        "parameters": json.loads(info.parameters),
        "positions": info.positions,
        "counts": {"win": info.wins, "draw": info.draws, "loss": info.losses},
        "longest_remoteness": info.longest_remoteness if info.longest_remoteness >= 0 else None,
        "digest": built.digest,
        "changed": built.changed,
        "seconds": round(built.seconds, 3),
    }


def _game_command(game: type[Game]) -> Callable[..., None]:
    """A command that builds a game, with an option for each of its parameters."""

    def command(**values: Any) -> None:
        options = Options(**{name: values.pop(name) for name in _OPTIONS})
        _build([game(**values)], options)

    def parameter(name: str, annotation: Any, default: Any) -> inspect.Parameter:
        kind = inspect.Parameter.KEYWORD_ONLY
        return inspect.Parameter(name, kind, default=default, annotation=annotation)

    parameters = []
    for one in game.declared_parameters():
        flag = f"--{one.name.replace('_', '-')}"
        if one.type is bool:
            annotation: Any = Annotated[bool, typer.Option(flag, help=one.help)]
        else:
            annotation = Annotated[
                int, typer.Option(flag, help=one.help, parser=whole_number, metavar="N")
            ]
        default = inspect.Parameter.empty if one.default is None else one.default
        parameters.append(parameter(one.name, annotation, default))
    defaults = Options()._asdict()
    parameters += [parameter(name, kind, defaults[name]) for name, kind in _OPTIONS.items()]
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]  # typer reads it
    command.__annotations__ = {one.name: one.annotation for one in parameters}
    command.__doc__ = inspect.getdoc(game)
    return command


def _group(words: tuple[str, ...]) -> typer.Typer:
    """The group of commands with these words, made when first asked for."""
    if not words:
        return app
    if words not in _groups:
        names = [game.command()[-1] for game in GAMES.values() if game.command()[:-1] == words]
        _groups[words] = application(f"Build a table of {' '.join(words)}: {', '.join(names)}.")
        _group(words[:-1]).add_typer(_groups[words], name=words[-1])
    return _groups[words]


_groups: dict[tuple[str, ...], typer.Typer] = {}
for _game in GAMES.values():
    _examples = [game.build_command for game in CATALOGUE if isinstance(game, _game)]
    _group(_game.command()[:-1]).command(
        _game.command()[-1], epilog=f"Example: {(*_examples, _usage(_game))[0]}"
    )(_game_command(_game))


def main() -> None:
    """The entry point of the `build-tables` command."""
    warnings.simplefilter("always", InterpretedWarning)
    warnings.showwarning = lambda message, *_, **__: print_warning(str(message))
    run(app, "build-tables")


if __name__ == "__main__":
    main()
