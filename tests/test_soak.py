"""A minute of everything that can be asked: `scripts/torture service` takes ten."""

from __future__ import annotations

import sys

import pytest
from torture_soak import soak
from torture_tally import Tally

from lookup.progress import silent

SECONDS, A_SECOND = 60, 50
"""Little, so that the other tests have the processor: about a tenth of one is taken."""


@pytest.mark.skipif(sys.platform != "linux", reason="looks at processes in /proc")
def test_memory_stays_level_for_a_minute() -> None:
    tally = Tally()
    soak(tally, SECONDS, A_SECOND, silent)
    assert tally.failures == []
    assert tally.counts["memory"]["level"] == tally.counts["open files"]["level"] == 1
    asked = tally.counts["soak"]
    assert len(asked) == 10  # every kind
    assert asked.total() > SECONDS * A_SECOND / 2
