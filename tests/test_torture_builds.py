"""A small share of the kill campaign, `scripts/torture builds`; and that it notices what goes wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

pytest.importorskip("fcntl", reason="Windows has no fork, and other signals")

import torture_builds
import torture_builds_room
import torture_builds_together
from torture_builds_lab import LEFTOVER, Lab, SpoiledError, content
from torture_tally import Tally

from lookup.progress import silent

if TYPE_CHECKING:
    from collections.abc import Iterator

CASES = ("build over", "build long clock-4-5", "bundle folder", "fetch http", "export npz")


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    with Lab(Tally(scale=0.04), CASES) as lab:
        yield lab


def test_whatever_happens_the_old_or_the_new_is_there_and_a_rerun_succeeds(lab: Lab) -> None:
    for part in (
        torture_builds.killed_at_calls,
        torture_builds.killed_at_moments,
        torture_builds.failed_at_calls,
        torture_builds.signalled,
        torture_builds_room.full,
        torture_builds_room.refused,
        torture_builds_together.at_once,
        torture_builds_together.read_meanwhile,
    ):
        part(lab, silent)
    assert lab.tally.failures == []
    assert lab.tally.cases > 60
    ended = [
        ending for kind, ends in lab.tally.counts.items() if "killed at" in kind for ending in ends
    ]
    assert {"the old is there", "the new is there", "and a rerun succeeds"} <= set(ended)


def test_what_is_lost_broken_or_left_is_noticed(lab: Lab) -> None:
    name = "build over"
    folder = lab.fresh(name)
    out = folder / "out"
    path = out / "tactics-3x3.h5"
    assert lab.look(name, folder) == "the old is there"
    (out / ".tactics-3x3.h5.1.0123abcd.tmp").touch()
    lab.look(name, folder)
    with pytest.raises(SpoiledError, match="something is left"):
        lab.look(name, folder, clean=True)
    (out / ".tactics-3x3.h5.2.0123abcd.tmp").touch()
    with pytest.raises(SpoiledError, match="leftovers pile up"):
        lab.look(name, folder)
    lab.finish(name, folder)
    assert lab.look(name, folder, clean=True) == "the new is there"
    (out / "core").touch()
    with pytest.raises(SpoiledError, match="something strange is left"):
        lab.look(name, folder)
    with pytest.raises(SpoiledError, match="other files in the end"):
        lab.finish(name, folder)
    (out / "core").unlink()
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(SpoiledError, match="neither the old nor the new"):
        lab.look(name, folder)
    path.unlink()
    with pytest.raises(SpoiledError, match="something is lost"):
        lab.look(name, folder)


def test_a_child_is_killed_at_the_call_that_was_said(lab: Lab) -> None:
    name = "build over"
    ends = set()
    calls = lab.references[name].calls
    for call in (calls[0], *calls[-6:]):
        folder = lab.fresh(name)
        assert lab.run(name, folder, kill=call).code == -9
        ends.add((lab.look(name, folder), any(map(LEFTOVER.fullmatch, content(folder / "out")))))
    assert ends == {
        ("the old is there", False),
        ("the old is there", True),
        ("the new is there", False),
    }
