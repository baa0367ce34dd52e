"""What else `bench.py` needs: a loopy game of any size, and a solve by its name."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from builder.build import build_table, solver_of
from builder.compile import Engine
from builder.executor import execute
from lookup.errors import InvalidPositionError
from lookup.games import GAMES
from lookup.games.base import Game, IndexTest, Neighbours, SolverKind

if TYPE_CHECKING:
    from collections.abc import MutableSequence

LOSS, WIN = 1, 3  # the codes of Outcome; compiled functions know only integers
COPS, ROBBER = 0, 1


# --- a loopy game with draws ----------------------------------------------------------------------


def _neighbour(cell: int, way: int, side: int) -> int:
    """The cell one step away in one of four ways; the board's edges meet."""
    if way == 0:
        return cell + side if cell + side < side * side else cell + side - side * side
    if way == 1:
        return cell - side if cell >= side else cell - side + side * side
    if way == 2:
        return cell + 1 if cell % side < side - 1 else cell + 1 - side
    return cell - 1 if cell % side > 0 else cell - 1 + side


def _steps(index: int, mover: int, turn: int, side: int, out: MutableSequence[int]) -> int:
    """The indices after `mover` takes a step, with `turn` to play next."""
    cells = side * side
    robber, first, second = (
        index // 2 // cells // cells,
        index // 2 // cells % cells,
        index // 2 % cells,
    )
    if mover == ROBBER:
        for way in range(4):
            to = _neighbour(robber, way, side)
            out[way] = ((to * cells + first) * cells + second) * 2 + turn
        return 4
    for way in range(4):
        to = _neighbour(first, way, side)
        out[way] = ((robber * cells + to) * cells + second) * 2 + turn
        to = _neighbour(second, way, side)
        out[4 + way] = ((robber * cells + first) * cells + to) * 2 + turn
    return 8


def _end(index: int, side: int) -> int:
    """0 while the chase goes on, else the `Outcome` code for the player to move."""
    cells = side * side
    robber, first, second = (
        index // 2 // cells // cells,
        index // 2 // cells % cells,
        index // 2 % cells,
    )
    if robber in (first, second):
        return LOSS if index % 2 == ROBBER else WIN
    if robber == 0:
        return WIN if index % 2 == ROBBER else LOSS
    return 0


@dataclass(frozen=True)
class Pursuit(Game):
    """Two cops chase a robber on a square board whose edges meet.

    In turn one of the cops and the robber take one step. The cops win by a catch, the robber by
    reaching the first cell free.
    """

    side: int
    backwards: bool = True

    name: ClassVar[str] = "pursuit"
    solver: ClassVar[SolverKind] = "retrograde"

    @property
    def size(self) -> int:
        """Robber, first cop, second cop and who is to move, the last one least significant."""
        return 2 * self.side**6

    @property
    def start(self) -> int:
        """The robber in the middle and both cops in the last cell; they move first."""
        cells = self.side**2
        return 2 * ((cells // 2 * cells + cells - 1) * cells + cells - 1) + COPS

    @property
    def max_moves(self) -> int:
        """Two cops with four ways each."""
        return 8

    @cached_property
    def successors(self) -> Neighbours:
        """A step of whoever is to move, unless the chase is over."""
        side = self.side

        def successors(index: int, out: MutableSequence[int]) -> int:
            if _end(index, side):
                return 0
            return _steps(index, index % 2, 1 - index % 2, side, out)

        return successors

    @cached_property
    def predecessors(self) -> Neighbours | None:
        """A step back of whoever has just moved, to where the chase was not over."""
        if not self.backwards:
            return None
        side = self.side

        def predecessors(index: int, out: MutableSequence[int]) -> int:
            count = 0
            for at in range(_steps(index, 1 - index % 2, 1 - index % 2, side, out)):
                if _end(out[at], side) == 0:
                    out[count] = out[at]
                    count += 1
            return count

        return predecessors

    @cached_property
    def terminal(self) -> IndexTest:
        """A catch or an escape, whoever's step it was."""
        side = self.side

        def terminal(index: int) -> int:
            return _end(index, side)

        return terminal

    def parse(self, text: str) -> int:
        """Text to index."""
        if not (text.isascii() and text.isdigit() and str(int(text)) == text and int(text) < self.size):
            raise InvalidPositionError(text, f"a number from 0 to {self.size - 1}")
        return int(text)

    def format(self, index: int) -> str:
        """Index to text."""
        return str(index)

    def move_name(self, index: int, after: int) -> str:
        """Both ends of the move."""
        return f"{index}-{after}"


# --- a whole solve, for processes of their own ----------------------------------------------------


def whole(name: str, parameters: str, engine: str, folder: str) -> float:
    """Seconds to solve a game or, if there is a folder for it, to solve, write and verify it."""
    GAMES[Pursuit.name] = Pursuit  # where verifying looks up the game of a file
    game = GAMES[name].from_parameters(json.loads(parameters))
    started = time.perf_counter()
    if folder:
        build_table(game, Path(folder), engine=Engine(engine))
    else:
        execute(solver_of(game).plan(game, Engine(engine)))
    return time.perf_counter() - started
