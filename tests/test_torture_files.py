"""The corruption campaign, in small; and that it would notice a reader that is not careful."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from typing import TYPE_CHECKING, Any

from tests.conftest import ROOT

if TYPE_CHECKING:
    from pathlib import Path

ENDINGS = {
    "right answers", "CorruptTableError", "NotATableError", "FormatVersionError", "RulesChangedError",
    "InvalidGameError", "forged: refused by verify", "forged: nobody can know",
    "forged: a game that is not known", "HDF5 makes no such file", "right answers, of another table",
    "forged: a period is not claimed any more",
}  # fmt: skip


def run(*arguments: str) -> None:
    """In a process of its own, which forks: this one may have threads."""
    done = subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, cwd=ROOT, timeout=300
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_share_of_the_campaign(tmp_path: Path) -> None:
    run("scripts/torture.py", "files", "--scale", "0.0008", "--out", str(tmp_path))
    results: dict[str, Any] = json.loads((tmp_path / "files.json").read_text())
    assert results["failed"] == 0
    assert results["cases"] > 300
    assert len(results["counts"]) == 16
    ends = Counter[str]()
    for counts in results["counts"].values():
        ends += Counter(counts)
    assert set(ends) <= ENDINGS
    assert ends["right answers"] > 50, "gaps are hit too"
    assert ends["CorruptTableError"] > 150
    assert results["counts"]["values altered, digests made to match"]["forged: refused by verify"] >= 3
    assert "right answers" not in results["counts"]["cut off"]


# What a case can do; and a campaign against a reader that believes every chunk, and one that lets an
# exception of its own through. Prints how all ended.
DRIVER = """
import json, os, sys, time
from collections import Counter
from pathlib import Path
sys.path.insert(0, "scripts")
from torture_children import Ending, Limits, run_cases
from torture_files import all_groups, run_groups
from torture_files_tables import samples
from torture_tally import Tally
from lookup import chunk_file
from lookup.progress import silent

folder, held = Path(sys.argv[1]), []

def work(number, own):
    if number == 3: os.abort()
    if number == 5: time.sleep(60)
    if number == 7: held.append(bytearray(os.urandom(1 << 20) * 60))
    if number == 9: bytearray(1 << 31)
    if number == 11: os._exit(0)
    if number == 13: raise KeyError("spam")
    return Ending("well")

ends = run_cases(20, work, folder, silent, Limits(seconds=1))
print(json.dumps([ends[number] for number in range(20)]))

groups = all_groups(samples(folder, ["mask"]), folder, 1)
accidents = [one for one in groups if "chunks" in one.kind or "random" in one.kind]

def of_broken(where, name, broken):
    right, tally = getattr(where, name), Tally(1, 0.01)
    setattr(where, name, broken)
    run_groups(accidents, tally, folder)
    setattr(where, name, right)
    names = Counter()
    for ends in tally.counts.values():
        names += ends
    print(json.dumps([tally.failed, names]))

of_broken(chunk_file, "CorruptTableError", chunk_file.CorruptTableError)
of_broken(chunk_file, "CorruptTableError", KeyError)

class Believing:
    def __init__(self, chunk=b""): self.chunk = chunk
    def sha256(self, chunk=b""): return Believing(chunk)
    def digest(self): return Anything()

class Anything:
    def __ne__(self, other): return False

of_broken(chunk_file, "hashlib", Believing())
"""


def test_the_harness_notices_what_none_may_do(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", DRIVER, str(tmp_path)],
        capture_output=True, text=True, cwd=ROOT, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    ends, careful, raising, believing = map(json.loads, done.stdout.splitlines())
    assert ends[3] == ["death", "SIGABRT"]
    assert ends[5] == ["death", "hang"]
    assert ends[7][0] == "memory"
    assert "MemoryError" in ends[9][1]
    assert ends[11] == ["death", "exit code 0"]
    assert ends[13] == ["exception", "KeyError: 'spam'"]
    assert [end for number, end in enumerate(ends) if number % 2 == 0] == [["well", ""]] * 10
    assert careful[0] == 0
    assert raising[1]["exception"] == raising[0] > 5
    assert believing[1]["wrong"] == believing[0] > 0
