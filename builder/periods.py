"""Periods of the values of heaps: found, and proven to go on for ever.

If G(n + p) = G(n) for all n from n0 to 2 * n0 + p + b - 1, where b is the most that a move takes, then
it holds for all n >= n0 (Guy and Smith, 1956). For a larger n, what a move from n + p leaves is at
least 2 * n0 + 2 * p, so the larger of the two heaps it is in is at least n0 + p, and by induction has
the value of the heap p smaller, which a move from n can leave; and the other way round.

For heaps that do not split the same induction carries remoteness: if it grows by the same number of
plies from n to n + p, so it does for ever, since all heaps that a move can leave grow by that number.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from builder.compile import Engine, Kernel, views
from lookup.format import Period, heaps_needed

if TYPE_CHECKING:
    from collections.abc import MutableSequence

    from numpy.typing import NDArray


def find_period(
    grundy: NDArray[np.unsignedinteger],
    remoteness: NDArray[np.uint32] | None,
    most: int,
    engine: Engine,
) -> Period | None:
    """The smallest period that the values prove, with its smallest preperiod; None if there is none."""
    size = len(grundy)
    # Of values that end in two equal stretches, p apart, the reversed ones begin with them.
    matches = np.zeros(size, np.int64)
    _match_lengths(engine)(*views(engine, np.ascontiguousarray(grundy[::-1]), matches))
    periods = np.arange(size)
    preperiods = size - periods - matches
    proven = (periods > 0) & (heaps_needed(preperiods, periods, most) <= size)
    for period in map(int, np.flatnonzero(proven)):
        preperiod, plies = int(preperiods[period]), 0
        if remoteness is not None:
            grown = remoteness[preperiod + period :].astype(np.int64) - remoteness[preperiod:-period]
            plies = int(grown[0])
            if (grown != plies).any():
                continue
        return Period(preperiod, period, size - 1, plies)
    return None


@Kernel
def _match_lengths(values: Any, matches: MutableSequence[int]) -> None:
    """For each place but the first, how long the values from there on agree with those from the first.

    The Z-function: the stretch that ends furthest to the right saves comparing twice.
    """
    begin = end = 0
    for at in range(1, len(values)):
        length = 0
        if at < end:
            length = min(end - at, matches[at - begin])
        while at + length < len(values) and values[length] == values[at + length]:
            length += 1
        matches[at] = length
        if at + length > end:
            begin, end = at, at + length
