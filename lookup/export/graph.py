"""Graphs for Graphviz: all positions of a small game as nodes, its moves as edges."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from lookup.errors import InvalidParameterError, MissingGameError
from lookup.export.rows import rows
from lookup.games.unknown import UnknownGame
from lookup.values import Outcome

if TYPE_CHECKING:
    from typing import TextIO

    from lookup.table import Table

MOST_DRAWN = 5000
"""Nodes of the largest graph that is written: Graphviz would not lay out more."""

COLOURS = {Outcome.WIN: "palegreen", Outcome.DRAW: "lightgrey", Outcome.LOSS: "lightpink"}


def write_dot(table: Table, file: TextIO) -> None:
    """Positions and moves. Where a move ends the game outside the index, it leads to its outcome.

    Raises:
        CallerError: the table cannot be drawn: it is large, its rules are not known, or it has sums.
    """
    game = table.game
    if isinstance(game, UnknownGame):
        raise MissingGameError(table.info.game, "a graph of moves")
    if game.parts > 1:
        expected = (
            "csv, json, npz or parquet: its moves lead to sums of positions, which no graph shows"
        )
        raise InvalidParameterError(f"the format for {table.name}", "dot", expected)
    if table.info.positions > MOST_DRAWN:
        expected = f"csv, json, npz or parquet for more than {MOST_DRAWN:,} positions, here "
        raise InvalidParameterError(
            f"the format for {table.name}", "dot", expected + f"{table.info.positions:,}"
        )
    file.write(f"digraph {quoted(table.name)} {{\n  node [shape=box, style=filled];\n")
    ends: set[Outcome] = set()
    for index, *_ in rows(table, text=False):
        position, value = game.format(index), table.probe_index(index)
        label, colour = quoted(f"{position}\n{value}"), COLOURS[value.outcome]
        file.write(f"  {index} [label={label}, fillcolor={colour}];\n")
        for step in game.moves(position):
            target = f"end_{step.end}" if step.end is not None else str(step.after[0])
            file.write(f"  {index} -> {target} [label={quoted(step.text)}];\n")
            if step.end is not None:
                ends.add(step.end)
    for end in sorted(ends):  # noqa: FURB122 - nodes are written as those above
        file.write(f"  end_{end} [label={quoted(f'{end} for the mover')}, shape=oval];\n")
    file.write("}\n")


def quoted(text: str) -> str:
    """A string of Graphviz; as in JSON, but for characters beyond ASCII, which stand as they are."""
    return json.dumps(text, ensure_ascii=False)
