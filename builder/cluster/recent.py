"""What tasks of this process read or left last, decoded, for those that follow.

A shard is read by a dozen others, and to decode it takes longer than to solve it. What a task does not
need of its memory therefore holds stretches of arrays, until nobody has asked for any for a while: the
process may be a worker that others use too.
"""

from __future__ import annotations

from collections import OrderedDict
from threading import Lock, Timer
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from numpy.typing import NDArray

KEPT_SECONDS = 20.0
"""How long after it was last used everything is forgotten."""


class Recent:
    """Arrays by what they are, those used last, within so many bytes. Threads may share it."""

    def __init__(self) -> None:
        self._arrays: OrderedDict[Hashable, NDArray[Any]] = OrderedDict()
        self._lock = Lock()
        self._timer: Timer | None = None
        self.bytes = 0

    def get(self, key: Hashable, read: Callable[[], NDArray[Any]], most: int) -> NDArray[Any]:
        """An array that is remembered, or that `read` gives; all take `most` bytes at most."""
        with self._lock:
            if (known := self._arrays.get(key)) is not None:
                self._arrays.move_to_end(key)
                return known
        array = read()
        self.put(key, array, most)
        return array

    def put(self, key: Hashable, array: NDArray[Any], most: int) -> None:
        """Remember an array, which nobody changes any more."""
        with self._lock:
            if key not in self._arrays:
                self._arrays[key] = array
                self.bytes += array.nbytes
            while self._arrays and self.bytes > most:
                _, oldest = self._arrays.popitem(last=False)
                self.bytes -= oldest.nbytes
            if self._timer is not None:
                self._timer.cancel()
            self._timer = Timer(KEPT_SECONDS, self.clear)
            self._timer.daemon = True
            self._timer.start()

    def clear(self) -> None:
        """Forget everything."""
        with self._lock:
            self._arrays.clear()
            self.bytes = 0


recent = Recent()
"""That of this process."""
