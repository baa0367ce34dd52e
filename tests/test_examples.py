"""The example games: every record against a twin that knows the rules in words, and published counts.

The twins use strings, sets of coordinates and matrices; from the examples they take only texts, or for
the endgame the order of the index.
"""

from __future__ import annotations

import itertools
from collections import Counter, deque
from functools import cache, reduce
from operator import xor
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import lookup
from builder.build import build_table
from builder.thorough import check_thoroughly
from builder.verify import verify_file
from lookup import Outcome
from lookup.games.examples.cram import Cram
from lookup.games.loading import installed_game, installed_games
from tests.conftest import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

Found = dict[str, tuple[Outcome, int | None]]
EXAMPLES = ROOT / "lookup" / "games" / "examples"
SMALL = [
    "tic-tac-toe", "nim-20", "kayles-20", "cram-3-3-0", "cram-2-4-1", "domineering-3-3",
    "three-mens-morris-1", "krk", "eight-puzzle",
]  # fmt: skip


def test_every_example_is_announced() -> None:
    files = {path.stem for path in EXAMPLES.glob("*.py")} - {"__init__"}
    announced = {game.__module__ for name in installed_games() if (game := installed_game(name))}
    assert {f"lookup.games.examples.{file}" for file in files} <= announced


@pytest.mark.parametrize("name", SMALL)
def test_the_table_passes_its_own_proofs(name: str, built: Callable[[str], Path]) -> None:
    check_thoroughly(lookup.find_game(name), lambda _, __: None)
    verify_file(built(name))


def records(path: Path) -> Found:
    """All of a table, by text."""
    with lookup.open_table(path) as table:
        game = table.game
        found = {}
        for index in range(game.size):
            if game.is_position(index):
                value = table.probe_index(index)
                found[game.format(index)] = value.outcome, value.remoteness
    return found


# --- games that end: recursion ------------------------------------------------------------------------


def better(options: Iterable[tuple[Outcome, int | None]]) -> tuple[Outcome, int | None]:
    """The value of a position from those of its options: win soon, else draw, else lose late."""
    plies: dict[Outcome, list[int]] = {end: [] for end in (Outcome.WIN, Outcome.DRAW, Outcome.LOSS)}
    for end, left in options:
        plies[-end].append(0 if left is None else left + 1)
    if plies[Outcome.WIN]:
        return Outcome.WIN, min(plies[Outcome.WIN])
    if plies[Outcome.DRAW]:
        return Outcome.DRAW, None
    return Outcome.LOSS, max(plies[Outcome.LOSS])


def rows_of_three(cells: str) -> list[str]:
    rows = [cells[:3], cells[3:6], cells[6:]]
    columns = [cells[at::3] for at in range(3)]
    return [*rows, *columns, cells[0::4], cells[2:7:2]]


def test_tic_tac_toe(built: Callable[[str], Path]) -> None:
    found: Found = {}

    def play(cells: str, mover: str, other: str) -> tuple[Outcome, int | None]:
        text = "/".join([cells[:3], cells[3:6], cells[6:]])
        if text not in found:
            if other * 3 in rows_of_three(cells):
                found[text] = Outcome.LOSS, 0
            elif "." not in cells:
                found[text] = Outcome.DRAW, None
            else:
                free = [at for at in range(9) if cells[at] == "."]
                after = [cells[:at] + mover + cells[at + 1 :] for at in free]
                found[text] = better([play(one, other, mover) for one in after])
        return found[text]

    play("." * 9, "x", "o")
    assert len(found) == 5478, "the number of legal positions, as often published"
    assert records(built("tic-tac-toe")) == found


def turned(text: str) -> Iterator[str]:
    """A 3 x 3 text from eight sides."""
    rows = text.split("/")
    for _ in range(4):
        rows = ["".join(column) for column in zip(*rows[::-1], strict=True)]
        yield "/".join(rows)
        yield "/".join(row[::-1] for row in rows)


def test_tic_tac_toe_up_to_symmetry(built: Callable[[str], Path]) -> None:
    found = records(built("tic-tac-toe"))
    classes = {min(turned(text)): value for text, value in found.items()}
    assert len(classes) == 765, "the number of essentially different positions, as often published"
    openings = [end for text, (end, _) in classes.items() if text.count(".") == 7]
    counts = Counter(openings)
    # Dudeney, 536 Puzzles: seven bad first answers, and five that draw.
    assert counts == {Outcome.WIN: 7, Outcome.DRAW: 5}


Cell = tuple[int, int]


def cells_of(text: str) -> frozenset[Cell]:
    rows = text.split("/")
    return frozenset((r, c) for r, row in enumerate(rows) for c in range(len(row)) if row[c] == ".")


def options(empty: frozenset[Cell], *steps: Cell) -> list[frozenset[Cell]]:
    pairs = [{(r, c), (r + dr, c + dc)} for r, c in empty for dr, dc in steps]
    return [empty - pair for pair in pairs if pair <= empty]


@pytest.mark.parametrize("misere", [0, 1])
@pytest.mark.parametrize("board", ["1-6", "2-3", "3-4", "5-2"])
def test_cram(board: str, misere: int, built: Callable[[str], Path]) -> None:
    @cache
    def play(empty: frozenset[Cell]) -> tuple[Outcome, int | None]:
        after = options(empty, (0, 1), (1, 0))
        if not after:
            return (Outcome.WIN if misere else Outcome.LOSS), 0
        return better([play(one) for one in after])

    for text, value in records(built(f"cram-{board}-{misere}")).items():
        assert play(cells_of(text)) == value, text


class CramValues(Cram):
    """The same boards as sums, which normal play allows."""

    name = "cram-values"
    solver = "grundy"


@pytest.mark.parametrize(
    ("rows", "values"),
    [
        (1, {1: 0, 2: 1, 3: 1, 4: 2, 5: 0, 6: 3}),  # Dawson's Kayles: OEIS A002187, one place further
        (2, {2: 0, 4: 0, 6: 0}),  # Gardner's symmetry
        (4, {4: 0, 5: 2}),  # github.com/beling/impartial-games, which goes on to 7 x 9
    ],
)
def test_nim_values_of_cram(rows: int, values: dict[int, int], tmp_path: Path) -> None:
    for cols, value in values.items():
        game = CramValues(rows, cols)
        build_table(game, tmp_path)
        with lookup.open_table(tmp_path / f"{game.table_name}.h5", game=CramValues) as table:
            assert table.probe_index(game.start).grundy == value


@pytest.mark.parametrize("board", ["1-4", "4-1", "2-5", "3-4", "4-3"])
def test_domineering(board: str, built: Callable[[str], Path]) -> None:
    @cache
    def play(empty: frozenset[Cell], side: str) -> tuple[Outcome, int | None]:
        after = options(empty, (1, 0) if side == "V" else (0, 1))
        if not after:
            return Outcome.LOSS, 0
        return better([play(one, "H" if side == "V" else "V") for one in after])

    for text, value in records(built(f"domineering-{board}")).items():
        rows, side = text.split(" ")
        assert play(cells_of(rows), side) == value, text


def test_a_domineering_board_on_its_side_has_the_players_swapped(built: Callable[[str], Path]) -> None:
    found = records(built("domineering-3-4"))
    for text, value in records(built("domineering-4-3")).items():
        rows, side = text.split(" ")
        turned = "/".join("".join(column) for column in zip(*rows.split("/"), strict=True))
        assert found[f"{turned} {'H' if side == 'V' else 'V'}"] == value


# --- sums ---------------------------------------------------------------------------------------------


def least_missing(values: Iterable[int]) -> int:
    reached = set(values)
    return next(value for value in itertools.count() if value not in reached)


def test_nim_is_bouton_s(built: Callable[[str], Path]) -> None:
    with lookup.open_table(built("nim-20")) as table:
        for heap in range(21):
            end = (Outcome.WIN, 1) if heap else (Outcome.LOSS, 0)
            assert table.probe(str(heap)) == lookup.Value(*end, heap)
        for heaps in itertools.product(range(1, 8), repeat=3):
            value = table.probe(" + ".join(map(str, heaps)))
            assert value.grundy == heaps[0] ^ heaps[1] ^ heaps[2]
            assert value.outcome == (Outcome.WIN if value.grundy else Outcome.LOSS)
        best = table.best("3 + 4 + 5")
        assert best is not None
        assert (best.text, best.position) == ("3: take 2", "1 + 4 + 5")


KAYLES = """
    0 1 2 3 1 4 3 2 1 4 2 6 4 1 2 7 1 4 3 2 1 4 6 7 4 1 2 8 5 4 7 2 1 8 6 7 4 1 2 3 1 4 7 2 1 8 2 7 4
    1 2 8 1 4 7 2 1 4 2 7 4 1 2 8 1 4 7 2 1 8 6 7 4 1 2 8 1 4 7 2 1 8 2 7 4 1 2 8 1 4 7 2 1 8 2 7 4 1
    2 8 1 4 7 2 1
"""  # OEIS A002186


def test_kayles(built: Callable[[str], Path], tables: lookup.Tablebase) -> None:
    @cache
    def play(row: str) -> int:
        """The value of a row of pins, by striking out one or two."""
        struck = [
            row[:at] + " " + row[at + taken :] for taken in (1, 2) for at in range(len(row) - taken + 1)
        ]
        return least_missing(reduce(xor, map(play, rows.split()), 0) for rows in struck)

    published = [int(value) for value in KAYLES.split()]
    with lookup.open_table(built("kayles-104")) as table:
        values = [table.probe(str(pins)).grundy for pins in range(105)]
        assert values == published
        assert all(values[n] == values[n + 12] for n in range(71, 93))
        assert values[70] != values[82]
        assert [play("|" * pins) for pins in range(41)] == values[:41]
        sticks = tables["sticks-run-1-2"]
        assert all(sticks.probe("|" * pins).grundy == values[pins] for pins in range(1, 105))
        assert table.probe("5 + 5").outcome is Outcome.LOSS


# --- play that need not end: backwards from the ends -------------------------------------------------


def backwards(moves: dict[str, list[str]], lost: Iterable[str]) -> Found:
    """Values of all positions, from their moves and those that are lost at once."""
    before: dict[str, list[str]] = {}
    for position, after in moves.items():
        for one in after:
            before.setdefault(one, []).append(position)
    found: Found = dict.fromkeys(lost, (Outcome.LOSS, 0))
    left = {position: len(after) for position, after in moves.items()}
    queue = deque(found)
    while queue:
        position = queue.popleft()
        end, plies = found[position]
        assert plies is not None
        for one in before.get(position, []):
            left[one] -= 1
            if one not in found and (end is Outcome.LOSS or left[one] == 0):
                found[one] = -end, plies + 1
                queue.append(one)
    return {position: found.get(position, (Outcome.DRAW, None)) for position in moves}


NEXT = {0: "13", 1: "024", 2: "15", 3: "046", 4: "1357", 5: "248", 6: "37", 7: "468", 8: "57"}
DIAGONAL = {0: "4", 2: "4", 4: "0268", 6: "4", 8: "4"}


def morris_positions() -> Iterator[tuple[str, str, str]]:
    """Boards of up to three pieces each, and who may be to move."""
    for cells in map("".join, itertools.product(".xo", repeat=9)):
        xs, os = cells.count("x"), cells.count("o")
        if xs <= 3 and xs - os in (0, 1):
            movers = "xo" if xs == os == 3 else "xo"[xs - os]
            for mover in movers:
                if mover * 3 not in rows_of_three(cells):
                    yield cells, mover, "o" if mover == "x" else "x"


@pytest.mark.parametrize("diagonals", [0, 1])
def test_three_mens_morris(diagonals: int, built: Callable[[str], Path]) -> None:
    def text(cells: str, mover: str) -> str:
        return f"{cells[:3]}/{cells[3:6]}/{cells[6:]} {mover}"

    def put(cells: str, at: int, piece: str) -> str:
        return cells[:at] + piece + cells[at + 1 :]

    moves: dict[str, list[str]] = {}
    lost = []
    for cells, mover, other in morris_positions():
        here = text(cells, mover)
        free = [at for at in range(9) if cells[at] == "."]
        mine = [at for at in range(9) if cells[at] == mover]
        if other * 3 in rows_of_three(cells):
            after = []
        elif len(mine) < 3:
            after = [put(cells, to, mover) for to in free]
        else:
            ways = {at: NEXT[at] + (DIAGONAL.get(at, "") if diagonals else "") for at in mine}
            slides = [(at, to) for at in mine for to in free if str(to) in ways[at]]
            after = [put(put(cells, at, "."), to, mover) for at, to in slides]
        moves[here] = [text(one, other) for one in after]
        if not after:
            lost.append(here)
    found = backwards(moves, lost)
    assert records(built(f"three-mens-morris-{diagonals}")) == found


def test_eight_puzzle(built: Callable[[str], Path]) -> None:
    depth = {"12345678.": 0}
    queue = deque(depth)
    while queue:
        cells = queue.popleft()
        gap = cells.index(".")
        for to in map(int, NEXT[gap]):
            low, high = sorted((gap, to))
            after = cells[:low] + cells[high] + cells[low + 1 : high] + cells[low] + cells[high + 1 :]
            if after not in depth:
                depth[after] = depth[cells] + 1
                queue.append(after)
    with lookup.open_table(built("eight-puzzle")) as table:
        indices = [table.game.parse(f"{cells[:3]}/{cells[3:6]}/{cells[6:]}") for cells in depth]
        values = table.probe_many(indices)
    assert len(set(indices)) == len(depth) == 181_440
    assert (values.outcome == Outcome.WIN).all()
    assert values.remoteness is not None
    assert values.remoteness.tolist() == list(depth.values())
    assert np.bincount(values.remoteness).tolist() == [
        1, 2, 4, 8, 16, 20, 39, 62, 116, 152, 286, 396, 748, 1024, 1893, 2512, 4485, 5638, 9529, 10878,
        16993, 17110, 23952, 20224, 24047, 15578, 14560, 6274, 3910, 760, 221, 2,
    ]  # fmt: skip  # OEIS A089473


# --- king and rook against king: matrices over the squares -------------------------------------------


def king_and_rook() -> tuple[Any, Any, Any, Any]:
    """Won with White to move and lost with Black to move in how many plies, else -1; legal positions.

    Arrays over the squares of the white king, the rook, the black king.
    """
    squares = list(itertools.product(range(8), repeat=2))
    near = np.array([[max(abs(a - c), abs(b - d)) <= 1 for c, d in squares] for a, b in squares])
    step = near & ~np.eye(64, dtype=bool)
    hits = np.zeros((64, 64, 64), bool)  # the rook attacks a square, the white king being in the way
    for king, rook in itertools.permutations(range(64), 2):
        for down, across in ((1, 0), (-1, 0), (0, 1), (0, -1)):
            row, column = squares[rook][0] + down, squares[rook][1] + across
            while (row, column) in squares[:king] + squares[king + 1 :]:
                hits[king, rook, 8 * row + column] = True
                row, column = row + down, column + across
    apart = ~near[:, None, :] & ~np.eye(64, dtype=bool)[:, :, None]
    black = apart & ~np.eye(64, dtype=bool)[None, :, :]
    white = black & ~hits
    safe = apart & ~hits  # where the black king may go, the rook's square being one of them
    can_move = reaches(safe, step)
    lost = black & hits & ~can_move
    won = np.zeros_like(lost)
    won_in, lost_in = np.full(won.shape, -1), np.where(lost, 0, -1)
    plies, newly_won = -1, white
    while newly_won.any():
        plies += 2
        by_king = reaches(lost.transpose(1, 2, 0), step).transpose(2, 0, 1)
        by_rook = np.stack([reaches(lost[king].T, hits[king].T).T for king in range(64)])
        newly_won = white & (by_king | by_rook) & ~won
        won |= newly_won
        won_in[newly_won] = plies
        newly_lost = black & can_move & ~reaches(safe & ~won, step) & ~lost
        lost |= newly_lost
        lost_in[newly_lost] = plies + 1
    return won_in, lost_in, white, black


def reaches(targets: Any, step: Any) -> Any:
    """Along the last axis: whether a step leads to a target."""
    return targets.astype(np.float32) @ step.astype(np.float32) > 0


def test_king_and_rook_against_king(built: Callable[[str], Path]) -> None:
    won_in, lost_in, white, black = king_and_rook()
    with lookup.open_table(built("krk")) as table:
        values = table.probe_many(range(table.game.size))
    assert values.remoteness is not None
    outcome = values.outcome.reshape(2, 64, 64, 64)
    remoteness = values.remoteness.reshape(2, 64, 64, 64)
    for side, (plies, legal, end) in enumerate(
        [(won_in, white, Outcome.WIN), (lost_in, black, Outcome.LOSS)]
    ):
        decided = plies >= 0
        assert (outcome[side][decided] == end).all()
        assert (remoteness[side][decided] == plies[decided]).all()
        assert (outcome[side][legal & ~decided] == Outcome.DRAW).all()
    taken = np.eye(64, dtype=bool)[None, :, :] & (outcome[0] != Outcome.NOT_A_POSITION)
    assert (outcome[0][taken] == Outcome.DRAW).all()
    assert ((outcome[0] != Outcome.NOT_A_POSITION) == (white | taken)).all()
    assert ((outcome[1] != Outcome.NOT_A_POSITION) == black).all()
    assert won_in.max() == 31, "mate in 16 moves"


def test_king_and_rook_against_king_up_to_symmetry(built: Callable[[str], Path]) -> None:
    """The data set 'Chess (King-Rook vs. King)' of UCI, by Bain and van Hoff; Clarke 1977."""
    with lookup.open_table(built("krk")) as table:
        game = table.game
        everything: Any = np.arange(game.size)  # its transform takes arrays as well
        smallest = np.min([game.transform(everything, k) for k in range(8)], axis=0)
        classes = [int(index) for index in np.unique(smallest) if game.is_position(int(index))]
        values = table.probe_many([index for index in classes if index >= 64**3])
    assert values.remoteness is not None
    assert len(values.outcome) == 28_056
    assert (values.outcome == Outcome.DRAW).sum() == 2796
    moves = values.remoteness[values.outcome == Outcome.LOSS] // 2
    assert np.bincount(moves).tolist() == [
        27, 78, 246, 81, 198, 471, 592, 683, 1433, 1712, 1985, 2854, 3597, 4194, 4553, 2166, 390,
    ]  # fmt: skip
