"""What the documents show is what happens: their examples are run, their outputs compared."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
import re
import shlex
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

import builder
import lookup
from tests.commands import MODULES, run, run_apart
from tests.conftest import ROOT

if TYPE_CHECKING:
    from pathlib import Path

DOCUMENTS = ["README.md", "CONTRIBUTING.md"]
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(language: str) -> list[tuple[str, int, str]]:
    """Code blocks of a language: document, line, text."""
    texts = {name: (ROOT / name).read_text("utf-8") for name in DOCUMENTS}
    return [
        (name, text[: match.start()].count("\n") + 1, match.group(2))
        for name, text in texts.items()
        for match in BLOCK.finditer(text)
        if match.group(1) == language
    ]


def files(document: str) -> list[tuple[str, str]]:
    """The blocks of a document that are files, which their first line names: `# file.py`."""
    found = (
        re.fullmatch(r"# (\w+\.py)\n(.*)", text, re.DOTALL)
        for name, _, text in blocks("python")
        if name == document
    )
    return [(match.group(1), match.group(2)) for match in found if match]


def same(shown: str, printed: str) -> bool:
    """Whether an output is as shown; '...' stands for any lines; sizes, times and hashes vary."""
    pattern = re.escape(shown.strip()).replace(re.escape("\n...\n"), r"\n(?:.*\n)*?")
    pattern = re.sub(r"\d+\\\.\d\\ s\b", r"\\d+\\.\\d s", pattern)
    pattern = re.sub(r"[\d,]+\\ bytes", r"[\\d,]+ bytes", pattern)
    pattern = re.sub(r"\b[0-9a-f]{64}\b", r"[0-9a-f]{64}", pattern)
    return re.fullmatch(pattern, printed.strip()) is not None


@pytest.mark.parametrize(
    ("name", "line", "text"), [block for block in blocks("python") if block[2].startswith(">>>")]
)
def test_python_examples(
    name: str, line: int, text: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    example = doctest.DocTestParser().get_doctest(text, {}, f"{name}:{line}", name, line)
    assert example.examples
    report: list[str] = []
    doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(example, out=report.append)
    assert not report, "".join(report)


def test_the_game_in_contributing_joins_as_it_says(tmp_path: Path) -> None:
    """In a copy of the code: its file, one line in GAMES, and it is built, probed and linted."""
    ((_, _, text),) = [block for block in blocks("python") if "class Dominoes" in block[2]]
    for package in ("lookup", "builder"):
        shutil.copytree(ROOT / package, tmp_path / package)
    module = tmp_path / "lookup/games/dominoes.py"
    module.write_text(text, "utf-8")
    registry = tmp_path / "lookup/games/__init__.py"
    known = registry.read_text("utf-8")
    line = "    Rota.name: Rota,\n"
    assert line in known
    known = known.replace(line, f"{line}    Dominoes.name: Dominoes,\n")
    known = known.replace(
        "from lookup.games.rota", "from lookup.games.dominoes import Dominoes\nfrom lookup.games.rota"
    )
    registry.write_text(known, "utf-8")
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    for command in (["check"], ["format", "--check"]):
        subprocess.run([sys.executable, "-m", "ruff", *command, str(module)], check=True, cwd=tmp_path)
    words = ["build-tables", "dominoes", "--length", "9"]
    path = str(tmp_path)
    assert run_apart(*words, cwd=tmp_path, PYTHONPATH=path).code == 0
    answer = run_apart("lookup", "probe", "dominoes-9", ".........", cwd=tmp_path, PYTHONPATH=path)
    assert answer.out.splitlines()[1].startswith("to move: loss in ")  # as OEIS A002187 has it


@pytest.mark.parametrize(("name", "line", "text"), blocks("console"))
def test_console_examples(name: str, line: int, text: str, tmp_path: Path) -> None:
    for file, source in files(name):
        (tmp_path / file).write_text(source, "utf-8")
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        command, _, shown = part.partition("\n")
        words = shlex.split(command, comments=True)
        if words[0] not in MODULES:
            continue  # scripts/... are run by CI itself, from a fresh clone
        result = run(*words, cwd=tmp_path, PYTHONIOENCODING="utf-8")
        failed = shown.startswith("error:")
        assert result.code == (2 if failed else 0), result.error
        if shown.strip():
            printed = result.error if failed else result.out
            assert same(shown, printed), f"{name}:{line}: {command}\n{printed}"


def test_there_are_examples_to_run() -> None:
    assert len(blocks("python")) >= 2
    assert len(blocks("console")) >= 2


def test_readme_names_every_script() -> None:
    text = (ROOT / "README.md").read_text("utf-8")
    for script in ("build-tables", "test", "check", "bench"):
        assert f"scripts/{script}" in text


@pytest.mark.parametrize(
    "module",
    [
        found.name
        for package in (lookup, builder)
        for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
    ]
    + ["lookup"],
)
def test_docstrings(module: str) -> None:
    assert doctest.testmod(importlib.import_module(module)).failed == 0


def test_changelog_knows_this_version() -> None:
    assert f"## {lookup.__version__}" in (ROOT / "CHANGELOG.md").read_text("utf-8")
