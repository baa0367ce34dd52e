"""Tables that are folders of parts: damage to any of their files, and manifests that were forged."""

from __future__ import annotations

import json
import random
import shutil
from contextlib import closing
from typing import TYPE_CHECKING, Any, NamedTuple
from unittest.mock import patch

from torture_files_damage import flipped, mutated
from torture_files_tables import Judge

from builder import writer
from builder.folder import write_folder
from builder.parts import Encoded
from lookup.format import canonical
from lookup.manifest import MANIFEST, PARTS_SUFFIX, sealed
from lookup.reader import TableFile

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from torture_children import Ending
    from torture_files_tables import Sample

    from lookup.format import Column

_ACCIDENTS, _FORGERIES = 2000, 2000
_EACH = 5  # bytes between two that are flipped: a folder takes longer to open than a file
_PART_BYTES = 64  # so that each column has several
_ODD: tuple[Any, ...] = (
    None, True, False, -1, 0, 1, 2, 7, 64, 1 << 16, 1 << 31, (1 << 63) - 1, 1 << 63, 10**4000, 1.0,
       "", "x", "../x", "/dev/zero", "outcome-000000.h5", "\ud800", "\x1b[31m", "x" * 66_000, "0" * 64,
    [], {}, [[]], [0] * 1000, {"x": 1}, [{}] * 1000,
)  # fmt: skip


class Cases(NamedTuple):
    """Cases of one kind: `run(number, folder)` runs one of them."""

    kind: str
    cases: int
    run: Callable[[int, Path], Ending]


def folder_cases(sample: Sample, path: Path, seed: int) -> list[Cases]:
    """A table of one file, at a path, as a folder of parts that is damaged or forged."""
    files = _in_parts(sample, path)
    judge, forged = Judge(sample), Judge(sample, forged=True)
    first = random.Random(f"{seed} {sample.kind} in parts").randrange(1 << 40)
    bytes_there = [(name, at) for name, data in files.items() for at in range(0, len(data), _EACH)]

    def flip(one: int, own: Path) -> Ending:
        name, at = bytes_there[one]
        return judge.ending(_put(own, {**files, name: flipped(files[name], at)}))

    def accident(one: int, own: Path) -> Ending:
        return judge.ending(_put(own, _hit(files, random.Random(first + one))))

    def forgery(one: int, own: Path) -> Ending:
        return forged.ending(_put(own, _forged(files, random.Random(first + one))))

    return [
        Cases("a folder: a byte with one bit flipped", len(bytes_there), flip),
        Cases("a folder: files exchanged, lost, cut, mutated", _ACCIDENTS, accident),
        Cases("a folder: manifest altered, its SHA-256 made to match", _FORGERIES, forgery),
    ]


def _in_parts(sample: Sample, path: Path) -> dict[str, bytes]:
    """The files of the folder, by name."""
    folder = path.with_suffix(PARTS_SUFFIX)
    with closing(TableFile(path, sample.rules)) as file:
        columns = [stored.column for stored in file.columns.values()]

        def chunks(column: Column, begin: int, end: int) -> Iterator[Encoded]:
            stored = file.columns[column.name]
            for number in range(begin, end):
                at, size = stored.offsets[number], stored.sizes[number]
                digest = stored.digests[32 * number : 32 * number + 32]
                yield Encoded(sample.data[at : at + size], digest)

        def as_it_is(column: Column, _: int) -> int:
            return file.columns[column.name].chunk_bytes

        with patch.object(writer, "chunk_bytes", as_it_is):
            write_folder(folder, file.info, columns, chunks, part_bytes=_PART_BYTES)
    files = {found.name: found.read_bytes() for found in sorted(folder.iterdir())}
    shutil.rmtree(folder)
    return files


def _put(own: Path, files: dict[str, bytes]) -> Path:
    folder = own / f"case{PARTS_SUFFIX}"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for name, data in files.items():
        (folder / name).write_bytes(data)
    return folder


def _hit(files: dict[str, bytes], dice: random.Random) -> dict[str, bytes]:
    """One accident to one file, or to two."""
    damaged, (one, other) = dict(files), dice.sample(sorted(files), 2)
    kind = dice.randrange(5)
    if kind == 0:
        damaged[one], damaged[other] = files[other], files[one]
    elif kind == 1:
        damaged[one] = files[other]
    elif kind == 2:
        del damaged[one]
    elif kind == 3:
        damaged[one] = files[one][: dice.randrange(len(files[one]))]
    else:
        places = range(len(files[one]))
        damaged[one] = mutated(files[one], [files[other]], places, dice.randrange(1 << 40))
    return damaged


def _forged(files: dict[str, bytes], dice: random.Random) -> dict[str, bytes]:
    """One value of the manifest is another, gone, or has company."""
    fields = json.loads(files[MANIFEST])
    del fields["sha256"]
    inside: Any = fields
    while True:
        keys = list(range(len(inside)) if isinstance(inside, list) else inside)
        key = dice.choice(keys)
        if not isinstance(inside[key], dict | list) or not inside[key] or not dice.randrange(4):
            break
        inside = inside[key]
    kind, odd = dice.randrange(4), dice.choice(_ODD)
    if kind == 0:
        del inside[key]
    elif kind == 1 and isinstance(inside, dict):
        inside[dice.choice(("", "x", "X", "sha256", "y" * 100, "\ud800", "digest"))] = odd
    else:
        inside[key] = odd
    return {**files, MANIFEST: sealed(canonical(fields))}
