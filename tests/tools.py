"""Programs from outside that tests need: the one place that knows, for them and scripts/environment.sh.

`python tests/tools.py` prints the Debian packages of those that are missing, a line each. It needs
nothing but Python. `ENDTABLE_TOOLS=required`, which CI sets, makes a missing one a failure; elsewhere
the tests that need it are skipped.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import NoReturn

VARIABLE = "ENDTABLE_CHROMIUM"
NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
"""The first is Chromium without its windows: it takes three quarters of the time."""

PROGRAMS = {"h5dump": "hdf5-tools", "h5cc": "libhdf5-dev", "node": "nodejs", "npm": "npm"}
HEADERS = {"zstd.h": "libzstd-dev", "openssl/evp.h": "libssl-dev", "jansson.h": "libjansson-dev"}
"""What the readers in scripts/readers are made with, and the packages that have it."""

NODE_MODULES = Path(__file__).parent.parent / "scripts/readers/node_modules"


def find_chromium() -> str | None:
    """The executable that ENDTABLE_CHROMIUM names, else the first of `NAMES` on the PATH."""
    if given := os.environ.get(VARIABLE):
        return shutil.which(given)
    return next(filter(None, map(shutil.which, NAMES)), None)


def missing_packages() -> list[str]:
    """The packages that have what is not here."""
    missing = [package for name, package in PROGRAMS.items() if not shutil.which(name)]
    missing += [package for header, package in HEADERS.items() if not _has_header(header)]
    return missing if find_chromium() else [*missing, NAMES[0]]


def need(*packages: str, folder: Path | None = None) -> None:
    """Do without a test if one of these packages, or a folder that scripts/test makes, is missing."""
    if missing := sorted({*packages} & {*missing_packages()}):
        do_without(f"something is missing: expected what is in the packages {', '.join(missing)}")
    if folder and not folder.is_dir():
        do_without(f"there is no {folder}: expected scripts/test to have made it")


def do_without(problem: str) -> NoReturn:
    """Skip a test for want of a tool; where tools are required, fail."""
    import pytest  # not needed to find packages

    if os.environ.get("ENDTABLE_TOOLS") == "required":
        pytest.fail(problem)
    pytest.skip(problem)


def _has_header(name: str) -> bool:
    compiler = shutil.which("cc")
    words = ["-E", "-include", name, "-x", "c", os.devnull, "-o", os.devnull]
    return (
        bool(compiler) and not subprocess.run([str(compiler), *words], capture_output=True).returncode
    )


if __name__ == "__main__":
    print(*missing_packages(), sep="\n", end="")
