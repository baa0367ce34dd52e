"""Objects by name in a folder that all workers share, or in object storage, through fsspec.

Whoever reads checks: nothing in a store is believed. An object appears whole: in a folder it is written
under another name and renamed, and object storage shows no half of one. Where neither holds, half an
object is found out by its digest and done again.
"""

from __future__ import annotations

import secrets
import shutil
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

import fsspec
import numpy as np
from fsspec.implementations.local import LocalFileSystem

from builder.cluster.objects import (
    DamagedError,
    Index,
    Stretch,
    checked_chunk,
    decode_chunk,
    decode_index,
    encode_object,
)
from lookup.errors import BuildError, InvalidParameterError
from lookup.games.sources import said
from lookup.locks import clear_folder

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from builder.parts import Encoded

LAYOUT = "layout/shard"
"""What whoever builds writes before all else: who does not see it does not see the store."""

_TAIL_READ = 64 * 1024  # bytes that are read at first: the whole of most indices
_RUN = 8 << 20  # stored bytes that are read at a time


class StoreError(BuildError):
    """A store that cannot be read or written."""


class LostObjectError(StoreError):
    """An object that is missing or damaged, so that the task that leaves it must be run again."""

    def __init__(self, name: str, url: str, problem: str) -> None:
        super().__init__(f"'{name}' in '{url}' {problem}")
        self.name = name


@dataclass
class Traffic:
    """What went through a store, in bytes as they are stored."""

    read: int = 0
    written: int = 0
    lock: Lock = field(default_factory=Lock, repr=False)

    def add(self, read: int = 0, written: int = 0) -> None:
        """Count so many more."""
        with self.lock:
            self.read += read
            self.written += written


class Store:
    """The objects of one build. Safe to share between threads, and pickled as its address.

    `label` names the build: an object of another is never taken for one of this. A folder must be
    there before anything is written: one that vanished is not made again by whoever is late.
    """

    def __init__(self, url: str, label: str) -> None:
        self._system, self._root = _opened(url)
        # Workers may stand in other folders: to them a path must say all.
        self.url = url if self.folder is None else self._root
        self.label = label
        self.traffic = Traffic()

    def __reduce__(self) -> tuple[Any, ...]:
        return Store, (self.url, self.label)

    @cached_property
    def folder(self) -> Path | None:
        """The folder it is in, if it is one of this machine."""
        return Path(self._root) if isinstance(self._system, LocalFileSystem) else None

    def names(self, under: str) -> set[str]:
        """The names of all objects that begin with `under` and a slash.

        Raises:
            StoreError: the store cannot be read.
        """
        try:
            self._system.invalidate_cache()
            found = self._system.ls(f"{self._root}/{under}", detail=False)
        except FileNotFoundError:
            return set()
        except Exception as error:  # noqa: BLE001 - whatever the library of a store raises
            raise self._failed("read", error) from None
        names = (path.rpartition("/")[2] for path in found)
        return {f"{under}/{name}" for name in names if not name.startswith(".")}

    def __contains__(self, name: str) -> bool:
        """Whether there is such an object, be it damaged or not."""
        try:
            self._system.info(self._path(name))  # `exists` would call a store that fails empty
        except FileNotFoundError:
            return False
        except Exception as error:  # noqa: BLE001 - whatever the library of a store raises
            raise self._failed("read", error) from None
        return True

    def write(
        self,
        name: str,
        summary: Mapping[str, Any],
        arrays: Mapping[str, Stretch] | None = None,
    ) -> None:
        """Write an object, in place of one of the same name if there is one.

        Raises:
            StoreError: the store does not take it.
        """
        try:
            written = self._write(name, encode_object(self.label, name, summary, arrays or {}))
        except Exception as error:  # noqa: BLE001 - whatever the library of a store raises
            raise self._failed("written", error) from None
        self.traffic.add(written=written)

    def summary(self, name: str) -> dict[str, Any]:
        """The summary of an object.

        Raises:
            LostObjectError: it is missing or damaged.
        """
        return self.index(name).summary

    def index(self, name: str) -> Index:
        """What an object holds.

        Raises:
            LostObjectError: it is missing or damaged.
        """
        path = self._path(name)
        try:
            size = int(self._system.info(path)["size"])
            tail = self._bytes(name, max(0, size - _TAIL_READ), size)
            return decode_index(
                self.label, name, size, lambda low, high: self._bytes(name, low, high), tail
            )
        except FileNotFoundError:
            raise LostObjectError(name, self.url, "is missing") from None
        except DamagedError as error:
            raise LostObjectError(name, self.url, str(error)) from None
        except StoreError:
            raise
        except Exception as error:  # noqa: BLE001 - whatever the library of a store raises
            raise self._failed("read", error) from None

    def read(
        self,
        name: str,
        array: str,
        low: int | None = None,
        high: int | None = None,
        index: Index | None = None,
    ) -> NDArray[Any]:
        """The elements of an array from `low` to `high`, numbers in the whole array; by default all.

        `index` spares a second look at the object.

        Raises:
            LostObjectError: the object is missing, damaged, or has no such stretch.
        """
        index = index or self.index(name)
        stored = index.arrays.get(array)
        if stored is None:
            raise LostObjectError(name, self.url, f"has no array {array!r}")
        low = stored.low if low is None else low
        high = stored.high if high is None else high
        target = np.empty(high - low, stored.dtype)
        self.read_into(name, array, low, target, index)
        return target

    def read_into(
        self, name: str, array: str, low: int, target: NDArray[Any], index: Index | None = None
    ) -> None:
        """Fill an array with the elements from `low` on; `index` as in `read`.

        Raises:
            LostObjectError: the object is missing, damaged, or has no such stretch.
        """
        index = index or self.index(name)
        stored = index.arrays.get(array)
        high = low + len(target)
        fits = stored is not None and stored.low <= low <= high <= stored.high
        if stored is None or not fits or stored.dtype != target.dtype:
            raise LostObjectError(name, self.url, f"has no stretch {low} to {high} of {array!r}")
        if low == high:
            return
        first, end = (low - stored.low) // stored.share, -(-(high - stored.low) // stored.share)
        for number, raw in self._stored_chunks(name, index, array, first, end):
            try:
                elements = np.frombuffer(decode_chunk(stored, number, raw), stored.dtype)
            except DamagedError as error:
                raise LostObjectError(name, self.url, str(error)) from None
            begin = stored.low + number * stored.share
            inside = slice(max(low, begin) - begin, min(high, begin + stored.share) - begin)
            target[max(low, begin) - low : min(high, begin + stored.share) - low] = elements[inside]

    def chunks(self, name: str, array: str, first: int, end: int) -> Iterator[Encoded]:
        """Chunks of an array as they are stored, each checked.

        Raises:
            LostObjectError: the object is missing or damaged.
        """
        index = self.index(name)
        for number, raw in self._stored_chunks(name, index, array, first, end):
            try:
                yield checked_chunk(index.arrays[array], number, raw)
            except DamagedError as error:
                raise LostObjectError(name, self.url, str(error)) from None

    def remove(self, name: str) -> None:
        """Remove an object, if it is there."""
        try:
            self._system.rm_file(self._path(name))
        except FileNotFoundError:
            pass
        except Exception as error:  # noqa: BLE001 - whatever the library of a store raises
            raise self._failed("written", error) from None

    def empty(self) -> None:
        """Remove all objects; who holds a folder goes on to do so."""
        try:
            if self.folder is not None:
                clear_folder(self.folder)
            elif self._system.exists(self._root):
                self._system.rm(self._root, recursive=True)
        except Exception as error:  # noqa: BLE001 - whatever the library of a store raises
            raise self._failed("written", error) from None

    def clear(self) -> None:
        """Remove the whole store, as far as that can be: nobody needs it any more."""
        with suppress(StoreError):
            self.empty()
        if self.folder is not None:
            shutil.rmtree(self.folder, ignore_errors=True)

    # --- bytes ------------------------------------------------------------------------------------

    def _stored_chunks(
        self, name: str, index: Index, array: str, first: int, end: int
    ) -> Iterator[tuple[int, bytes]]:
        """Chunks by number, as they are stored; many are read at a time, never all of a large array."""
        stored = index.arrays[array]
        ends = stored.offset + np.concatenate([[0], np.cumsum(stored.sizes, dtype=np.int64)])
        while first < end:
            last = max(first + 1, int(np.searchsorted(ends, ends[first] + _RUN)) - 1)
            last = min(last, end)
            if ends[first] >= index.begin:
                run = index.tail[int(ends[first]) - index.begin : int(ends[last]) - index.begin]
            else:
                run = self._bytes(name, int(ends[first]), int(ends[last]))
            for number in range(first, last):
                begin = int(ends[number] - ends[first])
                yield number, run[begin : begin + int(stored.sizes[number])]
            first = last

    def _bytes(self, name: str, low: int, high: int) -> bytes:
        try:
            data: bytes = self._system.cat_file(self._path(name), start=low, end=high)
        except FileNotFoundError:
            raise LostObjectError(name, self.url, "is missing") from None
        except Exception as error:  # noqa: BLE001 - whatever the library of a store raises
            raise self._failed("read", error) from None
        self.traffic.add(read=len(data))
        return data

    def _write(self, name: str, pieces: Iterator[bytes]) -> int:
        path, written = self._path(name), 0
        if self.folder is None:
            with self._system.open(path, "wb") as file:
                for piece in pieces:
                    file.write(piece)
                    written += len(piece)
            return written
        final = Path(path)
        final.parent.mkdir(exist_ok=True)
        temporary = final.parent / f".{final.name}.{secrets.token_hex(4)}.tmp"
        try:
            with temporary.open("wb") as file:
                # Not flushed to disk: that takes longer than most tasks, and what a machine loses that
                # loses power is found out by its digest, and done again.
                for piece in pieces:
                    file.write(piece)
                    written += len(piece)
            temporary.replace(final)
        finally:
            temporary.unlink(missing_ok=True)
        return written

    def _path(self, name: str) -> str:
        return f"{self._root}/{name}"

    def _failed(self, verb: str, error: Exception) -> StoreError:
        reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
        return StoreError(f"the store '{self.url}' cannot be {verb}: {reason}")


@cache
def _opened(url: str) -> tuple[Any, str]:
    """The file system of a URL, and the path there.

    Raises:
        InvalidParameterError: nobody knows such a URL.
    """
    try:
        system, path = fsspec.core.url_to_fs(url)
    except Exception as error:  # noqa: BLE001 - whatever the library of a store raises
        expected = f"a folder, or a URL that fsspec knows, such as s3://bucket/folder ({said(error)})"
        raise InvalidParameterError("store", url, expected) from None
    return system, path.rstrip("/")
