"""Letters between shards: read in few bytes, and told of in few, however many shards there are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from builder.cluster.rounds_letters import letter, letters, senders_of, shards_in
from tests.cluster_here import new_store

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from builder.cluster.store import Store


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return new_store(tmp_path / "store")


def written_letters(store: Store, shards: int, length: int) -> tuple[list[list[NDArray[Any]]], str]:
    """Letters to all shards, each part about so long; and what the summary says of them."""
    chance = np.random.default_rng(shards)
    bounds = [
        np.concatenate([[0], np.cumsum(chance.integers(1, 2 * length, shards))]) for _ in range(2)
    ]
    parts = [chance.integers(0, 1 << 24, bound[-1], np.uint32) for bound in bounds]
    arrays, to = letters(parts, bounds)
    store.write("round-0000/000000", {"to": to}, arrays)
    return [np.split(part, bound[1:-1]) for part, bound in zip(parts, bounds, strict=True)], to


def bytes_read(store: Store, owner: int) -> int:
    before = store.traffic.read
    letter(store, "round-0000/000000", owner)
    return store.traffic.read - before


@pytest.mark.parametrize("length", [1, 64])
def test_to_read_a_letter_takes_no_more_among_thousands_of_shards(length: int, store: Store) -> None:
    tail = 64 << 10  # what a store reads of any object
    for shards in (50, 1000, 10000):
        (won, refuted), _ = written_letters(store, shards, length)
        for owner in (0, 1, shards // 2, shards - 1):
            first, second = letter(store, "round-0000/000000", owner)
            assert np.array_equal(first, won[owner])
            assert np.array_equal(second, refuted[owner])
            (alone,) = letter(store, "round-0000/000000", owner, parts=1)
            assert np.array_equal(alone, first)
            assert bytes_read(store, owner) <= tail + (16 << 10)


def test_a_letter_to_one_of_thousands_is_read_at_once(store: Store) -> None:
    shards = 10000
    bounds = np.zeros(shards + 1, np.int64)
    bounds[7001:] = 4
    arrays, to = letters([np.arange(4, dtype=np.uint32)] * 2, [bounds, bounds])
    store.write("round-0000/000000", {"to": to}, arrays)
    assert senders_of({12: to}, shards).keys() == {7000}
    assert [part.tolist() for part in letter(store, "round-0000/000000", 7000)] == [[0, 1, 2, 3]] * 2
    assert bytes_read(store, 7000) < 8 << 10


def test_who_wrote_to_whom_is_said_in_few_bytes(store: Store) -> None:
    shards = 6000
    _, to_all = written_letters(store, shards, 1)
    assert len(to_all) < 64
    nobody, to_none = letters([np.empty(0, np.uint32)] * 2, [np.zeros(shards + 1, np.int64)] * 2)
    assert to_none == ""
    assert len(nobody["told"].elements) == 0
    senders = senders_of(dict.fromkeys(range(0, shards, 1500), to_all), shards)
    assert senders.keys() == set(range(shards))
    assert set(senders.values()) == {senders[0]}
    assert senders[0].bit_length() < 8 * 64
    assert shards_in(senders[0], shards) == [0, 1500, 3000, 4500]


@pytest.mark.parametrize("shards", [1, 8, 13, 200])
@pytest.mark.parametrize("density", [0.01, 0.5, 1.0])
def test_senders_are_the_reverse_of_whom_they_wrote_to(shards: int, density: float) -> None:
    written = np.random.default_rng(shards).random((shards, shards)) < density
    to = {}
    for sender, row in enumerate(written):
        bounds = np.concatenate([[0], np.cumsum(row)])
        part = np.zeros(bounds[-1], np.uint32)
        to[sender] = letters([part, part[:0]], [bounds, 0 * bounds])[1]
    found = senders_of(to, shards)
    assert list(found) == np.flatnonzero(written.any(axis=0)).tolist()
    for owner in range(shards):
        theirs = np.flatnonzero(written[:, owner]).tolist()
        assert shards_in(found.get(owner, 0), shards) == theirs
