"""A game in the terminal: show the board, ask for a move, answer questions, until it is over."""

from __future__ import annotations

import io
import sys
import textwrap
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

from lookup.errors import InvalidMoveError
from lookup.play import perfect_play
from lookup.values import Outcome

if TYPE_CHECKING:
    from lookup.play import Player, Session

Read: TypeAlias = Callable[[str], str | None]
"""Shows a prompt and returns a line; None at the end of input."""
Write: TypeAlias = Callable[[str], None]

WIDTH = 78
LONGEST_CHOICE = 60
"""Characters of an error's list of moves; games with more moves than that have the word `moves`."""

WORDS = "A move, or: hint, value, moves, board, undo, redo, help, quit."
HELP = """\
Type a move, or one of these words:
  hint    what the position is worth; again: each move; once more: a best move
  value   what the position is worth
  moves   the legal moves
  board   the board once more
  undo    take back your last move and the reply to it; again: those before
  redo    make it again
  quit    leave the game; the end of input leaves it too
"""


class Loop:
    """Plays a session to its end, line by line."""

    def __init__(self, session: Session, read: Read, write: Write, limit: int) -> None:
        self._session, self._read, self._write, self._limit = session, read, write, limit
        self._persons = session.players.count(None)
        self._hinted, self._hints = "", 0  # a position, and how many hints it was given
        self._commands: dict[str, Callable[[], None]] = {
            "hint": self._hint,
            "value": self._value,
            "moves": self._moves,
            "board": self._show,
            "undo": lambda: self._show() if session.undo() else write("nothing to undo"),
            "redo": lambda: self._show() if session.redo() else write("nothing to redo"),
            "help": lambda: self._wrapped(HELP + session.table.game.notation),
        }

    def run(self) -> None:
        """Play until the game is over or left or, without a person, would go on for ever."""
        session = self._session
        self._wrapped(f"{session.table.name}: {session.table.game.rules}")
        if self._persons:
            self._write(WORDS)
        self._show()
        going = True
        while going:
            if session.is_over and not self._persons:
                going = False
            elif session.is_over or session.players[session.mover] is None:
                going = self._ask()
            else:
                going = not self._is_endless() and self._reply()

    def _reply(self) -> bool:
        """The move of a player who is no person."""
        mover = self._label(self._session.mover)
        step = self._session.reply()
        assert step is not None
        self._write(f"{mover} plays {step.text}")
        self._show()
        return True

    def _is_endless(self) -> bool:
        """Whether players who are no persons have played for long enough."""
        session = self._session
        if self._persons:
            return False
        if session.repeats and all(player is perfect_play for player in session.players):
            self._write("and so on: this position was there before")
            return True
        if len(session.made) >= self._limit:
            self._write(f"no end after {self._limit} moves; --limit plays on")
            return True
        return False

    def _ask(self) -> bool:
        """One line from a person; False if it was the last."""
        session = self._session
        turn = "undo or quit" if session.is_over else f"{self._label(session.mover)} to move"
        line = self._read(f"{turn}> ")
        if line is None:
            return False
        word = " ".join(line.split())
        # A game may have a move of such a name: there it is one.
        is_command = all(step.text != word for step in session.steps)
        if is_command and word in ("quit", "exit", "q"):
            return False
        if is_command and word in self._commands:
            self._commands[word]()
        elif word:
            self._play(word)
        return True

    def _play(self, move: str) -> None:
        try:
            self._session.play(move)
        except InvalidMoveError as error:
            if len(error.expected) > LONGEST_CHOICE:
                error = InvalidMoveError(error.move, error.position, "one that 'moves' lists")
            self._write(str(error))
        else:
            self._show()

    # --- what is shown ----------------------------------------------------------------------------

    def _show(self) -> None:
        """The board and, at the end, who has won."""
        session = self._session
        if not session.is_outside:
            board = session.table.game.board(session.position)
            self._write("\n" + textwrap.indent(board, "  "))
        if (outcome := session.outcome) is not None:
            self._write(f"{self._ending(outcome)} after {_counted(len(session.made), 'move')}")
        elif session.repeats and self._persons:
            self._write("this position was there before")

    def _ending(self, outcome: Outcome) -> str:
        if outcome is Outcome.DRAW:
            return "a draw"
        if len(self._session.players) == 1:
            return "won" if outcome is Outcome.WIN else "lost"
        return f"{self._label(0 if outcome is Outcome.WIN else 1)} wins"

    def _label(self, number: int) -> str:
        players = self._session.players
        if len(players) == 1:
            return "player" if players[0] else "you"
        order, name = ("first", "second")[number], self._name(players[number])
        return f"{order} ({name})" if name else order

    def _name(self, player: Player | None) -> str:
        if player is None:
            return "you" if self._persons == 1 else ""
        return "perfect" if player is perfect_play else "random"

    def _value(self) -> None:
        if self._session.is_over:
            self._show()
        else:
            self._write(f"to move: {self._session.table.probe(self._session.position)}")

    def _moves(self) -> None:
        names = ", ".join(step.text for step in self._session.steps)
        self._wrapped(names or "no moves: the game is over")

    def _hint(self) -> None:
        """More with each time that it is asked for: the value, what moves are worth, a best one."""
        session = self._session
        if session.is_over:
            self._show()
            return
        if self._hinted != session.position:
            self._hinted, self._hints = session.position, 0
        self._hints = min(self._hints + 1, 3)
        if self._hints == 1:
            self._value()
            return
        moves = session.table.moves(session.position)
        if self._hints == 2:
            worth = {move.text: move.value.outcome for move in moves}
            for outcome in sorted(set(worth.values()), reverse=True):
                # In the order of the game: the best move is for the next hint to tell.
                names = (step.text for step in session.steps if worth[step.text] is outcome)
                self._wrapped(f"{outcome}: {', '.join(names)}")
        else:
            self._write(f"best: {moves[0].text}, {moves[0].value} after it")

    def _wrapped(self, text: str) -> None:
        for line in text.splitlines():
            if len(line) > WIDTH:
                line = textwrap.fill(line, WIDTH, break_on_hyphens=False, break_long_words=False)
            self._write(line)


def read_line(prompt: str) -> str | None:
    """A line of standard input; shown with its prompt if nobody types it."""
    if sys.stdin.isatty():
        try:
            return input(prompt)
        except EOFError:
            print()
            return None
    sys.stdout.flush()  # a program may want to see the board before it writes a move
    line = sys.stdin.readline()
    if not line:
        return None
    print(prompt + line.rstrip("\n"))
    return line


def tolerate_any_text() -> None:
    """Let no character, typed or shown, end a game: what the terminal does not know is replaced."""
    for stream in (sys.stdin, sys.stdout):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


def _counted(number: int, word: str) -> str:
    return f"{number:,} {word}" if number == 1 else f"{number:,} {word}s"
