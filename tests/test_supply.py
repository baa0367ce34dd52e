"""What we need from others has bounds, and what is installed here keeps them."""

from __future__ import annotations

from importlib.metadata import version
from typing import TYPE_CHECKING

import pytest
from torture_supply import requirements

if TYPE_CHECKING:
    from packaging.requirements import Requirement


@pytest.mark.parametrize("one", requirements(), ids=lambda one: one.name)
def test_every_requirement_is_bounded_and_kept_here(one: Requirement) -> None:
    assert {spec.operator for spec in one.specifier} == {">=", "<"}, one
    assert version(one.name) in one.specifier
