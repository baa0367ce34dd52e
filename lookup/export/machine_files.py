"""A never-lose machine as a file: JSON for programs, a graph for Graphviz."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from lookup.errors import CallerError
from lookup.export import graph
from lookup.export.graph import COLOURS, quoted
from lookup.export.machine import NeverLose, never_lose
from lookup.export.rows import head
from lookup.progress import silent

if TYPE_CHECKING:
    from typing import TextIO

    from lookup.export.machine import Machine
    from lookup.progress import Report
    from lookup.table import Table


def write_machine_json(
    table: Table, wanted: NeverLose, file: TextIO, *, report: Report = silent
) -> int:
    """One object; each state is a line of it. Returns the number of states."""
    machine = never_lose(table, wanted, report=report)
    said = {**head(table), "digest": table.digest, "side": wanted.side, "best": wanted.best}
    file.write(f'{json.dumps(said)[:-1]}, "states": [')
    between = "\n"
    for state in machine:
        fields = {
            "position": state.position,
            "to_move": "machine" if state.is_mine else "opponent",
            "outcome": str(state.outcome),
            "moves": [{"move": text, "state": number} for text, number in state.moves],
        }
        file.write(between + json.dumps(fields))
        between = ",\n"
    file.write("\n]}\n")
    return len(machine)


def write_machine_dot(table: Table, wanted: NeverLose, file: TextIO, *, report: Report = silent) -> int:
    """States of the machine as boxes, those of its opponent as ellipses. Returns their number.

    Raises:
        CallerError: there are too many to be drawn.
    """
    machine = never_lose(table, wanted, report=report)
    if len(machine) > graph.MOST_DRAWN:
        expected = "json" if wanted.best else "--best, or json"
        raise CallerError(
            f"the never-lose machine for {wanted.side} in {table.name} has {len(machine):,} states: "
            f"expected {expected}, as dot takes {graph.MOST_DRAWN:,}"
        )
    _draw(machine, f"{table.name} never-lose {wanted.side}", file)
    return len(machine)


def _draw(machine: Machine, name: str, file: TextIO) -> None:
    file.write(f"digraph {quoted(name)} {{\n  node [style=filled];\n")
    for number, state in enumerate(machine):
        shape = "box" if state.is_mine else "ellipse"
        frames = "" if state.moves else ", peripheries=2"  # the game is over
        label = quoted(f"{state.position}\n{state.outcome}")
        colour = COLOURS[state.outcome]
        file.write(f"  {number} [label={label}, shape={shape}, fillcolor={colour}{frames}];\n")
        for text, after in state.moves:  # noqa: FURB122 - as nodes are written
            file.write(f"  {number} -> {after} [label={quoted(text)}];\n")
    file.write("}\n")
