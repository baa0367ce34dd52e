"""Write a table file: the same bytes for the same input, and never a half-written file in place."""

from __future__ import annotations

import hashlib
import os
import re
import secrets
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from builder.solvers.solution import silent
from lookup.blocks import encode
from lookup.format import DIGESTS, ZSTD_FILTER, chunk_bytes, table_digest

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from builder.solvers.solution import PackedColumn, Report
    from lookup.format import TableInfo

BEST_LEVEL = 19
FAST_LEVEL = 9
BEST_LEVEL_BYTES = 4 * 1024 * 1024
"""Up to this many packed bytes a table is compressed at the best level; beyond, it takes 15 times as
long as the fast one and gains a fifth."""

_BATCH = 64  # chunks compressed at a time, which bounds the memory they take


@contextmanager
def temporary_beside(path: Path) -> Iterator[Path]:
    """A path in the same folder to write to, gone when the block ends; see `put_in_place`.

    Leftovers of processes that were killed while writing the same file are removed.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    for leftover in path.parent.glob(f".{path.name}.*.tmp"):
        if not _is_running(leftover):
            leftover.unlink(missing_ok=True)
    temporary = path.parent / f".{path.name}.{os.getpid()}.{secrets.token_hex(4)}.tmp"
    temporary.touch(exist_ok=False)
    try:
        yield temporary
    finally:
        temporary.unlink(missing_ok=True)


def put_in_place(temporary: Path, path: Path) -> None:
    """Let a finished temporary file take the place of `path`, which is a whole file, old or new.

    The file is flushed to disk before it is renamed: a crash must not leave the name without content.
    """
    _flush(temporary)
    temporary.replace(path)
    _flush(path.parent)


def write_table(
    path: Path, info: TableInfo, columns: Sequence[PackedColumn], report: Report = silent
) -> str:
    """Write a table to `path` as it is, not atomically; returns its digest.

    The bytes depend on the content and on the version of zstd alone, with one exception: in a process
    that has registered a Zstandard plugin with HDF5 (as `hdf5plugin` does when imported), HDF5 stores
    the plugin's name beside the filter's number. The digest is the same in any case.
    """
    import h5py  # as everywhere: only when a file is opened

    total = sum(packed.column.nbytes for packed in columns)
    level = BEST_LEVEL if total <= BEST_LEVEL_BYTES else FAST_LEVEL
    digests: dict[str, bytes] = {}
    done = 0
    # The version bounds and the absence of times make the bytes depend on nothing but the content.
    with h5py.File(path, "w", libver=("earliest", "v110")) as file:
        for packed in sorted(columns, key=lambda packed: packed.column.name):
            column, chunk = packed.column, chunk_bytes(packed.column, total)
            dataset = file.create_dataset(
                column.name,
                shape=(column.length,),
                dtype=packed.data.dtype,
                chunks=(chunk // packed.data.itemsize,),
                compression=ZSTD_FILTER,
                compression_opts=(level,),
                allow_unknown_filter=True,
                fletcher32=True,
                fill_time="never",
                track_times=False,
            )
            _set_attributes(dataset, column.attributes)
            digests[column.name] = b""
            for offset, stored, of_chunk in _encoded_chunks(packed.data, chunk, level):
                dataset.id.write_direct_chunk((offset,), stored)
                digests[column.name] += of_chunk
                done += chunk
                report(min(done, total), total)
        for name, of_chunks in digests.items():
            rows = np.frombuffer(of_chunks, np.uint8).reshape(-1, 32)
            file.create_dataset(f"{DIGESTS}/{name}", data=rows, track_times=False)
        digest = table_digest(info, [packed.column for packed in columns], digests)
        _set_attributes(file, {**info.attributes, "digest": digest})
    return digest


def _encoded_chunks(
    data: NDArray[np.unsignedinteger], chunk: int, level: int
) -> Iterator[tuple[int, bytes, bytes]]:
    """Chunks in order: first element, stored bytes, digest of the decoded bytes."""
    step = chunk // data.itemsize

    def encoded(offset: int) -> tuple[int, bytes, bytes]:
        raw = data[offset : offset + step].tobytes()
        raw += bytes(chunk - len(raw))
        return offset, encode(raw, level), hashlib.sha256(raw).digest()

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for low in range(0, len(data), step * _BATCH):
            yield from pool.map(encoded, range(low, min(low + step * _BATCH, len(data)), step))


def _set_attributes(item: Any, attributes: dict[str, int | str]) -> None:
    for name, value in attributes.items():
        if isinstance(value, str):
            text = value.encode()
            item.attrs[name] = np.array(text, f"S{max(1, len(text))}")
        else:
            item.attrs[name] = np.int64(value)


def _flush(path: Path) -> None:
    if os.name == "nt" and path.is_dir():
        return  # Windows cannot open folders, and needs no flush of them
    handle = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _is_running(temporary: Path) -> bool:
    """Whether the process that made a temporary file still runs."""
    match = re.search(r"\.(\d+)\.[0-9a-f]+\.tmp$", temporary.name)
    if not match or os.name == "nt":
        return True  # not ours to judge; on Windows the question itself would be a signal
    try:
        os.kill(int(match.group(1)), 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
