"""A shorter way to every remoteness than search, for games that know one."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Run: TypeAlias = Callable[..., int]
"""`run(function, *arguments)` calls a plain function on integers and sequences of them, compiled if
that is worth it. Sequences are arrays, or lists for the function's own use, and of the same kind
whenever that function is run."""


class Filling(ABC):
    """Stretches that together fill an array, one entry an index.

    Stretches may be filled in any order, and several at once. All that one needs of those before it is
    the sum of their measures. What comes out is trusted only as far as `verify` has checked it.
    """

    @property
    @abstractmethod
    def stretches(self) -> int:
        """How many there are."""

    @abstractmethod
    def measure(self, number: int, run: Run) -> int:
        """The measure of a stretch, whatever the filling counts; takes much less time than `fill`."""

    @abstractmethod
    def fill(self, number: int, before: int, array: NDArray[np.uint32], run: Run) -> None:
        """Write the entries of a stretch, `before` being the sum of the measures before it."""

    @abstractmethod
    def read(self, array: NDArray[np.uint32], low: int, high: int) -> NDArray[np.uint32]:
        """The remoteness of the indices from `low` to `high` - 1, when every stretch is filled."""
