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
from lookup.games.sources import failed_at, is_of_own_game, said
from lookup.manifest import MANIFEST, PARTS_SUFFIX
from lookup.tablebase import SUFFIX, open_tablebase

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from types import FrameType

MISTAKE, FAILURE, INTERRUPTED, TERMINATED = 2, 1, 130, 143
_LONGEST_MESSAGE = 1000
_SOON = 0.01  # seconds

JsonFlag: TypeAlias = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]
TableArgument: TypeAlias = Annotated[
    str, typer.Argument(metavar="TABLE", help="A table's name, or the path of its file or folder.")
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
        with _ended_in_order() as was_terminated:
            code = app(args=arguments, prog_name=name, standalone_mode=False)
    except BrokenPipeError:
        # The reader of our output has gone; what is still buffered must not raise once more.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(FAILURE)
    except BaseException as error:  # noqa: BLE001 - all but signals is told, or raised again
        if not _is_of_signal(error):
            _tell(error, name)
        code = INTERRUPTED
    if code == INTERRUPTED:
        # Threads that must end first may take a while: who is tired of waiting gets no traceback.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        if was_terminated():
            _fail("terminated", TERMINATED)
        _fail("interrupted", INTERRUPTED)
    sys.exit(code if isinstance(code, int) else 0)


def _tell(error: BaseException, name: str) -> NoReturn:
    """Say in one line what a command raised, and exit; what is no error at all is raised again."""
    if isinstance(error, EndtableError):
        _fail(str(error), exit_code(error))
    if isinstance(error, MemoryError):
        _fail("not enough memory", FAILURE)
    if not isinstance(error, Exception) and not is_of_own_game(error):
        raise error
    # typer's own errors (an unknown option, a bad value) share no public base class.
    if hasattr(error, "format_message"):
        _fail(f"{_shortened(error.format_message())} (see {name} --help)", MISTAKE)
    if os.environ.get("ENDTABLE_DEBUG"):
        raise error
    if is_of_own_game(error):
        _fail(f"{failed_at(error)} fails: {said(error)}", FAILURE)
    _fail(f"{said(error)} (a fault of ours; ENDTABLE_DEBUG=1 shows where)", FAILURE)


@contextmanager
def _ended_in_order() -> Iterator[Callable[[], bool]]:
    """Makes of SIGTERM what SIGINT is, and lets neither be lost; a second SIGTERM ends at once.

    What comes tells whether it was SIGTERM.
    """
    terminated = False

    def end(number: int, _frame: FrameType | None) -> None:
        nonlocal terminated
        terminated = True
        signal.signal(number, signal.SIG_DFL)
        raise KeyboardInterrupt

    def lost(unraisable: sys.UnraisableHookArgs) -> None:
        """A signal came where exceptions are passed over, as in callbacks of HDF5: it comes again."""
        if unraisable.exc_type is not KeyboardInterrupt:
            if not terminated:  # what was half made then, as a ZipFile, may complain that it is
                hook(unraisable)
            return
        if terminated:
            signal.signal(signal.SIGTERM, end)
        number = signal.SIGTERM if terminated else signal.SIGINT
        threading.Timer(_SOON, os.kill, (os.getpid(), number)).start()

    # Others may have their own ways, and only the main thread may change them.
    ours = threading.current_thread() is threading.main_thread()
    if not ours or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        yield lambda: False
        return
    hook, sys.unraisablehook = sys.unraisablehook, lost
    signal.signal(signal.SIGTERM, end)
    try:
        yield lambda: terminated
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        if not terminated:
            sys.unraisablehook = hook


def _is_of_signal(error: BaseException | None) -> bool:
    """Whether an error came from SIGINT or SIGTERM, of which HDF5 may make something else."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__context__
    return error is not None


def find_file(table: str, directories: list[Path] | None = None) -> Path:
    """The file of a table, or its folder, given by path, if it looks like one, else by name.

    Names are looked for in `./tables` first if no folder is given: what was built here is found here.

    Raises:
        MissingTableError: no table of that name.
    """
    if table.endswith((SUFFIX, PARTS_SUFFIX, MANIFEST)) or Path(table).name != table:
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


def _shortened(message: str) -> str:
    """A message that repeats what was typed, which may be long, without its middle."""
    half = _LONGEST_MESSAGE // 2
    return message if len(message) <= _LONGEST_MESSAGE else f"{message[:half]}...{message[-half:]}"


def _fail(message: str, code: int) -> NoReturn:
    print_error(message)
    sys.exit(code)
