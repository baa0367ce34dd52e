"""Ask an Endtable file about positions, with nothing but h5py and hdf5plugin.

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
import sys
from functools import cache
from typing import Any, NamedTuple

import h5py

with contextlib.suppress(ImportError):  # `Table` says what is wrong; HDF5_PLUGIN_PATH does as well
    import hdf5plugin  # noqa: F401 - to be imported is all it takes

ZSTD = 32015
OUTCOMES = {1: "loss", 2: "draw", 3: "win"}


class Value(NamedTuple):
    """What a position is worth to the player to move; None is what the table does not store."""

    outcome: str
    remoteness: int | None
    grundy: int | None


class Column:
    """The numbers of one dataset, read and checked a chunk at a time."""

    def __init__(self, file: Any, name: str) -> None:
        self.name, self.dataset = name, file[name]
        self.attributes = attributes(self.dataset)
        self.bits = int(self.attributes["bits"])
        self.digests = file["sha256"][name][...].tobytes()
        self.step = self.dataset.chunks[0]  # elements in a chunk
        self.chunk_bytes = self.step * self.dataset.dtype.itemsize
        self.chunks: dict[int, bytes] = {}

    def item(self, number: int) -> int:
        """One number; several share a byte if they are narrow, the first in the lowest bits."""
        byte, shift = divmod(number * self.bits, 8)
        at, byte = divmod(byte, self.chunk_bytes)
        if at not in self.chunks:
            self.chunks[at] = self.chunk(at)
        element = self.chunks[at][byte : byte + max(1, self.bits // 8)]
        return int.from_bytes(element, "little") >> shift & (1 << self.bits) - 1

    def chunk(self, at: int) -> bytes:
        """The decoded bytes of one chunk, if they are those that were written."""
        elements = self.dataset[at * self.step : (at + 1) * self.step]
        # The last chunk is padded with zeros to full size, and was digested so.
        data: bytes = elements.tobytes().ljust(self.chunk_bytes, b"\0")
        if hashlib.sha256(data).digest() != self.digests[32 * at : 32 * at + 32]:
            raise ValueError(f"chunk {at} of {self.name} does not match its digest")
        return data


class Table:
    """One open file; raises ValueError and other exceptions if it is not what it should be."""

    def __init__(self, path: str) -> None:
        if not h5py.h5z.filter_avail(ZSTD):
            raise ValueError(
                "HDF5's Zstandard plugin (filter 32015) is missing: pip install hdf5plugin"
            )
        file = h5py.File(path, "r")
        self.info = attributes(file)
        if (self.info.get("format"), self.info.get("format_version")) != ("endtable", 1):
            raise ValueError("it is no table of format 1")
        self.columns = {name: Column(file, name) for name in file if name != "sha256"}
        digest = self.info.pop("digest")
        if self.digest() != digest:
            raise ValueError("its metadata does not match its digest")
        self.game, self.size = self.info["game"], int(self.info["size"])
        self.parameters = json.loads(self.info["parameters"])
        self.period = json.loads(self.info["period"] or "null")

    def digest(self) -> str:
        """The SHA-256 of the metadata, as JSON of one form, and of all digests of chunks."""
        columns = {name: column.attributes for name, column in self.columns.items()}
        metadata = {"table": self.info, "columns": columns}
        text = json.dumps(metadata, sort_keys=True, separators=(",", ":"))
        digest = hashlib.sha256(text.encode("ascii"))
        for name in sorted(columns):
            digest.update(self.columns[name].digests)
        return digest.hexdigest()

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
