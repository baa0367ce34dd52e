"""A table read by somebody who has tables/FORMAT.md and nothing else: no HDF5 library, no code of ours.

Each function follows a section of the document. `zstandard` and `hashlib` are all that is borrowed.
"""

from __future__ import annotations

import hashlib
import json
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import zstandard

from tests.stranger_hdf5 import Dataset, read_dataset, read_group, root

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

WIDTHS = (1, 2, 4, 8, 16, 32)
CODES = {0: "not a position", 1: "loss", 2: "draw", 3: "win"}


class Item(NamedTuple):
    """One item of a column, and where it was found."""

    chunk: int
    byte: int
    bit: int
    value: int


class Value(NamedTuple):
    outcome: str
    remoteness: int | None
    grundy: int | None


class Table:
    """One file: structure, integrity, columns, values. A part of a table is built as a table is."""

    def __init__(self, path: Path) -> None:
        self.data = path.read_bytes()
        self.attributes, members = read_group(self.data, root(self.data))
        self.columns: dict[str, Dataset] = {}
        digests = read_group(self.data, members.pop("sha256"))
        assert digests.attributes == {}
        assert set(digests.members) == set(members)
        self.digests: dict[str, bytes] = {}
        for name, header in members.items():
            self.columns[name] = read_dataset(self.data, header)
            stored = read_dataset(self.data, digests.members[name])
            assert stored.shape == (len(self.columns[name].places), 32)
            assert (stored.attributes, stored.element, stored.filters) == ({}, 1, [])
            self.digests[name] = stored.raw
        self._decoded: dict[tuple[str, int], bytes] = {}
        self.parameters: dict[str, Any] = json.loads(str(self.attributes.get("parameters", "{}")))

    def number(self, name: str) -> int:
        value = self.attributes[name]
        assert isinstance(value, int)
        return value

    # --- columns ----------------------------------------------------------------------------------

    def chunk(self, name: str, number: int) -> bytes:
        """The decoded bytes of a chunk, checked in the order of the document."""
        if (name, number) in self._decoded:
            return self._decoded[name, number]
        column = self.columns[name]
        assert column.filters == [32015, 3]
        address, size = column.places[number]
        stored = self.data[address : address + size]
        frame, checksum = stored[:-4], int.from_bytes(stored[-4:], "little")
        assert fletcher32(frame) == checksum
        decoded = column.chunk * column.element
        assert zstandard.frame_content_size(frame) == decoded
        parameters = zstandard.get_frame_parameters(frame)
        assert parameters.has_checksum
        assert parameters.dict_id == 0
        chunk = zstandard.ZstdDecompressor().decompress(frame, max_output_size=decoded)
        assert hashlib.sha256(chunk).digest() == self.digests[name][32 * number : 32 * number + 32]
        self._decoded[name, number] = chunk
        return chunk

    def item(self, name: str, at: int) -> Item:
        """Item number `at` of a column."""
        column = self.columns[name]
        bits, items = column.attributes["bits"], column.attributes["items"]
        assert isinstance(bits, int)
        assert isinstance(items, int)
        assert 0 <= at < items
        number, place = divmod(at * bits, 8 * column.chunk * column.element)
        byte, bit = divmod(place, 8)
        return Item(number, byte, bit, item_in(self.chunk(name, number), place, bits))

    # --- values -----------------------------------------------------------------------------------

    def record(self, index: int) -> int:
        return self.item("classes", index).value if "classes" in self.columns else index

    def fold(self, index: int) -> tuple[int, int, int]:
        """The index inside that stands for one beyond the table, the periods between, their plies."""
        if index < self.number("size"):
            return index, 0, 0
        period = json.loads(str(self.attributes["period"]))
        periods, rest = divmod(index - period["preperiod"], period["period"])
        return period["preperiod"] + rest, periods, periods * period["plies"]

    def value(self, index: int) -> Value:
        inside, _, plies = self.fold(index)
        record = self.record(inside)
        code = self.item("outcome", record).value
        if self.columns["outcome"].attributes["bits"] == 1:
            code = 2 * code + 1
        remoteness = grundy = None
        if "remoteness" in self.columns and code in (1, 3):
            remoteness = self.item("remoteness", record).value + plies
        if "grundy" in self.columns and code:
            grundy = self.item("grundy", record).value
        return Value(CODES[code], remoteness, grundy)

    def value_of(self, text: str) -> Value:
        """The value of a position: of its only index, or of a sum."""
        indices = indices_of(str(self.attributes["game"]), self.parameters, text)
        if len(indices) == 1:
            return self.value(indices[0])
        grundy = 0
        for index in indices:
            of_one = self.value(index).grundy
            assert of_one is not None
            grundy ^= of_one
        return Value("win" if grundy else "loss", None, grundy)

    # --- integrity --------------------------------------------------------------------------------

    def metadata(self) -> bytes:
        """The canonical metadata."""
        table = {name: value for name, value in self.attributes.items() if name != "digest"}
        columns = {name: column.attributes for name, column in self.columns.items()}
        return written({"columns": columns, "table": table}).encode("ascii")

    def digest(self) -> str:
        digest = hashlib.sha256(self.metadata())
        for name in sorted(self.columns):
            for number in range(len(self.columns[name].places)):
                digest.update(hashlib.sha256(self.chunk(name, number)).digest())
        return digest.hexdigest()


class Folder:
    """A table in parts: its manifest, and all its parts."""

    def __init__(self, path: Path) -> None:
        text = (path / "manifest.json").read_bytes()
        before, found, tail = text.rpartition(b',"sha256":"')
        assert found
        assert tail == hashlib.sha256(before).hexdigest().encode() + b'"}\n'
        self.manifest: dict[str, Any] = json.loads(text)
        assert self.manifest["format"] == "endtable-parts"
        assert self.manifest["format_version"] == 1
        self.parts = {
            name: [self._part(path, name, at) for at in range(len(column["parts"]))]
            for name, column in self.manifest["columns"].items()
        }

    def _part(self, path: Path, name: str, at: int) -> Table:
        said = self.manifest["columns"][name]["parts"][at]
        assert said["file"] == f"{name}-{at:06}.h5"
        part = Table(path / said["file"])
        assert part.digest() == part.attributes["digest"] == said["digest"]
        assert len(part.data) == said["bytes"]
        assert part.columns[name].shape == (said["elements"],)
        assert part.columns[name].chunk * part.columns[name].element == self.chunk_bytes(name)
        assert part.attributes["format"] == "endtable-part"
        assert part.attributes["format_version"] == 1
        assert part.attributes["name"] == self.manifest["table"]["name"]
        assert part.attributes["column"] == name
        before = self.manifest["columns"][name]["parts"][:at]
        assert part.attributes["first"] == sum(one["elements"] for one in before)
        return part

    def chunk_bytes(self, name: str) -> int:
        return int(self.manifest["columns"][name]["chunk_bytes"])

    def part_of(self, name: str, chunk: int) -> tuple[int, int]:
        """The part that has a chunk, and its number there."""
        parts = self.parts[name]
        share = len(parts[0].columns[name].places)
        part = min(chunk // share, len(parts) - 1)
        return part, chunk - part * share

    def item(self, name: str, at: int) -> Item:
        """Item number `at` of a column."""
        bits = self.manifest["columns"][name]["attributes"]["bits"]
        number, place = divmod(at * bits, 8 * self.chunk_bytes(name))
        part, inside = self.part_of(name, number)
        chunk = self.parts[name][part].chunk(name, inside)
        return Item(number, place // 8, place % 8, item_in(chunk, place, bits))

    def digest(self) -> str:
        """The digest of the table in one file."""
        columns = {name: one["attributes"] for name, one in self.manifest["columns"].items()}
        metadata = written({"columns": columns, "table": self.manifest["table"]})
        digest = hashlib.sha256(metadata.encode("ascii"))
        for name in sorted(columns):
            for part in self.parts[name]:
                digest.update(part.digests[name])
        return digest.hexdigest()


def item_in(chunk: bytes, place: int, bits: int) -> int:
    """The item that begins with bit number `place` of a decoded chunk."""
    byte, bit = divmod(place, 8)
    return int.from_bytes(chunk[byte : byte + max(1, bits // 8)], "little") >> bit & (1 << bits) - 1


def fletcher32(frame: bytes) -> int:
    low = high = 0
    for at in range(0, len(frame), 2):
        low += 256 * frame[at] + (frame[at + 1] if at + 1 < len(frame) else 0)
        high += low
    return folded(high) << 16 | folded(low)


def folded(total: int) -> int:
    """Modulo 65535, where only 0 itself gives 0."""
    return total and (total - 1) % 65535 + 1


def written(value: Mapping[str, Any] | int | str) -> str:
    """Canonical JSON, letter by letter."""
    if isinstance(value, int):
        return str(value)
    if isinstance(value, str):
        return f'"{"".join(map(escaped, value))}"'
    return "{" + ",".join(f"{written(key)}:{written(value[key])}" for key in sorted(value)) + "}"


def escaped(letter: str) -> str:
    short = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
    if letter in short:
        return short[letter]
    if " " <= letter <= "~":
        return letter
    units = letter.encode("utf-16-be")
    return "".join(f"\\u{units[at : at + 2].hex()}" for at in range(0, len(units), 2))


# --- the index of each game --------------------------------------------------------------------------


def indices_of(game: str, parameters: Mapping[str, Any], text: str) -> list[int]:
    """The index of a position, or those of the parts of a sum."""
    if game == "tactics":
        return [sum(1 << at for at, cell in enumerate(text.replace("/", "")) if cell == "X")]
    if game == "rota":
        cells, mover = text.replace("/", "").split(" ")
        digits = {".": 0, mover: 1, "xo".replace(mover, ""): 2}
        return [sum(digits[cell] * 3**at for at, cell in enumerate(cells))]
    if game == "sticks-any":
        return [text.count("|")]
    if game == "sticks-run":
        return segments(text) or [0]
    if game == "sticks-special":
        return [partition_rank(parameters["length"], segments(text))]
    if game == "clock":
        return [clock_index(parameters["k"], text)]
    assert game == "winners-losers"
    return [2 ** len(text) - 2 + sum(1 << at for at, letter in enumerate(text) if letter == "W")]


def segments(text: str) -> list[int]:
    return [len(segment) for segment in text.split(".") if segment]


def clock_index(k: int, text: str) -> int:
    index = 0
    for digit in text.split(",") if k >= 10 else text:
        index = index * (k + 1) + int(digit)
    return index


@cache
def partitions(total: int, most: int) -> int:
    """How many partitions of `total` there are into parts of at most `most`."""
    if total == 0:
        return 1
    if most == 0:
        return 0
    return partitions(total, most - 1) + (partitions(total - most, most) if most <= total else 0)


def partition_rank(longest: int, lengths: list[int]) -> int:
    rank, rest = 0, longest + 1
    for length in sorted(lengths, reverse=True):
        rank += partitions(rest, length)
        rest -= length + 1
    assert rest >= 0, "the row does not fit into the table"
    return rank


def partition_of_rank(longest: int, rank: int) -> list[int]:
    lengths, rest = [], longest + 1
    while rank:
        length = max(one for one in range(1, rest) if partitions(rest, one) <= rank)
        lengths.append(length)
        rank -= partitions(rest, length)
        rest -= length + 1
    return lengths


# --- the machine of the clock ------------------------------------------------------------------------


def clock_command(digits: list[int], k: int, command: str) -> list[int]:
    """The clock after a command of the player and what the machine then does."""
    assert command in ("0", "X")
    return clock_machine([*digits[1:], 0 if command == "0" else digits[0]], k)


def clock_machine(digits: list[int], k: int) -> list[int]:
    if len(digits) == 1:
        return [k] if digits[0] else [0]
    while any(digits) and digits[0] != k:
        raised = [digits[0] + 1, *digits[1:]]
        if is_largest(raised):
            digits = raised
        elif digits[0]:
            break
        digits = [*digits[1:], digits[0]]
    return digits


def is_largest(digits: list[int]) -> bool:
    word = digits[::-1]
    while word[0] == 0:
        word = [*word[1:], 0]
    return all(word >= word[at:] + word[:at] for at in range(len(word)))
