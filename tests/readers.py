"""What every reader in scripts/readers is asked, and what it must answer: what `lookup` says."""

from __future__ import annotations

import csv
import random
from functools import cache
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import h5py

import lookup
from builder.catalogue import CATALOGUE
from lookup.blocks import encode
from tests.conftest import GOLDEN, ROOT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

READERS = ROOT / "scripts/readers"
DEFAULT = [game.table_name for game in CATALOGUE]
TABLES = [
    *DEFAULT,
    "tactics-2x2",  # remoteness in 2 bits
    "clock-5-9",  # remoteness in 32 bits, and two chunks of it
    "clock-2-11",  # digits with commas
    "sticks-run-1-2-to20",  # no period: longer rows have no value
]
POSITIONS = 1000
MUTANTS = 100
ALPHABET = "./|,xoXWL 012a"
STICKS = ("sticks-any", "sticks-run", "sticks-special")
LONGEST = {"sticks-any": 400, "sticks-run": 300, "sticks-special": 60}


Answer: TypeAlias = list[str | int | None] | None
"""Outcome, remoteness and Grundy value; None if a text is no position."""


class Case(NamedTuple):
    """What a table is asked, and answers: as numbers, and as lines of output and error output."""

    texts: list[str]
    answers: list[Answer]
    output: str
    errors: str


def path_of(name: str, built: Callable[[str], Path]) -> Path:
    """A table of the repository, or one that is built for this."""
    return ROOT / f"tables/{name}.h5" if name in DEFAULT else built(name)


@cache
def case(path: Path) -> Case:
    """The same each time: positions of golden files and of a sample, and texts that are like them."""
    with lookup.open_table(path) as table:
        chance = random.Random(table.name)
        texts = [*golden(table.name), *sample(table, chance)]
        # Most of these are no positions; some are.
        texts += ["", " ", *(mutated(chance.choice(texts)[:100], chance) for _ in range(MUTANTS))]
        answers = [_answer(table.get(text)) for text in texts]
        expected = f"a position of {table.name}: {table.info.notation}"
    output = errors = ""
    for text, answer in zip(texts, answers, strict=True):
        if answer:
            output += "\t".join([text, *("-" if part is None else str(part) for part in answer)]) + "\n"
        else:
            errors += f"error: '{text}' is not {expected}\n"
    return Case(texts, answers, output, errors)


def _answer(value: lookup.Value | None) -> Answer:
    return [str(value.outcome), value.remoteness, value.grundy] if value else None


def golden(name: str) -> Iterator[str]:
    for path in GOLDEN.glob("*.csv"):
        with path.open(newline="") as file:
            yield from (row["position"] for row in csv.DictReader(file) if row["table"] == name)


def sample(table: lookup.Table, chance: random.Random) -> Iterator[str]:
    """A thousand positions, or all; the first two hundred among them, which are the short ones."""
    game = table.game
    there: Sequence[int]
    if game.name in STICKS:
        yield from (row(game.name, chance) for _ in range(POSITIONS))
        return
    there = range(game.size)
    if game.name == "rota":  # the only one with holes
        there = [index for index in there if game.is_position(index)]
    for index in sorted({*there[:200], *chance.sample(there, min(POSITIONS, len(there)))}):
        text = game.format(index)
        if game.name == "rota" and text.count(".") == 3 and chance.random() < 0.5:
            text = text.translate(str.maketrans("xo", "ox"))  # the same position with o to move
        yield text


def row(game: str, chance: random.Random) -> str:
    """A row of sticks, with few gaps or many; now and then one that is longer than the table."""
    longest = 5000 if game == "sticks-run" and chance.random() < 0.02 else LONGEST[game]
    density = chance.choice([0.2, 0.5, 0.8, 0.95, 1])
    return "".join("|" if chance.random() < density else "." for _ in range(chance.randint(1, longest)))


def mutated(text: str, chance: random.Random) -> str:
    """The text with a character more, less, or changed."""
    at = chance.randrange(len(text) + 1)
    return "".join([text[:at], chance.choice(["", *ALPHABET]), text[at + chance.randint(0, 1) :]])


# --- damage --------------------------------------------------------------------------------------


def flip_a_bit(path: Path) -> None:
    """In the middle of the stored chunk of remoteness."""
    with h5py.File(path, "r") as file:
        chunk = file["remoteness"].id.get_chunk_info(0)
    content = bytearray(path.read_bytes())
    content[chunk.byte_offset + chunk.size // 2] ^= 1
    path.write_bytes(content)


def store_other_values(path: Path) -> None:
    """A chunk of other outcomes, in perfect order but for the digest."""
    with h5py.File(path, "r+") as file:
        dataset = file["outcome"]
        chunk = bytes(dataset.chunks[0] * dataset.dtype.itemsize)
        dataset.id.write_direct_chunk((0,), encode(chunk, 1))


def change_an_attribute(path: Path) -> None:
    """The rules say the opposite."""
    content = path.read_bytes()
    assert content.count(b"loses") == 1
    path.write_bytes(content.replace(b"loses", b"wins."))


DAMAGES = (flip_a_bit, store_other_values, change_an_attribute)
