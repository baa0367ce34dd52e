"""Games as users write them: sources of small files, and how to load them in a test."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING

from lookup import load_game

if TYPE_CHECKING:
    from pathlib import Path

    from lookup import Game

SUBTRACT = inspect.cleandoc(
    '''
    """Take one to three from a heap."""

    from lookup import Game, Outcome, parameter


    class Subtract(Game):
        """Take one to three; whoever cannot move loses."""

        heap: int = parameter(default=20, least=1, most=1000, help="Counters at the start.")
        max_moves = 3

        @property
        def size(self):
            return self.heap + 1

        @property
        def start(self):
            return self.heap

        def successors(self, index, out):
            count = 0
            for taken in range(1, min(3, index) + 1):
                out[count] = index - taken
                count += 1
            return count
    '''
)


def write_game(folder: Path, source: str = SUBTRACT, name: str = "own.py") -> Path:
    path = folder / name
    path.write_text(f"{source}\n", "utf-8")
    return path


def own_game(folder: Path, source: str = SUBTRACT, **parameters: int) -> Game:
    """The game in a source, with its parameters or their defaults."""
    return load_game(write_game(folder, source))(**parameters)
