"""Games played: against perfect and random players, by hand, forwards and backwards, in a terminal."""

from __future__ import annotations

import os
import re
import select
import shlex
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

import lookup
from lookup import InvalidMoveError, InvalidParameterError, InvalidPositionError, Outcome
from lookup.play import Against, Session, Side, perfect_play, random_play, seats
from lookup.play_loop import Loop
from tests.commands import MODULES, one_line, run
from tests.conftest import ROOT
from tests.graph_game import GraphGame
from tests.test_conformance import GAME_NAMES
from tests.test_docs import blocks, same

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lookup import Answers, Tablebase
    from lookup.play import Player

STARTS = {
    "tactics-3x3": [".../.../...", "X../.../...", ".../.XX/...", "XX./XXX/X.X", "XXX/XXX/XXX"],
    "tactics-4x4": ["..../..../..../....", "XXXX/..X./..X./....", "X.../.X../..X./...X"],
    "tactics-4x4-normal": ["..../..../..../....", "XXXX/..X./..X./....", "X..X/.X../..X./...."],
    "rota": [".../.../... x", "x.o/.x./..o x", "xx./o.o/... x", "xxo/.../.o. x", "xxx/oo./... o"],
    "rota-diameters": [".../.../... x", "x../.o./... x", "xo./.../... x"],
    "sticks-any-1-3": ["|" * 20, "|" * 21, "||.||", "."],
    "sticks-run-1-2": ["|" * 20, "|||.|||||||", "||.||", "|.|.|", "..."],
    "sticks-special-50": ["|" * 13, "||.||", "|||||.|||.|", "|"],
    "clock-4-2": ["1010", "2222", "0001", "0000"],
    "winners-losers-20": ["W", "L", "WL", "WLW", "LWWLLW", "WLWLWLWLWLWLWLWLWLWL"],
}
INTERRUPT = b"interrupt"
CASES = [(name, start) for name, starts in STARTS.items() for start in starts]


def finish(session: Session, limit: int = 500) -> None:
    """Let players who are no persons play to the end or to the limit."""
    while len(session.made) < limit and session.reply():
        pass


def visited(session: Session) -> list[str]:
    return [session.start, *(step.position for step in session.made)]


# --- boards ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", GAME_NAMES)
def test_every_game_has_boards_and_refuses_what_is_no_position(name: str) -> None:
    game = lookup.find_game(name)
    text = game.format(game.start)
    positions = [text, *(step.position for step in game.moves(text)[:20] if step.end is None)]
    boards = [game.board(position) for position in positions]
    assert all(boards)
    assert len(set(boards)) == len(set(positions))  # different positions look different
    assert not any(line != line.rstrip() for board in boards for line in board.splitlines())
    for bad in ("nonsense", f"{text} ", ""):
        with pytest.raises(InvalidPositionError):
            game.board(bad)


def test_boards_carry_the_names_that_moves_have() -> None:
    long = lookup.find_game("tactics-2x15").board("." * 15 + "/" + "X" * 15).splitlines()
    assert long[0].split()[-1] == "o"
    assert [line.split()[0] for line in long[1:]] == ["1", "2"]
    wide = lookup.find_game("tactics-1x28").board("." * 28).splitlines()
    assert wide[0].split()[-2:] == ["aa", "ab"]
    assert wide[1].index(".") == wide[0].index("a")
    rows = lookup.find_game("sticks-special-50").board("|" * 24 + ".").splitlines()
    assert len(rows) == 4
    assert rows[1].split() == [str(number) for number in range(1, 21)]
    assert rows[2].index(".") == rows[3].index("25") + 1
    rota = lookup.find_game("rota")
    named = rota.board(".../.../... x")
    assert all(re.search(rf"\b{step.text}\b", named) for step in rota.moves(".../.../... x"))
    assert lookup.find_game("clock-2-12").board("12,0") == "[12] 0"


def test_without_a_picture_the_text_is_the_board() -> None:
    assert GraphGame(2, ((0, 1),), ((1, Outcome.LOSS),)).board("1") == "1"


# --- whole games ----------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "start"), CASES)
def test_perfect_play_ends_as_the_table_says(name: str, start: str, tables: Tablebase) -> None:
    table = tables[name]
    session = Session(table, start, [perfect_play, perfect_play])
    value = table.probe(start)
    while not session.is_over and not session.repeats:
        assert session.outcome is None
        session.reply()
    if value.outcome is Outcome.DRAW:
        assert session.repeats
        assert session.outcome is None
    else:
        assert session.outcome is value.outcome
        if value.remoteness is not None:
            assert len(session.made) == value.remoteness
    assert [step.text for step in session.made] == [move.text for move in table.line(start)]


@pytest.mark.parametrize(("name", "start"), CASES)
@pytest.mark.parametrize("perfect", [0, 1])
def test_against_random_play_perfect_play_keeps_what_it_has(
    name: str, start: str, perfect: int, tables: Tablebase
) -> None:
    table = tables[name]
    value = table.probe(start)
    due = value.outcome if perfect == 0 else -value.outcome
    for seed in range(5):
        players: list[Player | None] = [random_play(seed), random_play(seed)]
        players[perfect] = perfect_play
        session = Session(table, start, players)
        finish(session)
        outcome = session.outcome
        if table.game.players == 1:
            if perfect == 0:
                assert outcome is Outcome.WIN
            continue
        got = Outcome.DRAW if outcome is None else outcome if perfect == 0 else -outcome
        assert got >= due
        if due is Outcome.WIN and perfect == 0 and value.remoteness is not None:
            assert len(session.made) <= value.remoteness  # who does not delay loses no later


def test_random_play_comes_again_with_its_seed(tables: Tablebase) -> None:
    def moves(seed: int) -> list[str]:
        session = Session(tables["tactics-4x4"], None, [random_play(seed), random_play(seed)])
        finish(session)
        assert session.is_over
        return [step.text for step in session.made]

    games = [moves(seed) for seed in range(20)]
    assert games == [moves(seed) for seed in range(20)]
    assert len(set(map(tuple, games))) > 15


def test_a_closed_form_is_played_like_a_table() -> None:
    law = lookup.closed_form("winners-losers")
    text = "WLLWLWWLWLWWLWWLLWWLLLWWWLLWLLWWLWLLWWLWL"
    session = Session(law, text, [perfect_play, perfect_play])
    finish(session)
    assert len(session.made) == 41
    assert session.outcome is law.probe(text).outcome is Outcome.LOSS
    clock = Session(lookup.closed_form("clock", n=4, k=2), None, [perfect_play])
    finish(clock)
    assert (clock.outcome, len(clock.made)) == (Outcome.WIN, 48)


def test_a_move_that_ends_the_game_outside_the_table(tables: Tablebase) -> None:
    ends = {"W": Outcome.WIN, "L": Outcome.LOSS, "WL": Outcome.LOSS, "LW": Outcome.WIN}
    for start, end in ends.items():
        session = Session(tables["winners-losers-20"], start)
        for _ in start:
            assert (session.is_over, session.outcome) == (False, None)
            session.play("right")
        assert (session.is_over, session.is_outside, session.outcome) == (True, True, end)
        with pytest.raises(InvalidMoveError, match="expected no move: the game is over"):
            session.play("left")
        assert session.undo()
        assert (session.is_over, session.is_outside, session.outcome) == (False, False, None)


# --- back and forth -------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "start"), CASES)
def test_undo_to_the_start_and_redo_to_the_end(name: str, start: str, tables: Tablebase) -> None:
    session = Session(tables[name], start)
    choose = random_play(7)
    while not session.is_over and len(session.made) < 40:
        session.play(choose(session))
    before, outcome = visited(session), session.outcome
    plies = len(session.made)
    assert not session.redo()
    for left in range(plies - 1, -1, -1):
        assert session.undo()
        assert visited(session) == before[: left + 1]
        assert session.mover == (left % 2 if tables[name].game.players == 2 else 0)
        assert session.steps == tables[name].game.moves(session.position)
    assert not session.undo()
    assert session.position == start
    for made in range(1, plies + 1):
        assert session.redo()
        assert visited(session) == before[: made + 1]
    assert not session.redo()
    assert session.outcome is outcome


def test_another_move_drops_what_was_taken_back(tables: Tablebase) -> None:
    session = Session(tables["tactics-3x3"])
    for move in ("a1", "b1", "c1"):
        session.play(move)
    session.undo()
    session.undo()
    session.play("b2")
    assert not session.redo()
    assert [step.text for step in session.made] == ["a1", "b2"]


def test_a_move_that_is_refused_changes_nothing(tables: Tablebase) -> None:
    session = Session(tables["tactics-3x3"])
    session.play("a1")
    session.play("b1")
    session.undo()
    before = visited(session), session.mover, session.steps
    for bad in ("a1", "a1-c1", "z9", "", "undo"):
        with pytest.raises(InvalidMoveError):
            session.play(bad)
    assert (visited(session), session.mover, session.steps) == before
    assert session.redo()


@pytest.mark.parametrize("person", [0, 1])
def test_against_another_player_undo_goes_to_ones_own_turn(person: int, tables: Tablebase) -> None:
    players: list[Player | None] = [random_play(1), random_play(1)]
    players[person] = None
    session = Session(tables["tactics-4x4"], None, players)
    turns = []
    while not session.is_over:
        if session.reply() is None:
            assert session.mover == person
            turns.append(session.position)
            session.play(session.steps[-1].text)
    end = visited(session)
    for turn in reversed(turns):
        assert session.undo()
        assert (session.position, session.mover) == (turn, person)
        assert session.reply() is None
    assert not session.undo()
    assert len(session.made) == person
    for turn in turns[1:]:
        assert session.redo()
        assert session.position == turn
    assert session.redo()
    assert visited(session) == end
    assert session.is_over


def test_who_plays_what(tables: Tablebase) -> None:
    game, clock = tables["rota"].game, tables["clock-4-2"].game

    def kinds(players: list[Player | None]) -> list[str]:
        known: dict[Player | None, str] = {None: "person", perfect_play: "perfect"}
        return [known.get(player, "random") for player in players]

    assert kinds(seats(game, Side.FIRST, Against.PERFECT)) == ["person", "perfect"]
    assert kinds(seats(game, Side.SECOND, Against.RANDOM)) == ["random", "person"]
    assert kinds(seats(game, Side.BOTH, Against.RANDOM)) == ["person", "person"]
    assert kinds(seats(game, Side.NONE, Against.RANDOM)) == ["perfect", "random"]
    assert kinds(seats(clock, Side.BOTH, Against.PERFECT)) == ["person"]
    assert kinds(seats(clock, Side.NONE, Against.RANDOM)) == ["random"]
    with pytest.raises(InvalidParameterError, match="'second': expected first or none"):
        seats(clock, Side.SECOND, Against.PERFECT)


# --- the loop -------------------------------------------------------------------------------------


def told(
    table: Answers, lines: str, start: str | None = None, side: Side = Side.BOTH, limit: int = 100
) -> list[str]:
    """What is written while the lines are typed, prompts not among it, from the first board on."""
    typed: Iterator[str] = iter(lines.splitlines())
    written: list[str] = []
    players = seats(table.game, side, Against.PERFECT)
    session = Session(table, start, players)
    Loop(session, lambda _: next(typed, None), written.append, limit).run()
    head = next(at for at, text in enumerate(written) if text.startswith("\n"))
    return written[head:]


def test_hints_tell_more_each_time(tables: Tablebase) -> None:
    table, text = tables["rota"], "x.o/.x./..o x"
    _, *hints = told(table, "hint\nhint\nhint\nhint", text)
    assert hints == ["to move: draw", "draw: e", "loss: n, w, sw, s", *["best: e, draw after it"] * 2]
    _, one, board, *hints = told(table, "hint\ne\nhint\nhint", text)
    assert (one, hints[0]) == ("to move: draw", f"to move: {table.probe('x.o/.xx/..o o')}")
    assert board.startswith("\n")
    _, value, *moves = told(tables["clock-4-2"], "value\nmoves\nhint\nhint\nhint")
    assert value == "to move: win in 48"
    assert moves == ["0, X", "to move: win in 48", "win: 0, X", "best: 0, win in 47 after it"]


def test_every_outcome_in_a_hint_is_that_of_the_table(tables: Tablebase) -> None:
    table = tables["tactics-4x4"]
    for text in ("..../..../..../....", "XXXX/..X./..X./...."):
        _, _, *lines = told(table, "hint\nhint", text)
        words = re.split(r",?\s+", " ".join(lines))
        seen, outcome = {}, ""
        for word in words:
            if word.endswith(":"):
                outcome = word[:-1]
            else:
                seen[word] = outcome
        assert seen == {move.text: str(move.value.outcome) for move in table.moves(text)}


def test_mistakes_are_one_sentence_and_asked_again(tables: Tablebase) -> None:
    _, *said = told(tables["tactics-4x4"], "zz\n\n  \na1-d4\nquit\nnever read")
    assert said == [
        f"'{bad}' is not a legal move in '..../..../..../....': expected one that 'moves' lists"
        for bad in ("zz", "a1-d4")
    ]
    _, said_of_sticks = told(tables["sticks-special-50"], "3", "||.||")
    assert said_of_sticks == (
        "'3' is not a legal move in '||.||': expected sticks that are there, numbered 1 to 5"
    )
    _, said_of_the_clock = told(tables["clock-4-2"], "x")
    assert said_of_the_clock == "'x' is not a legal move in '1010': expected one of 0, X"


def test_the_end_says_who_won_and_can_be_undone(tables: Tablebase) -> None:
    table = tables["tactics-3x3"]
    said = told(table, "a3\nvalue\nhint\nmoves\nundo\nundo\nredo", "XXX/XXX/.XX")
    boards, words = [s for s in said if s[0] == "\n"], [s for s in said if s[0] != "\n"]
    end = "second wins after 1 move"
    assert words == [end, end, end, "no moves: the game is over", "nothing to undo", end]
    assert boards[-1] == "\n    a b c\n  1 X X X\n  2 X X X\n  3 X X X"
    assert told(table, "", "XXX/XXX/XXX")[-1] == "first wins after 0 moves"
    assert told(tables["clock-4-2"], "", "0000")[-1] == "won after 0 moves"
    assert told(tables["winners-losers-20"], "left", "L")[-1] == "second wins after 1 move"
    assert told(table, "redo")[-1] == "nothing to redo"


def test_a_repeat_is_told_to_persons(tables: Tablebase) -> None:
    there_and_back = "c-n\ns-sw\nn-c\nsw-s"
    said = told(tables["rota"], there_and_back, "x.o/.xx/.oo x")
    assert [words for words in said if words[0] != "\n"] == ["this position was there before"]
    assert said[-1] == "this position was there before"


def test_a_move_called_like_a_command_is_a_move() -> None:
    class Undoing(GraphGame):
        def move_name(self, index: int, after: int) -> str:
            return {1: "undo", 2: "quit"}[after]

    class Known(lookup.ClosedForm):
        def probe(self, position: str) -> lookup.Value:
            return lookup.Value(Outcome.DRAW if position == "0" else Outcome.LOSS)

    table = Known(Undoing(3, ((0, 1), (0, 2)), ((1, Outcome.LOSS), (2, Outcome.LOSS))))
    for word in ("undo", "quit"):
        assert told(table, word)[-1] == "first wins after 1 move"
        assert told(table, f"{word}\n{word}\nboard")[-1].startswith(("\n", "first wins"))


def test_without_a_person_a_game_stops_at_a_repeat_or_at_the_limit(tables: Tablebase) -> None:
    said = told(tables["rota"], "", side=Side.NONE)
    assert said[-1] == "and so on: this position was there before"
    assert len([words for words in said if ") plays " in words]) == len(tables["rota"].line())
    said = told(tables["rota"], "", side=Side.NONE, limit=3)
    assert said[-1] == "no end after 3 moves; --limit plays on"
    assert len([words for words in said if ") plays " in words]) == 3
    law = lookup.closed_form("clock", n=30, k=9)
    assert told(law, "", side=Side.NONE, limit=7)[-1] == "no end after 7 moves; --limit plays on"
    assert told(tables["clock-4-2"], "", side=Side.NONE)[-1] == "won after 48 moves"
    assert told(tables["tactics-3x3"], "", side=Side.NONE)[-1] == "first (perfect) wins after 6 moves"


# --- the command ----------------------------------------------------------------------------------


def test_a_whole_game_through_a_pipe() -> None:
    result = run("lookup", "play", "tactics-3x3", "XXX/XX./..X", typed="a3-b3\nundo\na3\nquit\n")
    assert (result.code, result.error) == (0, "")
    assert result.out.startswith("tactics-3x3: 3 x 3 cells")
    for words in (
        "first (you) to move> a3-b3",
        "second (perfect) plays c2",
        "first (you) wins after 2 moves",
        "undo or quit> undo",
    ):
        assert words in result.out.splitlines()
    assert result.out.splitlines()[-1] == "first (you) to move> quit"


def test_the_game_in_the_readme_is_played_as_it_says() -> None:
    (text,) = [text for _, _, text in blocks("text") if text.startswith("$ lookup play ")]
    command, _, shown = text.partition("\n")
    typed = re.findall(r"to move> (.*\n)", shown)
    assert len(typed) == 4
    result = run(*shlex.split(command[2:]), typed="".join(typed))
    assert result.code == 0
    assert same(shown, result.out), result.out


@pytest.mark.parametrize("name", STARTS)
def test_best_moves_through_a_pipe_win_as_the_table_says(name: str, tables: Tablebase) -> None:
    table, start = tables[name], STARTS[name][1]
    line = table.line(start)
    mine = line if table.game.players == 1 else line[::2]
    typed = "".join(f"{move.text}\n" for move in mine)
    result = run("lookup", "play", name, start, typed=typed)
    assert (result.code, result.error) == (0, "")
    value = table.probe(start)
    last = result.out.splitlines()[-1]
    plies = f"after {len(line)} move{'' if len(line) == 1 else 's'}"
    if value.outcome is Outcome.DRAW:
        assert "this position was there before" in result.out
    elif table.game.players == 1:
        assert last == f"won {plies}"
    else:
        winner = "first (you)" if value.outcome is Outcome.WIN else "second (perfect)"
        assert last == f"{winner} wins {plies}"


def test_as_second_the_other_one_begins() -> None:
    result = run("lookup", "play", "tactics-3x3", "--as", "second", typed="")
    assert result.code == 0
    lines = result.out.splitlines()
    assert "first (perfect) plays b1-b3" in lines
    assert "second (you) to move" not in result.out  # nobody answers: no prompt is left behind
    result = run("lookup", "play", "tactics-3x3", "--as", "second", typed="undo\nquit\n")
    assert result.out.splitlines()[-2:] == ["nothing to undo", "second (you) to move> quit"]


def test_random_play_is_repeatable_by_its_seed() -> None:
    words = ["lookup", "play", "tactics-4x4", "--as", "none", "--against", "random"]
    one, again, other = (run(*words, "--seed", seed) for seed in ("1", "1", "2"))
    assert one == again
    assert one.out != other.out
    assert one.code == 0
    assert " wins after " in one.out.splitlines()[-1]
    assert "second (random) plays" in one.out


def test_games_without_a_table_are_played_by_their_closed_form() -> None:
    result = run("lookup", "play", "winners-losers-33", "W" * 21 + "L", typed="right\n")
    assert result.code == 0
    assert result.error == "winners-losers-33: no table, answered by its closed form\n"
    assert "second (perfect) plays" in result.out


def test_any_bytes_can_be_typed() -> None:
    command = [sys.executable, "-W", "error", "-m", MODULES["lookup"], "play", "tactics-3x3"]
    typed = b"\xff\xfe\xe2\x99\x9e\n\x00\n" + b"x" * 100_000 + b"\nquit"
    for encoding in ("ascii", "utf-8"):
        done = subprocess.run(
            command,
            input=typed,
            capture_output=True,
            cwd=ROOT,
            env={**os.environ, "PYTHONIOENCODING": encoding},
        )
        assert (done.returncode, done.stderr) == (0, b"")
        assert done.stdout.count(b"is not a legal move in '.../.../...'") == 3


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["tactics-3x3", "XX"], "'XX' is not a position: expected 3 rows of 3 cells"),
        (["winners-losers-20", ""], "'' is not a position: expected one or more letters"),
        (["clock-4-2", "--as", "second"], "cannot be 'second': expected first or none: clock-4-2 has"),
        (["tactics-3x3", "--as", "third"], "'third' is not one of 'first', 'second', 'both', 'none'"),
        (["tactics-3x3", "--against", "me"], "'me' is not one of 'perfect', 'random'"),
        (["tactics-3x3", "--seed", "x"], "'x' is not a whole number"),
        (["ludo"], "no table 'ludo' in"),
    ],
)
def test_mistakes_are_one_line_and_exit_2(words: list[str], expected: str) -> None:
    result = run("lookup", "play", *words, typed="")
    assert (result.code, result.out) == (2, "")
    assert expected in one_line(result)


def on_a_terminal(*typed: bytes) -> tuple[int, bytes]:
    """Types one after the other at a pseudo-terminal, each when it is asked; exit code and output."""
    pty = pytest.importorskip(
        "pty", reason="terminals are made by the operating system: not on Windows"
    )
    leader, follower = pty.openpty()
    left, asked, shown = list(typed), 0, b""
    with subprocess.Popen(
        [sys.executable, "-m", MODULES["lookup"], "play", "tactics-3x3"],
        cwd=ROOT,
        stdin=follower,
        stdout=follower,
        stderr=follower,
        env={**os.environ, "TERM": "dumb"},
        start_new_session=True,
    ) as child:
        os.close(follower)
        while True:
            if not select.select([leader], [], [], 60)[0]:
                child.kill()
                pytest.fail(f"nothing happens after {shown!r}")
            try:
                shown += os.read(leader, 4096)
            except OSError:  # Linux says so when the other end is closed
                break
            if left and shown.count(b"to move> ") > asked:
                asked += 1
                time.sleep(0.3)  # the prompt is there before the terminal is ready for keys
                if (keys := left.pop(0)) == INTERRUPT:
                    child.send_signal(signal.SIGINT)
                else:
                    os.write(leader, keys)
    os.close(leader)
    return child.returncode, shown


def test_control_d_leaves_cleanly_and_control_c_as_everywhere() -> None:
    code, shown = on_a_terminal(b"a1\n", b"hint\n", b"\x04")
    assert code == 0
    assert b"second (perfect) plays b2" in shown
    assert b"to move: win in 6\r\n" in shown
    assert b"error" not in shown
    code, shown = on_a_terminal(b"a1\n", INTERRUPT)
    assert code == 130
    assert b"error: interrupted" in shown
    assert b"Traceback" not in shown


def test_what_was_shown_is_there_before_an_answer_is_waited_for() -> None:
    """For programs that read the board before they write a move."""
    with subprocess.Popen(
        [sys.executable, "-m", MODULES["lookup"], "play", "tactics-3x3"],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        for move in (b"a1\n", b"a2\n"):
            shown = b""
            while b"  3 " not in shown:
                ready = select.select([child.stdout], [], [], 60)[0]
                if not ready:
                    child.kill()
                    pytest.fail(f"nothing is shown after {shown!r}")
                shown += os.read(child.stdout.fileno(), 4096)
            child.stdin.write(move)
            child.stdin.flush()
        child.stdin.close()
        child.stdout.read()
    assert child.returncode == 0
