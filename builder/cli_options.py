"""What several commands of `build-tables` take."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from builder.compile import Engine
from builder.limits import bytes_from_text

OutOption: TypeAlias = Annotated[
    Path, typer.Option("--out", metavar="DIR", help="The folder for the tables.")
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
