"""What both commands share: running them, and turning every error into one line and an exit code."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn, TypeAlias

import typer

from lookup.errors import CallerError, EndtableError, FailureError
from lookup.games.sources import failed_at, is_of_own_game
from lookup.tablebase import SUFFIX, open_tablebase

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from types import FrameType

MISTAKE, FAILURE, INTERRUPTED, TERMINATED = 2, 1, 130, 143
_ENDINGS = {INTERRUPTED: "interrupted", TERMINATED: "terminated"}
_SOON = 0.01  # seconds

JsonFlag: TypeAlias = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]
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


_OWN_GAME = typer.Option(
    "--game",
    metavar="FILE.py[:Class]",
    help="The rules of a game of your own: a Python file, which is run.",
)
GameOption: TypeAlias = Annotated[str | None, _OWN_GAME]
GamesOption: TypeAlias = Annotated[list[str] | None, _OWN_GAME]


def application(summary: str) -> typer.Typer:
    """A command with subcommands."""
    return typer.Typer(
        help=summary,
        add_completion=False,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )


def run(app: typer.Typer, name: str, arguments: Sequence[str] | None = None) -> NoReturn:
    """Run a command and exit: 0 if all went well, 2 for a user's mistake, 1 for a failure.

    What interrupts or terminates it lets it tidy up: temporary files go, and bars give back the cursor.
    """
    try:
        with _terminated_in_order():
            code = app(args=arguments, prog_name=name, standalone_mode=False)
    except _Terminated:
        _fail(_ENDINGS[TERMINATED], TERMINATED)
    except EndtableError as error:
        # A signal that comes while HDF5 reads a file makes it look damaged.
        if code := _signal_behind(error):
            _fail(_ENDINGS[code], code)
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
        if is_of_own_game(error):
            _fail(f"{failed_at(error)} fails: {kind}: {error}", FAILURE)
        _fail(f"{kind}: {error} (a fault of ours; ENDTABLE_DEBUG=1 shows where)", FAILURE)
    if code == INTERRUPTED:
        print_error(_ENDINGS[INTERRUPTED])
        # Threads that must end first may take a while: who is tired of waiting gets no traceback.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    sys.exit(code if isinstance(code, int) else 0)


class _Terminated(BaseException):
    """The process was asked to end."""


@contextmanager
def _terminated_in_order() -> Iterator[None]:
    """Makes an exception of SIGTERM, and lets no signal be lost; a second SIGTERM ends at once."""
    is_ending = False

    def end(number: int, _frame: FrameType | None) -> None:
        nonlocal is_ending
        is_ending = True
        signal.signal(number, signal.SIG_DFL)
        raise _Terminated

    def lost(unraisable: sys.UnraisableHookArgs) -> None:
        """A signal came where exceptions are passed over, as in callbacks of HDF5: it comes again."""
        if unraisable.exc_type not in (_Terminated, KeyboardInterrupt):
            if not is_ending:  # what was half made then, as a ZipFile, may complain that it is
                hook(unraisable)
            return
        number = signal.SIGINT
        if unraisable.exc_type is _Terminated:
            number = signal.SIGTERM
            signal.signal(number, end)
        threading.Timer(_SOON, os.kill, (os.getpid(), number)).start()

    # Others may have their own ways, and only the main thread may change them.
    ours = threading.current_thread() is threading.main_thread()
    if not ours or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        yield
        return
    hook, sys.unraisablehook = sys.unraisablehook, lost
    signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        if not is_ending:
            sys.unraisablehook = hook


def _signal_behind(error: BaseException | None) -> int | None:
    """The exit code that the signal calls for from which an error came, if it was one."""
    while error is not None:
        if isinstance(error, KeyboardInterrupt | _Terminated):
            return INTERRUPTED if isinstance(error, KeyboardInterrupt) else TERMINATED
        error = error.__context__
    return None


def find_file(table: str, directories: list[Path] | None = None) -> Path:
    """The file of a table given by path, if it looks like one, else by name.

    Names are looked for in `./tables` first if no folder is given: what was built here is found here.

    Raises:
        MissingTableError: no table of that name.
    """
    if table.endswith(SUFFIX) or Path(table).name != table:
        return Path(table)
    return open_tablebase(directories or [Path("tables")]).find(table)


@contextmanager
def of_the_extra(extra: str, command: str) -> Iterator[None]:
    """Says what to install where a package of an extra is missing that a command needs.

    Raises:
        FailureError: it is missing.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        package = (error.name or "").split(".")[0]
        if package == "lookup":
            raise
        raise FailureError(
            f"{command} needs {package!r}, which is not installed: install the extra {extra!r}, "
            f"as in pip install 'endtable[{extra}]'"
        ) from error


def whole_number(text: str) -> int:
    """The number that a user typed; typer's own message would not quote it."""
    try:
        return int(text)
    except ValueError:
        raise typer.BadParameter(f"{text!r} is not a whole number") from None


def printable(text: str) -> str:
    """A text from a file, without what would steer the terminal."""
    return "".join(one if one.isprintable() or one == "\n" else "?" for one in text)


def counted(number: int, what: str) -> str:
    """So many of something: '1 table', '13 tables'."""
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"


def print_json(value: Any) -> None:
    """Print a value as JSON."""
    typer.echo(json.dumps(value, indent=2))


def print_error(message: str) -> None:
    """Print an error as one line."""
    # What a file or a server says may be part of it.
    typer.echo(f"error: {printable(' '.join(message.split()))}", err=True)


def print_warning(message: str) -> None:
    """Print a warning as one line."""
    typer.echo(f"warning: {' '.join(message.split())}", err=True)


def exit_code(error: EndtableError) -> int:
    """The exit code that an error calls for."""
    return MISTAKE if isinstance(error, CallerError) else FAILURE


def _fail(message: str, code: int) -> NoReturn:
    print_error(message)
    sys.exit(code)
