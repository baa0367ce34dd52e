"""What games and their answers may make of texts, and all of them to try texts on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from torture_wild import BrokenError, case, near_miss, require, require_sentence, shown, wild_text

import lookup
import lookup.tablebase
from builder.build import build_table
from lookup.games.heap_game import HeapGame
from lookup.games.rota import Rota
from lookup.games.step_game import StepGame

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path
    from random import Random

    from lookup import Answers, Game, Table


def has_one_text(game: Game) -> bool:
    """Whether an index has one text alone: rows of sticks have gaps, the wheel has colours."""
    return not isinstance(game, Rota | HeapGame | StepGame)


# --- what may be made of them -----------------------------------------------------------------------


def check_text(game: Game, text: str) -> str:
    """Let a game parse a text; how it ends.

    Raises:
        BrokenError: as it may not.
    """
    try:
        components = game.components(text)
    except lookup.InvalidPositionError as error:
        require_sentence(error)
        require(error.position == text, f"quotes {error.position!r}")
        return "refused"
    for index in components:
        require(type(index) is int, f"an index is {index!r}")
        is_inside = 0 <= index < game.size or (isinstance(game, HeapGame) and index >= 0)
        require(is_inside and (index >= game.size or game.is_position(index)), f"index {index}")
        again = game.format(index)
        require(game.parse(again) == index, f"index {index} is {again!r}, which is another")
    if has_one_text(game):
        again = " + ".join(map(game.format, components))
        require(again == text, f"the position {again!r} has another text")
    return "a position"


def check_answers(answers: Answers, text: str) -> str:
    """Ask everything about a text; how it ends.

    Raises:
        BrokenError: answers contradict each other, or are none.
    """
    try:
        value = answers.probe(text)
    except lookup.InvalidPositionError as error:
        require_sentence(error)
        require(error.position == text, f"quotes {error.position!r}")
        require(answers.get(text) is None, "get knows more than probe")
        require_refused(lambda one: answers.probe_texts([one]), text)
        if _is_of(answers.game, text):  # a row beyond the table: it has a picture, and perhaps moves
            return "beyond the table"
        for ask in (answers.moves, answers.best, answers.line, answers.ranked, answers.game.board):
            require_refused(ask, text)
        require_refused(lambda one: answers.move(one, "1"), text)
        return "refused"
    require(answers.get(text) == value, "get says other than probe")
    require(answers.probe_texts([text, text]) == [value, value], "probe_texts says other than probe")
    require(isinstance(answers.game.board(text), str), "no picture")
    try:
        moves = answers.moves(text)
    except lookup.InvalidPositionError as error:
        require("can be listed" in str(error), f"moves are refused: {error}")
        return "too many moves"
    _check_moves(answers, text, value, moves)
    return "answered"


def _check_moves(
    answers: Answers, text: str, value: lookup.Value, moves: Sequence[lookup.Move]
) -> None:
    best = answers.best(text)
    require(best == (moves[0] if moves else None), "best is not the first move")
    if best is None:
        require(answers.line(text) == [], "a line from where there is no move")
        return
    require(best.value.outcome == value.outcome, f"{value}, but the best move is a {best.value}")
    if value.remoteness is not None and best.value.remoteness is not None and best.position:
        require(best.value.remoteness == value.remoteness - 1, f"{value}, then {best.value}")
    line = answers.line(text, 3)
    require(line[0].value == best.value, "a line does not begin with a best move")
    for move in (moves[0], moves[-1]):
        made = answers.move(text, move.text)
        require(made.position == move.position and made.value == move.value, f"{move} is {made}")
        if move.position:
            after = answers.probe(move.position)
            mine = after if answers.game.players == 1 else -after
            require(mine == move.value, f"{move.text!r} is {move.value}, and leads to {after}")


def _is_of(game: Game, text: str) -> bool:
    try:
        game.components(text)
    except lookup.InvalidPositionError:
        return False
    return True


def require_refused(ask: Callable[[str], object], text: str) -> None:
    """A text that is no position is none for anybody.

    Raises:
        BrokenError: it is answered, or refused otherwise.
    """
    try:
        answer = ask(text)
    except lookup.InvalidPositionError as error:
        require_sentence(error)
    else:
        raise BrokenError(f"is answered: {str(answer)[:200]}")


def check_move(answers: Answers, text: str, move: str) -> str:
    """Make any move in a position; how it ends.

    Raises:
        BrokenError: as it may not.
    """
    try:
        made = answers.move(text, move)
    except lookup.InvalidMoveError as error:
        require_sentence(error)
        require(error.move == move, f"quotes {error.move!r}")
        return "refused"
    known = [one.text for one in answers.moves(text)]
    # Which sticks are taken may make no difference: then one way is listed.
    require(made.text in known or "sticks" in answers.name, f"{made.text!r} is not listed")
    require(made.text == move or "sticks" in answers.name, f"makes the move {made.text!r}")
    return "made"


# --- games to try them on ---------------------------------------------------------------------------

BUILT = (
    *("tic-tac-toe", "nim-20", "kayles-30", "three-mens-morris-1", "cram-3-3-0", "domineering-3-3"),
    *("sticks-run-2-3-to40", "sticks-special-8", "sticks-any-3-7", "sticks-any-1-1", "clock-3-11"),
    *("clock-1-3", "winners-losers-1", "tactics-1x14", "tactics-3x2-run1-normal"),
)
"""Tables besides those that ship, with examples among them."""

FORMULAS: tuple[tuple[str, dict[str, int]], ...] = (
    *(("clock", {"n": 12, "k": 9}), ("clock", {"n": 5, "k": 12}), ("clock", {"n": 1, "k": 1})),
    *(("winners-losers", {}), ("sticks-any", {"min": 2, "max": 5})),
    *(("sticks-run", {"min": 1, "max": 2}), ("sticks-run", {"min": 3, "max": 100})),
)
_LONG = 60  # sticks; longer rows have thousands of moves


class Playground:
    """Tables and formulas of all games, built in a folder, and cases that ask them."""

    def __init__(self, folder: Path, built: Sequence[str] = BUILT) -> None:
        folder.mkdir(parents=True)
        for name in built:
            build_table(lookup.find_game(name), folder)
        self.tables = lookup.open_tablebase(folder, lookup.tablebase.packaged_tables())
        self.stored = [self.tables[name] for name in self.tables]
        self.all: list[Answers] = [*self.stored]
        self.all += [lookup.closed_form(name, **parameters) for name, parameters in FORMULAS]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.tables.close()

    def position(self, random: Random, answers: Answers) -> str:
        """The text of any position."""
        game = answers.game
        if isinstance(game, HeapGame):
            return game.format(random.randrange(_LONG if random.random() < 0.99 else 3000))
        size = game.size if isinstance(answers, lookup.Table) else min(game.size, 10**30)
        index = random.randrange(size)
        while not game.is_position(index):
            index = random.randrange(size)
        return game.format(index)

    def text(self, random: Random, position: str) -> str:
        """A position, nearly one, or something else."""
        kind = random.random()
        if kind < 0.2:
            return position
        return near_miss(random, position) if kind < 0.7 else wild_text(random, position[:100])

    def attempt_text(self, random: Random) -> str:
        """Ask everything about any text."""
        answers = random.choice(self.all)
        text = self.text(random, self.position(random, answers))
        with case(f"{answers!r}, text {shown(text)}"):
            return f"{check_text(answers.game, text)}, {check_answers(answers, text)}"

    def attempt_move(self, random: Random) -> str:
        """Make any move in a position."""
        answers = random.choice(self.all)
        position = self.position(random, answers)
        with case(f"{answers!r}, position {shown(position)}"):
            try:
                moves = [step.text for step in answers.game.moves(position[:_LONG])]
            except lookup.InvalidPositionError:
                return "no moves to begin with"
        near = moves and random.random() < 0.8
        move = (
            self.text(random, random.choice(moves)) if near else wild_text(random, "".join(moves[:3]))
        )
        with case(f"{answers!r}, position {shown(position[:_LONG])}, move {shown(move)}"):
            try:
                return check_move(answers, position[:_LONG], move)
            except lookup.InvalidPositionError as error:
                require_sentence(error)
                return "beyond the table"

    def attempt_index(self, random: Random) -> str:
        """Write the position of an index, and read it again."""
        table = random.choice(self.stored)
        index = random.randrange(table.info.size)
        with case(f"{table!r}, index {index}"):
            return check_index(table, index)


def check_index(table: Table, index: int) -> str:
    """A text leads back to its index, and both have the same value; holes have none.

    Raises:
        BrokenError: they do not.
    """
    game = table.game
    if not game.is_position(index):
        require(table.probe_many([index]).outcome[0] == 0, "a hole has a value")
        try:
            table.probe_index(index)
        except lookup.InvalidPositionError:
            return "a hole"
        raise BrokenError("a hole has a value")
    text = game.format(index)
    require(game.parse(text) == index, f"{text!r} leads to another index")
    require(table.probe(text) == table.probe_index(index), f"{text!r} has another value")
    return "a position"
