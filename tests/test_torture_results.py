"""The committed results of `scripts/torture`: whole campaigns of this version, without a failure."""

from __future__ import annotations

import json
from typing import Any

import pytest
from torture import CAMPAIGNS, RESULTS
from torture_supply import KIND, lowest, requirements


def results(campaign: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((RESULTS / f"{campaign}.json").read_text())
    return found


EXPLAINED = {"files": 5, "cluster": 1, "supply": 1}
"""Failures of the last runs that are understood. Of `files`, all the campaign's own, which counts them
as fine since: four splices of two tables that were the other one, whole and right, and a table that
claimed no period any more. Of `cluster`: a task that was finished when its worker was killed, and
was not yet run again when it was asked for, which is waited for since. Of `supply`: a worker whose
server was killed hung at the end of the loop of uvloop 0.21, seen once."""


@pytest.mark.parametrize("campaign", CAMPAIGNS)
def test_they_are_of_a_whole_campaign_without_a_failure(campaign: str) -> None:
    found = results(campaign)
    assert found["command"] == f"scripts/torture {campaign} --seed 1", "not the whole of it"
    assert found["failed"] == len(found["failures"]) == EXPLAINED.get(campaign, 0)
    assert found["cases"] == sum(sum(ends.values()) for ends in found["counts"].values()) > 100


def test_the_oldest_versions_that_we_allow_were_tried() -> None:
    """Whoever changes a lower bound runs `scripts/torture supply` again."""
    found, bounds = results("supply"), {one.name: one.specifier for one in requirements()}
    assert found["figures"]["lowest"] == lowest()
    tried = dict(line.split("==") for line in found["figures"]["versions"])
    assert set(tried) == set(bounds)
    for name, version in tried.items():
        assert version in bounds[name]
        assert version.startswith(lowest()[name]), f"{name} {version} is not its lower bound"
    assert found["counts"][KIND]["passed"] > 1000
