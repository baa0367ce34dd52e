"""Files that somebody made on purpose: all digests are right, and the content or its form is not."""

from __future__ import annotations

import io
from functools import cache
from typing import TYPE_CHECKING, Any

import h5py
import numpy as np
from torture_files_tables import write

from builder.solvers.solution import PackedColumn
from lookup.blocks import pack, unpack
from lookup.format import DIGESTS, table_digest
from lookup.reader import TableFile

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from torture_files_tables import Sample

VERSIONS = ("earliest", "v110")

_TEXTS: tuple[bytes, ...] = (
    b"", b" ", b"x", b"tactics", b"retrograde", b"\x1b[31m\x1b]0;title\x07", b"a\nb\r\tc",
    b"a\0b", b"a" * 64_000, b"../../../etc/passwd", b"con.h5", "日本\u202e".encode(), b"\xff\xfe",
    b"\xed\xa0\x80", b"{}", b"[]", b"null", b"1", b"NaN", b"{", b'{"a":1}', b'{"a":NaN}', b'{"a":"x"}',
    b'{"a":Infinity}', b'{"a":1e999}', b'{"a":1.5}', b'{"a":[]}', b'{"a":1,"a":2}', b'{"a" : 1}',
    b'{"\\ud800":1}',
    b"[" * 60_000, b'{"a":' * 12_000, b"9" * 60_000, b'{"a":' + b"9" * 5000 + b"}",
    b'{"a":-' + b"9" * 4000 + b"}", b'{"rows":1000000000,"cols":3,"max_run":3,"normal":false}',
    b'{"cols":6,"max_run":6,"normal":false,"rows":6}', b'{"cols":3,"max_run":3,"normal":true,"rows":3}',
    b'{"checked":100,"period":1,"plies":0,"preperiod":0}',
    b'{"checked":100,"period":' + b"9" * 5000 + b',"plies":0,"preperiod":0}',
    b'{"checked":9223372036854775807,"period":1,"plies":9223372036854775807,"preperiod":0}',
    b'{"checked":4,"period":1,"plies":true,"preperiod":0}', b"0" * 64, b"f" * 64,
)  # fmt: skip
_INTEGERS = (
    -(1 << 63), -(1 << 32), -2, -1, 0, 1, 2, 4, 16, 32, 64, 511, 1 << 16, 1 << 31, 1 << 32, 1 << 33,
    (1 << 36), 1 << 40, 1 << 60, (1 << 63) - 1,
)  # fmt: skip


def altered(data: bytes, change: Callable[[Any], None], *, seal: bool = True) -> bytes:
    """A file after a change through the HDF5 library, with its digest made to match."""
    held = io.BytesIO(data)
    with h5py.File(held, "r+", libver=VERSIONS) as file:
        change(file)
        if seal:
            reseal(file)
    return held.getvalue()


def reseal(file: Any) -> None:
    """Make the digest match whatever else is there, as far as it can be put into one."""
    attributes = plain(file)
    attributes.pop("digest", None)
    if _leads_elsewhere(file) or _leads_elsewhere(file.get(DIGESTS, {})):
        return  # to where it would be waited for
    try:
        members = {name: file[name] for name in file if name != DIGESTS}
        columns = {name: one for name, one in members.items() if isinstance(one, h5py.Dataset)}
        described = {name: plain(one) for name, one in columns.items()}
        of_chunks = {name: file[DIGESTS][name][...].tobytes() for name in columns}
    except (OSError, AttributeError, TypeError, KeyError, RuntimeError, MemoryError, ValueError):
        return
    digest = table_digest(attributes, described, of_chunks)
    file.attrs["digest"] = np.array(digest.encode(), "S64")


def _leads_elsewhere(group: Any) -> bool:
    """Whether a member of a group is in another file, or its numbers are."""
    if not isinstance(group, h5py.Group):
        return False
    for name in group:
        if not isinstance(group.get(name, getlink=True), h5py.HardLink):
            return True
        member = group[name]
        if isinstance(member, h5py.Dataset) and (member.external or member.is_virtual):
            return True
    return False


def plain(item: Any) -> dict[str, int | str]:
    """The attributes of the two types that count."""
    found: dict[str, int | str] = {}
    for name, value in item.attrs.items():
        if isinstance(value, np.bytes_):
            found[name] = value.decode("utf-8", "replace")
        elif isinstance(value, np.int64):
            found[name] = int(value)
    return found


# --- attributes --------------------------------------------------------------------------------------


def odd_values(file: Any, old: Any) -> list[Any]:
    """Values of all types that an attribute can have; callables make it by themselves."""
    texts = [np.array(text, f"S{max(1, len(text))}") for text in _TEXTS]
    numbers = [np.int64(number) for number in _INTEGERS]
    if isinstance(old, np.int64):
        numbers += [old + 1, old - 1, old * 2, old ^ 1]
    else:
        last = bytes([old[-1] ^ 1]) if old else b"!"
        nearly = (old + b" ", b" " + old, old.upper(), old[:-1], old[:-1] + last)
        texts += [np.array(text, f"S{max(1, len(text))}") for text in nearly]
    number = 1 if not isinstance(old, np.int64) else int(old)
    pair = np.dtype([("a", "<i4"), ("b", "<i4")])
    return [
        *texts,
        *numbers,
        np.float64(number),
        np.float32("nan"),
        np.int32(1),
        np.int8(1),
        np.uint64(max(0, number)),
        np.bool_(True),
        np.array(number, ">i8"),
        np.array([number], np.int64),
        np.array([1, 2, 3], np.int64),
        np.zeros((0,), np.int64),
        np.zeros((4, 4), np.int64),
        h5py.Empty("<i8"),
        h5py.Empty("S8"),
        "a text of any length",
        "ein Wört",
        np.array([b"a", b"b"], "S1"),
        file.ref,
        np.zeros((), pair),
        np.void(b"opaque bytes"),
        np.complex128(1j),
        np.array(1, h5py.enum_dtype({"one": 1, "two": 2})),
        np.array(b"utf", h5py.string_dtype("utf-8", 3)),
    ]


_ODD = len(_TEXTS) + len(_INTEGERS) + 4 + 22  # of integers; strings have one more


def attribute_places(sample: Sample) -> list[tuple[str, str]]:
    """Every attribute: where, and its name."""
    with h5py.File(io.BytesIO(sample.data), "r") as file:
        found = [("/", name) for name in file.attrs]
        return found + [(one, name) for one in file if one != DIGESTS for name in file[one].attrs]


def attribute_count(sample: Sample) -> int:
    """How many cases there are."""
    return len(attribute_places(sample)) * (_ODD + 3)


def attribute_case(sample: Sample, number: int) -> bytes:
    """One attribute has another value or type, is not there, or has another name; sealed again."""
    which, (where, name) = number % (_ODD + 3), _places(sample.kind, sample)[number // (_ODD + 3)]

    def change(file: Any) -> None:
        item = file[where]
        values = odd_values(file, item.attrs[name])
        if which < len(values):
            item.attrs[name] = values[which]
        elif which == _ODD + 1:
            del item.attrs[name]
        else:
            h5py.h5a.rename(item.id, name.encode(), f"{name}_".encode())

    return altered(sample.data, change, seal=name != "digest")


_known_places: dict[str, list[tuple[str, str]]] = {}


def _places(kind: str, sample: Sample) -> list[tuple[str, str]]:
    if kind not in _known_places:
        _known_places[kind] = attribute_places(sample)
    return _known_places[kind]


# --- values ------------------------------------------------------------------------------------------


@cache
def _decoded(data: bytes, rules: Any, folder: Path) -> tuple[Any, dict[str, Any], int]:
    """What a table says, the numbers of its columns, and the bytes of a chunk."""
    path = folder / "read.h5"
    path.write_bytes(data)
    file = TableFile(path, rules)
    columns = {
        name: (stored.column, unpack(file.read_elements(name, 0, stored.count),
                                     stored.column.bits, stored.column.items).copy())
        for name, stored in file.columns.items()
    }  # fmt: skip
    chunk = max(stored.chunk_bytes for stored in file.columns.values())
    file.close()
    return file.info, columns, chunk


def value_case(sample: Sample, number: int, folder: Path) -> Path:
    """Some numbers are others, and everything in the file agrees with them; totals too, in half."""
    dice = np.random.default_rng(number)
    info, columns, chunk = _decoded(sample.data, sample.rules, folder)
    changed = {name: (column, items.copy()) for name, (column, items) in columns.items()}
    name = str(dice.choice(sorted(changed)))
    column, items = changed[name]
    for at in dice.integers(len(items), size=int(dice.choice([1, 1, 2, 5]))):
        largest = int(columns[name][1].max()) if dice.integers(4) else (1 << min(column.bits, 16)) - 1
        items[at] = dice.integers(largest + 1)
    if dice.integers(2):
        info = _recounted(info, changed)
    path = folder / "case.h5"
    packed = [PackedColumn(column, pack(items, column.bits)) for column, items in changed.values()]
    write(path, info, packed, chunk)
    return path


def _recounted(info: Any, columns: dict[str, Any]) -> Any:
    """What the table says of its numbers in all, after they have changed."""
    column, codes = columns["outcome"]
    codes = codes * 2 + 1 if column.bits == 1 else codes
    records = columns["classes"][1] if "classes" in columns else np.arange(info.size)
    if int(records.max()) >= len(codes):
        return info
    counts = np.bincount(codes[records], minlength=4).tolist()
    totals = dict(zip(("losses", "draws", "wins"), counts[1:], strict=True))
    for field, name in (("longest_remoteness", "remoteness"), ("largest_grundy", "grundy")):
        if name in columns:
            totals[field] = int(columns[name][1].max())
    return info._replace(positions=sum(counts[1:]), **totals)
