"""An open table: probes, batches, moves and lines; in memory and through the chunk cache."""

from __future__ import annotations

import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import lookup
from builder.catalogue import CATALOGUE
from builder.compile import Engine
from builder.solvers import mask
from builder.writer import write_table
from lookup import (
    CorruptTableError,
    InvalidPositionError,
    MissingTableError,
    Outcome,
    Value,
    records,
)
from lookup import format as format_module
from lookup import table as table_module
from lookup.format import TableInfo
from lookup.games.tactics import Tactics
from lookup.reader import TableFile
from tests.conftest import same_values
from tests.solving import solve

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.conftest import Rechunk

POSITION = "XXXX/..X./..X./...."


def plies(value: Value) -> int:
    assert value.remoteness is not None
    return value.remoteness


def test_the_contract(tables: lookup.Tablebase) -> None:
    table = tables["tactics-4x4"]
    value = table.probe(POSITION)
    assert (value.outcome, value.remoteness, value.grundy) == (Outcome.WIN, 8, None)
    moves = table.moves(POSITION)
    assert [move.value.outcome for move in moves] == sorted(
        (m.value.outcome for m in moves), reverse=True
    )
    assert table.best(POSITION) == moves[0]
    index = table.game.parse(POSITION)
    assert table.game.format(index) == POSITION
    assert table.probe_index(index) == value
    values = table.probe_many(np.array([index, table.game.start]))
    assert values.outcome.tolist() == [Outcome.WIN, Outcome.LOSS]
    assert values.remoteness is not None
    assert values.remoteness.tolist() == [8, 15]
    assert values.grundy is None


def test_moves_follow_from_probes(tables: lookup.Tablebase) -> None:
    for game in CATALOGUE:
        table = tables[game.table_name]
        step = max(101, table.game.size // 30) if game.solver in ("steps", "heaps") else 101
        positions = [i for i in range(0, table.game.size, step) if table.game.is_position(i)]
        for index in positions[: 4 if game.solver == "heaps" else 100]:
            text = table.game.format(index)
            own, moves = table.probe(text), table.moves(text)
            for move in moves:
                if move.position:  # the empty string of winners-losers has no value of its own
                    after = table.probe(move.position)
                    assert move.value == (after if game.players == 1 else -after)
            for move in moves[:3]:  # each is looked for among all of them
                assert table.move(text, move.text) == move
            if moves:
                assert moves[0].value.outcome is own.outcome
                if own.remoteness is not None:
                    assert plies(moves[0].value) == own.remoteness - 1


def test_many_texts_have_the_values_of_each(tables: lookup.Tablebase) -> None:
    for game in CATALOGUE:
        table = tables[game.table_name]
        indices = range(0, table.game.size, max(1, table.game.size // 50))
        texts = [table.game.format(index) for index in indices if table.game.is_position(index)]
        assert table.probe_texts(texts) == [table.probe(text) for text in texts]
        with pytest.raises(lookup.InvalidPositionError, match="'nonsense'"):
            table.probe_texts([*texts, "nonsense"])


def test_many_texts_may_go_beyond_a_table_with_a_period(tables: lookup.Tablebase) -> None:
    table = tables["sticks-any-1-3"]
    texts = ["|" * count for count in (3, table.info.size, 1000)]
    assert table.probe_texts(texts) == [table.probe(text) for text in texts]


def test_an_index_beyond_a_table_may_be_of_any_integer_type(tables: lookup.Tablebase) -> None:
    table = tables["sticks-any-1-3"]
    for index in (np.int64(5000), np.uint8(250), np.uint64((1 << 63) + 5)):
        value = table.probe_index(index)  # type: ignore[arg-type]  # as users do
        assert value == table.probe_index(int(index))
        assert type(value.remoteness) is int
    for odd in (float("nan"), float("inf"), 5000.0):
        with pytest.raises(TypeError):
            table.probe_index(odd)  # type: ignore[arg-type]  # which is the mistake


def test_a_batch_with_what_no_index_can_be(tables: lookup.Tablebase) -> None:
    for name in ("tactics-4x4", "sticks-any-1-3"):
        with pytest.raises(InvalidPositionError, match=r"^9223372036854775813 is not a position"):
            tables[name].probe_many(np.array([1, (1 << 63) + 5], np.uint64))
        with pytest.raises(InvalidPositionError, match="several lengths"):
            tables[name].probe_many([[1], [2, 3]])
        assert tables[name].probe_many(np.empty((2, 0), np.complex128)).outcome.shape == (2, 0)


def test_moves_beyond_a_table_are_refused_by_their_text(built: Callable[[str], Path]) -> None:
    with lookup.open_table(built("sticks-run-1-2-to9")) as table:
        with pytest.raises(InvalidPositionError, match="heaps of at most 9") as caught:
            table.moves("|" * 12)
        assert str(caught.value.position).strip("|.") == ""


def test_best_first_means_fast_wins_and_slow_losses(tables: lookup.Tablebase) -> None:
    table = tables["tactics-4x4"]
    for index in range(0, table.game.size, 997):
        moves = table.moves(table.game.format(index))
        wins = [plies(move.value) for move in moves if move.value.outcome is Outcome.WIN]
        losses = [plies(move.value) for move in moves if move.value.outcome is Outcome.LOSS]
        assert wins == sorted(wins)
        assert losses == sorted(losses, reverse=True)
        assert [move.value.outcome for move in moves[: len(wins)]] == [Outcome.WIN] * len(wins)


def test_a_line_is_as_long_as_the_remoteness(tables: lookup.Tablebase) -> None:
    table = tables["tactics-4x4"]
    assert len(table.line()) == table.probe_index(table.game.start).remoteness
    assert len(table.line(POSITION)) == 8
    assert table.line("XXXX/XXXX/XXXX/XXXX") == []
    assert table.best("XXXX/XXXX/XXXX/XXXX") is None


def test_a_drawn_line_ends_at_a_repeat(tables: lookup.Tablebase) -> None:
    line = tables["rota"].line()
    assert all(move.value.outcome is Outcome.DRAW for move in line)
    seen = [tables["rota"].game.format(0), *(move.position for move in line)]
    assert seen[-1] in seen[:-1]
    assert len(set(seen[:-1])) == len(seen) - 1


def test_probe_raises_where_get_returns_none(tables: lookup.Tablebase) -> None:
    table = tables["tactics-4x4"]
    assert table.get(POSITION) == table.probe(POSITION)
    assert table.get("nonsense") is None
    with pytest.raises(InvalidPositionError):
        table.probe("nonsense")
    assert tables.get("tactics-9x9") is None
    assert tables.get("nonsense") is None
    with pytest.raises(MissingTableError):
        tables["nonsense"]


def test_an_index_that_nobody_can_write_down(tables: lookup.Tablebase) -> None:
    for index in (10**5000, -(10**5000)):
        with pytest.raises(InvalidPositionError, match=r"^a number of 16,610 bits is not a position"):
            tables["tactics-4x4"].probe_index(index)


@pytest.mark.parametrize("index", [-1, 65536, 1 << 80])
def test_an_index_out_of_range(tables: lookup.Tablebase, index: int) -> None:
    with pytest.raises(
        InvalidPositionError, match=f"{index} is not a position: expected an index from 0 to 65535"
    ):
        tables["tactics-4x4"].probe_index(index)


@pytest.mark.parametrize("index", [-1, 65536])
def test_a_batch_with_an_index_out_of_range(tables: lookup.Tablebase, index: int) -> None:
    with pytest.raises(InvalidPositionError, match=f"^{index} is not a position: expected an index"):
        tables["tactics-4x4"].probe_many([0, index, 5])


def test_a_hole_in_the_index(tables: lookup.Tablebase) -> None:
    table = tables["rota"]
    with pytest.raises(InvalidPositionError, match="this one is a hole"):
        table.probe_index(1)  # one piece of the mover and none of the other
    values = table.probe_many([1, 0])
    assert values.outcome.tolist() == [Outcome.NOT_A_POSITION, Outcome.DRAW]


@pytest.mark.parametrize(
    "kind", [list, tuple, np.array, lambda x: np.array(x, np.uint8), lambda x: np.array(x, np.uint64)]
)
def test_batches_of_any_integer_type(tables: lookup.Tablebase, kind: Callable[..., Any]) -> None:
    table = tables["tactics-3x3"]
    wanted = [0, 5, 7, 255]
    values = table.probe_many(kind(wanted))
    assert values.remoteness is not None
    assert [Value(Outcome(o), r) for o, r in zip(values.outcome, values.remoteness, strict=True)] == [
        table.probe_index(index) for index in wanted
    ]


def test_batches_keep_their_shape(tables: lookup.Tablebase) -> None:
    table = tables["tactics-3x3"]
    assert table.probe_many(np.arange(12).reshape(3, 4)).outcome.shape == (3, 4)
    assert table.probe_many([]).outcome.shape == (0,)
    with pytest.raises(InvalidPositionError, match="indices of an integer type"):
        table.probe_many([0.5])


def test_a_line_may_come_back_to_where_it_began(tables: lookup.Tablebase) -> None:
    table = tables["rota"]
    first = table.line()[-1].position  # the position that the drawn line repeats
    again = table.line(first)
    assert again[-1].position == first
    assert len({move.position for move in again}) == len(again)


@pytest.mark.parametrize("step", [1000, 1 << 30])
def test_the_histogram_adds_up(
    step: int, tables: lookup.Tablebase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(table_module, "_STRETCH", step)
    for name in ("tactics-3x3", "tactics-4x4", "rota"):
        table = tables[name]
        counts = table.histogram()
        assert sum(counts[Outcome.WIN]) == table.info.wins
        assert sum(counts[Outcome.LOSS]) == table.info.losses
        assert len(counts[Outcome.WIN]) == table.info.longest_remoteness + 1
        wide = table.histogram(4)
        assert wide[Outcome.WIN][1] == sum(counts[Outcome.WIN][4:8])
        assert sum(wide[Outcome.LOSS]) == table.info.losses


def test_grundy_counts_add_up(tables: lookup.Tablebase) -> None:
    table = tables["sticks-special-50"]
    counts = table.grundy_counts()
    assert sum(counts) == table.info.size
    assert counts[0] == table.info.losses
    assert len(counts) == table.info.largest_grundy + 1
    assert tables["rota"].grundy_counts() == []


# --- large tables ---------------------------------------------------------------------------------

KINDS = {
    "bits": ("tactics-4x4", 256, True),
    "remoteness": ("tactics-4x4", 256, False),
    "wide remoteness": ("clock-4-5", 64, False),
    "draws": ("rota", 64, False),
    "draws alone": ("rota", 64, True),
    "grundy": ("sticks-special-50", 4096, False),
    "grundy alone": ("sticks-run-1-2", 16, False),
    "chunks of several sizes": ("rota-diameters", 4096, False),
}


@pytest.fixture
def chunked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records, "DECODED_LIMIT", 0)


@pytest.fixture
def pair(
    rechunk: Rechunk, tables: lookup.Tablebase, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[..., tuple[lookup.Table, lookup.Table]]]:
    """A table of some kind in many chunks: read through the cache, and decoded."""
    with ExitStack() as stack:

        def make(kind: str, cache_bytes: int) -> tuple[lookup.Table, lookup.Table]:
            name, chunk_bytes, only_outcomes = KINDS[kind]
            path = rechunk(tables[name].path, chunk_bytes, only_outcomes)
            whole = stack.enter_context(lookup.open_table(path))
            monkeypatch.setattr(records, "DECODED_LIMIT", 0)
            table = stack.enter_context(lookup.open_table(path, cache_bytes=cache_bytes))
            assert isinstance(whole._records, records.DecodedRecords)
            assert isinstance(table._records, records.ChunkedRecords)
            return table, whole

        yield make


def held(table: lookup.Table) -> dict[str, list[int]]:
    """The chunks that the cache holds, whose size must be the one it keeps account of."""
    assert isinstance(table._records, records.ChunkedRecords)
    columns = table._records.columns
    sizes = [
        memoryview(chunk).nbytes for column in columns.values() for chunk in column.chunks.values()
    ]
    cache = table._records.cache
    assert sum(sizes) == cache.held
    assert cache.held <= cache.limit or len(sizes) == 1
    return {name: sorted(column.chunks) for name, column in columns.items()}


@pytest.fixture
def decodings(monkeypatch: pytest.MonkeyPatch) -> Counter[tuple[str, int]]:
    """How often each chunk of each column was decoded."""
    count: Counter[tuple[str, int]] = Counter()
    read_chunk = TableFile.read_chunk

    def counting(self: TableFile, name: str, number: int) -> bytes:
        count[name, number] += 1
        return read_chunk(self, name, number)

    monkeypatch.setattr(TableFile, "read_chunk", counting)
    return count


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("cache_bytes", [0, 700, 1 << 30])
def test_through_the_cache_the_answers_are_the_same(
    kind: str,
    cache_bytes: int,
    pair: Callable[..., tuple[lookup.Table, lookup.Table]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    table, whole = pair(kind, cache_bytes)
    size, chance = table.game.size, np.random.default_rng(0)
    everything = whole.probe_many(np.arange(size))
    for indices in (chance.permutation(size), chance.integers(0, size, 200), np.arange(9) % 2):
        assert same_values(table.probe_many(indices), whole.probe_many(indices))
        held(table)
    for index in chance.integers(0, size, 2000).tolist():
        if everything.outcome[index]:
            assert table.probe_index(index) == whole.probe_index(index)
        else:
            with pytest.raises(InvalidPositionError, match="a hole"):
                table.probe_index(index)
    held(table)
    counts = whole.histogram(), whole.grundy_counts()
    monkeypatch.setattr(table_module, "_STRETCH", size // 5 + 1)  # which end inside chunks
    assert (table.histogram(), table.grundy_counts()) == counts
    assert table.probe_many([]).outcome.shape == (0,)
    assert table.probe_many([[1], [0]]).outcome.shape == (2, 1)


@pytest.mark.parametrize("kind", ["bits", "remoteness", "draws", "grundy"])
@pytest.mark.parametrize("cache_bytes", [0, 1 << 30])
def test_a_batch_decodes_each_chunk_once(
    kind: str,
    cache_bytes: int,
    pair: Callable[..., tuple[lookup.Table, lookup.Table]],
    decodings: Counter[tuple[str, int]],
) -> None:
    table, _ = pair(kind, cache_bytes)
    decodings.clear()
    indices = np.random.default_rng(0).permutation(table.game.size)
    table.probe_many(indices)
    every = {(n, at) for n, stored in table._file.columns.items() for at in range(stored.count)}
    assert set(decodings) == every
    assert set(decodings.values()) == {1}
    table.probe_many(indices)
    assert set(decodings.values()) == ({1} if cache_bytes else {2})


def test_a_batch_over_few_chunks_reads_no_others(
    pair: Callable[..., tuple[lookup.Table, lookup.Table]], decodings: Counter[tuple[str, int]]
) -> None:
    table, _ = pair("bits", 1 << 30)
    decodings.clear()
    table.probe_many([5 * 2048, 5 * 2048 - 1, 9 * 2048])  # 2048 bits to a chunk
    assert dict(decodings) == {("outcome", 4): 1, ("outcome", 5): 1, ("outcome", 9): 1}


def test_what_is_in_use_stays_in_the_cache(
    pair: Callable[..., tuple[lookup.Table, lookup.Table]], decodings: Counter[tuple[str, int]]
) -> None:
    table, _ = pair("bits", 3 * 256)
    for chunk in (0, 1, 2, 0, 3):
        table.probe_index(2048 * chunk)
    assert held(table) == {"outcome": [0, 2, 3]}  # 1 is older than 2, and 0 was used again
    table.probe_many(2048 * np.arange(4, 8))  # more than the cache can hold: it keeps none of them
    assert held(table) == {"outcome": [0, 2, 3]}
    decodings.clear()
    table.probe_many([2048 * 2, 2048 * 9])
    assert held(table) == {"outcome": [2, 3, 9]}  # 0 had been given its turn; 2 was used
    assert set(decodings) == {("outcome", 9)}


@pytest.mark.parametrize("kind", ["bits", "remoteness", "draws"])
@pytest.mark.parametrize("cache_bytes", [300, 2000])
def test_threads_share_a_cache(
    kind: str, cache_bytes: int, pair: Callable[..., tuple[lookup.Table, lookup.Table]]
) -> None:
    table, whole = pair(kind, cache_bytes)
    expected = whole.probe_many(np.arange(table.game.size)).outcome

    def wrong(seed: int) -> list[int]:
        chance, bad = np.random.default_rng(seed), []
        for _ in range(6):
            indices = chance.integers(0, table.game.size, 500)
            bad.extend(indices[table.probe_many(indices).outcome != expected[indices]].tolist())
            positions = indices[expected[indices] > 0][:30].tolist()
            bad.extend(at for at in positions if table.probe_index(at).outcome != expected[at])
        return bad

    with ThreadPoolExecutor(6) as pool:
        assert list(pool.map(wrong, range(6))) == [[]] * 6
    held(table)


@pytest.mark.parametrize("chunk", [0, 31])
def test_a_damaged_chunk_in_a_batch(chunk: int, rechunk: Rechunk, tables: lookup.Tablebase) -> None:
    path = rechunk(tables["tactics-4x4"].path, 256, True)
    with lookup.open_table(path) as table:
        assert isinstance(table._file, TableFile)
        at = table._file.columns["outcome"].offsets[chunk]
    damaged = bytearray(path.read_bytes())
    damaged[at] ^= 1
    path.write_bytes(damaged)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(records, "DECODED_LIMIT", 0)
        with lookup.open_table(path) as table:
            for _ in range(2):
                with pytest.raises(CorruptTableError, match=f"chunk {chunk} of outcome fails its"):
                    table.probe_many(np.arange(table.game.size))
            assert table.probe_index(2048 * 15).outcome  # the others can still be asked


def test_outcomes_without_remoteness(tmp_path: Path, tables: lookup.Tablebase) -> None:
    game = Tactics(4, 4)
    solution = solve(mask.BitsPlan, game, Engine.PYTHON)
    info = TableInfo.describe(game, "a test", solution.totals)
    write_table(tmp_path / "tactics-4x4.h5", info, solution.columns)
    with lookup.open_table(tmp_path / "tactics-4x4.h5") as table:
        assert table.probe(POSITION) == Value(Outcome.WIN)
        values = table.probe_many(np.arange(game.size))
        assert values.remoteness is None
        assert (values.outcome == tables["tactics-4x4"].probe_many(np.arange(game.size)).outcome).all()
        assert table.histogram() == {Outcome.LOSS: [], Outcome.WIN: []}
        line = table.line()
        assert line[-1].position == "XXXX/XXXX/XXXX/XXXX"
        assert len(line) % 2 == 1  # the first player loses: whoever fills the last cell does


@pytest.mark.parametrize("limit", [0, 1 << 30])
def test_threads_share_a_table(
    limit: int, monkeypatch: pytest.MonkeyPatch, built: Callable[[str], Path], tables: lookup.Tablebase
) -> None:
    monkeypatch.setattr(records, "DECODED_LIMIT", limit)
    expected = tables["tactics-4x5"].probe_many(np.arange(1 << 20)).outcome
    wrong: list[int] = []
    with lookup.open_table(built("tactics-4x5"), cache_bytes=300_000) as table:

        def work(seed: int) -> None:
            chance = np.random.default_rng(seed)
            for _ in range(20):
                indices = chance.integers(0, 1 << 20, 500)
                wrong.extend(indices[table.probe_many(indices).outcome != expected[indices]])
                index = int(indices[0])
                if table.probe_index(index).outcome != expected[index]:
                    wrong.append(index)

        threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert wrong == []


@pytest.mark.usefixtures("chunked")
def test_a_narrow_numpy_index_is_an_index(built: Callable[[str], Path]) -> None:
    with lookup.open_table(built("tactics-4x5")) as table:
        assert table.probe_index(np.uint8(255)) == table.probe_index(255)  # type: ignore[arg-type]  # on purpose


@pytest.mark.usefixtures("chunked")
def test_closing_a_tablebase_closes_its_files(built: Callable[[str], Path]) -> None:
    tables = lookup.open_tablebase(built("rota").parent)
    table = tables["rota"]
    assert table.probe_index(0) == Value(Outcome.DRAW)
    tables.close()
    assert table._file.is_closed


def test_large_tables_have_smaller_chunks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(format_module, "LARGE_TABLE", 100_000)
    game = Tactics(4, 5)
    solution = solve(mask.plan, game, Engine.PYTHON)
    info = TableInfo.describe(game, "a test", solution.totals)
    write_table(tmp_path / "t.h5", info, solution.columns)
    with lookup.open_table(tmp_path / "t.h5") as table:
        assert {stored.chunk_bytes for stored in table._file.columns.values()} == {64 * 1024}
        assert table.probe_index(0) == Value(Outcome.WIN, 16)


def test_an_open_table_keeps_its_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, built: Callable[[str], Path]
) -> None:
    monkeypatch.setattr(records, "DECODED_LIMIT", 0)
    path = tmp_path / "tactics-4x5.h5"
    path.write_bytes(built("tactics-4x5").read_bytes())
    with lookup.open_table(path) as table:
        path.unlink()
        path.write_bytes(b"something else")
        assert table.probe_index(table.game.start) == Value(Outcome.WIN, 16)
