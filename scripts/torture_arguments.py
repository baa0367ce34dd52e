"""Arguments of every type where an index is expected, and names of every kind where a table's is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from torture_wild import BrokenError, case, near_miss, require, require_sentence, shown, wild_text

import lookup

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

    from torture_texts import Playground

    from lookup import Answers, Table, Tablebase

DTYPES = (
    "u1",
    "i1",
    "u2",
    "i2",
    "u4",
    "i4",
    "u8",
    "i8",
    ">i4",
    ">u8",
    "f4",
    "f8",
    "c16",
    "?",
    "O",
    "U3",
    "m8",
)
NAMES = (
    *("tactics-4x4", "tactics-04x4", "tactics-4x4-run4", "tactics-4x4-run3-normal", "tactics-99x99"),
    *("clock-4-2", "clock-9999999-9", "clock-1000-1000000", "clock-0-0", "winners-losers-1000000"),
    *("sticks-run-1-2", "sticks-run-1-2-to2000", "sticks-any-1-10000", "sticks-special-120", "rota"),
    *(
        "rota-diameters",
        "rota-0",
        "nim-5",
        "nim-1001",
        "kayles-0",
        "tic-tac-toe",
        "krk",
        "eight-puzzle",
    ),
    *("../rota", "/etc/passwd", "tables/rota", "rota.h5", "rota\0", "C:\\rota", "~", ".", "..", "-"),
)


def number(random: Random) -> int:
    """Any whole number: small ones, and those where types end."""
    kind = random.random()
    if kind < 0.4:
        return random.randrange(-3, 3000)
    if kind < 0.9:
        return random.choice((-1, 1)) * (
            (1 << random.choice((7, 8, 15, 16, 31, 32, 63, 64, 80, 200))) + random.randrange(-2, 3)
        )
    return random.choice((10**5000, -(10**5000)))


def attempt_argument(playground: Playground) -> Callable[[Random], str]:
    """Ask for the values of what may be indices."""

    def attempt(random: Random) -> str:
        table = random.choice(playground.stored)
        if random.random() < 0.5:
            value = _single(random)
            with case(f"{table!r}, probe_index of {_described(value)}"):
                return check_single(table, value)
        values = _many(random)
        with case(f"{table!r}, probe_many of {_described(values)}"):
            return check_many(table, values)

    return attempt


def _described(value: Any) -> str:
    try:
        return shown(repr(value))
    except ValueError:  # too long to be written
        return "10**5000, or -10**5000, or a list or an array with one of them"


def _single(random: Random) -> Any:
    value = number(random)
    if random.random() < 0.4:
        return value
    odd: list[Any] = [float("nan"), float("inf"), 1.5, "3", b"3", None, [], (1,), True, 3 + 0j, object]
    if random.random() < 0.3:
        return random.choice(odd)
    return _array(random, value % 1000 if random.random() < 0.5 else value, random.choice(DTYPES))[()]


def _array(random: Random, value: Any, dtype: str) -> Any:
    try:
        return np.array(value, dtype)
    except (OverflowError, ValueError, TypeError):
        return np.array(random.randrange(100)).astype("u1" if dtype in ("m8", "U3") else dtype)


def _many(random: Random) -> Any:
    values: Any = [number(random) for _ in range(random.choice((0, 1, 2, 5)))]
    kind = random.random()
    if kind < 0.3:
        return values
    if kind < 0.4:
        return random.choice(
            ([[1], [2, 3]], None, {}, "abc", [[]], 3, [1.5], [None], iter([1]), [[1, 2], [0, 1]])
        )
    array = _array(
        random,
        values if random.random() < 0.5 else [abs(one) % 3000 for one in values],
        random.choice(DTYPES),
    )
    if kind < 0.5:
        return np.ma.masked_array(array, mask=False)
    return array.reshape(random.choice(((-1,), (1, -1), (-1, 1)))) if array.size else array


def check_single(table: Table, value: Any) -> str:
    """A whole number is answered as what it is, or refused; TypeError is for what is none.

    Raises:
        BrokenError: neither.
    """
    try:
        found = table.probe_index(value)
    except lookup.InvalidPositionError as error:
        require_sentence(error)
        return "refused"
    except TypeError:
        is_number = isinstance(value, int | np.integer) and not isinstance(value, np.timedelta64)
        require(not is_number, "a number is called none")
        return "no number"
    whole = int(value)
    require(whole == value and whole >= 0, "is answered")
    require(found == _expected(table, whole), "is answered with another value")
    kinds = {type(found.remoteness), type(found.grundy)} - {int, type(None)}
    require(not kinds, f"is answered with numbers of {kinds}")
    return "answered"


def _expected(table: Table, index: int) -> lookup.Value:
    """The value by another way: a batch of one, or a shorter row where it goes on for ever."""
    if index < table.info.size:
        values = table.probe_many([index])
        end = lookup.Outcome(int(values.outcome[0]))
        remoteness = (
            None
            if values.remoteness is None or end is lookup.Outcome.DRAW
            else int(values.remoteness[0])
        )
        return lookup.Value(end, remoteness, None if values.grundy is None else int(values.grundy[0]))
    closed = table.game.closed_form
    if closed is None or table.name.startswith("sticks-run"):
        return table.probe_index(index)
    fewest, most = table.game.parameters["min"], table.game.parameters["max"]
    periods, rest = divmod(index, fewest + most)
    grundy = rest // fewest
    won = lookup.Outcome.WIN if grundy else lookup.Outcome.LOSS
    return lookup.Value(won, 2 * periods + bool(grundy), grundy)


def check_many(table: Table, values: Any) -> str:
    """A batch is answered as each of its indices is, or refused.

    Raises:
        BrokenError: neither.
    """
    try:
        found = table.probe_many(values)
    except lookup.InvalidPositionError as error:
        require_sentence(error)
        return "a batch refused"
    given = np.asarray(values)
    require(found.outcome.shape == given.shape, "has another shape")
    for index, outcome in zip(given.ravel().tolist(), np.ravel(found.outcome).tolist(), strict=True):
        require(type(index) is int, f"{index!r} is answered")
        value = table_value(table, index)
        require(outcome == (value.outcome if value else 0), f"{index} is {outcome}, not {value}")
    return "a batch answered"


def table_value(table: Answers, index: int) -> lookup.Value | None:
    """The value of one index, None for a hole."""
    assert isinstance(table, lookup.Table)
    try:
        return table.probe_index(index)
    except lookup.InvalidPositionError as error:
        require("hole" in str(error), f"{index} is refused: {error}")
        return None


# --- names ------------------------------------------------------------------------------------------


def attempt_name(tables: Tablebase) -> Callable[[Random], str]:
    """Ask for the game and the table of any name."""

    def attempt(random: Random) -> str:
        known = random.choice(NAMES)
        kind = random.random()
        name = (
            known
            if kind < 0.15
            else near_miss(random, known)
            if kind < 0.8
            else wild_text(random, known)
        )
        with case(f"name {shown(name)}"):
            return check_name(tables, name)

    return attempt


def check_name(tables: Tablebase, name: str) -> str:
    """A name is that of one game, and a table of it lies in a folder of the search path; or of none.

    Raises:
        BrokenError: otherwise.
    """
    ends = []
    try:
        game = lookup.find_game(name)
    except (lookup.UnknownGameError, lookup.InvalidParameterError) as error:
        require_sentence(error)
        ends.append("no game")
    else:
        require(game.table_name == name, f"is the game {game.table_name!r}")
        require(game.size.bit_length() > 0 and game.build_command.isascii(), "is no game")
        ends.append("a game")
    try:
        path = tables.find(name)
    except lookup.MissingTableError as error:
        require_sentence(error)
        require(tables.get(name) is None, "get knows more than find")
        ends.append("no table")
    else:
        require(path.parent in tables.directories and path.stem == name, f"leads to '{path}'")
        ends.append("a table")
    try:
        answers = lookup.closed_form(name)
    except (lookup.UnknownGameError, lookup.InvalidParameterError) as error:
        require_sentence(error)
    else:
        require(answers.name == name or name in lookup.GAMES, f"is the formula of {answers.name!r}")
    if ends == ["no game", "a table"]:
        raise BrokenError("names a table of no game")
    return ", ".join(ends)
