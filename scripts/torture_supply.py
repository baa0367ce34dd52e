"""The campaign about what we need: tests with the oldest versions that we allow, and advisories.

Our own requirements (base and extras, not the tools of development) are taken at their lower bounds, in
a copy of the repository with an environment of its own; theirs are as new as they can be. Advisories
are those that `pip-audit` finds for the versions installed here; where the index of packages has none
to offer, that is said, and is not a failure.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
import tomllib
import venv
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import TYPE_CHECKING, Any

from packaging.requirements import Requirement

if TYPE_CHECKING:
    from torture_tally import Tally

ROOT = Path(__file__).parent.parent
EXTRAS = ("fast", "serve", "parquet")
"""Those of users, but for `cluster`: its tests were run with the oldest versions by hand."""
KIND = "tests with the oldest versions"
TESTS = (
    "binding", "blocks", "build", "bundle", "catalogue", "clock", "compile", "concurrency",
    "distance_solver", "export", "fetch", "grundy_solver", "hdf5", "heaps_solver", "lookup_command",
    "mask_solver", "openapi", "parquet", "progress", "retrograde_solver", "service", "steps_solver",
    "table", "verify",
)  # fmt: skip
"""Tests whose names begin so: of all that leans on what we require."""


def requirements() -> list[Requirement]:
    """What the package and its extras require, but for the tools of development."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = (project["optional-dependencies"][extra] for extra in EXTRAS)
    return [Requirement(one) for part in (project["dependencies"], *extras) for one in part]


def lowest() -> dict[str, str]:
    """The oldest version that is allowed of each, as its bound is written."""
    return {
        one.name: spec.version
        for one in requirements()
        for spec in one.specifier
        if spec.operator == ">="
    }


def campaign(tally: Tally) -> None:
    """Ask for advisories, and run tests with the oldest versions."""
    tally.figures["lowest"] = lowest()
    with tempfile.TemporaryDirectory() as folder:
        tools = Path(folder) / "tools"
        _environment(tools, "uv", "pip-audit")
        _audit(tally, tools)
        _test_with_lowest(tally, tools, Path(folder) / "copy")


def _environment(place: Path, *packages: str) -> None:
    venv.create(place, with_pip=True)
    _run(str(place / "bin" / "pip"), "install", "--quiet", *packages)


def _run(*command: str | Path, folder: Path = ROOT) -> str:
    return subprocess.run(command, check=True, cwd=folder, capture_output=True, text=True).stdout


def _audit(tally: Tally, tools: Path) -> None:
    """What is known of the versions that are installed here."""
    (site,) = {path for path in map(Path, sys.path) if path.name == "site-packages"}
    done = subprocess.run(
        [tools / "bin" / "pip-audit", "--format", "json", "--progress-spinner", "off", "--path", site],
        capture_output=True,
        text=True,
    )
    try:
        audited: list[dict[str, Any]] = json.loads(done.stdout)["dependencies"]
    except ValueError:
        why = (done.stderr.strip().splitlines() or ["nothing was said"])[-1]
        tally.add("advisories", "not audited: pip-audit fails")
        tally.figures["pip-audit"] = why[:200]
        return
    for one in audited:
        if one.get("skip_reason"):
            tally.add("advisories", "not audited: the index has no advisories")
        elif one["vulns"]:
            ids = ", ".join(vulnerability["id"] for vulnerability in one["vulns"])
            tally.fail("advisories", "known to be vulnerable", f"{one['name']} {one['version']}: {ids}")
        else:
            tally.add("advisories", "none known")


def _test_with_lowest(tally: Tally, tools: Path, copy: Path) -> None:
    """Run tests in a copy of the repository whose environment has the oldest versions."""
    for name in _run("git", "ls-files", "-z").split("\0"):
        if name:
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            (copy / name).write_bytes((ROOT / name).read_bytes())
            (copy / name).chmod((ROOT / name).stat().st_mode)
    venv.create(copy / ".venv", with_pip=True)
    python, uv = copy / ".venv" / "bin" / "python", tools / "bin" / "uv"
    # Which versions these bounds mean: 2.0 is 2.0.0, or the first that there is.
    asked = [word for extra in EXTRAS for word in ("--extra", extra)]
    quiet = ("--quiet", "--no-annotate", "--no-header", "--python", python)
    found = _run(
        uv,
        "pip",
        "compile",
        *quiet,
        *asked,
        "--resolution",
        "lowest-direct",
        "pyproject.toml",
        folder=copy,
    )
    names = {one.name for one in requirements()}
    pinned = [line for line in found.splitlines() if re.split("==", line)[0] in names]
    (copy / ".venv" / "lowest.txt").write_text("\n".join(pinned))
    tally.figures["versions"] = pinned
    _run(
        uv, "pip", "install", "--quiet", "--python", python,
        "--constraint", ".venv/lowest.txt", "--editable", ".[dev]",
        folder=copy,
    )  # fmt: skip
    # So that scripts/test takes this environment for its own.
    stamp = _run("cksum", "pyproject.toml", folder=copy)
    (copy / ".venv" / "installed-dev").write_text(stamp)
    report = copy / "report.xml"
    tests = sorted({str(path) for name in TESTS for path in (copy / "tests").glob(f"test_{name}*.py")})
    options = (f"--junitxml={report}", *tests)
    subprocess.run([copy / "scripts" / "test", *options], cwd=copy, stdout=sys.stderr)
    if not report.exists():
        tally.fail(KIND, "no test was run", "scripts/test")
        return
    _count(tally, ET.parse(report).getroot())


def _count(tally: Tally, report: ET.Element) -> None:
    """How each test of a report ended."""
    for case in report.iter("testcase"):
        ends = {child.tag for child in case}
        if ends & {"failure", "error"}:
            tally.fail(KIND, "failed", f"{case.get('classname')}::{case.get('name')}")
        else:
            tally.add(KIND, "skipped" if "skipped" in ends else "passed")
