"""Where the moves of a stretch of the index lead: which blocks of it a shard reads.

Rules alone can tell. So before anything is solved all moves are made once, and of each shard the blocks
are kept that these lead to: an index of ten billion has some hundred thousand.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from builder.compile import UNWRITTEN, Engine, Kernel, buffer, rule
from builder.conformance import broken_rule
from lookup.games.step_game import StepGame

if TYPE_CHECKING:
    from collections.abc import MutableSequence

    from numpy.typing import NDArray

    from lookup.games.base import Game, IndexTest, Neighbours


def blocks_read(game: Game, engine: Engine, low: int, high: int, block: int) -> NDArray[np.int64]:
    """The numbers of the blocks that moves from the indices between `low` and `high` lead to.

    Raises:
        GameError: a rule breaks the contract.
    """
    touched = np.zeros(-(-game.size // block), np.uint8)
    lists = [(game.successors, game.max_moves, game.terminal)]
    if isinstance(game, StepGame):
        lists = [(one, game.max_steps, _goes_on) for one in (game.steps, game.leaps)]
    for listed, most, terminal in lists:
        rules = (rule(one, engine) for one in (listed, terminal, game.is_position))
        out = buffer(most * game.parts, engine)
        wild = _touch(engine)(*rules, game.parts, most, low, high, game.size, block, out, touched)
        if wild >= 0:
            raise broken_rule(game, wild)
    return np.flatnonzero(touched)


def _goes_on(index: int) -> int:  # noqa: ARG001 - a rule has an index
    return 0


@Kernel
def _touch(
    successors: Neighbours,
    terminal: IndexTest,
    is_position: IndexTest,
    parts: int,
    most: int,
    low: int,
    high: int,
    size: int,
    block: int,
    out: MutableSequence[int],
    touched: NDArray[np.uint8],
) -> int:
    """Mark the blocks that moves lead to; returns an index whose rules break the contract, or -1."""
    for index in range(low, high):
        if is_position(index) == 0 or terminal(index) != 0:
            continue
        count = successors(index, out)
        if not 0 <= count <= most:
            return index
        for at in range(count * parts):
            after = out[at]
            out[at] = UNWRITTEN
            if not 0 <= after < size:
                return index
            touched[after // block] = 1
    return -1
