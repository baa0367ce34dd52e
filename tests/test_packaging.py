"""A wheel that carries the tables, installed away from the repository."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from typing import TYPE_CHECKING

import pytest

from builder.catalogue import CATALOGUE
from tests.conftest import ROOT

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    subprocess.run([*pip, "--wheel-dir", folder, ROOT], check=True)
    (path,) = folder.glob("endtable-*.whl")
    return path


def test_the_wheel_holds_both_packages_and_the_default_tables(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    tables = {name for name in names if name.endswith(".h5")}
    assert tables == {f"lookup/tables/{game.table_name}.h5" for game in CATALOGUE}
    assert {"lookup/__init__.py", "lookup/py.typed", "builder/cli.py", "builder/py.typed"} <= names
    assert "lookup/tables/FORMAT.md" in names
    static = {path.name for path in (ROOT / "lookup/service/static").iterdir()}
    assert {f"lookup/service/static/{name}" for name in static} <= names
    tops = {name.split("/")[0] for name in names}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"lookup", "builder"}


def test_it_answers_with_no_repository_around(wheel: Path, tmp_path: Path) -> None:
    site = tmp_path / "site"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)
    code = (
        "import lookup\n"
        "with lookup.open_tablebase() as tables:\n"
        "    print(lookup.__file__, sorted(tables), tables['rota'].probe('.../.../... x'), sep='\\n')"
    )
    # -P and the empty folder keep the repository off the path; PYTHONPATH puts the wheel before it.
    done = subprocess.run(
        [sys.executable, "-P", "-c", code],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(site)},
        check=True,
    )
    where, names, value = done.stdout.splitlines()
    assert where.startswith(str(site))
    assert names == str(sorted(game.table_name for game in CATALOGUE))
    assert value == "draw"


def test_the_base_install_needs_only_what_was_agreed(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        metadata = next(name for name in archive.namelist() if name.endswith("METADATA"))
        lines = archive.read(metadata).decode().splitlines()
    needs = [
        line.split(":")[1].split(">")[0].strip() for line in lines if line.startswith("Requires-Dist")
    ]
    base = [
        need
        for need, line in zip(
            needs, (line for line in lines if line.startswith("Requires-Dist")), strict=True
        )
        if "extra ==" not in line
    ]
    assert sorted(base) == ["h5py", "numpy", "typer", "zstandard"]
    extras = {line.split()[1] for line in lines if line.startswith("Provides-Extra")}
    assert extras == {"fast", "serve", "dev", "bench", "all"}
