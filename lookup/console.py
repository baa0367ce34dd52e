"""What both commands share: running them, and turning every error into one line and an exit code."""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING, Annotated, Any, NoReturn, TypeAlias

import typer

from lookup.errors import CallerError, EndtableError

if TYPE_CHECKING:
    from collections.abc import Sequence

MISTAKE, FAILURE = 2, 1

JsonFlag: TypeAlias = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]


def application(summary: str) -> typer.Typer:
    """A command with subcommands."""
    return typer.Typer(
        help=summary,
        add_completion=False,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )


def run(app: typer.Typer, name: str, arguments: Sequence[str] | None = None) -> NoReturn:
    """Run a command and exit: 0 if all went well, 2 for a user's mistake, 1 for a failure."""
    try:
        code = app(args=arguments, prog_name=name, standalone_mode=False)
    except EndtableError as error:
        _fail(str(error), exit_code(error))
    except BrokenPipeError:
        # The reader of our output has gone; what is still buffered must not raise once more.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(FAILURE)
    except MemoryError:
        _fail("not enough memory", FAILURE)
    except Exception as error:
        # typer's own errors (an unknown option, a bad value) share no public base class.
        if hasattr(error, "format_message"):
            _fail(f"{error.format_message()} (see {name} --help)", MISTAKE)
        if os.environ.get("ENDTABLE_DEBUG"):
            raise
        kind = type(error).__name__
        _fail(f"{kind}: {error} (a fault of ours; ENDTABLE_DEBUG=1 shows where)", FAILURE)
    sys.exit(code if isinstance(code, int) else 0)


def print_json(value: Any) -> None:
    """Print a value as JSON."""
    typer.echo(json.dumps(value, indent=2))


def print_error(message: str) -> None:
    """Print an error as one line."""
    typer.echo(f"error: {' '.join(message.split())}", err=True)


def exit_code(error: EndtableError) -> int:
    """The exit code that an error calls for."""
    return MISTAKE if isinstance(error, CallerError) else FAILURE


def _fail(message: str, code: int) -> NoReturn:
    print_error(message)
    sys.exit(code)
