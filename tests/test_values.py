from __future__ import annotations

import pytest

from lookup import Outcome, Value


def test_codes_are_those_on_disk() -> None:
    assert [int(outcome) for outcome in (Outcome.LOSS, Outcome.DRAW, Outcome.WIN)] == [1, 2, 3]
    assert int(Outcome.NOT_A_POSITION) == 0


@pytest.mark.parametrize(
    ("outcome", "other"),
    [
        (Outcome.WIN, Outcome.LOSS),
        (Outcome.LOSS, Outcome.WIN),
        (Outcome.DRAW, Outcome.DRAW),
        (Outcome.NOT_A_POSITION, Outcome.NOT_A_POSITION),
    ],
)
def test_the_other_player_sees_the_opposite(outcome: Outcome, other: Outcome) -> None:
    assert -outcome is other
    assert -Value(outcome, 3, 2) == Value(other, 3, 2)


def test_words() -> None:
    assert str(Outcome.WIN) == f"{Outcome.WIN}" == "win"
    assert str(Outcome.NOT_A_POSITION) == "not a position"
    assert str(Value(Outcome.LOSS, 4)) == "loss in 4"
    assert str(Value(Outcome.DRAW)) == "draw"
    assert str(Value(Outcome.WIN, None, 2)) == "win (grundy 2)"
