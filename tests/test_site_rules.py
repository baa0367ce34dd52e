"""Translated rules against those they were translated from: the same answers, to the letter."""

from __future__ import annotations

import json
import random
import subprocess
from typing import TYPE_CHECKING, Any

import pytest

from lookup import EndtableError, load_game
from lookup.games import GAMES as GAMES_BY_NAME
from lookup.games import game_class
from lookup.games.loading import installed_games
from lookup.site.export import write_scripts
from lookup.values import Outcome
from tests.conftest import ROOT
from tests.own_games import write_game
from tests.tools import need
from tests.user_games import SOURCES

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from lookup import Game

GAMES: dict[str, tuple[int, ...]] = {
    "tactics-3x3": (3, 3, 3, False),
    "tactics-4x5-run2-normal": (4, 5, 2, True),
    "tactics-6x6": (6, 6, 6, False),
    "rota": (False,),
    "rota-diameters": (True,),
    "sticks-any-1-3": (1, 3),
    "sticks-run-2-4": (2, 4, 2000),
    "sticks-special-50": (50,),
    "clock-4-2": (4, 2),
    "clock-30-12": (30, 12),
    "winners-losers-60": (60,),
}
"""With parameters as a page has them. Indices of some are beyond 2^53."""

LONGEST_ROW = 60
"""Longer rows of sticks have thousands of moves."""

EXAMPLES = tuple(sorted(installed_games()))


def kind_of(name: str) -> str:
    """The name of the game that a table's name begins with."""
    return next(game for game in GAMES_BY_NAME if f"{name}-".startswith(f"{game}-"))


def questions(game: Game, texts: list[str]) -> dict[str, Any]:
    """What is asked: texts of positions, of which some are damaged, moves, and names of tables."""
    damaged = [text[:-1] + "?" for text in texts[:3]] + ["", "0", "|", "x", "...", texts[0] * 2, "é'\n"]
    return {
        "game": game.name,
        "parameters": list(game.parameters.values()),
        "texts": texts + damaged,
        "moves": ["a1", "b2-b3", "n", "n-c", "1", "1,3", "2-4", "3-2", "0", "X", "left", "", "take 1"],
        "names": [game.table_name, f"{game.table_name}-1", "rota", "tactics-04x4", "clock-0-1", "x"],
    }


def sampled(game: Game, count: int) -> list[str]:
    """Texts of positions: the start and the first ones of play, then whatever indices are any."""
    choice = random.Random(game.table_name)
    texts = [game.format(game.start)]
    while len(texts) < count:
        text = texts[-1]
        steps = game.moves(text) if len(texts) % 9 else []
        after = choice.choice(steps).position if steps else ""
        texts.append(after or game.format(_any_position(game, choice)))
    return list(dict.fromkeys(texts))


def _any_position(game: Game, choice: random.Random) -> int:
    while True:
        index = choice.randrange(min(game.size, LONGEST_ROW) if game.solver == "heaps" else game.size)
        if game.is_position(index):
            return index


def plain(value: Any) -> Any:
    """A value as JSON has it; numbers that it would round as texts."""
    if isinstance(value, Outcome):
        return str(value)
    if isinstance(value, int) and not isinstance(value, bool) and value > (1 << 53) - 1:
        return str(value)
    return [plain(one) for one in value] if isinstance(value, list | tuple) else value


def asked(find: Callable[..., Any], *given: str) -> Any:
    try:
        return plain(find(*given))
    except EndtableError as error:
        return f"{type(error).__name__}: {error}"


def answers(game: Game, question: dict[str, Any]) -> dict[str, Any]:
    """What Python answers, in the form of rules_driver.mjs."""
    formula = game.closed_form
    kind = type(game)
    return {
        "table": game.table_name,
        "size": plain(game.size),
        "start": game.format(game.start),
        "texts": [
            {
                "components": asked(game.components, text),
                "moves": asked(game.moves, text),
                "board": asked(game.board, text),
                "played": [asked(game.play, text, move) for move in question["moves"][at % 3 :: 3]],
                "best": asked(formula.moves, text) if formula else None,
                "value": asked(formula.probe, text) if formula else None,
            }
            for at, text in enumerate(question["texts"])
        ],
        "names": [
            asked(lambda name: getattr(kind.from_table_name(name), "table_name", None), name)
            for name in question["names"]
        ],
    }


@pytest.fixture(scope="module")
def users(tmp_path_factory: pytest.TempPathFactory) -> list[type[Game]]:
    """Games in many styles."""
    folder = tmp_path_factory.mktemp("users")
    return [
        load_game(f"{write_game(folder, source, f'{name}.py')}:{name}")
        for name, source in SOURCES.items()
    ]


@pytest.fixture(scope="module")
def scripts(tmp_path_factory: pytest.TempPathFactory, users: list[type[Game]]) -> Path:
    need("nodejs")
    folder = tmp_path_factory.mktemp("scripts")
    write_scripts(folder, [*(game_class(name) for name in EXAMPLES), *users])
    (folder / "package.json").write_text('{"type": "module"}')
    return folder


def test_every_game_of_ours_is_asked() -> None:
    assert {kind_of(name) for name in GAMES} == set(GAMES_BY_NAME)


def test_every_game_answers_in_javascript_as_in_python(scripts: Path, users: list[type[Game]]) -> None:
    ours = [game_class(kind_of(name))(*values) for name, values in GAMES.items()]
    games = [*ours, *(game_class(name)() for name in EXAMPLES), *(kind() for kind in users)]
    asking = [questions(game, sampled(game, 25)) for game in games]
    lines = "\n".join(map(json.dumps, asking))
    command = ["node", str(ROOT / "tests" / "rules_driver.mjs"), str(scripts)]
    ran = subprocess.run(command, input=lines, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    found = [json.loads(line) for line in ran.stdout.splitlines()]
    assert len(found) == len(games)
    for game, question, answer in zip(games, asking, found, strict=True):
        expected = answers(game, question)
        for text, one, other in zip(question["texts"], expected["texts"], answer["texts"], strict=True):
            for key, value in one.items():
                assert other[key] == value, (game.table_name, text, key)
        assert {**answer, "texts": None} == {**expected, "texts": None}
