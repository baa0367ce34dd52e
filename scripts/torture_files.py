"""Table files with every kind of damage: a right answer, or a refusal that says what is wrong."""

from __future__ import annotations

import bisect
import random
import shutil
import tempfile
from functools import partial
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from unittest.mock import patch

import numpy as np
from torture_children import Ending, Limits, run_cases
from torture_files_damage import (
    blocks,
    cut,
    cut_and_said,
    flipped,
    interesting,
    mutated,
    odd_frames,
    with_chunk,
    with_length,
)
from torture_files_folders import folder_cases
from torture_files_forgery import attribute_case, attribute_count, value_case
from torture_files_structures import structure_case, structures, whole_files
from torture_files_tables import RIGHT, Judge, Sample, difference, refusal, samples, stored_chunks

import lookup
from lookup import records
from lookup.errors import TableFileError
from lookup.progress import Progress
from lookup.reader import TableFile

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from torture_tally import Tally

MUTATIONS = 100_000
_EACH = 16  # bytes between two places where files are cut
_IN_PARTS = ("mask", "retrograde, unknown game")  # samples that are made folders of parts, too
_SPARSE = (1 << 31, 1 << 40)  # lengths of files with nothing in most of them


class Group(NamedTuple):
    """Cases of one kind, of one table: `run(number, folder)` runs one of them."""

    kind: str
    sample: Sample
    cases: int
    run: Callable[[int, Path], Ending]


def campaign(tally: Tally) -> None:
    """Build the tables, damage and forge them in all ways, and count how opening them ends."""
    shared = Path("/dev/shm")
    folder = Path(tempfile.mkdtemp(prefix="torture-", dir=shared if shared.is_dir() else None))
    try:
        groups = all_groups(samples(folder), folder, tally.seed)
        run_groups(groups, tally, folder)
    finally:
        shutil.rmtree(folder)


def run_groups(
    groups: Sequence[Group], tally: Tally, folder: Path, limits: Limits | None = None
) -> None:
    """Run a share of each group, spread over it, in children; and tell the tally."""
    bounds = limits or Limits()
    tally.figures["MiB that a case may add to the memory in use"] = bounds.resident >> 20
    tally.figures["seconds that a case may take"] = bounds.seconds
    shares = [min(group.cases, tally.share(group.cases)) for group in groups]
    ends = list(accumulate(shares))

    def case(number: int) -> tuple[Group, int]:
        at = bisect.bisect_right(ends, number)
        group, share = groups[at], shares[at]
        return group, (2 * (number - ends[at] + share) + 1) * group.cases // (2 * share)

    def work(number: int, own: Path) -> Ending:
        group, one = case(number)
        return group.run(one, own)

    with Progress.on_terminal().stage("files", "cases") as report:
        endings = run_cases(ends[-1], work, folder, report, bounds)
    for number, ending in sorted(endings.items()):
        group, one = case(number)
        if ending.problem:
            tally.fail(group.kind, ending.name, f"{group.sample.kind} {one}: {ending.problem}")
        else:
            tally.add(group.kind, ending.name)


def all_groups(tables: Sequence[Sample], folder: Path, seed: int) -> list[Group]:
    """The whole campaign."""
    found: list[Group] = []
    for sample in tables:
        found += _accidents(sample, tables, folder, seed)
        found += _forgeries(sample, tables, folder)
        if sample.kind in _IN_PARTS:
            cases = folder_cases(sample, _file(folder, sample.data), seed)
            found += [Group(kind, sample, count, run) for kind, count, run in cases]
    return found


def _file(folder: Path, data: bytes) -> Path:
    path = folder / "case.h5"
    path.write_bytes(data)
    return path


# --- accidents ---------------------------------------------------------------------------------------


def _accidents(sample: Sample, tables: Sequence[Sample], folder: Path, seed: int) -> list[Group]:
    judge, data = Judge(sample, tables), sample.data
    chunks = list(stored_chunks(_file(folder, data), sample.rules))
    others = [table.data for table in tables if table is not sample]
    places = interesting(data, chunks)
    first = random.Random(f"{seed} {sample.kind}").randrange(1 << 40)

    def damaged(kind: str, count: int, damage: Callable[[int], bytes]) -> Group:
        return Group(kind, sample, count, lambda one, own: judge.ending(_file(own, damage(one))))

    def exchanged(one: int) -> bytes:
        mine, other = chunks[one % len(chunks)], all_chunks[one // len(chunks)]
        return with_chunk(data, mine, other)

    sources = [(table.data, table.rules) for table in tables]
    all_chunks = [
        raw[at : at + size]
        for raw, rules in sources
        for _, _, at, size in stored_chunks(_file(folder, raw), rules)
    ]
    return [
        damaged("a byte with one bit flipped", len(data), partial(flipped, data)),
        damaged("cut off", len(data) // _EACH, lambda one: cut(data, _EACH * one)),
        damaged(
            "cut off, and its length made to fit",
            len(data) // _EACH,
            lambda one: cut_and_said(data, _EACH * one + 1),
        ),
        damaged("blocks exchanged, doubled, lost", 2000, lambda one: blocks(data, first + one)),
        damaged("chunks exchanged, with other tables too", len(chunks) * len(all_chunks), exchanged),
        damaged(
            "random mutations",
            -(-MUTATIONS // len(tables)),
            lambda one: mutated(data, others, places, first + one),
        ),
        Group("changed while it is open", sample, 500, partial(_changed_while_open, sample, first)),
    ]


def _changed_while_open(sample: Sample, first: int, one: int, folder: Path) -> Ending:
    """A file that is cut off, or written over, between two answers; read chunk by chunk."""
    dice = random.Random(first + one)
    path = _file(folder, sample.data)
    try:
        with (
            patch.object(records, "DECODED_LIMIT", 0),
            lookup.open_table(
                path, game=sample.rules, cache_bytes=dice.choice((0, 64, 1 << 20))
            ) as table,
        ):
            if dice.randrange(2):
                table.probe_many(np.arange(dice.randrange(sample.info.size)))
            with path.open("r+b") as file:
                at = dice.randrange(len(sample.data))
                if dice.randrange(2):
                    file.truncate(at)
                else:
                    file.seek(at)
                    file.write(dice.choice((bytes, dice.randbytes))(dice.choice((1, 16, 512))))
            wrong = difference(table, sample)
    except TableFileError as error:
        return refusal(error, path, allowed=True)
    except Exception as error:  # noqa: BLE001 - just what is looked for
        return Ending("exception", f"{type(error).__name__}: {error}")
    return Ending("wrong", wrong) if wrong else Ending(RIGHT)


# --- forgeries ---------------------------------------------------------------------------------------


def _forgeries(sample: Sample, tables: Sequence[Sample], folder: Path) -> list[Group]:
    judge, data = Judge(sample, forged=True), sample.data

    def attributes(one: int, own: Path) -> Ending:
        return judge.ending(_file(own, attribute_case(sample, one)))

    def structure(one: int, own: Path) -> Ending:
        forged = structure_case(sample, one, own)
        return Ending("HDF5 makes no such file") if forged is None else judge.ending(_file(own, forged))

    def values(one: int, own: Path) -> Ending:
        return judge.ending(value_case(sample, one, own))

    path = _file(folder, data)
    chunks = list(stored_chunks(path, sample.rules))
    file = TableFile(path, sample.rules)
    frames = [
        (chunk, stored)
        for chunk in chunks[:: max(1, len(chunks) // 3)]
        for stored in odd_frames(file.read_chunk(chunk[0], chunk[1]))
    ]
    file.close()
    forms = folder / f"forms-{tables.index(sample)}"
    forms.mkdir()
    copies = [path for _, path in whole_files(sample, forms)]
    numbers = list(range(0, len(data) - 8, 32))

    def sparse(one: int, own: Path) -> Ending:
        """A number in the file is as large as the file, most of which is not there."""
        at, length = numbers[one // 2], _SPARSE[one % 2]
        there = data[:at] + (length // 2).to_bytes(8, "little") + data[at + 8 :]
        case = _file(own, with_length(there, length))
        with case.open("r+b") as large:
            large.truncate(length)
        ending = judge.ending(case)
        case.unlink()
        return ending

    slow = sample.kind == "retrograde"  # to verify it takes a second
    return [
        Group("attributes altered, digest made to match", sample, attribute_count(sample), attributes),
        Group("structures of HDF5 that tables do not have", sample, len(structures("")), structure),
        Group("other forms of HDF5", sample, len(copies), lambda one, _: judge.ending(copies[one])),
        Group("values altered, digests made to match", sample, 20 if slow else 500, values),
        Group(
            "frames of Zstandard that tables do not have",
            sample,
            len(frames),
            lambda one, own: judge.ending(_file(own, with_chunk(data, *frames[one]))),
        ),
        Group("numbers as large as a file with holes", sample, 2 * len(numbers), sparse),
    ]
