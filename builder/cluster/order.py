"""An order for ranges that need each other's results: those that go round in circles are joined."""

from __future__ import annotations

from graphlib import CycleError, TopologicalSorter
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def joined_ranges(links: Sequence[set[int]]) -> tuple[list[tuple[int, int]], list[int]]:
    """Ranges of numbers (first, end) none of which needs itself by way of others, and their order.

    Number n needs the numbers in `links[n]`. Those that need each other are in one range, with all
    between them. In the order, which lists places in the ranges, each comes after all that it needs.
    """
    starts = [*range(len(links)), len(links)]
    while True:
        ranges = list(pairwise(starts))
        place = [at for at, (low, high) in enumerate(ranges) for _ in range(low, high)]
        needs = {
            at: {place[other] for number in range(low, high) for other in links[number]} - {at}
            for at, (low, high) in enumerate(ranges)
        }
        circles = [
            (at, other) for at in needs for other in needs[at] if at < other and at in needs[other]
        ]
        if not circles:
            try:
                return ranges, list(TopologicalSorter(needs).static_order())
            except CycleError as error:
                circles = [(min(error.args[1]), max(error.args[1]))]
        inner = {at for first, last in circles for at in range(first + 1, last + 1)}
        starts = [low for at, (low, _) in enumerate(ranges) if at not in inner] + [len(links)]
