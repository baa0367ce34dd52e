"""Files made with structures of HDF5 that no table has, or that lead out of the file."""

from __future__ import annotations

import io
import os
from typing import TYPE_CHECKING, Any

import h5py
import numpy as np
from torture_files_forgery import altered

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from torture_files_tables import Sample


def _again(**options: Any) -> Callable[[Any], None]:
    """The column of outcomes, made anew in another way."""
    return lambda file: _make_again(file, options)


def _make_again(file: Any, options: dict[str, Any]) -> None:
    old = file["outcome"]
    attributes = dict(old.attrs.items())
    length = old.shape[0]
    chunks = [(at, old.id.read_direct_chunk((at,))[1]) for at in range(0, length, old.chunks[0])]
    usual = {
        "shape": old.shape, "dtype": old.dtype, "chunks": old.chunks, "compression": 32015,
        "compression_opts": (3,), "allow_unknown_filter": True, "fletcher32": True,
        "fill_time": "never", "track_times": False,
    }  # fmt: skip
    settings = {key: value for key, value in (usual | options).items() if value is not None}
    mask = settings.pop("mask", 0)
    fill = settings.pop("fill", None)
    del file["outcome"]
    new = file.create_dataset("outcome", **settings)
    for key, value in attributes.items():
        new.attrs[key] = value
    if fill is not None:
        new[...] = fill
    elif new.chunks == (chunks[1][0] if len(chunks) > 1 else length,):
        for at, chunk in chunks:
            new.id.write_direct_chunk((at,), chunk, filter_mask=mask)


_UNFILTERED = {
    "compression": None,
    "compression_opts": None,
    "allow_unknown_filter": None,
    "fletcher32": None,
}


def _digests_again(**options: Any) -> Callable[[Any], None]:
    """The digests of outcomes, made anew in another way."""

    def change(file: Any) -> None:
        old = file["sha256/outcome"][...]
        del file["sha256/outcome"]
        settings: dict[str, Any] = {"data": old, "track_times": False} | options
        file.create_dataset("sha256/outcome", **{k: v for k, v in settings.items() if v is not None})

    return change


def _virtual(file: Any, where: str, other: str) -> None:
    shape, dtype = file[where].shape, file[where].dtype
    attributes = dict(file[where].attrs.items())
    layout = h5py.VirtualLayout(shape, dtype)
    layout[...] = h5py.VirtualSource(other, "data", shape)
    del file[where]
    file.create_virtual_dataset(where, layout)
    for key, value in attributes.items():
        file[where].attrs[key] = value


def structures(elsewhere: str) -> list[Callable[[Any], None]]:
    """Changes to what a file is made of; `elsewhere` is the path of another file."""
    return [*_links(elsewhere), *_filters(), *_shapes(), *_digests(elsewhere), *_members()]


def _links(elsewhere: str) -> Iterator[Callable[[Any], None]]:
    """Members that are links, types or groups, in place of what is there or beside it."""

    def linked(name: str, made: Any) -> Callable[[Any], None]:
        def change(file: Any) -> None:
            if name in file:
                del file[name]
            file[name] = made

        return change

    def hard(name: str, target: str) -> Callable[[Any], None]:
        return lambda file: file.__setitem__(name, file[target])

    def grouped(name: str) -> Callable[[Any], None]:
        def change(file: Any) -> None:
            if name in file:
                del file[name]
            file.create_group(name)

        return change

    for name in ("outcome", "sha256", "sha256/outcome", "extra", "sha256/extra"):
        yield linked(name, h5py.SoftLink("/outcome"))
        yield linked(name, h5py.SoftLink("/nowhere"))
        yield linked(name, h5py.SoftLink(f"/{name}"))
        yield linked(name, h5py.ExternalLink(elsewhere, "/outcome"))
        yield linked(name, np.dtype("<i4"))
        yield grouped(name)
    for name in ("extra", "sha256/extra"):
        yield hard(name, "outcome")
        yield hard(name, "/")


def _filters() -> Iterator[Callable[[Any], None]]:
    """Other filters than a column has, and filters that were not used."""
    yield _again(fletcher32=None)
    yield _again(**_UNFILTERED)
    for filtered in (
        {"compression": "gzip"},
        {"compression": "lzf"},
        {"fletcher32": True},
        {"scaleoffset": 0},
    ):
        yield _again(**_UNFILTERED | filtered, fill=0)
    yield _again(shuffle=True)
    for number in (32000, 32001, 32004):
        yield _again(compression=number, compression_opts=(1,))
    yield _again(compression_opts=tuple(range(20)))
    for mask in (1, 2, 3, 0xFFFFFFFF):
        yield _again(mask=mask)


def _shapes() -> Iterator[Callable[[Any], None]]:
    """Other shapes, types and layouts of a column."""
    yield _again(maxshape=(None,))
    yield _again(maxshape=(1 << 60,))
    yield _again(shape=(1 << 60,), chunks=(1,))
    yield _again(shape=(1 << 60,), chunks=(1 << 17,))
    yield _again(shape=((1 << 63) - 1,), chunks=(1 << 18,))
    yield _again(shape=(1 << 31,), chunks=((1 << 32) - 1 >> 3,))
    yield _again(shape=(0,), chunks=(1,), maxshape=(None,))
    yield _again(shape=(8, 8), chunks=(8, 8))
    for shape in ((1 << 60,), ()):
        yield _again(**_UNFILTERED | {"chunks": None, "shape": shape})
    yield _again(**_UNFILTERED | {"chunks": None}, fill=1)
    yield _again(fillvalue=1, fill_time="alloc")
    yield _again(track_times=True)
    for kind in ("<i1", ">u2", "<u8", "<f4", "S1", [("a", "u1"), ("b", "u1")], "V1", "?"):
        yield _again(dtype=np.dtype(kind))


def _digests(elsewhere: str) -> Iterator[Callable[[Any], None]]:
    """Digests in another form, or from another file; and a column from there."""
    for shape in ((0, 32), (1, 31), (1 << 55, 32), (64,)):
        yield _digests_again(data=None, shape=shape, dtype="u1")
    yield _digests_again(chunks=True)
    yield _digests_again(chunks=True, compression="gzip")
    yield _digests_again(dtype="<i1")
    yield _digests_again(data=None, shape=(1, 32), dtype="u1", external=[(elsewhere, 0, 32)])
    yield lambda file: file["sha256/outcome"].attrs.__setitem__("note", np.int64(1))
    yield lambda file: _virtual(file, "outcome", elsewhere)
    yield lambda file: _virtual(file, "sha256/outcome", elsewhere)


def _members() -> Iterator[Callable[[Any], None]]:
    """More or fewer members and attributes, and other names."""

    def renamed(name: str) -> Callable[[Any], None]:
        return lambda file: file.move("outcome", name)

    def groups(file: Any) -> None:
        for at in range(200):
            file.create_group(f"more{at}")

    def deeper(file: Any) -> None:
        file["sha256"].create_group("deeper")

    yield from map(renamed, ("Outcome", "x" * 300, "ä", "b\x1b[31m"))
    yield groups
    yield deeper
    yield lambda file: file.attrs.update({f"more{at}": np.int64(at) for at in range(3000)})
    yield lambda file: file.attrs.update({f"more{at}": np.bytes_(b"x" * 64000) for at in range(80)})
    for name in ("later", "ä", "\x1b[31m"):
        yield lambda file, name=name: file.attrs.__setitem__(name, np.int64(1))  # type: ignore[misc]  # default
    yield lambda file: file["outcome"].attrs.__setitem__("later", np.bytes_(b"more"))
    yield lambda file: file["sha256"].attrs.__setitem__("later", np.int64(1))
    for name in ("outcome", "sha256", "sha256/outcome"):
        yield lambda file, name=name: file.__delitem__(name)  # type: ignore[misc]  # default


def structure_case(sample: Sample, number: int, folder: Path) -> bytes | None:
    """A file with another structure; None if the library refuses to make it."""
    fifo = folder / "pipe.h5"
    if not fifo.exists():
        os.mkfifo(fifo)
    try:
        return altered(sample.data, structures(str(fifo))[number])
    except (ValueError, TypeError, OSError, RuntimeError, KeyError, MemoryError, OverflowError):
        return None


def whole_files(sample: Sample, folder: Path) -> Iterator[tuple[str, Path]]:
    """Copies of a table in all that HDF5 has: other versions, drivers, a block before the beginning."""
    ways: dict[str, dict[str, Any]] = {
        "latest": {"libver": "latest"}, "v108": {"libver": ("v108", "v108")},
        "block": {"userblock_size": 512}, "ordered": {"track_order": True},
        "core": {"driver": "core"}, "split": {"driver": "split"},
        "paged": {"fs_strategy": "page", "fs_persist": True},
        "family": {"driver": "family", "memb_size": 4096},
    }  # fmt: skip
    for name, options in ways.items():
        path = folder / (f"{name}-%d.h5" if name == "family" else f"{name}.h5")
        with h5py.File(io.BytesIO(sample.data), "r") as old, h5py.File(path, "w", **options) as new:
            for key, value in old.attrs.items():
                new.attrs[key] = value
            for member in old:
                old.copy(member, new)
        if name == "split":
            path = folder / "split.h5-m.h5"
        yield name, folder / "family-0.h5" if name == "family" else path
