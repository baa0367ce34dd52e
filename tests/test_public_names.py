"""What others import must stay, and importing it must stay light."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import lookup
from tests.conftest import ROOT

NAMES = """
    Answers BuildError BundleError CallerError ClosedForm CorruptTableError DownloadError
    EndtableError FailureError
    FormatVersionError GAMES Game GameError HeapGame InvalidGameError InvalidMoveError
    InvalidParameterError InvalidPositionError MaskGame MissingGameError MissingTableError Move
    NotATableError Outcome RulesChangedError Step StepGame Table TableFileError Tablebase UnknownGame
    UnknownGameError Value Values VerificationError __version__ closed_form find_game load_game
    open_table open_tablebase parameter
""".split()  # noqa: SIM905 - as a list it would fill a screen

HEAVY = {
    "builder",
    "typer",
    "click",
    "rich",
    "numba",
    "h5py",
    "starlette",
    "uvicorn",
    "fastapi",
    "dask",
    "distributed",
    "fsspec",
    "tornado",
    "pyarrow",
}


def loaded_after(code: str) -> set[str]:
    """The top-level modules that a fresh interpreter has loaded after running some code."""
    report = f"{code}\nimport sys; print(*sorted({{name.split('.')[0] for name in sys.modules}}))"
    done = subprocess.run(
        [sys.executable, "-c", report], capture_output=True, text=True, cwd=ROOT, check=True
    )
    return set(done.stdout.split())


def test_the_public_names() -> None:
    assert sorted(lookup.__all__) == sorted(NAMES)
    assert all(hasattr(lookup, name) for name in NAMES)


def test_importing_lookup_loads_nothing_heavy() -> None:
    assert loaded_after("import lookup") & HEAVY == set()


def test_importing_lookup_loads_no_module_of_its_commands() -> None:
    parts = (
        "atomic", "bundle", "cli", "console", "disk", "download", "export", "fetch", "play",
        "play_loop", "progress", "response", "sources",
    )  # fmt: skip
    code = (
        f"import lookup, sys; print(*[name for name in {parts!r} if 'lookup.' + name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert (done.returncode, done.stdout) == (0, "\n")


def test_opening_a_table_loads_nothing_heavy_either() -> None:
    code = "import lookup; lookup.open_tablebase()['rota'].probe_index(0)"
    assert loaded_after(code) & HEAVY == set()


def test_games_from_outside_are_looked_for_only_when_needed() -> None:
    code = (
        "import lookup, sys; lookup.open_tablebase()['rota'].best('x.o/.x./..o x')\n"
        "assert not {'lookup.games.loading', 'lookup.games.rules_digest'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)


def test_the_lookup_command_loads_nothing_of_the_builder() -> None:
    assert "builder" not in loaded_after("import lookup.cli")


def test_the_lookup_command_loads_what_comes_by_extras_only_when_needed() -> None:
    assert loaded_after("import lookup.cli") & {"starlette", "uvicorn", "pyarrow"} == set()


def test_lookup_never_imports_builder() -> None:
    for path in (ROOT / "lookup").rglob("*.py"):
        text = path.read_text("utf-8")
        assert not re.search(r"^\s*(import|from) builder", text, re.MULTILINE), path


def test_every_error_is_drawn_in_the_hierarchy() -> None:
    drawn = Path(lookup.errors.__file__).read_text("utf-8").split('"""')[1]
    for name in NAMES:
        if name.endswith("Error"):
            assert name in drawn
