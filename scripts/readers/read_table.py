"""Ask an Endtable file, or folder of parts, about positions, with nothing but h5py and hdf5plugin.

    pip install h5py hdf5plugin
    python read_table.py TABLE.h5 < positions.txt

prints a line for each position: the text, outcome, remoteness and Grundy value, separated by tabs, `-`
where there is none. tables/FORMAT.md explains everything that is done here. A text that is no position
is an error line; the others are answered, and the exit code is 2. It is 1 if the file cannot be used.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
import stat
import sys
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import h5py

if TYPE_CHECKING:
    from collections.abc import Callable

with contextlib.suppress(ImportError):  # `Table` says what is wrong; HDF5_PLUGIN_PATH does as well
    import hdf5plugin  # noqa: F401 - to be imported is all it takes

ZSTD = 32015
OUTCOMES = {1: "loss", 2: "draw", 3: "win"}


class Value(NamedTuple):
    """What a position is worth to the player to move; None is what the table does not store."""

    outcome: str
    remoteness: int | None
    grundy: int | None


class Part:
    """A stretch of a column: all of it, or what a part of a folder has."""

    def __init__(self, file: Any, name: str) -> None:
        self.file = file
        self.dataset, self.attributes = file[name], attributes(file[name])
        self.digests = file["sha256"][name][...].tobytes()


class Column:
    """The numbers of one column, read and checked a chunk at a time.

    `opened` gives a part when it is needed, and one is open at a time; each has `share` chunks, the
    last one the rest.
    """

    def __init__(
        self,
        name: str,
        said: Any,
        chunk_bytes: int,
        opened: Callable[[int], Part],
        parts: int,
        share: int,
    ) -> None:
        self.name, self.attributes, self.bits = name, said, int(said["bits"])
        self.chunk_bytes, self.share = chunk_bytes, share
        self.opened, self.parts = opened, parts
        self.held: tuple[int, Part] | None = None
        self.chunks: dict[int, bytes] = {}

    def item(self, number: int) -> int:
        """One number; several share a byte if they are narrow, the first in the lowest bits."""
        byte, shift = divmod(number * self.bits, 8)
        at, byte = divmod(byte, self.chunk_bytes)
        if at not in self.chunks:
            self.chunks[at] = self.chunk(at)
        element = self.chunks[at][byte : byte + max(1, self.bits // 8)]
        return int.from_bytes(element, "little") >> shift & (1 << self.bits) - 1

    def part(self, number: int) -> Part:
        """One part; the one before it is closed."""
        if self.held and self.held[0] != number:
            self.held[1].file.close()
            self.held = None
        self.held = self.held or (number, self.opened(number))
        return self.held[1]

    def chunk(self, at: int) -> bytes:
        """The decoded bytes of one chunk, if they are those that were written."""
        number = min(at // self.share, self.parts - 1)
        part = self.part(number)
        inside, step = at - number * self.share, part.dataset.chunks[0]
        elements = part.dataset[inside * step : (inside + 1) * step]
        # The last chunk is padded with zeros to full size, and was digested so.
        data: bytes = elements.tobytes().ljust(self.chunk_bytes, b"\0")
        if hashlib.sha256(data).digest() != part.digests[32 * inside : 32 * inside + 32]:
            raise ValueError(f"chunk {at} of {self.name} does not match its digest")
        return data


class Table:
    """One open file; raises ValueError and other exceptions if it is not what it should be."""

    def __init__(self, path: str) -> None:
        if not h5py.h5z.filter_avail(ZSTD):
            raise ValueError(
                "HDF5's Zstandard plugin (filter 32015) is missing: pip install hdf5plugin"
            )
        place = Path(path)
        if place.is_dir() or place.name == "manifest.json":
            self.open_folder(place if place.is_dir() else place.parent)
        else:
            self.open_file(place)
        self.game, self.size = self.info["game"], int(self.info["size"])
        self.parameters = json.loads(self.info["parameters"])
        self.period = json.loads(self.info["period"] or "null")

    def open_file(self, path: Path) -> None:
        """A table of one file."""
        self.info, parts = read_file(path, "endtable")
        self.columns = {}
        for name, part in parts.items():
            size, count = part.dataset.chunks[0] * part.dataset.dtype.itemsize, len(part.digests) // 32
            self.columns[name] = Column(name, part.attributes, size, [part].__getitem__, 1, count)

    def open_folder(self, folder: Path) -> None:
        """A table in parts: the manifest alone, each part when it is needed."""
        text = (folder / "manifest.json").read_bytes()
        before, _, tail = text.rpartition(b',"sha256":"')
        if tail != hashlib.sha256(before).hexdigest().encode() + b'"}\n':
            raise ValueError("its manifest does not match its own SHA-256")
        said = json.loads(text)
        if (said["format"], said["format_version"]) != ("endtable-parts", 1):
            raise ValueError("it is no table in parts of format 1")
        self.info, self.columns = said["table"], {}
        for name, column in said["columns"].items():
            bits, size, parts = column["attributes"]["bits"], column["chunk_bytes"], column["parts"]
            items = column["attributes"]["items"]
            length = -(-items * bits // 8) if bits < 8 else items
            if sum(part["elements"] for part in parts) != length:
                raise ValueError(f"the parts of {name} do not have its {length} elements")
            opened = partial(self.open_part, folder, name, parts)
            share = max(1, parts[0]["elements"] * max(1, bits // 8) // size)
            self.columns[name] = Column(name, column["attributes"], size, opened, len(parts), share)

    def open_part(self, folder: Path, name: str, said: list[dict[str, Any]], at: int) -> Part:
        """A part, if it is the one that the manifest names."""
        # Not by the name in the manifest, which may lead anywhere, as a link may.
        path = folder / f"{name}-{at:06}.h5"
        found = path.lstat()
        if not stat.S_ISREG(found.st_mode) or found.st_size != said[at]["bytes"]:
            raise ValueError(f"{path.name} is no file of {said[at]['bytes']} bytes")
        info, parts = read_file(path, "endtable-part", said[at]["digest"])
        expected = self.info["name"], name, at * said[0]["elements"], [name]
        if (info["name"], info["column"], info["first"], list(parts)) != expected:
            raise ValueError(f"part {at} of {name} is one of something else")
        if len(parts[name].dataset) != said[at]["elements"]:
            raise ValueError(f"part {at} of {name} has other elements than the manifest says")
        return parts[name]

    def probe(self, text: str) -> Value | None:
        """The value of a position, or None if the text is none."""
        indices = self.parse(text)
        values = [self.value(index) for index in indices or ()]
        if indices is None or None in values:
            return None
        if len(values) == 1:
            return values[0]
        # Segments of a row are independent games: nim-values add up by exclusive or.
        grundy = 0
        for value in values:
            assert value is not None
            grundy ^= value.grundy or 0
        return Value("win" if grundy else "loss", None, grundy)

    def value(self, index: int) -> Value | None:
        """The value at an index; None if it is beyond the table, or a hole."""
        periods = 0
        if index >= self.size:
            if not self.period:
                return None
            beyond = index - self.period["preperiod"]
            periods, rest = divmod(beyond, self.period["period"])
            index = self.period["preperiod"] + rest
        # With `classes`, a record is one symmetry class, and 0 stands for what is not a position.
        record = self.columns["classes"].item(index) if "classes" in self.columns else index
        code = self.columns["outcome"].item(record)
        if self.columns["outcome"].bits == 1:
            code = 3 if code else 1
        if code == 0:
            return None
        remoteness = grundy = None
        if "remoteness" in self.columns and code != 2:
            remoteness = self.columns["remoteness"].item(record)
            remoteness += periods * self.period["plies"] if periods else 0
        if "grundy" in self.columns:
            grundy = self.columns["grundy"].item(record)
        return Value(OUTCOMES[code], remoteness, grundy)

    def parse(self, text: str) -> list[int] | None:
        """The index of a position; several if it is a row of `sticks-run`, one for each segment."""
        match self.game:
            case "tactics":
                row = f"[.X]{{{self.parameters['cols']}}}"
                if not re.fullmatch("/".join([row] * self.parameters["rows"]), text):
                    return None
                cells = text.replace("/", "")
                return [sum(1 << at for at, cell in enumerate(cells) if cell == "X")]
            case "rota":
                return parse_rota(text)
            case "sticks-any" | "sticks-run" | "sticks-special":
                return self.parse_sticks(text)
            case "clock":
                return self.parse_clock(text)
            case "winners-losers":
                if not re.fullmatch(f"[WL]{{1,{self.parameters['length']}}}", text):
                    return None
                bits = sum(1 << at for at, letter in enumerate(text) if letter == "W")
                return [2 ** len(text) - 2 + bits]
        raise ValueError(f"this reader does not know the game {self.game!r}")

    def parse_sticks(self, text: str) -> list[int] | None:
        """A row, with gaps or without."""
        if not re.fullmatch("[|.]+", text):
            return None
        if self.game == "sticks-any":
            return [text.count("|")]
        lengths = [len(segment) for segment in text.split(".") if segment]
        if self.game == "sticks-run":
            return lengths
        # A segment of s sticks is a part s + 1 of a partition of N + 1, filled up with ones. Its
        # index is its rank among all of them in lexicographic order.
        rank, rest = 0, int(self.parameters["length"]) + 1
        for length in sorted(lengths, reverse=True):
            if length + 1 > rest:
                return None
            rank += partitions(rest, length)
            rest -= length + 1
        return [rank]

    def parse_clock(self, text: str) -> list[int] | None:
        """Digits, the most significant first; from k = 10 on with commas between them."""
        n, k = self.parameters["n"], self.parameters["k"]
        digits = text.split(",") if k >= 10 else list(text)
        if len(digits) != n or not all(re.fullmatch("0|[1-9][0-9]{0,9}", digit) for digit in digits):
            return None
        index = 0
        for digit in map(int, digits):
            if digit > k:
                return None
            index = index * (k + 1) + digit
        return [index]


def parse_rota(text: str) -> list[int] | None:
    """A board and the player to move."""
    if not re.fullmatch("[.xo]{3}/[.xo]{3}/[.xo]{3} [xo]", text):
        return None
    cells, mover = text.replace("/", "")[:9], text[-1]
    ahead = cells.count("x") - cells.count("o")
    # Until all six pieces are there their numbers say who moves. The table knows the other holes.
    if ahead != (mover == "o") and (ahead, cells.count("x")) != (0, 3):
        return None
    digits = (0 if cell == "." else 1 if cell == mover else 2 for cell in cells)
    return [sum(digit * 3**at for at, digit in enumerate(digits))]


@cache
def partitions(total: int, most: int) -> int:
    """In how many ways `total` is a sum of parts of at most `most`."""
    if total == 0 or most == 0:
        return int(total == 0)
    without = partitions(total, most - 1)
    return without + partitions(total - most, most) if most <= total else without


def read_file(
    path: Path, kind: str, expected: str | None = None
) -> tuple[dict[str, Any], dict[str, Part]]:
    """What a file says of itself, and its columns, if all of it is what its digest names."""
    file = h5py.File(path, "r")
    info = attributes(file)
    if (info.get("format"), info.get("format_version")) != (kind, 1):
        raise ValueError(f"it is no {kind} of format 1")
    parts = {name: Part(file, name) for name in file if name != "sha256"}
    digest = info.pop("digest")
    if digest_of(info, parts) != digest or expected not in (None, digest):
        raise ValueError("its metadata does not match its digest")
    return info, parts


def digest_of(info: dict[str, Any], parts: dict[str, Part]) -> str:
    """The SHA-256 of the metadata, as JSON of one form, and of all digests of chunks."""
    metadata = {"table": info, "columns": {name: part.attributes for name, part in parts.items()}}
    text = json.dumps(metadata, sort_keys=True, separators=(",", ":"))
    digest = hashlib.sha256(text.encode("ascii"))
    for name in sorted(parts):
        digest.update(parts[name].digests)
    return digest.hexdigest()


def attributes(item: Any) -> dict[str, Any]:
    """Attributes are fixed-length strings and integers."""
    return {
        name: value.decode() if isinstance(value, bytes) else int(value)
        for name, value in item.attrs.items()
    }


def main() -> int:
    if len(sys.argv) != 2:
        print("usage: read_table.py TABLE.h5 < positions.txt", file=sys.stderr)
        return 2
    code = 0
    try:
        table = Table(sys.argv[1])
        for line in sys.stdin.buffer:
            text = line.decode(errors="replace").removesuffix("\n")
            if value := table.probe(text):
                print(text, *("-" if part is None else part for part in value), sep="\t")
            else:
                expected = f"a position of {table.info['name']}: {table.info['notation']}"
                print(f"error: '{text}' is not {expected}", file=sys.stderr)
                code = 2
    except (OSError, ValueError, LookupError, TypeError, RuntimeError) as error:  # as h5py has them
        print(f"error: '{sys.argv[1]}' cannot be used: {error}", file=sys.stderr)
        return 1
    return code


if __name__ == "__main__":
    sys.exit(main())
