"""An order for ranges that need each other's results: those that go round in circles are joined."""

from __future__ import annotations

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
        needs = [
            {place[other] for number in range(low, high) for other in links[number]} - {at}
            for at, (low, high) in enumerate(ranges)
        ]
        found = _components(needs)
        if len(found) == len(ranges):
            return ranges, [at for (at,) in found]
        spans = [(min(some), max(some)) for some in found]
        inner = {at for first, last in spans for at in range(first + 1, last + 1)}
        starts = [low for at, (low, _) in enumerate(ranges) if at not in inner] + [len(links)]


def _components(needs: Sequence[set[int]]) -> list[list[int]]:
    """The sets of numbers that need each other, each after all that it needs: Tarjan's algorithm."""
    found: list[list[int]] = []
    seen: dict[int, int] = {}
    least: dict[int, int] = {}
    stack: list[int] = []  # those seen that are in no set yet
    on_stack: set[int] = set()
    for root in range(len(needs)):
        path = [] if root in seen else [(root, iter(needs[root]))]
        while path:
            at, others = path[-1]
            if at not in seen:
                seen[at] = least[at] = len(seen)
                stack.append(at)
                on_stack.add(at)
            for other in others:
                if other not in seen:
                    path.append((other, iter(needs[other])))
                    break
                if other in on_stack:
                    least[at] = min(least[at], seen[other])
            else:
                path.pop()
                if path:
                    before = path[-1][0]
                    least[before] = min(least[before], least[at])
                if least[at] == seen[at]:
                    some = [stack.pop()]
                    while some[-1] != at:
                        some.append(stack.pop())
                    on_stack.difference_update(some)
                    found.append(some)
    return found
