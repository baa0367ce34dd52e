"""`verify` finds what checksums cannot: a file that is whole, and wrong."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import lookup
from builder.compile import Engine
from builder.solvers import mask, retrograde
from builder.solvers.solution import PackedColumn, packed_remoteness
from builder.verify import verify_file
from builder.writer import write_table
from lookup.blocks import pack, unpack
from lookup.errors import CorruptTableError, MissingTableError, VerificationError
from lookup.format import TableInfo
from lookup.games.tactics import Tactics
from tests.solving import solve

if TYPE_CHECKING:
    from pathlib import Path

    from builder.solvers.solution import Solution

PLANS: dict[str, Any] = {"mask": mask.plan, "retrograde": retrograde.RetrogradePlan}


def solved(name: str) -> tuple[lookup.Game, Solution]:
    game = lookup.find_game(name)
    return game, solve(PLANS[game.solver], game, Engine.PYTHON)


def write(path: Path, game: lookup.Game, solution: Solution, **changes: Any) -> Path:
    """A file whose every checksum and digest is right, whatever its content."""
    info = TableInfo.describe(game, "a forger", solution.totals)
    write_table(path, info._replace(**changes), solution.columns)
    return path


def _with_totals(solution: Solution, **changes: Any) -> Solution:
    return dataclasses.replace(solution, totals=solution.totals._replace(**changes))


def with_item(solution: Solution, name: str, at: int, value: int) -> Solution:
    """The same solution with one item of one column changed."""
    columns = []
    for part in solution.columns:
        column = part.column
        if column.name == name:
            items = unpack(part.data, column.bits, column.items).copy()
            assert items[at] != value
            items[at] = value
            part = PackedColumn(column, pack(items, column.bits))
        columns.append(part)
    return dataclasses.replace(solution, columns=tuple(columns))


@pytest.mark.parametrize("engine", Engine)
@pytest.mark.parametrize("name", ["tactics-3x3", "tactics-2x2-normal", "rota", "rota-diameters"])
def test_right_tables_pass(name: str, engine: Engine, tmp_path: Path) -> None:
    assert verify_file(write(tmp_path / "t.h5", *solved(name)), engine).info.name == name


def test_outcomes_alone_pass_and_are_checked(tmp_path: Path) -> None:
    game = Tactics(3, 4)
    solution = solve(mask.BitsPlan, game, Engine.PYTHON)
    verify_file(write(tmp_path / "t.h5", game, solution))
    for at in (0, 77, 4095):
        bit = int(unpack(solution.columns[0].data, 1, game.size)[at])
        forged = with_item(solution, "outcome", at, 1 - bit)
        shift = 1 if bit else -1
        losses, draws, wins = forged.totals.counts
        forged = _with_totals(forged, counts=(losses + shift, draws, wins - shift))
        with pytest.raises(VerificationError, match="index"):
            verify_file(write(tmp_path / "t.h5", game, forged))


@pytest.mark.parametrize("engine", Engine)
@pytest.mark.parametrize("at", [0, 1, 200, 510, 511])
def test_one_altered_remoteness_is_found(at: int, engine: Engine, tmp_path: Path) -> None:
    game, solution = solved("tactics-3x3")
    plies = int(unpack(solution.columns[1].data, 4, game.size)[at])
    forged = with_item(solution, "remoteness", at, plies + 2 if plies < 5 else plies - 2)
    with pytest.raises(VerificationError, match=r"says that index \d+ .* but by the rules"):
        verify_file(write(tmp_path / "t.h5", game, forged), engine)


@pytest.mark.parametrize("record", [1, 7, 100, 200, 272])
def test_one_altered_class_record_is_found(record: int, tmp_path: Path) -> None:
    game, solution = solved("rota")
    outcome = unpack(solution.columns[0].data, 2, solution.columns[0].column.items)
    classes = unpack(solution.columns[2].data, 16, game.size)
    weight = int((classes == record).sum())
    was = int(outcome[record])
    now = 2 if was != 2 else 1
    forged = with_item(solution, "outcome", record, now)
    counts = list(solution.totals.counts)
    counts[was - 1] -= weight
    counts[now - 1] += weight
    forged = _with_totals(forged, counts=(counts[0], counts[1], counts[2]))
    if now == 2:  # a draw with a remoteness would be noticed for that alone
        plies = int(unpack(solution.columns[1].data, 4, len(outcome))[record])
        forged = with_item(forged, "remoteness", record, 0) if plies else forged
    with pytest.raises(VerificationError, match="says that index"):
        verify_file(write(tmp_path / "t.h5", game, forged))


def test_the_message_names_position_and_truth(tmp_path: Path) -> None:
    game, solution = solved("tactics-2x2")
    path = write(tmp_path / "t.h5", game, with_item(solution, "remoteness", 0, 2))
    with pytest.raises(VerificationError) as caught:
        verify_file(path)
    assert str(caught.value) == (
        f"'{path}' says that index 0 ('../..') is a loss in 2, "
        "but by the rules and its successors it is a loss in 3"
    )


@pytest.mark.parametrize(
    "claim",
    [
        {"wins": 422, "losses": 90},
        {"longest_remoteness": 9},
        {"rules": "Whoever fills the last cell wins."},
        {"indexing": "Bit r + c * rows."},
        {"integrity": "none"},
    ],
    ids=str,
)
def test_a_wrong_description_is_found(claim: dict[str, Any], tmp_path: Path) -> None:
    game, solution = solved("tactics-3x3")
    path = write(tmp_path / "t.h5", game, solution, **claim)
    with pytest.raises(VerificationError, match=f"says of it that {min(claim)} is .*, but it is"):
        verify_file(path)


@pytest.mark.parametrize(
    "totals", [{"wins": 0}, {"losses": -1}, {"positions": 0}, {"wins": 9, "draws": 414}]
)
def test_totals_that_no_table_has_are_refused_at_once(totals: dict[str, int], tmp_path: Path) -> None:
    game, solution = solved("tactics-3x3")
    path = write(tmp_path / "t.h5", game, solution, **totals)
    with pytest.raises((CorruptTableError, VerificationError)):
        verify_file(path)


def test_a_column_that_misleads_about_its_codes_is_found(tmp_path: Path) -> None:
    game, solution = solved("tactics-3x3")
    outcome, remoteness = solution.columns
    wrong = PackedColumn(outcome.column._replace(meaning="0 win, 1 loss"), outcome.data)
    forged = dataclasses.replace(solution, columns=(wrong, remoteness))
    with pytest.raises(VerificationError, match="says of outcome that meaning is '0 win, 1 loss'"):
        verify_file(write(tmp_path / "t.h5", game, forged))


def test_a_game_with_loops_needs_remoteness(tmp_path: Path) -> None:
    """Outcomes alone could call a draw by repetition a win and still agree with their successors."""
    game, solution = solved("rota")
    outcome, _, classes = solution.columns
    forged = dataclasses.replace(solution, columns=(outcome, classes))
    forged = _with_totals(forged, longest=-1)
    with pytest.raises(VerificationError, match="stores no remoteness"):
        verify_file(write(tmp_path / "t.h5", game, forged))


@pytest.mark.parametrize("engine", Engine)
def test_explanations_do_not_overflow(engine: Engine, tmp_path: Path) -> None:
    """A record is a byte here, and the right value of index 0 does not fit one once shifted."""
    game, solution = solved("tactics-1x9-run1")
    plies = np.full(game.size, 63, np.uint8)
    columns = (solution.columns[0], packed_remoteness(plies, 63))
    forged = _with_totals(dataclasses.replace(solution, columns=columns), longest=63)
    with pytest.raises(VerificationError, match=r"it is a (win|loss) in 64$"):
        verify_file(write(tmp_path / "t.h5", game, forged), engine)


def test_wrong_classes_are_found(tmp_path: Path) -> None:
    """Classes of equal value may change numbers and all values stay right: still not the format."""
    game, solution = solved("rota")
    classes = unpack(solution.columns[2].data, 16, game.size).copy()
    values = list(
        zip(*(unpack(c.data, c.column.bits, c.column.items) for c in solution.columns[:2]), strict=True)
    )
    one, other = next(
        (a, b) for a in range(1, 273) for b in range(a + 1, 273) if values[a] == values[b]
    )
    swapped = classes.copy()
    swapped[classes == one], swapped[classes == other] = other, one
    columns = (
        *solution.columns[:2],
        PackedColumn(solution.columns[2].column, swapped.astype(np.uint16)),
    )
    forged = dataclasses.replace(solution, columns=columns)
    with pytest.raises(VerificationError, match="puts index"):
        verify_file(write(tmp_path / "t.h5", game, forged))


def test_samples_look_only_where_told(tmp_path: Path) -> None:
    game, solution = solved("tactics-3x3")
    forged = with_item(solution, "remoteness", 300, 1)
    path = write(tmp_path / "t.h5", game, forged)
    verify_file(path, sample=[(301, 512)])
    with pytest.raises(VerificationError, match="index 300"):
        verify_file(path, sample=[(300, 301)])


def test_damage_is_reported_as_damage(tmp_path: Path) -> None:
    path = write(tmp_path / "t.h5", *solved("tactics-3x3"))
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(CorruptTableError):
        verify_file(path)
    with pytest.raises(MissingTableError):
        verify_file(tmp_path / "nothing.h5")
