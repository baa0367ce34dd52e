"""What `torture_builds` disturbs: commands that write tables, bundles, exports and sites.

Each case works in a folder of two: `in` is what it reads, `out` is what it writes to and what is looked
at afterwards. `before` fills both, and `run` does the work as a user's command does.
"""

from __future__ import annotations

import contextlib
import io
import shutil
import sys
import tempfile
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import typer.main

import builder.cli
import lookup.cli
import lookup.download
from builder import checkpoints
from builder.build import build_table, solver_of
from builder.bundle import write_bundle
from builder.compile import Engine
from builder.executor import execute
from builder.solvers import mask, ordered, retrograde, steps
from builder.solvers.solution import PackedColumn
from builder.writer import write_table
from lookup.console import application, run
from lookup.format import TableInfo
from lookup.games import find_game
from lookup.site.export import export_site
from lookup.tablebase import open_tablebase

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import TypeAlias

    Work: TypeAlias = Callable[[Path, str], None]
    """Works in a folder; `in` is at that address, too."""

TABLES = Path(__file__).parent.parent / "tables"
SMALL = ("tactics-3x3", "sticks-any-1-3", "clock-4-2")
"""Tables that are built within moments, and ship."""

LONG = ("tactics-2x6", "rota", "sticks-run-1-2", "sticks-special-16", "winners-losers-10", "clock-4-5")
"""One of each kind of solver; built in many shards, and kept from the first moment on."""


class Case(NamedTuple):
    """A command to disturb; `keeps` names what it may leave on purpose, to go on with."""

    before: Callable[[Path], None]
    run: Work
    keeps: tuple[str, ...] = ()


def prepare(names: Sequence[str]) -> None:
    """Make this process one in which small work goes the ways of large work, ready for some cases."""
    builder.cli.CATALOGUE = tuple(map(find_game, SMALL))  # type: ignore[attr-defined]  # imported there
    checkpoints.SHARE = float("inf")
    lookup.download.PAUSES = (0.01,) * 4
    mask._WHOLE_SCORES = 9  # noqa: SLF001 - as tests of checkpoints do
    for solver in (ordered, steps):
        solver._SLICE = 1 << 12  # type: ignore[attr-defined]  # noqa: SLF001
    steps._COMPILED_SLICE = 1 << 10  # noqa: SLF001 - small games have many shards then
    retrograde._SLICE = 1 << 12  # noqa: SLF001 - the same
    # What is compiled or imported here is there in all processes that are forked from this one.
    with tempfile.TemporaryDirectory() as folder:
        for name in SMALL:
            build_table(find_game(name), Path(folder))
        for name in LONG:
            if f"build long {name}" in names:
                build_table(find_game(name), Path(folder), engine=Engine.NUMBA)
    typer.main.get_command = cache(typer.main.get_command)
    for app, words in ((builder.cli.app, ["list", "rota"]), (lookup.cli.app, ["list"])):
        with contextlib.redirect_stdout(io.StringIO()):
            app(words, standalone_mode=False)
    if "export parquet" in names:
        import_module("lookup.export.parquet")
    import_module("lookup.fetch")


def older(name: str, path: Path) -> None:
    """Write a table as if the rules had been others: sound, with another value for the first index."""
    game = find_game(name)
    solution = execute(solver_of(game).plan(game, Engine.PYTHON))
    columns = []
    for packed in solution.columns:
        data = packed.data.copy()
        data[0] ^= packed.column.name == "remoteness"
        columns.append(PackedColumn(packed.column, data))
    write_table(path, TableInfo.describe(game, "endtable 0.0", solution.totals), columns)


# --- what was there -------------------------------------------------------------------------------


def _nothing(folder: Path) -> None:
    pass


def _old_table(folder: Path) -> None:
    older("tactics-3x3", folder / "out" / "tactics-3x3.h5")
    shutil.copy(TABLES / "rota.h5", folder / "out")  # of which nobody speaks


def _old_set(folder: Path) -> None:
    _old_table(folder)
    (folder / "out" / "SHA256SUMS").write_text(f"{'0' * 64}  tactics-3x3.h5\n")


def _old_bundle(name: str, folder: Path) -> None:
    write_bundle(folder / "out" / name, [TABLES / "rota.h5"])


def _bundles(folder: Path) -> None:
    _old_table(folder)
    for name in ("bundle", "bundle.tar", "bundle.zip"):
        write_bundle(folder / "in" / name, [TABLES / f"{one}.h5" for one in SMALL])


def _old_export(folder: Path) -> None:
    (folder / "out" / "export").write_text("what was exported before\n")


def _old_site(folder: Path) -> None:
    with open_tablebase([TABLES]) as tables:
        export_site(tables, ["clock-4-2"], folder / "out" / "site", print)


# --- what is done ---------------------------------------------------------------------------------


def _command(*words: str, folder: Path, address: str) -> None:
    """Run a command, in which FOLDER and ADDRESS stand for what they are."""
    main = {"build-tables": builder.cli.main, "lookup": lookup.cli.main}[words[0]]
    sys.argv = [one.replace("FOLDER", str(folder)).replace("ADDRESS", address) for one in words]
    main()


def _does(words: str) -> Work:
    def run(folder: Path, address: str) -> None:
        _command(*words.split(), folder=folder, address=address)

    return run


def _long_build(name: str, folder: Path, _address: str) -> None:
    app = application("A build that is long from its first moment on.")

    @app.command()
    def build() -> None:
        build_table(find_game(name), folder / "out", engine=Engine.NUMBA, patience=0, force=True)

    run(app, "build-tables", [])


BUILD = "build-tables tactics --rows 3 --cols 3 --force --out FOLDER/out"
BUNDLE = "build-tables bundle FOLDER/out/{} --table tactics-3x3 --table clock-4-2"
FETCH = "lookup fetch {} --to FOLDER/out"
EXPORT = "lookup export {} --output FOLDER/out/export"

CASES: dict[str, Case] = {
    "build new": Case(_nothing, _does(BUILD)),
    "build over": Case(_old_table, _does(BUILD)),
    "build set": Case(_old_set, _does("build-tables --force --out FOLDER/out")),
    **{
        f"build long {name}": Case(_nothing, partial(_long_build, name), (f".{name}.h5.build",))
        for name in LONG
    },
    **{
        f"bundle {name}": Case(partial(_old_bundle, name), _does(BUNDLE.format(name)))
        for name in ("folder", "bundle.tar", "bundle.zip")
    },
    "bundle new": Case(_nothing, _does(BUNDLE.format("folder"))),
    "fetch folder": Case(_bundles, _does(FETCH.format("FOLDER/in/bundle"))),
    "fetch archive": Case(_bundles, _does(FETCH.format("FOLDER/in/bundle.tar"))),
    "fetch http": Case(_bundles, _does(FETCH.format("ADDRESS/bundle")), (".fetch",)),
    "fetch http archive": Case(_bundles, _does(FETCH.format("ADDRESS/bundle.zip")), (".fetch",)),
    "fetch http broken": Case(_bundles, _does(FETCH.format("ADDRESS/broken/bundle")), (".fetch",)),
    "fetch http broken archive": Case(
        _bundles, _does(FETCH.format("ADDRESS/broken/bundle.tar")), (".fetch",)
    ),
    **{
        f"export {to}": Case(_old_export, _does(EXPORT.format(f"{table} --to {to}")))
        for to, table in (
            ("csv", "rota"), ("json", "rota"), ("npz", "rota"), ("parquet", "rota"),
            ("dot", "tactics-3x3"),
        )
    },
    "export machine": Case(
        _old_export, _does(EXPORT.format("tactics-3x3 --never-lose first --to json"))
    ),
    "site": Case(_old_site, _does("lookup export-site FOLDER/out/site tactics-3x3 --tables FOLDER/in")),
}  # fmt: skip
"""By name. All but those of new things find something older in their place."""
