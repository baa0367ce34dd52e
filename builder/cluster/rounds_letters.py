"""Letters from shards to each other, and who wrote to whom, in few bytes to read and to keep.

What a shard tells others are two arrays of the object that its task leaves:

    told       letter after letter, in the order of the shards that they are for; each has two parts
    told_at    of each of them where both parts begin, one after the other, and where the last one ends

By their names they are the last ones in the object: what a store has read when it knows what is in an
object holds the whole of small letters, and most of `told_at`.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from typing import TYPE_CHECKING, Any

import numpy as np

from builder.cluster.objects import LEVEL, Stretch
from lookup.blocks import decode, encode
from lookup.format import CHUNK_BYTES

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from builder.cluster.store import Store

_LEAST_CHUNK = 4 << 10
_COLUMNS = 64  # bytes of flags that are turned round at a time


def letters(
    parts: Sequence[NDArray[np.uint32]], bounds: Sequence[NDArray[np.int64]]
) -> tuple[dict[str, Stretch], str]:
    """Letters as arrays of an object, and for whom they are, as a summary says it.

    The first part of the letter to shard n is what `parts[0]` holds from `bounds[0][n]` to
    `bounds[0][n + 1]`, and so on.
    """
    shares = np.stack([np.diff(bound) for bound in bounds], axis=1)
    places = np.concatenate([[0], np.cumsum(shares, dtype=np.int64)])
    told = np.empty(int(places[-1]), np.uint32)
    addressed = shares.sum(axis=1) > 0
    for owner in np.flatnonzero(addressed).tolist():
        for at, (part, bound) in enumerate(zip(parts, bounds, strict=True), owner * len(parts)):
            told[places[at] : places[at + 1]] = part[bound[owner] : bound[owner + 1]]
    # An index has 36 bytes for each chunk: all of them are about as long as a chunk.
    chunk = 1 << (36 * told.nbytes).bit_length() // 2
    return {
        "told": Stretch(told, chunk=min(CHUNK_BYTES, max(_LEAST_CHUNK, chunk))),
        "told_at": Stretch(places, chunk=_LEAST_CHUNK),
    }, _text(addressed)


def letter(store: Store, name: str, owner: int, parts: int = 2) -> list[NDArray[Any]]:
    """The letter to a shard in an object, or the first part of it alone.

    Raises:
        LostObjectError: the object is missing or damaged.
    """
    index = store.index(name)
    places = store.read(name, "told_at", 2 * owner, 2 * owner + 3, index)[: parts + 1]
    told = store.read(name, "told", int(places[0]), int(places[-1]), index)
    return np.split(told, places[1:-1] - places[0])


# --- sets of shards -------------------------------------------------------------------------------


def senders_of(to: Mapping[int, str], shards: int) -> dict[int, int]:
    """Who has letters from whom, from whom each has written to: for each of them a number.

    `shards_in` says what such a number means: as part of a task it is small.
    """
    senders = np.array([sender for sender, text in to.items() if text], np.int64)
    width = -(-shards // 8)
    written = np.zeros((len(senders), width), np.uint8)
    for row, sender in zip(written, senders.tolist(), strict=True):
        row[:] = np.frombuffer(decode(b64decode(to[sender]), width), np.uint8)
    found = {}
    for low in range(0, width, _COLUMNS):
        flags = np.unpackbits(written[:, low : low + _COLUMNS], axis=1).T.copy()
        for owner in np.flatnonzero(flags.any(axis=1)).tolist():
            who = np.zeros(shards, np.bool_)
            who[senders] = flags[owner]
            found[8 * low + owner] = int.from_bytes(_squeezed(who), "big")
    return found


def shards_in(number: int, shards: int) -> list[int]:
    """The shards in a set, from a number that `senders_of` gave; none if it is 0."""
    if not number:
        return []
    stored = number.to_bytes(-(-number.bit_length() // 8), "big")  # a frame begins with no zero
    flags = np.frombuffer(decode(stored, -(-shards // 8)), np.uint8)
    numbers: list[int] = np.flatnonzero(np.unpackbits(flags)).tolist()
    return numbers


def _text(flags: NDArray[np.bool_]) -> str:
    """A set of shards, as a summary has it."""
    return b64encode(_squeezed(flags)).decode("ascii") if flags.any() else ""


def _squeezed(flags: NDArray[np.bool_]) -> bytes:
    """Few bytes if few or nearly all are set, a bit for each shard at the most."""
    return encode(np.packbits(flags).tobytes(), LEVEL)
