"""Tables as folders of parts, made from tables of one file; and manifests that somebody has forged."""

from __future__ import annotations

import hashlib
import json
from contextlib import closing
from typing import TYPE_CHECKING, Any

from builder.folder import write_folder
from builder.parts import Encoded
from lookup.format import canonical
from lookup.reader import TableFile

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from lookup.format import Column


class StoredChunks:
    """The chunks of a table file as they are stored; remembers which were asked for."""

    def __init__(self, file: TableFile) -> None:
        self._file = file
        self.asked: list[tuple[str, int]] = []

    def __call__(self, column: Column, first: int, end: int) -> Iterator[Encoded]:
        placed = self._file.columns[column.name]
        with self._file.path.open("rb") as content:
            for number in range(first, end):
                self.asked.append((column.name, number))
                content.seek(placed.offsets[number])
                stored = content.read(placed.sizes[number])
                yield Encoded(stored, placed.digests[32 * number : 32 * number + 32])

    def digests(self, column: Column, first: int, end: int) -> bytes:
        """Those of some chunks, without the chunks."""
        return self._file.columns[column.name].digests[32 * first : 32 * end]

    @property
    def columns(self) -> list[Column]:
        return [placed.column for placed in self._file.columns.values()]


def as_folder(source: Path, place: Path, part_bytes: int = 1) -> Path:
    """A table of one file as a folder of parts in some place; of one chunk each, unless told."""
    with closing(TableFile(source)) as file:
        folder, chunks = place / f"{file.info.name}.parts", StoredChunks(file)
        digest = write_folder(folder, file.info, chunks.columns, chunks, part_bytes=part_bytes)
        assert digest == file.digest
    return folder


def signed(fields: dict[str, Any]) -> bytes:
    """A manifest with these fields whose own SHA-256 is right."""
    before = canonical({name: value for name, value in fields.items() if name != "sha256"})[:-1]
    return before + b',"sha256":"' + hashlib.sha256(before).hexdigest().encode() + b'"}\n'


def forge(folder: Path, change: Callable[[dict[str, Any]], object]) -> None:
    """Change the manifest of a folder, and its SHA-256 with it."""
    path = folder / "manifest.json"
    fields = json.loads(path.read_bytes())
    change(fields)
    path.write_bytes(signed(fields))
