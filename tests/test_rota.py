"""ROTA against a twin with colours, tuples and no symmetry; and played without losing."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest

from lookup import InvalidPositionError, open_table
from lookup.games.rota import Rota
from tests.rota_twin import VARIANTS, lines, text_of, twin, twin_moves

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from lookup import Table


@pytest.mark.parametrize("name", VARIANTS)
def test_every_reachable_position_agrees_with_the_twin(name: str, built: Callable[[str], Path]) -> None:
    with open_table(built(name)) as table:
        for position, value in twin(name).items():
            text = text_of(position)
            assert table.probe(text) == value, text
            moves = sorted(move.position for move in table.moves(text))
            assert moves == sorted(map(text_of, twin_moves(position, name)))


def test_the_twin_saw_thousands_of_positions() -> None:
    assert {name: len(twin(name)) for name in VARIANTS} == {"rota": 5230, "rota-diameters": 5550}


@pytest.mark.parametrize("name", VARIANTS)
def test_no_mover_is_ever_stuck(name: str) -> None:
    """As the module says: a position without moves is one in which the other player has a line."""
    for position in twin(name):
        xs, os, x_moves = position
        if not twin_moves(position, name):
            assert any(line <= (os if x_moves else xs) for line in lines(name))


@pytest.mark.parametrize("name", VARIANTS)
def test_one_record_a_class(name: str, built: Callable[[str], Path]) -> None:
    with open_table(built(name)) as table:
        game = table.game
        orbits = {
            min(game.transform(index, k) for k in range(16))
            for index in range(game.size)
            if game.is_position(index)
        }
        stored = table._file.columns["outcome"].column.items
        assert stored == len(orbits) + 1  # and record 0 for what is not a position


# --- never lose ---------------------------------------------------------------------------------


def keeper(table: Table, text: str, chance: random.Random) -> str:
    """Any move that keeps the best outcome: these stand first."""
    moves = table.moves(text)
    best = [move for move in moves if move.value.outcome is moves[0].value.outcome]
    assert moves[: len(best)] == best
    return chance.choice(best).position


def anyone(table: Table, text: str, chance: random.Random) -> str:
    return chance.choice(table.game.moves(text)).position


def greedy(table: Table, text: str, chance: random.Random) -> str:
    """Win now if possible, else do not let the other win at once, else anything."""
    moves = table.game.moves(text)
    wins = [move for move in moves if table.game.terminal(move.after[0])]
    safe = [
        move
        for move in moves
        if not any(table.game.terminal(reply) for reply in table.game.successors_of(move.after[0]))
    ]
    return chance.choice(wins or safe or moves).position


def perfect(table: Table, text: str, chance: random.Random) -> str:
    moves = table.moves(text)
    return chance.choice([move for move in moves if move.value == moves[0].value]).position


@pytest.mark.parametrize("opponent", [anyone, greedy, perfect])
@pytest.mark.parametrize("we_begin", [True, False])
@pytest.mark.parametrize("name", VARIANTS)
def test_fifty_games_of_thirty_moves_without_a_loss(
    name: str,
    we_begin: bool,
    opponent: Callable[[Table, str, random.Random], str],
    built: Callable[[str], Path],
) -> None:
    chance = random.Random(f"{name} {we_begin} {opponent.__name__}")
    with open_table(built(name)) as table:
        for _ in range(50):
            text = table.game.format(table.game.start)
            ours = we_begin
            for _ in range(2 * (3 + 30)):  # placing a piece is not yet a move
                if not table.game.moves(text):
                    assert not ours  # whoever is to move has lost
                    break
                text = (keeper if ours else opponent)(table, text, chance)
                ours = not ours


def test_perfect_opponents_draw_and_others_sometimes_lose(built: Callable[[str], Path]) -> None:
    """The players above differ: otherwise the fifty games would show nothing."""
    ends = {}
    with open_table(built("rota")) as table:
        for opponent in (anyone, perfect):
            chance, lost = random.Random(1), 0
            for _ in range(50):
                text, ours = table.game.format(table.game.start), True
                for _ in range(66):
                    if not table.game.moves(text):
                        lost += 1
                        break
                    text = (keeper if ours else opponent)(table, text, chance)
                    ours = not ours
            ends[opponent] = lost
    assert ends[perfect] == 0
    assert ends[anyone] > 0


# --- text ---------------------------------------------------------------------------------------


def test_colours_stay_through_a_line(built: Callable[[str], Path]) -> None:
    with open_table(built("rota")) as table:
        movers = [move.position[-1] for move in table.line()]
    assert movers == ["o", "x"] * (len(movers) // 2) + ["o"] * (len(movers) % 2)


def test_with_six_pieces_either_may_move_and_the_index_is_the_same() -> None:
    game = Rota()
    assert game.parse("xo./x.o/ox. x") == game.parse("ox./o.x/xo. o")


def test_the_boards_that_the_seed_calls_equivalent_share_a_class(built: Callable[[str], Path]) -> None:
    texts = ["x.o/ox./ox. x", "o../.xx/xoo x", "x../.oo/oxx o", "..x/oo./xxo o"]
    game = Rota()
    classes = {min(game.transform(game.parse(text), k) for k in range(16)) for text in texts}
    assert len(classes) == 1
    with open_table(built("rota")) as table:
        assert len({table.probe(text) for text in texts}) == 1


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "three rows of three cells"),
        ("x.o/.x./..o", "the mover 'x' or 'o'"),
        ("x.o/.x./..o  x", "the mover 'x' or 'o'"),
        ("x.o/.x./..o X", "the mover 'x' or 'o'"),
        ("x.o/.x./..ox x", "three rows of three cells"),
        ("x.o/.x./..# x", "only '.', 'x' and 'o'"),
        ("xxx/x../ooo x", "at most three pieces each"),
        ("o../.../... x", "at most three pieces each"),
        ("x.o/.x./..o o", "the mover 'x' for 2 x and 2 o"),
        ("x../.../... x", "the mover 'o' for 1 x and 0 o"),
        ("xxx/oo./o.. x", "no line of 'x', who is to move"),
    ],
)
def test_bad_text_is_refused(text: str, words: str) -> None:
    with pytest.raises(InvalidPositionError) as caught:
        Rota().parse(text)
    assert words in str(caught.value)
    assert repr(text) in str(caught.value)


def test_the_same_line_is_no_line_in_the_other_variant() -> None:
    with pytest.raises(InvalidPositionError):
        Rota().parse("xxx/oo./o.. x")
    assert Rota(diameters=True).parse("xxx/oo./o.. x")
