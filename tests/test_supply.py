"""What we need from others: bounds that were tried, and results of trying them that are ours still."""

from __future__ import annotations

import json
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import pytest
from packaging.requirements import Requirement
from torture import CAMPAIGNS, RESULTS
from torture_supply import lowest, requirements

if TYPE_CHECKING:
    from packaging.specifiers import SpecifierSet

REQUIREMENTS = list(requirements())


def results(campaign: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((RESULTS / f"{campaign}.json").read_text())
    return found


@pytest.mark.parametrize("one", REQUIREMENTS, ids=lambda one: one.name)
def test_every_requirement_is_bounded_and_kept_here(one: Requirement) -> None:
    assert {spec.operator for spec in one.specifier} == {">=", "<"}, one
    assert version(one.name) in one.specifier


def test_the_oldest_versions_were_tried_with_all_tests() -> None:
    """Whoever changes a lower bound runs `scripts/torture supply` again."""
    tried = results("supply")
    assert tried["figures"]["lowest"] == lowest()
    assert {line.partition("==")[0] for line in tried["figures"]["versions"]} == set(lowest())
    bounds: dict[str, SpecifierSet] = {one.name: one.specifier for one in REQUIREMENTS}
    for line in tried["figures"]["versions"]:
        name, _, was = line.partition("==")
        assert was in bounds[name]
        assert was.startswith(lowest()[name]), f"{line} is not the lower bound"
    assert tried["counts"]["tests with the oldest versions"]["passed"] > 3900


@pytest.mark.parametrize("campaign", CAMPAIGNS)
def test_the_results_of_a_campaign_are_whole_and_without_a_failure(campaign: str) -> None:
    found = results(campaign)
    assert found["command"] == f"scripts/torture {campaign} --seed 1", "not the whole of it"
    assert found["failures"] == []
    assert found["failed"] == 0
    assert found["cases"] == sum(sum(ends.values()) for ends in found["counts"].values()) > 100
