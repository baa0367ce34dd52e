"""Solve the game of a finished table again, by another method, and compare whole tables.

`verify` proves that a table follows from the rules, record by record. This asks for a second opinion:
all values are found anew by a method that shares nothing with the one that built the table, nor with
the checks, but the rules themselves. Each kind of solver has its other method:

    built by                                   solved again
    mask         64 positions a word           by rounds, one for each ply: `second.rounds`
    ordered      one pass in the index order   by rounds
    retrograde   a queue backwards from the    by rounds, without symmetry and `predecessors`
                 ends, counting refutations
    distance     that queue for one player     by rounds
                 a filling of the game's own   by a search backwards from the wins: `second.search`
    grundy       sweeps over the index         depth first, move by move: `second.depth`
    heaps        sets of values, sparse spaces depth first, and a quarter further than the table if
                 and a period                  that claims a period
    steps        sets of values after a step   by listing every move: `second.listing`
"""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from builder import verify
from builder.fallback import engine_for
from builder.limits import require_memory, usable_memory
from builder.second.depth import DepthFirst
from builder.second.listing import Listing
from builder.second.rounds import Rounds
from builder.second.search import Search
from builder.solvers.solution import slices
from builder.verify import Verified, verify_file
from builder.workers import Workers
from lookup.columns import read_items
from lookup.errors import MissingGameError, VerificationError
from lookup.folder import open_reader
from lookup.format import CLASSES, GRUNDY, OUTCOME, REMOTENESS, Period, Totals
from lookup.games.unknown import UnknownGame
from lookup.progress import Progress, silent
from lookup.records import Layout
from lookup.values import Outcome, Value, Values

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from builder.compile import Engine
    from builder.second.method import Method
    from lookup.claims import Rules
    from lookup.games.base import Game, SolverKind
    from lookup.progress import Report
    from lookup.reader import TableReader

METHODS: dict[SolverKind, type[Method]] = {
    "mask": Rounds,
    "ordered": Rounds,
    "retrograde": Rounds,
    "distance": Rounds,
    "grundy": DepthFirst,
    "heaps": DepthFirst,
    "steps": Listing,
}
"""The other method for each kind of solver; `other_method` knows the exception."""

_TIMES = 4  # the work of a build that the other methods take, about
_STRETCH = 1 << 20  # indices compared at a time
_COMPARED = 40  # bytes for each of them


class Deeply(NamedTuple):
    """A table that a second method agrees with, and what that did."""

    verified: Verified
    method: str


def other_method(game: Game) -> type[Method]:
    """The method that did not build the tables of a game."""
    return Search if game.filling is not None else METHODS[game.solver]


def deep_verify(
    path: Path,
    engine: Engine | None = None,
    progress: Progress | None = None,
    memory: int | None = None,
    *,
    rules: Rules | None = None,
) -> Deeply:
    """Solve a table's game again, compare all that the table says, and `verify` it.

    In so many bytes of memory; by default, in what can be spared. `rules` are those of its game, if it
    is neither ours nor installed.

    Raises:
        VerificationError: a value, a total or the period is not what the other method finds; or what
            `verify` raises it for.
        BuildError: it does not fit in memory.
        GameError: a rule breaks the contract.
        TableFileError: the file cannot be read.
        MissingTableError: there is no such file.
        MissingGameError: its rules are not known here.
    """
    progress = progress or Progress.silent()
    memory = usable_memory() if memory is None else memory
    with closing(open_reader(path, rules)) as file:
        if isinstance(file.game, UnknownGame):
            raise MissingGameError(file.info.game, "to verify a table")
        verify.check_columns(file)
        require_memory(memory_needed(file), path.name, memory)
        with progress.stage(f"{path.stem}: solve again") as report:
            method = solve_again(file.game, engine, report)
        compare(file, method)
    words = method.words
    del method  # `verify_file` may take all of the memory
    with progress.stage(f"{path.stem}: verify") as report:
        verified = verify_file(path, engine, report, memory=memory, rules=rules)
    return Deeply(verified, words)


def memory_needed(file: TableReader) -> int:
    """The least bytes that `deep_verify` takes, without those of numba."""
    game = file.game
    compared = _COMPARED * min(game.size, _STRETCH)
    if CLASSES in file.columns:
        compared += 16 * game.size
    record_bytes = Layout.of(file).dtype.itemsize
    again = other_method(game).memory_needed(game) + compared
    return max(again, verify.memory_needed(game, record_bytes, file.known_chunks))


def solve_again(game: Game, engine: Engine | None = None, report: Report = silent) -> Method:
    """A game solved by its other method."""
    method = other_method(game)(game, engine_for(game, engine, _TIMES))
    with Workers() as workers:
        method.solve(report, workers)
    return method


# --- comparing ------------------------------------------------------------------------------------


def compare(file: TableReader, method: Method) -> None:
    """Compare every column, the totals and the period of a table with what a method has found.

    Raises:
        VerificationError: one is different.
    """
    counts, longest, largest = np.zeros(4, np.int64), 0, 0
    stored = _Stored(file)
    for low, high in slices(0, file.info.size, _STRETCH):
        found, said = method.values(low, high), stored.values(low, high)
        differ = np.zeros(high - low, np.bool_)
        for one, other in zip(said, found, strict=True):
            if one is not None:
                assert other is not None, "no method knows less than a table stores"
                differ |= one != other
        if differ.any():
            at = int(differ.argmax())
            raise VerificationError(
                _explain(file, method, low + at, _value(said, at), _value(found, at))
            )
        counts += np.bincount(found.outcome, minlength=4)
        longest = max(longest, _largest(found.remoteness))
        largest = max(largest, _largest(found.grundy))
    losses, draws, wins = (int(count) for count in counts[1:])
    totals = Totals(
        (losses, draws, wins),
        longest if REMOTENESS in file.columns else -1,
        largest if GRUNDY in file.columns else -1,
    )
    _compare_totals(file, method, totals)
    if file.info.period and isinstance(method, DepthFirst):
        _compare_beyond(file, method, stored)


class _Stored:
    """The columns of a file as they are stored, classes expanded; not put together as records."""

    def __init__(self, file: TableReader) -> None:
        self._file = file
        self._classes = read_items(file, CLASSES) if CLASSES in file.columns else None
        self._narrow = file.columns[OUTCOME].column.bits == 1
        names = file.columns if self._classes is not None else ()
        self._whole = {name: read_items(file, name) for name in names if name != CLASSES}

    def values(self, low: int, high: int) -> Values:
        """Those of a stretch of indices."""
        outcome = self._column(OUTCOME, low, high)
        assert outcome is not None
        if self._narrow:
            outcome = np.where(outcome > 0, np.uint8(Outcome.WIN), np.uint8(Outcome.LOSS))
        return Values(outcome, self._column(REMOTENESS, low, high), self._column(GRUNDY, low, high))

    def _column(self, name: str, low: int, high: int) -> NDArray[np.unsignedinteger] | None:
        if name not in self._file.columns:
            return None
        if self._classes is None:
            return read_items(self._file, name, low, high)
        return self._whole[name].take(self._classes[low:high])


def _compare_totals(file: TableReader, method: Method, found: Totals) -> None:
    """Compare what the file says of its records in all."""
    info = file.info
    right = {
        "losses": found.counts[0],
        "draws": found.counts[1],
        "wins": found.counts[2],
        "positions": sum(found.counts),
        "longest_remoteness": found.longest,
        "largest_grundy": found.largest_grundy,
    }
    for name, number in right.items():
        if (said := getattr(info, name)) != number:
            claim = f"'{file.path}' says of it that {name} is {said}"
            raise VerificationError(f"{claim}, but solved again {method.words} it is {number}")


def _compare_beyond(file: TableReader, method: DepthFirst, stored: _Stored) -> None:
    """Compare what the period says of heaps beyond the table with what they are."""
    period, size = Period.from_text(file.info.period), file.info.size
    for index in range(size, method.size):
        inside, periods = period.fold(index)
        said, found = (
            _value(stored.values(inside, inside + 1), 0),
            _value(method.values(index, index + 1), 0),
        )
        if said.remoteness is not None:
            said = said._replace(remoteness=said.remoteness + periods * period.plies)
        found = found._replace(remoteness=None) if said.remoteness is None else found
        if said != found:
            raise VerificationError(_explain(file, method, index, said, found))


def _explain(file: TableReader, method: Method, index: int, said: Value, found: Value) -> str:
    """What a table says of an index, and what the other method does."""
    text = f" ({file.game.format(index)!r})" if found.outcome else ""
    claim = f"'{file.path}' says that index {index}{text} is {_shown(said)}"
    return f"{claim}, but solved again {method.words} it is {_shown(found)}"


def _shown(value: Value) -> str:
    """A value in words; with what no draw and no hole may have, if it has it."""
    if not value.outcome:
        return "not a position" + (f" with remoteness {value.remoteness}" if value.remoteness else "")
    if value.outcome == Outcome.DRAW and not value.remoteness:
        value = value._replace(remoteness=None)
    return f"a {value}"


def _value(values: Values, at: int) -> Value:
    """One of many; with a remoteness wherever it is stored, even if it means nothing."""
    remoteness, grundy = (
        None if one is None else int(one[at]) for one in (values.remoteness, values.grundy)
    )
    return Value(Outcome(int(values.outcome[at])), remoteness, grundy)


def _largest(numbers: NDArray[np.unsignedinteger] | None) -> int:
    return -1 if numbers is None else int(numbers.max(initial=0))
