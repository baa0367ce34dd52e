"""What `python -m build` makes of the repository, and what it does with no repository around."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import venv
import zipfile
from email.parser import BytesHeaderParser
from importlib.metadata import distribution
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, NamedTuple

import pytest
from packaging.requirements import Requirement

import lookup
from builder.catalogue import CATALOGUE
from tests.conftest import ROOT
from tests.serving import listening

if TYPE_CHECKING:
    from collections.abc import Iterable
    from email.message import Message

DEFAULT_TABLES = {f"{game.table_name}.h5" for game in CATALOGUE}
CLUTTER = [
    "dist/endtable-0.0.1.tar.gz",
    "lookup/__pycache__/table.cpython-311.pyc",
    "lookup/service/static/node_modules/h5wasm/package.json",
    "scripts/readers/node_modules/h5wasm/package.json",
    "tables/.rota.h5.build/outcome-0-1.part",
    "tables/tactics-2x2.h5",
]
"""What lies around where somebody works, and is in no package."""
NAME = f"endtable-{lookup.__version__}"


class Packages(NamedTuple):
    source: Path
    files: set[str]
    """Those of the repository, without clutter."""
    sdist: Path
    wheel: Path


def build(source: Path, out: Path, *options: str) -> None:
    """With what is installed here; otherwise it would be fetched again."""
    command = [sys.executable, "-m", "build", "--no-isolation", *options, "--outdir"]
    done = subprocess.run([*command, out, source], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Packages:
    """The sdist, and the wheel that `build` makes of the unpacked sdist."""
    source = tmp_path_factory.mktemp("repository")
    for folder in ("builder", "lookup", "scripts", "tables", "tests"):
        shutil.copytree(ROOT / folder, source / folder, ignore=_local)
    for path in (*ROOT.glob("*.md"), *(ROOT / n for n in ("pyproject.toml", "LICENSE", ".gitignore"))):
        shutil.copy(path, source)
    files = {path.relative_to(source).as_posix() for path in source.rglob("*") if path.is_file()}
    for name in CLUTTER:
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        (source / name).write_bytes(b"clutter")
    out = tmp_path_factory.mktemp("packages")
    build(source, out)
    return Packages(source, files, out / f"{NAME}.tar.gz", out / f"{NAME}-py3-none-any.whl")


def _local(folder: str, names: list[str]) -> set[str]:
    """What of a folder is not in git."""
    return {
        name
        for name in names
        if name.startswith(".")
        or name in ("__pycache__", "node_modules")
        or (name.endswith(".h5") and Path(folder).name == "tables" and name not in DEFAULT_TABLES)
    }


def test_the_sdist_holds_what_the_repository_does(packages: Packages) -> None:
    with tarfile.open(packages.sdist) as archive:
        members = {member.name: member for member in archive.getmembers()}
    assert set(members) == {f"{NAME}/{name}" for name in {*packages.files, "PKG-INFO"}}
    assert members[f"{NAME}/scripts/test"].mode & 0o100, "a script that can be run"


def test_the_wheel_holds_both_packages_and_the_default_tables(packages: Packages) -> None:
    code = {name for name in packages.files if name.startswith(("builder/", "lookup/"))}
    tables = {f"lookup/{name}" for name in packages.files if name.startswith("tables/")}
    about = {"METADATA", "RECORD", "WHEEL", "entry_points.txt", "licenses/LICENSE"}
    with zipfile.ZipFile(packages.wheel) as archive:
        names = archive.namelist()
    assert sorted(names) == sorted({*code, *tables, *(f"{NAME}.dist-info/{name}" for name in about)})
    assert {PurePosixPath(name).name for name in tables if name.endswith(".h5")} == DEFAULT_TABLES
    assert {"lookup/py.typed", "builder/py.typed", "lookup/tables/SHA256SUMS"} <= set(names)


def test_the_repository_itself_gives_the_same_wheel(packages: Packages, tmp_path: Path) -> None:
    build(packages.source, tmp_path, "--wheel")
    assert (tmp_path / packages.wheel.name).read_bytes() == packages.wheel.read_bytes()


def test_an_index_would_take_both(packages: Packages) -> None:
    command = [sys.executable, "-m", "twine", "--no-color", "check", "--strict"]
    done = subprocess.run([*command, packages.sdist, packages.wheel], capture_output=True, text=True)
    assert (done.returncode, done.stdout.count("PASSED")) == (0, 2), done.stdout + done.stderr


def test_the_base_install_needs_only_what_was_agreed(packages: Packages) -> None:
    metadata = metadata_of(packages.wheel)
    base = {one.name for one in wanted(metadata.get_all("Requires-Dist", []))}
    assert base == {"h5py", "numpy", "typer", "zstandard"}
    extras = set(metadata.get_all("Provides-Extra", []))
    assert extras == {"fast", "serve", "parquet", "cluster", "dev", "bench", "all"}


def metadata_of(wheel: Path) -> Message:
    with zipfile.ZipFile(wheel) as archive:
        return BytesHeaderParser().parsebytes(archive.read(f"{NAME}.dist-info/METADATA"))


def wanted(requirements: Iterable[str], *extras: str) -> list[Requirement]:
    """The requirements that hold here, with these extras."""
    return [
        one
        for one in map(Requirement, requirements)
        if one.marker is None or any(one.marker.evaluate({"extra": extra}) for extra in ("", *extras))
    ]


class Clean(NamedTuple):
    """An environment of its own, and an empty folder to stand in."""

    environment: Path
    folder: Path

    @property
    def site(self) -> Path:
        (folder,) = self.environment.glob("lib/python*/site-packages")
        return folder

    def provide(self, required: list[Requirement]) -> None:
        """Put in what is required, and what that requires, by links to what is installed here."""
        for requirement in required:
            found = distribution(requirement.name)
            tops = {file.parts[0] for file in found.files or ()} - {"..", "__pycache__"}
            if new := [top for top in tops if not (self.site / top).exists()]:
                for top in new:
                    (self.site / top).symlink_to(str(found.locate_file(top)))
                self.provide(wanted(found.requires or (), *requirement.extras))

    def command(self, program: str, *words: str | Path) -> list[str]:
        return [str(self.environment / "bin" / program), *map(str, words)]

    @property
    def variables(self) -> dict[str, str]:
        """Those of this process that say nothing of Python or of us."""
        ours = ("PYTHON", "ENDTABLE", "VIRTUAL_ENV")
        return {name: value for name, value in os.environ.items() if not name.startswith(ours)}

    def run(self, program: str, *words: str | Path) -> str:
        """What a command says, its errors included."""
        done = subprocess.run(
            self.command(program, *words),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            cwd=self.folder,
            env=self.variables,
        )
        assert done.returncode == (1 if done.stdout.startswith("error: ") else 0), done.stdout
        return done.stdout


WHERE = """
import lookup, builder, sys
print(lookup.__file__, builder.__file__, *sys.path, sep="\\n")
with lookup.open_tablebase() as tables:
    print(*tables)
"""


def test_it_answers_with_no_repository_around(packages: Packages, tmp_path: Path) -> None:
    """Installed by pip into an environment that has nothing but what the wheel says it needs."""
    clean = Clean(tmp_path / "environment", tmp_path / "empty")
    clean.folder.mkdir()
    venv.create(clean.environment)
    requirements = metadata_of(packages.wheel).get_all("Requires-Dist", [])
    clean.provide(wanted(requirements))
    pip = [sys.executable, "-m", "pip", "--python", str(clean.environment), "install", "--no-index"]
    subprocess.run([*pip, "--quiet", packages.wheel], check=True, cwd=clean.folder)

    *places, names = clean.run("python", "-c", WHERE).splitlines()
    assert all(place.startswith(str(clean.site)) for place in places[:2]), places
    assert str(ROOT) not in places
    assert names.split() == sorted(Path(name).stem for name in DEFAULT_TABLES)
    assert "to move: win in 8\n" in clean.run("lookup", "probe", "tactics-4x4", "XXXX/..X./..X./....")
    packaged = [clean.site / "lookup" / "tables" / name for name in ("rota.h5", "clock-4-2.h5")]
    verified = clean.run("build-tables", "verify", *packaged)
    assert verified.count("positions follow from the rules") == 2, verified
    assert "tables/nim-100.h5: " in clean.run("build-tables", "game", "nim")  # by its entry point

    assert "install the extra 'serve'" in clean.run("lookup", "serve")
    clean.provide(wanted(requirements, "serve"))
    command = clean.command("lookup", "serve", "--port", "0")
    with listening(command, clean.folder, clean.variables) as server:
        static = [name for name in packages.files if name.startswith("lookup/service/static/")]
        for path in ("/", *(name.removeprefix("lookup/service") for name in static)):
            assert server.client.get(path).status_code == 200, path
        assert "nim-100" in server.client.get("/api/tables").text
