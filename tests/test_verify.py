"""`verify` finds what checksums cannot: a file that is whole, and wrong."""

from __future__ import annotations

import dataclasses
import tracemalloc
from contextlib import closing
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import lookup
import lookup.format as table_format
from builder import verify
from builder.checks import moves, totals
from builder.checks.check import Check
from builder.compile import Engine
from builder.solvers import distance, mask, retrograde
from builder.solvers.solution import PackedColumn, Solution, packed_remoteness
from builder.verify import verify_file
from builder.workers import Steps, Workers
from builder.writer import write_table
from lookup.blocks import pack, unpack
from lookup.errors import (
    BuildError,
    CorruptTableError,
    InvalidParameterError,
    MissingTableError,
    VerificationError,
)
from lookup.format import TableInfo, Totals, outcome_column
from lookup.games.tactics import Tactics
from lookup.progress import silent
from lookup.reader import TableFile
from lookup.records import Layout, decode_records, decoded_bytes
from tests.solving import solve

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

PLANS: dict[str, Any] = {
    "mask": mask.plan,
    "retrograde": retrograde.RetrogradePlan,
    "distance": distance.plan,
}


def solved(name: str) -> tuple[lookup.Game, Solution]:
    game = lookup.find_game(name)
    return game, solve(PLANS[game.solver], game, Engine.PYTHON)


def write(path: Path, game: lookup.Game, solution: Solution, **changes: Any) -> Path:
    """A file whose every checksum and digest is right, whatever its content."""
    info = TableInfo.describe(game, "a forger", solution.totals)
    write_table(path, info._replace(**changes), solution.columns)
    return path


def least(file: TableFile) -> int:
    """The least memory in which a file can be verified."""
    itemsize = Layout.of(file).dtype.itemsize
    return verify.memory_needed(file.game, itemsize, file.known_chunks)


def traced(work: Callable[[], object]) -> int:
    """The bytes that Python and numpy take at the peak of some work."""
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def wrong_indices(path: Path) -> list[int]:
    """All indices whose records do not follow from their successors."""
    with closing(TableFile(path)) as file:
        check = moves.check(file.game, Layout.of(file), decode_records(file), Engine.PYTHON)
    return [at for at in range(file.info.size) if check.first_wrong(at, at + 1)]


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


# --- samples --------------------------------------------------------------------------------------


@pytest.mark.parametrize("sample", [60, 200])
def test_a_sample_finds_what_lies_in_it_and_nothing_else(sample: int, tmp_path: Path) -> None:
    game, solution = solved("tactics-3x3")
    path = write(tmp_path / "t.h5", game, with_item(solution, "remoteness", 300, 1))
    bad = wrong_indices(path)
    assert 300 in bad
    found = 0
    for seed in range(40):
        with closing(TableFile(path)) as file:
            ranges = verify._ranges(file, Check(lambda low, high: None, 100), sample, seed)
        checked = sum(high - low for low, high in ranges)
        assert sample <= checked < sample + 64
        inside = [at for low, high in ranges for at in range(low, high) if at in bad]
        if inside:
            with pytest.raises(VerificationError, match=f"says that index {inside[0]} "):
                verify_file(path, sample=sample, seed=seed)
        else:
            assert verify_file(path, sample=sample, seed=seed).checked == checked
        found += bool(inside)
    assert 0 < found < 40


@pytest.mark.parametrize("engine", Engine)
def test_a_sample_of_everything_is_everything(engine: Engine, tmp_path: Path) -> None:
    game, solution = solved("tactics-3x3")
    right = write(tmp_path / "right.h5", game, solution)
    for sample in (512, 513, 10**9):
        assert verify_file(right, engine, sample=sample).checked == 512
    path = write(tmp_path / "t.h5", game, with_item(solution, "remoteness", 300, 1))
    with pytest.raises(VerificationError, match="says that index"):
        verify_file(path, engine, sample=512)


def test_a_sample_has_many_places(tmp_path: Path) -> None:
    path = write(tmp_path / "t.h5", *solved("tactics-3x4"))
    with closing(TableFile(path)) as file:
        for sample, stretch in ((10, 1), (64, 1), (640, 10), (1000, 15)):
            ranges = verify._ranges(file, Check(lambda low, high: None, 100), sample, 1)
            assert {high - low for low, high in ranges} <= {stretch, file.info.size % stretch}
            assert len(ranges) == -(-sample // stretch)
            assert len({low for low, _ in ranges}) == len(ranges)


@pytest.mark.parametrize("sample", [0, -5])
def test_a_sample_of_nothing_is_refused(sample: int, tmp_path: Path) -> None:
    path = write(tmp_path / "t.h5", *solved("tactics-2x2"))
    with pytest.raises(InvalidParameterError, match=f"sample cannot be {sample}: expected 1"):
        verify_file(path, sample=sample)


def test_totals_are_counted_beside_a_sample_if_wanted(tmp_path: Path) -> None:
    game, solution = solved("tactics-3x3")
    path = write(tmp_path / "t.h5", game, solution, wins=422, losses=90)
    verify_file(path, sample=5, recount=False)
    with pytest.raises(VerificationError, match="says of it that losses is 90, but it is"):
        verify_file(path, sample=5)
    with pytest.raises(VerificationError, match="says of it that rules is"):
        verify_file(write(path, game, solution, rules="none"), sample=5, recount=False)


# --- memory ---------------------------------------------------------------------------------------


@pytest.fixture
def in_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files of many small chunks, none of which may be decoded as a whole."""
    monkeypatch.setattr(table_format, "CHUNK_BYTES", 64)
    monkeypatch.setattr(verify, "_LEAST_CACHE", 256)
    monkeypatch.setattr(verify, "_LEAST_ROOM", 64)
    monkeypatch.setattr(verify, "_decoding_bytes", lambda file: 1 << 60)

    def unexpected(file: TableFile) -> None:
        pytest.fail("all records were decoded")

    monkeypatch.setattr(verify, "decode_records", unexpected)


@pytest.mark.usefixtures("in_chunks")
@pytest.mark.parametrize("engine", Engine)
@pytest.mark.parametrize("name", ["tactics-3x3", "tactics-2x5-normal", "rota", "clock-4-2"])
def test_right_tables_pass_chunk_by_chunk(name: str, engine: Engine, tmp_path: Path) -> None:
    path = write(tmp_path / "t.h5", *solved(name))
    with closing(TableFile(path)) as file:
        assert max(stored.count for stored in file.columns.values()) > 1
        sample = None if file.info.size < 2000 else 1000
        checked = verify_file(path, engine, sample=sample, memory=least(file)).checked
        assert checked == ((sample and 1005) or file.info.size)


@pytest.mark.usefixtures("in_chunks")
@pytest.mark.parametrize("engine", Engine)
@pytest.mark.parametrize("at", [0, 200, 511])
def test_one_altered_remoteness_is_found_chunk_by_chunk(
    at: int, engine: Engine, tmp_path: Path
) -> None:
    game, solution = solved("tactics-3x3")
    plies = int(unpack(solution.columns[1].data, 4, game.size)[at])
    forged = with_item(solution, "remoteness", at, plies + 2 if plies < 5 else plies - 2)
    path = write(tmp_path / "t.h5", game, forged)
    first = min(wrong_indices(path))
    with (
        closing(TableFile(path)) as file,
        pytest.raises(VerificationError, match=f"says that index {first} "),
    ):
        verify_file(path, engine, memory=least(file))


@pytest.mark.usefixtures("in_chunks")
def test_a_move_to_no_position_is_found_chunk_by_chunk(tmp_path: Path) -> None:
    game, solution = solved("rota")
    forged = with_item(solution, "outcome", 100, 0)
    with pytest.raises(VerificationError, match=r"is a .*, but|says that index \d+ .*not a position"):
        verify_file(write(tmp_path / "t.h5", game, forged))


@pytest.mark.parametrize("engine", Engine)
@pytest.mark.parametrize(
    "name",
    [
        "tactics-3x4",
        "rota",
        "clock-4-5",
        "winners-losers-12",
        "sticks-special-16",
        "sticks-run-1-3-to90",
    ],
)
def test_memory_stays_below_the_least(name: str, engine: Engine, built: Callable[[str], Path]) -> None:
    path = built(name)
    verify_file(path, engine)  # imports and compiled code are not what is measured
    with closing(TableFile(path)) as file:
        needed = least(file)
        assert needed <= verify.memory_needed(file.game, Layout.of(file).dtype.itemsize)
    assert traced(lambda: verify_file(path, engine, memory=needed)) <= needed
    with pytest.raises(
        BuildError, match=r"needs about [\d.]+ [KM]iB of memory, and [\d.]+ [KM]iB available"
    ):
        verify_file(path, engine, memory=needed - 1)


def test_memory_stays_below_the_least_chunk_by_chunk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A table that takes four times as much as it may when it is decoded."""
    monkeypatch.setattr(table_format, "CHUNK_BYTES", 1 << 12)
    monkeypatch.setattr(verify, "CHUNK_BYTES", 1 << 12)
    monkeypatch.setattr(verify, "_LEAST_CACHE", 1 << 14)
    monkeypatch.setattr(verify, "_LEAST_ROOM", 1 << 10)
    game = lookup.find_game("clock-7-6")
    path = write(tmp_path / "t.h5", game, solve(distance.plan, game, Engine.NUMBA))
    verify_file(path, Engine.NUMBA)
    with closing(TableFile(path)) as file:
        needed = least(file)
        assert needed < decoded_bytes(file) < verify._decoding_bytes(file)
    assert traced(lambda: verify_file(path, Engine.NUMBA, sample=50_000, memory=needed)) <= needed


def test_records_in_memory_are_chosen_if_they_fit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(tmp_path / "t.h5", *solved("tactics-3x4"))
    monkeypatch.setattr(verify, "ChunkedRecords", lambda *given: pytest.fail("read by chunks"))
    assert verify_file(path).checked == 4096
    assert verify_file(path, sample=100).checked == 100
    # Of a table that takes long to decode a sample does without.
    monkeypatch.setattr(verify, "DECODED_LIMIT", 4095)
    with pytest.raises(pytest.fail.Exception):
        verify_file(path, sample=100)


# --- totals ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("bits", [1, 2])
@pytest.mark.parametrize("name", ["clock-4-2", "tactics-1x1", "tactics-3x4"])
def test_totals_are_those_of_the_items(
    bits: int, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of any numbers at all, with unused bits set at the end of the last byte."""
    monkeypatch.setattr(table_format, "CHUNK_BYTES", 16)
    game, random = lookup.find_game(name), np.random.default_rng(1)
    codes = random.integers(0, 1 << bits, game.size).astype(np.uint8)
    codes[0] = 1
    data = pack(codes, bits)
    if unused := game.size * bits % 8:
        data[-1] |= 0xFF << unused & 0xFF
    longest = min(300, game.size)
    plies = random.integers(0, longest, game.size).astype(np.uint16)
    count = np.bincount(codes, minlength=4).tolist()
    counts = (count[0], 0, count[1]) if bits == 1 else tuple(count[1:])
    expected = Totals(counts, int(plies.max()), -1)
    columns = (PackedColumn(outcome_column(bits, game.size), data), packed_remoteness(plies, longest))
    path = write(tmp_path / "t.h5", game, Solution(columns, expected._replace(longest=longest)))
    with closing(TableFile(path)) as file, Workers() as workers:
        assert totals.recount(file, workers, Steps(silent, totals.steps(file))) == expected


def test_totals_count_a_class_as_often_as_it_occurs(built: Callable[[str], Path]) -> None:
    with closing(TableFile(built("rota"))) as file, Workers() as workers:
        found = totals.recount(file, workers, Steps(silent, totals.steps(file)))
        assert found == verify._claimed_totals(file)
        assert sum(found.counts) == 3790


def test_only_a_few_calls_are_ahead_of_their_results() -> None:
    begun: list[int] = []

    def calls() -> Iterator[tuple[int]]:
        for number in range(1000):
            begun.append(number)
            yield (number,)

    with Workers() as workers:
        results = workers.in_order(lambda number: number, calls())
        assert [next(results) for _ in range(10)] == list(range(10))
        assert len(begun) <= 10 + 8 * workers.count
        assert list(results) == list(range(10, 1000))


# --- files ----------------------------------------------------------------------------------------


def test_damage_is_reported_as_damage(tmp_path: Path) -> None:
    path = write(tmp_path / "t.h5", *solved("tactics-3x3"))
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(CorruptTableError):
        verify_file(path)
    with pytest.raises(MissingTableError):
        verify_file(tmp_path / "nothing.h5")
