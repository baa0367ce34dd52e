"""What several commands of `build-tables` take."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from builder.compile import Engine
from builder.limits import bytes_from_text
from lookup.console import whole_number

OutOption: TypeAlias = Annotated[
    Path, typer.Option("--out", metavar="DIR", help="The folder for the tables.")
]


class BuildEngine(StrEnum):
    """What solves a game: the rules compiled or interpreted on this machine, or a cluster."""

    NUMBA = "numba"
    PYTHON = "python"
    DASK = "dask"


BuildEngineOption: TypeAlias = Annotated[
    BuildEngine | None,
    typer.Option(
        "--engine", help="What runs the rules, or a Dask cluster; default: whatever is faster."
    ),
]
SchedulerOption: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--scheduler",
        metavar="ADDRESS",
        help="For --engine dask: its scheduler, as in tcp://host:8786; default: one of this machine.",
    ),
]
StoreOption: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--store",
        metavar="URL",
        help="For --engine dask: where workers keep what is finished, a folder that all share or as in "
        "s3://bucket/folder; default: beside the table.",
    ),
]
WorkersOption: TypeAlias = Annotated[
    int | None,
    typer.Option(
        "--workers",
        metavar="N",
        parser=whole_number,
        help="For --engine dask and no scheduler: how many processes; default: one for each core.",
    ),
]
EngineOption: TypeAlias = Annotated[
    Engine | None, typer.Option(help="What runs the rules; default: whatever is faster.")
]
MaxMemoryOption: TypeAlias = Annotated[
    int | None,
    typer.Option(
        "--max-memory",
        metavar="SIZE",
        parser=bytes_from_text,
        help="Use no more memory, such as 8G or 500M.",
    ),
]
ForceFlag: TypeAlias = Annotated[
    bool, typer.Option("--force", help="Try even if it does not seem to fit in memory or on the disk.")
]
GameArgument: TypeAlias = Annotated[
    str,
    typer.Argument(metavar="FILE.py[:Class]", help="A class in a file; or an installed game."),
]
SetOption: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="NAME=VALUE", help="A parameter of the game; may be repeated."),
]
TABLES = Path("tables")
"""The folder that tables are built into, unless `--out` names another."""
