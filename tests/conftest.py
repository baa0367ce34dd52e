from __future__ import annotations

import contextlib
import os
import shutil
import signal
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import lookup
from builder import writer
from builder.build import build_table
from builder.catalogue import CATALOGUE
from builder.solvers.solution import PackedColumn
from builder.writer import write_table
from lookup.format import CLASSES, LARGE_TABLE, OUTCOME, Column
from lookup.games.loading import installed_game, installed_games
from lookup.reader import TableFile

# Fixtures for all tests.
from tests.browser import address as address
from tests.browser import chromium as chromium
from tests.browser import complaints as complaints
from tests.browser import explorer as explorer
from tests.browser import hosting as hosting
from tests.browser import page as page
from tests.browser import profile as profile
from tests.browser import visit as visit

try:
    import fcntl
except ImportError:  # Windows: there, two processes may build the same table
    fcntl = None  # type: ignore[assignment]  # a module where there is one

if TYPE_CHECKING:
    from collections.abc import Iterator

if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    # As it is for what a shell starts in the background, and for the commands that tests interrupt.
    signal.signal(signal.SIGINT, signal.default_int_handler)

ROOT = Path(__file__).parent.parent
GOLDEN = Path(__file__).parent / "golden"


SLOW = (
    "test_cluster_real",
    "test_soak",
    "test_tutorial",
    "test_limits",
    "test_checkpoints",
    "test_catalogue",
    "test_golden",
    "test_cluster_command",
)
"""Modules that come first. Processes take tests in this order, and none is left with a long one in the
end while the others have nothing to do any more."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: item.path.stem not in SLOW)  # keeps the order otherwise


def examples() -> set[str]:
    """The names of our example games, which are installed as other people's are."""
    games = filter(None, map(installed_game, installed_games()))
    return {game.name for game in games if game.__module__.startswith("lookup.games.examples.")}


def same_values(one: lookup.Values, other: lookup.Values) -> bool:
    """Whether two batches hold the same numbers and store the same columns."""
    pairs = [
        (one.outcome, other.outcome),
        (one.remoteness, other.remoteness),
        (one.grundy, other.grundy),
    ]
    return all(a is b if a is None or b is None else bool((a == b).all()) for a, b in pairs)


Rechunk = Callable[..., Path]
"""`rechunk(source, chunk_bytes)` or `rechunk(source, chunk_bytes, only_outcomes=True)`."""


@pytest.fixture
def rechunk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Rechunk:
    """Copies a table with smaller chunks, so that a small table has as many as a huge one."""

    def copy(source: Path, chunk_bytes: int, only_outcomes: bool = False) -> Path:
        path = tmp_path / f"{chunk_bytes}-{only_outcomes}-{source.name}"
        return rechunked(source, path, chunk_bytes, monkeypatch, only_outcomes)

    return copy


def rechunked(
    source: Path,
    path: Path,
    chunk_bytes: int,
    patch: pytest.MonkeyPatch,
    only_outcomes: bool = False,
) -> Path:
    """Copies a table with smaller chunks; as long as `patch` lasts, all tables have them."""

    def smaller(column: Column, _: int) -> int:
        return min(chunk_bytes, column.nbytes)

    patch.setattr(writer, "chunk_bytes", smaller)
    file = TableFile(source)
    info, columns = file.info, []
    for name, stored in file.columns.items():
        data = file.read_elements(name, 0, stored.count)[: stored.column.length]
        if name in (OUTCOME, CLASSES) or not only_outcomes:
            columns.append(PackedColumn(stored.column, data))
    file.close()
    if only_outcomes:
        info = info._replace(longest_remoteness=-1, largest_grundy=-1)
    write_table(path, info, columns)
    return path


@pytest.fixture(scope="session", autouse=True)
def no_users_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """No test sees what a developer has fetched: not in this process, nor in one that it starts."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_DATA_HOME", str(tmp_path_factory.mktemp("data")))
        yield


@pytest.fixture(autouse=True)
def no_search_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ENDTABLE_PATH", raising=False)


@pytest.fixture(scope="session")
def tables() -> Iterator[lookup.Tablebase]:
    """The tables in the repository, and whatever else a developer has built there."""
    with lookup.open_tablebase(ROOT / "tables") as opened:
        # Opened now: a test that changes limits must not be the first to open one of them.
        for game in CATALOGUE:
            assert opened[game.table_name]
        yield opened


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """A table's file by the table's name, built when first asked for, by whichever process.

    Those in the repository are copied: test_catalogue.py sees to it that they are what would be built.
    """
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "built"
    folder.mkdir(exist_ok=True)
    shipped = {game.table_name for game in CATALOGUE}

    def build(name: str) -> Path:
        path = folder / f"{name}.h5"
        with _held(folder / f"{name}.lock"):
            if not path.exists() and name in shipped:
                shutil.copyfile(ROOT / "tables" / path.name, path)
            elif not path.exists():
                build_table(lookup.find_game(name), folder)
        return path

    return build


@contextlib.contextmanager
def _held(lock: Path) -> Iterator[None]:
    """Let nobody else in meanwhile."""
    with lock.open("w") as file:
        if fcntl:
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


SHIPPED_LEVELS = writer.LEVELS


@pytest.fixture(scope="session", autouse=True)
def quick_compression() -> Iterator[None]:
    """Level 3 and not 19, which takes most of the time of a small build and changes no value.

    test_catalogue.py builds as users do.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(writer, "LEVELS", ((LARGE_TABLE, 3),))
        yield
