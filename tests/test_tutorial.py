"""The tutorial from top to bottom: its files are written, its commands run, its answers compared."""

from __future__ import annotations

import contextlib
import doctest
import json
import os
import re
import shlex
import subprocess
import sys
import tomllib
import urllib.request
from typing import TYPE_CHECKING

from lookup import load_game
from lookup.games.loading import GROUP
from tests.commands import ESTIMATE, MODULES, run
from tests.conftest import ROOT
from tests.test_docs import BLOCK, same

if TYPE_CHECKING:
    from pathlib import Path

TEXT = (ROOT / "TUTORIAL.md").read_text("utf-8")
BLOCKS = [(match.group(1), match.group(2)) for match in BLOCK.finditer(TEXT)]


def test_every_block_is_what_happens(tmp_path: Path) -> None:
    """One test: what a block leaves behind, the next ones use."""
    place = tmp_path
    for language, text in BLOCKS:
        if language == "python" and text.startswith("# "):
            name, _, source = text.partition("\n")
            (place / name.removeprefix("# ")).write_text(source, "utf-8")
        elif language == "python":
            _run_python(text, place)
        elif language == "console":
            _run_commands(text, place)
        else:
            assert language in ("sh", "toml"), "a block that nothing runs"
    tables = {path.stem for path in (place / "tables").glob("*.h5")}
    assert tables == {"dominoes", "noughts", "race", "skittles-20", "turned"}
    _open_the_page(place)
    announced = tomllib.loads(block("toml"))["project"]["entry-points"]
    ours = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["entry-points"]
    assert announced.keys() == ours.keys() == {GROUP}
    (name,) = announced[GROUP]
    assert load_game(place / "noughts.py").name == name


def block(language: str) -> str:
    """The only block of a language."""
    (text,) = [text for one, text in BLOCKS if one == language]
    return text


def _run_python(text: str, place: Path) -> None:
    example = doctest.DocTestParser().get_doctest(text, {}, "TUTORIAL.md", None, 0)
    assert example.examples
    report: list[str] = []
    with contextlib.chdir(place):
        doctest.DocTestRunner().run(example, out=report.append)
    assert not report, "".join(report)


def _run_commands(text: str, place: Path) -> None:
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        command, _, shown = part.partition("\n")
        result = run(*shlex.split(command), cwd=place, PYTHONIOENCODING="utf-8")
        printed = result.out
        if shown.startswith("error:"):
            lines = result.error.splitlines(keepends=True)
            printed = "".join(line for line in lines if not ESTIMATE.fullmatch(line.strip()))
        assert (result.code != 0) == shown.startswith("error:"), result.error
        assert same(shown, printed), f"{command}\n{printed}"


def test_the_game_is_under_forty_lines() -> None:
    *_, source = [text for language, text in BLOCKS if language == "python" and "class Noughts" in text]
    assert len(source.splitlines()) - 1 == 39 < 40, "without the line that names the file"
    assert "39 lines" in TEXT


def _open_the_page(folder: Path) -> None:
    """The block with `lookup serve`, on any free port."""
    program, *words = shlex.split(block("sh"))
    command = [sys.executable, "-m", MODULES[program], *words, "--port", "0"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(
        command, cwd=folder, env=environment, stdout=subprocess.PIPE, text=True
    ) as server:
        try:
            assert server.stdout is not None
            address = re.search(r"http://[\d.:]+", server.stdout.readline())
            assert address is not None
            base = address.group().rstrip("/")
            with urllib.request.urlopen(f"{base}/", timeout=20) as answer:
                assert b"<html" in answer.read()
            question = f"{base}/api/tables/noughts/probe?position=x.o/.../..."
            with urllib.request.urlopen(question, timeout=20) as answer:
                fields = json.load(answer)
        finally:
            server.terminate()
    assert (fields["outcome"], fields["remoteness"], fields["moves"][0]["move"]) == ("win", 5, "a2")
