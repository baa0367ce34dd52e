"""ROTA, the Roman wheel: place three pieces each, then slide; three in a row wins at once.

Cells are numbered in reading order of the 3 x 3 picture, so the hub is cell 4. A set of cells is a
mask with bit c for cell c. Inside the rules a position is two such masks, mine and theirs.

A mover without a legal slide would lose, but it never happens. If the hub is empty, any piece may
slide there; if it is mine, it may slide to an empty point of the ring. If it is theirs, their two
ring pieces must shut in all three of mine, and so stand at both ends of a block of three; then they
are opposite, and with the hub they already have a diameter. `terminal` says it all the same.
"""

from __future__ import annotations

from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, ClassVar, Self

from lookup.errors import InvalidPositionError
from lookup.games.base import Game, IndexTest, Neighbours, SolverKind, Step, Transform
from lookup.games.parameters import parameter

if TYPE_CHECKING:
    from collections.abc import MutableSequence

LOSS = 1  # the code of Outcome.LOSS; compiled functions know only integers
CELLS, HUB, PIECES = 9, 4, 3
RING = (0, 1, 2, 5, 8, 7, 6, 3)  # clockwise from the north-west
POINTS = ("nw", "n", "ne", "w", "c", "e", "sw", "s", "se")
POWERS = (1, 3, 9, 27, 81, 243, 729, 2187, 6561)

WHEEL = """\
       n
nw {}---{}---{} ne
   | \\ | / |
 w {}---{}---{} e      c is the hub
   | / | \\ |
sw {}---{}---{} se
       s
{mover} to move"""


def _mask(*cells: int) -> int:
    return sum(1 << cell for cell in cells)


def _neighbours(cell: int) -> int:
    if cell == HUB:
        return _mask(*RING)
    at = RING.index(cell)
    return _mask(HUB, RING[at - 1], RING[(at + 1) % 8])


NEIGHBOURS = tuple(_neighbours(cell) for cell in range(CELLS))
DIAMETERS = tuple(_mask(RING[at], HUB, RING[at + 4]) for at in range(4))
ARCS = tuple(_mask(RING[at], RING[(at + 1) % 8], RING[(at + 2) % 8]) for at in range(8))


def pieces(index: int, side: int) -> int:
    """The mask of the cells whose ternary digit is `side`."""
    mask = 0
    for cell in range(CELLS):
        if index // POWERS[cell] % 3 == side:
            mask |= 1 << cell
    return mask


def number(mine: int, theirs: int) -> int:
    """The index of a position given as two masks."""
    index = 0
    for cell in range(CELLS):
        index += ((mine >> cell & 1) + 2 * (theirs >> cell & 1)) * POWERS[cell]
    return index


def count(mask: int) -> int:
    """How many cells a mask has."""
    total = 0
    while mask:
        mask &= mask - 1
        total += 1
    return total


def has_line(mask: int, lines: tuple[int, ...]) -> bool:
    """Whether a mask contains three in a row."""
    for line in lines:  # noqa: SIM110 - compiled code has no generators
        if mask & line == line:
            return True
    return False


def turn(index: int, k: int) -> int:
    """Turn the ring by k % 8 points; mirror it first for k >= 8."""
    image = index // POWERS[HUB] % 3 * POWERS[HUB]
    for at in range(8):
        to = (k - at if k >= 8 else k + at) % 8
        image += index // POWERS[RING[at]] % 3 * POWERS[RING[to]]
    return image


@lru_cache(maxsize=3 * POWERS[-1])
def _sides(index: int) -> tuple[int, int]:
    """The masks of mine and theirs; remembered, of all indices if need be."""
    return pieces(index, 1), pieces(index, 2)


class Rota(Game):
    """Place three pieces on the Roman wheel, then slide; three in a row wins, endless play draws."""

    diameters: bool = parameter(default=False, help="Only the four lines through the hub count.")

    name: ClassVar[str] = "rota"
    solver: ClassVar[SolverKind] = "retrograde"
    symmetries: ClassVar[int] = 16

    @property
    def size(self) -> int:
        """Three states for each of nine cells."""
        return 3 * POWERS[-1]

    @property
    def start(self) -> int:
        """The empty wheel."""
        return 0

    @property
    def max_moves(self) -> int:
        """Nine points to place on; three empty points for each of three pieces to slide to."""
        return CELLS

    @property
    def max_predecessors(self) -> int:
        """Three pieces may just have been placed, and each may have come from three empty points."""
        return PIECES + PIECES * PIECES

    @property
    def lines(self) -> tuple[int, ...]:
        """The masks that win."""
        return DIAMETERS if self.diameters else DIAMETERS + ARCS

    @cached_property
    def successors(self) -> Neighbours:
        """Place a piece while there are fewer than three, else slide one."""
        lines = self.lines

        def successors(index: int, out: MutableSequence[int]) -> int:
            mine, theirs = pieces(index, 1), pieces(index, 2)
            if has_line(theirs, lines):
                return 0
            found = 0
            for cell in range(CELLS):
                if count(mine) < PIECES:
                    if (mine | theirs) >> cell & 1 == 0:
                        out[found] = number(theirs, mine | 1 << cell)
                        found += 1
                elif mine >> cell & 1:
                    targets = NEIGHBOURS[cell] & ~(mine | theirs)
                    for target in range(CELLS):
                        if targets >> target & 1:
                            out[found] = number(theirs, mine ^ (1 << cell | 1 << target))
                            found += 1
            return found

        return successors

    @cached_property
    def predecessors(self) -> Neighbours:
        """Take back a piece of the other player, or slide it back once all six are on the wheel."""
        lines = self.lines

        def predecessors(index: int, out: MutableSequence[int]) -> int:
            mine, theirs = pieces(index, 1), pieces(index, 2)
            found = 0
            for cell in range(CELLS):
                if theirs >> cell & 1 == 0:
                    continue
                before = theirs ^ 1 << cell
                out[found] = number(before, mine)
                found += 1
                if count(mine) == PIECES:
                    origins = NEIGHBOURS[cell] & ~(mine | theirs)
                    for origin in range(CELLS):
                        if origins >> origin & 1 and not has_line(before | 1 << origin, lines):
                            out[found] = number(before | 1 << origin, mine)
                            found += 1
            return found

        return predecessors

    @cached_property
    def is_position(self) -> IndexTest:
        """Piece counts that turns can lead to, and no line for the mover: that ended the game."""
        lines = self.lines

        def is_position(index: int) -> int:
            mine, theirs = pieces(index, 1), pieces(index, 2)
            ahead = count(theirs) - count(mine)
            fits = count(theirs) <= PIECES and 0 <= ahead <= 1
            return 1 if fits and not has_line(mine, lines) else 0

        return is_position

    @cached_property
    def terminal(self) -> IndexTest:
        """Lost when the other player has a line, or when no piece can slide (see the module)."""
        lines = self.lines

        def terminal(index: int) -> int:
            mine, theirs = pieces(index, 1), pieces(index, 2)
            if has_line(theirs, lines):
                return LOSS
            if count(mine) < PIECES:
                return 0
            for cell in range(CELLS):
                if mine >> cell & 1 and NEIGHBOURS[cell] & ~(mine | theirs):
                    return 0
            return LOSS

        return terminal

    @property
    def transform(self) -> Transform:
        """Eight turns of the wheel, and each of them mirrored."""
        return turn

    @property
    def rules(self) -> str:
        """The rules with the lines that count."""
        lines = "a diameter through the hub"
        if not self.diameters:
            lines += ", or three neighbours on the ring"
        return (
            "Nine points: a ring of eight and the hub. Players place three pieces each, alternately, "
            "on empty points; then they alternately slide one own piece to an adjacent empty point: "
            "to a neighbour on the ring, or between the hub and any ring point. Three in a row wins "
            f"at once, in either phase: {lines}. Endless play is a draw; a mover without a legal "
            "slide loses."
        )

    @property
    def notation(self) -> str:
        """How positions and moves are written."""
        return (
            "Three rows of the 3 x 3 picture joined by '/', the middle cell being the hub, 'x' the "
            "first player, 'o' the second, '.' empty; then a space and the player to move: "
            "'x.o/.x./..o x'. A move is a point (nw n ne w c e sw s se) while placing, 'from-to' while "
            "sliding: 'n', 'n-c'."
        )

    @property
    def indexing(self) -> str:
        """Nine ternary digits."""
        return (
            "The ternary number of the nine cells in reading order, first cell least significant: 0 "
            "empty, 1 a piece of the player to move, 2 a piece of the other player."
        )

    def parse(self, text: str) -> int:
        """Text to index; remembered, since there are few thousand texts of positions."""
        if (index := self._indices.get(text)) is None:
            index = self._indices[text] = self._parsed(text)
        return index

    @cached_property
    def _indices(self) -> dict[str, int]:
        return {}

    def _parsed(self, text: str) -> int:
        board, _, mover = text.partition(" ")
        rows = board.split("/")
        if [len(row) for row in rows] != [3, 3, 3] or mover not in ("x", "o"):
            expected = "three rows of three cells joined by '/', a space, and the mover 'x' or 'o'"
            raise InvalidPositionError(text, expected)
        cells = "".join(rows)
        xs, os = cells.count("x"), cells.count("o")
        if xs + os + cells.count(".") != CELLS:
            raise InvalidPositionError(text, "only '.', 'x' and 'o' for cells")
        if not (xs <= PIECES and 0 <= xs - os <= 1):
            expected = "at most three pieces each, and as many 'x' as 'o' or one more"
            raise InvalidPositionError(text, expected)
        if xs + os < 2 * PIECES and mover != "xo"[xs - os]:
            raise InvalidPositionError(text, f"the mover '{'xo'[xs - os]}' for {xs} x and {os} o")
        mine = _mask(*(cell for cell in range(CELLS) if cells[cell] == mover))
        theirs = _mask(*(cell for cell in range(CELLS) if cells[cell] not in (mover, ".")))
        if has_line(mine, self.lines):
            raise InvalidPositionError(text, f"no line of '{mover}', who is to move")
        return number(mine, theirs)

    def format(self, index: int) -> str:
        """Index to text; with all six pieces on the wheel, the text in which x is to move."""
        mine, theirs = _sides(index)
        return self._text(index, "x" if count(mine) == count(theirs) else "o")

    @staticmethod
    @lru_cache(maxsize=6 * POWERS[-1])
    def _text(index: int, mover: str) -> str:
        signs = "." + mover + ("o" if mover == "x" else "x")
        cells = "".join(signs[index // power % 3] for power in POWERS)
        return f"{cells[:3]}/{cells[3:6]}/{cells[6:]} {mover}"

    def board(self, text: str) -> str:
        r"""The wheel with the names of its points, and the player to move.

        >>> print(Rota().board("x.o/.x./..o x"))
               n
        nw x---.---o ne
           | \ | / |
         w .---x---. e      c is the hub
           | / | \ |
        sw .---.---o se
               s
        x to move
        """
        self.parse(text)
        cells, mover = text.replace("/", "").split(" ")
        return WHEEL.format(*cells, mover=mover)

    def moves(self, text: str) -> list[Step]:
        """The legal moves; colours stay as in `text`, where the index knows only mine and theirs."""
        index = self.parse(text)
        other = "o" if text.endswith("x") else "x"
        return [
            Step(self.move_name(index, after), self._text(after, other), (after,))
            for after in self.successors_of(index)
        ]

    def move_name(self, index: int, after: int) -> str:
        """The point, or 'from-to'."""
        before, now = _sides(index)[0], _sides(after)[1]
        left, entered = before & ~now, now & ~before
        target = POINTS[entered.bit_length() - 1]
        return f"{POINTS[left.bit_length() - 1]}-{target}" if left else target

    @property
    def table_name(self) -> str:
        """`rota` or `rota-diameters`."""
        return "rota-diameters" if self.diameters else "rota"

    @classmethod
    def from_table_name(cls, table_name: str) -> Self | None:
        """The variant that `table_name` names."""
        return {"rota": cls(), "rota-diameters": cls(diameters=True)}.get(table_name)

    @property
    def build_command(self) -> str:
        """The variant's flag, if any."""
        return "build-tables rota" + (" --diameters" if self.diameters else "")
