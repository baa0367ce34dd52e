"""The never-lose machine, proven from its file alone against rules that are written by hand here."""

from __future__ import annotations

import io
import json
import random
import re
from functools import cache
from typing import TYPE_CHECKING, Any

import pytest

from builder.build import build_table
from lookup import (
    CallerError,
    MissingGameError,
    Outcome,
    UnknownGame,
    Value,
    VerificationError,
    open_table,
)
from lookup.export import Format, NeverLose, Seat, export_text, graph
from lookup.export import machine as machine_module
from lookup.games.examples.kayles import Kayles
from lookup.games.examples.tictactoe import TicTacToe
from tests.commands import one_line, run
from tests.own_games import own_game
from tests.rota_twin import HUB, VARIANTS, WHEEL, Position, lines, text_of, twin, twin_moves

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from lookup import Game, Table, Tablebase

    Moves = Callable[[str], dict[str, str]]
    """The legal moves of a position by their names, and what they lead to; none if it is over."""

SIDES = [Seat.FIRST, Seat.SECOND]
WORTH = {"loss": -1, "draw": 0, "win": 1}


def exported(table: Table, side: Seat, *, best: bool = False, to: Format = Format.JSON) -> str:
    file = io.StringIO()
    count = export_text(table, to, file, machine=NeverLose(side, best))
    assert count == len(re.findall(r'"to_move"|shape=(?:box|ellipse)', file.getvalue()))
    return file.getvalue()


def document(table: Table, side: Seat, *, best: bool = False) -> dict[str, Any]:
    read = json.loads(exported(table, side, best=best))
    assert isinstance(read, dict)
    return read


def prove(machine: dict[str, Any], legal: Moves, result: Callable[[str], int]) -> None:
    """Whatever anyone does, play stays in the machine and never ends in a loss for it.

    `result` says of a position that is over what it is to the player to move: -1, 0 or 1.
    """
    states = machine["states"]
    found = dict.fromkeys([0])
    for state in states:
        found.update(dict.fromkeys(move["state"] for move in state["moves"]))
    assert list(found) == list(range(len(states)))  # all can be met, and are numbered as they are found
    assert len({(state["position"], state["to_move"]) for state in states}) == len(states)
    for state in states:
        mine, moves = state["to_move"] == "machine", legal(state["position"])
        after = [states[move["state"]] for move in state["moves"]]
        listed = {
            move["move"]: then["position"] for move, then in zip(state["moves"], after, strict=True)
        }
        assert len(listed) == len(after)
        if mine:
            assert listed.items() <= moves.items(), state
            assert bool(listed) == bool(moves), state
            assert {then["outcome"] for then in after} <= {state["outcome"]}
        else:
            assert listed == moves, state
            assert {then["outcome"] for then in after} <= {state["outcome"], "win"}
        assert {then["to_move"] for then in after} <= {"opponent" if mine else "machine"}
        worth = WORTH[state["outcome"]]
        assert worth >= 0, state
        if not moves:
            assert worth == result(state["position"]) * (1 if mine else -1), state


# --- rules by hand --------------------------------------------------------------------------------

NAMES = dict(zip([*WHEEL, HUB], ["nw", "n", "ne", "e", "se", "s", "sw", "w", "c"], strict=True))


def wheel(text: str) -> Position:
    """The twin's form of a position of ROTA."""
    cells = dict(zip(sorted(NAMES), text[:-2].replace("/", ""), strict=True))
    xs, os = (frozenset(cell for cell, sign in cells.items() if sign == one) for one in "xo")
    return xs, os, text[-1] == "x"


@cache
def rota_moves(name: str, text: str) -> dict[str, str]:
    position, found = wheel(text), {}
    mine = 0 if position[2] else 1
    for after in twin_moves(position, name):
        old, new = position[mine], after[mine]
        assert isinstance(old, frozenset)
        assert isinstance(new, frozenset)
        found["-".join(NAMES[cell] for cell in (*(old - new), *(new - old)))] = text_of(after)
    return found


@cache
def board(filled: int, side: int) -> str:
    cells = "".join("X" if filled >> at & 1 else "." for at in range(side * side))
    return "/".join(cells[at : at + side] for at in range(0, side * side, side))


@cache
def runs(side: int) -> list[tuple[str, int]]:
    """Cells in a row or column of a square, by the names of the first and the last."""
    found = []
    for start in range(side * side):
        for step, room in ((1, side - start % side), (side, side - start // side)):
            for length in range(1 if step == 1 else 2, room + 1):
                cells = [start + step * at for at in range(length)]
                names = [f"{'abcd'[cell % side]}{cell // side + 1}" for cell in cells]
                name = names[0] if length == 1 else f"{names[0]}-{names[-1]}"
                found.append((name, sum(1 << cell for cell in cells)))
    return found


@cache
def tactics_moves(text: str) -> dict[str, str]:
    rows = text.split("/")
    filled = sum(1 << at for at, cell in enumerate("".join(rows)) if cell == "X")
    empty = [(name, run) for name, run in runs(len(rows)) if not filled & run]
    return {name: board(filled | run, len(rows)) for name, run in empty}


def has_line(text: str) -> bool:
    cells = text.replace("/", "")
    threes = ["012", "345", "678", "036", "147", "258", "048", "246"]
    return any("".join(cells[int(at)] for at in three) in ("xxx", "ooo") for three in threes)


def tictactoe_moves(text: str) -> dict[str, str]:
    if has_line(text):
        return {}
    sign = "o" if text.count("x") > text.count("o") else "x"
    empty = [at for at, cell in enumerate(text) if cell == "."]
    return {f"{'abc'[at % 4]}{at // 4 + 1}": text[:at] + sign + text[at + 1 :] for at in empty}


def kayles_rows(text: str) -> list[int]:
    return sorted(map(int, text.split(" + ")))


# --- ROTA -----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def rota_machines(tables: Tablebase) -> dict[tuple[str, Seat, bool], dict[str, Any]]:
    return {
        (name, side, best): document(tables[name], side, best=best)
        for name in VARIANTS
        for side in SIDES
        for best in (False, True)
    }


@pytest.mark.parametrize("best", [False, True])
@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("name", VARIANTS)
def test_rota_is_never_lost_and_no_safe_move_is_missing(
    name: str, side: Seat, best: bool, rota_machines: dict[tuple[str, Seat, bool], dict[str, Any]]
) -> None:
    machine = rota_machines[name, side, best]
    head = {key: machine[key] for key in machine if key not in ("states", "digest")}
    assert head == {
        "table": name,
        "game": "rota",
        "parameters": {"diameters": name == "rota-diameters"},
        "side": side,
        "best": best,
    }
    assert machine["states"][0] == {
        **machine["states"][0],
        "position": ".../.../... x",
        "to_move": "machine" if side is Seat.FIRST else "opponent",
        "outcome": "draw",
    }
    prove(machine, lambda text: rota_moves(name, text), lambda _: -1)
    values = twin(name)
    for state in machine["states"]:
        value = values[wheel(state["position"])]
        mine = state["to_move"] == "machine"
        assert state["outcome"] == str(value.outcome if mine else -value.outcome)
        if not mine:
            continue
        kept = -value if value.remoteness is None else Value(Outcome.LOSS, value.remoteness - 1)
        safe = {
            move
            for move, after in rota_moves(name, state["position"]).items()
            if values[wheel(after)] == kept
        }
        listed = {move["move"] for move in state["moves"]}
        assert (listed <= safe and len(listed) == 1) if best else listed == safe


def any_reply(name: str, text: str, chance: random.Random) -> str:
    return chance.choice(sorted(rota_moves(name, text)))


def hard_reply(name: str, text: str, chance: random.Random) -> str:
    """As good as can be; of moves that are worth the same, one that leaves the fewest safe answers."""
    values, moves = twin(name), rota_moves(name, text)

    def hardness(move: str) -> tuple[int, int, float]:
        after = moves[move]
        worth = values[wheel(after)]
        replies = (values[wheel(then)].outcome for then in rota_moves(name, after).values())
        return worth.outcome, sum(reply is not Outcome.WIN for reply in replies), chance.random()

    return min(moves, key=hardness)


@pytest.mark.parametrize("reply", [any_reply, hard_reply])
@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("name", VARIANTS)
def test_fifty_games_of_thirty_moves(
    name: str,
    side: Seat,
    reply: Callable[[str, str, random.Random], str],
    rota_machines: dict[tuple[str, Seat, bool], dict[str, Any]],
) -> None:
    """A driver that knows the file and the rules: any safe move, against chance or a master."""
    states = rota_machines[name, side, False]["states"]
    chance, won = random.Random(f"{name} {side}"), 0
    for _ in range(50):
        number, text = 0, ".../.../... x"
        for _ in range(2 * (3 + 30)):  # placing a piece is not yet a move
            state, legal = states[number], rota_moves(name, text)
            assert state["position"] == text
            mine = (text[-1] == "x") == (side is Seat.FIRST)
            if not legal:
                xs, os, _ = wheel(text)
                assert any(line <= (xs if side is Seat.FIRST else os) for line in lines(name))
                assert not mine
                won += 1
                break
            after = {move["move"]: move["state"] for move in state["moves"]}
            move = chance.choice(list(after)) if mine else reply(name, text, chance)
            number, text = after[move], legal[move]
    assert (won > 0) == (reply is any_reply)


# --- other games ----------------------------------------------------------------------------------


@pytest.mark.parametrize("best", [False, True])
def test_tactics_3x3_is_won_by_the_first(best: bool, tables: Tablebase) -> None:
    machine = document(tables["tactics-3x3"], Seat.FIRST, best=best)
    prove(machine, tactics_moves, lambda _: 1)
    assert {state["outcome"] for state in machine["states"]} == {"win"}
    assert len(machine["states"]) == (45 if best else 86)


def test_tactics_4x4_is_won_by_the_second(tables: Tablebase) -> None:
    machine = document(tables["tactics-4x4"], Seat.SECOND, best=True)
    prove(machine, tactics_moves, lambda _: 1)
    assert {state["outcome"] for state in machine["states"]} == {"win"}


@pytest.mark.parametrize(
    ("name", "side", "winner"),
    [("tactics-3x3", "second", "first"), ("tactics-4x4", "first", "second")],
)
def test_who_must_lose_is_told_so(name: str, side: str, winner: str) -> None:
    result = run("lookup", "export", name, "--never-lose", side, "--to", "json")
    assert (result.code, result.out) == (2, "")
    assert one_line(result) == (
        f"error: {side} cannot avoid losing {name}, whose start is won for {winner}: "
        f"expected --never-lose {winner}"
    )


def test_tic_tac_toe(tmp_path: Path) -> None:
    with open_table(build_table(TicTacToe(), tmp_path).path) as table:
        for side in SIDES:
            for best in (False, True):
                machine = document(table, side, best=best)
                prove(machine, tictactoe_moves, lambda text: -1 if has_line(text) else 0)
                assert {state["outcome"] for state in machine["states"]} == {"draw", "win"}


def test_positions_that_are_sums(tmp_path: Path) -> None:
    """Kayles: rows that a move leaves are played side by side, and no remoteness is stored."""

    def moves(text: str) -> set[tuple[int, ...]]:
        rows = kayles_rows(text)
        return {
            tuple(sorted(filter(None, (*rows[:at], left, row - taken - left, *rows[at + 1 :]))))
            for at, row in enumerate(rows)
            for taken in (1, 2)
            for left in range(row - taken + 1)
        }

    with open_table(build_table(Kayles(longest=9), tmp_path).path) as table:
        machine = document(table, Seat.FIRST)
        states = machine["states"]
        for state in states:
            after = [states[move["state"]]["position"] for move in state["moves"]]
            reached = {tuple(filter(None, kayles_rows(position))) for position in after}
            if state["to_move"] == "opponent":
                assert reached == moves(state["position"])
            else:
                assert state["moves"]  # whoever cannot move has lost
                assert reached <= moves(state["position"])
        assert {state["outcome"] for state in states} == {"win"}


def test_a_whole_machine(built: Callable[[str], Path]) -> None:
    """Letters, of which the last leads out of the index. Whoever takes an L last loses."""
    with open_table(built("winners-losers-4")) as table:
        head, *states, last = exported(table, Seat.FIRST).splitlines()
        assert head == (
            '{"table": "winners-losers-4", "game": "winners-losers", "parameters": {"length": 4}, '
            f'"digest": "{table.digest}", "side": "first", "best": false, "states": ['
        )
    assert last == "]}"
    expected = """
        WLWL machine left 1 right 2
        LWL opponent left 3 right 4
        WLW opponent left 4 right 3
        WL machine left 5
        LW machine right 5
        L opponent left 6 right 6
        "" machine
    """
    for line, said in zip(expected.strip().splitlines(), states, strict=True):
        position, to_move, *moves = line.split()
        assert json.loads(said.rstrip(",")) == {
            "position": position.strip('"'),
            "to_move": to_move,
            "outcome": "win",
            "moves": [
                {"move": move, "state": int(state)}
                for move, state in zip(moves[::2], moves[1::2], strict=True)
            ],
        }


# --- files ----------------------------------------------------------------------------------------

NODE = re.compile(r'  (\d+) \[label="(.*)\\n(\w+)", shape=(\w+), fillcolor=(\w+)(, peripheries=2)?\];')
EDGE = re.compile(r'  (\d+) -> (\d+) \[label="(.*)"\];')


@pytest.mark.parametrize("best", [False, True])
def test_the_graph_shows_the_same(
    best: bool, tables: Tablebase, rota_machines: dict[tuple[str, Seat, bool], dict[str, Any]]
) -> None:
    states = rota_machines["rota", Seat.SECOND, best]["states"]
    first, second, *drawn, last = exported(
        tables["rota"], Seat.SECOND, best=best, to=Format.DOT
    ).splitlines()
    assert (first, second, last) == (
        'digraph "rota never-lose second" {', "  node [style=filled];", "}"
    )  # fmt: skip
    expected: list[tuple[str, ...]] = []
    for number, state in enumerate(states):
        shape = "box" if state["to_move"] == "machine" else "ellipse"
        colour = {"win": "palegreen", "draw": "lightgrey"}[state["outcome"]]
        frames = "" if state["moves"] else ", peripheries=2"
        expected.append((str(number), state["position"], state["outcome"], shape, colour, frames))
        expected += [(str(number), str(move["state"]), move["move"]) for move in state["moves"]]
    seen = [NODE.fullmatch(line) or EDGE.fullmatch(line) for line in drawn]
    assert [match.groups(default="") for match in seen if match] == expected
    assert len(seen) == len(expected)


def test_the_same_machine_gives_the_same_bytes(tables: Tablebase) -> None:
    table = tables["tactics-3x3"]
    for to in (Format.JSON, Format.DOT):
        with open_table(table.path) as again:
            assert exported(again, Seat.FIRST, to=to) == exported(table, Seat.FIRST, to=to)


def test_the_command_writes_to_standard_output_or_a_file(tables: Tablebase, tmp_path: Path) -> None:
    words = ["lookup", "export", "tactics-3x3", "--never-lose", "first", "--to", "json"]
    assert run(*words).out == exported(tables["tactics-3x3"], Seat.FIRST)
    path = tmp_path / "machine.json"
    written = run(*words, "--best", "--output", path)
    assert (written.code, written.error) == (0, "")
    assert written.out == f"{path}: 45 states, {path.stat().st_size:,} bytes\n"
    assert path.read_text("utf-8") == exported(tables["tactics-3x3"], Seat.FIRST, best=True)


def test_progress_counts_states(tables: Tablebase, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine_module, "REPORT_EVERY", 10)
    steps: list[tuple[int, int]] = []

    def report(done: int, total: int) -> None:
        steps.append((done, total))

    machine = NeverLose(Seat.FIRST)
    export_text(tables["tactics-3x3"], Format.JSON, io.StringIO(), machine=machine, report=report)
    assert [done for done, _ in steps] == [*range(1, 86, 10), 86]
    assert steps == sorted(steps)
    assert all(done < total for done, total in steps[:-1])
    assert steps[-1] == (86, 86)


# --- what cannot be -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (
            ["rota", "--never-lose", "first", "--to", "csv"],
            "the format of a never-lose machine cannot be 'csv': expected json or dot",
        ),
        (
            ["rota", "--never-lose", "first", "--to", "npz", "--output", "m.npz"],
            "the format of a never-lose machine cannot be 'npz': expected json or dot",
        ),
        (["rota", "--best", "--to", "json"], "--best is about --never-lose: expected --never-lose"),
        (["rota", "--never-lose", "both", "--to", "json"], "'both' is not one of 'first', 'second'"),
        (
            ["clock-4-2", "--never-lose", "first", "--to", "json"],
            "clock-4-2 has one player: expected a game of two for --never-lose",
        ),
    ],
)
def test_mistakes_are_one_line_and_exit_2(words: list[str], expected: str, tmp_path: Path) -> None:
    result = run("lookup", "export", *words, cwd=tmp_path)
    assert (result.code, result.out) == (2, "")
    assert expected in one_line(result)
    assert list(tmp_path.iterdir()) == []


def test_too_many_states(tables: Tablebase, monkeypatch: pytest.MonkeyPatch) -> None:
    table = tables["tactics-3x3"]
    monkeypatch.setattr(machine_module, "MOST_STATES", 86)
    monkeypatch.setattr(graph, "MOST_DRAWN", 85)
    assert exported(table, Seat.FIRST)
    with pytest.raises(CallerError, match="has 86 states: expected --best, or json, as dot takes 85"):
        exported(table, Seat.FIRST, to=Format.DOT)
    assert exported(table, Seat.FIRST, best=True, to=Format.DOT)
    monkeypatch.setattr(machine_module, "MOST_STATES", 85)
    with pytest.raises(CallerError, match="has more than 85 states: expected --best, or a smaller"):
        exported(table, Seat.FIRST)
    monkeypatch.setattr(machine_module, "MOST_STATES", 44)
    with pytest.raises(CallerError, match="has more than 44 states: expected a smaller table"):
        exported(table, Seat.FIRST, best=True)


def test_a_table_that_is_wrong_makes_no_machine(
    tables: Tablebase, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = tables["rota"]
    monkeypatch.setattr(type(table), "probe", lambda *_: Value(Outcome.WIN, 5))
    with pytest.raises(VerificationError) as caught:
        exported(table, Seat.FIRST)
    assert str(caught.value) == (
        f"'{table.path}' does not say of '.../.../... x' what its moves are worth: "
        "build-tables verify tells more"
    )


def test_without_the_rules_there_is_none(tmp_path: Path) -> None:
    game: Game = own_game(tmp_path)
    path = build_table(game, tmp_path).path
    with open_table(path, game=UnknownGame) as table, pytest.raises(MissingGameError) as caught:
        exported(table, Seat.FIRST)
    assert "a never-lose machine needs the rules of 'subtract'" in str(caught.value)
    with open_table(path, game=game) as table:
        prove(
            document(table, Seat.SECOND),
            lambda text: {str(n): str(n) for n in range(max(0, int(text) - 3), int(text))},
            lambda _: -1,
        )
