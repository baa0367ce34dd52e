"""ROTA once more, by hand: colours, tuples and no symmetry, and none of the code of the game."""

from __future__ import annotations

from functools import cache

from lookup import Outcome, Value

VARIANTS = ["rota", "rota-diameters"]
WHEEL = [(0, 0), (0, 1), (0, 2), (1, 2), (2, 2), (2, 1), (2, 0), (1, 0)]
HUB = (1, 1)
Position = tuple[frozenset[tuple[int, int]], frozenset[tuple[int, int]], bool]


@cache
def lines(name: str) -> list[set[tuple[int, int]]]:
    diameters = [{WHEEL[at], HUB, WHEEL[at + 4]} for at in range(4)]
    arcs = [{WHEEL[at], WHEEL[at - 1], WHEEL[at - 2]} for at in range(8)]
    return diameters if name == "rota-diameters" else diameters + arcs


def twin_moves(position: Position, name: str) -> list[Position]:
    """The moves from a position: pieces of x, pieces of o, whether x is to move."""
    xs, os, x_moves = position
    mine, theirs = (xs, os) if x_moves else (os, xs)
    if any(line <= theirs for line in lines(name)):
        return []
    empty = {HUB, *WHEEL} - xs - os
    moved: list[frozenset[tuple[int, int]]] = []
    if len(mine) < 3:
        moved = [mine | {point} for point in empty]
    else:
        for piece in mine:
            near = set(WHEEL) if piece == HUB else {HUB}
            if piece != HUB:
                at = WHEEL.index(piece)
                near |= {WHEEL[at - 1], WHEEL[(at + 1) % 8]}
            moved += [mine - {piece} | {point} for point in near & empty]
    return [(new, theirs, False) if x_moves else (theirs, new, True) for new in moved]


@cache
def twin(name: str) -> dict[Position, Value]:
    """Every position that play can reach, by sweeps over all of them."""
    start: Position = (frozenset(), frozenset(), True)
    after: dict[Position, list[Position]] = {}
    waiting = [start]
    while waiting:
        position = waiting.pop()
        if position not in after:
            after[position] = twin_moves(position, name)
            waiting += after[position]
    values = {position: Value(Outcome.LOSS, 0) for position, moves in after.items() if not moves}
    for plies in range(1, len(after)):
        found = {}
        for position, moves in after.items():
            if position not in values:
                seen = [values[move].outcome if move in values else None for move in moves]
                if Outcome.LOSS in seen:
                    found[position] = Value(Outcome.WIN, plies)
                elif all(outcome is Outcome.WIN for outcome in seen):
                    found[position] = Value(Outcome.LOSS, plies)
        if not found:
            break
        values |= found
    return {position: values.get(position, Value(Outcome.DRAW)) for position in after}


def text_of(position: Position) -> str:
    xs, os, x_moves = position
    signs = ["x" if cell in xs else "o" if cell in os else "." for cell in sorted({HUB, *WHEEL})]
    return "/".join("".join(signs[at : at + 3]) for at in (0, 3, 6)) + (" x" if x_moves else " o")
