"""Write a table file, or a part of one: the same bytes for the same input."""

from __future__ import annotations

import os
import re
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from builder.parts import encode_chunk
from builder.room import Room
from builder.solvers.plan import Piece
from builder.workers import Workers
from lookup.blocks import dtype_of
from lookup.format import DIGESTS, LARGE_TABLE, ZSTD_FILTER, chunk_bytes, table_digest
from lookup.progress import silent

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path
    from typing import TypeAlias

    from builder.checkpoints import Checkpoints
    from builder.parts import Encoded
    from builder.solvers.solution import PackedColumn
    from lookup.format import Column, TableInfo
    from lookup.progress import Report

    Chunks: TypeAlias = Callable[[Column, int, int], Iterable[Encoded]]
    """`chunks(column, first, end)`: those of a column from number `first` to before `end`, in order."""

LEVELS = ((4 << 20, 19), (LARGE_TABLE, 9))
"""Up to so many packed bytes, a table is compressed at that level. From 9 to 19 takes 15 times as long
and gains a fifth."""

HUGE_LEVEL = 1
"""The level beyond. For the bits of Tactics 6x6, level 9 takes nine times as long, longer than to solve
them, and gains a twentieth."""

PART_BYTES = 32 << 20
"""What a checkpoint of the writer holds, before compression."""


class Written(NamedTuple):
    """A file that was written: its digest, and those of the chunks of each column."""

    digest: str
    digests: dict[str, bytes]


_ERRNO = re.compile(r"\berrno = (\d+)")


def level_for(table_bytes: int) -> int:
    """How hard the columns of a table of `table_bytes` in all are compressed."""
    return next((level for most, level in LEVELS if table_bytes <= most), HUGE_LEVEL)


def stored_as(columns: Sequence[Column]) -> dict[str, tuple[int, int]]:
    """The bytes of a chunk and the level of each column, by name, if a table has just these."""
    total = sum(column.nbytes for column in columns)
    return {column.name: (chunk_bytes(column, total), level_for(total)) for column in columns}


def write_table(
    path: Path,
    info: TableInfo,
    columns: Sequence[PackedColumn],
    report: Report = silent,
    checkpoints: Checkpoints | None = None,
) -> str:
    """Write a table to `path` as it is, not atomically; returns its digest.

    The bytes depend on the content and on the version of zstd alone, with one exception: in a process
    that has registered a Zstandard plugin with HDF5 (as `hdf5plugin` does when imported), HDF5 stores
    the plugin's name beside the filter's number. The digest is the same in any case.
    """
    by_name = {packed.column.name: packed for packed in columns}
    stored = stored_as([packed.column for packed in columns])
    if checkpoints:
        checkpoints.will_store({_part_name(packed): stored[packed.column.name] for packed in columns})

    def chunks(column: Column, _first: int, _end: int) -> Iterator[Encoded]:  # a file asks for all
        return _encoded_chunks(by_name[column.name], *stored[column.name], checkpoints)

    return write_chunks(path, info, [packed.column for packed in columns], chunks, report)


def write_chunks(
    path: Path,
    info: TableInfo,
    columns: Sequence[Column],
    chunks: Chunks,
    report: Report = silent,
) -> str:
    """The same from chunks that are encoded already, as `stored_as(columns)` says.

    No more than one chunk is held at a time.
    """
    total = sum(column.nbytes for column in columns)

    def written(done: int) -> None:
        report(min(done, total), total)

    return write_file(path, info.attributes, columns, stored_as(columns), chunks, written).digest


def write_file(
    path: Path,
    attributes: dict[str, int | str],
    columns: Sequence[Column],
    stored: Mapping[str, tuple[int, int]],
    chunks: Chunks,
    written: Callable[[int], None],
) -> Written:
    """Write a file of columns, and a digest of all of it: a table, or a part of one.

    `stored` has the bytes of a chunk and the level of each column; `written` is told how many decoded
    bytes were written, padding included.
    """
    import h5py  # as everywhere: only when a file is opened

    digests: dict[str, bytes] = {}
    done = 0
    room = Room(path, sum(-(-one.nbytes // stored[one.name][0]) for one in columns))
    path.touch()
    room.begin()  # without it, HDF5 is not even begun
    # The version bounds and the absence of times make the bytes depend on nothing but the content.
    # It is not locked by HDF5: who asked for the file holds it already.
    with _reasons(), h5py.File(path, "w", libver=("earliest", "v110"), locking=False) as file:
        room.begin()
        for column in sorted(columns, key=lambda column: column.name):
            chunk, level = stored[column.name]
            dtype = dtype_of(column.bits)
            dataset = file.create_dataset(
                column.name,
                shape=(column.length,),
                dtype=dtype,
                chunks=(chunk // dtype.itemsize,),
                compression=ZSTD_FILTER,
                compression_opts=(level,),
                allow_unknown_filter=True,
                fletcher32=True,
                fill_time="never",
                track_times=False,
            )
            _set_attributes(dataset, column.attributes)
            of_chunks, count = bytearray(), -(-column.nbytes // chunk)
            for number, encoded in enumerate(chunks(column, 0, count)):
                room.add(len(encoded.stored))
                dataset.id.write_direct_chunk((number * chunk // dtype.itemsize,), encoded.stored)
                of_chunks += encoded.digest
                done += chunk
                written(done)
            if len(of_chunks) != 32 * count:
                raise ValueError(f"{column.name} came in {len(of_chunks) // 32} chunks, not in {count}")
            digests[column.name] = bytes(of_chunks)
        for name, of_column in digests.items():
            rows = np.frombuffer(of_column, np.uint8).reshape(-1, 32)
            file.create_dataset(f"{DIGESTS}/{name}", data=rows, track_times=False)
        described = {column.name: column.attributes for column in columns}
        digest = table_digest(attributes, described, digests)
        _set_attributes(file, {**attributes, "digest": digest})
    room.give_back()
    return Written(digest, digests)


@contextmanager
def _reasons() -> Iterator[None]:
    """Of what HDF5 says when a file cannot be written, the system's own reason."""
    try:
        yield
    except (OSError, RuntimeError) as error:  # whatever is written when the file is closed: the latter
        if reason := _ERRNO.search(str(error)):
            raise OSError(int(reason[1]), os.strerror(int(reason[1]))) from None
        raise


def _encoded_chunks(
    packed: PackedColumn, chunk: int, level: int, checkpoints: Checkpoints | None
) -> Iterator[Encoded]:
    """The chunks of a column in order: from checkpoints where they are kept, else encoded now."""
    step = chunk // dtype_of(packed.column.bits).itemsize
    name, length = _part_name(packed), packed.column.length
    kept = checkpoints.parts(name) if checkpoints else {}
    a_part = max(1, PART_BYTES // chunk) * step

    def encode(low: int) -> Encoded:
        return encode_chunk(packed.elements, low, min(low + step, length), chunk, level)

    with Workers() as workers:
        low = 0
        while low < length:
            high = kept.get(low, 0)
            fits = high == length or (high > low and (high - low) % step == 0)
            # Looked through before the first is written: what is damaged is encoded again.
            chunks = checkpoints.chunks(Piece(name, low, high)) if checkpoints and fits else []
            if chunks:
                yield from chunks
                low = high
                continue
            high = min([low + a_part, length, *(at for at in kept if at > low and at % step == 0)])
            piece = Piece(name, low, high)
            with checkpoints.keeping(piece) if checkpoints else nullcontext(_drop) as keep:
                for encoded in workers.in_order(encode, ((at,) for at in range(low, high, step))):
                    keep(encoded)
                    yield encoded
            low = high


def _drop(encoded: Encoded) -> None:
    """Where nothing is kept."""


def _part_name(packed: PackedColumn) -> str:
    """What parts of a column are called: as the array that they are parts of, or like no array."""
    return packed.array or f"stored_{packed.column.name}"


def _set_attributes(item: Any, attributes: dict[str, int | str]) -> None:
    for name, value in attributes.items():
        if isinstance(value, str):
            text = value.encode()
            item.attrs[name] = np.array(text, f"S{max(1, len(text))}")
        else:
            item.attrs[name] = np.int64(value)
