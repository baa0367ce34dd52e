"""Classes are the orbits of a game's symmetries, numbered from 1 in the order of their first index."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from builder.checks.check import STRETCH
from builder.compile import Engine, Kernel, rule, views
from builder.solvers.solution import slices
from lookup.columns import read_items
from lookup.errors import VerificationError
from lookup.format import CLASSES

if TYPE_CHECKING:
    from collections.abc import MutableSequence, Sequence

    from lookup.games.base import IndexTest, Transform
    from lookup.reader import TableReader


def check(file: TableReader, engine: Engine) -> None:
    """Compare the stored classes with the symmetries of the game.

    Raises:
        VerificationError: an index is in another class.
    """
    game, classes = file.game, read_items(file, CLASSES)
    rules = rule(game.is_position, engine), rule(game.transform, engine), game.symmetries
    stored, state = views(engine, classes, np.zeros(2, np.int64))
    kernel = _first_wrong(engine)
    for low, high in slices(0, game.size, STRETCH[engine]):
        index = kernel(*rules, stored, low, high, state)
        if index >= 0:
            raise VerificationError(
                f"'{file.path}' puts index {index} into class {classes[index]}, but the symmetries of "
                f"{game.name} put it into class {state[1]}"
            )


@Kernel
def _first_wrong(
    is_position: IndexTest,
    transform: Transform,
    symmetries: int,
    classes: Sequence[int],
    low: int,
    high: int,
    state: MutableSequence[int],
) -> int:
    """The first index that is not in the class of its smallest image, or -1.

    `state` is how many classes there were before, and where this index belongs.
    """
    for index in range(low, high):
        right = 0
        if is_position(index):
            least = index
            for k in range(symmetries):
                least = min(least, transform(index, k))
            if least == index:
                state[0] += 1
                right = state[0]
            else:
                right = classes[least] + 0
        if classes[index] != right:
            state[1] = right
            return index
    return -1
