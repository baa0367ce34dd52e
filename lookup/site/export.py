"""Write the explorer as a folder of files that any web server can host.

index.html, static/     the page of `lookup serve`, with another source.js, which asks files
static/rules.js         the rules of games, translated (see `translate.py`)
tables/NAME.h5          the tables, as they ship
tables/NAME.json        what a table says of itself, and of its columns
tables/NAME.chunks      where its chunks are, and the digest of each; see static/table-file.js
site.json               the names of all tables
"""

from __future__ import annotations

import json
import random
import shutil
import struct
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lookup import __version__
from lookup.atomic import put_folder_in_place, temporary_folder_beside
from lookup.disk import AT_ONCE, available_disk, bytes_at, sized
from lookup.errors import CallerError, FailureError, InvalidParameterError
from lookup.format import canonical
from lookup.games.unknown import UnknownGame
from lookup.progress import silent
from lookup.reader import TableFile
from lookup.response import info_fields
from lookup.site.expressions import UntranslatableError
from lookup.site.rules import rules_module

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from lookup.games.base import Game
    from lookup.progress import Report
    from lookup.table import Table
    from lookup.tablebase import Tablebase

SCRIPTS = Path(__file__).parent / "static"
PAGE = Path(__file__).parent.parent / "service" / "static"
ONLY_SERVED = frozenset(("index.html", "docs.html", "docs.js", "docs.css"))
INDEX = "site.json"
KIND = "endtable site"
PLACE = struct.Struct("<QI32s")
"""Where a chunk lies, how many bytes it takes there, and the SHA-256 of what it decodes to."""

SAMPLES, MOST_MOVES, MOST_PLIES = 8, 30, 100
"""Positions of each table whose moves a page compares when it opens the table, the moves that one may
have, and the plies of play in which they are looked for."""

_SCRIPT = '  <script type="module" src="static/explorer.js"></script>\n'
_NO_SCRIPT = "everything it shows is under <code>/api/tables</code>, too."


def export_site(
    tables: Tablebase,
    names: Sequence[str],
    folder: Path,
    warn: Callable[[str], None],
    report: Report = silent,
) -> int:
    """Write a site with some tables, and return its size in bytes.

    The folder appears when it is whole; one that was there, if it is a site, is kept until then. Games
    whose rules cannot be translated are shown by index, and `warn` is told why.

    Raises:
        CallerError: there is no such table, or the folder holds something else.
        FailureError: a table is damaged, or something cannot be written.
    """
    if not names:
        raise CallerError("there are no tables for the site: expected some, which build-tables makes")
    for name in names:
        if (path := tables.find(name)).is_dir():
            raise CallerError(
                f"'{path}' is a folder of parts, which no page reads: expected tables of one file"
            )
    target = folder.resolve()  # a link stays one, and "." has a name
    if target.exists() and not _may_be_replaced(target):
        raise InvalidParameterError(
            "folder", str(folder), "an empty one, or a site that was written before"
        )
    try:
        with temporary_folder_beside(target) as temporary:
            _write(tables, names, temporary, warn, report)
            size = bytes_at(temporary)
            put_folder_in_place(temporary, target)
    except OSError as error:
        raise FailureError(f"'{folder}' cannot be written: {error.strerror or error}") from None
    return size


def _may_be_replaced(folder: Path) -> bool:
    if not folder.is_dir():
        return False
    if not any(folder.iterdir()):
        return True
    try:
        index = json.loads((folder / INDEX).read_text("utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(index, dict) and index.get("kind") == KIND


def _write(
    tables: Tablebase,
    names: Sequence[str],
    folder: Path,
    warn: Callable[[str], None],
    report: Report,
) -> None:
    static, place = folder / "static", folder / "tables"
    static.mkdir()
    place.mkdir()
    games = _own_games(tables, names, warn)
    write_scripts(static, games.values())
    _write_page(folder, static)
    sizes = [tables[name].path.stat().st_size for name in names]
    _require_room(folder, sum(sizes))
    before = 0
    for name, size in zip(names, sizes, strict=True):

        def copied(done: int, before: int = before) -> None:
            report(before + done, 2 * sum(sizes))

        _write_table(tables[name], place, games, copied)
        before += 2 * size
    index = {"kind": KIND, "version": __version__, "tables": list(names)}
    _write_json(folder / INDEX, index)


def _require_room(folder: Path, needed: int) -> None:
    room = available_disk(folder)
    if room is not None and needed > room:
        raise FailureError(
            f"the tables take {sized(needed)}, and there are {sized(room)} for them: expected more room"
        )


# --- scripts --------------------------------------------------------------------------------------


def _own_games(
    tables: Tablebase, names: Iterable[str], warn: Callable[[str], None]
) -> dict[str, type[Game]]:
    """The games of the tables that are not ours, as far as their rules can be translated."""
    games: dict[str, type[Game]] = {}
    for name in names:
        kind = type(tables[name].game)
        if not kind.is_ours() and kind is not UnknownGame and kind.name not in games:
            try:
                rules_module(__version__, [kind])
            except UntranslatableError as error:
                warn(
                    f"{kind.name} is shown without its moves: {error} cannot be translated "
                    "for a page without a server"
                )
                continue
            games[kind.name] = kind
    return games


def write_scripts(folder: Path, games: Iterable[type[Game]]) -> None:
    """What a page needs to answer by itself: the rules of our games and of those given.

    Raises:
        UntranslatableError: a game is written in Python that has no translation.
    """
    for file in SCRIPTS.rglob("*"):  # not copytree, which goes on when the disk is full
        if file.is_file():
            copy = folder / file.relative_to(SCRIPTS)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, copy)
    (folder / "rules.js").write_text(rules_module(__version__, games), encoding="utf-8")


def _write_page(folder: Path, static: Path) -> None:
    for file in PAGE.iterdir():
        if file.name not in ONLY_SERVED and not (static / file.name).exists():
            shutil.copyfile(file, static / file.name)
    page = (PAGE / "index.html").read_text("utf-8")
    scripts = sorted(file.relative_to(folder).as_posix() for file in static.rglob("*.js"))
    links = [f'  <link rel="modulepreload" href="{script}">\n' for script in scripts]
    needed = "".join(link for link in links if link not in page)
    page = page.replace(_SCRIPT, needed + _SCRIPT).replace(_NO_SCRIPT, "the tables are beside it.")
    (folder / "index.html").write_text(page, encoding="utf-8")


# --- tables ---------------------------------------------------------------------------------------


def _write_table(
    table: Table, place: Path, games: dict[str, type[Game]], copied: Callable[[int], None]
) -> None:
    """Copy a table and describe it; `copied` is told of its bytes twice: copied, and checked."""
    name = table.name
    path = place / f"{name}.h5"
    with table.path.open("rb") as source, path.open("wb") as copy:
        while block := source.read(AT_ONCE):
            copy.write(block)
            copied(copy.tell())
    size = path.stat().st_size
    # What was copied is what is described, whatever stands at the path by now.
    file = TableFile(path, type(table.game))
    try:
        if file.digest != table.digest:
            raise FailureError(f"'{table.path}' was replaced while it was copied: try again")
        file.check_chunks(lambda done, total: copied(size + size * done // total))
        is_known = not isinstance(table.game, UnknownGame)
        has_rules = is_known and (table.game.is_ours() or table.game.name in games)
        info = info_fields(table)
        about = {
            "info": info if has_rules else {**info, "start": None},
            "has_rules": has_rules,
            "samples": _samples(table) if has_rules else [],
            "start": file.info.start,
            "file": _described(file),
        }
        _write_json(place / f"{name}.json", about)
        with (place / f"{name}.chunks").open("wb") as chunks:
            for _, stored in sorted(file.columns.items()):
                for at, (offset, size) in enumerate(zip(stored.offsets, stored.sizes, strict=True)):
                    chunks.write(PLACE.pack(offset, size, stored.digests[32 * at : 32 * at + 32]))
    finally:
        file.close()


def _samples(table: Table) -> list[Any]:
    """Positions of play at random with their moves: the page compares what its own rules say."""
    choice = random.Random(table.name)  # noqa: S311 - the same for everybody
    start = table.game.format(table.game.start)
    position, samples = start, list[Any]()
    for _ in range(MOST_PLIES):
        steps = table.game.moves(position)
        if len(steps) <= MOST_MOVES and len(samples) < SAMPLES:
            samples.append([position, [[step.text, step.position] for step in steps]])
        after = [step.position for step in steps if step.end is None]
        position = choice.choice(after) if after else start
    return samples


def _described(file: TableFile) -> dict[str, Any]:
    """What the reader in the page has to know of a file."""
    first, columns = 0, {}
    for name, stored in sorted(file.columns.items()):
        columns[name] = {
            "bits": stored.column.bits,
            "items": stored.column.items,
            "chunk_bytes": stored.chunk_bytes,
            "first": first,
        }
        first += stored.count
    described = {name: stored.column.attributes for name, stored in file.columns.items()}
    metadata = canonical({"table": file.info.attributes, "columns": described}).decode()
    return {
        "bytes": file.path.stat().st_size,
        "digest": file.digest,
        "metadata": metadata,
        "chunks": first,
        "columns": columns,
    }


def _write_json(path: Path, value: object) -> None:
    path.write_text(json.dumps(value, indent=1) + "\n", encoding="utf-8")
