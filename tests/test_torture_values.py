"""The campaign `values`, a small share of it; and that it fails where it should."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import numpy as np
import pytest
import torture_digests
import torture_values
from torture_digests import Way, digests_of
from torture_games import RandomLoops
from torture_tally import Tally
from torture_values import DIFFERENT, SAME, larger_tables, random_games, same_digests, solve_twice

import lookup
from builder.build import SOLVERS, build_table
from builder.compile import Engine
from builder.second.rounds import Rounds
from builder.solvers import mask, retrograde

if TYPE_CHECKING:
    from pathlib import Path

    from lookup.values import Values

OF_EVERY_KIND = (
    "tactics-3x4", "rota", "clock-4-5", "sticks-run-1-2-to300", "sticks-any-2-5", "sticks-special-20",
    "winners-losers-8", "nim-30", "kayles-40",
)  # fmt: skip


def test_some_games_at_random() -> None:
    tally = Tally(seed=3)
    random_games(tally, 1)
    assert not tally.failures
    games = {kind for kind in tally.counts if kind.startswith("solved again, at random: ")}
    assert len(games) == 10
    assert tally.figures["positions of games at random"] > 100


def test_a_table_of_several_kinds() -> None:
    tally = Tally()
    larger_tables(tally, ["tactics-3x3", "clock-1-9"])
    assert not tally.failures
    assert tally.counts["solved again: mask"] == {SAME: 1}
    assert tally.figures["positions solved again: distance"] == 10


def test_the_campaign_has_tables_of_every_kind() -> None:
    for tables in (torture_values.TABLES, torture_values.SMALL + torture_values.LARGE):
        assert {lookup.find_game(name).solver for name in tables} == SOLVERS.keys()


def test_a_wrong_solver_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    game, tally, values = RandomLoops(6, 30), Tally(), Rounds.values

    def wrong(self: Rounds, low: int, high: int) -> Values:
        right = values(self, low, high)
        return right._replace(outcome=np.where(right.outcome == 1, 2, right.outcome))

    monkeypatch.setattr(Rounds, "values", wrong)
    solve_twice(tally, "wrong", game, tmp_path)
    assert (tally.failed, tally.counts["wrong"]) == (1, {DIFFERENT: 1})
    assert "RandomLoops(seed=6, pairs=30): VerificationError: " in tally.failures[0]


# --- one table, built in every way ----------------------------------------------------------------


@pytest.mark.parametrize("name", OF_EVERY_KIND)
def test_the_digest_is_the_same_by_engines_and_threads(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # With shards as small as these tables need to have many.
    monkeypatch.setattr(mask, "_WHOLE_SCORES", 8)
    monkeypatch.setattr(retrograde, "_SLICE", 64)
    game, digests = lookup.find_game(name), []
    for number, (engine, threads) in enumerate(
        [(Engine.NUMBA, 1), (Engine.NUMBA, 2), (Engine.PYTHON, 2)]
    ):
        monkeypatch.setattr(os, "cpu_count", lambda threads=threads: threads)
        folder = tmp_path / str(number)
        folder.mkdir()
        digests.append(build_table(game, folder, engine=engine).digest)
    assert len(digests[0]) == 64
    assert digests == digests[:1] * 3


def test_other_processes_build_the_same() -> None:
    ways = [
        Way("one", engine="python", hash_seed=1),
        Way("two", threads=1, engine="python", hash_seed=2),
    ]
    one, other = (digests_of(way, ["tactics-3x3", "clock-4-2"]) for way in ways)
    assert one == other
    assert one.keys() == {"tactics-3x3", "clock-4-2"}


def test_a_way_that_differs_or_fails_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def digests(way: Way, tables: list[str]) -> dict[str, str]:
        if way.hash_seed == 99:
            raise RuntimeError("no")
        return {name: "other" if way.threads == 1 and name == "b" else name for name in tables}

    monkeypatch.setattr(torture_values, "digests_of", digests)
    tally = Tally()
    same_digests(tally, ["a", "b"], ["c"], {"3.99": "python3.99", "3.98": ""})
    assert tally.failures == [
        "the same digest: compiled, one thread: DIFFERENT: b",
        "the same digest: interpreted, one thread, other hashes: DOES NOT BUILD: no",
    ]
    counts = tally.counts["the same digest"]
    assert counts["compiled, two threads"] == counts["Python 3.99, compiled"] == 3
    assert counts["interpreted"] == counts["Python 3.99, interpreted"] == 2
    assert counts["Python 3.98: packages cannot be had here"] == 1


def test_a_program_that_fails_says_how() -> None:
    with pytest.raises(RuntimeError, match=r"^odd: .*ValueError: 'magic' is not a valid Engine"):
        digests_of(Way("odd", engine="magic"), ["rota"])


def test_only_pythons_that_start_are_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert torture_digests._environment_that_runs("python0.1") is None
    broken = tmp_path / "python9.9"
    broken.write_text("#!/bin/sh\nexit 1\n", "ascii")
    broken.chmod(0o755)
    (tmp_path / "python9.8").symlink_to(sys.executable)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert torture_digests._environment_that_runs("python9.9") is None
    assert torture_digests._environment_that_runs("python9.8") is not None
