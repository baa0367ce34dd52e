"""What tasks of this process read or left last, decoded, for those that follow.

A shard is read by a dozen others, and to decode it takes longer than to solve it. What a task does not
need of its memory therefore holds stretches of arrays, until nobody has asked for any for a while: the
process may be a worker that others use too.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from threading import Lock, Timer
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from numpy.typing import NDArray

KEPT_SECONDS = 60.0
"""How long after it was last used everything is forgotten."""


class Recent:
    """Arrays by what they are, those used last, within so many bytes. Threads may share it."""

    def __init__(self) -> None:
        self._arrays: OrderedDict[Hashable, NDArray[Any]] = OrderedDict()
        self._lock = Lock()
        self._timer: Timer | None = None
        self._used = 0.0
        self.bytes = 0

    def get(
        self, key: Hashable, size: int, read: Callable[[], NDArray[Any]], most: int
    ) -> NDArray[Any]:
        """An array of `size` bytes: remembered, or what `read` gives; all take `most` at most."""
        with self._lock:
            self._used = time.monotonic()
            if (known := self._arrays.get(key)) is not None:
                self._arrays.move_to_end(key)
                return known
        self.keep(most - size)  # before there is one more
        array = read()
        self.put(key, array, most)
        return array

    def put(self, key: Hashable, array: NDArray[Any], most: int) -> None:
        """Remember an array, which nobody changes any more."""
        self.keep(most - array.nbytes)
        with self._lock:
            if key in self._arrays or self.bytes + array.nbytes > most:
                return
            self._arrays[key] = array
            self.bytes += array.nbytes
            self._used = time.monotonic()
            if self._timer is None:
                self._look_after(KEPT_SECONDS)

    def keep(self, most: int) -> None:
        """Forget those that were not used for longest, until they take so many bytes."""
        with self._lock:
            while self._arrays and self.bytes > most:
                _, oldest = self._arrays.popitem(last=False)
                self.bytes -= oldest.nbytes

    def _look_after(self, seconds: float) -> None:
        self._timer = Timer(seconds, self._look)
        self._timer.daemon = True
        self._timer.start()

    def _look(self) -> None:
        """Forget everything if nobody has asked for a while, or look again when that will be so."""
        with self._lock:
            left = self._used + KEPT_SECONDS - time.monotonic()
            if left > 0:
                self._look_after(left)
                return
            self._timer = None
        self.keep(0)


recent = Recent()
"""That of this process."""
