"""Answers from stored values, whatever holds them: memory, a file on disk, the chunks of a page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lookup.answers import Answers
from lookup.errors import InvalidPositionError
from lookup.values import Outcome, Value

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lookup.format import Period
    from lookup.games.base import Step
    from lookup.records import SupportsIndexing


class StoredAnswers(Answers):
    """A value for each index below `size`, and beyond it if there is a `period`.

    `by_index` is indexed for a single number that `palette` turns into a value, or into None where an
    index is not a position.
    """

    def __init__(
        self,
        by_index: SupportsIndexing,
        palette: Mapping[int, Value | None],
        size: int,
        period: Period | None,
    ) -> None:
        self._by_index, self._palette = by_index, palette
        self._size, self._period = size, period
        self._is_sum = self.game.plays_sums

    def probe_index(self, index: int) -> Value:
        """The value of the position with this index. O(1).

        Indices beyond the table have values too, if the table has a `period`.

        Raises:
            InvalidPositionError: the index is out of range or not a position.
        """
        if 0 <= index < self._size:
            value = self._palette[self._by_index[index]]
            if value is not None:
                return value
        elif index > 0 and self._period:
            return self._probe_beyond(self._period, index)
        raise self._outside(index)

    def _probe_beyond(self, period: Period, index: int) -> Value:
        """The value of an index beyond the table, by one inside."""
        inside, periods = period.fold(index)
        value = self.probe_index(inside)
        if value.remoteness is None:
            return value
        return value._replace(remoteness=value.remoteness + periods * period.plies)

    def probe(self, position: str) -> Value:
        """The value of a position given as text. O(1).

        Raises:
            InvalidPositionError: the text is not a position of this game.
        """
        if self._is_sum:
            components = self.game.components(position)
            try:
                return self._probe_sum(components)
            except InvalidPositionError as error:
                raise InvalidPositionError(position, error.expected) from None
        return self.probe_index(self.game.parse(position))

    def _outside(self, index: int) -> InvalidPositionError:
        """Why an index has no value here."""
        if index >= self._size and self.game.solver == "heaps":
            longest = f"heaps of at most {self._size - 1}"
            return InvalidPositionError(index, f"{longest}: {self.name} ends there, without a period")
        if not 0 <= index < self._size:
            return InvalidPositionError(index, f"an index from 0 to {self._size - 1}")
        return InvalidPositionError(index, "the index of a position; this one is a hole")

    def _probe_after(self, step: Step) -> Value:
        after = step.after
        try:
            return self.probe_index(after[0]) if len(after) == 1 else self._probe_sum(after)
        except InvalidPositionError as error:  # about an index, which nobody has asked for
            raise InvalidPositionError(step.position, error.expected) from None

    def _probe_sum(self, components: tuple[int, ...]) -> Value:
        """The value of a sum: of its only component, or by the exclusive or of all Grundy values."""
        if len(components) == 1:
            return self.probe_index(components[0])
        grundy = 0
        for index in components:
            grundy ^= self.probe_index(index).grundy or 0
        return Value(Outcome.WIN if grundy else Outcome.LOSS, None, grundy)
