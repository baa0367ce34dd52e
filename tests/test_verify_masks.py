"""Outcomes of mask games are checked 64 at a time: against the definition, position by position."""

from __future__ import annotations

import itertools
from contextlib import closing
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import lookup.format as table_format
from builder import verify
from builder.checks import masks, moves
from builder.compile import Engine
from builder.solvers import mask
from builder.verify import verify_file
from builder.workers import Workers
from lookup.blocks import unpack
from lookup.errors import VerificationError
from lookup.games import GAMES
from lookup.games.tactics import Tactics
from lookup.reader import TableFile
from tests.solving import solve
from tests.test_mask_solver import Dominoes
from tests.test_verify import least, traced, with_item, write

if TYPE_CHECKING:
    from pathlib import Path

    from builder.solvers.solution import Solution
    from lookup.games.mask_game import MaskGame

BOARDS = [
    Tactics(1, 1), Tactics(1, 1, normal=True), Tactics(2, 2), Tactics(1, 5), Tactics(1, 6),
    Tactics(1, 7), Tactics(3, 4), Tactics(3, 4, normal=True), Tactics(2, 6, 1), Dominoes(5, True),
    Dominoes(12), Dominoes(12, True),
]  # fmt: skip


@pytest.fixture(params=["one piece", "many pieces"])
def cut(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Blocks and pieces of a few words, chunks of one; or all in one."""
    if request.param == "many pieces":
        for engine in Engine:
            monkeypatch.setitem(masks.BLOCK, engine, 16)
        monkeypatch.setattr(masks, "LEAST_PIECE", 32)
        monkeypatch.setattr(masks, "BEST_PIECE", 64)
        monkeypatch.setattr(table_format, "CHUNK_BYTES", 8)
    monkeypatch.setitem(GAMES, Dominoes.name, Dominoes)
    return str(request.param)


@pytest.fixture(autouse=True)
def by_words_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    def unexpected(*given: Any) -> None:
        pytest.fail("checked position by position")

    monkeypatch.setattr(moves, "check", unexpected)


def forged(solution: Solution, at: int) -> tuple[Solution, dict[str, int]]:
    """The same solution with another outcome at an index, and totals that fit."""
    bit = int(unpack(solution.columns[0].data, 1, solution.columns[0].column.items)[at])
    losses, _, wins = solution.totals.counts
    changes = {"losses": losses + 2 * bit - 1, "wins": wins + 1 - 2 * bit}
    return with_item(solution, "outcome", at, 1 - bit), changes


def first_wrong(game: MaskGame, solution: Solution) -> int:
    """The first position whose outcome is not what the definition says."""
    won = unpack(solution.columns[0].data, 1, game.size)
    for index in range(game.size):
        after = [index | one for one in game.masks if not index & one]
        if won[index] != (any(not won[one] for one in after) if after else game.misere):
            return index
    return -1


@pytest.mark.parametrize("engine", Engine)
@pytest.mark.parametrize("game", BOARDS, ids=str)
def test_right_tables_pass(game: MaskGame, engine: Engine, cut: str, tmp_path: Path) -> None:
    solution = solve(mask.BitsPlan, game, Engine.PYTHON)
    assert first_wrong(game, solution) == -1
    path = write(tmp_path / "t.h5", game, solution)
    assert verify_file(path, engine).checked == game.size
    with closing(TableFile(path)) as file:
        assert verify_file(path, engine, memory=least(file)).checked == game.size


@pytest.mark.parametrize("game", BOARDS, ids=str)
def test_any_one_wrong_outcome_is_found(game: MaskGame, cut: str, tmp_path: Path) -> None:
    solution = solve(mask.BitsPlan, game, Engine.PYTHON)
    step = max(1, game.size // 4)
    for at in sorted({*range(0, game.size, step), game.size - 1}):
        wrong, changes = forged(solution, at)
        path = write(tmp_path / "t.h5", game, wrong, **changes)
        first = first_wrong(game, wrong)
        assert 0 <= first <= at
        for engine, sample in itertools.product(Engine, (None, game.size)):
            with pytest.raises(VerificationError, match=f"says that index {first} .*by the rules"):
                verify_file(path, engine, sample=sample)


def test_the_message_names_position_and_truth(tmp_path: Path) -> None:
    game = Tactics(3, 3)
    wrong, changes = forged(solve(mask.BitsPlan, game, Engine.PYTHON), 0)
    path = write(tmp_path / "t.h5", game, wrong, **changes)
    with pytest.raises(VerificationError) as caught:
        verify_file(path)
    assert str(caught.value) == (
        f"'{path}' says that index 0 ('.../.../...') is a loss, "
        "but by the rules and its successors it is a win"
    )


@pytest.mark.parametrize("engine", Engine)
@pytest.mark.parametrize("sample", [None, 1])
def test_wrong_totals_are_found(sample: int | None, engine: Engine, cut: str, tmp_path: Path) -> None:
    game = Tactics(3, 4)
    solution = solve(mask.BitsPlan, game, Engine.PYTHON)
    _, changes = forged(solution, 7)
    path = write(tmp_path / "t.h5", game, solution, **changes)
    with pytest.raises(VerificationError, match="says of it that losses is"):
        verify_file(path, engine, sample=sample)


@pytest.mark.parametrize("engine", Engine)
def test_a_sample_reads_only_the_pieces_it_needs(
    engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(table_format, "CHUNK_BYTES", 32)
    monkeypatch.setattr(masks, "LEAST_PIECE", 32)
    for one in Engine:
        monkeypatch.setitem(masks.BLOCK, one, 16)
    game = Tactics(3, 4)
    path = write(tmp_path / "t.h5", game, solve(mask.BitsPlan, game, Engine.PYTHON))
    read: list[int] = []
    real = TableFile.read_chunk

    def spy(self: TableFile, name: str, number: int) -> bytes:
        read.append(number)
        return real(self, name, number)

    monkeypatch.setattr(TableFile, "read_chunk", spy)
    for seed in range(9):
        read.clear()
        assert verify_file(path, engine, sample=1, seed=seed, recount=False).checked == 128
        own = min(read)
        tops = {number // 256 for number in game.masks}
        assert sorted(read) == sorted({own} | {own | top for top in tops if not own & top})


def test_pieces_make_room_for_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With no more memory than it must have, it forgets pieces and reads them again."""
    monkeypatch.setattr(table_format, "CHUNK_BYTES", 4096)
    monkeypatch.setattr(verify, "CHUNK_BYTES", 4096)
    monkeypatch.setattr(masks, "LEAST_PIECE", 4096)
    for engine in Engine:
        monkeypatch.setitem(masks.BLOCK, engine, 4096)
    game = Tactics(2, 13, 2)
    path = write(tmp_path / "t.h5", game, solve(mask.BitsPlan, game, Engine.NUMBA))
    verify_file(path, Engine.NUMBA)
    loads = 0
    real = masks._Pieces._read

    def spy(self: Any, number: int, chunk: int) -> None:
        nonlocal loads
        loads += 1
        real(self, number, chunk)

    monkeypatch.setattr(masks._Pieces, "_read", spy)
    with closing(TableFile(path)) as file:
        needed = least(file)
    assert needed < game.size // 8
    assert traced(lambda: verify_file(path, Engine.NUMBA, memory=needed)) <= needed
    assert loads > game.size // 8 // 4096
    loads = 0
    verify_file(path, Engine.NUMBA, memory=needed + game.size)
    assert loads == game.size // 8 // 4096


def test_pieces_held_at_once_are_all_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table_format, "CHUNK_BYTES", 8)
    game = Tactics(3, 4)
    solution = solve(mask.BitsPlan, game, Engine.PYTHON)
    whole = solution.columns[0].data.view(np.uint64)
    path = write(tmp_path / "t.h5", game, solution)
    random = np.random.default_rng(5)
    with closing(TableFile(path)) as file, Workers() as workers:
        pieces = masks._Pieces(file, 32, 5, workers)
        for _ in range(200):
            numbers = random.integers(0, 16, random.integers(1, 6)).tolist()
            for number, place in pieces.hold(numbers).items():
                assert (pieces.words[place : place + 4] == whole[number * 4 : number * 4 + 4]).all()
        assert len(pieces.words) == 20


class NeverOver(Tactics):
    """A game that is not what its masks say."""

    @property
    def terminal(self) -> Any:
        return lambda index: 0


def test_games_that_restate_their_rules_are_not_checked_by_masks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    solution = solve(mask.BitsPlan, Tactics(2, 2), Engine.PYTHON)
    path = write(tmp_path / "t.h5", Tactics(2, 2), solution)
    with closing(TableFile(path)) as file:
        assert masks.applies_to(file)
        file.game = NeverOver(2, 2)
        assert not masks.applies_to(file)
    path = write(tmp_path / "t.h5", Tactics(2, 2), solve(mask.ScoresPlan, Tactics(2, 2), Engine.PYTHON))
    with closing(TableFile(path)) as file:
        assert not masks.applies_to(file)


@pytest.mark.parametrize("inside", range(16))
def test_words_with_bits_all_set_or_none(inside: int) -> None:
    block = np.arange(16, dtype=np.uint64)
    for filled, bits in ((False, 0), (True, inside)):
        part = masks._part(block, inside, filled)
        assert part.base is not None
        assert part.ravel().tolist() == [at for at in range(16) if at & inside == bits]
