"""The readers in scripts/readers answer as `lookup` does, and notice when something is wrong."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest

from tests.conftest import ROOT
from tests.folders import as_folder, forge
from tests.readers import DAMAGES, READERS, TABLES, case, path_of
from tests.tools import NODE_MODULES, need

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.readers import Answer

PYTHON = """
import json, sys, read_table
print(json.dumps([
    list(map(read_table.Table(path).probe, texts)) for path, texts in json.load(sys.stdin)
]))
"""
NODE = """
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { openTable, readBytes } from "./read_table.mjs";
const given = [];
for (const [path, texts] of JSON.parse(readFileSync(0, "utf8"))) {
    const table = await openTable(await readBytes(pathToFileURL(path)));
    given.push(texts.map((text) => table.probe(text)).map((value) => value && Object.values(value)));
}
console.log(JSON.stringify(given));
"""
TABLE = "tactics-3x3"
DRIVERS = {"python": ["-c", PYTHON], "node": ["--input-type=module", "--eval", NODE]}
PLUGIN = "HDF5's Zstandard plugin"


class Reader(NamedTuple):
    """A program and the variables it is run with."""

    command: list[str]
    environment: dict[str, str]

    def run(self, table: Path, *texts: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*self.command, str(table)],
            input="".join(f"{text}\n" for text in texts),
            capture_output=True,
            text=True,
            env={**os.environ, **self.environment},
        )


def refusal(done: subprocess.CompletedProcess[str]) -> str:
    """The sentence with which a file was refused; h5wasm says more before it."""
    assert (done.returncode, done.stdout) == (1, ""), done
    *_, last = done.stderr.splitlines()
    assert last.startswith("error: '")
    return last


@pytest.fixture(scope="module")
def python() -> Reader:
    return Reader([sys.executable, "-W", "error", f"{READERS}/read_table.py"], {})


@pytest.fixture(scope="module")
def shell() -> Reader:
    need("hdf5-tools")
    # Not by importing it: a registered plugin changes what HDF5 writes in this process.
    found = find_spec("hdf5plugin")
    assert found
    assert found.submodule_search_locations
    (package,) = found.submodule_search_locations
    return Reader([f"{READERS}/read_table.sh"], {"HDF5_PLUGIN_PATH": f"{package}/plugins"})


@pytest.fixture(scope="module")
def node() -> Reader:
    need("nodejs", "npm", folder=NODE_MODULES)
    return Reader(["node", f"{READERS}/read_table.mjs"], {})


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Reader:
    need("libhdf5-dev", "libzstd-dev", "libssl-dev", "libjansson-dev")
    source, folder = READERS / "read_table.c", tmp_path_factory.mktemp("compiled")
    (line,) = re.findall(r"^ \*     (h5cc .*)$", source.read_text(), re.MULTILINE)
    words = line.replace("read_table.c", str(source)).split()
    subprocess.run([*words, "-Wall", "-Wextra", "-Werror"], check=True, cwd=folder)
    return Reader([f"{folder}/read_table"], {"HDF5_PLUGIN_PATH": str(folder)})  # it needs no plugin


@pytest.fixture(scope="module", params=["python", "shell", "node", "compiled"])
def reader(request: pytest.FixtureRequest) -> Reader:
    found: Reader = request.getfixturevalue(request.param)
    return found


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    return Path(shutil.copy(ROOT / f"tables/{TABLE}.h5", tmp_path))


# --- answers -------------------------------------------------------------------------------------


def asked(driver: list[str], paths: list[Path]) -> list[list[Answer]]:
    """The answers of a module to all questions, in one process: to start it takes longest."""
    questions = json.dumps([[str(path), case(path).texts] for path in paths])
    done = subprocess.run(driver, input=questions, capture_output=True, text=True, cwd=READERS)
    assert not done.stderr
    answers: list[list[Answer]] = json.loads(done.stdout)
    return answers


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("kind", ["compiled", "shell"])
def test_the_same_answers_as_lookup(
    kind: str, name: str, request: pytest.FixtureRequest, built: Callable[[str], Path]
) -> None:
    path = path_of(name, built)
    wanted = case(path)
    done = request.getfixturevalue(kind).run(path, *wanted.texts)
    assert (done.stdout, done.stderr, done.returncode) == (wanted.output, wanted.errors, 2)


@pytest.mark.parametrize("kind", DRIVERS)
def test_the_same_answers_as_lookup_from_a_module(
    kind: str, request: pytest.FixtureRequest, built: Callable[[str], Path]
) -> None:
    reader = request.getfixturevalue(kind)
    paths = [path_of(name, built) for name in TABLES]
    given = asked([*reader.command[:-1], *DRIVERS[kind]], paths)
    for path, answers in zip(paths, given, strict=True):
        assert answers == case(path).answers, path


def test_a_module_is_a_command_as_well(python: Reader, node: Reader) -> None:
    path = ROOT / "tables/rota.h5"
    wanted = case(path)
    for reader in (python, node):
        done = reader.run(path, *wanted.texts)
        assert (done.stdout, done.stderr, done.returncode) == (wanted.output, wanted.errors, 2)


@pytest.mark.usefixtures("python", "shell", "node", "compiled")  # or what they need is missing
def test_the_readme_shows_what_happens(tmp_path: Path) -> None:
    """All four readers without a mistake: exit code 0."""
    folder = tmp_path / "scripts/readers"
    shutil.copytree(READERS, folder, ignore=shutil.ignore_patterns("node_modules"))
    (folder / "node_modules").symlink_to(NODE_MODULES)
    (tmp_path / "tables").symlink_to(ROOT / "tables")
    _, _, behind = (READERS / "README.md").read_text().partition("```console\n")
    lines = behind.partition("```")[0].splitlines()
    commands = [line[2:] for line in lines if line.startswith("$ ")]
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", "\n".join(commands)],
        capture_output=True,
        text=True,
        cwd=folder,
        env={**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"},
    )
    assert (done.stderr, done.returncode) == ("", 0)
    assert done.stdout.splitlines() == [line for line in lines if not line.startswith("$ ")]


@pytest.mark.parametrize(("name", "part_bytes"), [("winners-losers-20", 1 << 19), ("rota", 1)])
def test_python_reads_a_table_in_parts(
    name: str, part_bytes: int, python: Reader, tmp_path: Path
) -> None:
    folder = as_folder(ROOT / f"tables/{name}.h5", tmp_path, part_bytes)
    asked = case(ROOT / f"tables/{name}.h5")
    for path in (folder, folder / "manifest.json"):
        done = python.run(path, *asked.texts)
        assert done.stdout == asked.output


def test_python_notices_damage_to_a_table_in_parts(python: Reader, tmp_path: Path) -> None:
    folder = as_folder(ROOT / "tables/winners-losers-20.h5", tmp_path, 1 << 19)
    first, second, *_, last = sorted(folder.glob("remoteness-*.h5"))
    last.write_bytes(b"spam")  # which nobody asks for
    assert python.run(folder, "W").stdout == "W\twin\t1\t-\n"
    content = first.read_bytes()
    first.write_bytes(second.read_bytes())
    assert "does not match its digest" in refusal(python.run(folder, "W"))
    first.unlink()
    assert str(folder) in refusal(python.run(folder, "W"))
    first.symlink_to(shutil.copy(second, tmp_path / "elsewhere"))
    (tmp_path / "elsewhere").write_bytes(content)  # the right bytes, but a link
    wrong = f"remoteness-000000.h5 is no file of {len(content)} bytes"
    assert wrong in refusal(python.run(folder, "W"))
    first.unlink()
    first.write_bytes(content + b"more")  # which no digest covers
    assert wrong in refusal(python.run(folder, "W"))
    first.write_bytes(content)
    forge(folder, lambda fields: fields["columns"]["remoteness"]["parts"].pop())
    assert "the parts of remoteness do not have its" in refusal(python.run(folder, "W"))
    manifest = folder / "manifest.json"
    manifest.write_bytes(manifest.read_bytes().replace(b'"losses":', b'"losses":1'))
    assert "does not match its own SHA-256" in refusal(python.run(folder, "W"))


def test_python_has_few_parts_open(python: Reader, tmp_path: Path) -> None:
    folder = as_folder(ROOT / "tables/winners-losers-20.h5", tmp_path, 1 << 18)
    parts = len(list(folder.glob("remoteness-*.h5")))
    code = (
        "import os, sys; sys.path.insert(0, sys.argv[1]); import read_table; "
        "column = read_table.Table(sys.argv[2]).columns['remoteness']; "
        "begin = len(os.listdir('/dev/fd')); "
        "[column.chunk(at) for at in range(column.parts)]; "
        "print(column.parts, len(os.listdir('/dev/fd')) - begin)"
    )
    words = [*python.command[:-1], "-c", code, str(READERS), str(folder)]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert parts > 5
    assert done.stdout.split() == [str(parts), "1"]


# --- trouble -------------------------------------------------------------------------------------


@pytest.mark.parametrize("damage", DAMAGES)
def test_damage_is_noticed(damage: Callable[[Path], None], reader: Reader, copied: Path) -> None:
    damage(copied)
    assert str(copied) in refusal(reader.run(copied, "XXX/.X./..."))


def test_what_is_no_table_is_refused(reader: Reader, tmp_path: Path) -> None:
    path = tmp_path / "notes.h5"
    path.write_text("no table")
    assert str(path) in refusal(reader.run(path, "XXX/.X./..."))


def test_python_names_the_plugin_that_is_missing(python: Reader, copied: Path) -> None:
    (copied.parent / "hdf5plugin.py").write_text("raise ImportError\n")
    alone = python._replace(
        environment={"PYTHONPATH": str(copied.parent), "HDF5_PLUGIN_PATH": "/nowhere"}
    )
    assert f"{PLUGIN} (filter 32015) is missing" in refusal(alone.run(copied, "XXX/.X./..."))


def test_h5dump_names_the_plugin_that_is_missing(shell: Reader, copied: Path) -> None:
    alone = shell._replace(environment={"HDF5_PLUGIN_PATH": "/nowhere"})
    assert f"{PLUGIN} is not in HDF5_PLUGIN_PATH (/nowhere)" in refusal(
        alone.run(copied, "XXX/.X./...")
    )


@pytest.mark.parametrize(
    ("content", "sentence"),
    [(None, r"is missing: ENOENT"), (b"\0asm", "did not decode it")],
)
def test_node_names_the_plugin_that_is_missing(
    content: bytes | None, sentence: str, node: Reader, copied: Path
) -> None:
    # What h5wasm cannot load it leaves out, and returns memory that nobody has written to.
    modules = copied.parent / "node_modules"
    modules.mkdir()
    (modules / "h5wasm").symlink_to(NODE_MODULES / "h5wasm")
    ignored = shutil.ignore_patterns("*.so")
    shutil.copytree(NODE_MODULES / "h5wasm-plugins", modules / "h5wasm-plugins", ignore=ignored)
    if content is not None:
        (modules / "h5wasm-plugins/plugins/libH5Zzstd.so").write_bytes(content)
    script = shutil.copy(READERS / "read_table.mjs", copied.parent)
    said = refusal(Reader(["node", str(script)], {}).run(copied, "XXX/.X./..."))
    assert f"{PLUGIN} (libH5Zzstd.so of h5wasm-plugins) {sentence}" in said
